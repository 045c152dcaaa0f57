// The seam of a merge: where A B becomes AB between X and Y, three pairs go down and two come back.

import { pairKey, type Report, type Trainer } from "../training/trainer";
import { grouped, h } from "./dom";

const MOST_SITES = 6;

/** A place where a pretoken changed; `left` and `right` are its neighbours X and Y, or null at an end of the pretoken. */
export interface Site {
  left: number | null;
  right: number | null;
}

/** The places in a pretoken where a pair merges, from left to right. Earlier merges of the same step are done already. */
export function sitesOf(before: readonly number[], [a, b, id]: readonly [number, number, number]): Site[] {
  const sites: Site[] = [];
  let last: number | null = null;
  for (let i = 0; i < before.length; i++) {
    if (before[i] === a && before[i + 1] === b) {
      sites.push({ left: last, right: before[i + 2] ?? null });
      last = id;
      i++;
    } else {
      last = before[i]!;
    }
  }
  return sites;
}

/** How visiting one pretoken changes the counts of pairs, by pair key. */
export function changes(before: readonly number[], after: readonly number[], count: number): Map<number, number> {
  const deltas = new Map<number, number>();
  const add = (row: readonly number[], by: number) => {
    for (let i = 1; i < row.length; i++) {
      const key = pairKey(row[i - 1]!, row[i]!);
      deltas.set(key, (deltas.get(key) ?? 0) + by);
    }
  };
  add(before, -count);
  add(after, count);
  for (const [key, delta] of deltas) if (delta === 0) deltas.delete(key);
  return deltas;
}

/** Draw the visit of one pretoken by a merge: its seams, each with the pairs that go down and come back. */
export function drawSeams(
  trainer: Trainer,
  report: Report,
  visit: number,
  token: (id: number, kind?: string) => HTMLElement,
): HTMLElement | null {
  const touched = report.touched[visit];
  if (touched === undefined || report.event.kind !== "merge") return null;
  const { left: a, right: b, id } = report.event;
  const count = grouped(trainer.pretokens[touched.pretoken]!.count);
  const faulty = trainer.options.fault === "seam";
  const sites = sitesOf(touched.before, [a, b, id]);
  const seams = sites.slice(0, MOST_SITES).map(({ left: x, right: y }) => {
    const change = (pair: [number, number], kind: "down" | "up", step: number, kept = false) =>
      h(
        "span",
        { class: `seam-change ${kind} s${step}${kept ? " kept" : ""}` },
        token(pair[0]),
        token(pair[1]),
        kept ? ` should go down by ${count}` : ` ${kind === "up" ? "+" : "\u2212"}${count}`,
      );
    const neighbour = (one: number | null, name: string) =>
      one === null
        ? h("span", { class: "seam-end" }, h("i", {}, `no ${name}`))
        : h("span", { class: "seam-side" }, token(one), h("i", {}, name));
    const row = (...middle: HTMLElement[]) =>
      h("span", { class: "seam-row" }, neighbour(x, "X"), ...middle, neighbour(y, "Y"));
    const pair = (one: HTMLElement, name: string) => h("span", { class: "seam-side" }, one, h("i", {}, name));
    return h(
      "div",
      { class: "seam" },
      row(pair(token(a, "gone"), "A"), pair(token(b, "gone"), "B")),
      h(
        "span",
        { class: "seam-changes" },
        x === null ? null : change([x, a], "down", 1, faulty),
        change([a, b], "down", 2),
        y === null ? null : change([b, y], "down", 3, faulty),
      ),
      row(pair(token(id, "new"), "AB")),
      h(
        "span",
        { class: "seam-changes" },
        x === null ? null : change([x, id], "up", 4),
        y === null ? null : change([id, y], "up", 5),
      ),
    );
  });
  const more = sites.length - seams.length;
  return h(
    "div",
    { class: "seams" },
    h(
      "h3",
      {},
      `Word ${visit + 1} of ${report.touched.length} with the pair: pretoken ${touched.pretoken + 1}, \u00d7${count}`,
    ),
    ...seams,
    more > 0 ? h("p", { class: "hint" }, `and ${more} more places`) : null,
  );
}
