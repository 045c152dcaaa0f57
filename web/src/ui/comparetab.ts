// The Compare view: two to four tokenizers on one text, aligned, with a table of counts.

import { type Aligned, align, breakLines, figures, type Line } from "../compare";
import { toBytes } from "../encoder/bytes";
import type { Encoded } from "../encoder/encoder";
import { byId, fill, grouped, h, latest } from "./dom";
import type { Notify } from "./notices";
import { Rows } from "./rows";
import { MOST_COMPARED, type Session } from "./session";
import { partial, visible } from "./show";

const LANE = 26; // pixels; as in the style sheet
const GAP = 22;
const NAMES = "ABCD";

interface Shown {
  keys: string[];
  encodings: Encoded[];
  aligned: Aligned;
  /** All lines, broken for `columns`, and the lines that are shown. */
  broken: Line[];
  columns: number;
  lines: Line[];
  text: string;
  bytes: Uint8Array;
}

export class CompareTab {
  private shown: Shown | null = null;
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
    byId("compare-on").addEventListener("click", () => this.jump(1));
    byId("compare-back").addEventListener("click", () => this.jump(-1));
    new ResizeObserver(() => {
      if (session.view === "compare") this.layOut();
    }).observe(this.rows.root);
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
    try {
      const results = await session.encode(keys);
      const good: Encoded[] = [];
      const goodKeys: string[] = [];
      const problems: string[] = [];
      for (const [i, result] of results.entries()) {
        const name = session.nameOf(keys[i]!);
        if ("error" in result) problems.push(`${name}: ${result.error}`);
        else if (good.length > 0 && result.text !== good[0]!.text) {
          problems.push(`${name} normalises the text in another way, so that it cannot be aligned.`);
        } else {
          good.push(result);
          goodKeys.push(keys[i]!);
        }
      }
      this.notify(problems.join(" "), problems.length > 0);
      this.shown = null;
      if (good.length > 0) {
        const text = good[0]!.text;
        const [aligned, bytes] = [align(good), toBytes(text)];
        this.shown = { keys: goodKeys, encodings: good, aligned, broken: [], columns: 0, lines: [], text, bytes };
      }
      this.drawTable();
      this.layOut();
    } catch (error) {
      this.notify(error instanceof Error ? error.message : String(error), true);
    }
  }

  private drawTable(): void {
    const table = byId("compare-table");
    const { shown } = this;
    if (shown === null) {
      fill(table);
      return;
    }
    const found = figures(shown.aligned, shown.encodings);
    const heads = [
      "Tokenizer",
      "Tokens",
      "Beside A",
      "Bytes per token",
      "Characters per token",
      "Cuts only here",
      "Ids in all",
    ];
    const body = found.map((one, lane) => {
      const { bytes, characters } = shown.encodings[lane]!;
      const first = found[0]!.tokens;
      const beside = lane === 0 || first === 0 ? "\u2013" : `${signed((100 * (one.tokens - first)) / first)} %`;
      const per = (value: number) => (one.tokens > 0 ? (value / one.tokens).toFixed(2) : "\u2013");
      const name = h("span", { class: `lane-name l${lane}` }, NAMES[lane]!);
      return h(
        "tr",
        {},
        h("th", { scope: "row" }, name, ` ${this.session.nameOf(shown.keys[lane]!)}`),
        ...[
          grouped(one.tokens),
          beside,
          per(bytes),
          per(characters),
          shown.encodings.length > 1 ? grouped(one.alone) : "\u2013",
          grouped(this.session.choice(shown.keys[lane]!)?.summary?.tokens ?? 0),
        ].map((cell) => h("td", {}, cell)),
      );
    });
    fill(
      table,
      h("caption", { class: "hidden" }, "Counts for each tokenizer"),
      h("thead", {}, h("tr", {}, ...heads.map((head) => h("th", { scope: "col" }, head)))),
      h("tbody", {}, ...body),
    );
  }

  private layOut(): void {
    const { shown, rows } = this;
    this.at = -1;
    if (shown === null) {
      rows.set(0, 1, () => h("div"));
      byId("compare-where").textContent = "";
      return;
    }
    const columns = Math.max(20, Math.floor((rows.root.clientWidth - 60) / 8.6));
    if (columns !== shown.columns) {
      shown.broken = breakLines(shown.aligned, shown.text, columns);
      shown.columns = columns;
    }
    const lines = shown.broken;
    const differing = lines.filter((line) => !line.same).length;
    shown.lines = this.only.checked ? lines.filter((line) => !line.same) : lines;
    byId("compare-where").textContent =
      shown.encodings.length < 2
        ? ""
        : differing === 0
          ? "All tokenizers split this text in the same way."
          : `${grouped(differing)} of ${grouped(lines.length)} lines differ.`;
    const height = shown.encodings.length * LANE + GAP;
    rows.set(shown.lines.length, height, (row) => this.drawLine(shown, shown.lines[row]!, row));
  }

  private drawLine(shown: Shown, line: Line, row: number): HTMLElement {
    const { aligned } = shown;
    const all = (1 << aligned.lanes) - 1;
    const lanes = shown.encodings.map((_, lane) => {
      const cells: HTMLElement[] = [];
      for (let cut = line.from; cut < line.to; cut++) {
        const starts = (aligned.makers[cut]! >> lane) & 1;
        const ends = (aligned.makers[cut + 1]! >> lane) & 1;
        const alone = aligned.makers[cut] === all && aligned.makers[cut + 1] === all;
        let kind = "cell";
        if (starts) kind += " starts";
        if (ends) kind += " ends";
        if (!alone) kind += " differs";
        if (starts && aligned.makers[cut] !== all) kind += " odd";
        if (aligned.inside[cut] || aligned.inside[cut + 1]) kind += " part";
        cells.push(h("span", { class: kind }, stretch(shown, cut)));
      }
      return h(
        "div",
        { class: "lane" },
        h("span", { class: `lane-name l${lane}`, "aria-hidden": "true" }, NAMES[lane]!),
        ...cells,
      );
    });
    const kind = `line${line.same ? "" : " differing"}${row === this.at ? " here" : ""}`;
    return h("div", { class: kind }, ...lanes);
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
    byId("compare-where").textContent = `Line ${grouped(row + 1)} of ${grouped(shown.lines.length)}`;
  }
}

/** The text between two neighbouring cuts, or its bytes if either cut is inside a character. */
function stretch(shown: Shown, cut: number): string {
  const { cuts, units, inside } = shown.aligned;
  if (inside[cut] || inside[cut + 1]) return partial(shown.bytes.subarray(cuts[cut]!, cuts[cut + 1]!), "");
  return visible(shown.text.slice(units[cut]!, units[cut + 1]!), false);
}

function signed(value: number): string {
  return `${value > 0 ? "+" : value < 0 ? "\u2212" : "\u00b1"}${Math.abs(value).toFixed(1)}`;
}
