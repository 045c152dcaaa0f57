// The queue of pairs: highest count first, then the smaller (left id, right id). Entries are never changed in place:
// when a pair's count falls, its entry becomes stale and is corrected only when it reaches the top. The texts of the page are
// small, so a sorted list does what a heap does in a fast trainer.

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

export class PairQueue {
  /** `entries`: in the order in which they leave the queue, the next one last. */
  constructor(private readonly entries: Entry[] = []) {}

  clone(): PairQueue {
    return new PairQueue(this.entries.slice());
  }

  /** All entries in the order in which they would leave the queue. */
  sorted(): Entry[] {
    return this.entries.toReversed();
  }

  push(entry: Entry): void {
    let low = 0;
    let high = this.entries.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (before(entry, this.entries[middle]!)) low = middle + 1;
      else high = middle;
    }
    this.entries.splice(low, 0, entry);
  }

  pop(): Entry | undefined {
    return this.entries.pop();
  }
}
