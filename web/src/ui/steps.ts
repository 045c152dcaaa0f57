// Why a token is here: its pretoken, the merges that made it, and all steps of the pretoken, in a dialog.

import type { Part, Step, Trace, Waiting } from "../encoder/trace";
import { byId, fill, grouped, h } from "./dom";
import type { Session } from "./session";
import { label } from "./show";

export interface Question {
  key: string;
  /** The bytes of the pretoken, of the token, and where the token begins in it. */
  pretoken: Uint8Array;
  token: Uint8Array;
  id: number;
  start: number;
}

/** What the merges of a tokenizer are numbered by. */
export function unitOf(session: Session, key: string): "event" | "rank" {
  return session.choice(key)?.summary?.order === "events" ? "event" : "rank";
}

/** Show the dialog for one token. */
export async function showSteps(session: Session, question: Question): Promise<void> {
  const { key, pretoken, token, id } = question;
  const [found, details] = await Promise.all([
    session.line.ask("trace", key, pretoken),
    session.line.ask("describe", key, id),
  ]);
  const summary = session.choice(key)?.summary;
  const unit = unitOf(session, key);
  const count =
    details.count === null
      ? null
      : h("p", {}, `The token occurs ${grouped(details.count)} times in ${summary?.counted}.`);
  fill(
    byId("steps-body"),
    h(
      "p",
      {},
      "The token ",
      chip(token),
      ...((found?.pretokens ?? 1) > 1
        ? [` (id ${id}) is a superword of ${found?.pretokens} pretokens.`]
        : [` (id ${id}) is in the pretoken `, chip(pretoken), "."]),
    ),
    count,
    ...(found === null
      ? [h("p", {}, "The pretoken is too long to show its steps.")]
      : [
          h("h3", {}, "The merges that made it"),
          lookedUp(found),
          why(found, question, unit),
          h("h3", {}, "All steps"),
          table(found, unit),
        ]),
  );
  byId<HTMLDialogElement>("steps").showModal();
}

/** What to say where the whole pretoken is a token. */
function lookedUp({ steps, whole }: Trace): HTMLElement | null {
  if (whole === null) return null;
  const parts = steps.at(-1)?.parts ?? [];
  const same = steps.length === 0 || (parts.length === 1 && parts[0]!.id === whole.id);
  const told = "The whole pretoken is a token, so it is looked up before any merge. ";
  return h("p", {}, told + (same ? "Merging gives the same token:" : "Merging alone would give other tokens:"));
}

/** The steps that made the token, in order. */
function why({ steps }: Trace, { token, start }: Question, unit: string): HTMLElement {
  const end = start + token.length;
  const own = steps.filter(({ parts, made }) => {
    let at = 0;
    return parts.some((part, i) => {
      const inside = made[i]! && at >= start && at + part.bytes.length <= end;
      at += part.bytes.length;
      return inside;
    });
  });
  if (own.length === 0)
    return h("p", {}, "No merge applies to it: it is one of the parts that the encoding begins with.");
  return h(
    "ol",
    { class: "why-list" },
    ...own.map((step) => h("li", {}, what(step), ` (${unit} ${step.order}${counted(step)})`)),
  );
}

/** How often the training met the pair that a step merges, or why it removed a token. */
function counted({ kind, count }: Step): string {
  if (count === null || count === undefined) return "";
  return kind === "remove" ? `, IoS ${count.toFixed(4)}` : `, ${grouped(count)} times in the training text`;
}

function what({ kind, token, left, right, parts, made }: Step): HTMLElement {
  if (kind === "remove") {
    const pieces = parts.filter((_, i) => made[i]).slice(0, 8);
    return h("span", {}, "remove ", chip(token.bytes), " \u2192 ", ...pieces.map((part) => chip(part.bytes)));
  }
  return h("span", {}, chip(left!.bytes), " + ", chip(right!.bytes), " \u2192 ", chip(token.bytes));
}

function table({ start, waits, steps }: Trace, unit: string): HTMLElement {
  const cells = (parts: readonly Part[], made: readonly boolean[]) =>
    h("td", { class: "step-parts" }, ...parts.map((part, i) => chip(part.bytes, made[i] ? "tok new" : "tok")));
  const waiting = ({ first, more }: Waiting) =>
    h(
      "td",
      { class: "waits" },
      ...first.flatMap((one) => [h("span", { class: "pair" }, chip(one.left), chip(one.right), ` ${one.order}`), "  "]),
      first.length > 0 && more === 0
        ? null
        : h("span", { class: "hint" }, more > 0 ? `and ${grouped(more)} more` : "nothing"),
    );
  const rows = steps.map((step, i) =>
    h(
      "tr",
      {},
      h("th", { scope: "row" }, String(i + 1)),
      h("td", { class: "order", "data-unit": unit }, String(step.order)),
      h("td", {}, what(step)),
      cells(step.parts, step.made),
      waiting(step.waits),
    ),
  );
  const heads = [
    "Step",
    unit === "event" ? "Event" : "Rank",
    "What is done",
    "Parts after it",
    `What waits, by ${unit}`,
  ];
  return h(
    "div",
    { class: "scroll", tabindex: "0", role: "region", "aria-label": "Steps" },
    h(
      "table",
      { class: "steps-table" },
      h("thead", {}, h("tr", {}, ...heads.map((head) => h("th", { scope: "col" }, head)))),
      h(
        "tbody",
        {},
        h(
          "tr",
          {},
          h("th", { scope: "row" }, "0"),
          h("td", {}),
          h("td", {}, "the beginning"),
          cells(start, []),
          waiting(waits),
        ),
        ...rows,
      ),
    ),
  );
}

function chip(bytes: Uint8Array, kind = "tok"): HTMLElement {
  return h("span", { class: kind }, label(bytes));
}
