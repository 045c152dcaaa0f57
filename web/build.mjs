// Bundles the page into ../src/tokenmill/playground/static, or into the folder given as the first argument.
import { cp, mkdir } from "node:fs/promises";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const here = dirname(fileURLToPath(import.meta.url));
const out = process.argv[2] ?? join(here, "../src/tokenmill/playground/static");

await mkdir(out, { recursive: true });
await build({
  absWorkingDir: here, // so that the output does not depend on the current folder
  entryPoints: { app: "src/main.ts", worker: "src/worker.ts", style: "src/style.css" },
  outdir: out,
  bundle: true,
  splitting: true, // the page and the worker share the encoder
  chunkNames: "encoder",
  minify: true,
  format: "esm",
  target: ["chrome123", "firefox120", "safari17.5"],
  legalComments: "none",
  charset: "utf8",
  logLevel: "warning",
});
await cp(join(here, "src/index.html"), join(out, "index.html"));
await cp(join(here, "src/icon.svg"), join(out, "icon.svg"));
