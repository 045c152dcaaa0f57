// Parses the training text: words with counts ("low x5, lower x2"), or plain text.

import type { Pretoken } from "./trainer";

export const DEFAULT_WORDS = "low x5, lower x2, newer x6";

/** Longer text is cut: the step-through is for small texts. */
export const LONGEST_TEXT = 20_000;

const COUNTED = /^(.*\S)\s*[x\u00d7]\s*([0-9]{1,9})$/u;

/** The pretokens of a list like "low x5, lower x2" (or one per line), or null if `text` is not such a list. */
export function countedWords(text: string): Map<string, number> | null {
  const items = text.split(/[,\n]/u).map((item) => item.trim());
  const counts = new Map<string, number>();
  for (const item of items) {
    if (item === "") continue;
    const match = COUNTED.exec(item);
    if (match === null) return null;
    const count = Number(match[2]);
    if (count > 0) counts.set(match[1]!, (counts.get(match[1]!) ?? 0) + count);
  }
  return counts.size > 0 ? counts : null;
}

/** Pretokens with their counts, in order of first appearance. */
export function countPretokens(pretokens: Iterable<string>): Map<string, number> {
  const counts = new Map<string, number>();
  for (const pretoken of pretokens) counts.set(pretoken, (counts.get(pretoken) ?? 0) + 1);
  return counts;
}

/** The trainer's input. */
export function toPretokens(counts: Map<string, number>): Pretoken[] {
  const encoder = new TextEncoder();
  return Array.from(counts, ([text, count]) => ({ bytes: encoder.encode(text), count }));
}
