// Pretoken -> ids, for every pretoken seen before.

import { hashBytes } from "./bytes";
import { IdList } from "./ids";
import { ByteTable } from "./table";

export const MISS = -0x80000000;

const MOST_BYTES = 1 << 25;

export class PretokenCache {
  private readonly pretokens = new ByteTable(1 << 14, 1 << 17);
  /** By entry of the table: an id, or ~i for the ids from starts[i]. */
  private readonly values = new IdList(1 << 14);
  /** The ids of pretokens with several tokens, one after another. */
  readonly ids = new IdList(1 << 14);
  readonly starts = new IdList(1 << 12);

  constructor() {
    this.starts.push(0);
  }

  /** Whether it is over its size limit; `clear` it then. */
  get full(): boolean {
    return this.pretokens.weight + 4 * this.ids.length > MOST_BYTES;
  }

  clear(): void {
    this.pretokens.clear();
    this.values.clear();
    this.ids.clear();
    this.starts.clear();
    this.starts.push(0);
  }

  /** The entry of data[start:end]: an id, ~i for a list of ids, or MISS. */
  find(data: Uint8Array, start: number, end: number): number {
    const entry = this.pretokens.lookUp(data, start, end);
    return entry < 0 ? MISS : this.values.data[entry]!;
  }

  /** Add data[start:end], which is not in the cache. */
  add(data: Uint8Array, start: number, end: number, value: number): void {
    this.pretokens.add(data, start, end, hashBytes(data, start, end));
    this.values.push(value);
  }
}
