// A list of 32-bit integers that grows.

export class IdList {
  data: Int32Array;
  length = 0;

  constructor(room = 1024) {
    this.data = new Int32Array(room);
  }

  push(value: number): void {
    if (this.length === this.data.length) this.reserve(1);
    this.data[this.length++] = value;
  }

  extend(values: Int32Array): void {
    this.reserve(values.length);
    this.data.set(values, this.length);
    this.length += values.length;
  }

  /** Make room for `more` further values. */
  reserve(more: number): void {
    if (this.length + more <= this.data.length) return;
    const longer = new Int32Array(Math.max(this.length + more, 2 * this.data.length));
    longer.set(this.data.subarray(0, this.length));
    this.data = longer;
  }

  /** Empty the list, and free memory if a large text had made it large. */
  clear(): void {
    this.length = 0;
    if (this.data.length > 1 << 22) this.data = new Int32Array(1 << 20);
  }
}
