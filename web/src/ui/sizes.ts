// A slider over the merges: the text as it would be cut had training stopped earlier, and the number of tokens as a curve.

import { drawCurve, type Point } from "./curve";
import { byId, debounced, grouped, latest } from "./dom";
import type { Session } from "./session";

const STEPS = 200; // of the slider, which is logarithmic
const POINTS = 40; // of the curve
const LONGEST = 20_000; // UTF-16 units; longer texts have no curve

/** The number of merges at a position of the slider, from 0 to STEPS. */
export function mergesAt(position: number, all: number): number {
  return position >= STEPS ? all : Math.round((all + 1) ** (position / STEPS)) - 1;
}

export class SizeSlider {
  private readonly slider = byId<HTMLInputElement>("size-slider");
  private readonly draw: () => void;
  private tokens: number[] = []; // at each point of the curve

  constructor(private readonly session: Session) {
    const count = latest(() => this.count());
    this.draw = debounced(150, () => void count());
    const moved = () => {
      const merges = mergesAt(Number(this.slider.value), this.all);
      session.merges = merges < this.all ? merges : null;
      this.show();
      session.tell("merges");
    };
    this.slider.addEventListener("input", moved);
    session.on(["tokenizer"], () => {
      this.slider.value = String(STEPS);
    });
    session.on(["text", "tokenizer", "special"], this.draw);
  }

  private get all(): number {
    return this.session.choice(this.session.current)?.summary?.merges ?? 0;
  }

  /** Count the tokens at each point of the curve. */
  private async count(): Promise<void> {
    const { session } = this;
    const { current: key, text, special } = session;
    const usable = key !== "" && text !== "" && text.length <= LONGEST;
    if (usable) await session.ready(key);
    byId("sizes").hidden = !usable || this.all === 0;
    if (!usable || key !== session.current) return;
    const merges = Array.from({ length: POINTS + 1 }, (_, i) => mergesAt((i * STEPS) / POINTS, this.all));
    this.tokens = await session.line.ask("sizes", key, text, special, merges);
    this.show();
  }

  private show(): void {
    const merges = this.session.merges ?? this.all;
    const summary = this.session.choice(this.session.current)?.summary;
    const kind = summary?.order === "events" ? "merges and removals" : "merges";
    const words = `${merges === this.all ? "all " : ""}${grouped(merges)} ${kind}`;
    byId("size-merges").textContent = words;
    this.slider.setAttribute("aria-valuetext", words);
    const most = Math.max(1, ...this.tokens);
    const points = this.tokens.map((tokens, i): Point => [(100 * i) / POINTS, (95 * tokens) / most]);
    const [position, last] = [(100 * Number(this.slider.value)) / STEPS, this.tokens.at(-1) ?? 0];
    const here = Math.round((position / 100) * POINTS);
    byId("size-tokens").textContent =
      this.tokens.length === 0 || merges === this.all || last === 0
        ? "Move the slider to see the text as a smaller vocabulary cuts it."
        : `About ${Math.round((100 * this.tokens[here]!) / last - 100)} % more tokens than with all merges.`;
    drawCurve(byId("size-curve"), points, position);
  }
}
