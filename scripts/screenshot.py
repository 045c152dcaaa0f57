"""Take the screenshots of the playground for the README, in a real Chromium: the Tokens view and the Training view.

python scripts/screenshot.py TOKENIZER... [--output docs/images]

Without a tokenizer, the script trains two on Python's standard library. It needs `pip install 'tokenmill[play,test]'`
and Chromium. With --all, it takes every view in both themes and three widths, for review, in the folder of the output.
"""

from __future__ import annotations

import argparse
import functools
import http.server
import os
import shutil
import sysconfig
import tempfile
import threading
from pathlib import Path

FLAGS = ["--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync"]  # fmt: skip
VIEWS = ("tokens", "heat", "steps", "compare", "vocabulary", "training")


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *args) -> None:
        pass


def site(tokenizers: list[str], folder: Path) -> None:
    """Export a static site with the tokenizers."""
    import tokenmill
    from tokenmill.playground.export import export
    from tokenmill.quality.names import tokenizer_name

    if tokenizers:
        loaded = [(tokenizer_name(path), tokenmill.load(path)) for path in tokenizers]
    else:
        library = f"{sysconfig.get_path('stdlib')}/*.py"
        loaded = [(f"python-{split}", tokenmill.train(library, 16_384, split=split)) for split in ("cl100k", "gpt2")]
    export([(name, tok.vocabulary) for name, tok in loaded], folder)


def prepare(page, view: str) -> None:
    """Put a view into a state worth showing."""
    page.click(f"#tab-{view if view in ('compare', 'vocabulary', 'training') else 'tokens'}")
    if view in ("tokens", "heat", "steps"):
        page.select_option("#sample", label="Python")
        page.wait_for_timeout(300)
        page.set_checked("#heat", view == "heat")
        page.click("#tokens .t:has-text('collections')")
        if view == "steps":
            page.click("#why")
            page.wait_for_selector("#steps[open]")
    elif view == "compare":
        page.wait_for_selector(".lane")
        page.wait_for_selector("#parity li")
    elif view == "vocabulary":
        page.fill("#search", " import")
        page.wait_for_timeout(400)
        page.click(".result >> nth=0")
        page.wait_for_selector(".tree")
    else:
        page.fill("#words", "banana x3, bandana x2, ananas x4, nab x5")
        page.wait_for_timeout(400)
        page.click("#word-on")
    page.wait_for_timeout(1200)


def main() -> None:
    from playwright.sync_api import sync_playwright

    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("tokenizers", nargs="*")
    parser.add_argument("--output", type=Path, default=Path("docs/images"), help="a folder")
    parser.add_argument("--all", action="store_true")
    arguments = parser.parse_args()
    path = os.environ.get("TOKENMILL_CHROMIUM") or shutil.which("chromium")
    arguments.output.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as scratch, sync_playwright() as playwright:
        folder = Path(scratch) / "site"
        site(arguments.tokenizers, folder)
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=folder))
        threading.Thread(target=server.serve_forever, daemon=True).start()
        browser = playwright.chromium.launch(executable_path=path, headless=True, args=FLAGS)

        def take(view: str, theme: str, width: int, output: Path) -> None:
            page = browser.new_page(viewport={"width": width, "height": 720}, color_scheme=theme)
            page.goto(f"http://127.0.0.1:{server.server_port}/")
            page.wait_for_selector("#tokens .t")
            prepare(page, view)
            page.screenshot(path=output)
            page.close()
            print(f"{output}: {output.stat().st_size:,} bytes")

        if arguments.all:
            for view in VIEWS:
                for theme in ("light", "dark"):
                    for width in (1280, 800, 390):
                        take(view, theme, width, arguments.output / f"{view}-{theme}-{width}.png")
        else:
            take("tokens", "light", 1280, arguments.output / "playground.png")
            take("training", "light", 1280, arguments.output / "training.png")
        browser.close()
        server.shutdown()


if __name__ == "__main__":
    main()
