// Right-to-left text in boxes. Each box is isolated, so that its letters stay together. To the browser an isolated box is a
// neutral character, so it would take the order of the paragraph. Invisible marks around it restore its own direction, and
// boxes have the order that their letters have in plain text.

import { h } from "./dom";

export const LTR_MARK = "\u200e";
export const RTL_MARK = "\u200f";
const ISOLATE_LTR = "\u2066";
const END_ISOLATE = "\u2069";

const RTL = /[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc\u{10800}-\u{10fff}\u{1e800}-\u{1efff}]/u;
const STRONG = /[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc\u{10800}-\u{10fff}\u{1e800}-\u{1efff}\p{L}]/gu;
const DIGIT = /\p{Nd}/u;

/** Whether a text has right-to-left letters. */
export function hasRtl(text: string): boolean {
  return RTL.test(text);
}

/** The direction of a text's first letter, or null if it has none. */
export function directionOf(text: string): "ltr" | "rtl" | null {
  const first = text.match(STRONG)?.find((char) => !DIGIT.test(char));
  return first === undefined ? null : RTL.test(first) ? "rtl" : "ltr";
}

const NUMBER = /^\s?\p{Nd}+$/u;
const NUMBER_GOES_ON = /^[.,:/]?\p{Nd}+$/u;
const SEPARATOR = /^[.,:/]$/u;

/**
 * The marks to write before and after each of a row of boxes with these texts. A number in several boxes is one word, from
 * left to right. A box without text holds further bytes of the character in the box before it. A line feed ends a paragraph.
 */
export function directionMarks(texts: readonly string[]): [before: string, after: string][] {
  const marks: [string, string][] = [];
  let last = "";
  for (let i = 0; i < texts.length; i++) {
    const text = texts[i]!;
    const letters = text.match(STRONG)?.filter((char) => !DIGIT.test(char)) ?? [];
    if (letters.length > 0) {
      marks.push([markOf(letters[0]!), markOf(letters.at(-1)!)]);
      last = markOf(letters.at(-1)!);
    } else if (NUMBER.test(text)) {
      let end = i + 1;
      while (end < texts.length && goesOn(texts, end)) end++;
      marks.push([`${last}${ISOLATE_LTR}`, ""]);
      for (i++; i < end; i++) marks.push(["", ""]);
      i = end - 1;
      marks[i]![1] = `${END_ISOLATE}${last}`;
    } else {
      marks.push(text === "" ? [last, last] : ["", ""]);
    }
    if (text.includes("\n")) last = "";
  }
  return marks;
}

function goesOn(texts: readonly string[], i: number): boolean {
  return NUMBER_GOES_ON.test(texts[i]!) || (SEPARATOR.test(texts[i]!) && /^\p{Nd}+$/u.test(texts[i + 1] ?? ""));
}

function markOf(letter: string): string {
  return RTL.test(letter) ? RTL_MARK : LTR_MARK;
}

/** A stretch of a line that goes in one direction, in UTF-16 units. */
export interface Run {
  from: number;
  to: number;
  rtl: boolean;
}

const characters = new Intl.Segmenter(undefined, { granularity: "grapheme" });

/** The runs of a line from left to right, as the browser orders them: measured on a hidden copy of the line. */
export function visualRuns(text: string, dir: "ltr" | "rtl"): Run[] {
  const shown = text.replace(/[\n\r]/g, "\u23ce");
  const copy = h("div", { class: "measured", dir, "aria-hidden": "true" }, shown);
  document.body.append(copy);
  const range = document.createRange();
  const runs: { from: number; to: number; rtl: boolean | null; left: number }[] = [];
  let last = { left: Number.NaN, right: Number.NaN };
  const touch = (a: number, b: number) => Math.abs(a - b) < 0.5; // pixels
  for (const { index: from, segment } of characters.segment(shown)) {
    const to = from + segment.length;
    range.setStart(copy.firstChild!, from);
    range.setEnd(copy.firstChild!, to);
    const box = range.getBoundingClientRect();
    const run = runs.at(-1);
    const rtl = touch(last.right, box.left) ? false : touch(last.left, box.right) ? true : null;
    if (run && box.width === 0) run.to = to;
    else if (run && rtl !== null && (run.rtl ?? rtl) === rtl) {
      run.to = to;
      run.rtl = rtl;
      run.left = Math.min(run.left, box.left);
    } else runs.push({ from, to, rtl: null, left: box.left });
    if (box.width > 0) last = box;
  }
  copy.remove();
  runs.sort((a, b) => a.left - b.left);
  return runs.map(({ from, to, rtl }) => ({ from, to, rtl: rtl ?? dir === "rtl" }));
}
