// The table of counts of the Compare view.

import { type Aligned, figures } from "../compare";
import type { Encoded } from "../encoder/encoder";
import { count, grouped, h } from "./dom";
import type { Session } from "./session";

export const NAMES = "ABCD";

/** One text encoded by several tokenizers. */
export interface Comparison {
  keys: string[];
  encodings: Encoded[];
  aligned: Aligned;
  text: string;
}

const NOTHING = "\u2013";

interface Column {
  title: string;
  values: (number | null)[];
  shown: (value: number) => string;
  /** Which value is the best: the least, the greatest, or none. */
  best: "least" | "most" | null;
  /** What the row for the whole text shows. */
  text: string;
}

/** The contents of the table: one row for each tokenizer, and one for the text. */
export function table(session: Session, shown: Comparison): HTMLElement[] {
  const all = columns(session, shown);
  const rows = shown.keys.map((key, lane) =>
    h(
      "tr",
      {},
      h("th", { scope: "row" }, h("span", { class: `lane-name l${lane}` }, NAMES[lane]!), ` ${session.nameOf(key)}`),
      ...all.map((column) => cell(column, lane)),
    ),
  );
  return [
    h("caption", { class: "hidden" }, "Counts for each tokenizer"),
    h(
      "thead",
      {},
      h("tr", {}, ...["Tokenizer", ...all.map((one) => one.title)].map((title) => h("th", { scope: "col" }, title))),
    ),
    h("tbody", {}, ...rows),
    h(
      "tfoot",
      {},
      h("tr", {}, h("th", { scope: "row" }, "The text"), ...all.map((column) => h("td", {}, column.text))),
    ),
  ];
}

function columns(session: Session, shown: Comparison): Column[] {
  const { encodings, keys, text } = shown;
  const found = figures(shown.aligned, encodings);
  const tokens = found.map((one) => one.tokens);
  const { bytes, characters } = encodings[0]!;
  const per = (size: number) => tokens.map((count) => (count > 0 ? size / count : null));
  const fixed = (value: number) => value.toFixed(2);
  const plain = { shown: grouped, best: null, text: "" };
  return [
    { title: "Tokens", values: tokens, shown: grouped, best: "least", text: "" },
    {
      title: "Compared with A",
      values: tokens.map((count, lane) => (lane === 0 || tokens[0] === 0 ? null : (100 * count) / tokens[0]! - 100)),
      shown: (value) => `${signed(value)}%`,
      best: null,
      text: count(countLines(text), "line"),
    },
    { title: "Bytes per token", values: per(bytes), shown: fixed, best: "most", text: `${grouped(bytes)} bytes` },
    {
      title: "Characters per token",
      values: per(characters),
      shown: fixed,
      best: "most",
      text: `${grouped(characters)} characters`,
    },
    {
      ...plain,
      title: "Borders that no other has",
      values: found.map((one) => (encodings.length > 1 ? one.alone : null)),
    },
    { ...plain, title: "Vocabulary size", values: keys.map((key) => session.choice(key)?.summary?.tokens ?? null) },
  ];
}

function cell(column: Column, lane: number): HTMLElement {
  const value = column.values[lane]!;
  if (value === null) return h("td", {}, NOTHING);
  if (!isBest(column.values, value, column.best)) return h("td", {}, column.shown(value));
  return h("td", { class: "best" }, column.shown(value), h("span", { class: "hidden" }, " (best)"));
}

/** How many lines a text has; a line feed at its end begins none. */
export function countLines(text: string): number {
  return text === "" ? 0 : text.replace(/\n$/, "").split("\n").length;
}

/** Whether a value is the best of those that differ. */
export function isBest(values: readonly (number | null)[], value: number, best: "least" | "most" | null): boolean {
  const known = values.filter((one) => one !== null);
  const [least, most] = [Math.min(...known), Math.max(...known)];
  return best !== null && least < most && value === (best === "least" ? least : most);
}

function signed(value: number): string {
  return `${value > 0 ? "+" : value < 0 ? "\u2212" : "\u00b1"}${Math.abs(value).toFixed(1)}`;
}
