// The Vocabulary view: find tokens and show how they were built.

import type { Details, Order, Row, SearchKind, TreeNode, Where } from "../encoder/lookup";
import { byId, debounced, fill, grouped, h, iosText, latest } from "./dom";
import type { Notify } from "./notices";
import { Rows } from "./rows";
import type { Session } from "./session";
import { hex, label } from "./show";
import { unitOf } from "./steps";

const ROW = 32; // pixels; as in the style sheet
const BATCH = 128; // rows whose bytes are requested together

export class VocabularyTab {
  private readonly rows = new Rows(byId("results"));
  private found: Int32Array = new Int32Array(0);
  private known = new Map<number, Row>();
  private asked = new Set<number>();
  private active = -1; // a row
  private shownFor = "";
  private readonly query = byId<HTMLInputElement>("search");
  private readonly kind = byId<HTMLSelectElement>("search-kind");
  private readonly where = byId<HTMLSelectElement>("search-where");
  private readonly order = byId<HTMLSelectElement>("search-order");
  readonly refresh: () => Promise<void>;
  private readonly describe = latest((id: number) => this.showDetails(id));

  constructor(
    private readonly session: Session,
    private readonly notify: Notify,
  ) {
    this.refresh = latest(() => this.search());
    session.on(["tokenizer", "view"], () => {
      if (session.view === "vocabulary" && this.shownFor !== session.current) void this.refresh();
    });
    const soon = debounced(80, () => void this.refresh());
    this.query.addEventListener("input", () => {
      if (session.current !== "") this.rows.root.setAttribute("aria-busy", "true");
      soon();
    });
    this.kind.addEventListener("change", () => void this.refresh());
    this.where.addEventListener("change", () => void this.refresh());
    this.order.addEventListener("change", () => void this.refresh());
    for (const kind of ["keydown", "beforeinput", "pointerdown"]) {
      for (const id of ["search-form", "results"]) {
        byId(id).addEventListener(kind, () => {
          session.linked = -1;
        });
      }
    }
    byId("search-form").addEventListener("submit", (event) => {
      event.preventDefault();
      void this.refresh();
    });
    this.rows.root.addEventListener("click", (event) => {
      const row = event.target instanceof Element ? event.target.closest<HTMLElement>("[data-row]") : null;
      if (row) this.choose(Number(row.dataset.row));
    });
    this.rows.root.addEventListener("keydown", (event) => this.onKey(event));
    this.rows.root.addEventListener("focus", () => {
      if (this.active < 0 && this.found.length > 0) this.choose(0);
    });
  }

  private async search(): Promise<void> {
    const { session } = this;
    const key = session.current;
    if (key === "") return;
    this.where.disabled = this.kind.value === "id";
    const query = this.query.value;
    const { linked } = session;
    let first = 0; // the row to select
    this.rows.root.setAttribute("aria-busy", "true");
    try {
      const summary = await session.ready(key);
      this.offer("use", summary.counted !== null);
      this.offer("ios", summary.ios);
      const [kind, where] = [this.kind.value as SearchKind, this.where.value as Where];
      this.found = await session.line.ask("search", key, query, kind, where, this.order.value as Order);
      if (linked >= 0) first = this.found.indexOf(linked);
      else if (query === "" && this.order.value === "id")
        first = Math.max(0, this.found.indexOf(await session.line.ask("firstWord", key)));
      const without = query === "" && kind !== "id" ? summary.tokens - this.found.length : 0;
      byId("search-found").textContent =
        `${grouped(this.found.length)} ${this.found.length === 1 ? "token" : "tokens"}` +
        (without > 0 ? `; ${grouped(without)} ${without === 1 ? "id has" : "ids have"} none` : "");
      this.notify("");
    } catch (error) {
      this.found = new Int32Array(0);
      byId("search-found").textContent = error instanceof Error ? error.message : String(error);
    }
    this.shownFor = key;
    this.known.clear();
    this.asked.clear();
    this.active = -1;
    this.rows.root.scrollTop = 0;
    this.rows.root.removeAttribute("aria-activedescendant");
    this.rows.set(this.found.length, ROW, (row) => this.drawRow(row));
    if (first >= 0 && this.found.length > 0) {
      this.rows.root.scrollTop = first * ROW;
      this.choose(first);
    } else if (linked >= 0) void this.describe(linked);
    else fill(byId("sheet"), h("p", { class: "hint" }, "How a chosen token was built shows here."));
    if (this.found.length === 0) {
      const id = this.kind.value === "id";
      const wider = this.where.value === "contains" ? "" : "“contains”, ";
      this.rows.say(id ? "No token has such an id." : `No token matches. Try ${wider}another spelling, or bytes.`);
    }
    if (query === this.query.value) this.rows.root.removeAttribute("aria-busy");
  }

  /** Offer an order, or not where the tokenizer has no counts. */
  private offer(order: Order, possible: boolean): void {
    const option = this.order.querySelector<HTMLOptionElement>(`[value="${order}"]`)!;
    option.disabled = !possible;
    if (!possible && option.selected) this.order.value = "id";
  }

  private drawRow(row: number): HTMLElement {
    const id = this.found[row]!;
    const known = this.known.get(id);
    if (known === undefined) void this.fetch(row);
    const active = row === this.active;
    return h(
      "div",
      {
        role: "option",
        class: active ? "result active" : "result",
        "data-row": row,
        id: active ? "active-result" : null,
        "aria-selected": active ? "true" : "false",
        "aria-posinset": row + 1,
        "aria-setsize": this.found.length,
      },
      h("span", { class: "number" }, String(id)),
      h("code", { class: "shown" }, known ? label(known.bytes) : "…"),
      h("span", { class: "size" }, known ? this.size(known) : ""),
    );
  }

  /** What the order is by, or the length. */
  private size({ bytes, count, ios }: Row): string {
    if (this.order.value === "use" && count !== null) return `${grouped(count)} ×`;
    if (this.order.value === "ios") return ios === null ? "\u2013" : `IoS ${iosText(ios)}`;
    return bytes.length === 1 ? "1 byte" : `${grouped(bytes.length)} bytes`;
  }

  /** Request the rows around one, and draw them when they arrive. */
  private async fetch(row: number): Promise<void> {
    const start = row - (row % BATCH);
    if (this.asked.has(start)) return;
    this.asked.add(start);
    const { found } = this;
    const ids = Array.from(found.subarray(start, start + BATCH));
    const all = await this.session.line.ask("rows", this.shownFor, ids);
    if (found !== this.found) return;
    for (const [i, id] of ids.entries()) {
      this.known.set(id, all[i]!);
      this.redraw(start + i);
    }
  }

  private redraw(row: number): void {
    const element = this.rows.element(row);
    if (element === undefined) return;
    const fresh = this.drawRow(row);
    fill(element, ...Array.from(fresh.childNodes));
    element.className = fresh.className;
    if (fresh.id) element.id = fresh.id;
    else element.removeAttribute("id");
    element.setAttribute("aria-selected", fresh.getAttribute("aria-selected")!);
  }

  private choose(row: number): void {
    const before = this.active;
    this.active = Math.max(0, Math.min(this.found.length - 1, row));
    if (before >= 0) this.redraw(before);
    this.rows.reveal(this.active);
    this.redraw(this.active);
    this.rows.root.setAttribute("aria-activedescendant", "active-result");
    void this.describe(this.found[this.active]!);
  }

  private onKey(event: KeyboardEvent): void {
    const page = Math.max(1, Math.floor(this.rows.root.clientHeight / ROW) - 1);
    const moves: Record<string, number> = {
      ArrowDown: this.active + 1,
      ArrowUp: this.active - 1,
      PageDown: this.active + page,
      PageUp: this.active - page,
      Home: 0,
      End: this.found.length - 1,
    };
    const row = moves[event.key];
    if (row === undefined || this.found.length === 0) return;
    event.preventDefault();
    this.choose(row);
  }

  private async showDetails(id: number): Promise<void> {
    const key = this.shownFor;
    this.session.token = id;
    this.session.tell("token");
    const details = await this.session.line.ask("describe", key, id);
    const near = Array.from({ length: 9 }, (_, i) => id - 4 + i).filter((one) => one >= 0);
    const nearBytes = await this.session.line.ask("bytes", key, near);
    if (key !== this.shownFor) return;
    const summary = this.session.choice(key)?.summary;
    fill(
      byId("sheet"),
      h("h2", {}, h("code", { class: "shown large" }, label(details.bytes))),
      h("p", { class: "state" }, STATES[details.state](details)),
      h(
        "dl",
        { class: "facts" },
        fact("Id", String(id)),
        fact("Bytes", hex(details.bytes)),
        details.count === null ? null : fact("Count", grouped(details.count)),
        details.ios === null ? null : fact("IoS", iosText(details.ios)),
      ),
      details.count === null && details.ios === null
        ? null
        : h("p", { class: "hint" }, `Counted in ${summary?.counted}.`),
      h("h3", {}, "How it is built"),
      details.tree === null
        ? h("p", { class: "hint" }, "It is matched as a whole string and has no merges.")
        : h("ul", { class: "tree" }, this.branch(details.tree, new Set())),
      ...(details.history.length > 1 ? this.history(details) : []),
      h("h3", {}, "Neighbours by id"),
      h(
        "p",
        { class: "chips" },
        ...near.map((one, i) => (nearBytes[i]!.length > 0 ? this.chip(one, nearBytes[i]!, one === id) : null)),
      ),
      h("h3", {}, `Built from it: ${details.usesInAll === 0 ? "nothing" : grouped(details.usesInAll)}`),
      await this.uses(key, details),
    );
  }

  /** A token and, below it, its two halves; those of a token that was `drawn` before are not repeated. */
  private branch(node: TreeNode, drawn: Set<number>): HTMLElement {
    const again = drawn.has(node.id) && node.left !== null;
    const halves = again ? [] : [node.left, node.right].filter((half) => half !== null);
    const rank =
      node.rank === null || node.rank === node.id ? "" : `, ${unitOf(this.session, this.shownFor)} ${node.rank}`;
    const top = drawn.size === 0;
    drawn.add(node.id);
    return h(
      "li",
      {},
      this.chip(node.id, node.bytes, top),
      h("span", { class: "rank" }, `id ${node.id}${rank}${again ? ", as above" : ""}`),
      halves.length > 0 ? h("ul", {}, ...halves.map((half) => this.branch(half, drawn))) : null,
    );
  }

  /** The events of a token, or where the order of merges is all that is known, the merges that make it. */
  private history(details: Details): HTMLElement[] {
    const events = unitOf(this.session, this.shownFor) === "event";
    const items = details.history.map(({ event, left, right }) =>
      h(
        "li",
        {},
        `${events ? "Event" : "Rank"} ${event}: `,
        right < 0 ? "removed" : `merged from ${left} and ${right}`,
      ),
    );
    const title = events ? "History in training" : "All merges that make it";
    return [h("h3", {}, title), h("ol", { class: "history" }, ...items)];
  }

  private async uses(key: string, details: Details): Promise<HTMLElement> {
    const bytes = await this.session.line.ask(
      "bytes",
      key,
      details.uses.map((use) => use.id),
    );
    const chips = details.uses.map((use, i) => this.chip(use.id, bytes[i]!, false));
    return h("p", { class: "chips" }, ...chips, details.usesInAll > chips.length ? "…" : null);
  }

  private chip(id: number, bytes: Uint8Array, here: boolean): HTMLElement {
    if (here) return h("strong", { class: "chip", "aria-current": "true" }, label(bytes));
    const chip = h("button", { type: "button", class: "chip", title: `id ${id}` }, label(bytes));
    chip.addEventListener("click", () => {
      const row = this.found.indexOf(id);
      if (row >= 0) this.choose(row);
      else void this.describe(id);
    });
    return chip;
  }
}

const STATES: Record<Details["state"], (details: Details) => string> = {
  ordinary: (details) =>
    details.reachable
      ? "An ordinary token."
      : "An ordinary token that merging does not produce: its own text becomes other tokens, unless whole pretokens are looked up first.",
  special: () => "A special token: text becomes it only if that is allowed.",
  added: () => "An added token: matched as a whole string before the text is split.",
  removed: () => "Removed in training: encoding never gives this id.",
  unused: () => "No token has this id.",
};

function fact(name: string, value: string): HTMLElement {
  return h("div", {}, h("dt", {}, name), h("dd", {}, h("code", {}, value)));
}
