// The text and the bytes of single tokens of an encoded text.

import { toBytes } from "../encoder/bytes";
import type { Encoded } from "../encoder/encoder";
import { ADDED, INSIDE_CHARACTER, PRETOKEN_START } from "../encoder/flags";
import { partial } from "./show";

/** The label of token `i`: its text, or its bytes if it begins or ends inside a character. */
export function tokenText(encoded: Encoded, i: number): { text: string; whole: boolean } {
  const { text, units, flags } = encoded;
  const before = i > 0 && flags[i - 1]! & INSIDE_CHARACTER;
  if (!before && !(flags[i]! & INSIDE_CHARACTER)) {
    return { text: text.slice(i > 0 ? units[i - 1] : 0, units[i]), whole: true };
  }
  return { text: partial(tokenBytes(encoded, i), ""), whole: false };
}

/** The bytes of the text that token `i` covers. */
export function tokenBytes(encoded: Encoded, i: number): Uint8Array {
  const { text, units, ends, flags } = encoded;
  let first = i; // go back to a token that begins a character
  while (first > 0 && flags[first - 1]! & INSIDE_CHARACTER) first--;
  const from = first > 0 ? units[first - 1]! : 0;
  const base = first > 0 ? ends[first - 1]! : 0;
  const start = i > 0 ? ends[i - 1]! : 0;
  return toBytes(text.slice(from, units[i])).slice(start - base, ends[i]! - base);
}

/** The first token of the pretoken that token `i` belongs to, and the first one after it. */
export function pretokenOf(encoded: Encoded, i: number): [number, number] {
  const { flags, ids } = encoded;
  let first = i;
  while (first > 0 && !(flags[first]! & PRETOKEN_START)) first--;
  let after = i + 1;
  while (after < ids.length && !(flags[after]! & PRETOKEN_START)) after++;
  return [first, after];
}

export function isAdded(encoded: Encoded, i: number): boolean {
  return (encoded.flags[i]! & ADDED) !== 0;
}

/** Whether a token's text has a space between letters or digits, as superwords do. */
export function spansWords(text: string): boolean {
  return /[\p{L}\p{N}\p{M}]\s+[\p{L}\p{N}]/u.test(text);
}

/** The words of a superword, each with the space before it. */
export function wordsOf(text: string): string[] {
  return text.split(/(?<=[^\s\u00b7])(?=[\s\u00b7])/u);
}
