// Merges the parts of one pretoken by rank: lowest rank first, leftmost of equal ranks. Short pretokens use an array, long
// ones a heap, so that no input takes quadratic time.

import { OrderHeap } from "./heap";
import type { IdList } from "./ids";
import { NEVER, type PairRanks } from "./pairs";

const LONGEST_ON_ARRAY = 96;

/** Merges `parts` (in place) and appends the resulting ids to `out`. */
export type Merge = (parts: Int32Array, count: number, out: IdList) => void;

/**
 * `made`: the id that the merge of a rank makes; null if the rank is the id. Pairs of rank `limit` and later do not merge,
 * as if training had stopped before.
 */
export function rankMerge(pairs: PairRanks, made: Int32Array | null, limit = NEVER): Merge {
  const rankOf = (left: number, right: number) => {
    const rank = pairs.rank(left, right);
    return rank < limit ? rank : NEVER;
  };
  const ranks = new Int32Array(LONGEST_ON_ARRAY);
  const heap = new OrderHeap();

  function onArray(parts: Int32Array, count: number, out: IdList): void {
    let last = count - 1; // ranks[i] is that of parts i and i + 1, for i < last
    for (let i = 0; i < last; i++) ranks[i] = rankOf(parts[i]!, parts[i + 1]!);
    while (last > 0) {
      let best = NEVER;
      let at = 0;
      for (let i = 0; i < last; i++) {
        const rank = ranks[i]!;
        if (rank < best) {
          best = rank;
          at = i;
        }
      }
      if (best === NEVER) break;
      parts[at] = made === null ? best : made[best]!;
      for (let i = at + 1; i < last; i++) {
        parts[i] = parts[i + 1]!;
        ranks[i] = ranks[i + 1]!;
      }
      last--;
      if (at > 0) ranks[at - 1] = rankOf(parts[at - 1]!, parts[at]!);
      if (at < last) ranks[at] = rankOf(parts[at]!, parts[at + 1]!);
    }
    for (let i = 0; i <= last; i++) out.push(parts[i]!);
  }

  function onHeap(parts: Int32Array, count: number, out: IdList): void {
    const rankAt = new Int32Array(count).fill(NEVER); // of the pair that begins here
    const next = new Int32Array(count);
    const previous = new Int32Array(count);
    const look = (at: number) => {
      const rank = next[at]! < count ? rankOf(parts[at]!, parts[next[at]!]!) : NEVER;
      rankAt[at] = rank;
      if (rank !== NEVER) heap.push(rank, at);
    };
    for (let i = 0; i < count; i++) {
      next[i] = i + 1;
      previous[i] = i - 1;
    }
    for (let i = 0; i < count; i++) look(i);
    while (heap.size > 0) {
      const rank = heap.topOrder();
      const at = heap.topPlace();
      heap.pop();
      if (rankAt[at] !== rank) continue; // the pair is gone
      const eaten = next[at]!;
      parts[at] = made === null ? rank : made[rank]!;
      next[at] = next[eaten]!;
      rankAt[eaten] = NEVER;
      if (next[at]! < count) previous[next[at]!] = at;
      look(at);
      if (previous[at]! >= 0) look(previous[at]!);
    }
    heap.trim();
    for (let i = 0; i < count; i = next[i]!) out.push(parts[i]!);
  }

  return (parts, count, out) => (count <= LONGEST_ON_ARRAY ? onArray : onHeap)(parts, count, out);
}
