// Small helpers for the page. They insert text as text and cannot insert HTML.

type Child = Node | string | null | undefined;
type Properties = Record<string, string | number | boolean | null | undefined | ((event: Event) => void)>;

/** Make an element. Properties that begin with "on" are listeners; true sets an attribute, false omits it. */
export function h<Tag extends keyof HTMLElementTagNameMap>(
  tag: Tag,
  properties: Properties = {},
  ...children: Child[]
): HTMLElementTagNameMap[Tag] {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (typeof value === "function") element.addEventListener(name.slice(2), value);
    else if (value === true) element.setAttribute(name, "");
    else if (value !== false && value !== null && value !== undefined) element.setAttribute(name, String(value));
  }
  for (const child of children) if (child !== null && child !== undefined) element.append(child);
  return element;
}

/** The element of the page with this id. */
export function byId<T extends HTMLElement = HTMLElement>(id: string): T {
  const element = document.getElementById(id);
  if (element === null) throw new Error(`the page has no element ${id}`);
  return element as T;
}

/** Replace the contents of `element`. */
export function fill(element: Element, ...children: Child[]): void {
  element.replaceChildren(...children.filter((child) => child !== null && child !== undefined));
}

const numbers = new Intl.NumberFormat("en-US");

/** An IoS as reports show it: cut, not rounded, since 1 means that the token never occurs alone. */
export function iosText(value: number): string {
  return (Math.floor(value * 1000) / 1000).toFixed(3);
}

/** 1234567 as "1,234,567". */
export function grouped(value: number): string {
  return numbers.format(value);
}

/** "1 line", "2,000 lines". */
export function count(value: number, one: string, many = `${one}s`): string {
  return `${grouped(value)} ${value === 1 ? one : many}`;
}

/** A sequence of calls in which a newer call replaces an older one that is still waiting. */
export function latest<Args extends unknown[]>(
  run: (...args: Args) => Promise<void>,
): (...args: Args) => Promise<void> {
  let busy = false;
  let waiting: Args | null = null;
  return async (...args) => {
    waiting = args;
    if (busy) return;
    busy = true;
    try {
      while (waiting !== null) {
        const next: Args = waiting;
        waiting = null;
        await run(...next);
      }
    } finally {
      busy = false;
    }
  };
}

/** What `debounced` will still draw. */
export const undrawn = new Set<() => void>();

/** Calls `run` once, `wait` milliseconds after the last call. */
export function debounced(wait: number, run: () => void, draws = true): () => void {
  let timer: ReturnType<typeof setTimeout> | undefined;
  return () => {
    clearTimeout(timer);
    if (draws) undrawn.add(run);
    timer = setTimeout(() => {
      undrawn.delete(run);
      run();
    }, wait);
  };
}

/** Copy text to the clipboard, and confirm it on the button for a moment. */
export async function copy(button: HTMLElement, text: string): Promise<void> {
  await confirmed(button, async () => {
    if (navigator.clipboard === undefined) copyBySelection(text);
    else await navigator.clipboard.writeText(text);
    return "Copied";
  });
}

/** Run what a button does, and say on the button for a moment whether it worked. */
export async function confirmed(button: HTMLElement, run: () => Promise<string>): Promise<void> {
  const label = button.textContent;
  button.textContent = await run().catch(() => "Not allowed");
  setTimeout(() => {
    button.textContent = label;
  }, 1200);
}

/** Copy where browsers offer no clipboard: on plain http. */
export function copyBySelection(text: string): void {
  const take = (event: ClipboardEvent) => {
    event.clipboardData?.setData("text/plain", text);
    event.preventDefault();
    event.stopImmediatePropagation();
  };
  document.addEventListener("copy", take, { capture: true, once: true });
  const done = document.execCommand("copy");
  document.removeEventListener("copy", take, { capture: true });
  if (!done) throw new Error("the browser refuses to copy");
}

/** The index of the first of ascending numbers above `value`. */
export function firstAbove(numbers: Int32Array, value: number): number {
  let low = 0;
  let high = numbers.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (numbers[middle]! > value) high = middle;
    else low = middle + 1;
  }
  return low;
}
