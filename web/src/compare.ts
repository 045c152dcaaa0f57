// Several encodings of one text, aligned by byte offset.

import type { Encoded } from "./encoder/encoder";
import { INSIDE_CHARACTER } from "./encoder/flags";

export interface Aligned {
  /** The byte offsets at which any encoding cuts, ascending, including 0 and the end. */
  cuts: Int32Array;
  /** The same in UTF-16 units, and what the cut is inside of: 0 nothing, 1 a character, 2 a grapheme cluster. */
  units: Int32Array;
  inside: Uint8Array;
  /** For each cut, the encodings that make it, as bits; none at the edges of a cut grapheme cluster that no token ends at. */
  makers: Uint8Array;
  lanes: number;
}

/** Merge the cuts of several encodings of the same text. */
export function align(encodings: readonly Encoded[]): Aligned {
  const lanes = encodings.length;
  const most = encodings.reduce((sum, one) => sum + one.ids.length, 2);
  const cuts = new Int32Array(most);
  const units = new Int32Array(most);
  const inside = new Uint8Array(most);
  const makers = new Uint8Array(most);
  const at = new Int32Array(lanes);
  const all = (1 << lanes) - 1;
  makers[0] = all;
  let count = 1;
  for (;;) {
    let next = Number.POSITIVE_INFINITY;
    for (let lane = 0; lane < lanes; lane++) {
      const { ends } = encodings[lane]!;
      while (at[lane]! < ends.length && ends[at[lane]!]! <= cuts[count - 1]!) at[lane]!++; // tokens without bytes
      if (at[lane]! < ends.length) next = Math.min(next, ends[at[lane]!]!);
    }
    if (next === Number.POSITIVE_INFINITY) break;
    let bits = 0;
    for (let lane = 0; lane < lanes; lane++) {
      const { ends, units: ours, flags } = encodings[lane]!;
      if (at[lane]! >= ends.length || ends[at[lane]!] !== next) continue;
      bits |= 1 << lane;
      units[count] = ours[at[lane]!]!;
      inside[count] = flags[at[lane]!]! & INSIDE_CHARACTER ? 1 : 0;
    }
    cuts[count] = next;
    makers[count] = bits;
    count++;
  }
  return {
    cuts: cuts.subarray(0, count),
    units: units.subarray(0, count),
    inside: inside.subarray(0, count),
    makers: makers.subarray(0, count),
    lanes,
  };
}

const LONGEST_CLUSTERED = 2_000_000; // UTF-16 units
const JOINED = /\p{M}|\u200d|[\u1100-\u11ff\p{Emoji_Modifier}\p{RI}]/u;

/** Mark the cuts inside grapheme clusters, which are drawn whole, and add the edges of these clusters as cuts. */
export function withClusters(aligned: Aligned, text: string): Aligned {
  if (text.length > LONGEST_CLUSTERED || !JOINED.test(text)) return aligned;
  const rows: [cut: number, unit: number, inside: number, makers: number][] = [];
  let at = 0;
  const takeBefore = (unit: number, inside: number) => {
    while (at < aligned.cuts.length && aligned.units[at]! < unit) take(inside);
    while (at < aligned.cuts.length && aligned.units[at]! === unit && aligned.inside[at]) take(inside);
  };
  const take = (inside: number) => {
    rows.push([aligned.cuts[at]!, aligned.units[at]!, aligned.inside[at]! || inside, aligned.makers[at]!]);
    at++;
  };
  const edge = (unit: number) => {
    if (at < aligned.cuts.length && aligned.units[at] === unit) return take(0);
    const [cut, known] = rows.findLast((row) => row[2] !== 1 && row[1] <= unit)!;
    if (known !== unit) rows.push([cut + utf8Length(text.slice(known, unit)), unit, 0, 0]);
  };
  for (const { segment, index } of new Intl.Segmenter("en", { granularity: "grapheme" }).segment(text)) {
    if (!JOINED.test(segment)) continue;
    const end = index + segment.length;
    let next = at;
    while (next < aligned.cuts.length && aligned.units[next]! <= index) next++;
    if (next >= aligned.cuts.length || aligned.units[next]! >= end) continue; // no token ends inside
    takeBefore(index, 0);
    edge(index);
    takeBefore(end, 2);
    edge(end);
  }
  takeBefore(text.length + 1, 0);
  const column = (i: 0 | 1 | 2 | 3) => rows.map((row) => row[i]);
  return {
    cuts: Int32Array.from(column(0)),
    units: Int32Array.from(column(1)),
    inside: Uint8Array.from(column(2)),
    makers: Uint8Array.from(column(3)),
    lanes: aligned.lanes,
  };
}

function utf8Length(text: string): number {
  return new TextEncoder().encode(text).length;
}

/** Whether a cut of a range is inside a character, so that the range shows bytes. */
export function showsBytes({ inside }: Aligned, from: number, to: number): boolean {
  return inside.subarray(from + 1, to).includes(1);
}

/** A line of aligned text: the ranges between cuts `from` and `to`. */
export interface Line {
  from: number;
  to: number;
  /** Whether all encodings cut it alike. */
  same: boolean;
}

/** Columns of a byte, which shows as two small digits. */
const BYTE = 1.6;
const EDGE = 0.25; // columns of a range in addition to its text

/** The first cut after `cut` that is not inside a character or a grapheme cluster. */
export function nextWhole({ inside }: Aligned, cut: number): number {
  let next = cut + 1;
  while (inside[next]) next++;
  return next;
}

/**
 * Break aligned text into lines of about `columns`: after line feeds, else at a cut that all make, if there is one. No line
 * ends inside a character.
 */
export function breakLines(aligned: Aligned, text: string, columns: number): Line[] {
  const { units, makers, cuts } = aligned;
  const all = (1 << aligned.lanes) - 1;
  const lines: Line[] = [];
  let from = 0;
  let used = 0;
  let common = -1; // the last cut of this line that all make
  let usedAtCommon = 0;
  const end = (to: number) => {
    let same = true;
    // A cut at the end of a line counts only for the line that it ends.
    for (let cut = from + 1; cut <= to && cut < cuts.length; cut++) same &&= makers[cut] === all || makers[cut] === 0;
    lines.push({ from, to, same });
    from = to;
  };
  for (let before = 0, cut = 0; before < cuts.length - 1; before = cut) {
    cut = nextWhole(aligned, before);
    const usedBefore = used;
    used += showsBytes(aligned, before, cut)
      ? BYTE * (cuts[cut]! - cuts[before]!)
      : width(text, units[before]!, units[cut]!);
    used += EDGE * (cut - before);
    if (used > columns && before > from) {
      if (common > from && usedAtCommon > columns / 2) {
        end(common);
        used -= usedAtCommon;
      } else {
        end(before);
        used -= usedBefore;
      }
      common = -1;
    }
    if (makers[cut] === all) {
      common = cut;
      usedAtCommon = used;
      if (text[units[cut]! - 1] === "\n") {
        end(cut);
        used = 0;
        common = -1;
      }
    }
  }
  if (from < cuts.length - 1) end(cuts.length - 1);
  return lines;
}

/** The approximate columns of a range: two for each East Asian character and each emoji. (Bytes show as hex.) */
function width(text: string, from: number, to: number): number {
  let columns = 0;
  for (let i = from; i < to; i++) {
    const code = text.charCodeAt(i);
    columns += code >= 0x1100 && (code < 0xd800 || code >= 0xf900) && !(code >= 0x2000 && code < 0x2e80) ? 2 : 1;
  }
  return columns;
}

/** How each encoding compares with the others. */
export interface Figures {
  tokens: number;
  /** Cuts that only this encoding makes, and cuts that all others make but this one does not. */
  alone: number;
  missing: number;
}

export function figures(aligned: Aligned, encodings: readonly Encoded[]): Figures[] {
  const all = (1 << aligned.lanes) - 1;
  const found = encodings.map((one) => ({ tokens: one.ids.length, alone: 0, missing: 0 }));
  for (const bits of aligned.makers) {
    for (let lane = 0; lane < aligned.lanes; lane++) {
      if (bits === 1 << lane) found[lane]!.alone++;
      if (bits > 0 && bits === (all & ~(1 << lane))) found[lane]!.missing++;
    }
  }
  return found;
}
