// The Training view: BPE on a small text, step by step, forward and back.

import { History } from "../training/history";
import type { Options, Pretoken } from "../training/trainer";
import { countedWords, countPretokens, DEFAULT_WORDS, LONGEST_TEXT, toPretokens } from "../training/words";
import { byId, debounced, fill, grouped, h } from "./dom";
import type { Session } from "./session";
import { drawMoment } from "./trainingview";

export class TrainingTab {
  private history: History | null = null;
  private step = 0;
  private timer: ReturnType<typeof setTimeout> | undefined;
  private readonly words = byId<HTMLInputElement>("words");
  private readonly split = byId<HTMLSelectElement>("training-split");
  private readonly picky = byId<HTMLInputElement>("picky");
  private readonly threshold = byId<HTMLInputElement>("threshold");
  private readonly merges = byId<HTMLInputElement>("merges");
  private readonly slider = byId<HTMLInputElement>("step");
  private readonly speed = byId<HTMLInputElement>("speed");
  private readonly playButton = byId("play");
  private started = false;
  private wanted = 0; // the step to go to once the training has run

  constructor(private readonly session: Session) {
    const again = () => {
      if (this.started) void this.restart();
    };
    this.words.value = DEFAULT_WORDS;
    this.words.addEventListener(
      "input",
      debounced(150, () => {
        session.words = this.words.value;
        session.tell("words");
        again();
      }),
    );
    for (const input of [this.split, this.picky, byId("plain"), this.threshold, this.merges]) {
      input.addEventListener("change", again);
    }
    this.threshold.addEventListener("input", () => {
      this.picky.checked = true;
    });
    byId("training-form").addEventListener("submit", (event) => {
      event.preventDefault();
      again();
    });
    byId("first").addEventListener("click", () => this.go(0));
    byId("back").addEventListener("click", () => this.go(this.step - 1));
    byId("on").addEventListener("click", () => this.go(this.step + 1));
    byId("last").addEventListener("click", () => this.go(Number.POSITIVE_INFINITY));
    this.slider.addEventListener("input", () => this.go(Number(this.slider.value)));
    this.playButton.addEventListener("click", () => (this.timer === undefined ? this.play() : this.pause()));
    session.on(["choices"], () => this.drawSplits());
    session.on(["view"], () => {
      if (session.view === "training" && !this.started) void this.restart();
      if (session.view !== "training") this.pause();
    });
    this.drawSplits();
  }

  /** Take the words and the step of a link. */
  take(words: string | null, step: number): void {
    if (words !== null) this.words.value = words;
    this.session.words = words ?? "";
    this.wanted = step;
    this.started = false;
  }

  private drawSplits(): void {
    const chosen = this.split.value;
    fill(
      this.split,
      h("option", { value: "" }, "white space"),
      ...this.session.choices.map((choice) => h("option", { value: choice.key }, `the pattern of ${choice.name}`)),
    );
    this.split.value = chosen;
    if (this.split.selectedIndex < 0) this.split.value = "";
  }

  private async restart(): Promise<void> {
    this.started = true;
    this.pause();
    const text = this.words.value;
    let counts: Map<string, number>;
    try {
      counts = countedWords(text) ?? countPretokens(await this.cut(text.slice(0, LONGEST_TEXT)));
    } catch (error) {
      byId("training-note").textContent = error instanceof Error ? error.message : String(error);
      return;
    }
    const told =
      countedWords(text) === null ? `text, cut into ${grouped(counts.size)} different pretokens` : "words with counts";
    const cutOff = text.length > LONGEST_TEXT ? `, of which the first ${grouped(LONGEST_TEXT)} characters` : "";
    byId("training-note").textContent = `Read as ${told}${cutOff}. Write words like “${DEFAULT_WORDS}”, or any text.`;
    this.start(toPretokens(counts));
  }

  private async cut(text: string): Promise<string[]> {
    const key = this.split.value;
    if (key === "") return text.match(/\s\S*|\S+/gu) ?? [];
    await this.session.ready(key);
    return this.session.line.ask("pretokens", key, text);
  }

  private start(pretokens: Pretoken[]): void {
    const merges = Math.max(1, Math.min(2000, Number(this.merges.value) || 1));
    const threshold = Math.max(0.01, Math.min(1, Number(this.threshold.value) || 0.9));
    const options: Options = {
      refine: this.picky.checked ? threshold : null,
      vocabSize: 256 + merges,
      minPairCount: 1,
    };
    this.history = new History(pretokens, options);
    this.slider.max = String(this.history.runTo(Number.POSITIVE_INFINITY));
    this.go(this.wanted);
    this.wanted = 0;
  }

  private go(step: number): void {
    const { history } = this;
    if (history === null) return;
    const moment = history.at(Math.max(0, step));
    this.step = moment.step;
    this.slider.value = String(moment.step);
    const atEnd = moment.step >= history.length;
    byId<HTMLOutputElement>("step-of").value = `${grouped(moment.step)} of ${grouped(history.length)}`;
    byId<HTMLButtonElement>("back").disabled = moment.step === 0;
    byId<HTMLButtonElement>("first").disabled = moment.step === 0;
    byId<HTMLButtonElement>("on").disabled = atEnd;
    byId<HTMLButtonElement>("last").disabled = atEnd;
    this.slider.dispatchEvent(new Event("change")); // for the link
    drawMoment(byId("training"), moment, history.past, (to) => this.go(to));
    if (atEnd) this.pause();
  }

  private play(): void {
    if (this.history === null) return;
    if (this.step >= this.history.length) this.go(0);
    this.playButton.textContent = "Pause";
    this.playButton.setAttribute("aria-pressed", "true");
    const next = () => {
      this.timer = setTimeout(next, 2500 * 0.66 ** Number(this.speed.value));
      this.go(this.step + 1);
    };
    this.timer = setTimeout(next, 0);
  }

  private pause(): void {
    clearTimeout(this.timer);
    this.timer = undefined;
    this.playButton.textContent = "Play";
    this.playButton.setAttribute("aria-pressed", "false");
  }
}
