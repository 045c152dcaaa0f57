// Text to ids, with everything the page wants to know of each token. The ids are the library's.

import { AddedTokens } from "./added";
import { ByteBuffer, characterLength, hashBytes, wellFormed } from "./bytes";
import { EventList, eventMerge } from "./events";
import { IdList } from "./ids";
import { type Merge, rankMerge } from "./merge";
import type { Pack } from "./pack";
import { PairRanks } from "./pairs";
import type { Splitter } from "./split";
import { ByteTable } from "./table";

export const PIECE_START = 1;
export const INSIDE_CHARACTER = 2; // the token ends inside a character
export const ADDED = 4;

/** An encoded text. Token i is bytes ends[i - 1] to ends[i] of the UTF-8 of `text`. */
export interface Encoded {
  ids: Int32Array;
  ends: Int32Array;
  /** The same in UTF-16 units of `text`; a character that several tokens share counts to the first of them. */
  units: Int32Array;
  flags: Uint8Array;
  bytes: number;
  characters: number;
  /** What the offsets refer to: the text, unless it had to be normalised or made well formed. */
  text: string;
}

export class EncodeError extends Error {}

const decoder = new TextDecoder("utf-8", { ignoreBOM: true });
const CACHE_BYTES = 1 << 25;
const LONGEST_CACHED = 512;
const ENDS = 4096;

export class Encoder {
  readonly pack: Pack;
  private readonly splitter: Splitter;
  private readonly merge: Merge;
  private readonly added: AddedTokens;
  private readonly lengths: Int32Array;
  /** The first part of each byte (or, by `partOf`, of each character). */
  private readonly byteParts = new Int32Array(256);
  private readonly cache = new ByteTable(1 << 14, 1 << 17);
  private readonly cached = new IdList(1 << 16);
  private cachedStarts = new IdList(1 << 14);
  private readonly buffer = new ByteBuffer();
  private parts = new Int32Array(256);
  private readonly ids = new IdList();
  private readonly ends = new IdList();
  private readonly marks = new IdList();
  private readonly pieceEnds = new Int32Array(ENDS);

  constructor(pack: Pack, splitter: Splitter) {
    this.pack = pack;
    this.splitter = splitter;
    const { header, tokens } = pack;
    this.added = new AddedTokens(header.added_tokens, header.normalizers);
    this.lengths = new Int32Array(header.size);
    for (let id = 0; id < header.size; id++) this.lengths[id] = tokens.starts[id + 1]! - tokens.starts[id]!;
    for (let byte = 0; byte < 256; byte++) {
      const one = Uint8Array.of(byte);
      const id = tokens.lookUp(one);
      // What is no token gets a number after all ids. In rank order it may still be part of a token.
      const ranks = header.order === "ranks";
      this.byteParts[byte] = id >= 0 ? id : ranks ? tokens.add(one, 0, 1, hashBytes(one, 0, 1), false) : header.size;
    }
    this.merge = mergeOf(pack);
    this.forget();
  }

  /** Encode `text`. `special`: whether control tokens that the text spells become control tokens. */
  encode(text: string, special: boolean): Encoded {
    const { ids, ends, marks } = this;
    for (const list of [ids, ends, marks]) list.clear();
    let start = 0;
    const whole: string[] = [];
    for (const section of this.added.split(wellFormed(text), special)) {
      whole.push(section.text);
      const bare = this.pack.header.add_prefix_space && section.token === null && !section.text.startsWith(" ");
      this.buffer.set(section.text, bare ? 1 : 0);
      const stop = start + this.buffer.length - (bare ? 1 : 0);
      if (section.token === null) this.encodeSection(start, bare ? 1 : 0);
      else {
        ids.push(section.token.id);
        ends.push(stop);
        marks.push(PIECE_START | ADDED);
      }
      start = stop;
    }
    const joined = whole.length === 1 ? whole[0]! : whole.join("");
    const flags = Uint8Array.from(marks.data.subarray(0, marks.length));
    const result = {
      ids: ids.data.slice(0, ids.length),
      ends: ends.data.slice(0, ends.length),
      flags,
      bytes: start,
      text: joined,
    };
    return { ...result, ...placeUnits(joined, result.ends, flags, this.buffer) };
  }

  /** The pieces that `text` is cut into, added tokens among them where they are not special. */
  pieces(text: string): string[] {
    const found: string[] = [];
    for (const section of this.added.split(wellFormed(text), false)) {
      this.buffer.set(section.text, 0);
      const { bytes, length } = this.buffer;
      for (let start = 0; start < length; ) {
        const count = this.splitter.scan(bytes, start, length, this.pieceEnds);
        for (let i = 0; i < count; i++) {
          found.push(decoder.decode(bytes.subarray(start, this.pieceEnds[i]!)));
          start = this.pieceEnds[i]!;
        }
      }
    }
    return found;
  }

  /** The ids of one piece, given as bytes. */
  encodePiece(piece: Uint8Array): number[] {
    const out = new IdList(16);
    this.mergePiece(piece, 0, piece.length, out);
    return Array.from(out.data.subarray(0, out.length));
  }

  private encodeSection(base: number, prefix: number): void {
    const { ids, ends, marks, cache, cached, lengths, pieceEnds } = this;
    const { bytes, length } = this.buffer;
    const { tokens, header } = this.pack;
    const whole = header.whole_pieces;
    const unknown = header.unknown ?? -2;
    for (let start = 0; start < length; ) {
      const count = this.splitter.scan(bytes, start, length, pieceEnds);
      for (let piece = 0; piece < count; piece++) {
        const end = pieceEnds[piece]!;
        const hash = hashBytes(bytes, start, end);
        const id = whole ? tokens.find(bytes, start, end, hash) : -1;
        if (id >= 0) {
          ids.push(id);
          ends.push(base + end - prefix);
          marks.push(PIECE_START);
          start = end;
          continue;
        }
        const entry = this.entryOf(start, end, hash);
        const from = this.cachedStarts.data[entry]!;
        const to = this.cachedStarts.data[entry + 1]!;
        for (let i = from, at = start; i < to; i++) {
          const one = cached.data[i]!;
          at += one === unknown ? characterLength(bytes[at]!) : lengths[one]!;
          ids.push(one);
          ends.push(Math.max(base, base + at - prefix));
          marks.push(i === from ? PIECE_START : 0);
        }
        if (end - start > LONGEST_CACHED) this.uncache();
        start = end;
      }
    }
    if (cache.weight + 4 * cached.length > CACHE_BYTES) this.forget();
  }

  /** The cache's entry for a piece, made if it is new. */
  private entryOf(start: number, end: number, hash: number): number {
    const { cache, cached, cachedStarts } = this;
    const { bytes } = this.buffer;
    const found = cache.find(bytes, start, end, hash);
    if (found >= 0) return found;
    this.mergePiece(bytes, start, end, cached);
    cachedStarts.push(cached.length);
    const long = end - start > LONGEST_CACHED;
    return long ? cachedStarts.length - 2 : cache.add(bytes, start, end, hash);
  }

  /** Take the last entry, a long piece, off the cache again. */
  private uncache(): void {
    this.cachedStarts.length--;
    this.cached.length = this.cachedStarts.data[this.cachedStarts.length - 1]!;
  }

  private forget(): void {
    this.cache.clear();
    this.cached.clear();
    this.cachedStarts.clear();
    this.cachedStarts.push(0);
  }

  private mergePiece(bytes: Uint8Array, start: number, end: number, out: IdList): void {
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
        parts[count++] = id >= 0 ? id : header.size;
        at = next;
      }
    } else {
      for (let at = start; at < end; at++) parts[count++] = this.byteParts[bytes[at]!]!;
    }
    const before = out.length;
    this.merge(parts, count, out);
    for (let i = before; i < out.length; i++) {
      const id = out.data[i]!;
      if (id < header.size) continue;
      if (header.unknown === null) {
        out.length = before; // the cache stays as it was
        throw new EncodeError(missing(bytes.subarray(start, end), this.byteParts, header.size));
      }
      out.data[i] = header.unknown;
    }
  }
}

function mergeOf(pack: Pack): Merge {
  const { header, tokens, left, right, made } = pack;
  if (header.order === "events") return eventMerge(new EventList(left, right, made));
  if (header.order === "ranks") return rankMerge(new PairRanks(tokens, header.size, 1 << 16), null);
  const pairs = new PairRanks(null, 0, left.length);
  for (let rank = 0; rank < left.length; rank++) pairs.add(left[rank]!, right[rank]!, rank);
  return rankMerge(pairs, made);
}

function missing(piece: Uint8Array, byteParts: Int32Array, size: number): string {
  const byte = piece.find((one) => byteParts[one]! >= size);
  const what = byte === undefined ? "a character" : `the byte 0x${byte.toString(16).padStart(2, "0").toUpperCase()}`;
  return `the vocabulary has no token for ${what} of this text, and no unknown token`;
}

/** Where tokens end in UTF-16 units, which of them end inside a character, and how many characters there are. */
function placeUnits(text: string, ends: Int32Array, flags: Uint8Array, buffer: ByteBuffer) {
  const bytes = ends.length > 0 ? ends[ends.length - 1]! : 0;
  if (bytes === text.length) return { units: ends.slice(), characters: bytes }; // ASCII: the same
  const units = new Int32Array(ends.length);
  buffer.set(text, 0);
  const data = buffer.bytes;
  let at = 0;
  let unit = 0;
  let pairs = 0;
  for (let i = 0; i < ends.length; i++) {
    const end = ends[i]!;
    for (; at < end; at++) {
      const byte = data[at]!;
      if (byte < 0x80 || byte >= 0xc0) unit++;
      if (byte >= 0xf0) {
        unit++;
        pairs++;
      }
    }
    units[i] = unit;
    if (end < bytes && data[end]! >= 0x80 && data[end]! < 0xc0) flags[i]! |= INSIDE_CHARACTER;
  }
  return { units, characters: unit - pairs };
}
