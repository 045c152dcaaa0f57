// The worker holds the vocabularies and does all slow work, so that the page never blocks.

import type { Answer, Calls, Request, Summary } from "./calls";
import { Encoder, mergeCount } from "./encoder/encoder";
import { answerOf, readTokenizerFile } from "./encoder/files";
import { Lookup } from "./encoder/lookup";
import { isPack, type Pack, readPack } from "./encoder/pack";
import { splitterOf } from "./encoder/split";
import { trace } from "./encoder/trace";

interface Loaded {
  pack: Pack;
  encoder: Encoder;
  /** For encoding with some of the merges. */
  limited: Encoder | null;
  lookup: Lookup;
}

const loaded = new Map<string, Loaded>();

function find(key: string): Loaded {
  const found = loaded.get(key);
  if (found === undefined) throw new Error(`no tokenizer ${key} is loaded`);
  return found;
}

const calls: { [Name in keyof Calls]: (...args: Parameters<Calls[Name]>) => unknown } = {
  async load(key, source, reading) {
    const known = loaded.get(key);
    if (known) return summary(known.pack);
    let file: Uint8Array;
    if (typeof source === "string") {
      const response = await answerOf(source);
      if (!response.ok) throw new Error(`${response.status} ${response.statusText} for ${source}`);
      file = new Uint8Array(await response.arrayBuffer());
    } else {
      file = source;
    }
    const pack = reading && !isPack(file) ? await readTokenizerFile(file, reading) : await readPack(file);
    loaded.set(key, { pack, encoder: new Encoder(pack, splitterOf(pack)), limited: null, lookup: new Lookup(pack) });
    return summary(pack);
  },
  pack(key) {
    return { ...find(key).pack, counts: null, ios: null };
  },
  encode(keys, text, special, merges) {
    return keys.map((key) => {
      try {
        const result = encoderOf(find(key), merges).encode(text, special);
        return { ...result, text: result.text === text ? null : result.text };
      } catch (error) {
        return { error: message(error) };
      }
    });
  },
  sizes(key, text, special, merges) {
    return merges.map((number) => encoderOf(find(key), number).encode(text, special).ids.length);
  },
  pretokens(key, text) {
    return find(key).encoder.pretokens(text);
  },
  search(key, query, kind, where, order) {
    return find(key).lookup.search(query, kind, where, order);
  },
  firstWord(key) {
    return find(key).lookup.firstWord();
  },
  rows(key, ids) {
    const { lookup } = find(key);
    return ids.map((id) => lookup.row(id));
  },
  bytes(key, ids) {
    const { lookup } = find(key);
    return ids.map((id) => lookup.bytesOf(id));
  },
  describe(key, id) {
    return find(key).lookup.describe(id);
  },
  trace(key, pretoken) {
    return trace(find(key).pack, pretoken);
  },
};

function encoderOf(one: Loaded, merges: number | null): Encoder {
  if (merges === null) return one.encoder;
  one.limited ??= new Encoder(one.pack, splitterOf(one.pack));
  one.limited.stopAfter(merges);
  return one.limited;
}

function summary(pack: Pack): Summary {
  const { header } = pack;
  return {
    name: header.name,
    fingerprint: header.fingerprint,
    source: header.source,
    family: family(pack),
    order: header.order,
    tokens: header.n_vocab,
    merges: mergeCount(pack),
    patterns: header.split_patterns,
    special: header.added_tokens.filter((token) => token.special).map((token) => token.content),
    counted: header.counted,
    ios: pack.ios !== null,
  };
}

function family({ header: { order, alphabet, space_mark, superwords }, right }: Pack): string {
  if (space_mark) return "SentencePiece-style BPE";
  const level = alphabet === "characters" ? "character-level BPE" : "byte-level BPE";
  if (order === "events") {
    const removals = right.includes(-1) ? "with removals" : "";
    if (superwords > 0)
      return `BoundlessBPE (${["superwords of whole pretokens", removals].filter(Boolean).join(", ")})`;
    return removals ? `Picky BPE (${level} ${removals})` : `${level}, replayed by events`;
  }
  return order === "merges" ? `${level} with a list of merges` : `${level}, merged by rank (as in tiktoken)`;
}

function message(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

self.addEventListener("message", async (event: MessageEvent<Request>) => {
  const { id, name, args } = event.data;
  let answer: Answer;
  try {
    answer = { id, value: await (calls[name] as (...args: unknown[]) => unknown)(...args) };
  } catch (error) {
    answer = { id, error: message(error) };
  }
  const buffers = name === "encode" && "value" in answer ? (answer.value as object[]).flatMap(buffersOf) : [];
  self.postMessage(answer, { transfer: buffers });
});

function buffersOf(value: object): ArrayBuffer[] {
  return Object.values(value).flatMap((one) => (ArrayBuffer.isView(one) ? [one.buffer as ArrayBuffer] : []));
}
