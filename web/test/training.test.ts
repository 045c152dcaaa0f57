import assert from "node:assert/strict";
import { test } from "node:test";
import { History } from "../src/training/history";
import { type Options, type Pretoken, pairKey, Trainer } from "../src/training/trainer";
import { countedWords, countPretokens, DEFAULT_WORDS, toPretokens } from "../src/training/words";
import { trainNaively } from "./naive";

const PLAIN: Options = { refine: null, vocabSize: 300, minPairCount: 1 };

function run(pretokens: Pretoken[], options: Options): Trainer {
  const trainer = new Trainer(pretokens, options);
  while (trainer.step() !== null);
  return trainer;
}

function events(pretokens: Pretoken[], options: Options) {
  const trainer = new Trainer(pretokens, options);
  const list = [];
  for (let report = trainer.step(); report !== null; report = trainer.step()) list.push(report.event);
  return { events: list, segments: trainer.segments };
}

/** A small, reproducible source of random numbers. */
function dice(seed: number): (sides: number) => number {
  let state = seed >>> 0;
  return (sides) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return Math.floor((state / 2 ** 32) * sides);
  };
}

function randomPretokens(roll: (sides: number) => number): Pretoken[] {
  const letters = 1 + roll(4);
  const pretokens = new Map<string, number>();
  for (let n = 1 + roll(9); n > 0; n--) {
    let word = "";
    for (let k = 1 + roll(12); k > 0; k--) word += String.fromCharCode(97 + roll(letters));
    pretokens.set(word, 1 + roll(6));
  }
  return toPretokens(pretokens);
}

test("words with counts are told from plain text", () => {
  assert.deepEqual(
    countedWords(DEFAULT_WORDS),
    new Map([
      ["low", 5],
      ["lower", 2],
      ["newer", 6],
    ]),
  );
  assert.deepEqual(
    countedWords("a b x2\nc\u00d73"),
    new Map([
      ["a b", 2],
      ["c", 3],
    ]),
  );
  assert.equal(countedWords("the box"), null);
  assert.equal(countedWords(""), null);
  assert.deepEqual(
    countPretokens(["a", "b", "a"]),
    new Map([
      ["a", 2],
      ["b", 1],
    ]),
  );
});

test("the textbook example merges what the textbook merges", () => {
  const trainer = run(toPretokens(countedWords(DEFAULT_WORDS)!), PLAIN);
  const made = trainer.tokens.slice(256).map((token) => String.fromCharCode(...token.bytes));
  assert.deepEqual(made, ["er", "wer", "lo", "ewer", "newer", "low", "lower"]);
  assert.deepEqual(trainer.segments, [[261], [262], [260]]);
});

test("plain and Picky events equal the slow twin's on random words", () => {
  const roll = dice(7);
  let removals = 0;
  let returns = 0;
  for (let round = 0; round < 1500; round++) {
    const pretokens = randomPretokens(roll);
    const refine = [null, 0.3, 0.5, 0.7, 0.9, 1][roll(6)]!;
    const options = { refine, vocabSize: 257 + roll(30), minPairCount: 1 + roll(2) };
    const ours = events(pretokens, options);
    const theirs = trainNaively(pretokens, options);
    assert.deepEqual(ours, theirs);
    const seen = new Set<number>();
    for (const event of ours.events) {
      if (event.kind === "remove") seen.add(event.id);
      else if (seen.has(event.id)) returns++;
    }
    removals += seen.size;
  }
  assert.ok(removals > 300 && returns > 10, `too tame: ${removals} removals, ${returns} second chances`);
});

test("counts, index, queue and frequencies hold after every event", () => {
  const roll = dice(11);
  for (let round = 0; round < 150; round++) {
    const pretokens = randomPretokens(roll);
    const trainer = new Trainer(pretokens, { refine: roll(2) ? 0.5 : null, vocabSize: 280, minPairCount: 1 });
    do {
      const counts = new Map<number, number>();
      const index = new Map<number, Set<number>>();
      const frequency = trainer.tokens.map(() => 0);
      let places = 0;
      for (const [n, segment] of trainer.segments.entries()) {
        for (const [i, id] of segment.entries()) {
          frequency[id]! += pretokens[n]!.count;
          if (i === 0) continue;
          const key = pairKey(segment[i - 1]!, id);
          places++;
          counts.set(key, (counts.get(key) ?? 0) + pretokens[n]!.count);
          index.set(key, (index.get(key) ?? new Set()).add(n));
        }
      }
      assert.deepEqual(new Map([...trainer.counts].sort()), new Map([...counts].sort()));
      assert.deepEqual(new Map([...trainer.index].sort()), new Map([...index].sort()));
      assert.deepEqual(trainer.frequency, frequency);
      assert.equal(trainer.places, places);
      const highest = new Map<number, number>();
      for (const { left, right, count } of trainer.queue.sorted()) {
        const key = pairKey(left, right);
        highest.set(key, Math.max(highest.get(key) ?? 0, count));
      }
      for (const [key, count] of counts) assert.ok((highest.get(key) ?? 0) >= count, "a pair is missing in the queue");
    } while (trainer.step() !== null);
  }
});

test("incremental training looks at fewer pairs than naive training", () => {
  const trainer = run(toPretokens(countedWords(DEFAULT_WORDS)!), PLAIN);
  assert.equal(trainer.work.incremental < trainer.work.naive / 2, true);
});

test("any step can be reached in any order, and is the same each time", () => {
  const pretokens = randomPretokens(dice(3));
  pretokens.push(
    ...toPretokens(
      new Map([
        ["abababababcabcabcacbacbab", 3],
        ["aaaaaaaaaaaa", 2],
      ]),
    ),
  );
  const options = { refine: 0.6, vocabSize: 300, minPairCount: 1 };
  const states: unknown[] = [];
  const trainer = new Trainer(pretokens, options);
  do {
    states.push(structuredClone(trainer.segments));
  } while (trainer.step() !== null);
  const history = new History(pretokens, options);
  const roll = dice(5);
  for (let round = 0; round < 200; round++) {
    const step = roll(states.length + 3);
    const moment = history.at(step);
    assert.equal(moment.step, Math.min(step, states.length - 1));
    assert.deepEqual(moment.trainer.segments, states[moment.step]);
    assert.equal(moment.report === null, moment.step === 0);
  }
  assert.equal(history.over, true);
  assert.equal(history.length, states.length - 1);
});
