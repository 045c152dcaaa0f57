// The state that the views share: the tokenizers, the text, the connection to the worker, and the listeners.

import type { Line, Summary } from "../calls";
import type { Encoded } from "../encoder/encoder";
import type { Reading } from "../encoder/files";

/** A tokenizer that the user can select. */
export interface Choice {
  key: string;
  name: string;
  /** The address of its packed vocabulary, or the packed vocabulary, or a tokenizer file. */
  source: string | Uint8Array;
  /** How the page reads the tokenizer file; null for a packed vocabulary. */
  reading: Reading | null;
  summary: Summary | null;
}

export type Change = "choices" | "tokenizer" | "text" | "special" | "merges" | "view" | "words" | "token";

export const MOST_COMPARED = 4;

export class Session {
  choices: Choice[] = [];
  /** The key of the tokenizer of the Tokens and Vocabulary views; empty if there is none. */
  current = "";
  /** The keys of the compared tokenizers. */
  compared: string[] = [];
  text = "";
  special = false;
  /** Encode with the first merges only, as if training had stopped there; null for all. */
  merges: number | null = null;
  view = "tokens";
  words = "";
  /** The id that the Vocabulary view shows; -1 for none. */
  token = -1;
  /** The id that a link names, until the user searches or chooses; -1 for none. */
  linked = -1;
  private readonly listeners = new Map<Change, (() => void)[]>();
  private readonly loading = new Map<string, Promise<Summary>>();

  constructor(readonly line: Line) {}

  on(changes: Change[], run: () => void): void {
    for (const change of changes) this.listeners.set(change, [...(this.listeners.get(change) ?? []), run]);
  }

  tell(change: Change): void {
    for (const run of this.listeners.get(change) ?? []) run();
  }

  choice(key: string): Choice | undefined {
    return this.choices.find((choice) => choice.key === key);
  }

  nameOf(key: string): string {
    return this.choice(key)?.name ?? key;
  }

  /** Make sure that the worker has a tokenizer. */
  ready(key: string): Promise<Summary> {
    const choice = this.choice(key);
    if (choice === undefined) return Promise.reject(new Error("no tokenizer is chosen"));
    let loading = this.loading.get(key);
    if (loading === undefined) {
      loading = this.line.ask("load", key, choice.source, choice.reading).then((summary) => {
        choice.summary = summary;
        if (typeof choice.source !== "string") choice.source = new Uint8Array(0); // the worker has it now
        return summary;
      });
      loading.catch(() => this.loading.delete(key));
      this.loading.set(key, loading);
    }
    return loading;
  }

  /** Encode the text with each of some tokenizers; with all merges unless `merges` is given. */
  async encode(keys: string[], merges: number | null = null): Promise<(Encoded | { error: string })[]> {
    await Promise.all(keys.map((key) => this.ready(key)));
    const { text } = this;
    const results = await this.line.ask("encode", keys, text, this.special, merges);
    return results.map((result) => ("error" in result ? result : { ...result, text: result.text ?? text }));
  }

  /** Add a tokenizer under a unique name, and select it. */
  add(name: string, source: Uint8Array, reading: Reading | null): Choice {
    const names = new Set(this.choices.map((choice) => choice.name));
    let free = name;
    for (let i = 2; names.has(free); i++) free = `${name} (${i})`;
    const choice: Choice = { key: `${free}#${this.choices.length}`, name: free, source, reading, summary: null };
    this.choices.push(choice);
    this.tell("choices");
    return choice;
  }

  choose(key: string): void {
    this.merges = null;
    if (this.current !== key) this.linked = -1;
    this.current = key;
    if (!this.compared.includes(key) && this.compared.length < 2) this.compared = [...this.compared, key];
    this.tell("tokenizer");
  }

  setText(text: string): void {
    this.text = text;
    this.tell("text");
  }
}
