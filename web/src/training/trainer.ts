// BPE training one event at a time, for display: plain, or Picky with a threshold.
//
// The invariants that the page shows and the tests hold:
//   counts     the count of a pair is the sum, over the pretokens, of its places in the pretoken times the pretoken's count
//   index      a pair's entry lists exactly the pretokens that contain it
//   queue      every pair with a count has an entry that is at least that count; entries of another count are stale
//   frequency  a token's frequency is the sum, over the pretokens, of its places times the pretoken's count

import { type Entry, PairQueue } from "./queue";

export interface Pretoken {
  bytes: Uint8Array;
  count: number;
}

export interface Token {
  bytes: Uint8Array;
  /** The pair it was first made from; null for the 256 bytes. */
  parts: readonly [number, number] | null;
  present: boolean;
}

export type TrainEvent = { kind: "merge"; left: number; right: number; id: number } | { kind: "remove"; id: number };

/** Intersection over self of a merged token: `used` of its `frequency` occurrences went into the merge. */
export interface Ios {
  id: number;
  used: number;
  frequency: number;
  value: number;
  removed: boolean;
}

/** The effects of one event. */
export interface Report {
  event: TrainEvent;
  /** Entries taken from the queue to find the pair, the pair's own last. */
  popped: { entry: Entry; now: number }[];
  /** How often the pair was merged (a merge), or the token replaced (a removal), weighted by pretoken counts. */
  times: number;
  /** Pretokens that changed, with their tokens before. */
  touched: { pretoken: number; before: readonly number[] }[];
  /** How the counts of pairs changed, by pair key. */
  deltas: Map<number, number>;
  /** A merge that made a token, brought one back, or only adds a way to make one. */
  outcome: "new" | "back" | "again" | "removed";
  ios: Ios[];
  /** The parts that replaced a removed token. */
  parts: readonly number[];
  /** The event by the bytes of its tokens, as hex digits: "merge 65 72", "remove 6572". */
  spelled: string;
}

/**
 * A mistake to show: "repush" drops an entry whose count has fallen, in place of pushing it again with its count; "seam" forgets
 * that the pairs on both sides of a merge occur less often.
 */
export type Fault = "none" | "repush" | "seam";

export interface Options {
  fault?: Fault;
  /** The threshold of Picky BPE, above 0 and at most 1; null trains plain BPE. */
  refine: number | null;
  /** Stop when this many tokens are present, the 256 bytes included. */
  vocabSize: number;
  minPairCount: number;
}

const SHIFT = 2 ** 21;

/** One number for a pair of ids. */
export function pairKey(left: number, right: number): number {
  return left * SHIFT + right;
}

export function pairOf(key: number): [number, number] {
  return [Math.floor(key / SHIFT), key % SHIFT];
}

function spelling(bytes: Uint8Array): string {
  return String.fromCharCode(...bytes);
}

export class Trainer {
  readonly pretokens: readonly Pretoken[];
  readonly options: Options;
  segments: (readonly number[])[] = [];
  tokens: Token[] = [];
  counts = new Map<number, number>();
  index = new Map<number, Set<number>>();
  queue = new PairQueue();
  frequency: number[] = [];
  present = 256;
  /** Pairs that each kind of trainer has visited so far; see `look` and `finish`. */
  work = { naive: 0, incremental: 0 };
  /** Positions of pairs in the distinct pretokens as currently segmented. */
  places = 0;
  private bySpelling = new Map<string, number>();
  private judged: Ios[] = [];

  constructor(pretokens: readonly Pretoken[], options: Options) {
    this.pretokens = pretokens;
    this.options = options;
    for (let id = 0; id < 256; id++) {
      this.tokens.push({ bytes: Uint8Array.of(id), parts: null, present: true });
      this.bySpelling.set(String.fromCharCode(id), id);
      this.frequency.push(0);
    }
    for (const [i, pretoken] of pretokens.entries()) {
      this.segments.push(Array.from(pretoken.bytes));
      this.account(i, 1, null);
    }
    for (const [key, count] of this.counts) this.enqueue(key, count);
    this.work.incremental = this.places;
  }

  /** An independent copy; immutable parts are shared. */
  clone(): Trainer {
    const copy: Trainer = Object.create(Trainer.prototype);
    Object.assign(copy, this, {
      segments: this.segments.slice(),
      tokens: this.tokens.slice(),
      counts: new Map(this.counts),
      index: new Map(Array.from(this.index, ([key, set]) => [key, new Set(set)])),
      queue: this.queue.clone(),
      frequency: this.frequency.slice(),
      work: { ...this.work },
      bySpelling: new Map(this.bySpelling),
      judged: this.judged.slice(),
    });
    return copy;
  }

  /** Carry out the next event and return it; null when training is over. */
  step(): Report | null {
    const judged = this.judged.shift();
    if (judged !== undefined) return this.remove(judged);
    if (this.present >= this.options.vocabSize) return null;
    const popped: Report["popped"] = [];
    for (;;) {
      const entry = this.queue.pop();
      if (entry === undefined) return null;
      const key = pairKey(entry.left, entry.right);
      const now = this.counts.get(key) ?? 0;
      popped.push({ entry, now });
      if (now === entry.count && now >= this.options.minPairCount) return this.merge(entry, popped);
      if (now === entry.count) return null; // the best pair is too rare: nothing after it is better
      if (now > 0 && this.options.fault !== "repush") this.enqueue(key, now);
    }
  }

  private merge(entry: Entry, popped: Report["popped"]): Report {
    const { left, right } = entry;
    const bytes = new Uint8Array([...this.tokens[left]!.bytes, ...this.tokens[right]!.bytes]);
    const known = this.bySpelling.get(spelling(bytes)); // bytes that are already a token keep their id
    const id = known ?? this.tokens.length;
    let outcome: Report["outcome"] = "new";
    if (known === undefined) {
      this.tokens.push({ bytes, parts: [left, right], present: true });
      this.frequency.push(0);
      this.bySpelling.set(spelling(bytes), id);
      this.present++;
    } else if (!this.tokens[id]!.present) {
      this.tokens[id] = { ...this.tokens[id]!, present: true };
      this.present++;
      outcome = "back";
    } else {
      outcome = "again";
    }
    const frequencies = [this.frequency[left]!, this.frequency[right]!];
    this.work.naive += 2 * this.places; // counts all pairs, then visits each again to merge it
    let times = 0;
    const pair = pairKey(left, right);
    const change = this.rewrite(this.index.get(pair) ?? [], pair, (before, count) => {
      const after: number[] = [];
      for (let i = 0; i < before.length; i++) {
        if (before[i] === left && before[i + 1] === right) {
          after.push(id);
          times += count;
          i++;
        } else {
          after.push(before[i]!);
        }
      }
      return after;
    });
    if (this.options.fault === "seam") this.counts.delete(pairKey(left, right)); // else it would stay the best pair
    const event: TrainEvent = { kind: "merge", left, right, id };
    const ios = this.judge(left, right, times, frequencies);
    const spelled = `merge ${this.digits(left)} ${this.digits(right)}`;
    return { event, popped, times, ...change, outcome, ios, parts: [], spelled };
  }

  /** The IoS of both halves of a merge; those that reach the threshold are removed by the next events. */
  private judge(left: number, right: number, times: number, frequencies: number[]): Ios[] {
    const refine = this.options.refine;
    if (refine === null) return [];
    const ios: Ios[] = [];
    const halves: [number, number][] =
      left === right
        ? [[left, 2 * times]]
        : [
            [left, times],
            [right, times],
          ];
    for (const [i, [id, used]] of halves.entries()) {
      const frequency = frequencies[i]!;
      const value = used / frequency;
      const removed = value >= refine && id >= 256;
      ios.push({ id, used, frequency, value, removed });
    }
    this.judged = ios.filter((one) => one.removed);
    return ios;
  }

  private remove(judged: Ios): Report {
    const { id } = judged;
    const token = this.tokens[id]!;
    const parts = this.apart(token.parts!);
    this.tokens[id] = { ...token, present: false };
    this.present--;
    this.work.naive += this.places; // searches all pretokens for the token
    const holders: number[] = [];
    for (const [i, segment] of this.segments.entries()) if (segment.includes(id)) holders.push(i);
    let times = 0;
    const change = this.rewrite(holders, -1, (before, count) => {
      times += count * before.filter((one) => one === id).length;
      return before.flatMap((one) => (one === id ? parts : [one]));
    });
    const event: TrainEvent = { kind: "remove", id };
    const spelled = `remove ${this.digits(id)}`;
    return { event, popped: [], times, ...change, outcome: "removed", ios: [judged], parts, spelled };
  }

  private digits(id: number): string {
    return Array.from(this.tokens[id]!.bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
  }

  private apart(parts: readonly [number, number]): number[] {
    return parts.flatMap((part) => (this.tokens[part]!.present ? [part] : this.apart(this.tokens[part]!.parts!)));
  }

  /** Resegment the given pretokens and update counts, index, queue and frequencies. `pair`: the merged pair's key, or -1. */
  private rewrite(
    pretokens: Iterable<number>,
    pair: number,
    segment: (before: readonly number[], count: number) => number[],
  ) {
    const deltas = new Map<number, number>();
    const touched: Report["touched"] = [];
    for (const pretoken of Array.from(pretokens).sort((a, b) => a - b)) {
      const before = this.segments[pretoken]!;
      this.work.incremental += before.length - 1;
      this.account(pretoken, -1, deltas);
      this.segments[pretoken] = segment(before, this.pretokens[pretoken]!.count);
      this.account(pretoken, 1, deltas);
      touched.push({ pretoken, before });
    }
    for (const [key, delta] of deltas) {
      if (this.options.fault === "seam" && delta < 0 && pair >= 0 && key !== pair) {
        this.counts.set(key, (this.counts.get(key) ?? 0) - delta);
        deltas.delete(key);
      }
      if (delta === 0) deltas.delete(key);
      if (delta > 0) this.enqueue(key, this.counts.get(key)!);
    }
    return { touched, deltas };
  }

  /** Add (sign 1) or subtract (sign -1) a pretoken's share of all counts. */
  private account(pretoken: number, sign: 1 | -1, deltas: Map<number, number> | null): void {
    const segment = this.segments[pretoken]!;
    const weight = sign * this.pretokens[pretoken]!.count;
    this.places += sign * Math.max(0, segment.length - 1);
    for (const [i, id] of segment.entries()) {
      this.frequency[id]! += weight;
      if (i === 0) continue;
      const key = pairKey(segment[i - 1]!, id);
      const count = (this.counts.get(key) ?? 0) + weight;
      if (count > 0) this.counts.set(key, count);
      else this.counts.delete(key);
      deltas?.set(key, (deltas.get(key) ?? 0) + weight);
      const pretokens = this.index.get(key);
      if (sign > 0) {
        if (pretokens) pretokens.add(pretoken);
        else this.index.set(key, new Set([pretoken]));
      } else if (pretokens) {
        pretokens.delete(pretoken);
        if (pretokens.size === 0) this.index.delete(key);
      }
    }
  }

  private enqueue(key: number, count: number): void {
    const [left, right] = pairOf(key);
    this.queue.push({ left, right, count });
  }
}
