// The text box: CodeMirror, which holds the whole text and draws only the lines near the window. It lives in a shadow root,
// because there it sets its styles as constructed style sheets, which the page's Content-Security-Policy allows.

import { history, historyKeymap, standardKeymap } from "@codemirror/commands";
import { EditorState, RangeSetBuilder, Transaction } from "@codemirror/state";
import {
  Decoration,
  type DecorationSet,
  EditorView,
  highlightSpecialChars,
  keymap,
  placeholder,
  ViewPlugin,
  type ViewUpdate,
} from "@codemirror/view";
import { h } from "./dom";
import type { Top } from "./linked";
import { visible } from "./show";

/** Longer texts are refused. */
export const LONGEST = 16_000_000;

const THEME = EditorView.theme({
  "&": { height: "100%", backgroundColor: "transparent", color: "var(--ink)" },
  "&.cm-focused": { outline: "none" },
  ".cm-scroller": { fontFamily: "var(--mono)", fontSize: "14px", lineHeight: "26px", overflow: "auto" },
  ".cm-content": { padding: "12px 14px", caretColor: "var(--ink)" },
  ".cm-line": { padding: "0" },
  ".cm-placeholder": { color: "var(--soft)" },
  ".cm-specialChar": { color: "var(--warn)", fontSize: "11px" },
});

// Each line has the direction of its first letter, as each paragraph of the tokens has.
const DIRECTION = Decoration.line({ attributes: { dir: "auto" } });
const directions = ViewPlugin.fromClass(
  class {
    decorations: DecorationSet;

    constructor(view: EditorView) {
      this.decorations = visibleLines(view);
    }

    update(update: ViewUpdate): void {
      if (update.docChanged || update.viewportChanged) this.decorations = visibleLines(update.view);
    }
  },
  { decorations: (plugin) => plugin.decorations },
);

function visibleLines(view: EditorView): DecorationSet {
  const lines = new RangeSetBuilder<Decoration>();
  let at = 0;
  for (const { from, to } of view.visibleRanges) {
    for (at = Math.max(at, from); at <= to; ) {
      const line = view.state.doc.lineAt(at);
      lines.add(line.from, line.from, DIRECTION);
      at = line.to + 1;
    }
  }
  return lines.finish();
}

export class Editor {
  private readonly view: EditorView;
  /** The whole text, with its carriage returns. */
  text = "";
  private wanted: Top | null = null;
  private scrolled = 0; // when
  private settled: ReturnType<typeof setTimeout> | undefined;
  private moved: () => void = () => {};

  constructor(
    host: HTMLElement,
    private readonly onText: (text: string, typed: boolean) => void,
    private readonly onTooLong: () => void,
  ) {
    const shadow = host.attachShadow({ mode: "open" });
    this.view = new EditorView({ parent: shadow, root: shadow, state: this.state("") });
  }

  /** Replace the whole text. The change can be undone, but not the first one. */
  set(text: string, typed = false): void {
    if (text.length > LONGEST) {
      this.onTooLong();
    } else if (this.text === "" && !typed) {
      this.view.setState(this.state(text));
      this.text = text;
      this.onText(text, false);
    } else {
      const [from, to, insert] = difference(this.text, text);
      const changes = { from, to, insert: this.view.state.toText(insert) };
      this.view.dispatch({ changes, ...(typed ? { userEvent: "input" } : {}) });
      if (!typed) this.view.scrollDOM.scrollTop = 0;
    }
  }

  /** Select a range of the text, in UTF-16 units, and go there. */
  select(start: number, end: number): void {
    this.view.dispatch({ selection: { anchor: start, head: end }, scrollIntoView: true });
    this.view.focus();
  }

  /** What is at the top of the window; see linked.ts. */
  top(): Top {
    const { scrollDOM, visibleRanges } = this.view;
    const { top } = scrollDOM.getBoundingClientRect();
    // The cursor at the end leaves the padding below it out of the window.
    const end = scrollDOM.scrollTop > 0 && scrollDOM.scrollTop + scrollDOM.clientHeight > scrollDOM.scrollHeight - 14;
    // Of a long line only a part is drawn, and `posAtCoords` does not find its way there.
    const block = this.view.lineBlockAtHeight(Math.max(0, top + 1 - this.view.documentTop));
    const above = (range: { from: number }) =>
      (this.view.coordsAtPos(Math.max(block.from, range.from), 1)?.top ?? top) <= top;
    const drawn = visibleRanges.filter((range) => range.from <= block.to && range.to >= block.from);
    const range = drawn.findLast(above) ?? drawn[0] ?? block;
    let place = Math.max(block.from, range.from);
    let last = Math.min(block.to, range.to);
    while (place < last) {
      const middle = (place + last) >> 1;
      if ((this.view.coordsAtPos(middle, 1)?.bottom ?? top) > top + 1) last = middle;
      else place = middle + 1;
    }
    const at = this.view.coordsAtPos(place, 1);
    return { place, below: at ? (at.top + at.bottom) / 2 - top : 0, end };
  }

  /** Scroll so that this is at the top of the window. */
  scrollTo(wanted: Top): void {
    const { scrollDOM } = this.view;
    this.wanted = wanted;
    const line = this.view.lineBlockAt(Math.min(wanted.place, this.view.state.doc.length));
    scrollDOM.scrollTop = wanted.end ? scrollDOM.scrollHeight : line.top;
    this.approach(wanted, 4);
  }

  /** Correct the scrolling once the lines there are drawn, because undrawn lines have estimated heights. */
  private approach(wanted: Top, rounds: number): void {
    const { view } = this;
    const { scrollDOM } = view;
    view.requestMeasure({
      key: this,
      read: () => {
        if (wanted.end) return scrollDOM.scrollHeight;
        const at = view.coordsAtPos(Math.min(wanted.place, view.state.doc.length), 1);
        return at ? (at.top + at.bottom) / 2 - wanted.below - scrollDOM.getBoundingClientRect().top : 0;
      },
      write: (by) => {
        if (this.wanted !== wanted) return;
        scrollDOM.scrollTop += by;
        if (rounds > 1) requestAnimationFrame(() => this.approach(wanted, rounds - 1));
      },
    });
  }

  onScroll(run: () => void): void {
    this.moved = run;
    const scrolled = () => {
      this.scrolled = performance.now();
      run();
      // A part of a long line has its true place only once it is drawn.
      clearTimeout(this.settled);
      this.settled = setTimeout(run, 100);
    };
    this.view.scrollDOM.addEventListener("scroll", scrolled, { passive: true });
  }

  private state(text: string): EditorState {
    return EditorState.create({
      doc: text,
      extensions: [
        EditorState.lineSeparator.of("\n"), // a carriage return is a character, so the text stays as it is
        EditorState.changeFilter.of((change) => this.fits(change)),
        history({ minDepth: 1000 }),
        keymap.of([...standardKeymap, ...historyKeymap]),
        highlightSpecialChars({ render: drawSign }),
        placeholder("Type or paste text, or drop a file here."),
        EditorView.lineWrapping,
        EditorView.perLineTextDirection.of(true),
        directions,
        EditorView.contentAttributes.of({
          "aria-label": "Text",
          spellcheck: "false",
          autocapitalize: "off",
          tabindex: "0",
        }),
        EditorView.updateListener.of((update) => this.updated(update)),
        THEME,
      ],
    });
  }

  private fits(change: Transaction): boolean {
    if (change.newDoc.length <= LONGEST) return true;
    this.onTooLong();
    return false;
  }

  private updated(update: ViewUpdate): void {
    // After scrolling, new lines may have other heights than estimated.
    if (update.geometryChanged && performance.now() - this.scrolled < 300) this.moved();
    if (!update.docChanged) return;
    this.text = update.state.doc.toString();
    const typed = update.transactions.some((one) => one.annotation(Transaction.userEvent) !== undefined);
    this.onText(this.text, typed);
  }
}

/** The sign of a control character, as the tokens show it. */
function drawSign(code: number, name: string | null): HTMLElement {
  const title = name ?? `U+${code.toString(16).toUpperCase().padStart(4, "0")}`;
  const sign = visible(String.fromCodePoint(code), false);
  return h("span", { class: "cm-specialChar", title, "aria-label": title }, sign);
}

/** The edit that makes `after` of `before`: the range that it replaces, and by what. */
function difference(before: string, after: string): [from: number, to: number, insert: string] {
  const most = Math.min(before.length, after.length);
  let start = 0;
  while (start < most && before[start] === after[start]) start++;
  let end = 0;
  while (end < most - start && before[before.length - 1 - end] === after[after.length - 1 - end]) end++;
  return [start, before.length - end, after.slice(start, after.length - end)];
}
