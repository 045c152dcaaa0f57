// One moment of a training run, drawn: what the step did, the pretokens, the pairs with their index, and the queue.

import { parseHex } from "../encoder/lookup";
import type { Moment } from "../training/history";
import type { Entry } from "../training/queue";
import { pairKey, pairOf, type Report, type Trainer } from "../training/trainer";
import { count, fill, grouped, h, iosText } from "./dom";
import { changes, drawSeams } from "./seam";
import { label } from "./show";

const MOST_PRETOKENS = 120;
const MOST_PAIRS = 60;
const MOST_QUEUED = 80;

/** What is drawn besides the moment itself. */
export interface Around {
  /** The reports of all steps, and those of the training without the fault; null if there is no fault. */
  past: readonly Report[];
  right: readonly Report[] | null;
  /** How many of the pretokens that the step touches have been visited; null for all. */
  visited: number | null;
  go: (step: number) => void;
}

/** Draw the idea into `root`, and how a fast trainer does it into `fast`. */
export function drawMoment(root: HTMLElement, fast: HTMLElement, moment: Moment, around: Around): void {
  const { visited } = around;
  const scrolled = root.querySelector(".events ol")?.scrollTop ?? 0;
  fill(
    root,
    h(
      "section",
      { class: "card story" },
      h("div", { "aria-live": "polite" }, ...story(moment), drift(around)),
      sizes(moment, visited),
      pretokens(moment, visited),
    ),
    h("section", { class: "card events" }, h("h2", {}, "Events"), events(moment, around)),
  );
  fill(
    fast,
    h("section", { class: "card" }, work(moment.trainer), queueStory(moment), seams(moment, visited)),
    h("section", { class: "card" }, h("h2", {}, "Pairs and where they are"), pairs(moment, visited)),
    h("section", { class: "card" }, h("h2", {}, "Queue"), queue(moment, visited)),
  );
  const list = root.querySelector<HTMLElement>(".events ol");
  const here = list?.querySelector<HTMLElement>(".here");
  if (list) list.scrollTop = scrolled;
  if (list && here) {
    const top = here.offsetTop - list.offsetTop;
    if (top < list.scrollTop || top + here.offsetHeight > list.scrollTop + list.clientHeight) {
      list.scrollTop = top - list.clientHeight / 2;
    }
  }
}

/** The tokens of the text, each pretoken as often as it occurs, and the size of the vocabulary. */
function sizes({ trainer, report }: Moment, visited: number | null): HTMLElement {
  const rows = trainer.segments.slice();
  if (report !== null && visited !== null)
    for (const { pretoken, before } of report.touched.slice(visited)) rows[pretoken] = before;
  const tokens = rows.reduce((sum, row, i) => sum + row.length * trainer.pretokens[i]!.count, 0);
  const one = (value: number, name: string) => h("div", {}, h("dt", {}, name), h("dd", {}, grouped(value)));
  return h(
    "dl",
    { class: "counts" },
    one(tokens, "tokens of the text"),
    one(trainer.present, "size of the vocabulary"),
  );
}

/** What the queue had to do with the step. */
function queueStory({ report }: Moment): HTMLElement {
  const stale = (report?.popped.length ?? 1) - 1;
  const told =
    report === null
      ? "Every pair of neighbours has been counted once, noted in the index and put into the queue."
      : stale > 0
        ? `On the way ${count(stale, "stale entry", "stale entries")} left the queue.`
        : "The top of the queue was up to date.";
  return h("p", {}, told);
}

/** The seam of the pretoken that was visited last. */
function seams({ trainer, report }: Moment, visited: number | null): HTMLElement | null {
  if (report === null || visited === 0) return null;
  return drawSeams(trainer, report, (visited ?? report.touched.length) - 1, (id, kind) => token(trainer, id, kind));
}

/** Where the events of a training with a fault leave the right ones. */
function drift({ past, right }: Around): HTMLElement | null {
  if (right === null) return null;
  const most = Math.max(past.length, right.length);
  let same = 0;
  while (same < most && alike(past[same], right[same])) same++;
  let wrong = 0;
  for (let i = same; i < past.length; i++) if (!alike(past[i], right[i])) wrong++;
  const after = past.length - same;
  const missing = Math.max(0, right.length - past.length);
  const it = same === 1 ? "it" : "them";
  const told =
    same === most
      ? "With this fault the events are still the right ones. Try other words."
      : `With this fault ${same === 1 ? "only the first event is" : `the first ${count(same, "event")} are`} right. ` +
        (after === 0
          ? ""
          : after === 1
            ? `The one after ${it} is wrong. `
            : wrong === after
              ? `All ${grouped(wrong)} after ${it} are wrong. `
              : `Of the ${grouped(after)} after ${it}, ${grouped(wrong)} are wrong. `) +
        (missing === 0 ? "" : `${count(missing, "event")} at the end ${missing === 1 ? "is" : "are"} missing.`);
  return h("p", { class: "drift" }, told);
}

/** Whether two steps did the same to the same bytes. Ids may differ after a fault, so events are compared by bytes. */
function alike(one: Report | undefined, other: Report | undefined): boolean {
  return one !== undefined && other !== undefined && one.spelled === other.spelled;
}

function name(trainer: Trainer, id: number): string {
  return label(trainer.tokens[id]!.bytes);
}

function token(trainer: Trainer, id: number, kind = ""): HTMLElement {
  return h("span", { class: `tok ${kind}`, title: `id ${id}` }, name(trainer, id));
}

function times(count: number): string {
  return count === 1 ? "once" : `${grouped(count)} times`;
}

/** What the step did, in words, and the work so far. */
function story({ trainer, report }: Moment): HTMLElement[] {
  const told: HTMLElement[] = [];
  if (report === null) {
    told.push(
      h("h2", {}, "The beginning"),
      h(
        "p",
        {},
        "The text is cut into pretokens, and each pretoken is a row of its bytes. Each merge joins the pair of neighbours that is most frequent.",
      ),
    );
  } else if (report.event.kind === "merge") {
    const { left, right, id } = report.event;
    const what = {
      new: "a new token",
      back: "a removed token that comes back",
      again: "another way to a token that is there",
      removed: "",
    };
    told.push(
      h("h2", {}, "Merge ", token(trainer, left), " ", token(trainer, right), " → ", token(trainer, id, "new")),
      h(
        "p",
        {},
        `${times(report.times)[0]!.toUpperCase()}${times(report.times).slice(1)}, in ${count(report.touched.length, "pretoken")}; ` +
          `${count(trainer.pretokens.length - report.touched.length, "pretoken")} left alone. It makes ${what[report.outcome]}, id ${id}.`,
      ),
    );
    if (report.ios.length > 0) {
      const judged = report.ios.map((one) =>
        h(
          "li",
          {},
          `IoS of `,
          token(trainer, one.id),
          ` = ${grouped(one.used)} / ${grouped(one.frequency)} = ${one.value.toFixed(2)}: `,
          one.removed
            ? h("strong", {}, "will be removed")
            : one.id < 256
              ? "stays, as every byte does"
              : `stays, below ${trainer.options.refine}`,
        ),
      );
      told.push(h("ul", { class: "ios" }, ...judged));
    }
  } else {
    const { id } = report.event;
    told.push(
      h("h2", {}, "Remove ", token(trainer, id, "gone")),
      h(
        "p",
        {},
        `Its IoS ${iosText(report.ios[0]!.value)} reached the threshold ${trainer.options.refine}. `,
        report.times === 0
          ? "It no longer occurs on its own."
          : `The ${count(report.times, "occurrence")} left over, in ${count(report.touched.length, "pretoken")}, `,
        report.times === 0 ? null : "fall apart into ",
        ...(report.times === 0 ? [] : report.parts.flatMap((part) => [token(trainer, part), " "])),
      ),
    );
  }
  return told;
}

/** Two bars: the pairs that naive and incremental training have visited. */
function work(trainer: Trainer): HTMLElement {
  const { naive, incremental } = trainer.work;
  const most = Math.max(naive, incremental, 1);
  const bar = (title: string, value: number, kind: string) => {
    const inner = h("span", { class: `fill ${kind}` });
    inner.style.width = `${(100 * value) / most}%`;
    return h(
      "div",
      { class: "bar-row" },
      h("span", {}, title),
      h("span", { class: "track" }, inner),
      h("b", {}, grouped(value)),
    );
  };
  return h(
    "div",
    { class: "work" },
    h("p", { class: "hint" }, "Pairs visited by the end of this step"),
    bar("Naive", naive, "naive"),
    bar("Incremental", incremental, "incremental"),
    h(
      "p",
      { class: "hint" },
      "Naive training counts every pair before each merge and visits each pair again to merge it. Incremental training counts once and then visits only the pretokens in the index.",
    ),
  );
}

function pretokens({ trainer, report }: Moment, visited: number | null): HTMLElement {
  const place = new Map(report?.touched.map((one, i) => [one.pretoken, i]) ?? []);
  const before = new Map(report?.touched.map((one) => [one.pretoken, one.before]) ?? []);
  const order = trainer.pretokens.map((_, i) => i);
  order.sort((a, b) => Number(before.has(b)) - Number(before.has(a)) || a - b);
  const shown =
    trainer.pretokens.length > MOST_PRETOKENS ? order.slice(0, MOST_PRETOKENS) : trainer.pretokens.map((_, i) => i);
  const made = report?.event.kind === "merge" ? report.event.id : -1;
  const rows = shown.map((i) => {
    const old = before.get(i);
    const kind = (id: number) => (old !== undefined && id === made ? "new" : "");
    const turn = place.get(i);
    if (old !== undefined && visited !== null && turn! >= visited) {
      return h(
        "li",
        { class: "pretoken-row waits" },
        h("span", { class: "number" }, String(i + 1)),
        h("span", { class: "row-of" }, ...old.map((id) => token(trainer, id))),
        h("span", { class: "size" }, `×${grouped(trainer.pretokens[i]!.count)}, waits`),
      );
    }
    const now = visited !== null && turn === visited - 1 ? " visited" : "";
    return h(
      "li",
      { class: old === undefined ? "pretoken-row" : `pretoken-row touched${now}` },
      h("span", { class: "number" }, String(i + 1)),
      h("span", { class: "row-of" }, ...trainer.segments[i]!.map((id) => token(trainer, id, kind(id)))),
      h("span", { class: "size" }, `×${grouped(trainer.pretokens[i]!.count)}`),
      old === undefined
        ? null
        : h("span", { class: "was" }, h("span", {}, "was "), ...old.map((id) => token(trainer, id, "old"))),
    );
  });
  const hidden = trainer.pretokens.length - shown.length;
  return h(
    "div",
    {},
    h("ol", { class: "pretoken-list" }, ...rows),
    hidden > 0 ? h("p", { class: "hint" }, `and ${count(hidden, "more pretoken")}`) : null,
  );
}

/** The changes that pretokens from the `visited`th on have still to make, by pair key. */
function open({ trainer, report }: Moment, visited: number | null): Map<number, number> {
  const sum = new Map<number, number>();
  if (report === null || visited === null) return sum;
  for (const { pretoken, before } of report.touched.slice(visited)) {
    const count = trainer.pretokens[pretoken]!.count;
    for (const [key, by] of changes(before, trainer.segments[pretoken]!, count)) {
      if (report.deltas.has(key) || by > 0) sum.set(key, (sum.get(key) ?? 0) + by);
    }
  }
  return sum;
}

/** The pretokens that hold a pair. Of those that wait for their visit, it is the pairs before it that count. */
function holders({ trainer, report }: Moment, visited: number | null): (key: number) => number[] {
  const waiting = new Map(
    visited === null ? [] : report?.touched.slice(visited).map((one) => [one.pretoken, one.before]),
  );
  return (key) => {
    const [left, right] = pairOf(key);
    const holds = (row: readonly number[]) => row.some((id, i) => id === left && row[i + 1] === right);
    const done = Array.from(trainer.index.get(key) ?? []).filter((i) => !waiting.has(i));
    const still = Array.from(waiting).flatMap(([i, before]) => (holds(before) ? [i] : []));
    return [...done, ...still].sort((a, b) => a - b);
  };
}

function pairs(moment: Moment, visited: number | null): HTMLElement {
  const { trainer, report } = moment;
  const holdersOf = holders(moment, visited);
  const waiting = open(moment, visited);
  const deltas = new Map(report?.deltas);
  for (const [key, by] of waiting) deltas.set(key, (deltas.get(key) ?? 0) - by);
  const countOf = (key: number) => (trainer.counts.get(key) ?? 0) - (waiting.get(key) ?? 0);
  const keys = new Set([...trainer.counts.keys(), ...deltas.keys()]);
  const sorted = Array.from(keys).sort((a, b) => countOf(b) - countOf(a) || a - b);
  const changed = sorted.filter((key) => deltas.has(key));
  const rest = sorted.filter((key) => !deltas.has(key));
  const shown = new Set([...changed, ...rest].slice(0, MOST_PAIRS));
  const rows = sorted
    .filter((key) => shown.has(key))
    .map((key) => {
      const [left, right] = pairOf(key);
      const delta = deltas.get(key) ?? 0;
      const count = countOf(key);
      const where = holdersOf(key).map((i) => i + 1);
      const places =
        where.length > 8 ? `${where.slice(0, 8).join(", ")} and ${where.length - 8} more` : where.join(", ");
      return h(
        "tr",
        { class: delta === 0 ? "" : count === 0 ? "changed gone" : "changed" },
        h("td", {}, token(trainer, left), " ", token(trainer, right)),
        h("td", { class: "figure" }, grouped(count)),
        h("td", { class: "figure" }, delta === 0 ? "" : `${delta > 0 ? "+" : "\u2212"}${grouped(Math.abs(delta))}`),
        h("td", {}, places || "–"),
      );
    });
  const hidden = sorted.length - shown.size;
  return h(
    "div",
    {},
    h(
      "table",
      { class: "pairs" },
      h(
        "thead",
        {},
        h(
          "tr",
          {},
          h("th", { scope: "col" }, "Pair"),
          h("th", { scope: "col", class: "figure" }, "Count"),
          h("th", { scope: "col", class: "figure" }, "Change"),
          h("th", { scope: "col" }, "In pretokens"),
        ),
      ),
      h("tbody", {}, ...rows),
    ),
    hidden > 0 ? h("p", { class: "hint" }, `and ${count(hidden, "more pair")}, unchanged`) : null,
  );
}

function queue({ trainer, report }: Moment, visited: number | null): HTMLElement {
  const entries = trainer.queue.sorted();
  const stale = (left: number, right: number, count: number) =>
    (trainer.counts.get(pairKey(left, right)) ?? 0) !== count;
  const staleOnes = entries.filter((entry) => stale(entry.left, entry.right, entry.count)).length;
  const taken = (report?.popped ?? []).map(({ entry, now }) =>
    h(
      "li",
      { class: now === entry.count ? "taken" : "taken stale" },
      ...queued(trainer, entry),
      h(
        "span",
        { class: "why" },
        now === entry.count ? "taken" : now === 0 ? "stale: dropped" : `stale: back with ${grouped(now)}`,
      ),
    ),
  );
  const rows = entries.slice(0, MOST_QUEUED).map((entry) => {
    const { left, right, count } = entry;
    const now = trainer.counts.get(pairKey(left, right)) ?? 0;
    return h(
      "li",
      { class: now === count ? "" : "stale" },
      ...queued(trainer, entry),
      now === count ? null : h("span", { class: "why" }, `stale: now ${grouped(now)}`),
    );
  });
  const hidden = entries.length - rows.length;
  const when =
    visited === null || visited >= (report?.touched.length ?? 0) ? "" : "After the last word of this merge: ";
  return h(
    "div",
    {},
    h(
      "p",
      { class: "hint" },
      `${when}${count(entries.length, "entry", "entries")}, ${grouped(staleOnes)} stale. The highest count leaves first.`,
    ),
    taken.length > 0
      ? h("ol", { class: "queue taken-list", "aria-label": "Taken from the queue in this step" }, ...taken)
      : null,
    h("ol", { class: "queue" }, ...rows),
    hidden > 0 ? h("p", { class: "hint" }, `and ${count(hidden, "more entry", "more entries")}`) : null,
  );
}

/** A pair of the queue and its count, as two columns. */
function queued(trainer: Trainer, { left, right, count }: Entry): HTMLElement[] {
  return [
    h("span", {}, token(trainer, left), " ", token(trainer, right)),
    h("span", { class: "figure" }, grouped(count)),
  ];
}

function events({ trainer, step }: Moment, { past, right, go }: Around): HTMLElement {
  const rows = past.map((report, i) => {
    const { event } = report;
    // The trainer of this moment does not have later tokens yet, so they are named by number only.
    const known = i < step;
    const place = String(i + 1).padStart(2);
    const text = !known
      ? `${place}  …`
      : event.kind === "merge"
        ? `${place}  ${name(trainer, event.left)} + ${name(trainer, event.right)} → ${name(trainer, event.id)}`
        : `${place}  remove ${name(trainer, event.id)}`;
    const wrong = right !== null && known && !alike(report, right[i]);
    const kind = `event ${wrong ? "wrong" : ""} ${event.kind === "remove" ? "removal" : ""} ${i + 1 === step ? "here" : ""} ${known ? "" : "later"}`;
    const button = h("button", { type: "button", class: kind, "aria-current": i + 1 === step ? "step" : null }, text);
    if (wrong)
      button.append(
        " ",
        h("span", { class: "why" }, `wrong: ${right[i] ? readable(right[i]!.spelled) : "training is over"}`),
      );
    if (known) button.dataset.event = report.spelled;
    button.addEventListener("click", () => go(i + 1));
    return h("li", {}, button);
  });
  const limit = 400;
  const from = Math.max(0, Math.min(rows.length - limit, step - limit / 2));
  return h("ol", { start: from + 1 }, ...rows.slice(from, from + limit));
}

/** "merge 6c 6f" as "l + o". */
function readable(spelled: string): string {
  const [kind, ...tokens] = spelled.split(" ");
  const shown = tokens.map((digits) => label(parseHex(digits)));
  return kind === "merge" ? `${shown.join(" + ")} is right` : `removing ${shown[0]} is right`;
}
