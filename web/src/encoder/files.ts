// Tokenizer files that the page reads itself, where it has no server: tokenizer.json with a BPE model, and .tiktoken. The split
// patterns must be among those whose automata the site has. Everything else is refused by name: the library reads more.

import { toBytes, toText as wholeText } from "./bytes";
import { assemble, type Header, type Pack, PackError, readSections, type Sections, TABLES } from "./pack";

/** How to read a file: its name, the name of a split pattern if the file has none, and the automata of the known patterns. */
export interface Reading {
  file: string;
  split: string | null;
  splits: string | Uint8Array;
}

/** The automata of the published split patterns, as written by the library's playground/pack.py. */
interface Splits {
  /** The patterns of each name, and the number of each spelling of a pattern. */
  names: Record<string, string[]>;
  patterns: Record<string, number>;
  widths: number[];
}

// biome-ignore lint/suspicious/noExplicitAny: what a file says is not known
type Json = any;

const NORMALIZERS = ["NFC", "NFD", "NFKC", "NFKD"];
const MOST_IDS = 2 ** 21; // the encoder packs two ids and a rank into one number
const DIGITS = ["\\p{N}+", "\\p{N}"];
const SPLIT_AT_SPACES = " ?[^ ]+| ";
const FLAGS = { special: false, lstrip: false, rstrip: false, single_word: false, normalized: false };

/** Whether a file is a list of tokens with ranks (.tiktoken), which has no split pattern. */
export function isRankList(file: Uint8Array): boolean {
  const start = new TextDecoder("latin1").decode(file.subarray(0, 1000));
  return /^[A-Za-z0-9+/]+={0,2} [0-9]+\r?\n/.test(start);
}

/** Fetch from the server of the page. */
export async function answerOf(address: string, options: RequestInit = {}): Promise<Response> {
  try {
    return await fetch(address, { credentials: "same-origin", ...options });
  } catch {
    throw new Error("The server of this page does not answer. Start it again, or check the connection.");
  }
}

/** Read a tokenizer file. PackError says what of it the page does not have. */
export async function readTokenizerFile(file: Uint8Array, { file: name, split, splits }: Reading): Promise<Pack> {
  if (typeof splits === "string") splits = new Uint8Array(await (await answerOf(splits)).arrayBuffer());
  const known = await readSections<Splits>(splits);
  if (isRankList(file)) return readRanks(toText(file), name, known.header.names[split ?? ""] ?? [], known);
  let root: Json;
  try {
    root = JSON.parse(toText(file));
  } catch {
    throw refusal(`${name} is neither JSON nor a .tiktoken file`);
  }
  if (root?.model?.vocab === undefined) throw refusal(`${name} is not a tokenizer.json`);
  try {
    return readJson(root, name, known);
  } catch (error) {
    throw error instanceof PackError ? error : refusal(`${name} is damaged (${error})`);
  }
}

function toText(file: Uint8Array): string {
  return new TextDecoder().decode(file);
}

function refusal(what: string): PackError {
  return new PackError(`This page cannot open the file: ${what}. For more formats, run: tokenmill play FILE`);
}

/** The tokens by id; some ids have none. */
type Tokens = (Uint8Array | undefined)[];

function readRanks(text: string, name: string, patterns: string[], splits: Sections<Splits>): Pack {
  const tokens: Tokens = [];
  const claim = claims();
  const known = new Set<string>();
  for (const [number, line] of text.split("\n").entries()) {
    if (line.trim() === "") continue;
    const [, code, rank] =
      /^((?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?) (\d+)$/.exec(line.trim()) ?? [];
    if (!code || known.has(code))
      throw refusal(`its line ${number + 1} ${code ? "repeats a token" : "is not a token in base64 and its rank"}`);
    known.add(code);
    tokens[claim(Number(rank), `line ${number + 1}`)] = Uint8Array.from(atob(code), (char) => char.charCodeAt(0));
  }
  return packOf({ name, order: "ranks" }, tokens, [], patterns, splits);
}

/** A function that returns an id, and refuses one that was given before or is out of range. */
function claims(): (id: number, name: string) => number {
  const taken = new Set<number>();
  return (id, name) => {
    if (!Number.isInteger(id) || id < 0 || id >= MOST_IDS) throw refusal(`the id of ${name} is ${id}`);
    if (taken.has(id)) throw refusal(`the id ${id} of ${name} is that of another token already`);
    taken.add(id);
    return id;
  };
}

function readJson(root: Json, name: string, splits: Sections<Splits>): Pack {
  const { model } = root;
  if ((model.type ?? "BPE") !== "BPE" || model.merges === undefined)
    throw new PackError(`The playground shows only BPE, and the model of the file is ${model.type ?? "not named"}.`);
  for (const rule of ["continuing_subword_prefix", "end_of_word_suffix", "dropout"])
    if (model[rule]) throw refusal(`its model has a ${rule}`);
  const normalizers = normalizersOf(root.normalizer);
  const cutting = { patterns: [] as string[], byteLevel: false, prefix: false as Header["add_prefix_space"], mark: "" };
  cutting.mark = normalizers.find((step) => step[0] === "Replace")?.[2] ?? "";
  readPreTokenizer(root.pre_tokenizer, cutting);
  const { byteLevel } = cutting;
  const mark = byteLevel ? "" : cutting.mark;
  const strange = normalizers.find((step) => typeof step !== "string" && step.at(-1) !== mark);
  if (strange) throw refusal(`its normalizer is ${JSON.stringify(strange)}`);
  if (mark && !model.byte_fallback) throw refusal("it has no byte fallback");

  const vocab = new Map<string, number>(Object.entries(model.vocab));
  const tokens: Tokens = [];
  const claim = claims();
  for (const [text, id] of vocab) tokens[claim(id, text)] = byteLevel ? fromByteAlphabet(text) : fromMarked(text, mark);
  const byteTokens: (number | null)[] = [];
  for (let byte = 0; model.byte_fallback && byte < 256; byte++) {
    const id = vocab.get(`<0x${byte.toString(16).toUpperCase().padStart(2, "0")}>`) ?? null;
    if (id !== null) tokens[id] = Uint8Array.of(byte);
    else if (byte > 127 || !vocab.has(String.fromCharCode(byte)))
      throw refusal("it has byte fallback for some of the bytes only");
    byteTokens.push(id);
  }
  const rows = rowsOf(model.merges, vocab).filter((row) => row.every((id) => tokens[id] !== undefined));
  const made = new Set(rows.map((row) => row[2]));
  const added: Header["added_tokens"] = (root.added_tokens ?? []).map((token: Json) => ({ ...FLAGS, ...token }));
  for (const { id, content } of added)
    if (!made.has(id) && tokens[id]?.length !== 1 && content.length > 1) delete tokens[id];
  const ofBytes = new Set(tokens.flatMap((token) => (token?.length === 1 ? [token[0]] : [])));
  const unknown = byteLevel && ofBytes.size === 256 ? null : (vocab.get(model.unk_token) ?? null);
  if (byteTokens.length > 0 && model.ignore_merges) throw refusal("its model has ignore_merges and byte_fallback");
  if (model.fuse_unk && unknown !== null && byteTokens.length === 0) throw refusal("its model has fuse_unk");
  checkAdded(added, vocab, mark, normalizers);
  const misread = added.find(({ content }) => vocab.has(content) && (spelt(content) ?? content) !== content);
  if (byteLevel && model.ignore_merges && misread) throw refusal(`other text can become its token ${misread.content}`);
  const rest: Partial<Header> = {
    alphabet: byteLevel ? "bytes" : "characters",
    whole_pretokens: model.ignore_merges ?? false,
    add_prefix_space: cutting.prefix,
    byte_tokens: byteTokens,
    added_tokens: added,
  };
  return packOf(
    { ...rest, name, order: "merges", unknown, normalizers, space_mark: mark },
    tokens,
    rows,
    cutting.patterns,
    splits,
  );
}

function normalizersOf(node: Json): Header["normalizers"] {
  if (node === null || node === undefined) return [];
  if (node.type === "Sequence") return node.normalizers.flatMap(normalizersOf);
  if (node.type === "Prepend") return [["Prepend", node.prepend]];
  if (node.type === "Replace" && node.pattern.String === " ") return [["Replace", " ", node.content]];
  if (!NORMALIZERS.includes(node.type)) throw refusal(`its normalizer is ${node.type}`);
  return [node.type];
}

function readPreTokenizer(
  node: Json,
  found: { patterns: string[]; byteLevel: boolean; prefix: Header["add_prefix_space"]; mark: string },
): void {
  if (node === null || node === undefined) return;
  const earlier = found.patterns.length > 0;
  if (node.type === "Sequence") {
    for (const one of node.pretokenizers) readPreTokenizer(one, found);
    return;
  }
  if (found.byteLevel) throw refusal(`its pre-tokenizer has ${node.type} after ByteLevel`);
  if (node.type === "ByteLevel") {
    found.byteLevel = true;
    found.prefix = node.add_prefix_space ?? true;
    if (node.use_regex ?? true) found.patterns.push("gpt2");
  } else if (node.type === "Metaspace") {
    found.mark = node.replacement;
    const scheme = node.prepend_scheme ?? ((node.add_prefix_space ?? true) ? "always" : "never");
    found.prefix = scheme === "first" ? "first" : scheme === "always";
    if (node.split ?? true) found.patterns.push(SPLIT_AT_SPACES);
  } else if (node.type === "Digits") {
    found.patterns.push(DIGITS[Number(node.individual_digits ?? false)]!);
  } else if (node.type === "Split" && found.mark && node.pattern.String === " ") {
    // No text has the space here: the mark stands for it.
  } else if (node.type === "Split" && node.pattern.Regex && isIsolated(node)) {
    found.patterns.push(node.pattern.Regex);
  } else {
    throw refusal(`its pre-tokenizer is ${JSON.stringify(node)}`);
  }
  if (earlier && found.prefix) throw refusal("its pre-tokenizer puts a space before parts of the text");
}

/** Refuse added tokens with ids that Hugging Face's reader does not give them, or that are found in text before marks are written. */
function checkAdded(
  added: Header["added_tokens"],
  vocab: Map<string, number>,
  mark: string,
  normalizers: Header["normalizers"],
): void {
  const ids = new Map(vocab);
  const early = mark && !normalizers.some((step) => step[0] === "Replace");
  for (const { content, id, normalized, lstrip, rstrip } of added) {
    if (!ids.has(content)) ids.set(content, ids.size);
    if (ids.get(content) !== id)
      throw refusal(`its added token ${content} has the id ${id} instead of ${ids.get(content)}`);
    if (early && normalized && (lstrip || rstrip || content.includes(" ") || content.includes(mark)))
      throw refusal(`its added token ${content} is found before spaces become ${mark}`);
  }
}

/** Whether a Split keeps its matches as pretokens. Those of all known patterns leave nothing between them. */
function isIsolated({ behavior, invert }: Json): boolean {
  return behavior === "Isolated" || behavior === "isolated" || (behavior === "Removed" && invert);
}

/** The merges as rows of ids. Of a pair that is listed twice, the last one counts. */
function rowsOf(merges: (string | [string, string])[], vocab: Map<string, number>): [number, number, number][] {
  const last = new Map<number, [number, number, number]>();
  for (const merge of merges) {
    const [left, right] = typeof merge === "string" ? merge.split(" ") : merge;
    const row = [left!, right!, left! + right!].map((text) => vocab.get(text));
    if (row.includes(undefined)) throw refusal(`its merge ${left} ${right} has a token that is not in the vocabulary`);
    const pair = row[0]! * MOST_IDS + row[1]!;
    last.delete(pair);
    last.set(pair, row as [number, number, number]);
  }
  return Array.from(last.values());
}

/** The bytes of a token of characters; none for one that no text gets. */
function fromMarked(text: string, mark: string): Uint8Array | undefined {
  if (text === "" || (mark && text.includes(" "))) return undefined;
  return toBytes(mark ? text.replaceAll(mark, " ") : text);
}

const BYTE_OF = new Map<string, number>();
for (let byte = 0, next = 256; byte < 256; byte++) {
  const itself = (byte > 32 && byte < 127) || (byte > 160 && byte !== 173);
  BYTE_OF.set(String.fromCharCode(itself ? byte : next++), byte);
}

/** The bytes that a text in the byte alphabet of GPT-2 stands for; none for one that has other characters. */
function fromByteAlphabet(text: string): Uint8Array | undefined {
  const bytes = new Uint8Array(text.length);
  for (let i = 0; i < text.length; i++) {
    const byte = BYTE_OF.get(text[i]!);
    if (byte === undefined) return undefined;
    bytes[i] = byte;
  }
  return bytes.length > 0 ? bytes : undefined;
}

/** The text that a token stands for; null for one that is not text. */
function spelt(token: string): string | null {
  const bytes = fromByteAlphabet(token);
  return bytes === undefined ? null : wholeText(bytes);
}

function packOf(
  rest: Partial<Header> & Pick<Header, "name" | "order">,
  tokens: Tokens,
  rows: [number, number, number][],
  patterns: string[],
  splits: Sections<Splits>,
): Pack {
  const { names, patterns: numbers, widths } = splits.header;
  const used = patterns.flatMap((pattern) => names[pattern] ?? [pattern]);
  const tables = new Map<string, Uint8Array>();
  for (const [i, pattern] of used.entries()) {
    if (numbers[pattern] === undefined) throw refusal(`its split pattern is not one of the published ones: ${pattern}`);
    for (const table of TABLES) tables.set(`${table}_${i}`, splits.section(`${table}_${numbers[pattern]}`));
  }
  const size = tokens.length;
  const literals = tokens.flatMap((token, id) => (token === undefined ? [] : [{ id, token }]));
  const bytes = new Uint8Array(literals.reduce((sum, { token }) => sum + token.length, 0));
  let at = 0;
  for (const { token } of literals) {
    bytes.set(token, at);
    at += token.length;
  }
  const header: Header = {
    version: 1,
    source: rest.name,
    fingerprint: "",
    superwords: 0,
    whole_pretokens: true,
    alphabet: "bytes",
    unknown: null,
    normalizers: [],
    space_mark: "",
    byte_tokens: [],
    add_prefix_space: false,
    added_tokens: [],
    ...rest,
    n_vocab: Math.max(size, ...(rest.added_tokens ?? []).map((token) => token.id + 1)),
    size,
    split_patterns: used,
    widths: used.map((pattern) => widths[numbers[pattern]!]!),
    counted: null,
    sections: [],
  };
  const column = (i: 0 | 1 | 2) => Int32Array.from(rows, (row) => row[i]);
  return assemble(header, { left: column(0), right: column(1), made: column(2) }, tables, {
    ids: Int32Array.from(literals, ({ id }) => id),
    lengths: Int32Array.from(literals, ({ token }) => token.length),
    bytes,
  });
}
