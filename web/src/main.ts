// Entry point of the page: the worker, the session, the views and the address.

import { Line } from "./calls";
import { CompareTab } from "./ui/comparetab";
import { changedControls, setControls, watchControls } from "./ui/controls";
import { byId, copy, debounced, fill, grouped, h, undrawn } from "./ui/dom";
import { fromFragment, LONGEST_LINKED, type Place, toFragment } from "./ui/fragment";
import { watchTraining } from "./ui/livetraining";
import { notify } from "./ui/notices";
import { type Catalog, Opening } from "./ui/opening";
import { SAMPLES } from "./ui/samples";
import { MOST_COMPARED, Session } from "./ui/session";
import { TokensTab } from "./ui/tokens";
import { TrainingTab } from "./ui/trainingtab";
import { startViews } from "./ui/views";
import { VocabularyTab } from "./ui/vocabularytab";

interface TrustedTypes {
  createPolicy(name: string, rules: { createScriptURL(url: string): string }): { createScriptURL(url: string): string };
}

/** What a page exported as one file holds: its tokenizers, each packed and in base64, and the worker's script. */
const embedded: { catalog: Catalog; worker: string } | null = JSON.parse(
  document.getElementById("embedded")?.textContent ?? "null",
);
const script = embedded ? URL.createObjectURL(new Blob([embedded.worker], { type: "text/javascript" })) : "worker.js";
const trusted = (globalThis as { trustedTypes?: TrustedTypes }).trustedTypes;
const policy = trusted?.createPolicy("tokenmill", { createScriptURL: (url) => (url === script ? url : "") });
const worker = new Worker(policy?.createScriptURL(script) ?? script);
const session = new Session(new Line(worker));

const SHORT = 12; // digits of a fingerprint in texts

startTheme();
startHelp();
const showView = startViews(session);
const tokens = new TokensTab(session, notify);
new CompareTab(session, notify);
new VocabularyTab(session, notify);
const training = new TrainingTab(session);
drawChooser();
void start();

// For the browser's console: await tokenmill.encode("some text"); tokenmill.text = "some text"
Object.assign(globalThis, {
  tokenmill: {
    get text() {
      return session.text;
    },
    set text(text: string) {
      tokens.edit(text);
    },
    /** Whether the page will still change by itself: the worker has a question, or something waits to be drawn. */
    get busy() {
      return session.line.busy || undrawn.size > 0;
    },
    select: (start: number, end: number) => tokens.select(start, end),
    samples: SAMPLES,
    names: () => session.choices.map((choice) => choice.name),
    /** The steps in which a pretoken is encoded. */
    async trace(pretoken: string, tokenizer = session.current) {
      await session.ready(tokenizer);
      return session.line.ask("trace", tokenizer, new TextEncoder().encode(pretoken));
    },
    async encode(text: string, options: { tokenizer?: string; special?: boolean } = {}): Promise<number[]> {
      const key = options.tokenizer ?? session.current;
      await session.ready(key);
      const [result] = await session.line.ask("encode", [key], text, options.special ?? false, null);
      if (result === undefined || "error" in result) throw new Error(result?.error ?? "no tokenizer is chosen");
      return Array.from(result.ids);
    },
  },
});

async function start(): Promise<void> {
  const remember = debounced(400, () => void rememberPlace(), false);
  watchControls(remember);
  const place = await fromFragment(location.hash);
  try {
    const catalog = embedded?.catalog ?? (await fetchCatalog());
    for (const { name, pack } of catalog.tokenizers)
      session.choices.push({ key: name, name, source: sourceOf(pack), reading: null, summary: null });
    if (catalog.splits) catalog.splits.source = sourceOf(catalog.splits.source as string);
    new Opening(session, catalog, (text) => tokens.setText(text), notify);
    if (catalog.live) {
      void watchTraining((name, pack) => {
        session.choices.push({ key: name, name, source: pack, reading: null, summary: null });
        session.choose(name);
        session.tell("choices");
      });
    }
  } catch (error) {
    notify(`The list of tokenizers could not be read: ${error instanceof Error ? error.message : error}`, true);
  }
  takePlace(place);
  if (session.choices.length === 0) notify("No tokenizer yet: drop a file here, or open one.");
  session.on(["view", "tokenizer", "text", "choices", "words", "token", "merges"], remember);
  // Back and forward change the view and keep the text; another link changes all.
  addEventListener("popstate", async ({ state }) => {
    if (state?.view) showView(state.view, false);
    else takePlace(await fromFragment(location.hash));
  });
}

/** The address of a file, or its bytes on a page that has them in base64. */
function sourceOf(file: string): string | Uint8Array {
  return embedded ? Uint8Array.from(atob(file), (char) => char.charCodeAt(0)) : file;
}

async function fetchCatalog(): Promise<Catalog> {
  const response = await fetch("catalog.json", { credentials: "same-origin", cache: "no-cache" });
  return response.json();
}

/** Restore the state of a link. */
function takePlace(place: Place): void {
  const names = session.choices.map((choice) => choice.key);
  const known = place.tokenizers.filter((name) => names.includes(name));
  void checkTokenizer(place, names);
  session.compared = (known.length > 0 ? known : names).slice(0, MOST_COMPARED);
  const current = names.includes(place.tokenizer) ? place.tokenizer : (known[0] ?? names[0]);
  if (current !== undefined) {
    session.current = current;
    session.merges = place.merges;
    session.tell("tokenizer");
  }
  session.tell("choices");
  training.take(place.words, Number(place.controls.step ?? 0));
  setControls(place.controls);
  session.token = place.controls.token === undefined ? -1 : Number(place.controls.token);
  session.linked = session.token;
  if (place.text !== null) tokens.setText(place.text);
  else if (session.text === "") tokens.setText(SAMPLES[0]!.text);
  showView(place.view, false);
}

/** Say so if a link is damaged, or was made with other tokenizers than those of this page. */
async function checkTokenizer(place: Place, names: string[]): Promise<void> {
  const note = byId("link-note");
  const missing = [...new Set([place.tokenizer, ...place.tokenizers])].filter(
    (name) => name !== "" && !names.includes(name),
  );
  note.hidden = missing.length === 0 && !place.damaged;
  note.textContent = place.damaged
    ? "The text of this link is damaged or cut off, so the page shows another text."
    : `This link was made with ${missing.map(nameOfKey).join(" and ")}, which this page does not have: open it to see what the link shows.`;
  const compares = new Promise<void>((resolve) =>
    session.on(["view"], () => {
      if (session.view === "compare") resolve();
    }),
  );
  for (const [name, digits] of place.fingerprints) {
    if (!names.includes(name)) continue;
    if (name !== place.tokenizer) await compares; // only then is it loaded
    const { fingerprint } = await session.ready(name);
    if (fingerprint.startsWith(digits)) continue;
    const before = note.hidden ? "" : `${note.textContent} `;
    note.hidden = false;
    note.textContent = `${before}This link was made with another ${nameOfKey(name)} (fingerprint ${digits}) than the one of this page (fingerprint ${fingerprint.slice(0, SHORT)}), so its tokens may differ.`;
  }
}

/** The name in a key: a tokenizer that was opened on the page has a number after it. */
function nameOfKey(key: string): string {
  return key.replace(/#\d+$/, "");
}

function place(longest: number): Place {
  const token: Record<string, string> = session.token >= 0 ? { token: String(session.token) } : {};
  const fingerprints = new Map<string, string>();
  for (const key of [session.current, ...session.compared]) {
    const digits = session.choice(key)?.summary?.fingerprint.slice(0, SHORT);
    if (digits) fingerprints.set(key, digits);
  }
  return {
    view: session.view,
    tokenizer: session.current,
    fingerprints,
    tokenizers: session.compared,
    merges: session.merges,
    text: session.text.length <= longest ? session.text : null,
    damaged: false,
    words: session.words === "" ? null : session.words,
    controls: { ...changedControls(), ...token },
  };
}

async function rememberPlace(): Promise<void> {
  const fragment = await toFragment(place(4000));
  history.replaceState({ view: session.view }, "", fragment);
}

function drawChooser(): void {
  const select = byId<HTMLSelectElement>("tokenizer");
  select.addEventListener("change", () => session.choose(select.value));
  const draw = () => {
    select.disabled = session.choices.length === 0;
    fill(select, ...session.choices.map((choice) => h("option", { value: choice.key }, choice.name)));
    if (session.choices.length === 0) fill(select, h("option", {}, "none"));
    else select.value = session.current;
  };
  const about = async () => {
    const key = session.current;
    byId("about").textContent = key === "" ? "" : `Loading ${session.nameOf(key)}…`;
    if (key === "") return;
    try {
      const summary = await session.ready(key);
      if (key !== session.current) return;
      const facts = [summary.source, summary.family, `vocabulary size ${grouped(summary.tokens)}`];
      if (summary.fingerprint !== "") facts.push(`fingerprint ${summary.fingerprint.slice(0, SHORT)}`);
      byId("about").textContent = facts.filter((fact) => fact !== "").join("\u00a0· ");
    } catch (error) {
      if (key === session.current) byId("about").textContent = "";
      notify(error instanceof Error ? error.message : String(error), true);
    }
  };
  session.on(["choices", "tokenizer"], draw);
  session.on(["tokenizer"], () => void about());
  const link = byId("link");
  link.addEventListener("click", async () => {
    const whole = session.text.length <= LONGEST_LINKED;
    const address = new URL(location.href);
    address.hash = await toFragment(place(LONGEST_LINKED));
    await copy(link, address.href);
    if (!whole)
      notify(`The link does not include the text, which is longer than ${grouped(LONGEST_LINKED)} characters.`);
  });
}

/** The list of keys: by its button, or by "?" wherever that is not text. */
function startHelp(): void {
  const dialog = byId<HTMLDialogElement>("help");
  byId("help-open").addEventListener("click", () => dialog.showModal());
  document.addEventListener("keydown", (event) => {
    const [target] = event.composedPath();
    const typing = target instanceof Element && target.closest("input, select, textarea, .cm-content") !== null;
    if (event.key !== "?" || typing || dialog.open) return;
    event.preventDefault();
    dialog.showModal();
  });
}

function startTheme(): void {
  const select = byId<HTMLSelectElement>("theme");
  const apply = (theme: string) => {
    if (theme === "light" || theme === "dark") document.documentElement.dataset.theme = theme;
    else delete document.documentElement.dataset.theme;
    select.value = theme === "light" || theme === "dark" ? theme : "auto";
  };
  try {
    apply(localStorage.getItem("theme") ?? "auto");
  } catch {
    apply("auto"); // storage may be forbidden
  }
  select.addEventListener("change", () => {
    apply(select.value);
    try {
      localStorage.setItem("theme", select.value);
    } catch {
      // the choice then lasts as long as the page
    }
  });
}
