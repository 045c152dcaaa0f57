// A slider over the merges: the text as it would be cut had training stopped earlier, and the number of tokens as a curve.

import { drawCurve, type Point } from "./curve";
import { byId, debounced, grouped, latest } from "./dom";
import type { Session } from "./session";

const LONGEST = 20_000; // UTF-16 units; longer texts have no curve
const ROUND = [1, 1.2, 1.5, 2, 2.5, 3, 4, 5, 6, 8];

/** The numbers of merges at the positions of the slider: round ones on a logarithmic scale, then all. */
export function positions(all: number): number[] {
  const sizes = new Set([0]);
  for (let power = 1; power < all; power *= 10) for (const one of ROUND) sizes.add(Math.round(one * power));
  return [...Array.from(sizes).filter((size) => size < all), all];
}

export class SizeSlider {
  private readonly slider = byId<HTMLInputElement>("size-slider");
  private sizes: number[] = [];
  private tokens: number[] = []; // for each of the sizes

  constructor(private readonly session: Session) {
    const count = latest(() => this.count());
    const draw = debounced(150, () => void count());
    this.slider.addEventListener("input", () => {
      const at = Number(this.slider.value);
      session.merges = at < this.sizes.length - 1 ? this.sizes[at]! : null;
      this.show();
      session.tell("merges");
    });
    session.on(["text", "tokenizer", "special"], draw);
  }

  /** Count the tokens at each position. */
  private async count(): Promise<void> {
    const { session } = this;
    const { current: key, text, special } = session;
    const usable = key !== "" && text !== "" && text.length <= LONGEST;
    const all = usable ? (await session.ready(key)).merges : 0;
    byId("sizes").hidden = all === 0;
    if (all === 0 || key !== session.current) return;
    this.sizes = positions(all);
    this.tokens = await session.line.ask("sizes", key, text, special, this.sizes);
    const at = this.sizes.findIndex((size) => size >= (session.merges ?? all));
    this.slider.max = String(this.sizes.length - 1);
    this.slider.value = String(at < 0 ? this.sizes.length - 1 : at);
    this.show();
  }

  private show(): void {
    const { sizes, tokens, session } = this;
    const [last, at] = [sizes.length - 1, Number(this.slider.value)];
    const kind = session.choice(session.current)?.summary?.order === "events" ? "merges and removals" : "merges";
    const words = `${at === last ? "all " : ""}${grouped(sizes[at]!)} ${kind}`;
    byId("size-merges").textContent = words;
    this.slider.setAttribute("aria-valuetext", words);
    const more = Math.round((100 * tokens[at]!) / Math.max(1, tokens[last]!) - 100);
    byId("size-tokens").textContent =
      at === last
        ? "Move the slider to see the text as a smaller vocabulary cuts it."
        : `${grouped(tokens[at]!)} tokens, ${more}% more than with all merges.`;
    const most = Math.max(1, ...tokens);
    const points = tokens.map((size, i): Point => [(100 * i) / last, (95 * size) / most]);
    drawCurve(byId("size-curve"), points, (100 * at) / last);
  }
}
