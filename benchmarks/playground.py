"""The playground in a real browser: from key press to repaint; the page's encoder beside gpt-tokenizer; sizes.

    python -m benchmarks.playground            needs Chromium, Playwright, and `npm ci` in web/

A key press is timed inside the page, from the keydown event's own time stamp to the first frame after which the new
tokens are painted (a message posted from the animation frame that follows the change of the token count). Keys are
pressed one after the other with pauses, in the middle of the text. The encoder and gpt-tokenizer encode the same text
in the same process, in turn, after their ids were compared.
"""

from __future__ import annotations

import http.server
import json
import os
import random
import shutil
import statistics
import subprocess
import tempfile
import threading
from functools import partial
from pathlib import Path

from .harness import ROOT, SHARED, corpus_file, save

FLAGS = ["--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync"]  # fmt: skip
KEYS = 40

WATCH = """() => {
  window.times = [];
  const count = document.getElementById("count-tokens");
  const box = document.getElementById("text");
  let pressed = 0;
  box.addEventListener("keydown", (event) => { pressed = event.timeStamp; }, true);
  const channel = new MessageChannel();
  channel.port1.onmessage = () => { if (pressed) { times.push(performance.now() - pressed); pressed = 0; } };
  new MutationObserver(() => requestAnimationFrame(() => channel.port2.postMessage(0)))
    .observe(count, {childList: true, characterData: true, subtree: true});
}"""


def site() -> tuple[Path, dict]:
    """A static site of published vocabularies, and the sizes of its files."""
    from tokenmill import formats
    from tokenmill.playground.export import export

    names = ["cl100k_base.tiktoken", "gpt2-tokenizer.json.zst"]
    folder = Path(tempfile.mkdtemp(prefix="tokenmill-bench-")) / "site"
    sizes = export([(name.split(".")[0], formats.read(SHARED / "vocab" / name)) for name in names], folder)
    return folder, sizes


def serve(folder: Path) -> http.server.ThreadingHTTPServer:
    class Quiet(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *args):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=folder))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server


def press_keys(browser, address: str, text: str) -> dict:
    """Milliseconds from key press to repaint, for each key."""
    page = browser.new_page(viewport={"width": 1280, "height": 800})
    page.goto(address)
    page.wait_for_selector("#tokens .t")
    with tempfile.NamedTemporaryFile("w", suffix=".txt", encoding="utf-8", newline="") as file:
        file.write(text)
        file.flush()
        page.set_input_files("#file", file.name)
        page.wait_for_function("n => document.getElementById('count-bytes').textContent.replaceAll(',', '') == n", arg=str(len(text.encode())))
    page.evaluate("() => tokenmillCaretToMiddle()" if False else "() => { const b = document.getElementById('text'); b.focus(); b.setSelectionRange(b.value.length >> 1, b.value.length >> 1); }")
    page.wait_for_timeout(800)
    page.evaluate(WATCH)
    dice = random.Random(1)
    for _ in range(KEYS):
        page.keyboard.press(dice.choice("etaoin shrdlu"))
        page.wait_for_timeout(130 + dice.randrange(40))
    page.wait_for_timeout(300)
    times = page.evaluate("times")
    page.close()
    return {"keys": len(times), "median": statistics.median(times), "p95": sorted(times)[int(len(times) * 0.95)], "times": [round(t, 1) for t in times]}


def encoders(folder: Path) -> list[dict]:
    """The page's encoder and gpt-tokenizer on the same texts, in Node."""
    pack = folder / "packs" / "0.tmpack"
    texts = [str(corpus_file(name, 4_000_000)) for name in ("en", "multi", "code")]
    run = subprocess.run(["node", ROOT / "web" / "bench.mjs", pack, *texts], capture_output=True, text=True, check=True)
    return [json.loads(line) for line in run.stdout.splitlines()]


def main() -> None:
    from playwright.sync_api import sync_playwright

    folder, sizes = site()
    server = serve(folder)
    address = f"http://127.0.0.1:{server.server_port}/"
    results: dict = {"sizes": sizes, "keys": {}}
    path = os.environ.get("TOKENMILL_CHROMIUM") or shutil.which("chromium")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, headless=True, args=FLAGS)
        results["browser"] = browser.version
        for name in ("en", "multi", "code"):
            data = corpus_file(name, 4_000_000).read_bytes()
            for size in (10_000, 1_000_000):
                text = data[:size].decode("utf-8", "ignore")
                found = press_keys(browser, address, text)
                results["keys"][f"{name} {size}"] = found
                print(f"{name:<6}{size:>9,} B  median {found['median']:5.1f} ms, 95 % {found['p95']:5.1f} ms ({found['keys']} keys)")
        browser.close()
    server.shutdown()
    results["encoders"] = encoders(folder)
    for row in results["encoders"]:
        rates = {name: row["bytes"] / min(times) / 1000 for name, times in row["rounds"].items()}
        ratio = {kind: statistics.median(t / o for t, o in zip(row["rounds"][f"theirs{kind}"], row["rounds"][f"ours{kind}"], strict=True)) for kind in ("", "Cold")}
        print(
            f"{Path(row['file']).name:<20} same ids: {row['same']}; cold {rates['oursCold']:.1f} MB/s beside {rates['theirsCold']:.1f} "
            f"({ratio['Cold']:.2f}x), warm {rates['ours']:.1f} beside {rates['theirs']:.1f} ({ratio['']:.2f}x)"
        )
    total = sum(sizes.values())
    print(f"the site: {total:,} bytes; the page {sum(v for k, v in sizes.items() if not k.startswith('packs')):,}, " + ", ".join(f"{k} {v:,}" for k, v in sizes.items() if k.startswith("packs")))
    print(save("playground", results))
    shutil.rmtree(folder.parent)


if __name__ == "__main__":
    main()
