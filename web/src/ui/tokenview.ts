// Coloured tokens. A text may have a million of them, so only those near the window are drawn: tokens are put into
// blocks that begin where a line begins, blocks have estimated heights until they are drawn, and blocks whose tokens
// did not change are kept as they are.

import type { Encoded } from "../encoder/encoder";
import { PIECE_START } from "../encoder/flags";
import { h } from "./dom";
import { visible } from "./show";
import { isAdded, pieceOf, tokenText } from "./tokentext";

const FEWEST = 40; // tokens in a block, before a line feed may end it
const MOST = 240;
const MARGIN = 400; // pixels drawn beyond the window
const COLOURS = 5;
const LONG = 32; // characters; a longer token may go over lines
const ASSUMED_LINE = 26; // pixels; and pixels for a character, until blocks have been measured
const ASSUMED_CHARACTER = 8;

interface Block {
  element: HTMLElement;
  from: number;
  to: number;
  text: string;
  ids: Int32Array;
  height: number;
}

export interface TokenViewOptions {
  visible: boolean;
  asIds: boolean;
}

export class TokenView {
  /** The token that is looked at, or -1. */
  active = -1;
  private encoded: Encoded | null = null;
  private starts = new Int32Array(1); // first token of each block, and the number of tokens
  private heights = new Float64Array(0);
  private offsets = new Float64Array(1);
  private drawn = new Map<number, Block>();
  private drawnOptions = "";
  private options: TokenViewOptions = { visible: false, asIds: false };
  private readonly above = h("div", { role: "presentation" });
  private readonly below = h("div", { role: "presentation" });
  private readonly body = h("div", { role: "presentation" });

  constructor(
    private readonly root: HTMLElement,
    private readonly onActive: (token: number) => void,
    private readonly onChosen: (token: number) => void,
  ) {
    root.replaceChildren(this.above, this.body, this.below);
    root.addEventListener("scroll", () => this.draw(), { passive: true });
    new ResizeObserver(() => this.resized()).observe(root);
    root.addEventListener("pointerover", (event) => {
      const token = this.tokenAt(event.target);
      if (token >= 0) this.activate(token, false);
    });
    root.addEventListener("click", (event) => {
      const token = this.tokenAt(event.target);
      if (token >= 0) this.activate(token, false);
    });
    root.addEventListener("dblclick", (event) => {
      const token = this.tokenAt(event.target);
      if (token >= 0) this.onChosen(token);
    });
    root.addEventListener("keydown", (event) => this.onKey(event));
    root.addEventListener("focus", () => {
      if (this.active < 0 && this.encoded && this.encoded.ids.length > 0) this.activate(this.firstVisible(), false);
    });
  }

  set(encoded: Encoded, options: TokenViewOptions): void {
    this.encoded = encoded;
    this.options = options;
    if (this.active >= 0) this.mark(false);
    this.active = -1;
    this.layOut();
    this.draw();
  }

  /** Look at a token; `show` scrolls to it. */
  activate(token: number, show = true): void {
    const count = this.encoded?.ids.length ?? 0;
    if (count === 0) return;
    if (this.active >= 0) this.mark(false);
    this.active = Math.max(0, Math.min(count - 1, token));
    if (show) this.scrollTo(this.active);
    this.mark(true);
    this.onActive(this.active);
  }

  private layOut(): void {
    const { ids, units, text } = this.encoded!;
    const columns = Math.max(10, Math.floor(this.root.clientWidth / ASSUMED_CHARACTER));
    const starts: number[] = [];
    const heights: number[] = [];
    for (let from = 0; from < ids.length; ) {
      let to = from;
      let lines = 1;
      const most = Math.min(ids.length, from + MOST);
      while (to < most) {
        const feed = text.charCodeAt(units[to]! - 1) === 10;
        to++;
        if (feed) {
          lines++;
          if (to - from >= FEWEST) break;
        }
      }
      const length = units[to - 1]! - (from > 0 ? units[from - 1]! : 0);
      starts.push(from);
      heights.push(ASSUMED_LINE * Math.max(1, lines - 1, Math.ceil(length / columns)));
      from = to;
    }
    starts.push(ids.length);
    this.starts = Int32Array.from(starts);
    this.heights = Float64Array.from(heights);
    this.offsets = new Float64Array(heights.length + 1);
    this.sum(0);
  }

  private sum(from: number): void {
    for (let i = from; i < this.heights.length; i++) this.offsets[i + 1] = this.offsets[i]! + this.heights[i]!;
  }

  /** The block that lies at `y` pixels. */
  private blockAt(y: number): number {
    let low = 0;
    let high = this.heights.length - 1;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (this.offsets[middle]! <= y) low = middle;
      else high = middle - 1;
    }
    return low;
  }

  private draw(): void {
    const encoded = this.encoded;
    if (encoded === null) return;
    const options = JSON.stringify(this.options);
    const old = new Map<string, Block[]>();
    if (options === this.drawnOptions) {
      for (const block of this.drawn.values()) old.set(block.text, [...(old.get(block.text) ?? []), block]);
    }
    this.drawnOptions = options;
    const blocks = this.heights.length;
    const top = this.root.scrollTop - MARGIN;
    const bottom = this.root.scrollTop + this.root.clientHeight + MARGIN;
    const drawn = new Map<number, Block>();
    const fresh: Block[] = [];
    let first = blocks > 0 ? this.blockAt(Math.max(0, top)) : 0;
    let last = first;
    while (last < blocks && (this.offsets[last]! < bottom || last === first)) last++;
    if (first > 0 && last === blocks) first = Math.min(first, blocks - 1);
    for (let i = first; i < last; i++) {
      const block = this.reuse(old, encoded, i) ?? this.make(encoded, i);
      drawn.set(i, block);
      if (block.height === 0) fresh.push(block);
    }
    place(
      this.body,
      Array.from(drawn.values(), (block) => block.element),
    );
    this.drawn = drawn;
    this.measure(first, last);
    this.above.style.height = `${this.offsets[first] ?? 0}px`;
    this.below.style.height = `${(this.offsets[blocks] ?? 0) - (this.offsets[last] ?? 0)}px`;
    if (this.active >= 0) this.mark(true);
  }

  private reuse(old: Map<string, Block[]>, encoded: Encoded, i: number): Block | null {
    const [from, to] = [this.starts[i]!, this.starts[i + 1]!];
    const text = encoded.text.slice(from > 0 ? encoded.units[from - 1] : 0, encoded.units[to - 1]);
    const ids = encoded.ids.subarray(from, to);
    const candidates = old.get(text);
    const at = candidates?.findIndex(
      (block) => block.ids.length === ids.length && block.ids.every((id, k) => id === ids[k]),
    );
    if (candidates === undefined || at === undefined || at < 0) return null;
    const block = candidates.splice(at, 1)[0]!;
    block.from = from;
    block.to = to;
    return block;
  }

  private make(encoded: Encoded, i: number): Block {
    const [from, to] = [this.starts[i]!, this.starts[i + 1]!];
    const element = h("div", { class: "block", role: "presentation" });
    let colour = -1;
    for (let token = from; token < to; token++) {
      const id = encoded.ids[token]!;
      // A token has the colour of its id, so that it looks the same everywhere and does not change as one types.
      const own = (id ^ (id >> 5)) % COLOURS;
      colour = own === colour ? (own + 1) % COLOURS : own;
      const span = document.createElement("span");
      span.setAttribute("role", "option");
      const { text, whole } = tokenText(encoded, token);
      let kind = `t c${colour}`;
      if (!whole) kind += " part";
      if (text.length > LONG) kind += " long";
      if (isAdded(encoded, token)) kind += " added";
      if (encoded.flags[token]! & PIECE_START) kind += " first";
      span.className = kind;
      if (this.options.asIds) {
        span.textContent = String(id) + (text.endsWith("\n") && whole ? "\n" : "");
        if (this.options.asIds) span.classList.add("id");
      } else {
        span.textContent = whole && this.options.visible ? visible(text) : text;
      }
      nameBlank(span);
      element.append(span);
    }
    const text = encoded.text.slice(from > 0 ? encoded.units[from - 1] : 0, encoded.units[to - 1]);
    return { element, from, to, text, ids: encoded.ids.slice(from, to), height: 0 };
  }

  /** Take the real heights of drawn blocks, and move those behind them. */
  private measure(first: number, last: number): void {
    let changed = last;
    for (let i = first; i < last; i++) {
      const block = this.drawn.get(i)!;
      if (block.height === 0) block.height = block.element.getBoundingClientRect().height;
      if (block.height !== this.heights[i]) {
        this.heights[i] = block.height;
        changed = Math.min(changed, i);
      }
    }
    if (changed < last) this.sum(changed);
  }

  private resized(): void {
    for (const block of this.drawn.values()) block.height = 0;
    if (this.encoded !== null) {
      this.layOut();
      this.draw();
    }
  }

  private tokenAt(target: EventTarget | null): number {
    const span = target instanceof Element ? target.closest(".t") : null;
    if (span === null) return -1;
    for (const block of this.drawn.values()) {
      if (block.element === span.parentElement)
        return block.from + Array.prototype.indexOf.call(block.element.children, span);
    }
    return -1;
  }

  private spanOf(token: number): Element | null {
    for (const block of this.drawn.values()) {
      if (token >= block.from && token < block.to) return block.element.children[token - block.from] ?? null;
    }
    return null;
  }

  private mark(on: boolean): void {
    const encoded = this.encoded;
    if (!on) {
      for (const element of this.body.querySelectorAll(".active, .piece")) {
        element.classList.remove("active", "piece");
        for (const name of ["id", "aria-selected", "aria-label", "aria-posinset", "aria-setsize"]) {
          element.removeAttribute(name);
        }
        nameBlank(element);
      }
      this.root.removeAttribute("aria-activedescendant");
      return;
    }
    if (encoded === null) return;
    const [first, after] = pieceOf(encoded, this.active);
    for (let token = first; token < after && token < first + 2000; token++) this.spanOf(token)?.classList.add("piece");
    const span = this.spanOf(this.active);
    if (span === null) return;
    span.classList.add("active");
    span.id = "active-token";
    span.setAttribute("aria-selected", "true");
    span.setAttribute("aria-posinset", String(this.active + 1));
    span.setAttribute("aria-setsize", String(encoded.ids.length));
    const shown = tokenText(encoded, this.active);
    span.setAttribute(
      "aria-label",
      `${shown.whole ? visible(shown.text, false) : shown.text}, id ${encoded.ids[this.active]}`,
    );
    this.root.setAttribute("aria-activedescendant", "active-token");
  }

  private firstVisible(): number {
    return this.starts[this.blockAt(this.root.scrollTop)] ?? 0;
  }

  private scrollTo(token: number): void {
    let block = 0;
    while (block + 1 < this.heights.length && this.starts[block + 1]! <= token) block++;
    if (!this.drawn.has(block)) {
      this.root.scrollTop = this.offsets[block]! - this.root.clientHeight / 2;
      this.draw();
    }
    this.spanOf(token)?.scrollIntoView({ block: "nearest" });
  }

  private onKey(event: KeyboardEvent): void {
    const encoded = this.encoded;
    if (encoded === null || encoded.ids.length === 0) return;
    const now = this.active < 0 ? this.firstVisible() : this.active;
    const moves: Record<string, () => number> = {
      ArrowRight: () => now + 1,
      ArrowLeft: () => now - 1,
      ArrowDown: () => pieceOf(encoded, now)[1],
      ArrowUp: () =>
        pieceOf(encoded, now)[0] === now ? pieceOf(encoded, Math.max(0, now - 1))[0] : pieceOf(encoded, now)[0],
      Home: () => 0,
      End: () => encoded.ids.length - 1,
      Enter: () => {
        this.onChosen(now);
        return now;
      },
    };
    if (event.key === "c" && (event.ctrlKey || event.metaKey) && getSelection()?.isCollapsed !== false) {
      void navigator.clipboard.writeText(String(encoded.ids[now]));
      event.preventDefault();
      return;
    }
    const move = event.ctrlKey || event.metaKey || event.altKey ? undefined : moves[event.key];
    if (move === undefined) return;
    event.preventDefault();
    this.activate(move());
  }
}

/** White space has no sound: such a token is named by its signs. */
function nameBlank(span: Element): void {
  const text = span.textContent ?? "";
  if (text.trim() === "") span.setAttribute("aria-label", visible(text, false));
}

/** Make `elements` the children of `parent`, moving as little as possible. */
function place(parent: HTMLElement, elements: HTMLElement[]): void {
  const wanted = new Set<Element>(elements);
  for (const child of Array.from(parent.children)) if (!wanted.has(child)) child.remove();
  let at = parent.firstChild;
  for (const element of elements) {
    if (at === element) at = element.nextSibling;
    else parent.insertBefore(element, at);
  }
}
