// Text to ids, with all that the page shows of each token. The ids are the same as the library's.
//
// After an edit only the pretokens around it are encoded again. A pretoken stays unchanged if the edit is beyond the text
// that was examined to cut it. From the first old cut after the edit on, everything stays.

import { AddedTokens } from "./added";
import { ByteBuffer, characterLength, hashBytes, wellFormed } from "./bytes";
import { MISS, PretokenCache } from "./cache";
import { EventList, eventMerge } from "./events";
import { ADDED, INSIDE_CHARACTER, PRETOKEN_START } from "./flags";
import { IdList } from "./ids";
import { type Merge, rankMerge } from "./merge";
import type { AddedToken, Pack } from "./pack";
import { PairRanks } from "./pairs";
import type { Splitter } from "./split";
import { Superwords } from "./superwords";
import { TokenList } from "./tokenlist";

/** An encoded text. Token i is bytes ends[i - 1] to ends[i] of the UTF-8 of `text`. */
export interface Encoded {
  ids: Int32Array;
  ends: Int32Array;
  /** The same in UTF-16 units of `text`; a character that several tokens share belongs to the first of them. */
  units: Int32Array;
  /** See flags.ts. */
  flags: Uint8Array;
  bytes: number;
  characters: number;
  /** The text that the offsets refer to, if it had to be normalized or made well formed. */
  text: string;
}

export class EncodeError extends Error {}

const decoder = new TextDecoder("utf-8", { ignoreBOM: true });
const LONGEST_CACHED = 512;
const ENDS = 4096;
const FIRST_MERGE = 256; // in rank order, the id of the first token that is not a byte

export class Encoder {
  readonly pack: Pack;
  private readonly splitter: Splitter;
  private readonly pairs: PairRanks | null; // null in event order
  private merge: Merge;
  private superwords: Superwords | null;
  private readonly rows: number[] | null;
  private merges: number; // how many merges or events are used
  private firstMerge: Int32Array | null = null; // of each id: the first merge that makes it
  private readonly added: AddedTokens;
  private readonly lengths: Int32Array;
  private readonly byteParts = new Int32Array(256);
  private readonly cache = new PretokenCache();
  private readonly fresh = new IdList(); // the ids of the pretoken merged last
  private parts = new Int32Array(256);
  private readonly pretokenEnds = new Int32Array(ENDS);
  private readonly pretokenReach = new Int32Array(ENDS);
  private buffer = new ByteBuffer();
  private tokens = new TokenList();
  // The bytes and tokens of the previous text, if it was one ordinary section.
  private oldBuffer = new ByteBuffer();
  private oldTokens = new TokenList();
  private hasOld = false;

  constructor(pack: Pack, splitter: Splitter) {
    this.pack = pack;
    this.rows = rowsOf(pack);
    this.splitter = splitter;
    const { header, tokens } = pack;
    this.added = new AddedTokens(header.added_tokens, header.normalizers);
    this.lengths = new Int32Array(header.size);
    for (let id = 0; id < header.size; id++) this.lengths[id] = tokens.starts[id + 1]! - tokens.starts[id]!;
    for (let byte = 0; byte < 256; byte++) {
      const one = Uint8Array.of(byte);
      const id = tokens.lookUp(one);
      // Bytes that are not a token get a number above all ids. In rank order they may still be part of a token.
      const ranks = header.order === "ranks";
      this.byteParts[byte] = id >= 0 ? id : ranks ? tokens.add(one, 0, 1, hashBytes(one, 0, 1), false) : header.size;
    }
    this.pairs = pairsOf(pack);
    this.merges = pack.header.order === "ranks" ? mergeCount(pack) : pack.events;
    this.merge = mergeOf(pack, this.pairs, this.merges);
    this.superwords = superwordsOf(pack);
  }

  /** Use the first `number` of the `mergeCount` merges or events only, as if training had stopped there. */
  stopAfter(number: number): void {
    const { pack, rows } = this;
    const merges = rows === null ? number : (rows[number] ?? pack.events);
    if (merges === this.merges) return;
    this.merges = merges;
    this.merge = mergeOf(pack, this.pairs, merges);
    this.superwords = number === mergeCount(pack) ? superwordsOf(pack) : null;
    this.cache.clear();
    this.hasOld = false;
  }

  /** Whether the merges in use make a token. */
  private isMade(id: number): boolean {
    const { header, left, right, made } = this.pack;
    if (header.order === "ranks") return id < FIRST_MERGE + this.merges;
    if (this.firstMerge === null) {
      this.firstMerge = new Int32Array(header.size);
      for (let row = left.length - 1; row >= 0; row--) if (right[row]! >= 0) this.firstMerge[made[row]!] = row;
    }
    return this.firstMerge[id]! < this.merges;
  }

  /** Encode `text`. `special`: whether control tokens that the text spells become control tokens. */
  encode(text: string, special: boolean): Encoded {
    [this.buffer, this.oldBuffer] = [this.oldBuffer, this.buffer];
    [this.tokens, this.oldTokens] = [this.oldTokens, this.tokens];
    const { tokens } = this;
    tokens.clear();
    const usable = this.hasOld;
    this.hasOld = false; // until this text is encoded
    const sections = this.sections(text, special);
    const [only] = sections;
    if (sections.length === 1 && only!.token === null && only!.prefix === 0) {
      this.buffer.set(only!.text, 0);
      if (usable && this.splitter.restarts) this.encodeEdit();
      else this.encodeSection(0, 0, 0);
      this.hasOld = true;
      return this.result(only!.text, this.buffer.length);
    }
    let start = 0;
    for (const section of sections) {
      this.buffer.set(section.text, section.prefix);
      const stop = start + this.buffer.length - section.prefix;
      if (section.token === null) this.encodeSection(start, section.prefix, 0);
      else tokens.push(section.token.id, stop, PRETOKEN_START | ADDED, 0);
      start = stop;
    }
    const whole = sections.map((section) => section.text).join("");
    this.buffer.set(whole, 0);
    return this.result(whole, start);
  }

  /** The sections of `text`, each with the number of spaces that are put before it. */
  private sections(text: string, special: boolean): { text: string; token: AddedToken | null; prefix: 0 | 1 }[] {
    const { space_mark: mark, normalizers, add_prefix_space: rule } = this.pack.header;
    const prepends = normalizers.some((step) => step[0] === "Prepend");
    type Prefixed = { text: string; token: AddedToken | null; prefix: 0 | 1 };
    return this.added.split(wellFormed(text), special).flatMap(({ text: raw, token, first }): Prefixed[] => {
      const section = mark ? raw.replaceAll(mark, " ") : raw;
      if (token !== null) {
        const one: Prefixed = { text: section, token, prefix: 0 };
        return rule === "text" && first === "text" ? [{ text: "", token: null, prefix: 1 }, one] : [one];
      }
      if (prepends && first !== "") return [{ text: section.slice(1), token, prefix: 1 }];
      const wanted = typeof rule === "string" ? first === "text" : rule;
      return [{ text: section, token, prefix: wanted && (rule === "text" || !section.startsWith(" ")) ? 1 : 0 }];
    });
  }

  /** The pretokens of `text`, including added tokens that are not special. */
  pretokens(text: string): string[] {
    const found: string[] = [];
    this.hasOld = false;
    for (const section of this.added.split(wellFormed(text), false)) {
      this.buffer.set(section.text, 0);
      const { bytes, length } = this.buffer;
      for (let start = 0; start < length; ) {
        const count = this.splitter.scan(bytes, start, length, this.pretokenEnds, this.pretokenReach);
        for (let i = 0; i < count; i++) {
          found.push(decoder.decode(bytes.subarray(start, this.pretokenEnds[i]!)));
          start = this.pretokenEnds[i]!;
        }
      }
    }
    return found;
  }

  /** Encode the contents of the buffer, reusing tokens of the previous text. */
  private encodeEdit(): void {
    const { tokens, oldTokens, buffer, oldBuffer } = this;
    const [now, old] = [buffer.bytes, oldBuffer.bytes];
    const most = Math.min(buffer.length, oldBuffer.length);
    let same = 0;
    while (same < most && now[same] === old[same]) same++;
    let tail = 0;
    while (tail < most - same && now[buffer.length - 1 - tail] === old[oldBuffer.length - 1 - tail]) tail++;
    const kept = oldTokens.decidedBefore(same);
    tokens.take(oldTokens, 0, kept, 0, 0);
    const start = kept > 0 ? tokens.ends.data[kept - 1]! : 0;
    this.encodeSection(0, 0, start, tail);
  }

  /**
   * Encode the buffer from byte `start` on; `base` is where it stands in the text, and its first `prefix` bytes do not.
   * With `tail`, the last `tail` bytes are those of the text before: its tokens are taken from the first common cut on.
   */
  private encodeSection(base: number, prefix: number, start: number, tail = 0): void {
    const { tokens, cache, lengths, pretokenEnds, pretokenReach, oldTokens } = this;
    const { bytes, length } = this.buffer;
    const unknown = this.pack.header.unknown ?? -2;
    const ofBytes = this.pack.header.alphabet === "bytes"; // then an unknown token stands for a byte
    const shift = length - this.oldBuffer.length;
    let old = 0; // the first old token that ends where this or a later token ends
    let reach = tokens.length > 0 ? tokens.reach.data[tokens.length - 1]! : 0;
    while (start < length) {
      // Near an edit, a few pretokens at a time, because an old cut soon follows.
      const room = tail > 0 ? pretokenEnds.subarray(0, 32) : pretokenEnds;
      const count = this.splitter.scan(bytes, start, length, room, pretokenReach);
      for (let pretoken = 0; pretoken < count; pretoken++) {
        const end = pretokenEnds[pretoken]!;
        reach = Math.max(reach, pretokenReach[pretoken]!);
        let found = cache.find(bytes, start, end);
        if (found === MISS) found = this.mergeAndKeep(start, end);
        if (found >= 0) {
          tokens.push(found, base + end - prefix, PRETOKEN_START, reach);
        } else {
          const list = found === MISS ? this.fresh : cache.ids;
          const from = found === MISS ? 0 : cache.starts.data[~found]!;
          const to = found === MISS ? list.length : cache.starts.data[~found + 1]!;
          for (let i = from, at = start; i < to; i++) {
            const id = list.data[i]!;
            at += id !== unknown ? lengths[id]! : ofBytes ? 1 : characterLength(bytes[at]!);
            tokens.push(id, Math.max(base, base + at - prefix), i === from ? PRETOKEN_START : 0, reach);
          }
        }
        start = end;
        if (end >= length - tail && tail > 0) {
          const wanted = end - shift;
          while (old < oldTokens.length && oldTokens.ends.data[old]! < wanted) old++;
          const next = old + 1;
          const cut =
            oldTokens.ends.data[old] === wanted &&
            (next === oldTokens.length || oldTokens.marks.data[next]! & PRETOKEN_START);
          if (cut && old < oldTokens.length) {
            tokens.take(oldTokens, next, oldTokens.length, shift, reach);
            return;
          }
        }
      }
    }
    if (cache.full) cache.clear();
  }

  /** The ids of a new pretoken, which are cached: an id, ~i for a list in the cache, or MISS for `fresh`. */
  private mergeAndKeep(start: number, end: number): number {
    const { cache, fresh } = this;
    const { header, tokens } = this.pack;
    const { bytes } = this.buffer;
    const whole = header.whole_pretokens ? tokens.lookUp(bytes, start, end) : -1;
    if (whole >= 0 && whole < header.size && this.isMade(whole)) {
      cache.add(bytes, start, end, whole);
      return whole;
    }
    fresh.clear();
    this.mergePretoken(bytes, start, end, fresh);
    if (end - start > LONGEST_CACHED) return MISS;
    const single = fresh.length === 1 && fresh.data[0] !== header.unknown;
    const value = single ? fresh.data[0]! : ~(cache.starts.length - 1);
    if (!single) {
      cache.ids.extend(fresh.data.subarray(0, fresh.length));
      cache.starts.push(cache.ids.length);
    }
    cache.add(bytes, start, end, value);
    return value;
  }

  private mergePretoken(bytes: Uint8Array, start: number, end: number, out: IdList): void {
    const { header, tokens } = this.pack;
    if (this.parts.length < end - start || this.parts.length > 1 << 20) {
      this.parts = new Int32Array(Math.max(256, end - start));
    }
    const { parts } = this;
    let count = 0;
    if (header.alphabet === "characters" && header.order !== "ranks") {
      for (let at = start; at < end; ) {
        const next = Math.min(end, at + characterLength(bytes[at]!));
        const id = tokens.lookUp(bytes, at, next);
        if (id >= 0) parts[count++] = id;
        else if (header.byte_tokens.length === 0) parts[count++] = header.size;
        else for (let i = at; i < next; i++) parts[count++] = header.byte_tokens[bytes[i]!]!;
        at = next;
      }
    } else {
      for (let at = start; at < end; at++) parts[count++] = this.byteParts[bytes[at]!]!;
    }
    this.merge(parts, count, out);
    for (let i = 0; i < out.length; i++) {
      if (out.data[i]! < header.size) continue;
      if (header.unknown === null) {
        throw new EncodeError(missing(bytes.subarray(start, end), this.byteParts, header.size));
      }
      out.data[i] = header.unknown;
    }
  }

  /** Copies of the result, and the ends of tokens in UTF-16 units; the buffer holds the UTF-8 of `text`. */
  private result(text: string, bytes: number): Encoded {
    const { ids, ends: endList, marks, length } = this.superwords?.join(this.tokens) ?? this.tokens;
    const ends = endList.data.slice(0, length);
    const flags = new Uint8Array(marks.data.subarray(0, length));
    const result = { ids: ids.data.slice(0, length), ends, flags, bytes, text };
    if (bytes === text.length) return { ...result, units: ends.slice(), characters: bytes }; // ASCII
    const units = new Int32Array(length);
    const data = this.buffer.bytes;
    let at = 0;
    let unit = 0;
    let pairs = 0;
    for (let i = 0; i < length; i++) {
      for (const end = ends[i]!; at < end; at++) {
        const byte = data[at]!;
        if (byte < 0x80 || byte >= 0xc0) unit++;
        if (byte >= 0xf0) {
          unit++;
          pairs++;
        }
      }
      units[i] = unit;
      if (at < bytes && data[at]! >= 0x80 && data[at]! < 0xc0) flags[i]! |= INSIDE_CHARACTER;
    }
    return { ...result, units, characters: unit - pairs };
  }
}

/**
 * The number of merges or events of a vocabulary, superwords of whole pretokens left out. In rank order, each id after the bytes
 * is one. In a list of merges, all pairs that make the same token count as one.
 */
export function mergeCount(pack: Pack): number {
  return (
    rowsOf(pack)?.length ?? (pack.header.order === "ranks" ? Math.max(0, pack.header.size - FIRST_MERGE) : pack.events)
  );
}

/** For each token that a list of merges makes, the first row that makes it; null without such a list. */
function rowsOf({ header, made, events }: Pack): number[] | null {
  if (header.order === "ranks" || header.order === "events") return null;
  const seen = new Uint8Array(header.size);
  const rows: number[] = [];
  for (let row = 0; row < events; row++) {
    if (seen[made[row]!]) continue;
    seen[made[row]!] = 1;
    rows.push(row);
  }
  return rows;
}

function pairsOf({ header, tokens, left, right, made }: Pack): PairRanks | null {
  if (header.order === "events") return null;
  if (header.order === "ranks") return new PairRanks(tokens, header.size);
  const pairs = new PairRanks(null, 0);
  for (let row = 0, rank = 0; row < left.length; row++) {
    if (header.order !== "scores" || made[row] !== made[rank]) rank = row;
    pairs.add(left[row]!, right[row]!, rank);
  }
  return pairs;
}

function mergeOf({ header, left, right, made }: Pack, pairs: PairRanks | null, merges: number): Merge {
  if (pairs !== null && header.order === "ranks") return rankMerge(pairs, null, FIRST_MERGE + merges);
  if (pairs !== null) return rankMerge(pairs, made, merges);
  return eventMerge(new EventList(left.subarray(0, merges), right.subarray(0, merges), made.subarray(0, merges)));
}

function superwordsOf(pack: Pack): Superwords | null {
  const [left, right, made] = [pack.left, pack.right, pack.made].map((column) => column.subarray(pack.events));
  return pack.header.superwords > 0 ? new Superwords(left!, right!, made!) : null;
}

function missing(pretoken: Uint8Array, byteParts: Int32Array, size: number): string {
  const byte = pretoken.find((one) => byteParts[one]! >= size);
  const what = byte === undefined ? "a character" : `the byte 0x${byte.toString(16).padStart(2, "0").toUpperCase()}`;
  return `the vocabulary has no token for ${what} of this text, and no unknown token`;
}
