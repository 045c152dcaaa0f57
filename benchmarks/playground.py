"""The playground in a real browser: key press to repaint, first paint, its encoder beside gpt-tokenizer, its size.

    python -m benchmarks.playground            needs Chromium, Playwright, and `npm ci` in web/

A key press is timed inside the page, from the key event's own time stamp: to the moment at which the new tokens are
laid out (`laid out`), and to the end of the first frame that shows them (`repaint`). Keys are pressed one after the other
with pauses, in the middle of the text. A screen of 60 Hz adds a wait of 0 to 16.7 ms for its next frame, whatever the
page does, so it is measured twice: with frames drawn as soon as they are ready, and with frames at 60 Hz. The encoder and
gpt-tokenizer encode the same text in the same process, in turn, after their ids were compared; "cold" is an encoder that
has not seen the text.
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
CLOCKS = {"at once": ["--disable-frame-rate-limit", "--disable-gpu-vsync"], "60 Hz": []}
CORPORA = ("en", "multi", "code")
KEYS = 40
ROUNDS = 3

WATCH = """() => {
  window.times = {"laid out": [], "repaint": []};
  const box = document.getElementById("text");
  const tokens = document.getElementById("tokens");
  const channel = new MessageChannel();
  let pressed = 0;
  box.addEventListener("keydown", (event) => { pressed = event.timeStamp; }, true);
  channel.port1.onmessage = () => { if (pressed) { times.repaint.push(performance.now() - pressed); pressed = 0; } };
  new MutationObserver(() => {
    if (!pressed) return;
    tokens.scrollHeight; // lays out what was changed
    times["laid out"].push(performance.now() - pressed);
    requestAnimationFrame(() => channel.port2.postMessage(0)); // runs once the frame is painted
  }).observe(document.getElementById("count-tokens"), {childList: true});
}"""

TO_THE_MIDDLE = """() => {
  const box = document.getElementById("text");
  box.focus();
  box.setSelectionRange(box.value.length >> 1, box.value.length >> 1);
}"""

BYTES_ARE = "n => document.getElementById('count-bytes').textContent.replaceAll(',', '') == n"
PAINTED = "() => performance.getEntriesByName('first-contentful-paint')[0]?.startTime"


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *args):
        pass


def make_site(folder: Path) -> dict[str, int]:
    """A static site of published vocabularies; the sizes of its files."""
    from tokenmill import formats
    from tokenmill.playground.export import export

    names = ["cl100k_base.tiktoken", "gpt2-tokenizer.json.zst"]
    return export([(name.split(".")[0], formats.read(SHARED / "vocab" / name)) for name in names], folder)


def open_page(browser, address: str):
    page = browser.new_page(viewport={"width": 1280, "height": 800})
    page.goto(address)
    page.wait_for_selector("#tokens .t")
    return page


def press_keys(browser, address: str, text: str) -> dict:
    """Milliseconds from key press to laid-out tokens and to repaint, for each key."""
    page = open_page(browser, address)
    with tempfile.NamedTemporaryFile("w", suffix=".txt", encoding="utf-8", newline="") as file:
        file.write(text)
        file.flush()
        page.set_input_files("#file", file.name)
        page.wait_for_function(BYTES_ARE, arg=str(len(text.encode())))
    page.evaluate(TO_THE_MIDDLE)
    page.wait_for_timeout(800)
    page.evaluate(WATCH)
    dice = random.Random(1)
    for _ in range(KEYS):
        page.keyboard.press(dice.choice("etaoinshrdlu"))
        page.wait_for_timeout(90 + dice.randrange(40))
    page.wait_for_timeout(300)
    found = {name: [round(ms, 1) for ms in times] for name, times in page.evaluate("times").items()}
    page.close()
    return found


def first_paint(browser, address: str) -> dict:
    """Milliseconds until a fresh page shows something, and until it shows tokens (a vocabulary of 100,000 is loaded)."""
    page = browser.new_page(viewport={"width": 1280, "height": 800})
    page.goto(address, wait_until="commit")
    page.wait_for_selector("#tokens .t")
    found = {
        "first paint": round(page.evaluate(PAINTED)),
        "first tokens": round(page.evaluate("() => performance.now()")),
    }
    page.close()
    return found


def encoders(pack: Path) -> list[dict]:
    """The page's encoder and gpt-tokenizer on the same texts, in Node."""
    texts = [str(corpus_file(name, 4_000_000)) for name in CORPORA]
    run = subprocess.run(
        ["node", ROOT / "web" / "bench.mjs", pack, *texts], stdout=subprocess.PIPE, text=True, check=True
    )
    return [
        {**json.loads(line), "file": Path(text).name} for line, text in zip(run.stdout.splitlines(), texts, strict=True)
    ]


def peer_versions() -> tuple[str, str]:
    node = subprocess.run(["node", "--version"], capture_output=True, text=True, check=True).stdout.strip()
    package = json.loads((ROOT / "web" / "node_modules" / "gpt-tokenizer" / "package.json").read_text())
    return node, package["version"]


def summary(times: list[float]) -> str:
    return f"median {statistics.median(times):5.1f} ms, 95 % {sorted(times)[int(len(times) * 0.95)]:5.1f} ms"


def report_encoders(rows: list[dict]) -> None:
    for row in rows:
        parts = []
        for kind, name in (("Cold", "cold"), ("", "warm")):
            ours, theirs = row["rounds"][f"ours{kind}"], row["rounds"][f"theirs{kind}"]
            ratio = statistics.median(t / o for t, o in zip(theirs, ours, strict=True))
            rates = [row["bytes"] / statistics.median(times) / 1000 for times in (ours, theirs)]
            parts.append(f"{name} {rates[0]:5.1f} MB/s beside {rates[1]:5.1f}: {ratio:.2f}x")
        print(f"{row['file']:<20} ids {'equal' if row['same'] else 'DIFFER'}; {'; '.join(parts)}")


def run() -> dict:
    from playwright.sync_api import sync_playwright

    scratch = tempfile.TemporaryDirectory(prefix="tokenmill-bench-")
    folder = Path(scratch.name) / "site"
    results: dict = {"sizes": make_site(folder), "keys": {}}
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=folder))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    address = f"http://127.0.0.1:{server.server_port}/"
    path = os.environ.get("TOKENMILL_CHROMIUM") or shutil.which("chromium")
    with sync_playwright() as playwright:
        for clock, flags in CLOCKS.items():
            browser = playwright.chromium.launch(executable_path=path, headless=True, args=FLAGS + flags)
            results["browser"] = browser.version
            results["opening"] = [first_paint(browser, address) for _ in range(ROUNDS)]
            for size in (10_000, 1_000_000):
                for name in CORPORA:
                    text = corpus_file(name, 4_000_000).read_bytes()[:size].decode("utf-8", "ignore")
                    found = press_keys(browser, address, text)
                    results["keys"][f"{name} {size} {clock}"] = found
                    said = "; ".join(f"{what} {summary(times)}" for what, times in found.items())
                    print(f"{name:<6}{size:>9,} B, frames {clock:<8} {said}")
            browser.close()
    for name in results["opening"][0]:
        print(f"{name:<16} {statistics.median(one[name] for one in results['opening']):.0f} ms")
    results["node"], results["gpt-tokenizer"] = peer_versions()
    results["encoders"] = encoders(folder / "packs" / "0.tmpack")
    report_encoders(results["encoders"])
    for name, size in results["sizes"].items():
        print(f"{name:<20}{size:>10,} bytes")
    server.shutdown()
    scratch.cleanup()
    return results


if __name__ == "__main__":
    print(save("playground", run()))
