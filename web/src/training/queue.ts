// The queue of pairs: highest count first, then the smaller (left id, right id). Entries are never changed in place:
// when a pair's count falls, its entry becomes stale and is corrected only when it reaches the top.

export interface Entry {
  left: number;
  right: number;
  count: number;
}

/** Whether `a` leaves the queue before `b`. */
export function before(a: Entry, b: Entry): boolean {
  if (a.count !== b.count) return a.count > b.count;
  return a.left !== b.left ? a.left < b.left : a.right < b.right;
}

/** A binary heap of entries. */
export class PairQueue {
  private heap: Entry[];

  constructor(entries: Entry[] = []) {
    this.heap = entries;
  }

  get size(): number {
    return this.heap.length;
  }

  clone(): PairQueue {
    return new PairQueue(this.heap.slice()); // entries are immutable, so the copy may share them
  }

  /** All entries in the order in which they would leave the queue. */
  sorted(): Entry[] {
    return this.heap.slice().sort((a, b) => (before(a, b) ? -1 : before(b, a) ? 1 : 0));
  }

  push(entry: Entry): void {
    const heap = this.heap;
    let i = heap.length;
    heap.push(entry);
    while (i > 0) {
      const parent = (i - 1) >> 1;
      if (!before(entry, heap[parent]!)) break;
      heap[i] = heap[parent]!;
      i = parent;
    }
    heap[i] = entry;
  }

  pop(): Entry | undefined {
    const heap = this.heap;
    const top = heap[0];
    const last = heap.pop();
    if (top === undefined || last === undefined || heap.length === 0) return top;
    let i = 0;
    for (;;) {
      let child = 2 * i + 1;
      if (child >= heap.length) break;
      if (child + 1 < heap.length && before(heap[child + 1]!, heap[child]!)) child++;
      if (!before(heap[child]!, last)) break;
      heap[i] = heap[child]!;
      i = child;
    }
    heap[i] = last;
    return top;
  }
}
