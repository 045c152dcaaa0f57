// A heap of numbers, each made of an order (a rank or an event number, below 2^21) and a place (below 2^32).

const PLACES = 2 ** 32;

export class OrderHeap {
  private keys = new Float64Array(256);
  size = 0;

  push(order: number, place: number): void {
    if (this.size === this.keys.length) {
      const longer = new Float64Array(2 * this.keys.length);
      longer.set(this.keys);
      this.keys = longer;
    }
    const { keys } = this;
    const key = order * PLACES + place;
    let i = this.size++;
    while (i > 0) {
      const parent = (i - 1) >> 1;
      if (keys[parent]! <= key) break;
      keys[i] = keys[parent]!;
      i = parent;
    }
    keys[i] = key;
  }

  /** The order of the smallest key; read `topPlace` with it, then `pop`. */
  topOrder(): number {
    return Math.floor(this.keys[0]! / PLACES);
  }

  topPlace(): number {
    return this.keys[0]! % PLACES;
  }

  pop(): void {
    const { keys } = this;
    const size = --this.size;
    const key = keys[size]!;
    let i = 0;
    for (;;) {
      let child = 2 * i + 1;
      if (child >= size) break;
      if (child + 1 < size && keys[child + 1]! < keys[child]!) child++;
      if (keys[child]! >= key) break;
      keys[i] = keys[child]!;
      i = child;
    }
    keys[i] = key;
  }

  /** Free memory if a large pretoken had made the heap large. */
  trim(): void {
    this.size = 0;
    if (this.keys.length > 1 << 20) this.keys = new Float64Array(256);
  }
}
