// Pair of ids -> rank of its merge. For listed merges the table is complete. For rank order ("two neighbours whose joined
// bytes are a token") it caches lookups by bytes, so that nothing is built before first use.

import type { ByteTable } from "./table";

/** The rank of a pair that does not merge: after every rank. */
export const NEVER = 0x7fffffff;

const MOST_REMEMBERED = 1 << 20;

export class PairRanks {
  private table: Int32Array; // triples: left, right, rank; left is -1 if free
  private mask: number;
  private size = 0;
  private scratch = new Uint8Array(256);

  /** `tokens`: for rank order, the tokens by bytes; null if `add` gives all pairs. */
  constructor(
    private readonly tokens: ByteTable | null,
    private readonly ordinary: number,
    room = 1 << 12,
  ) {
    let slots = 1 << 12;
    while (slots < 2 * room) slots *= 2;
    this.table = new Int32Array(3 * slots).fill(-1);
    this.mask = slots - 1;
  }

  rank(left: number, right: number): number {
    const { table, mask } = this;
    for (let slot = mix(left, right) & mask; ; slot = (slot + 1) & mask) {
      const at = 3 * slot;
      const found = table[at]!;
      if (found === left && table[at + 1] === right) return table[at + 2]!;
      if (found < 0) return this.tokens === null ? NEVER : this.learn(left, right, this.tokens);
    }
  }

  /** Set the rank of a pair that has none. */
  add(left: number, right: number, rank: number): void {
    if (2 * (this.size + 1) > this.mask) this.grow();
    for (let slot = mix(left, right) & this.mask; ; slot = (slot + 1) & this.mask) {
      const at = 3 * slot;
      if (this.table[at] === left && this.table[at + 1] === right) return;
      if (this.table[at]! >= 0) continue;
      this.table[at] = left;
      this.table[at + 1] = right;
      this.table[at + 2] = rank;
      this.size++;
      return;
    }
  }

  private learn(left: number, right: number, tokens: ByteTable): number {
    const { starts, arena } = tokens;
    const middle = starts[left + 1]! - starts[left]!;
    const length = middle + starts[right + 1]! - starts[right]!;
    if (length > this.scratch.length) this.scratch = new Uint8Array(2 * length);
    this.scratch.set(arena.subarray(starts[left]!, starts[left + 1]!));
    this.scratch.set(arena.subarray(starts[right]!, starts[right + 1]!), middle);
    const id = tokens.lookUp(this.scratch, 0, length);
    const rank = id < 0 || id >= this.ordinary ? NEVER : id;
    if (this.size > MOST_REMEMBERED) {
      this.table.fill(-1);
      this.size = 0;
    }
    this.add(left, right, rank);
    return rank;
  }

  private grow(): void {
    const old = this.table;
    this.table = new Int32Array(2 * old.length).fill(-1);
    this.mask = 2 * this.mask + 1;
    this.size = 0;
    for (let at = 0; at < old.length; at += 3) if (old[at]! >= 0) this.add(old[at]!, old[at + 1]!, old[at + 2]!);
  }
}

function mix(left: number, right: number): number {
  const hash = Math.imul(left, 0x9e3779b1) ^ Math.imul(right + 0x7f4a7c15, 0x85ebca6b);
  return hash ^ (hash >>> 15);
}
