// The tokens of a text while it is encoded, in columns, and which of them stay after an edit.

import { PRETOKEN_START } from "./flags";
import { IdList } from "./ids";

export class TokenList {
  readonly ids = new IdList();
  readonly ends = new IdList(); // bytes
  readonly marks = new IdList();
  /** How far the text was examined to decide all cuts up to this token's pretoken; never falls. */
  readonly reach = new IdList();

  get length(): number {
    return this.ids.length;
  }

  clear(): void {
    for (const list of [this.ids, this.ends, this.marks, this.reach]) list.clear();
  }

  push(id: number, end: number, mark: number, reach: number): void {
    this.ids.push(id);
    this.ends.push(end);
    this.marks.push(mark);
    this.reach.push(reach);
  }

  /** The number of first tokens that are whole pretokens and were decided without examining text after byte `place`. */
  decidedBefore(place: number): number {
    const reach = this.reach.data;
    let low = 0;
    let high = this.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (reach[middle]! <= place) low = middle + 1;
      else high = middle;
    }
    while (low > 0 && low < this.length && !(this.marks.data[low]! & PRETOKEN_START)) low--;
    return low;
  }

  /** Copy the tokens `from` to `to` of another list, shifted by `shift` bytes; `reach` is at least `least`. */
  take(other: TokenList, from: number, to: number, shift: number, least: number): void {
    const count = to - from;
    const at = this.length;
    this.ids.extend(other.ids.data.subarray(from, to));
    this.marks.extend(other.marks.data.subarray(from, to));
    this.ends.extend(other.ends.data.subarray(from, to));
    this.reach.extend(other.reach.data.subarray(from, to));
    if (shift === 0 && least === 0) return;
    const ends = this.ends.data;
    const reach = this.reach.data;
    for (let i = at; i < at + count; i++) {
      ends[i]! += shift;
      reach[i] = Math.max(least, reach[i]! + shift);
    }
  }
}
