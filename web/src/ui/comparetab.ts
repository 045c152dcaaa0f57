// The Compare view: two to four tokenizers on one text, aligned, with a table of counts.

import { align, breakLines, type Line, nextWhole, showsBytes, withClusters } from "../compare";
import { toBytes, toText } from "../encoder/bytes";
import type { Encoded } from "../encoder/encoder";
import { directionOf, hasRtl, visualRuns } from "./bidi";
import { type Comparison, countLines, NAMES, table } from "./comparetable";
import { byId, count, fill, firstAbove, grouped, h, latest } from "./dom";
import type { Notify } from "./notices";
import { drawParity } from "./parity";
import { Rows } from "./rows";
import { MOST_COMPARED, type Session } from "./session";
import { hex, partial, visible } from "./show";

const LANE = 26; // pixels; as in the style sheet
const GAP = 22;
const PRINTED = 72; // columns
const JOINING = /[\p{Script=Arabic}\p{Script=Syriac}\p{Script=Nko}\p{Script=Mongolian}]/u;

/** A comparison and its lines as they are drawn. */
interface Drawn extends Comparison {
  /** All lines, broken for `columns`, and the lines that are shown. */
  broken: Line[];
  columns: number;
  lines: Line[];
  bytes: Uint8Array;
  /** Where each line of the text begins, in UTF-16 units. */
  lineStarts: Int32Array;
}

/** What is drawn in one place of a line: the range between two cuts, or what of it goes in one direction. */
interface Part {
  from: number;
  to: number;
  text: string;
  rtl: boolean;
}

export class CompareTab {
  private shown: Drawn | null = null;
  private readonly rows = new Rows(byId("compare-lines"));
  private readonly only = byId<HTMLInputElement>("compare-only");
  private at = -1; // the line that "next difference" went to
  readonly refresh: () => Promise<void>;

  constructor(
    private readonly session: Session,
    private readonly notify: Notify,
  ) {
    this.refresh = latest(() => this.encode());
    session.on(["choices", "tokenizer"], () => this.drawChoices());
    session.on(["text", "tokenizer", "special", "view", "choices"], () => {
      if (session.view === "compare") void this.refresh();
    });
    this.only.addEventListener("change", () => this.layOut());
    this.rows.root.addEventListener("pointerover", (event) => this.explain(event));
    byId("compare-on").addEventListener("click", () => this.jump(1));
    byId("compare-back").addEventListener("click", () => this.jump(-1));
    new ResizeObserver(() => {
      if (session.view === "compare") this.layOut();
    }).observe(this.rows.root);
    addEventListener("beforeprint", () => this.layOut(PRINTED));
    addEventListener("afterprint", () => this.layOut());
  }

  private drawChoices(): void {
    const { session } = this;
    const selects = session.compared.map((key, lane) => {
      const select = h("select", { "aria-label": `Tokenizer ${NAMES[lane]}` });
      for (const choice of session.choices) select.append(h("option", { value: choice.key }, choice.name));
      select.value = key;
      select.addEventListener("change", () => {
        session.compared[lane] = select.value;
        session.tell("choices");
      });
      const removable = session.compared.length > 1;
      const remove = h(
        "button",
        { type: "button", class: "quiet", "aria-label": `Remove tokenizer ${NAMES[lane]}` },
        "×",
      );
      remove.addEventListener("click", () => {
        session.compared.splice(lane, 1);
        session.tell("choices");
      });
      const name = h("span", { class: `lane-name l${lane}`, "aria-hidden": "true" }, NAMES[lane]!);
      return h("span", { class: "lane-choice" }, name, select, removable ? remove : null);
    });
    const more = h("button", { type: "button", id: "compare-add" }, "Add a tokenizer");
    more.addEventListener("click", () => {
      const next = session.choices.find((choice) => !session.compared.includes(choice.key)) ?? session.choices[0];
      if (next) session.compared.push(next.key);
      session.tell("choices");
    });
    const room = session.compared.length < MOST_COMPARED && session.choices.length > 0;
    fill(byId("compare-choices"), ...selects, room ? more : null);
  }

  private async encode(): Promise<void> {
    const { session } = this;
    const keys = session.compared.slice();
    if (keys.length === 0) return;
    const busy = setTimeout(() => byId("panel-compare").setAttribute("aria-busy", "true"), 300);
    try {
      const results = await session.encode(keys);
      const good: Encoded[] = [];
      const goodKeys: string[] = [];
      const problems: string[] = [];
      for (const [i, result] of results.entries()) {
        const name = session.nameOf(keys[i]!);
        if ("error" in result) problems.push(`${name}: ${result.error}`);
        else if (good.length > 0 && result.text !== good[0]!.text) {
          problems.push(`${name} normalizes the text in another way, so that it cannot be aligned.`);
        } else {
          good.push(result);
          goodKeys.push(keys[i]!);
        }
      }
      this.notify(problems.join(" "), problems.length > 0);
      this.shown = null;
      if (good.length > 0) {
        const text = good[0]!.text;
        const [aligned, bytes] = [withClusters(align(good), text), toBytes(text)];
        const lineStarts = Int32Array.from([0, ...Array.from(text.matchAll(/\n/g), (feed) => feed.index + 1)]);
        const rows = { broken: [], columns: 0, lines: [] };
        this.shown = { keys: goodKeys, encodings: good, aligned, text, bytes, lineStarts, ...rows };
      }
      this.drawTable();
      this.layOut();
    } catch (error) {
      this.notify(error instanceof Error ? error.message : String(error), true);
    } finally {
      clearTimeout(busy);
      byId("panel-compare").removeAttribute("aria-busy");
    }
  }

  private drawTable(): void {
    const { shown, session } = this;
    drawParity(byId("parity"), session, shown?.keys ?? []);
    fill(byId("compare-table"), ...(shown === null ? [] : table(session, shown)));
  }

  /** Break the lines for the window, or for so many columns of paper. */
  private layOut(printed = 0): void {
    const { shown, rows } = this;
    this.at = -1;
    if (shown === null) {
      rows.set(0, 1, () => h("div"));
      byId("compare-where").textContent = "";
      return;
    }
    const columns = printed || Math.max(20, Math.floor((rows.root.clientWidth - 60) / 8.6));
    if (columns !== shown.columns) {
      shown.broken = breakLines(shown.aligned, shown.text, columns);
      shown.columns = columns;
    }
    const lines = shown.broken;
    const differing = new Set(lines.filter((line) => !line.same).flatMap((line) => linesOf(shown, line))).size;
    shown.lines = this.only.checked ? lines.filter((line) => !line.same) : lines;
    byId("compare-where").textContent =
      shown.encodings.length < 2
        ? ""
        : differing === 0
          ? "All tokenizers split this text in the same way."
          : `${grouped(differing)} of ${count(countLines(shown.text), "line")} ${differing === 1 ? "differs" : "differ"}.`;
    const height = shown.encodings.length * LANE + GAP;
    rows.set(shown.lines.length, height, (row) => this.drawLine(shown, shown.lines[row]!, row));
  }

  private drawLine(shown: Drawn, line: Line, row: number): HTMLElement {
    const parts = partsOf(shown, line);
    const lanes = shown.encodings.map((_, lane) =>
      h(
        "div",
        { class: "lane" },
        h("span", { class: `lane-name l${lane}`, "aria-hidden": "true" }, NAMES[lane]!),
        h("div", { class: "cells" }, ...parts.map((_, i) => drawPart(shown, line, parts, i, lane))),
      ),
    );
    const kind = `line${line.same ? "" : " differing"}${row === this.at ? " here" : ""}`;
    return h("div", { class: kind }, ...lanes);
  }

  /** Name the token under the pointer: its id, and for bytes the characters that they belong to. */
  private explain(event: Event): void {
    const cell = event.target instanceof Element ? event.target.closest<HTMLElement>("[data-cut]") : null;
    if (cell === null || this.shown === null || cell.title !== "") return;
    const { aligned, encodings, bytes, text } = this.shown;
    const [lane, cut] = [Number(cell.dataset.lane), Number(cell.dataset.cut)];
    const { ends, ids } = encodings[lane]!;
    const token = tokenAt(this.shown, lane, cut);
    const first = token > 0 ? ends[token - 1]! : 0;
    const own = bytes.subarray(first, ends[token]!);
    let [from, to] = [cut, cut + 1]; // the characters that the token is in
    while (aligned.inside[from] || aligned.cuts[from]! > first) from--;
    while (aligned.inside[to] || aligned.cuts[to]! < ends[token]!) to++;
    const characters = text.slice(aligned.units[from]!, aligned.units[to]!);
    const whole = toText(own);
    cell.title = whole
      ? `${visible(whole, false)}: id ${ids[token]}`
      : `The bytes ${hex(own)} of ${visible(characters, false)} (${codes(characters)}): id ${ids[token]}`;
  }

  private jump(by: 1 | -1): void {
    const { shown, rows } = this;
    if (shown === null) return;
    let row = this.at < 0 ? (by > 0 ? -1 : shown.lines.length) : this.at;
    do row += by;
    while (row >= 0 && row < shown.lines.length && shown.lines[row]!.same);
    if (row < 0 || row >= shown.lines.length) return;
    rows.element(this.at)?.classList.remove("here");
    this.at = row;
    rows.reveal(row);
    rows.element(row)?.classList.add("here");
    rows.element(row)?.scrollIntoView({ block: "nearest" }); // the rows may end below the window
    const line = linesOf(shown, shown.lines[row]!)[0]!;
    byId("compare-where").textContent = `Line ${grouped(line + 1)} of ${grouped(countLines(shown.text))}`;
  }
}

/** The lines of the text that a row shows some of, by number. */
function linesOf({ text, aligned, lineStarts }: Drawn, { from, to }: Line): number[] {
  const first = firstAbove(lineStarts, aligned.units[from]!) - 1;
  const last =
    firstAbove(lineStarts, Math.max(aligned.units[from]!, Math.min(aligned.units[to]!, text.length) - 1)) - 1;
  return Array.from({ length: last - first + 1 }, (_, i) => first + i);
}

/** The parts of a line from left to right. A range between two cuts that goes in two directions has several. */
function partsOf(shown: Drawn, line: Line): Part[] {
  const { aligned, text } = shown;
  const { units } = aligned;
  const start = units[line.from]!;
  const own = text.slice(start, units[line.to]!);
  const paragraph = text.slice(text.lastIndexOf("\n", start - 1) + 1, units[line.to]!);
  const runs = hasRtl(own)
    ? visualRuns(own, directionOf(paragraph) ?? "ltr")
    : [{ from: 0, to: own.length, rtl: false }];
  return runs.flatMap((run) => {
    const parts: Part[] = [];
    for (let from = line.from; from < line.to; from = nextWhole(aligned, from)) {
      const to = nextWhole(aligned, from);
      const [first, after] = [units[from]! - start, units[to]! - start];
      const bytes = to > from + 1; // they are not cut any further
      if (bytes ? first < run.from || first >= run.to : first >= run.to || after <= run.from) continue;
      const shownText = bytes ? own.slice(first, after) : own.slice(Math.max(first, run.from), Math.min(after, run.to));
      parts.push({ from, to, text: shownText, rtl: run.rtl });
    }
    return run.rtl ? parts.reverse() : parts;
  });
}

/** The number of the token of a tokenizer that begins at a cut or goes on there. */
function tokenAt({ aligned, encodings }: Drawn, lane: number, cut: number): number {
  return firstAbove(encodings[lane]!.ends, aligned.cuts[cut]!);
}

/** Whether a token of a tokenizer ends at the left edge of part `i`; the last edge is that on the right of the line. */
function hasEdge(shown: Drawn, line: Line, parts: readonly Part[], i: number, lane: number): boolean {
  const [before, after] = [parts[i - 1], parts[i]];
  if (before && after) {
    const [left, right] = [before.rtl ? before.from : before.to - 1, after.rtl ? after.to - 1 : after.from];
    return tokenAt(shown, lane, left) !== tokenAt(shown, lane, right);
  }
  const outer = (before ?? after)!;
  const cut = outer.rtl === (before === undefined) ? outer.to : outer.from;
  const atEnd = cut === line.from || cut === line.to;
  return !atEnd || ((shown.aligned.makers[cut]! >> lane) & 1) === 1;
}

/** One part as a tokenizer cuts it: one cell with text, or several with bytes. */
function drawPart(shown: Drawn, line: Line, parts: readonly Part[], i: number, lane: number): HTMLElement {
  const { aligned, bytes } = shown;
  const { from, to, text, rtl } = parts[i]!;
  const all = (1 << aligned.lanes) - 1;
  const common = aligned.makers.subarray(from, to + 1).every((makers) => makers === all || makers === 0);
  const cuts = [from];
  for (let cut = from + 1; cut < to; cut++) if ((aligned.makers[cut]! >> lane) & 1) cuts.push(cut);
  const marks = cuts.some((cut, k) => k > 0 && aligned.inside[cut] === 1) ? [] : cuts.splice(1);
  const whole = cuts.length === 1;
  const edge = hasEdge(shown, line, parts, i, lane);
  const shared = shown.encodings.every((_, other) => hasEdge(shown, line, parts, i, other));
  const last = hasEdge(shown, line, parts, i + 1, lane);
  const cells = cuts.map((cut, k) => {
    const [left, right] = rtl ? [k === cuts.length - 1, k === 0] : [k === 0, k === cuts.length - 1];
    const own = bytes.subarray(aligned.cuts[cut]!, aligned.cuts[cuts[k + 1] ?? to]!);
    const loose = /^\p{M}/u.test(toText(own) ?? ""); // a combining mark without its letter
    const shownText = whole ? visible(text, false) : loose ? hex(own, "") : partial(own, "");
    let kind = whole ? (shownText.includes("\u27e8") ? "cell sign" : "cell") : "cell part";
    const odd = left ? !shared : aligned.makers[rtl ? cuts[k + 1]! : cut] !== all;
    if (!left || edge) kind += odd ? " starts odd" : " starts";
    if (text === "\n") kind += " feed";
    if (!right || last) kind += " ends";
    if (!common) kind += " differs";
    if (whole) kind += joins(shown, parts[i]!);
    return h("span", { class: kind, dir: rtl ? "rtl" : null, "data-lane": lane, "data-cut": cut }, shownText);
  });
  for (const cut of marks) {
    const mark = h("i", { class: aligned.makers[cut] === all ? "inner" : "inner odd" });
    const share =
      (100 * Array.from(text.slice(0, aligned.units[cut]! - aligned.units[from]!)).length) / Array.from(text).length;
    mark.style.insetInlineStart = `${share}%`;
    cells[0]!.append(mark);
  }
  if (!showsBytes(aligned, from, to)) return cells[0]!;
  // Another tokenizer shows bytes here, which are wider than the text: all take the room of all bytes and their edges.
  const column = h("span", { class: "unit" }, ...(rtl ? cells.reverse() : cells));
  const digits = 2 * (aligned.cuts[to]! - aligned.cuts[from]!);
  column.style.width = `calc(${(digits * 11) / 14}ch + ${3 * (to - from)}px)`;
  return column;
}

/** The classes of a part whose letters join with those beyond a cut: the style sheet adds joiners, so none is copied. */
function joins({ aligned, text: all }: Drawn, { from, to, text }: Part): string {
  const [before, after] = [all[aligned.units[from]! - 1] ?? "", all[aligned.units[to]!] ?? ""];
  const join = (a: string, b: string) => JOINING.test(a) && JOINING.test(b);
  return (join(before, text[0] ?? "") ? " joins-before" : "") + (join(text.at(-1) ?? "", after) ? " joins-after" : "");
}

function codes(characters: string): string {
  return Array.from(characters, (char) => `U+${char.codePointAt(0)!.toString(16).toUpperCase().padStart(4, "0")}`).join(
    " ",
  );
}
