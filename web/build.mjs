// Bundles the page into ../src/tokenmill/playground/static, or into the folder given as the first argument.
import { cp, mkdir, readFile, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const here = dirname(fileURLToPath(import.meta.url));
const out = process.argv[2] ?? join(here, "../src/tokenmill/playground/static");

await mkdir(out, { recursive: true });
const { metafile } = await build({
  metafile: true,
  absWorkingDir: here, // so that the output does not depend on the current folder
  entryPoints: { file: "src/file.ts", app: "src/main.ts", worker: "src/worker.ts", style: "src/style.css" },
  outdir: out,
  bundle: true,
  minify: true,
  format: "iife", // so that an export as one file can hold them inline
  target: ["chrome123", "firefox120", "safari17.5"],
  legalComments: "none",
  charset: "utf8",
  logLevel: "warning",
});
await cp(join(here, "src/index.html"), join(out, "index.html"));
await cp(join(here, "src/icon.svg"), join(out, "icon.svg"));

// The licences of the packages that are in the bundle.
const bundled = Object.values(metafile.outputs).flatMap((output) => Object.keys(output.inputs));
const packages = new Set(bundled.map((path) => /node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(path)?.[1]).filter(Boolean));
const licences = await Promise.all(
  Array.from(packages)
    .sort()
    .map(async (name) => `${name}\n\n${await readFile(join(here, "node_modules", name, "LICENSE"), "utf8")}`),
);
await writeFile(join(out, "licenses.txt"), licences.join("\n\n"));
