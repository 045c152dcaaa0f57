// Coloured tokens. A text may have a million of them, so only blocks near the visible part are drawn. Unchanged blocks
// keep their elements, and a changed block keeps the elements of its unchanged tokens.

import type { Encoded } from "../encoder/encoder";
import { PRETOKEN_START } from "../encoder/flags";
import { boxDirections, directionMarks, directionOf, hasRtl, LTR_MARK, RTL_MARK } from "./bidi";
import { Blocks } from "./blocks";
import { copy, firstAbove, h } from "./dom";
import type { Pane, Top } from "./linked";
import { isUnseen, visible } from "./show";
import { isAdded, pretokenOf, spansWords, tokenText, wordsOf } from "./tokentext";

export const MARGIN = 400; // pixels drawn beyond the window
const COLOURS = 5;
const MOST_PRINTED = 20_000; // tokens
const LONG = 32; // characters; a longer token may span lines

/** The class and the text of a token's element; of bytes shown as digits also the characters that they begin. */
type Look = [kind: string, text: string, characters?: string];

interface Block {
  element: HTMLElement;
  from: number;
  to: number;
  text: string;
  ids: Int32Array;
  looks: Look[];
  bidi: boolean;
  measured: boolean;
}

export interface TokenViewOptions {
  visible: boolean;
  asIds: boolean;
  /** Whether the colour shows the number of bytes. */
  heat: boolean;
}

export class TokenView implements Pane {
  /** The selected token, or -1. */
  active = -1;
  private pinned = false; // by a click: the pointer then selects no other token
  private encoded: Encoded | null = null;
  private readonly blocks = new Blocks();
  private width = 0; // pixels; the width for which the blocks were laid out
  private drawn = new Map<number, Block>();
  private drawnOptions = "";
  private drawnText: Encoded | null = null;
  private options: TokenViewOptions = { visible: false, asIds: false, heat: false };
  private readonly above = h("div", { role: "presentation" });
  private readonly below = h("div", { role: "presentation" });
  private readonly body = h("div", { role: "presentation" });

  constructor(
    private readonly root: HTMLElement,
    private readonly onActive: (token: number) => void,
    private readonly onChosen: (token: number) => void,
    private readonly onAsked: (token: number) => void,
  ) {
    root.replaceChildren(this.above, this.body, this.below);
    const scrolled = () => {
      this.measure();
      this.draw();
    };
    root.addEventListener("scroll", scrolled, { passive: true });
    new ResizeObserver(() => this.resized()).observe(root);
    addEventListener("beforeprint", () => this.draw(MOST_PRINTED));
    addEventListener("afterprint", () => this.draw());
    root.addEventListener("pointerover", (event) => {
      const token = this.tokenAt(event.target);
      if (token >= 0 && !this.pinned) this.activate(token, false);
    });
    root.addEventListener("click", (event) => {
      const token = this.tokenAt(event.target);
      this.pinned = token >= 0 && !(this.pinned && token === this.active);
      if (token >= 0) this.activate(token, false);
    });
    root.addEventListener("dblclick", (event) => {
      const token = this.tokenAt(event.target);
      if (token >= 0) this.onChosen(token);
    });
    root.addEventListener("keydown", (event) => this.onKey(event));
    root.addEventListener("copy", (event) => copyTokens(event));
    root.addEventListener("focus", () => {
      if (this.active < 0 && this.encoded && this.encoded.ids.length > 0) this.activate(this.firstVisible(), false);
    });
  }

  set(encoded: Encoded, options: TokenViewOptions): void {
    this.encoded = encoded;
    this.options = options;
    if (this.active >= 0) this.mark(false);
    this.active = -1;
    this.pinned = false;
    this.measure();
    this.takeBlocks(encoded);
    this.draw();
  }

  private takeBlocks(encoded: Encoded): void {
    this.width = this.root.clientWidth;
    this.blocks.update(encoded, this.width);
  }

  /** Select a token; `show` scrolls to it. */
  activate(token: number, show = true): void {
    const count = this.encoded?.ids.length ?? 0;
    if (count === 0) return;
    if (this.active >= 0) this.mark(false);
    this.active = Math.max(0, Math.min(count - 1, token));
    if (show) this.reveal(this.active);
    this.mark(true);
    this.onActive(this.active);
  }

  /** What is at the top of the window; see linked.ts. */
  top(): Top | null {
    const { encoded, root, blocks } = this;
    const block = this.drawn.get(blocks.at(root.scrollTop));
    if (encoded === null || block === undefined) return null;
    const { top } = root.getBoundingClientRect();
    const spans = block.element.children;
    let low = 0;
    let high = spans.length - 1;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (spans[middle]!.getBoundingClientRect().bottom > top) high = middle;
      else low = middle + 1;
    }
    const token = block.from + low;
    const first = spans[low]?.getClientRects()[0];
    return {
      place: token > 0 ? encoded.units[token - 1]! : 0,
      below: first ? (first.top + first.bottom) / 2 - top : 0,
      end: root.scrollTop > 0 && root.scrollTop + root.clientHeight > root.scrollHeight - 2,
    };
  }

  /** Scroll so that this is at the top of the window. */
  scrollTo({ place, below, end }: Top): void {
    const { encoded, root, blocks } = this;
    if (encoded === null || encoded.ids.length === 0) return;
    const token = Math.min(encoded.ids.length - 1, firstAbove(encoded.units, place));
    root.scrollTop = end ? root.scrollHeight : blocks.offsets[this.blockOf(token)]!;
    // Blocks above the token may have other heights than estimated, once they are drawn and measured.
    for (let round = 0; round < 3; round++) {
      this.draw();
      this.measure();
      this.draw();
      const rect = this.spanOf(token)?.getClientRects()[0];
      if (end) root.scrollTop = root.scrollHeight;
      else if (rect) root.scrollTop += (rect.top + rect.bottom) / 2 - below - root.getBoundingClientRect().top;
    }
  }

  onScroll(run: () => void): void {
    this.root.addEventListener("scroll", run, { passive: true });
  }

  private blockOf(token: number): number {
    return Math.max(0, firstAbove(this.blocks.starts.subarray(0, this.blocks.count), token) - 1);
  }

  /** Draw the blocks near the window, or for printing those of the first `printed` tokens. */
  private draw(printed = 0): void {
    const { encoded, blocks, options } = this;
    if (encoded === null) return;
    const { scrollTop, clientHeight } = this.root;
    let first = printed > 0 ? 0 : blocks.at(Math.max(0, scrollTop - MARGIN));
    let last = first;
    while (last < blocks.count && blocks.starts[last]! < printed) last++;
    while (last < blocks.count && (blocks.offsets[last]! < scrollTop + clientHeight + MARGIN || last === first)) last++;
    if (first > 0 && last === blocks.count) first = Math.min(first, blocks.count - 1);

    const signs = JSON.stringify(options);
    const old = new Set(signs === this.drawnOptions ? this.drawn.values() : []);
    this.drawnOptions = signs;
    // Of blocks alike, each keeps its own element. Otherwise scrolling would move all by one, and the browser, which keeps in
    // place what it shows, would scroll on and on. After an edit, a block may be the one of another place.
    const here = encoded === this.drawnText;
    this.drawnText = encoded;
    const kept = Array.from({ length: last - first }, (_, i) => this.reuse(old, encoded, first + i, here));
    const drawn = kept.map((block, i) => block ?? this.make(old, encoded, first + i));
    place(
      this.body,
      drawn.map((block) => block.element),
    );
    this.drawn = new Map(drawn.map((block, i) => [first + i, block]));
    this.above.style.height = `${blocks.offsets[first]!}px`;
    this.below.style.height = printed > 0 ? "" : `${blocks.offsets[blocks.count]! - blocks.offsets[last]!}px`;
    if (this.active >= 0) this.mark(true);
  }

  /** An old block with the tokens of block `i`; `here`: only the one at the same place. */
  private reuse(old: Set<Block>, encoded: Encoded, i: number, here: boolean): Block | null {
    const [from, to] = [this.blocks.starts[i]!, this.blocks.starts[i + 1]!];
    const text = textOf(encoded, from, to);
    for (const block of old) {
      if ((here && block.from !== from) || block.text !== text || block.ids.length !== to - from) continue;
      if (!block.ids.every((id, k) => id === encoded.ids[from + k])) continue;
      old.delete(block);
      block.from = from;
      block.to = to;
      return block;
    }
    return null;
  }

  /** A block that reuses the elements of the old block with the same first token, where the tokens look the same. */
  private make(old: Set<Block>, encoded: Encoded, i: number): Block {
    const [from, to] = [this.blocks.starts[i]!, this.blocks.starts[i + 1]!];
    const before = Array.from(old).find((block) => block.from === from);
    if (before) old.delete(before);
    const element = before?.element ?? h("div", { class: "block", role: "presentation" });
    const looks = looksOf(encoded, from, to, this.options);
    const [text, ids] = [textOf(encoded, from, to), encoded.ids.slice(from, to)];
    const lead = paragraphDirection(encoded, from);
    const bidi = lead === "rtl" || hasRtl(text);
    const keep = before !== undefined && !bidi && !before.bidi;
    if (!keep) element.replaceChildren();
    showLooks(element, keep ? before.looks : [], looks);
    element.classList.toggle("bidi", bidi);
    if (bidi) addMarks(element, encoded, from, lead);
    return { element, from, to, text, ids, looks, bidi, measured: false };
  }

  /**
   * Take the true heights of drawn blocks. This waits for the browser's layout, so it is done before anything is changed,
   * not after: only what is above and below the drawn blocks needs heights when they are drawn.
   */
  private measure(): void {
    let changed = this.blocks.count;
    for (const [i, block] of this.drawn) {
      if (block.measured) continue;
      block.measured = true;
      const { height } = block.element.getBoundingClientRect();
      if (height === this.blocks.heights[i]) continue;
      this.blocks.heights[i] = height;
      changed = Math.min(changed, i);
    }
    this.blocks.sum(changed);
  }

  private resized(): void {
    if (this.encoded === null) return;
    if (this.root.clientWidth !== this.width) {
      for (const block of this.drawn.values()) block.measured = false;
      this.blocks.clear();
      this.takeBlocks(this.encoded);
    }
    this.draw();
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
      for (const element of this.body.querySelectorAll(".active, .pretoken")) {
        element.classList.remove("active", "pretoken");
        for (const name of ["id", "aria-selected", "aria-label", "aria-posinset", "aria-setsize"]) {
          element.removeAttribute(name);
        }
        nameBlank(element);
      }
      this.root.removeAttribute("aria-activedescendant");
      return;
    }
    if (encoded === null) return;
    const [first, after] = pretokenOf(encoded, this.active);
    for (let token = first; token < after && token < first + 2000; token++)
      this.spanOf(token)?.classList.add("pretoken");
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
    return this.blocks.starts[this.blocks.at(this.root.scrollTop)] ?? 0;
  }

  private reveal(token: number): void {
    const { blocks } = this;
    const block = this.blockOf(token);
    if (!this.drawn.has(block)) {
      this.root.scrollTop = blocks.offsets[block]! - this.root.clientHeight / 2;
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
      ArrowDown: () => pretokenOf(encoded, now)[1],
      ArrowUp: () =>
        pretokenOf(encoded, now)[0] === now
          ? pretokenOf(encoded, Math.max(0, now - 1))[0]
          : pretokenOf(encoded, now)[0],
      Home: () => 0,
      End: () => encoded.ids.length - 1,
      Enter: () => {
        this.onChosen(now);
        return now;
      },
      s: () => {
        this.onAsked(now);
        return now;
      },
    };
    if (event.key === "c" && (event.ctrlKey || event.metaKey) && getSelection()?.isCollapsed !== false) {
      void copy(document.createElement("button"), String(encoded.ids[now]));
      event.preventDefault();
      return;
    }
    const move = event.ctrlKey || event.metaKey || event.altKey ? undefined : moves[event.key];
    if (move === undefined) return;
    event.preventDefault();
    this.activate(move());
  }
}

function textOf({ text, units }: Encoded, from: number, to: number): string {
  return to > from ? text.slice(from > 0 ? units[from - 1] : 0, units[to - 1]) : "";
}

/** The direction of the paragraph in whose middle a block begins with token `from`; null at its beginning. */
function paragraphDirection({ text, units }: Encoded, from: number): "ltr" | "rtl" | null {
  const unit = from > 0 ? units[from - 1]! : 0;
  if (unit === 0 || text[unit - 1] === "\n") return null;
  const start = text.lastIndexOf("\n", unit - 1) + 1;
  return directionOf(text.slice(start, Math.min(unit, start + 1000)));
}

/** Write the direction marks between the elements of tokens; see bidi.ts. */
function addMarks(element: Element, { text, units }: Encoded, from: number, lead: "ltr" | "rtl" | null): void {
  const spans = Array.from(element.children) as HTMLElement[];
  const texts = spans.map((_, i) => text.slice(from + i > 0 ? units[from + i - 1] : 0, units[from + i]));
  const marks = directionMarks(texts);
  const directions = boxDirections(texts, lead);
  if (lead !== null) element.prepend(lead === "rtl" ? RTL_MARK : LTR_MARK);
  for (const [i, span] of spans.entries()) {
    if (directions[i] === "rtl") span.dir = "rtl"; // for a space or bytes beside the letters
    span.before(marks[i]![0]);
    span.after(marks[i]![1]);
  }
}

/** The looks of the tokens `from` to `to`, which form a block. */
function looksOf(encoded: Encoded, from: number, to: number, options: TokenViewOptions): Look[] {
  const looks: Look[] = [];
  let colour = -1;
  for (let token = from; token < to; token++) {
    const id = encoded.ids[token]!;
    // The id determines the colour, so a token looks the same everywhere and does not change during typing.
    const own = (id ^ (id >> 5)) % COLOURS;
    colour = own === colour ? (own + 1) % COLOURS : own;
    const { text, whole } = tokenText(encoded, token);
    const size = encoded.ends[token]! - (token > 0 ? encoded.ends[token - 1]! : 0);
    let kind = options.heat ? `t h${heat(size)}` : `t c${colour}`;
    if (whole && spansWords(text)) kind += " super";
    if (!whole) kind += " part";
    if (text.length > LONG) kind += " long";
    if (whole && text.includes("\n")) kind += " feed";
    if (isAdded(encoded, token)) kind += " added";
    if (encoded.flags[token]! & PRETOKEN_START) kind += " first";
    if (options.asIds) looks.push([`${kind} id`, String(id) + (text.endsWith("\n") && whole ? "\n" : "")]);
    else if (whole && !options.visible && isUnseen(text)) looks.push([`${kind} unseen`, visible(text), text]);
    else if (whole) looks.push([kind, options.visible ? visible(text) : text]);
    else looks.push([kind, text, textOf(encoded, token, token + 1)]);
  }
  return looks;
}

/** The class of a token of so many bytes in the heat map. */
function heat(size: number): number {
  return size < 2 ? 0 : size < 3 ? 1 : size < 5 ? 2 : size < 8 ? 3 : 4;
}

/** Change an element whose children look like `before` to show `looks`; only differing children in the middle are rebuilt. */
function showLooks(element: Element, before: Look[], looks: Look[]): void {
  const alike = (a: Look, b: Look) => a[0] === b[0] && a[1] === b[1] && a[2] === b[2];
  const most = Math.min(before.length, looks.length);
  let same = 0;
  while (same < most && alike(before[same]!, looks[same]!)) same++;
  let tail = 0;
  while (tail < most - same && alike(before[before.length - 1 - tail]!, looks[looks.length - 1 - tail]!)) tail++;
  let next: Element | null = element.children[same] ?? null;
  for (let i = same; i < before.length - tail; i++) {
    const gone: Element = next!;
    next = gone.nextElementSibling;
    gone.remove();
  }
  for (const [kind, text, characters] of looks.slice(same, looks.length - tail)) {
    const span = document.createElement("span");
    span.setAttribute("role", "option");
    span.className = kind;
    if (kind.includes(" super")) span.append(...wordsOf(text).map((word) => h("span", { class: "word" }, word)));
    else span.textContent = text;
    if (characters !== undefined) span.dataset.characters = characters;
    nameBlank(span);
    element.insertBefore(span, next);
  }
}

/** Copy selected tokens without the direction marks between them, and with the characters of bytes. */
function copyTokens(event: ClipboardEvent): void {
  const selection = getSelection();
  if (selection === null || selection.rangeCount === 0) return;
  const selected = selection.getRangeAt(0).cloneContents();
  if (selected.querySelector(".t") === null) return; // within one token
  for (const parent of [selected, ...selected.querySelectorAll(".block")])
    for (const child of Array.from(parent.childNodes)) if (child instanceof Text) child.remove();
  for (const part of selected.querySelectorAll<HTMLElement>("[data-characters]"))
    part.textContent = part.dataset.characters!;
  event.clipboardData?.setData("text/plain", selected.textContent ?? "");
  event.preventDefault();
}

/** The label of a token for screen readers; white space is named by its signs. */
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
