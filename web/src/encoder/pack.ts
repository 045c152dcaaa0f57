// A packed vocabulary as written by the library's playground/pack.py: a JSON header and columns of bytes, with gzip.
// Everything is checked: lengths against the file, ids against the size of the vocabulary.

import { hashBytes, toText } from "./bytes";
import { ByteTable } from "./table";

export interface AddedToken {
  content: string;
  id: number;
  special: boolean;
  lstrip: boolean;
  rstrip: boolean;
  single_word: boolean;
  normalized: boolean;
}

export interface Header {
  version: number;
  name: string;
  source: string;
  fingerprint: string;
  /** "scores": merges in a row that make the same token have one rank. */
  order: "ranks" | "merges" | "scores" | "events";
  /** How many of the rows, the last ones, are superwords of whole pretokens (BoundlessBPE). */
  superwords: number;
  whole_pretokens: boolean;
  alphabet: "bytes" | "characters";
  unknown: number | null;
  /** Names of Unicode forms, and ["Prepend", mark] or ["Replace", " ", mark]. */
  normalizers: (string | string[])[];
  /** The character that stands for a space in SentencePiece's files; tokens hold the space itself. Empty without one. */
  space_mark: string | null;
  /** The ids of the 256 tokens for the bytes of characters without a token, or none. Null where no character needs one. */
  byte_tokens: (number | null)[];
  /** "first" and "text": only before the start of the text, "text" also if a space is there. */
  add_prefix_space: boolean | "first" | "text";
  added_tokens: AddedToken[];
  n_vocab: number;
  /** The number of ids, including those of removed tokens. */
  size: number;
  split_patterns: string[];
  /** For each pattern's automaton: the cells of a row, one per class of characters and one for the end. */
  widths: number[];
  /** A description of the source of the counts; null if there are none. */
  counted: string | null;
  sections: [name: string, offset: number, length: number][];
}

export interface Pack {
  header: Header;
  /** Token bytes by id; unused ids have none. Only tokens that encoding can produce can be found. */
  tokens: ByteTable;
  present: Uint8Array;
  /** By id: whether it is the first present token with its bytes, and not empty. */
  findable: Uint8Array;
  /** Rows that build tokens; if the order is not "ranks", they are the events, then superwords. Removals have right = -1. */
  left: Int32Array;
  right: Int32Array;
  made: Int32Array;
  /** The number of rows that are not superwords. */
  events: number;
  /** By event: how often the pair of a merge occurred in the training text, or the IoS of a removal. */
  eventCounts: Float64Array | null;
  counts: Float64Array | null;
  ios: Float64Array | null;
  /** The tables of the split patterns' automata, by name. */
  tables: Map<string, Uint8Array>;
}

/** A pack received in a message, which copies the data of an object but not its class. */
export function received(pack: Pack): Pack {
  return { ...pack, tokens: Object.assign(new ByteTable(0, 0), pack.tokens) };
}

export class PackError extends Error {}

const MAGIC = [0x54, 0x4d, 0x50, 0x31]; // TMP1
const NOTHING = 0xffffff;
/** The tables of an automaton. */
export const TABLES = ["matches", "accepts", "ascii", "index", "pages"];

/** A file's header, and its columns by name. */
export interface Sections<Head> {
  header: Head;
  has(name: string): boolean;
  section(name: string): Uint8Array;
}

export function isPack(file: Uint8Array): boolean {
  return (file[0] === 0x1f && file[1] === 0x8b) || MAGIC.every((byte, i) => file[i] === byte);
}

/** Read the header and the columns of a packed file. */
export async function readSections<Head>(file: Uint8Array): Promise<Sections<Head>> {
  const data = file[0] === 0x1f && file[1] === 0x8b ? await gunzip(file) : file;
  if (MAGIC.some((byte, i) => data[i] !== byte)) throw new PackError("this is not a packed vocabulary of tokenmill");
  const view = new DataView(data.buffer, data.byteOffset, data.byteLength);
  const begin = 8 + view.getUint32(4, true);
  if (begin > data.length) throw new PackError("the packed vocabulary is cut off in its header");
  const header = JSON.parse(toText(data.subarray(8, begin)) ?? "null");
  if (header?.version !== 1) throw new PackError("this packed vocabulary is of a version this page does not know");
  const sections = new Map<string, Uint8Array>();
  for (const [name, offset, length] of header.sections) {
    if (begin + offset + length > data.length) throw new PackError(`the packed vocabulary is cut off in its ${name}`);
    sections.set(name, data.slice(begin + offset, begin + offset + length)); // a copy, so that columns are aligned
  }
  const section = (name: string): Uint8Array => {
    const found = sections.get(name);
    if (found === undefined) throw new PackError(`the packed vocabulary has no ${name}`);
    return found;
  };
  return { header, has: (name) => sections.has(name), section };
}

export async function readPack(file: Uint8Array): Promise<Pack> {
  const { header, has, section } = await readSections<Header>(file);
  const [left, right] = [fromPlanes(section("left")), fromPlanes(section("right"))];
  const tables = header.widths.flatMap((_, i) => TABLES.map((name) => `${name}_${i}`));
  const literals = {
    ids: sums(fromPlanes(section("literal_ids"))),
    lengths: fromPlanes(section("literal_lengths")),
    bytes: section("literals"),
  };
  const rows = { left, right, made: sums(fromPlanes(section("made"))) };
  const column = (name: string) => (has(name) ? new Float64Array(section(name).buffer) : null);
  return {
    ...assemble(header, rows, new Map(tables.map((name) => [name, section(name)])), literals),
    eventCounts: column("event_counts"),
    counts: column("counts"),
    ios: column("ios"),
  };
}

/** The tokens whose bytes are listed, one after another. */
interface Literals {
  ids: Int32Array;
  lengths: Int32Array;
  bytes: Uint8Array;
}

/** A pack of the parts of a file, without counts. */
export function assemble(
  header: Header,
  rows: Pick<Pack, "left" | "right" | "made">,
  tables: Pack["tables"],
  literals: Literals,
): Pack {
  const events = rows.left.length - header.superwords;
  const counts = { eventCounts: null, counts: null, ios: null };
  return { header, ...build(header, rows, literals), ...rows, events, tables, ...counts };
}

async function gunzip(file: Uint8Array): Promise<Uint8Array> {
  const stream = new Blob([file as BlobPart]).stream().pipeThrough(new DecompressionStream("gzip"));
  try {
    return new Uint8Array(await new Response(stream).arrayBuffer());
  } catch {
    throw new PackError("the packed vocabulary is damaged: it does not decompress");
  }
}

/** A column of numbers below 2^24, stored as three planes: all low bytes, all middle bytes, all high bytes. */
function fromPlanes(planes: Uint8Array): Int32Array {
  const count = planes.length / 3;
  const column = new Int32Array(count);
  for (let i = 0; i < count; i++) {
    const value = planes[i]! | (planes[count + i]! << 8) | (planes[2 * count + i]! << 16);
    column[i] = value === NOTHING ? -1 : value;
  }
  return column;
}

/** Undo the differences (zigzag: 0, -1, 1, -2, 2 ... are 0, 1, 2, 3, 4 ...) of a column. */
function sums(column: Int32Array): Int32Array {
  let last = 0;
  for (let i = 0; i < column.length; i++) {
    const value = column[i]!;
    last += value & 1 ? -((value + 1) >> 1) : value >> 1;
    column[i] = last;
  }
  return column;
}

/** Build all token bytes: literal ones, and those that rows join from two others. */
function build(header: Header, { left, right, made }: Pick<Pack, "left" | "right" | "made">, literals: Literals) {
  const size = header.size;
  const rowOf = new Int32Array(size).fill(-1);
  const lengths = new Int32Array(size);
  const literalAt = new Int32Array(size).fill(-1);
  const check = (id: number) => {
    if (id < 0 || id >= size) throw new PackError(`the packed vocabulary names the token ${id} of ${size}`);
    return id;
  };
  let offset = 0;
  for (const [i, id] of literals.ids.entries()) {
    literalAt[check(id)] = offset;
    lengths[id] = literals.lengths[i]!;
    offset += literals.lengths[i]!;
  }
  if (offset > literals.bytes.length) throw new PackError("the packed vocabulary is cut off in its literals");
  const gone = new Uint8Array(size);
  for (let row = 0; row < left.length; row++) {
    const id = check(made[row]!);
    check(left[row]!);
    if (right[row]! < 0) {
      gone[left[row]!] = 1;
      continue;
    }
    check(right[row]!);
    if (header.order === "events") gone[id] = 0;
    if (rowOf[id]! >= 0 || literalAt[id]! >= 0) continue;
    rowOf[id] = row;
    lengths[id] = lengths[left[row]!]! + lengths[right[row]!]!;
  }
  const bytes = lengths.reduce((sum, length) => sum + length, 0);
  const tokens = new ByteTable(size + 256, bytes + 256);
  const present = new Uint8Array(size);
  const findable = new Uint8Array(size);
  const apart = new Set<number | null>(header.byte_tokens);
  for (let id = 0; id < size; id++) {
    const at = tokens.starts[id]!;
    const row = literalAt[id]! >= 0 ? -1 : rowOf[id]!;
    const halves = row >= 0 && left[row]! < id && right[row]! < id;
    const end = halves ? copy(right[row]!, copy(left[row]!, at)) : write(id, at);
    const exists = literalAt[id]! >= 0 || rowOf[id]! >= 0;
    present[id] = exists && !gone[id] ? 1 : 0;
    const hash = hashBytes(tokens.arena, at, end);
    findable[id] =
      present[id] === 1 && !apart.has(id) && end > at && tokens.find(tokens.arena, at, end, hash) < 0 ? 1 : 0;
    tokens.add(tokens.arena, at, end, hash, findable[id] === 1);
  }
  return { tokens, present, findable };

  /** Write a token whose bytes are in the arena. */
  function copy(id: number, at: number): number {
    const { arena, starts } = tokens;
    for (let from = starts[id]!; from < starts[id + 1]!; from++) arena[at++] = arena[from]!;
    return at;
  }

  /** Write a token that may contain later ids, following its parts down to literals. */
  function write(id: number, at: number): number {
    const stack = [id];
    for (let budget = 2 * bytes + 2; stack.length > 0; budget--) {
      if (budget < 0) throw new PackError("the packed vocabulary makes a token of itself");
      const one = stack.pop()!;
      const literal = literalAt[one]!;
      if (literal >= 0) {
        tokens.arena.set(literals.bytes.subarray(literal, literal + lengths[one]!), at);
        at += lengths[one]!;
      } else if (rowOf[one]! >= 0) {
        stack.push(right[rowOf[one]!]!, left[rowOf[one]!]!);
      }
    }
    return at;
  }
}
