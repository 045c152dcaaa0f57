// The calls that the page can make to the worker, and the page's side of the connection.

import type { Encoded } from "./encoder/encoder";
import type { Reading } from "./encoder/files";
import type { Details, Order, Row, SearchKind, Where } from "./encoder/lookup";
import type { Header, Pack } from "./encoder/pack";
import type { Trace } from "./encoder/trace";

export interface Summary {
  name: string;
  fingerprint: string;
  /** The file or folder that it was read from; empty if it is not known. */
  source: string;
  /** What kind of tokenizer it is, in words. */
  family: string;
  order: Header["order"];
  tokens: number;
  /** How many merges or events there are, superwords of whole pretokens left out. */
  merges: number;
  patterns: string[];
  special: string[];
  counted: string | null;
  ios: boolean;
}

/** The result of encoding. The text is omitted if it is the one that was sent. */
export type EncodeResult = (Omit<Encoded, "text"> & { text: string | null }) | { error: string };

export interface Calls {
  /** Load a packed vocabulary from an address or from its bytes, or with `reading` a tokenizer file from its bytes. */
  load(key: string, source: string | Uint8Array, reading: Reading | null): Summary;
  /** The data for an encoder in the page; see `received`. */
  pack(key: string): Pack;
  /** Encode a text with each tokenizer; `merges`: with the first merges only, null for all. */
  encode(keys: string[], text: string, special: boolean, merges: number | null): EncodeResult[];
  /** The number of tokens of a text with the first merges only, for each number of merges. */
  sizes(key: string, text: string, special: boolean, merges: number[]): number[];
  /** The pretokens that the tokenizer's split pattern cuts a text into. */
  pretokens(key: string, text: string): string[];
  search(key: string, query: string, kind: SearchKind, where: Where, order: Order): Int32Array;
  /** The first id whose token is a word, or -1. */
  firstWord(key: string): number;
  rows(key: string, ids: number[]): Row[];
  bytes(key: string, ids: number[]): Uint8Array[];
  describe(key: string, id: number): Details;
  /** The steps in which a pretoken is encoded; null if it is too long. */
  trace(key: string, pretoken: Uint8Array): Trace | null;
}

export interface Request {
  id: number;
  name: keyof Calls;
  args: unknown[];
}

export type Answer = { id: number; value: unknown } | { id: number; error: string };

/** Calls the worker; each call returns a promise of its answer. */
export class Line {
  private readonly waiting = new Map<number, { resolve: (value: never) => void; reject: (error: Error) => void }>();
  private next = 0;

  constructor(private readonly worker: Worker) {
    worker.addEventListener("message", (event: MessageEvent<Answer>) => {
      const answer = event.data;
      const one = this.waiting.get(answer.id);
      this.waiting.delete(answer.id);
      if ("error" in answer) one?.reject(new Error(answer.error));
      else one?.resolve(answer.value as never);
    });
    worker.addEventListener("error", (event) => {
      for (const one of this.waiting.values()) one.reject(new Error(event.message || "the worker could not start"));
      this.waiting.clear();
    });
  }

  /** Whether an answer is awaited. */
  get busy(): boolean {
    return this.waiting.size > 0;
  }

  ask<Name extends keyof Calls>(name: Name, ...args: Parameters<Calls[Name]>): Promise<ReturnType<Calls[Name]>> {
    const id = this.next++;
    return new Promise((resolve, reject) => {
      this.waiting.set(id, { resolve, reject });
      this.worker.postMessage({ id, name, args } satisfies Request);
    });
  }
}
