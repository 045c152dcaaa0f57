// A hash table of byte strings: an arena with open addressing. Used for the tokens and the pretoken cache.

import { hashBytes } from "./bytes";

export class ByteTable {
  arena: Uint8Array;
  /** The start of entry i in the arena; it ends where entry i + 1 begins. */
  starts: Int32Array;
  size = 0;
  private slots: Int32Array; // entry + 1, or 0
  private hashes: Int32Array; // by entry

  constructor(entries = 1024, bytes = 1 << 14) {
    this.arena = new Uint8Array(bytes);
    this.starts = new Int32Array(entries + 1);
    this.hashes = new Int32Array(entries);
    let slots = 1024;
    while (slots < 2 * entries) slots *= 2;
    this.slots = new Int32Array(slots);
  }

  /** Bytes of memory used by the entries. */
  get weight(): number {
    return this.starts[this.size]! + 16 * this.size;
  }

  /** The entry equal to data[start:end], whose hash is `hash`, or -1. */
  find(data: Uint8Array, start: number, end: number, hash: number): number {
    const { slots, hashes, starts, arena } = this;
    const mask = slots.length - 1;
    const length = end - start;
    for (let slot = hash & mask; ; slot = (slot + 1) & mask) {
      const entry = slots[slot]! - 1;
      if (entry < 0) return -1;
      if (hashes[entry] !== hash) continue;
      const at = starts[entry]!;
      if (starts[entry + 1]! - at !== length) continue;
      let i = 0;
      while (i < length && arena[at + i] === data[start + i]) i++;
      if (i === length) return entry;
    }
  }

  lookUp(data: Uint8Array, start = 0, end = data.length): number {
    return this.find(data, start, end, hashBytes(data, start, end));
  }

  /** Add data[start:end], which is not in the table (or need not be found), and return its entry. */
  add(data: Uint8Array, start: number, end: number, hash: number, findable = true): number {
    const entry = this.size;
    if (entry === this.hashes.length) this.grow();
    const at = this.starts[entry]!;
    const stop = at + end - start;
    if (stop > this.arena.length) {
      const arena = new Uint8Array(Math.max(stop, 2 * this.arena.length));
      arena.set(this.arena.subarray(0, at));
      this.arena = arena;
    }
    if (end - start < 32) for (let i = start, k = at; i < end; ) this.arena[k++] = data[i++]!;
    else this.arena.set(data.subarray(start, end), at);
    this.starts[entry + 1] = stop;
    this.hashes[entry] = hash;
    this.size = entry + 1;
    if (findable) this.place(entry, hash);
    return entry;
  }

  /** Remove all entries but keep the memory. */
  clear(): void {
    this.size = 0;
    this.slots.fill(0);
  }

  private place(entry: number, hash: number): void {
    const mask = this.slots.length - 1;
    let slot = hash & mask;
    while (this.slots[slot] !== 0) slot = (slot + 1) & mask;
    this.slots[slot] = entry + 1;
  }

  private grow(): void {
    const placed = this.slots.filter((slot) => slot !== 0);
    this.starts = extended(this.starts, 2 * this.hashes.length + 1);
    this.hashes = extended(this.hashes, 2 * this.hashes.length);
    this.slots = new Int32Array(2 * this.slots.length);
    for (const slot of placed) this.place(slot - 1, this.hashes[slot - 1]!);
  }
}

function extended(array: Int32Array, length: number): Int32Array {
  const longer = new Int32Array(length);
  longer.set(array);
  return longer;
}
