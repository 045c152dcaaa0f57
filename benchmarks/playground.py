"""The playground in a real browser: key press to repaint, first paint, its encoder against gpt-tokenizer, its size.

    python -m benchmarks.playground            needs Chromium, Playwright, and `npm ci` in web/

Keys are pressed one after the other, with pauses, in the middle of the text, with the tokens there in view. Each key press
gives four times. Three are taken inside the page, from the time stamp that the browser's main process gave the key event:

    laid out       until the new tokens are laid out
    frame begins   until the next frame begins, which adds the wait for the screen
    repaint        until the page has finished that frame

The fourth, `shown`, is Chromium's own record of input: from the key event until the next frame is presented, including the
work of other threads and processes. It counts only if the tokens are in that frame; `late` is the number of keys whose
tokens came in a later frame. No time includes the way of the key from Playwright to the browser. In one half of the runs
frames are drawn as soon as they are ready, in the other half at 60 Hz.

The encoder and gpt-tokenizer encode the same text in the same process, alternating, after their ids were compared. "cold"
is an encoder that has not seen the text.
"""

from __future__ import annotations

import contextlib
import http.server
import json
import os
import random
import shutil
import subprocess
import tempfile
import threading
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from .harness import CORPORA, ROOT, corpus_file, main, shared_file

FLAGS = ["--headless", "--no-sandbox", "--no-zygote", "--disable-gpu", "--no-first-run", "--mute-audio", "--hide-scrollbars", "--disable-extensions", "--disable-background-networking", "--disable-background-timer-throttling", "--disable-renderer-backgrounding", "--disable-component-update", "--disable-sync", "--remote-debugging-port=0"]  # fmt: skip
CLOCKS = {"at once": ["--disable-frame-rate-limit", "--disable-gpu-vsync"], "60 Hz": []}
KEYS = 40
ROUNDS = 3

WATCH = """() => {
  window.times = {"laid out": [], "frame begins": [], "repaint": []};
  const box = document.getElementById("text");
  const tokens = document.getElementById("tokens");
  let pressed = 0;
  let painted = false; // whether a frame was drawn since the key press
  window.late = 0; // the number of keys whose tokens came after that frame
  const note = (name) => times[name].push(performance.now() - pressed);
  box.addEventListener("keydown", (event) => {
    pressed = event.timeStamp;
    painted = false;
    requestAnimationFrame(() => { painted = true; });
  }, true);
  new MutationObserver(() => {
    if (!pressed) return;
    tokens.scrollHeight; // forces the layout
    note("laid out");
    if (painted) late++;
    requestAnimationFrame(() => {
      note("frame begins");
      scheduler.postTask(() => { note("repaint"); pressed = 0; }, {priority: "user-blocking"}); // after the frame is painted
    });
  }).observe(document.getElementById("count-bytes"), {childList: true});
}"""

TO_THE_MIDDLE = """() => {
  const tokens = document.getElementById("tokens");
  tokenmill.select(tokenmill.text.length >> 1, tokenmill.text.length >> 1);
  tokens.scrollTop = (tokens.scrollHeight - tokens.clientHeight) / 2;
}"""

BYTES_ARE = "n => document.getElementById('count-bytes').textContent.replaceAll(',', '') == n"
PAINTED = "() => performance.getEntriesByName('first-contentful-paint')[0]?.startTime"


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *args):
        pass


def make_site(folder: Path) -> dict[str, int]:
    """Export a static site with published vocabularies; return the sizes of its files."""
    from tokenmill import formats
    from tokenmill.playground.export import export

    names = ["cl100k_base.tiktoken", "gpt2-tokenizer.json.zst"]
    return export([(name.split(".")[0], formats.read(shared_file("vocab", name))) for name in names], folder)


def open_page(browser, address: str):
    page = browser.new_page(viewport={"width": 1280, "height": 800})
    page.goto(address)
    page.wait_for_selector("#tokens .t")
    return page


def press_keys(browser, address: str, text: str) -> dict:
    """For each key press, milliseconds to laid-out tokens, the frame, its end, and its presentation."""
    page = open_page(browser, address)
    with tempfile.TemporaryDirectory(prefix="tokenmill-bench-") as folder:
        file, trace = Path(folder) / "text.txt", Path(folder) / "trace.json"
        file.write_text(text, encoding="utf-8", newline="")
        page.set_input_files("#file", file)
        page.wait_for_function(BYTES_ARE, arg=f"{len(text.encode())}")
        page.wait_for_timeout(300)
        page.evaluate(TO_THE_MIDDLE)
        page.wait_for_timeout(800)
        page.evaluate(WATCH)
        browser.start_tracing(page=page, path=trace, categories=["-*", "input.scrolling"])
        dice = random.Random(1)
        for _ in range(KEYS):
            page.keyboard.press(dice.choice("etaoinshrdlu"))
            page.wait_for_timeout(90 + dice.randrange(40))
        page.wait_for_timeout(300)
        browser.stop_tracing()
        shown = key_latencies(json.loads(trace.read_text())["traceEvents"])
    found = {name: [round(ms, 1) for ms in times] for name, times in page.evaluate("times").items()}
    found |= {"shown": shown, "late": page.evaluate("late")}
    page.close()
    return found


def key_latencies(events: list[dict]) -> list[float]:
    """Milliseconds from each key event to the presentation of the next frame, as recorded by Chromium."""
    open_ones: dict = {}
    found = []
    for event in sorted((event for event in events if event["name"] == "EventLatency"), key=lambda event: event["ts"]):
        place = event["pid"], event["id2"]["local"]
        if event["ph"] == "b":
            open_ones[place] = event
            continue
        begin = open_ones.pop(place, None)
        if begin is not None and begin["args"]["event_latency"]["event_type"] == "KEY_PRESSED":
            found.append(round((event["ts"] - begin["ts"]) / 1000, 1))
    return found


def first_paint(browser, address: str) -> dict:
    """Milliseconds until a new page shows anything, and until it shows tokens of a vocabulary of 100,000.

    "main thread" is the processor time of the page's main thread until then.
    """
    page = browser.new_page(viewport={"width": 1280, "height": 800})
    session = page.context.new_cdp_session(page)
    session.send("Performance.enable", {"timeDomain": "threadTicks"})
    page.goto(address, wait_until="commit")
    page.wait_for_selector("#tokens .t")
    metrics = {one["name"]: one["value"] for one in session.send("Performance.getMetrics")["metrics"]}
    found = {
        "main thread": round(1000 * metrics["TaskDuration"]),
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


@contextlib.contextmanager
def chromium(playwright, flags: list[str]) -> Iterator:
    """A browser in the session of this process. Playwright would start a new session, with a different share of the CPU."""
    path = os.environ.get("TOKENMILL_CHROMIUM") or shutil.which("chromium")
    with tempfile.TemporaryDirectory(prefix="tokenmill-bench-", ignore_cleanup_errors=True) as profile:
        command = [path, f"--user-data-dir={profile}", *FLAGS, *flags, "about:blank"]
        process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
        assert process.stderr is not None
        try:
            address = next(line.split()[-1] for line in process.stderr if "listening on ws://" in line)
            threading.Thread(target=process.stderr.read, daemon=True).start()
            browser = playwright.chromium.connect_over_cdp(address)
            yield browser
            browser.close()
        finally:
            process.terminate()
            process.wait()


def run() -> dict:
    from playwright.sync_api import sync_playwright

    scratch = tempfile.TemporaryDirectory(prefix="tokenmill-bench-")
    folder = Path(scratch.name) / "site"
    results: dict = {"sizes": make_site(folder), "keys": {}}
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=folder))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    address = f"http://127.0.0.1:{server.server_port}/"
    with sync_playwright() as playwright:
        for clock, flags in CLOCKS.items():
            with chromium(playwright, flags) as browser:
                results["browser"] = browser.version
                results["opening"] = [first_paint(browser, address) for _ in range(ROUNDS)]
                for size in (10_000, 1_000_000):
                    for name in CORPORA:
                        text = corpus_file(name, 4_000_000).read_bytes()[:size].decode("utf-8", "ignore")
                        results["keys"][f"{name} {size} {clock}"] = press_keys(browser, address, text)
    results["node"], results["gpt-tokenizer"] = peer_versions()
    results["encoders"] = encoders(folder / "packs" / "0.tmpack")
    if not all(row["same"] for row in results["encoders"]):
        raise RuntimeError("the page's encoder and gpt-tokenizer gave different ids")
    server.shutdown()
    scratch.cleanup()
    return results


if __name__ == "__main__":
    main(run)
