// A long list of rows of equal height. Only rows near the visible part exist as elements.

import { h } from "./dom";

const MARGIN = 300; // pixels
const MOST_PRINTED = 400; // rows

export class Rows {
  private count = 0;
  private height = 1;
  private render: (row: number) => HTMLElement = () => h("div");
  private readonly body = h("div", { class: "rows", role: "presentation" });
  private drawn = new Map<number, HTMLElement>();
  private printing = false;

  constructor(readonly root: HTMLElement) {
    root.replaceChildren(this.body);
    root.addEventListener("scroll", () => this.draw(), { passive: true });
    new ResizeObserver(() => this.draw()).observe(root);
    addEventListener("beforeprint", () => this.print(true));
    addEventListener("afterprint", () => this.print(false));
  }

  /** Show `count` rows of `height` pixels; `render` makes one. */
  set(count: number, height: number, render: (row: number) => HTMLElement): void {
    this.count = count;
    this.height = height;
    this.render = render;
    this.drawn.clear();
    this.body.replaceChildren();
    this.body.style.height = `${count * height}px`;
    this.draw();
  }

  /** Show a sentence in place of rows. */
  say(text: string): void {
    this.body.replaceChildren(h("p", { class: "hint nothing" }, text));
  }

  /** The element of a row, if it exists. */
  element(row: number): HTMLElement | undefined {
    return this.drawn.get(row);
  }

  /** Scroll so that a row can be seen. */
  reveal(row: number): void {
    const { root, height } = this;
    if (row * height < root.scrollTop) root.scrollTop = row * height;
    else if ((row + 1) * height > root.scrollTop + root.clientHeight) {
      root.scrollTop = (row + 1) * height - root.clientHeight;
    }
    this.draw();
  }

  /** Draw the first rows in order, for paper, where they follow each other; afterwards those near the window. */
  private print(on: boolean): void {
    this.printing = on;
    if (this.count === 0) return;
    this.drawn.clear();
    this.body.replaceChildren();
    this.draw();
  }

  /** Draw the rows near the window, and for printing the first ones. */
  private draw(): void {
    const { root, height, count } = this;
    // On paper the list is as high as its rows, so its height says nothing.
    const first = this.printing ? 0 : Math.max(0, Math.floor((root.scrollTop - MARGIN) / height));
    const end = this.printing ? MOST_PRINTED : Math.ceil((root.scrollTop + root.clientHeight + MARGIN) / height);
    const last = Math.min(count, end);
    this.body.style.height = `${(this.printing ? last : count) * height}px`;
    for (const [row, element] of this.drawn) {
      if (row >= first && row < last) continue;
      element.remove();
      this.drawn.delete(row);
    }
    for (let row = first; row < last; row++) {
      if (this.drawn.has(row)) continue;
      const element = this.render(row);
      element.style.top = `${row * height}px`;
      element.style.height = `${height}px`;
      this.drawn.set(row, element);
      this.body.append(element);
    }
  }
}
