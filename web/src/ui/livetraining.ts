// A training that runs in a terminal (train --watch): its stage, the latest merges and removals, and how the counts fall.

import { parseHex } from "../encoder/lookup";
import { drawCurve, type Point } from "./curve";
import { byId, count, fill, grouped, h, iosText } from "./dom";
import { label } from "./show";

const WAIT = 500; // milliseconds between two questions
const POINTS = 200; // of the curve

/** The answer of the local server; tokens are hex digits. */
interface State {
  stage: string;
  done: number;
  total: number | null;
  over: boolean;
  removals: number;
  /** Of the merges since the last answer. */
  counts: number[];
  tokenizer: { name: string; pack: string } | null;
  latest: LiveEvent[];
}

interface LiveEvent {
  rank: number;
  token: string;
  left: string | null;
  right: string | null;
  count: number | null;
  ios: number | null;
}

/** Show the training until it is over, then add its tokenizer. */
export async function watchTraining(add: (name: string, pack: string) => void): Promise<void> {
  const counts: number[] = [];
  byId("live").hidden = false;
  for (;;) {
    let state: State;
    try {
      state = await (await fetch(`training?from=${counts.length}`, { credentials: "same-origin" })).json();
    } catch {
      byId("live").prepend(h("p", { class: "drift" }, "The training has ended: the command that ran it is gone."));
      return;
    }
    for (const one of state.counts) counts.push(one);
    draw(state, counts);
    if (state.over) {
      if (state.tokenizer) add(state.tokenizer.name, state.tokenizer.pack);
      return;
    }
    await new Promise((resolve) => setTimeout(resolve, WAIT));
  }
}

function draw(state: State, counts: readonly number[]): void {
  const { removals, over, latest } = state;
  const [first, last] = [counts[0] ?? 0, counts.at(-1) ?? 0];
  const one = (value: string, name: string) => h("div", {}, h("dt", {}, name), h("dd", {}, value));
  const curve = h("div", { class: "curve", "aria-hidden": "true" });
  fill(
    byId("live"),
    h("h2", {}, over ? "The training is over" : stageOf(state)),
    h(
      "dl",
      { class: "counts" },
      one(grouped(counts.length), "merges"),
      removals > 0 ? one(grouped(removals), "removals") : null,
      counts.length > 0 ? one(grouped(last), `times the best pair occurs (${grouped(first)} at first)`) : null,
    ),
    curve,
    counts.length > 0
      ? h("p", { class: "hint" }, "How often the best pair occurs, from merge to merge; both scales are logarithmic.")
      : null,
    h("ol", { class: "live-events" }, ...latest.toReversed().map(row)),
  );
  drawCurve(curve, pointsOf(counts), null);
}

const STAGES: Record<string, string> = { count: "Counting words", merge: "Merging pairs" };

function stageOf({ stage, done, total }: State): string {
  const name = STAGES[stage] ?? `${stage[0]!.toUpperCase()}${stage.slice(1)}`;
  return total ? `${name}: ${Math.floor((100 * done) / total)}%` : name;
}

function row(event: LiveEvent): HTMLElement {
  const chip = (token: string, kind = "tok") => h("span", { class: kind }, label(parseHex(token)));
  const what =
    event.left === null || event.right === null
      ? [h("b", {}, "remove "), chip(event.token, "tok gone"), ` IoS ${iosText(event.ios ?? 0)}`]
      : [
          chip(event.left),
          chip(event.right),
          " \u2192 ",
          chip(event.token, "tok new"),
          ` ${count(event.count ?? 0, "time")}`,
        ];
  return h("li", {}, h("span", { class: "number" }, grouped(event.rank + 1)), h("span", {}, ...what));
}

/** The counts at points that are even on a logarithmic scale of merges. */
function pointsOf(counts: readonly number[]): Point[] {
  const places = Array.from({ length: POINTS + 1 }, (_, i) => Math.round(counts.length ** (i / POINTS)));
  const most = Math.log1p(Math.max(1, ...places.map((place) => counts[place - 1] ?? 0)));
  const across = Math.log(Math.max(2, counts.length));
  return Array.from(new Set(places))
    .filter((place) => place >= 1 && place <= counts.length)
    .map((place) => [(100 * Math.log(place)) / across, (95 * Math.log1p(counts[place - 1]!)) / most]);
}
