// The parts of the page that need no browser.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { align, breakLines, figures, nextWhole, showsBytes, withClusters } from "../src/compare";
import { toBytes } from "../src/encoder/bytes";
import type { Encoded } from "../src/encoder/encoder";
import { INSIDE_CHARACTER } from "../src/encoder/flags";
import { parseHex, SearchError } from "../src/encoder/lookup";
import { directionMarks } from "../src/ui/bidi";
import { fromFragment, toFragment } from "../src/ui/fragment";
import { toSvg } from "../src/ui/picture";
import { hex, label, partial, quoted, visible } from "../src/ui/show";
import { tokenBytes, tokenText } from "../src/ui/tokentext";

/** An encoded text with cuts at these byte offsets. */
function encoded(text: string, ends: number[]): Encoded {
  const bytes = toBytes(text);
  const decoder = new TextDecoder();
  const inside = ends.map((end) => (bytes[end] ?? 0) >= 0x80 && (bytes[end] ?? 0) < 0xc0);
  const units = ends.map((end, i) => {
    let whole = end;
    while (inside[i] && (bytes[whole] ?? 0) >= 0x80 && (bytes[whole] ?? 0) < 0xc0) whole++;
    return decoder.decode(bytes.subarray(0, whole)).length;
  });
  return {
    ids: Int32Array.from(ends),
    ends: Int32Array.from(ends),
    units: Int32Array.from(units),
    flags: Uint8Array.from(inside, (one) => (one ? INSIDE_CHARACTER : 0)),
    bytes: bytes.length,
    characters: Array.from(text).length,
    text,
  };
}

test("white space, control characters and bytes are shown", () => {
  assert.equal(visible("a b\n\t\u0000\u200b"), "a\u00b7b\u23ce\n\u21e5\u27e8NUL\u27e9\u27e8ZWSP\u27e9");
  assert.equal(visible("\n", false), "\u23ce");
  assert.equal(hex(Uint8Array.of(0, 171)), "00 AB");
  assert.equal(label(toBytes(" \u00e9")), "\u00b7\u00e9");
  assert.equal(label(Uint8Array.of(32, 0xe6, 0x97)), "\u00b7\\xE6\\x97");
  assert.equal(partial(Uint8Array.of(0x80, 97, 0xf0, 0x9f), ""), "80aF09F");
  assert.equal(quoted(Uint8Array.of(0xff)), '"\\xFF"');
});

test("tokens inside a character give their own bytes", () => {
  const text = "a\u{1f44d}b";
  const one = encoded(text, [1, 3, 4, 6]);
  assert.deepEqual(Array.from(tokenBytes(one, 1)), [0xf0, 0x9f]);
  assert.deepEqual(Array.from(tokenBytes(one, 2)), [0x91]);
  assert.deepEqual(Array.from(tokenBytes(one, 3)), [0x8d, 98]);
  assert.deepEqual(tokenText(one, 0), { text: "a", whole: true });
  assert.deepEqual(tokenText(one, 3), { text: "8Db", whole: false });
});

test("encodings are aligned by their cuts", () => {
  const text = "the cat\nsat";
  const a = encoded(text, [3, 7, 8, 11]);
  const b = encoded(text, [1, 3, 8, 11]);
  const aligned = align([a, b]);
  assert.deepEqual(Array.from(aligned.cuts), [0, 1, 3, 7, 8, 11]);
  assert.deepEqual(Array.from(aligned.makers), [3, 2, 3, 1, 3, 3]);
  assert.deepEqual(figures(aligned, [a, b]), [
    { tokens: 4, alone: 1, missing: 1 },
    { tokens: 4, alone: 1, missing: 1 },
  ]);
  const lines = breakLines(aligned, text, 80);
  assert.deepEqual(lines, [
    { from: 0, to: 4, same: false },
    { from: 4, to: 5, same: true },
  ]);
});

test("a grapheme cluster with a cut inside has edges, and the others have none", () => {
  const text = "x\u0928\u092e\u0938\u094d\u0924\u0947y e\u0301!"; // x, na, ma, ste (or s and te), y, \u00e9
  const ends = [1, 13, 20, 22, 25]; // after x, inside ste, before the space, inside \u00e9, the end
  const aligned = withClusters(align([encoded(text, ends), encoded(text, [25])]), text);
  const edges = [];
  for (let cut = 0; cut < aligned.cuts.length; cut = nextWhole(aligned, cut)) edges.push(aligned.units[cut]!);
  for (const edge of edges) assert.doesNotMatch(text.slice(edge, edge + 1), /\p{M}/u);
  assert.ok(edges.includes(1) && edges.includes(9) && edges.includes(11) && edges.at(-1) === text.length);
  assert.equal(showsBytes(aligned, 0, aligned.cuts.length - 1), false);
  for (const [cut, byte] of aligned.cuts.entries())
    assert.equal(toBytes(text.slice(0, aligned.units[cut])).length, byte);
  assert.deepEqual(
    figures(aligned, [encoded(text, ends), encoded(text, [25])]).map((one) => one.tokens),
    [5, 1],
  );
});

test("every stretch of an aligned text is in one line, whatever the width", () => {
  const text = "word \u65e5\u672c\u8a9e \u{1f44d} ".repeat(40);
  const bytes = toBytes(text).length;
  const cuts = (step: number) =>
    Array.from({ length: Math.floor(bytes / step) }, (_, i) => (i + 1) * step).concat(bytes);
  const lanes = [cuts(3), cuts(4), cuts(7)].map((ends) => encoded(text, [...new Set(ends)]));
  const aligned = withClusters(align(lanes), text);
  for (const columns of [5, 20, 77, 10_000]) {
    const lines = breakLines(aligned, text, columns);
    let at = 0;
    for (const line of lines) {
      assert.equal(line.from, at);
      assert.ok(line.to > line.from);
      at = line.to;
    }
    assert.equal(at, aligned.cuts.length - 1);
  }
});

test("a picture of any text is XML", () => {
  const word = { text: ']]>&<"\u0000\u001b\ud800\ufffe\t', x: 0, y: 0, font: "12px a", rtl: false };
  const svg = toSvg({ width: 1, height: 1, ground: "#fff", ink: "#000", boxes: [], words: [word] });
  assert.ok(svg.includes(">]]&gt;&amp;&lt;&quot;\ufffd\ufffd\ufffd\ufffd\t</text>"));
});

test("a link gives back what it was made of, and refuses what is damaged", async () => {
  const place = {
    view: "compare",
    tokenizer: "c&d=#",
    fingerprints: new Map([
      ["c&d=#", "d61ee7263bd6"],
      ["third", "0123456789ab"],
    ]),
    merges: 1200,
    controls: { search: "a&b", picky: "1" },
    tokenizers: ["a b", "c&d=#", "third"],
    text: "Gr\u00fc\u00dfe \u{1f44d} #&=%\n".repeat(50),
    damaged: false,
    words: "low x5, \u65e5 x2",
  };
  const fragment = await toFragment(place);
  assert.deepEqual(await fromFragment(fragment), place);
  assert.ok(fragment.length < 400);
  assert.deepEqual(await fromFragment("#text=%%%"), {
    view: "",
    tokenizer: "",
    fingerprints: new Map(),
    merges: null,
    tokenizers: [],
    text: null,
    damaged: true,
    words: null,
    controls: {},
  });
  const bomb = await toFragment({ ...place, text: "a".repeat(5_000_000) });
  assert.equal((await fromFragment(bomb)).text, null);
});

test("marks keep the order of right-to-left boxes and of the digits in a number", () => {
  const [ltr, rtl, isolate, end] = ["\u200e", "\u200f", "\u2066", "\u2069"];
  assert.deepEqual(directionMarks(["ab", " ", "\u05e9", "", "(", "19", "48", ".", "5", ".", "\n", "7"]), [
    [ltr, ltr],
    ["", ""],
    [rtl, rtl],
    [rtl, rtl],
    ["", ""],
    [rtl + isolate, ""],
    ["", ""],
    ["", ""],
    ["", end + rtl],
    ["", ""],
    ["", ""],
    [isolate, end],
  ]);
});

test("bytes are read from hex digits", () => {
  assert.deepEqual(Array.from(parseHex("e2 82AC \\xff 0x00")), [0xe2, 0x82, 0xac, 0xff, 0]);
  for (const wrong of ["", "e", "xyz", "e2 8"]) assert.throws(() => parseHex(wrong), SearchError);
});

// Machado, Oliveira and Fernandes 2009: what colours become for people who lack one kind of cone.
const VISION: Record<string, number[][]> = {
  full: [
    [1, 0, 0],
    [0, 1, 0],
    [0, 0, 1],
  ],
  protanopia: [
    [0.152286, 1.052583, -0.204868],
    [0.114503, 0.786281, 0.099216],
    [-0.003882, -0.048116, 1.051998],
  ],
  deuteranopia: [
    [0.367322, 0.860646, -0.227968],
    [0.280085, 0.672501, 0.047413],
    [-0.01182, 0.04294, 0.968881],
  ],
  tritanopia: [
    [1.255528, -0.076749, -0.178779],
    [-0.078411, 0.930809, 0.147602],
    [0.004733, 0.691367, 0.3039],
  ],
};

function times(matrix: number[][], vector: number[]): number[] {
  return matrix.map((row) => row.reduce((sum, cell, i) => sum + cell * vector[i]!, 0));
}

/** The place of a colour, as seen with a kind of vision, in CIELAB, where distances are about as the eye has them. */
function lab(colour: string, vision: number[][]): number[] {
  const linear = [1, 3, 5].map((i) => {
    const value = Number.parseInt(colour.slice(i, i + 2), 16) / 255;
    return value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4;
  });
  const seen = times(vision, linear).map((value) => Math.min(1, Math.max(0, value)));
  const xyz = times(
    [
      [0.4124564, 0.3575761, 0.1804375],
      [0.2126729, 0.7151522, 0.072175],
      [0.0193339, 0.119192, 0.9503041],
    ],
    seen,
  );
  const [x, y, z] = xyz.map((value, i) => {
    const ratio = value / [0.95047, 1, 1.08883][i]!;
    return ratio > 0.008856 ? Math.cbrt(ratio) : 7.787 * ratio + 16 / 116;
  });
  return [116 * y! - 16, 500 * (x! - y!), 200 * (y! - z!)];
}

test("any two token colours can be told apart with any kind of colour vision", () => {
  const css = readFileSync(join(process.cwd(), "src/styles/base.css"), "utf8");
  const pairs = Array.from(css.matchAll(/--c[0-9]: light-dark\((#[0-9a-f]{6}), (#[0-9a-f]{6})\)/g));
  assert.equal(pairs.length, 5);
  for (const side of [1, 2]) {
    for (const [kind, vision] of Object.entries(VISION)) {
      const places = pairs.map((pair) => lab(pair[side]!, vision));
      for (let a = 0; a < places.length; a++) {
        for (let b = 0; b < a; b++) {
          const distance = Math.hypot(...places[a]!.map((value, i) => value - places[b]![i]!));
          assert.ok(distance > 17, `colours ${a} and ${b} are ${distance.toFixed(1)} apart with ${kind}`);
        }
      }
    }
  }
});
