// The slow twin of the trainer: counts everything afresh before each merge. Plain and Picky, from the definitions.

import type { Options, Piece, TrainEvent } from "../src/training/trainer";

export function trainNaively(pieces: readonly Piece[], options: Options, maxEvents = Infinity) {
  const segments = pieces.map((piece) => Array.from(piece.bytes));
  const spelling: string[] = Array.from({ length: 256 }, (_, id) => String.fromCharCode(id));
  const parts: [number, number][] = [];
  const gone = new Set<number>();
  const events: TrainEvent[] = [];

  const replace = (pattern: number[], by: number[]): number => {
    let times = 0;
    for (const [n, piece] of pieces.entries()) {
      const after: number[] = [];
      const before = segments[n]!;
      for (let i = 0; i < before.length; ) {
        if (pattern.every((id, k) => before[i + k] === id)) {
          after.push(...by);
          times += piece.count;
          i += pattern.length;
        } else {
          after.push(before[i++]!);
        }
      }
      segments[n] = after;
    }
    return times;
  };
  const frequency = (id: number) =>
    pieces.reduce((sum, piece, n) => sum + piece.count * segments[n]!.filter((one) => one === id).length, 0);
  const apart = (id: number): number[] => parts[id]!.flatMap((part) => (gone.has(part) ? apart(part) : [part]));

  while (spelling.length - gone.size < options.vocabSize && events.length < maxEvents) {
    const counts = new Map<string, { left: number; right: number; count: number }>();
    for (const [n, piece] of pieces.entries()) {
      const segment = segments[n]!;
      for (let i = 1; i < segment.length; i++) {
        const [left, right] = [segment[i - 1]!, segment[i]!];
        const entry = counts.get(`${left} ${right}`) ?? { left, right, count: 0 };
        entry.count += piece.count;
        counts.set(`${left} ${right}`, entry);
      }
    }
    const best = [...counts.values()].sort((a, b) => b.count - a.count || a.left - b.left || a.right - b.right)[0];
    if (best === undefined || best.count < options.minPairCount || best.count === 0) break;
    const { left, right } = best;
    const joined = spelling[left]! + spelling[right]!;
    let id = spelling.indexOf(joined);
    if (id < 0) {
      id = spelling.length;
      spelling.push(joined);
      parts[id] = [left, right];
    }
    gone.delete(id);
    const before = { [left]: frequency(left), [right]: frequency(right) };
    const times = replace([left, right], [id]);
    events.push({ kind: "merge", left, right, id });
    for (const half of new Set([left, right])) {
      const ios = ((left === right ? 2 : 1) * times) / before[half]!;
      if (options.refine === null || ios < options.refine || half < 256) continue;
      gone.add(half);
      replace([half], apart(half));
      events.push({ kind: "remove", id: half });
    }
  }
  return { events, segments };
}
