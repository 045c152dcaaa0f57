// The merging of pretokens, held to the definitions written out as loops.

import assert from "node:assert/strict";
import { test } from "node:test";
import { hashBytes, toBytes } from "../src/encoder/bytes";
import { EventList, eventMerge } from "../src/encoder/events";
import { IdList } from "../src/encoder/ids";
import { type Merge, rankMerge } from "../src/encoder/merge";
import { PairRanks } from "../src/encoder/pairs";
import { ByteTable } from "../src/encoder/table";
import { Trainer } from "../src/training/trainer";
import { toPretokens } from "../src/training/words";

function dice(seed: number): (sides: number) => number {
  let state = seed >>> 0;
  return (sides) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return Math.floor((state / 2 ** 32) * sides);
  };
}

function word(roll: (sides: number) => number, letters: number, length: number): string {
  let text = "";
  for (let k = 0; k < length; k++) text += String.fromCharCode(97 + roll(letters));
  return text;
}

function merged(merge: Merge, parts: number[]): number[] {
  const out = new IdList(1);
  merge(Int32Array.from(parts), parts.length, out);
  return Array.from(out.data.subarray(0, out.length));
}

/** A trained model on random words: its trainer, and its events as the encoder takes them. */
function train(roll: (sides: number) => number, refine: number | null) {
  const words = new Map<string, number>();
  for (let n = 2 + roll(9); n > 0; n--) words.set(word(roll, 1 + roll(4), 1 + roll(14)), 1 + roll(6));
  const trainer = new Trainer(toPretokens(words), { refine, vocabSize: 258 + roll(30), minPairCount: 1 });
  const rows: [number, number, number][] = [];
  for (let report = trainer.step(); report !== null; report = trainer.step()) {
    const event = report.event;
    rows.push(event.kind === "merge" ? [event.left, event.right, event.id] : [event.id, -1, -1]);
  }
  return { trainer, rows };
}

function byListNaively(parts: number[], rows: [number, number, number][]): number[] {
  const ids = parts.slice();
  for (;;) {
    let best = rows.length;
    let at = -1;
    for (let i = 0; i + 1 < ids.length; i++) {
      const place = rows.findIndex(([left, right]) => left === ids[i] && right === ids[i + 1]);
      if (place >= 0 && place < best) [best, at] = [place, i];
    }
    if (at < 0) return ids;
    ids.splice(at, 2, rows[best]![2]);
  }
}

function byEventsNaively(parts: number[], rows: [number, number, number][]): number[] {
  let ids = parts;
  const pair = new Map<number, [number, number]>();
  const gone = new Set<number>();
  const apart = (id: number): number[] => pair.get(id)!.flatMap((part) => (gone.has(part) ? apart(part) : [part]));
  for (const [left, right, made] of rows) {
    const after: number[] = [];
    for (let i = 0; i < ids.length; i++) {
      if (right < 0 && ids[i] === left) after.push(...apart(left));
      else if (right >= 0 && ids[i] === left && ids[i + 1] === right) {
        after.push(made);
        i++;
      } else after.push(ids[i]!);
    }
    if (right < 0) gone.add(left);
    else {
      if (!pair.has(made)) pair.set(made, [left, right]);
      gone.delete(made);
    }
    ids = after;
  }
  return ids;
}

test("listed merges: array and heap equal the definition", () => {
  const roll = dice(1);
  for (let round = 0; round < 400; round++) {
    const { rows } = train(roll, null);
    const pairs = new PairRanks(null, 0);
    for (const [rank, [left, right]] of rows.entries()) pairs.add(left, right, rank);
    const merge = rankMerge(
      pairs,
      Int32Array.from(rows, (row) => row[2]),
    );
    for (const length of [0, 1, 2, 5, 30, 95, 96, 97, 200]) {
      const parts = Array.from(toBytes(word(roll, 1 + roll(4), length)));
      assert.deepEqual(merged(merge, parts), byListNaively(parts, rows));
    }
  }
});

test("rank order: neighbours whose joined bytes are a token, also where a byte is none", () => {
  const roll = dice(2);
  for (let round = 0; round < 200; round++) {
    const spellings = new Set<string>();
    for (let n = 0; n < 25; n++) spellings.add(word(roll, 3, 1 + roll(5)));
    const tokens = new ByteTable(1, 1);
    const add = (text: string) => {
      const bytes = toBytes(text);
      if (tokens.lookUp(bytes) < 0) tokens.add(bytes, 0, bytes.length, hashBytes(bytes, 0, bytes.length));
    };
    for (const text of spellings) add(text);
    const ordinary = tokens.size;
    for (const letter of "abc") add(letter);
    const id = (text: string) => tokens.lookUp(toBytes(text));
    const merge = rankMerge(new PairRanks(tokens, ordinary), null);
    for (const length of [1, 3, 20, 97, 150]) {
      const text = word(roll, 3, length);
      const parts = Array.from(text);
      for (;;) {
        let best = ordinary;
        let at = -1;
        for (let i = 0; i + 1 < parts.length; i++) {
          const found = id(parts[i]! + parts[i + 1]!);
          if (found >= 0 && found < best) [best, at] = [found, i];
        }
        if (at < 0) break;
        parts.splice(at, 2, parts[at]! + parts[at + 1]!);
      }
      assert.deepEqual(merged(merge, Array.from(text, id)), parts.map(id));
    }
  }
});

test("event order: the heap replays what the loop replays, and training's own segmentation", () => {
  const roll = dice(3);
  let removals = 0;
  for (let round = 0; round < 600; round++) {
    const { trainer, rows } = train(roll, [0.3, 0.5, 0.7, 0.9, 1][roll(5)]!);
    removals += rows.filter(([, right]) => right < 0).length;
    const column = (i: 0 | 1 | 2) => Int32Array.from(rows, (row) => row[i]);
    const merge = eventMerge(new EventList(column(0), column(1), column(2)));
    for (const [n, pretoken] of trainer.pretokens.entries()) {
      assert.deepEqual(merged(merge, Array.from(pretoken.bytes)), trainer.segments[n]);
    }
    for (const length of [1, 2, 7, 40, 200]) {
      const parts = Array.from(toBytes(word(roll, 1 + roll(4), length)));
      assert.deepEqual(merged(merge, parts), byEventsNaively(parts, rows));
    }
  }
  assert.ok(removals > 200);
});

test("a long run of one letter is not quadratic", () => {
  const { rows } = train(dice(9), null);
  const pairs = new PairRanks(null, 0);
  for (const [rank, [left, right]] of rows.entries()) pairs.add(left, right, rank);
  pairs.add(97, 97, rows.length);
  const made = Int32Array.from([...rows.map((row) => row[2]), 999]);
  assert.ok(merged(rankMerge(pairs, made), new Array(300_000).fill(97)).length >= 1);
});

test("the table finds what it holds, through growth and clearing", () => {
  const table = new ByteTable(1, 1);
  const words = Array.from({ length: 5000 }, (_, i) => toBytes(`word ${i * i}`));
  for (let round = 0; round < 2; round++) {
    for (const [i, bytes] of words.entries())
      assert.equal(table.add(bytes, 0, bytes.length, hashBytes(bytes, 0, bytes.length)), i);
    for (const [i, bytes] of words.entries()) assert.equal(table.lookUp(bytes), i);
    assert.equal(table.lookUp(toBytes("word -1")), -1);
    table.clear();
    assert.equal(table.lookUp(words[0]!), -1);
  }
});
