// Superwords of whole pretokens (BoundlessBPE): after the events, their merges join neighbouring pretokens that became one
// token each.

import { ADDED, PRETOKEN_START } from "./flags";
import { IdList } from "./ids";
import { type Merge, rankMerge } from "./merge";
import { NEVER, PairRanks } from "./pairs";
import { TokenList } from "./tokenlist";

export class Superwords {
  private readonly merge: Merge;
  /** By id: how many pretokens a superword joins. 1 by default. */
  private readonly pretokens: number[] = [];
  /** The pairs of tokens whose border a superword crosses. */
  private readonly crossed = new PairRanks(null, 0);
  private readonly joined = new TokenList();
  private readonly merged = new IdList();

  /** The merges by rank, as columns. */
  constructor(left: Int32Array, right: Int32Array, made: Int32Array) {
    const pairs = new PairRanks(null, 0);
    const ends: [first: number, last: number][] = []; // by id
    for (let rank = 0; rank < left.length; rank++) {
      const [a, b, id] = [left[rank]!, right[rank]!, made[rank]!];
      pairs.add(a, b, rank);
      this.pretokens[id] = this.count(a) + this.count(b);
      this.crossed.add(ends[a]?.[1] ?? a, ends[b]?.[0] ?? b, 0);
      ends[id] = [ends[a]?.[0] ?? a, ends[b]?.[1] ?? b];
    }
    this.merge = rankMerge(pairs, made);
  }

  /** The tokens of a text with superwords. The list is used again by the next call. */
  join(tokens: TokenList): TokenList {
    const { joined, merged, crossed } = this;
    const ids = tokens.ids.data;
    joined.clear();
    for (let first = 0, end: number; first < tokens.length; first = end) {
      end = first + 1;
      while (end < tokens.length && this.joins(tokens, end) && crossed.rank(ids[end - 1]!, ids[end]!) !== NEVER) end++;
      merged.clear();
      if (end > first + 1) this.merge(ids.slice(first, end), end - first, merged);
      else merged.push(ids[first]!);
      let at = first;
      for (const id of merged.data.subarray(0, merged.length)) {
        const mark = tokens.marks.data[at]!;
        at += this.count(id);
        joined.push(id, tokens.ends.data[at - 1]!, mark, 0);
      }
    }
    return joined;
  }

  private count(id: number): number {
    return this.pretokens[id] ?? 1;
  }

  /** Whether token `i` and the one before it are whole pretokens. */
  private joins(tokens: TokenList, i: number): boolean {
    const marks = tokens.marks.data;
    return (
      marks[i - 1] === PRETOKEN_START &&
      marks[i] === PRETOKEN_START &&
      (i + 1 === tokens.length || (marks[i + 1]! & (PRETOKEN_START | ADDED)) !== 0)
    );
  }
}
