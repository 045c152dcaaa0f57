// Blocks of tokens: complete, and where they were after an edit.

import assert from "node:assert/strict";
import { test } from "node:test";
import type { Encoded } from "../src/encoder/encoder";
import { Blocks } from "../src/ui/blocks";

/** A text of which every character is a token. */
function encoded(text: string): Encoded {
  const ends = Int32Array.from(text, (_, i) => i + 1);
  const ids = Int32Array.from(text, (char) => char.charCodeAt(0));
  const flags = new Uint8Array(text.length);
  return { ids, ends, units: ends, flags, bytes: text.length, characters: text.length, text };
}

function dice(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (Math.imul(state, 1103515245) + 12345) & 0x7fffffff;
    return (state >> 8) % below;
  };
}

function lines(count: number, roll: (below: number) => number): string {
  return Array.from({ length: count }, () => `${"abcdefgh".repeat(40).slice(0, roll(320))}\n`).join("");
}

/** What holds of blocks whatever came before. */
function check(blocks: Blocks, text: string): void {
  const { starts, heights, offsets, count } = blocks;
  assert.equal(starts.length, count + 1);
  assert.equal(starts[0], 0);
  assert.equal(starts[count], text.length);
  for (let i = 0; i < count; i++) {
    assert.ok(starts[i + 1]! > starts[i]! && starts[i + 1]! - starts[i]! < 600);
    assert.ok(heights[i]! > 0);
    assert.equal(offsets[i + 1], offsets[i]! + heights[i]!);
  }
}

test("blocks hold every token once, through any edits", () => {
  for (const start of ["", "a".repeat(3000), lines(40, dice(3))]) {
    const roll = dice(start.length + 1);
    const blocks = new Blocks();
    let text = start;
    blocks.update(encoded(text), 600);
    check(blocks, text);
    for (let i = 0; i < 600; i++) {
      const at = roll(text.length + 1);
      const put = ["x", "x", "\n", "yz", "", "word ".repeat(roll(90)), "\n\n\n"][roll(7)]!;
      text = text.slice(0, at) + put + text.slice(at + [0, 0, 1, 1, 5, roll(400)][roll(6)]!);
      blocks.update(encoded(text), 600);
      check(blocks, text);
    }
  }
});

test("blocks away from an edit stay, with the heights that were measured", () => {
  const text = lines(60, dice(5));
  const blocks = new Blocks();
  blocks.update(encoded(text), 600);
  blocks.heights.forEach((_, i) => {
    blocks.heights[i] = 1000 + i;
  });
  blocks.sum(0);
  const before = { starts: blocks.starts, heights: blocks.heights };
  const at = text.length >> 1;
  blocks.update(encoded(`${text.slice(0, at)}k${text.slice(at)}`), 600);
  const same = (i: number) => blocks.starts[i] === before.starts[i] && blocks.heights[i] === before.heights[i];
  const changed = before.heights.findIndex((_, i) => !same(i));
  assert.ok(changed > 5 && before.starts[changed + 1]! > at && before.starts[changed]! <= at);
  const [left, leftBefore] = [blocks.count - changed, before.heights.length - changed];
  for (let i = 1; i < Math.min(left, leftBefore) - 2; i++) {
    assert.equal(blocks.heights[blocks.count - i], before.heights[before.heights.length - i]);
    assert.equal(blocks.starts[blocks.count - i], before.starts[before.heights.length - i]! + 1);
  }
});

test("a text typed at its end, and one without lines, make no stumps of blocks", () => {
  const blocks = new Blocks();
  let text = "";
  for (let i = 0; i < 2000; i++) {
    text += "ab "[i % 3];
    blocks.update(encoded(text), 600);
  }
  const sizes = Array.from({ length: blocks.count }, (_, i) => blocks.starts[i + 1]! - blocks.starts[i]!);
  const closed = sizes.slice(0, -1); // the last one grows
  assert.ok(
    closed.every((size) => size >= 120),
    String(sizes),
  );
});
