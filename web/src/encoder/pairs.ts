// Pair of ids -> rank of its merge. For listed merges the table is complete. For rank order ("two neighbours whose joined
// bytes are a token") it caches lookups by bytes, so that nothing is built before first use.

import type { ByteTable } from "./table";

/** The rank of a pair that does not merge: after every rank. */
export const NEVER = 0x7fffffff;

const MOST_REMEMBERED = 1 << 20;
const IDS = 1 << 21; // more than there are

export class PairRanks {
  private readonly ranks = new Map<number, number>();
  private scratch = new Uint8Array(256);

  /** `tokens`: for rank order, the tokens by bytes; null if `add` gives all pairs. */
  constructor(
    private readonly tokens: ByteTable | null,
    private readonly ordinary: number,
  ) {}

  rank(left: number, right: number): number {
    const known = this.ranks.get(left * IDS + right);
    if (known !== undefined) return known;
    return this.tokens === null ? NEVER : this.learn(left, right, this.tokens);
  }

  /** Set the rank of a pair, unless it has one. */
  add(left: number, right: number, rank: number): void {
    const pair = left * IDS + right;
    if (!this.ranks.has(pair)) this.ranks.set(pair, rank);
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
    if (this.ranks.size > MOST_REMEMBERED) this.ranks.clear();
    this.ranks.set(left * IDS + right, rank);
    return rank;
  }
}
