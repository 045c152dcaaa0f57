// How one pretoken becomes tokens, step by step: written for the page to show, from the definitions. It shares no code with
// the encoder's fast ways.

import { characterLength } from "./bytes";
import type { Pack } from "./pack";
import { NEVER, PairRanks } from "./pairs";

/** A part of the pretoken: an id, or -1 for bytes that are not a token. */
export interface Part {
  id: number;
  bytes: Uint8Array;
}

export interface Candidate {
  /** The rank of a merge, or the number of an event. */
  order: number;
  left: Uint8Array;
  right: Uint8Array;
}

export interface Step {
  kind: "merge" | "remove";
  order: number;
  /** The count of the merge in the training text, or the IoS of the removal; null where the tokenizer does not know it. */
  count?: number | null;
  /** What the step makes, or for a removal what it takes apart. */
  token: Part;
  left: Part | null;
  right: Part | null;
  /** All parts after the step, and which of them the step made. */
  parts: Part[];
  made: boolean[];
  waits: Waiting;
}

/** The neighbours that could merge next: the first of them in order, and how many more there are. */
export interface Waiting {
  first: Candidate[];
  more: number;
}

export interface Trace {
  start: Part[];
  /** What waits at the beginning. */
  waits: Waiting;
  steps: Step[];
  /** The token that the whole pretoken is, where it is looked up before any merge; the steps are what merging would do. */
  whole: Part | null;
  /** How many pretokens a superword joins; 1 for all others. */
  pretokens: number;
}

const LONGEST = 400; // bytes
const MOST_WAITING = 6;

const tracers = new WeakMap<Pack, Tracer>();

/** The steps of one pretoken, or of the pretokens of a superword; null if they are too long to show. */
export function trace(pack: Pack, pretoken: Uint8Array): Trace | null {
  if (pretoken.length > LONGEST) return null;
  const tracer = tracers.get(pack) ?? new Tracer(pack);
  tracers.set(pack, tracer);
  const start = tracer.start(pretoken);
  const whole = pack.header.whole_pretokens ? tracer.find(pretoken) : -1;
  const atoms = tracer.pretokensOf(tracer.find(pretoken));
  const found =
    pack.header.order !== "events"
      ? { waits: tracer.waiting(start, -1), steps: tracer.merge(start) }
      : atoms.length > 1
        ? tracer.superword(atoms)
        : { waits: tracer.waiting(start, -1), steps: tracer.replay(start) };
  for (const step of found.steps) step.count = pack.eventCounts?.[step.order] ?? null;
  return { start, ...found, whole: whole >= 0 ? { id: whole, bytes: pretoken } : null, pretokens: atoms.length };
}

class Tracer {
  private readonly rows = new Map<string, number[]>();
  private readonly superwords = new Map<string, number[]>(); // the rows of pairs that superwords join
  private readonly halves = new Map<number, [number, number]>(); // of superwords
  private readonly prefixes: PairRanks;

  constructor(private readonly pack: Pack) {
    const { header, left, right, tokens } = pack;
    this.prefixes = new PairRanks(tokens, header.size);
    if (header.order === "ranks") return;
    for (let row = 0; row < left.length; row++) {
      const rows = row < pack.events ? this.rows : this.superwords;
      const key = `${left[row]} ${right[row]}`;
      const known = rows.get(key);
      if (known) known.push(row);
      else rows.set(key, [row]);
      if (row >= pack.events) this.halves.set(pack.made[row]!, [left[row]!, right[row]!]);
    }
  }

  find(bytes: Uint8Array): number {
    const id = this.pack.tokens.lookUp(bytes);
    return id < this.pack.header.size ? id : -1;
  }

  /** The bytes or characters that merging begins with. */
  start(pretoken: Uint8Array): Part[] {
    const { alphabet, order, byte_tokens: fallback } = this.pack.header;
    const parts: Part[] = [];
    const byCharacter = alphabet === "characters" && order !== "ranks";
    for (let at = 0; at < pretoken.length; ) {
      const end = Math.min(pretoken.length, at + (byCharacter ? characterLength(pretoken[at]!) : 1));
      const bytes = pretoken.subarray(at, end);
      const id = this.find(bytes);
      if (id >= 0 || fallback.length === 0) parts.push({ id, bytes });
      else for (const byte of bytes) parts.push({ id: fallback[byte]!, bytes: Uint8Array.of(byte) });
      at = end;
    }
    return parts;
  }

  /** The steps of ranks, listed merges and scores: the lowest rank first, all its places from left to right. */
  merge(start: Part[], rows = this.rows): Step[] {
    const steps: Step[] = [];
    let parts = start;
    for (;;) {
      const ranks = parts.slice(1).map((right, i) => this.rankOf(parts[i]!, right, -1, rows));
      const best = Math.min(NEVER, ...ranks);
      if (best === NEVER) return steps;
      const at = ranks.indexOf(best);
      const [left, right] = [parts[at]!, parts[at + 1]!];
      const last = steps.at(-1);
      const again = last?.order === best && last.left?.id === left.id && last.right?.id === right.id;
      const token = { id: this.madeBy(best, left, right), bytes: joined(left, right) };
      const before: boolean[] = again ? last.made : parts.map(() => false);
      const made = [...before.slice(0, at), true, ...before.slice(at + 2)];
      parts = [...parts.slice(0, at), token, ...parts.slice(at + 2)];
      const step: Step = {
        kind: "merge",
        order: best,
        token,
        left,
        right,
        parts,
        made,
        waits: this.waiting(parts, -1, rows),
      };
      if (again) steps[steps.length - 1] = step;
      else steps.push(step);
    }
  }

  /** The tokens of the pretokens that a superword joins; those of another token are the token. */
  pretokensOf(id: number): number[] {
    return this.halves.get(id)?.flatMap((half) => this.pretokensOf(half)) ?? [id];
  }

  /** The steps of a superword: those of each of its pretokens, which become the tokens `atoms`, then its own merges. */
  superword(atoms: readonly number[]): { waits: Waiting; steps: Step[] } {
    const whole = atoms.map((id) => this.part(id));
    const starts = whole.map((part) => this.start(part.bytes));
    const steps = starts.flatMap((start, i) => {
      const [before, after] = [whole.slice(0, i), starts.slice(i + 1).flat()];
      const later = starts.slice(i + 1).flatMap((one) => this.candidates(one, -1));
      const others = (parts: readonly Part[]) => {
        const done = parts.length === 1 ? [...before, ...parts] : before;
        return [...later, ...this.candidates(done, -1, this.superwords)];
      };
      return this.replay(start, others).map((step) => ({
        ...step,
        parts: [...before, ...step.parts, ...after],
        made: [...before.map(() => false), ...step.made, ...after.map(() => false)],
      }));
    });
    const all = starts.flatMap((start) => this.candidates(start, -1));
    return { waits: this.waiting([], -1, this.rows, all), steps: [...steps, ...this.merge(whole, this.superwords)] };
  }

  /** The steps of a Picky vocabulary: event after event, those that do something here. `others`: what waits elsewhere. */
  replay(start: Part[], others: (parts: readonly Part[]) => Candidate[] = () => []): Step[] {
    const { left, right, made: makes, events } = this.pack;
    const steps: Step[] = [];
    const first = new Map<number, [number, number]>(); // the pair that first made a token
    const gone = new Set<number>();
    let parts = start;
    for (let event = 0; event < events; event++) {
      const [a, b, id] = [left[event]!, right[event]!, makes[event]!];
      if (b >= 0) {
        if (!first.has(id)) first.set(id, [a, b]);
        gone.delete(id);
      }
      const apart = (one: number): number[] =>
        first.get(one)!.flatMap((half) => (gone.has(half) ? apart(half) : [half]));
      const found =
        b < 0 ? parts.some((part) => part.id === a) : parts.some((part, i) => part.id === a && parts[i + 1]?.id === b);
      const pieces = b < 0 && found ? apart(a).map((one) => this.part(one)) : [];
      if (b < 0) gone.add(a);
      if (!found) continue;
      const [now, made] = b < 0 ? replaced(parts, a, pieces) : merged(parts, a, b, this.part(id));
      parts = now;
      const token = this.part(b < 0 ? a : id);
      const halves = b < 0 ? [null, null] : [this.part(a), this.part(b)];
      const kind = b < 0 ? "remove" : "merge";
      steps.push({
        kind,
        order: event,
        token,
        left: halves[0]!,
        right: halves[1]!,
        parts,
        made,
        waits: this.waiting(parts, event, this.rows, others(parts)),
      });
    }
    return steps;
  }

  private part(id: number): Part {
    const { starts, arena } = this.pack.tokens;
    return { id, bytes: arena.slice(starts[id]!, starts[id + 1]!) };
  }

  /** The rank of a pair: for a Picky vocabulary its next event after `event`. */
  private rankOf(left: Part, right: Part, event: number, all = this.rows): number {
    const { header, made } = this.pack;
    if (left.id < 0 || right.id < 0) return NEVER;
    if (header.order === "ranks") return this.prefixes.rank(left.id, right.id);
    const rows = all.get(`${left.id} ${right.id}`);
    let row = rows?.find((one) => one > event) ?? NEVER;
    if (header.order === "scores" && row !== NEVER) while (row > 0 && made[row - 1] === made[row]) row--;
    return row;
  }

  private madeBy(rank: number, left: Part, right: Part): number {
    return this.pack.header.order === "ranks" ? this.find(joined(left, right)) : this.pack.made[rank]!;
  }

  private candidates(parts: readonly Part[], event: number, rows = this.rows): Candidate[] {
    const all = parts.slice(1).map((right, i): Candidate => {
      const left = parts[i]!;
      return { order: this.rankOf(left, right, event, rows), left: left.bytes, right: right.bytes };
    });
    return all.filter((one) => one.order !== NEVER);
  }

  /** What waits among the parts after `event`, and `others` with it. */
  waiting(parts: readonly Part[], event: number, rows = this.rows, others: readonly Candidate[] = []): Waiting {
    const all = new Map([...this.candidates(parts, event, rows), ...others].map((one) => [one.order, one]));
    const first = Array.from(all.values()).sort((a, b) => a.order - b.order);
    return { first: first.slice(0, MOST_WAITING), more: Math.max(0, first.length - MOST_WAITING) };
  }
}

function joined(left: Part, right: Part): Uint8Array {
  return new Uint8Array([...left.bytes, ...right.bytes]);
}

function replaced(parts: readonly Part[], id: number, pieces: Part[]): [Part[], boolean[]] {
  const made = parts.flatMap((part) => (part.id === id ? pieces.map(() => true) : [false]));
  return [parts.flatMap((part) => (part.id === id ? pieces : [part])), made];
}

function merged(parts: readonly Part[], left: number, right: number, token: Part): [Part[], boolean[]] {
  const [now, made]: [Part[], boolean[]] = [[], []];
  for (let i = 0; i < parts.length; i++) {
    const here = parts[i]!.id === left && parts[i + 1]?.id === right;
    now.push(here ? token : parts[i]!);
    made.push(here);
    if (here) i++;
  }
  return [now, made];
}
