// Tokens in blocks. A block ends at a line end if that does not make it too short or too long. Its height is estimated
// until it is drawn. After an edit, the other blocks stay unchanged, with their heights.

import type { Encoded } from "../encoder/encoder";

const FEWEST = 40; // tokens in a block before a line feed may end it
const MOST = 240;
const ASSUMED_LINE = 26; // pixels; and pixels per character, until a block has been measured
const ASSUMED_CHARACTER = 8;

export class Blocks {
  /** The first token of each block, and the number of tokens. */
  starts = new Int32Array(1);
  heights = new Float64Array(0);
  /** The position of each block in pixels, and the total height. */
  offsets = new Float64Array(1);
  private ids: Int32Array = new Int32Array(0);

  get count(): number {
    return this.heights.length;
  }

  clear(): void {
    this.ids = new Int32Array(0);
    this.starts = new Int32Array(1);
    this.heights = new Float64Array(0);
    this.offsets = new Float64Array(1);
  }

  /** Set a text that differs from the previous one by an edit, or completely. `width`: the width of a line in pixels. */
  update(encoded: Encoded, width: number): void {
    const { starts, heights, count, ids: old } = this;
    const { ids } = encoded;
    const most = Math.min(ids.length, old.length);
    let same = 0;
    while (same < most && ids[same] === old[same]) same++;
    let tail = 0;
    while (tail < most - same && ids[ids.length - 1 - tail] === old[old.length - 1 - tail]) tail++;

    // Blocks before `head` and from `rest` on stay, unless that would leave a very short block next to them.
    const shift = ids.length - old.length;
    let head = 0;
    while (head < count && starts[head + 1]! <= same) head++;
    while (head > 0 && !isEnd(encoded, starts[head - 1]!, starts[head]!)) head--;
    let rest = count;
    while (rest > head && starts[rest - 1]! >= old.length - tail) rest--;
    const from = starts[head]!;
    while (rest < count && !mayEnd(encoded, from, starts[rest]! + shift)) rest++;

    const [cuts, guesses] = cut(
      encoded,
      from,
      starts[rest]! + shift,
      Math.max(10, Math.floor(width / ASSUMED_CHARACTER)),
    );
    const behind = starts.subarray(rest).map((start) => start + shift);
    this.starts = Int32Array.from([...starts.subarray(0, head), ...cuts, ...behind]);
    this.heights = Float64Array.from([...heights.subarray(0, head), ...guesses, ...heights.subarray(rest)]);
    this.offsets = new Float64Array(this.count + 1);
    this.ids = ids;
    this.sum(0);
  }

  /** Recompute the positions after the heights from block `from` on were set. */
  sum(from: number): void {
    for (let i = from; i < this.count; i++) this.offsets[i + 1] = this.offsets[i]! + this.heights[i]!;
  }

  /** The block at `y` pixels. */
  at(y: number): number {
    let low = 0;
    let high = this.count - 1;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (this.offsets[middle]! <= y) low = middle;
      else high = middle - 1;
    }
    return low;
  }
}

function endsLine({ text, units }: Encoded, token: number): boolean {
  return text.charCodeAt(units[token]! - 1) === 10;
}

/** Whether the tokens `from` to `to` are a complete block. */
function isEnd(encoded: Encoded, from: number, to: number): boolean {
  return to - from >= MOST || (to - from >= FEWEST && endsLine(encoded, to - 1));
}

/** Whether a block may end at `to` because an old block ends there. */
function mayEnd(encoded: Encoded, from: number, to: number): boolean {
  return to === from || to - from >= MOST / 2 || endsLine(encoded, to - 1);
}

/** Divide the tokens `from` to `end` into blocks; return their starts and estimated heights. */
function cut(encoded: Encoded, from: number, end: number, columns: number): [number[], number[]] {
  const { units } = encoded;
  const starts: number[] = [];
  const heights: number[] = [];
  for (let start = from; start < end; ) {
    const most = end - start < 1.5 * MOST ? end : start + MOST;
    let to = start;
    let lines = 1;
    do {
      if (endsLine(encoded, to)) lines++;
      to++;
    } while (to < most && !isEnd(encoded, start, to));
    const length = units[to - 1]! - (start > 0 ? units[start - 1]! : 0);
    starts.push(start);
    heights.push(ASSUMED_LINE * Math.max(1, lines - 1, Math.ceil(length / columns)));
    start = to;
  }
  return [starts, heights];
}
