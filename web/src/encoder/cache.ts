// Pretoken -> ids, for every pretoken seen before. A slot is four numbers. A pretoken of at most 8 bytes is its own key (two
// numbers and its length), so most lookups touch one cache line. A longer one is found by its hash, and its bytes are
// compared.

import { hashBytes } from "./bytes";
import { IdList } from "./ids";

export const MISS = -0x80000000;

const MOST_BYTES = 1 << 25;

export class PretokenCache {
  private slots = new Int32Array(4 << 14); // key, key, length (negative for long pretokens, 0 where free), value
  private mask = (1 << 14) - 1;
  private used = 0;
  private arena = new Uint8Array(1 << 14);
  private arenaUsed = 0;
  /** The ids of pretokens with several tokens, one after another; a value ~i means those from starts[i]. */
  readonly ids = new IdList(1 << 14);
  readonly starts = new IdList(1 << 12);

  constructor() {
    this.starts.push(0);
  }

  /** Whether it is over its size limit; `clear` it then. */
  get full(): boolean {
    return 32 * this.used + this.arenaUsed + 4 * this.ids.length > MOST_BYTES;
  }

  clear(): void {
    this.slots = new Int32Array(4 << 14);
    this.mask = (1 << 14) - 1;
    this.used = 0;
    this.arenaUsed = 0;
    this.ids.clear();
    this.starts.clear();
    this.starts.push(0);
  }

  /** The entry of data[start:end]: an id, ~i for a list of ids, or MISS. */
  find(data: Uint8Array, start: number, end: number): number {
    const { slots, mask } = this;
    const length = end - start;
    if (length > 8) return this.findLong(data, start, end);
    let low = 0;
    let high = 0;
    if (length < 4) {
      for (let i = length - 1; i >= 0; i--) low = (low << 8) | data[start + i]!;
    } else {
      low = data[start]! | (data[start + 1]! << 8) | (data[start + 2]! << 16) | (data[start + 3]! << 24);
      for (let i = length - 1; i >= 4; i--) high = (high << 8) | data[start + i]!;
    }
    for (let slot = mixed(low, high, length) & mask; ; slot = (slot + 1) & mask) {
      const at = slot << 2;
      const tag = slots[at + 2]!;
      if (tag === length && slots[at] === low && slots[at + 1] === high) return slots[at + 3]!;
      if (tag === 0) return MISS;
    }
  }

  /** Add data[start:end], which is not in the cache. */
  add(data: Uint8Array, start: number, end: number, value: number): void {
    if (3 * this.used > 2 * this.mask) this.grow();
    const length = end - start;
    if (length > 8) {
      const place = this.keep(data, start, end);
      this.put(hashBytes(data, start, end), place, -length, value);
      return;
    }
    let low = 0;
    let high = 0;
    for (let i = Math.min(4, length) - 1; i >= 0; i--) low = (low << 8) | data[start + i]!;
    for (let i = length - 1; i >= 4; i--) high = (high << 8) | data[start + i]!;
    this.put(low, high, length, value);
  }

  private findLong(data: Uint8Array, start: number, end: number): number {
    const { slots, mask, arena } = this;
    const tag = start - end;
    const hash = hashBytes(data, start, end);
    for (let slot = spread(hash) & mask; ; slot = (slot + 1) & mask) {
      const at = slot << 2;
      if (slots[at + 2] === 0) return MISS;
      if (slots[at + 2] !== tag || slots[at] !== hash) continue;
      let place = slots[at + 1]!;
      let i = start;
      while (i < end && arena[place] === data[i]) {
        i++;
        place++;
      }
      if (i === end) return slots[at + 3]!;
    }
  }

  private put(low: number, high: number, tag: number, value: number): void {
    const { slots, mask } = this;
    let slot = (tag < 0 ? spread(low) : mixed(low, high, tag)) & mask;
    while (slots[(slot << 2) + 2] !== 0) slot = (slot + 1) & mask;
    const at = slot << 2;
    slots[at] = low;
    slots[at + 1] = high;
    slots[at + 2] = tag;
    slots[at + 3] = value;
    this.used++;
  }

  private keep(data: Uint8Array, start: number, end: number): number {
    const place = this.arenaUsed;
    this.arenaUsed += end - start;
    if (this.arenaUsed > this.arena.length) {
      const longer = new Uint8Array(Math.max(this.arenaUsed, 2 * this.arena.length));
      longer.set(this.arena.subarray(0, place));
      this.arena = longer;
    }
    this.arena.set(data.subarray(start, end), place);
    return place;
  }

  private grow(): void {
    const old = this.slots;
    this.slots = new Int32Array(2 * old.length);
    this.mask = 2 * this.mask + 1;
    this.used = 0;
    for (let at = 0; at < old.length; at += 4) {
      if (old[at + 2] !== 0) this.put(old[at]!, old[at + 1]!, old[at + 2]!, old[at + 3]!);
    }
  }
}

function mixed(low: number, high: number, length: number): number {
  return spread(low ^ Math.imul(high, 0x2c1b3c6d) ^ (length << 27));
}

function spread(key: number): number {
  const hash = Math.imul(key, 0x9e3779b1);
  return hash ^ (hash >>> 15);
}
