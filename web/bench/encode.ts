// Times the encoder against gpt-tokenizer on the same text in the same process: node bench.mjs PACK TEXT... (see bench.mjs).
// Prints one line of JSON for each text. Ids are compared before anything is timed.

import { readFileSync } from "node:fs";
import { clearMergeCache, encode as theirs } from "gpt-tokenizer/encoding/cl100k_base";
import { Encoder } from "../src/encoder/encoder";
import { readPack } from "../src/encoder/pack";
import { splitterOf } from "../src/encoder/split";

const [packFile, ...texts] = process.argv.slice(2);

const load = performance.now();
const pack = await readPack(new Uint8Array(readFileSync(packFile!)));
const fresh = () => new Encoder(pack, splitterOf(pack));
let encoder = fresh();
const loadMs = performance.now() - load;

function time(run: () => unknown): number {
  const start = performance.now();
  run();
  return performance.now() - start;
}

for (const file of texts) {
  const text = readFileSync(file, "utf8");
  const bytes = Buffer.byteLength(text);
  const ids = encoder.encode(text, false).ids;
  const expected = theirs(text, { disallowedSpecial: new Set() });
  const same = ids.length === expected.length && expected.every((id, i) => id === ids[i]);
  const rounds: Record<string, number[]> = { oursCold: [], ours: [], theirsCold: [], theirs: [] };
  for (let round = 0; round < 5; round++) {
    encoder = fresh();
    rounds.oursCold!.push(time(() => encoder.encode(text, false)));
    encoder.encode("", false); // so that it does not reuse the tokens of the previous text, as it does during typing
    rounds.ours!.push(time(() => encoder.encode(text, false)));
    clearMergeCache();
    rounds.theirsCold!.push(time(() => theirs(text, { disallowedSpecial: new Set() })));
    rounds.theirs!.push(time(() => theirs(text, { disallowedSpecial: new Set() })));
  }
  console.log(JSON.stringify({ file, bytes, tokens: ids.length, same, loadMs, rounds }));
}
