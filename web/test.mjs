// Bundles test/*.test.ts into a temporary folder and runs node's own test runner on them.
import { spawnSync } from "node:child_process";
import { mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const here = dirname(fileURLToPath(import.meta.url));
const out = await mkdtemp(join(tmpdir(), "tokenmill-web-"));
try {
  const tests = (await readdir(join(here, "test"))).filter((name) => name.endsWith(".test.ts"));
  await build({
    absWorkingDir: here,
    entryPoints: tests.map((name) => `test/${name}`),
    outdir: out,
    outExtension: { ".js": ".mjs" },
    bundle: true,
    format: "esm",
    platform: "node",
    sourcemap: "inline",
    logLevel: "warning",
  });
  const files = tests.map((name) => join(out, name.replace(/\.ts$/, ".mjs")));
  process.exitCode =
    spawnSync(process.execPath, ["--enable-source-maps", "--test", ...files], { cwd: here, stdio: "inherit" }).status ??
    1;
} finally {
  await rm(out, { recursive: true, force: true });
}
