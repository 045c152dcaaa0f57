// Bundles bench/encode.ts and runs it: node bench.mjs PACK TEXT...
import { spawnSync } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const here = dirname(fileURLToPath(import.meta.url));
const out = await mkdtemp(join(tmpdir(), "tokenmill-bench-"));
try {
  const outfile = join(out, "encode.mjs");
  const options = { absWorkingDir: here, bundle: true, format: "esm", platform: "node", logLevel: "warning" };
  await build({ ...options, entryPoints: ["bench/encode.ts"], outfile });
  process.exitCode = spawnSync(process.execPath, [outfile, ...process.argv.slice(2)], { stdio: "inherit" }).status ?? 1;
} finally {
  await rm(out, { recursive: true, force: true });
}
