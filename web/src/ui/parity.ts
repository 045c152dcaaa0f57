// Tokens per language: the same sentences in many languages, counted with each compared tokenizer.

import { isBest, NAMES } from "./comparetable";
import { fill, grouped, h } from "./dom";
import { LANGUAGES } from "./samples";
import type { Session } from "./session";

const counted = new Map<string, Promise<number[]>>();

/** The tokens of each language's text. */
function count(session: Session, key: string): Promise<number[]> {
  let counts = counted.get(key);
  if (counts === undefined) {
    counts = session.ready(key).then(() =>
      Promise.all(
        LANGUAGES.map(async ({ text }) => {
          const [result] = await session.line.ask("encode", [key], text, false, null);
          return result === undefined || "error" in result ? 0 : result.ids.length;
        }),
      ),
    );
    counts.catch(() => counted.delete(key));
    counted.set(key, counts);
  }
  return counts;
}

/** Draw a group of bars for each language, and the table of their numbers. */
export async function drawParity(root: HTMLElement, session: Session, keys: readonly string[]): Promise<void> {
  const wanted = keys.join("\n");
  root.dataset.keys = wanted;
  root.hidden = keys.length === 0;
  root.setAttribute("aria-busy", String(root.dataset.drawn !== wanted));
  const counts = await Promise.all(keys.map((key) => count(session, key)));
  if (root.dataset.keys !== wanted) return;
  root.setAttribute("aria-busy", "false");
  if (root.dataset.drawn === wanted) return;
  root.dataset.drawn = wanted;
  const most = Math.max(1, ...counts.flat());
  const groups = LANGUAGES.map(({ name }, i) => {
    const bars = keys.map((_, lane) => {
      const bar = h("span", { class: `parity-bar l${lane}` });
      bar.style.height = `${(100 * counts[lane]![i]!) / most}%`;
      return bar;
    });
    const highest = Math.max(...counts.map((column) => column[i]!));
    const label = h("span", { class: "parity-most" }, grouped(highest));
    label.style.bottom = `${(100 * highest) / most}%`;
    const title = `${name}: ${keys.map((key, lane) => `${session.nameOf(key)} ${grouped(counts[lane]![i]!)}`).join(", ")}`;
    return h(
      "li",
      { title },
      h("span", { class: "parity-bars" }, ...bars, label),
      h("span", { class: "parity-name" }, name),
    );
  });
  fill(
    root,
    h("h3", {}, "Tokens for the same sentences in each language"),
    h("p", { class: "hint" }, "Shorter bars are better. The number is that of the highest bar."),
    h("ul", { class: "parity-chart", "aria-hidden": "true" }, ...groups),
    h("details", {}, h("summary", {}, "Numbers"), numbers(session, keys, counts)),
  );
}

function numbers(session: Session, keys: readonly string[], counts: readonly number[][]): HTMLElement {
  const head = keys.map((key, lane) => h("th", { scope: "col" }, `${NAMES[lane]} ${session.nameOf(key)}`));
  const row = (name: string, values: number[]) =>
    h(
      "tr",
      {},
      h("th", { scope: "row" }, name),
      ...values.map((value) => h("td", { class: isBest(values, value, "least") ? "best" : "" }, grouped(value))),
    );
  const sums = counts.map((column) => column.reduce((sum, value) => sum + value, 0));
  return h(
    "div",
    { class: "scroll", tabindex: "0", role: "region", "aria-label": "Tokens for each language" },
    h(
      "table",
      { class: "figures" },
      h("thead", {}, h("tr", {}, h("th", { scope: "col" }, "Language"), ...head)),
      h(
        "tbody",
        {},
        ...LANGUAGES.map(({ name }, i) =>
          row(
            name,
            counts.map((column) => column[i]!),
          ),
        ),
      ),
      h("tfoot", {}, row("All", sums)),
    ),
    h("p", { class: "hint" }, "The text is the first article of the Universal Declaration of Human Rights."),
  );
}
