// The encoder on tokenizer files that are rare: missing bytes, added tokens of white space, and files that it refuses.

import assert from "node:assert/strict";
import { test } from "node:test";
import { AddedTokens } from "../src/encoder/added";
import { toBytes } from "../src/encoder/bytes";
import { Encoder } from "../src/encoder/encoder";
import { readTokenizerFile } from "../src/encoder/files";
import { splitterOf } from "../src/encoder/split";

const BYTE_LEVEL = { type: "ByteLevel", add_prefix_space: false, use_regex: false };

/** A packed file of no split patterns at all. */
function noSplits(): Uint8Array {
  const header = toBytes(JSON.stringify({ version: 1, names: {}, patterns: {}, widths: [], sections: [] }));
  return Uint8Array.of(...toBytes("TMP1"), header.length, 0, 0, 0, ...header);
}

async function read(root: object): Promise<Encoder> {
  const file = toBytes(JSON.stringify({ pre_tokenizer: BYTE_LEVEL, added_tokens: [], ...root }));
  const pack = await readTokenizerFile(file, { file: "tokenizer.json", split: null, splits: noSplits() });
  return new Encoder(pack, splitterOf(pack));
}

function model(tokens: string[], more: object = {}) {
  return { type: "BPE", vocab: Object.fromEntries(tokens.map((token, id) => [token, id])), merges: [], ...more };
}

test("an unknown token in a vocabulary of bytes stands for one byte", async () => {
  const encoder = await read({ model: model(["<unk>", "a", "b", "\u00a9"], { unk_token: "<unk>" }) });
  const { ids, ends, units } = encoder.encode("a\u00e9b", false); // C3 is unknown, A9 is not
  assert.deepEqual(
    [Array.from(ids), Array.from(ends), Array.from(units)],
    [
      [1, 0, 3, 2],
      [1, 2, 3, 4],
      [1, 2, 2, 3],
    ],
  );
});

test("white space belongs to one added token only", () => {
  const flags = { special: false, single_word: false, normalized: false };
  const stripping = { content: "  ", id: 1, lstrip: true, rstrip: true, ...flags };
  const other = { content: "x", id: 2, lstrip: true, rstrip: false, ...flags };
  const sections = new AddedTokens([stripping, other], []).split("a       xb", false);
  assert.deepEqual(
    sections.map(({ text, token }) => [text, token?.id ?? null]),
    [
      ["a", null],
      ["       ", 1],
      ["x", 2],
      ["b", null],
    ],
  );
});

test("files that other rules encode are refused", async () => {
  const mark = { type: "Metaspace", replacement: "_", prepend_scheme: "never", split: false };
  const bytes = Array.from({ length: 256 }, (_, byte) => `<0x${byte.toString(16).toUpperCase().padStart(2, "0")}>`);
  const added = { content: "b", id: 9, special: false };
  const cases: [object, RegExp][] = [
    [{ model: model(["<unk>", "a"], { unk_token: "<unk>", fuse_unk: true }) }, /fuse_unk/],
    [
      { pre_tokenizer: mark, model: model(["a", "_", ...bytes], { byte_fallback: true, ignore_merges: true }) },
      /ignore_merges/,
    ],
    [
      { model: model(["a"]), pre_tokenizer: { type: "Sequence", pretokenizers: [BYTE_LEVEL, { type: "Digits" }] } },
      /Digits after ByteLevel/,
    ],
    [{ model: model(["a"]), added_tokens: [added] }, /has the id 9 instead of 1/],
    [
      {
        pre_tokenizer: mark,
        model: model(["a", "_", ...bytes], { byte_fallback: true }),
        added_tokens: [{ ...added, content: "a b", id: 258, normalized: true }],
      },
      /found before spaces become _/,
    ],
    [
      { model: model(["\u0120"], { ignore_merges: true }), added_tokens: [{ ...added, content: "\u0120", id: 0 }] },
      /other text can become its token/,
    ],
  ];
  for (const [root, message] of cases) await assert.rejects(read(root), message);
});

test("damaged files are refused", async () => {
  const damaged: [object, RegExp][] = [
    [{ model: { ...model([]), vocab: { a: 1.5 } } }, /the id of a is 1.5/],
    [{ model: { ...model([]), vocab: { a: 4_000_000 } } }, /the id of a is 4000000/],
    [{ model: { ...model([]), vocab: { a: 1, b: 1 } } }, /the id 1 of b is that of another token/],
    [{ model: model(["a"], { merges: [7] }) }, /is damaged/],
  ];
  for (const [root, message] of damaged) await assert.rejects(read(root), message);
  const lists: [string, RegExp][] = [
    ["YQ== 0\nYg== x", /line 2 is not a token/],
    ["YQ== 0\nYg 1", /line 2 is not a token/],
    ["YQ== 0\nYg== 0", /the id 0 of line 2 is that of another token/],
    ["YQ== 0\nYQ== 1", /line 2 repeats a token/],
    ["YQ== 0\nYg== 99999999", /the id of line 2 is 99999999/],
  ];
  for (const [text, message] of lists) {
    const reading = { file: "a.tiktoken", split: null, splits: noSplits() };
    await assert.rejects(readTokenizerFile(toBytes(`${text}\n`), reading), message);
  }
});
