// The slow twin of the trainer: counts everything afresh before each merge. Plain and Picky, from the definitions.

import type { Options, Pretoken, TrainEvent } from "../src/training/trainer";

export function trainNaively(pretokens: readonly Pretoken[], options: Options, maxEvents = Infinity) {
  const segments = pretokens.map((pretoken) => Array.from(pretoken.bytes));
  const spelling: string[] = Array.from({ length: 256 }, (_, id) => String.fromCharCode(id));
  const parts: [number, number][] = [];
  const gone = new Set<number>();
  const events: TrainEvent[] = [];

  const replace = (pattern: number[], by: number[]): number => {
    let times = 0;
    for (const [n, pretoken] of pretokens.entries()) {
      const after: number[] = [];
      const before = segments[n]!;
      for (let i = 0; i < before.length; ) {
        if (pattern.every((id, k) => before[i + k] === id)) {
          after.push(...by);
          times += pretoken.count;
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
    pretokens.reduce((sum, pretoken, n) => sum + pretoken.count * segments[n]!.filter((one) => one === id).length, 0);
  const apart = (id: number): number[] => parts[id]!.flatMap((part) => (gone.has(part) ? apart(part) : [part]));

  while (spelling.length - gone.size < options.vocabSize && events.length < maxEvents) {
    const counts = new Map<string, { left: number; right: number; count: number }>();
    for (const [n, pretoken] of pretokens.entries()) {
      const segment = segments[n]!;
      for (let i = 1; i < segment.length; i++) {
        const [left, right] = [segment[i - 1]!, segment[i]!];
        const entry = counts.get(`${left} ${right}`) ?? { left, right, count: 0 };
        entry.count += pretoken.count;
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
