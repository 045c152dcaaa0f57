// The text box. The browser lays out all of its text on each key press. Beyond a size the box therefore holds only one
// part of the text, and buttons go to the other parts. The whole text is kept here.

const WHOLE = 60_000; // UTF-16 units that the box may hold at once
const PART = 32_000;

/** Longer texts are refused. */
export const LONGEST = 16_000_000;

export interface EditorElements {
  box: HTMLTextAreaElement;
  bar: HTMLElement;
  back: HTMLButtonElement;
  on: HTMLButtonElement;
  where: HTMLElement;
}

export class Editor {
  private head = ""; // the text before the part in the box, the part, and the text after it
  private part = "";
  private tail = "";

  constructor(
    private readonly elements: EditorElements,
    private readonly onText: (text: string) => void,
    private readonly onTooLong: () => void,
  ) {
    const { box, back, on } = elements;
    box.addEventListener("input", () => this.edited());
    box.addEventListener("paste", (event) => this.insertLong(event, event.clipboardData?.getData("text/plain")));
    box.addEventListener("beforeinput", (event) => {
      if (event.inputType === "insertFromDrop") this.insertLong(event, event.dataTransfer?.getData("text/plain"));
    });
    back.addEventListener("click", () => this.go(this.head.length - 1));
    on.addEventListener("click", () => this.go(this.head.length + this.part.length));
    box.addEventListener("keydown", (event) => this.acrossParts(event));
  }

  get text(): string {
    return this.head + this.part + this.tail;
  }

  set text(text: string) {
    this.head = "";
    this.tail = "";
    this.part = text;
    this.show(0, 0);
  }

  /** Select a range of the text, in UTF-16 units, and go there. */
  select(start: number, end: number): void {
    this.show(start, Math.min(end, start + PART / 4));
    this.elements.box.focus();
  }

  private edited(): void {
    const value = this.elements.box.value;
    this.part = this.part.includes("\r") ? withReturns(this.part, value) : value;
    if (this.head.length + this.part.length + this.tail.length > LONGEST) this.refuse();
    else if (this.part.length > WHOLE) {
      const caret = this.head.length + this.rawOffset(this.elements.box.selectionStart);
      this.show(caret, caret);
    }
    this.onText(this.text);
  }

  private refuse(): void {
    this.part = this.part.slice(0, Math.max(0, LONGEST - this.head.length - this.tail.length));
    this.show(this.head.length, this.head.length);
    this.onTooLong();
  }

  /** Insert a long text without a layout of the box first. */
  private insertLong(event: Event, text: string | undefined): void {
    if (text === undefined || text.length < PART) return;
    event.preventDefault();
    const { box } = this.elements;
    const start = this.rawOffset(box.selectionStart);
    const end = this.rawOffset(box.selectionEnd);
    this.part = this.part.slice(0, start) + text + this.part.slice(end);
    if (this.head.length + this.part.length + this.tail.length > LONGEST) {
      this.refuse();
    } else {
      const caret = this.head.length + start + text.length;
      this.show(caret, caret);
    }
    this.onText(this.text);
  }

  private go(place: number): void {
    const at = Math.max(0, place);
    this.show(at, at);
    this.elements.box.focus();
  }

  /** Let the arrow keys move past the edge of a part. */
  private acrossParts(event: KeyboardEvent): void {
    const { box } = this.elements;
    if (box.selectionStart !== box.selectionEnd || event.shiftKey) return;
    const end = this.head.length + this.part.length;
    const all = end + this.tail.length;
    const command = event.ctrlKey || event.metaKey;
    let place = -1;
    if (command && event.key === "Home" && this.head !== "") place = 0;
    else if (command && event.key === "End" && this.tail !== "") place = all;
    else if (
      /^(ArrowRight|ArrowDown|PageDown)$/.test(event.key) &&
      box.selectionEnd === box.value.length &&
      this.tail !== ""
    )
      place = end;
    else if (/^(ArrowLeft|ArrowUp|PageUp)$/.test(event.key) && box.selectionStart === 0 && this.head !== "")
      place = this.head.length;
    if (place < 0) return;
    event.preventDefault();
    this.go(place);
  }

  /** Put the part around `start` into the box, and select from there to `end`. */
  private show(start: number, end: number): void {
    const { box, bar, back, on, where } = this.elements;
    const all = this.text;
    let from = 0;
    let to = all.length;
    if (all.length > WHOLE) {
      from = lineStart(all, Math.max(0, Math.min(start, all.length) - PART / 2));
      to = lineStart(all, Math.min(all.length, from + PART));
      if (to <= from) to = Math.min(all.length, from + PART);
    }
    this.head = all.slice(0, from);
    this.part = all.slice(from, to);
    this.tail = all.slice(to);
    box.value = this.part;
    const offset = (place: number) => this.part.slice(0, Math.max(0, place - from)).replace(/\r\n/g, "\n").length;
    box.setSelectionRange(offset(start), offset(end));
    bar.hidden = from === 0 && to === all.length;
    back.disabled = from === 0;
    on.disabled = to === all.length;
    const percent = (place: number) => Math.round((100 * place) / all.length);
    where.textContent = bar.hidden
      ? ""
      : `Here: ${percent(from)} % to ${percent(to)} % of ${all.length.toLocaleString("en-US")} characters`;
  }

  /** The offset in the part for an offset in the box, which contains no carriage returns. */
  private rawOffset(offset: number): number {
    return rawOffset(this.part, offset);
  }
}

/** Text boxes turn CR LF and CR into LF. The offset in `raw` for `offset` in the text of the box. */
export function rawOffset(raw: string, offset: number): number {
  if (!raw.includes("\r")) return offset;
  let at = 0;
  for (let seen = 0; seen < offset && at < raw.length; seen++) at += raw[at] === "\r" && raw[at + 1] === "\n" ? 2 : 1;
  return at;
}

/** `raw`, which contains carriage returns, after the edit that changed the box to `value`. */
export function withReturns(raw: string, value: string): string {
  const before = raw.replace(/\r\n?/g, "\n");
  const most = Math.min(before.length, value.length);
  let start = 0;
  while (start < most && before[start] === value[start]) start++;
  let end = 0;
  while (end < most - start && before[before.length - 1 - end] === value[value.length - 1 - end]) end++;
  const from = rawOffset(raw, start);
  const to = rawOffset(raw, before.length - end);
  return raw.slice(0, from) + value.slice(start, value.length - end) + raw.slice(to);
}

/** The start of the line of `place`, or `place` itself in a long line; never inside a surrogate pair. */
function lineStart(text: string, place: number): number {
  if (place <= 0 || place >= text.length) return place;
  const feed = text.lastIndexOf("\n", place - 1);
  if (feed >= 0 && place - feed < PART / 4) return feed + 1;
  const code = text.charCodeAt(place);
  return code >= 0xdc00 && code < 0xe000 ? place - 1 : place;
}
