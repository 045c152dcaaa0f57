// Event order (Picky BPE): replays merges and removals on one pretoken in training order. Of the events after the last
// applied one, the earliest that can be applied is applied everywhere, from left to right. When a pair or a token appears,
// its next event is known: the first of its own events after that moment. So a heap of (event, place) gives the order, and
// events that do not apply are never visited.

import { OrderHeap } from "./heap";
import type { Merge } from "./merge";
import { NEVER, PairRanks } from "./pairs";

/** Events as in the library: rows (left, right, new) for a merge, (id, -1, -1) for a removal. */
export class EventList {
  readonly merges: PairRanks;
  /** The numbers of each group's events, ascending; a group is a pair or a removed token. */
  private readonly numbers: Int32Array;
  private readonly groupStarts: Int32Array;
  private readonly removalGroup = new Map<number, number>();
  /** The parts of a removed token, by event. */
  readonly parts: (readonly number[] | null)[] = [];
  /** The number of initial parts (bytes) of a token; 1 by default. */
  readonly lengths: number[] = [];

  constructor(
    left: Int32Array,
    right: Int32Array,
    readonly made: Int32Array,
  ) {
    const count = left.length;
    this.merges = new PairRanks(null, 0);
    const groups: number[] = []; // by event
    const first = new Map<number, [number, number]>();
    const gone = new Set<number>();
    const apart = (id: number): number[] => first.get(id)!.flatMap((part) => (gone.has(part) ? apart(part) : [part]));
    let known = 0;
    for (let event = 0; event < count; event++) {
      const id = left[event]!;
      let group: number | undefined;
      if (right[event]! < 0) {
        group = this.removalGroup.get(id);
        group ??= known++;
        this.removalGroup.set(id, group);
        this.parts[event] = apart(id);
        gone.add(id);
      } else {
        const rank = this.merges.rank(id, right[event]!);
        group = rank === NEVER ? known++ : rank;
        if (rank === NEVER) this.merges.add(id, right[event]!, group);
        this.parts[event] = null;
        if (!first.has(made[event]!)) first.set(made[event]!, [id, right[event]!]);
        this.lengths[made[event]!] = (this.lengths[id] ?? 1) + (this.lengths[right[event]!] ?? 1);
        gone.delete(made[event]!);
      }
      groups.push(group);
    }
    this.groupStarts = new Int32Array(known + 1);
    for (const group of groups) this.groupStarts[group + 1]!++;
    for (let i = 0; i < known; i++) this.groupStarts[i + 1]! += this.groupStarts[i]!;
    const fill = this.groupStarts.slice();
    this.numbers = new Int32Array(count);
    for (const [event, group] of groups.entries()) this.numbers[fill[group]!++] = event;
  }

  private after(group: number, event: number): number {
    for (let i = this.groupStarts[group]!; i < this.groupStarts[group + 1]!; i++) {
      if (this.numbers[i]! > event) return this.numbers[i]!;
    }
    return NEVER;
  }

  /** The first event after `event` that merges the pair. */
  mergeAfter(left: number, right: number, event: number): number {
    const group = this.merges.rank(left, right);
    return group === NEVER ? NEVER : this.after(group, event);
  }

  /** The first event after `event` that removes the token. */
  removalAfter(id: number, event: number): number {
    const group = this.removalGroup.get(id);
    return group === undefined ? NEVER : this.after(group, event);
  }
}

/** Merging by replay. */
export function eventMerge(events: EventList): Merge {
  const heap = new OrderHeap();
  // The place of a part is the number of initial parts before it. Places do not change, so the heap goes from left to
  // right within an event, and the places of a removed token's parts are free.
  let ids = new Int32Array(0);
  let previous = new Int32Array(0);
  let mergeAt = new Int32Array(0);
  let removeAt = new Int32Array(0);
  const lengthOf = (id: number) => events.lengths[id] ?? 1;

  return (parts, count, out) => {
    if (ids.length < count || ids.length > Math.max(2 * count, 1 << 16)) {
      ids = new Int32Array(2 * count);
      previous = new Int32Array(2 * count);
      mergeAt = new Int32Array(2 * count);
      removeAt = new Int32Array(2 * count);
    }
    const awaitMerge = (at: number, event: number) => {
      const other = at + lengthOf(ids[at]!);
      const merge = other < count ? events.mergeAfter(ids[at]!, ids[other]!, event) : NEVER;
      mergeAt[at] = merge;
      if (merge !== NEVER) heap.push(merge, at);
    };
    const awaitRemoval = (at: number, event: number) => {
      const removal = events.removalAfter(ids[at]!, event);
      removeAt[at] = removal;
      if (removal !== NEVER) heap.push(removal, at);
    };
    for (let i = 0; i < count; i++) {
      ids[i] = parts[i]!;
      previous[i] = i - 1;
    }
    for (let i = 0; i < count; i++) {
      awaitMerge(i, -1);
      removeAt[i] = NEVER;
    }
    while (heap.size > 0) {
      const event = heap.topOrder();
      const at = heap.topPlace();
      heap.pop();
      if (mergeAt[at] === event) {
        const eaten = at + lengthOf(ids[at]!);
        mergeAt[eaten] = NEVER;
        removeAt[eaten] = NEVER;
        ids[at] = events.made[event]!;
        const after = at + lengthOf(ids[at]!);
        if (after < count) previous[after] = at;
        awaitMerge(at, event);
        awaitRemoval(at, event);
        if (at > 0) awaitMerge(previous[at]!, event);
      } else if (removeAt[at] === event) {
        const fallen = events.parts[event]!;
        let place = at;
        let before = previous[at]!;
        for (const part of fallen) {
          ids[place] = part;
          previous[place] = before;
          before = place;
          place += lengthOf(part);
        }
        if (place < count) previous[place] = before;
        if (at > 0) awaitMerge(previous[at]!, event);
        for (let i = at; i < place; i += lengthOf(ids[i]!)) {
          awaitMerge(i, event);
          awaitRemoval(i, event);
        }
      }
    }
    heap.trim();
    for (let i = 0; i < count; i += lengthOf(ids[i]!)) out.push(ids[i]!);
  };
}
