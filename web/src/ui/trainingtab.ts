// The Training view: BPE on a small text, step by step, forward and back.

import { History } from "../training/history";
import type { Fault, Options, Pretoken } from "../training/trainer";
import { countedWords, countPretokens, DEFAULT_WORDS, EXAMPLES, LONGEST_TEXT, toPretokens } from "../training/words";
import { byId, debounced, fill, grouped, h, latest } from "./dom";
import type { Session } from "./session";
import { drawMoment } from "./trainingview";

export class TrainingTab {
  private history: History | null = null;
  /** The training without the fault, to compare with; null if there is no fault. */
  private right: History | null = null;
  private step = 0;
  private visited: number | null = null; // of the pretokens that the step touches; null for all
  private timer: ReturnType<typeof setTimeout> | undefined;
  private readonly words = byId<HTMLInputElement>("words");
  private readonly split = byId<HTMLSelectElement>("training-split");
  private readonly picky = byId<HTMLInputElement>("picky");
  private readonly threshold = byId<HTMLInputElement>("threshold");
  private readonly fault = byId<HTMLSelectElement>("fault");
  private readonly merges = byId<HTMLInputElement>("merges");
  private readonly slider = byId<HTMLInputElement>("step");
  private readonly speed = byId<HTMLInputElement>("speed");
  private readonly playButton = byId("play");
  private started = false;
  private wanted = 0; // the step to go to once the training has run
  private trained = ""; // the words of the last training
  private readonly restart = latest(() => this.train());

  constructor(private readonly session: Session) {
    const again = () => {
      if (this.started) void this.restart();
    };
    const typed = () => {
      if (this.words.value === this.trained) return; // a timer that comes later must not go back to the first step
      session.words = this.words.value;
      session.tell("words");
      again();
    };
    this.words.value = DEFAULT_WORDS;
    const examples = byId<HTMLSelectElement>("training-example");
    fill(
      examples,
      h("option", { value: "" }, "your own"),
      ...EXAMPLES.map((one, i) => h("option", { value: i }, one.name)),
    );
    examples.value = "0";
    examples.addEventListener("change", () => {
      const example = EXAMPLES[Number(examples.value)];
      if (examples.value === "" || example === undefined) return;
      this.words.value = example.words;
      byId<HTMLInputElement>(example.refine ? "picky" : "plain").checked = true;
      this.fault.value = example.fault;
      if (example.fault !== "none") byId<HTMLDetailsElement>("fast").open = true;
      this.trained = "";
      typed();
    });
    this.words.addEventListener("input", () => {
      examples.value = String(EXAMPLES.findIndex((one) => one.words === this.words.value)).replace("-1", "");
    });
    this.words.addEventListener("input", debounced(150, typed));
    this.words.addEventListener("change", typed);
    for (const input of [this.split, this.picky, byId("plain"), this.threshold, this.fault, this.merges]) {
      input.addEventListener("change", again);
    }
    this.threshold.addEventListener("input", () => {
      this.picky.checked = true;
    });
    byId("training-form").addEventListener("submit", (event) => {
      event.preventDefault();
      typed();
    });
    byId("first").addEventListener("click", () => this.go(0));
    byId("back").addEventListener("click", () => this.go(this.step - 1));
    byId("on").addEventListener("click", () => this.go(this.step + 1));
    byId("last").addEventListener("click", () => this.go(Number.POSITIVE_INFINITY));
    byId("word-on").addEventListener("click", () => this.nextWord());
    byId("word-back").addEventListener("click", () => this.previousWord());
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

  private async train(): Promise<void> {
    this.started = true;
    this.pause();
    const text = this.words.value;
    this.trained = text;
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
    const fault = this.fault.value as Fault;
    this.right = fault === "none" ? null : new History(pretokens, options);
    this.right?.runTo(Number.POSITIVE_INFINITY);
    this.history = new History(pretokens, { ...options, fault });
    this.slider.max = String(this.history.runTo(Number.POSITIVE_INFINITY));
    this.go(this.wanted);
    this.wanted = 0;
  }

  /** Visit the next pretoken with the pair; after the last one of a step, the first one of the next step. */
  private nextWord(): void {
    if (this.visited !== null && this.visited < this.touchedBy(this.step)) this.go(this.step, this.visited + 1);
    else this.go(this.step + 1, this.touchedBy(this.step + 1) > 1 ? 1 : null);
  }

  private previousWord(): void {
    const visited = this.visited ?? this.touchedBy(this.step);
    if (visited > 0) this.go(this.step, visited - 1);
    else this.go(this.step - 1);
  }

  /** How many pretokens a step touches. */
  private touchedBy(step: number): number {
    return this.history?.past[step - 1]?.touched.length ?? 0;
  }

  private go(step: number, visited: number | null = null): void {
    const { history } = this;
    if (history === null) return;
    const moment = history.at(Math.max(0, step));
    this.step = moment.step;
    this.visited = moment.report === null ? null : visited;
    this.slider.value = String(moment.step);
    const atEnd = moment.step >= history.length;
    const words = this.touchedBy(moment.step);
    byId<HTMLOutputElement>("step-of").value = `${grouped(moment.step)} of ${grouped(history.length)}`;
    byId<HTMLButtonElement>("back").disabled = moment.step === 0;
    byId<HTMLButtonElement>("first").disabled = moment.step === 0;
    byId<HTMLButtonElement>("on").disabled = atEnd;
    byId<HTMLButtonElement>("word-on").disabled = atEnd && (this.visited ?? words) >= words;
    byId<HTMLButtonElement>("word-back").disabled = moment.step === 0;
    byId<HTMLButtonElement>("last").disabled = atEnd;
    this.slider.dispatchEvent(new Event("change")); // for the link
    const right = this.right?.past ?? null;
    const go = (to: number) => this.go(to);
    drawMoment(byId("training"), byId("fast-body"), moment, { past: history.past, right, visited: this.visited, go });
    if (atEnd && (this.visited ?? words) >= words) this.pause();
  }

  private play(): void {
    if (this.history === null) return;
    if (this.step >= this.history.length) this.go(0);
    const byWords = byId<HTMLSelectElement>("play-by");
    this.playButton.textContent = "Pause";
    this.playButton.setAttribute("aria-pressed", "true");
    const next = () => {
      this.timer = setTimeout(next, 2500 * 0.66 ** Number(this.speed.value));
      if (byWords.value === "words") this.nextWord();
      else this.go(this.step + 1);
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
