// UTF-8: text to bytes, and the positions of characters in them.

const encoder = new TextEncoder();
const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/** A growing buffer that is reused, so that encoding leaves nothing for the garbage collector. */
export class ByteBuffer {
  bytes = new Uint8Array(1 << 16);
  length = 0;

  /** Store the UTF-8 of `text` (well formed) after `prefix` bytes of space. */
  set(text: string, prefix: number): void {
    const room = prefix + text.length * 3;
    if (this.bytes.length < room) this.bytes = new Uint8Array(Math.max(room, 2 * this.bytes.length));
    else if (this.bytes.length > 1 << 22 && room < 1 << 20) this.bytes = new Uint8Array(1 << 20);
    this.bytes.fill(0x20, 0, prefix);
    this.length = prefix + encoder.encodeInto(text, this.bytes.subarray(prefix)).written;
  }
}

export function toBytes(text: string): Uint8Array {
  return encoder.encode(text);
}

/** The text of `bytes`, or null if they are not whole UTF-8. */
export function toText(bytes: Uint8Array): string | null {
  try {
    return decoder.decode(bytes);
  } catch {
    return null;
  }
}

/** Lone surrogates become U+FFFD, as in the library. */
export function wellFormed(text: string): string {
  return text.isWellFormed?.() ? text : text.replace(/\p{Surrogate}/gu, "\ufffd");
}

/** The length in bytes of the UTF-8 character that begins with byte `lead`. */
export function characterLength(lead: number): number {
  return lead < 0xc0 ? 1 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
}

/** A 32-bit hash of data[start:end]. */
export function hashBytes(data: Uint8Array, start: number, end: number): number {
  let hash = 0x811c9dc5;
  for (let i = start; i < end; i++) hash = Math.imul(hash ^ data[i]!, 0x01000193);
  hash = Math.imul(hash ^ (hash >>> 15), 0x2c1b3c6d);
  return hash ^ (hash >>> 13);
}
