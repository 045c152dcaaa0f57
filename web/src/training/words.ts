// Parses the training text: words with counts ("low x5, lower x2"), or plain text.

import type { Fault, Pretoken } from "./trainer";

export const DEFAULT_WORDS = "low x5, lower x2, newer x6";

/** Words to try, with the kind of training that they are for. */
export const EXAMPLES: { name: string; words: string; refine: boolean; fault: Fault }[] = [
  { name: "a merge in several words", words: DEFAULT_WORDS, refine: false, fault: "none" },
  {
    name: "a seam: 3 pairs go down, 2 come back",
    words: "xaby x4, ab x9, zaby x1",
    refine: false,
    fault: "none",
  },
  { name: "a fault: counts at the seam stay", words: "cab x5, dab x3, cad x7", refine: false, fault: "seam" },
  { name: "a fault: fallen counts are lost", words: "cab x5, dab x3, cad x7", refine: false, fault: "repush" },
  { name: "Picky: a token is removed", words: "kentucky x9, kent x1, ucky x1", refine: true, fault: "none" },
];

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
