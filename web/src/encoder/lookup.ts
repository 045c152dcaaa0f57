// Queries on a vocabulary: which tokens match, how a token was built, what is built from it.

import { toBytes, toText } from "./bytes";
import type { Pack } from "./pack";
import { NEVER, PairRanks } from "./pairs";

export type SearchKind = "text" | "bytes" | "id";
/** "use" and "ios" only where the pack has counts. */
export type Order = "id" | "shortest" | "longest" | "use" | "ios";
export type Where = "contains" | "begins" | "ends" | "is";

/** A node of a merge tree. `rank`: the position of its merge; null for a token that no merge makes. */
export interface TreeNode {
  id: number;
  bytes: Uint8Array;
  rank: number | null;
  left: TreeNode | null;
  right: TreeNode | null;
}

/** What happened to a token in training, in event order. */
export interface TokenEvent {
  event: number;
  left: number;
  right: number; // -1: the token was removed
}

export interface Details {
  id: number;
  bytes: Uint8Array;
  state: "ordinary" | "special" | "added" | "removed" | "unused";
  tree: TreeNode | null;
  /** False if merging the token's bytes does not produce the token. */
  reachable: boolean;
  history: TokenEvent[];
  /** Tokens whose last merge has this one as a half, the lowest ids first. */
  uses: { id: number; left: number; right: number }[];
  usesInAll: number;
  count: number | null;
  ios: number | null;
}

/** A token in a list. */
export interface Row {
  bytes: Uint8Array;
  count: number | null;
  ios: number | null;
}

export class SearchError extends Error {}

const MOST_USES = 200;
const WORD = /^[ \u2581]\p{L}{3,}$/u;

export class Lookup {
  private readonly pairs: PairRanks;
  private rows: Map<number, number> | null = null; // id -> first row that makes it
  private sortedIds: Int32Array | null = null;

  constructor(private readonly pack: Pack) {
    this.pairs = new PairRanks(pack.tokens, pack.header.size);
  }

  bytesOf(id: number): Uint8Array {
    const added = this.pack.header.added_tokens.find((token) => token.id === id);
    if (added) return toBytes(added.content);
    const { starts, arena } = this.pack.tokens;
    return id >= 0 && id < this.pack.header.size ? arena.slice(starts[id]!, starts[id + 1]!) : new Uint8Array(0);
  }

  /** The matching ids in this order, equals by id; all ids for an empty query. */
  search(query: string, kind: SearchKind, where: Where, order: Order): Int32Array {
    const found = this.matching(query, kind, where);
    if (order === "id") return found;
    const { counts, ios } = this.pack;
    const keys: Record<Exclude<Order, "id">, (id: number) => number> = {
      shortest: (id) => this.view(id).length,
      longest: (id) => -this.view(id).length,
      use: (id) => -(counts?.[id] ?? 0),
      ios: (id) => -(finite(ios?.[id]) ?? -1),
    };
    const ranked = Array.from(found, (id): [number, number] => [keys[order](id), id]);
    return Int32Array.from(
      ranked.sort((a, b) => a[0] - b[0] || a[1] - b[1]),
      ([, id]) => id,
    );
  }

  /** The first id whose token is a word, or -1. */
  firstWord(): number {
    return this.all().find((id) => WORD.test(toText(this.bytesOf(id)) ?? "")) ?? -1;
  }

  /** What the list shows of a token. */
  row(id: number): Row {
    const { counts, ios } = this.pack;
    return { bytes: this.bytesOf(id), count: counts?.[id] ?? null, ios: finite(ios?.[id]) };
  }

  private matching(query: string, kind: SearchKind, where: Where): Int32Array {
    if (query.trim() === "" && (kind !== "text" || query === "")) return this.all();
    if (kind === "id") return this.byId(query);
    const needle = kind === "bytes" ? parseHex(query) : toBytes(query);
    return this.all().filter((id) => matches(this.view(id), needle, where));
  }

  describe(id: number): Details {
    const { header, counts, ios, present } = this.pack;
    const added = header.added_tokens.find((token) => token.id === id);
    const exists = id >= 0 && id < header.size && this.view(id).length > 0;
    const removed = exists && present[id] === 0;
    const state = added ? (added.special ? "special" : "added") : removed ? "removed" : exists ? "ordinary" : "unused";
    const tree = exists && !added ? this.tree(id) : null;
    const uses = tree === null ? [] : this.usesOf(id);
    return {
      id,
      bytes: this.bytesOf(id),
      state,
      tree,
      reachable: tree === null || this.view(id).length === 1 || tree.left !== null,
      history: this.history(id),
      uses: uses.slice(0, MOST_USES),
      usesInAll: uses.length,
      count: counts?.[id] ?? null,
      ios: finite(ios?.[id]),
    };
  }

  private view(id: number): Uint8Array {
    if (id >= this.pack.header.size) return this.bytesOf(id);
    const { starts, arena } = this.pack.tokens;
    const [start, end] = [starts[id]!, starts[id + 1]!];
    return start === end ? this.bytesOf(id) : arena.subarray(start, end);
  }

  private all(): Int32Array {
    if (this.sortedIds === null) {
      const ids = new Set<number>();
      for (let id = 0; id < this.pack.header.size; id++) if (this.view(id).length > 0) ids.add(id);
      for (const token of this.pack.header.added_tokens) ids.add(token.id);
      this.sortedIds = Int32Array.from(ids).sort();
    }
    return this.sortedIds;
  }

  private byId(query: string): Int32Array {
    const match = /^\s*([0-9]+)\s*(?:[-\u2013]\s*([0-9]+)\s*)?$/u.exec(query);
    if (match === null) throw new SearchError("An id is a number, such as 310; a range is 310-320.");
    const [low, high] = [Number(match[1]), Number(match[2] ?? match[1])];
    return this.all().filter((id) => id >= low && id <= high);
  }

  /** How `id` is built. In rank order: by merging its bytes with all lower ranks, which must leave two parts. */
  private tree(id: number): TreeNode {
    const halves = this.halvesOf(id);
    const bytes = this.bytesOf(id);
    if (halves === null) return { id, bytes, rank: null, left: null, right: null };
    return { id, bytes, rank: halves.rank, left: this.tree(halves.left), right: this.tree(halves.right) };
  }

  private halvesOf(id: number): { left: number; right: number; rank: number } | null {
    const { header, left, right, made } = this.pack;
    if (header.order !== "ranks") {
      if (this.rows === null) {
        this.rows = new Map();
        for (let row = 0; row < left.length; row++) {
          if (right[row]! >= 0 && !this.rows.has(made[row]!)) this.rows.set(made[row]!, row);
        }
      }
      const row = this.rows.get(id);
      return row === undefined ? null : { left: left[row]!, right: right[row]!, rank: row };
    }
    const bytes = this.view(id);
    if (bytes.length < 2 || bytes.length > 2000) return null;
    const parts = Array.from(bytes, (byte) => this.pack.tokens.lookUp(Uint8Array.of(byte)));
    if (parts.includes(-1)) return null;
    while (parts.length > 2) {
      let best = NEVER;
      let at = -1;
      for (let i = 0; i + 1 < parts.length; i++) {
        const rank = this.pairs.rank(parts[i]!, parts[i + 1]!);
        if (rank < best && rank < id) [best, at] = [rank, i];
      }
      if (at < 0) return null;
      parts.splice(at, 2, best);
    }
    const [first, second] = [parts[0]!, parts[1]!];
    return this.pairs.rank(first, second) === id ? { left: first, right: second, rank: id } : null;
  }

  private history(id: number): TokenEvent[] {
    const { header, left, right, made } = this.pack;
    if (header.order === "ranks") return [];
    const events: TokenEvent[] = [];
    for (let event = 0; event < left.length; event++) {
      if (right[event]! < 0 ? left[event] === id : made[event] === id) {
        events.push({ event, left: left[event]!, right: right[event]! });
      }
    }
    return events;
  }

  private usesOf(id: number): { id: number; left: number; right: number }[] {
    const { header, left, right, made } = this.pack;
    const uses: { id: number; left: number; right: number }[] = [];
    if (header.order !== "ranks") {
      for (let row = 0; row < left.length; row++) {
        if (right[row]! >= 0 && (left[row] === id || right[row] === id)) {
          uses.push({ id: made[row]!, left: left[row]!, right: right[row]! });
        }
      }
      return uses;
    }
    const half = this.view(id);
    for (const other of this.all()) {
      if (other === id || other >= header.size) continue;
      const token = this.view(other);
      if (token.length <= half.length || !(matches(token, half, "begins") || matches(token, half, "ends"))) continue;
      const halves = this.halvesOf(other);
      if (halves !== null && (halves.left === id || halves.right === id)) {
        uses.push({ id: other, left: halves.left, right: halves.right });
        if (uses.length > 2000) break;
      }
    }
    return uses;
  }
}

function finite(value: number | undefined): number | null {
  return value === undefined || Number.isNaN(value) ? null : value;
}

function matches(token: Uint8Array, needle: Uint8Array, where: Where): boolean {
  const spare = token.length - needle.length;
  if (spare < 0 || (where === "is" && spare > 0)) return false;
  const first = where === "ends" ? spare : 0;
  const last = where === "contains" || where === "ends" ? spare : 0;
  for (let at = first; at <= last; at++) {
    let i = 0;
    while (i < needle.length && token[at + i] === needle[i]) i++;
    if (i === needle.length) return true;
  }
  return false;
}

/** Bytes written as hex digits: "e2 82 ac", "E282AC", "\xe2\x82\xac", "0xe2 0x82". */
export function parseHex(text: string): Uint8Array {
  const digits = text.replace(/\\x|0x|[\s,]/giu, "");
  if (!/^(?:[0-9a-f]{2})+$/iu.test(digits)) {
    throw new SearchError("Bytes are pairs of hex digits, such as e2 82 ac.");
  }
  return Uint8Array.from(digits.match(/../gu)!, (pair) => Number.parseInt(pair, 16));
}
