"""Take the screenshots of the documentation in a real Chromium, light and dark: the playground's Tokens and Training views.

python scripts/screenshot.py TOKENIZER... [--output docs/images] [--report docs/images/report.png]

Without a tokenizer, the script trains two on Python's standard library. It needs `pip install '.[test]'`
and Chromium. --report takes that of a report instead: a comparison of the tokenizers. With --all, it takes every view in both
themes and three widths, for review, in the folder of the output.
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
    from tokenmill.playground.export import export

    export([(name, tok.vocabulary) for name, tok in loaded(tokenizers).items()], folder)


def loaded(tokenizers: list[str]) -> dict:
    """The tokenizers by name; without any, two that are trained on the standard library."""
    import tokenmill
    from tokenmill.quality.names import tokenizer_name

    if tokenizers:
        return {tokenizer_name(path): tokenmill.load(path) for path in tokenizers}
    library = f"{sysconfig.get_path('stdlib')}/*.py"
    return {f"python-{split}": tokenmill.train(library, 16_384, split=split) for split in ("cl100k", "gpt2")}


def save_reports(tokenizers: list[str], folder: Path) -> None:
    """Write the pages of a comparison of the tokenizers and of an inspection of the first."""
    import tokenmill

    toks = loaded(tokenizers)
    library = sysconfig.get_path("stdlib")
    text = [f"code={library}/asyncio/*.py", f"mail={library}/email/*.py"]
    name, tok = next(iter(toks.items()))
    tokenmill.compare(toks, text).save(folder / "compare.html")
    tokenmill.inspect(tok, text=text, name=name).save(folder / "inspect.html")


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
    parser.add_argument("--report", type=Path, metavar="PICTURE")
    parser.add_argument("--all", action="store_true")
    arguments = parser.parse_args()
    path = os.environ.get("TOKENMILL_CHROMIUM") or shutil.which("chromium")
    arguments.output.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as scratch, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, headless=True, args=FLAGS)
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=scratch))
        threading.Thread(target=server.serve_forever, daemon=True).start()

        def take(name: str, theme: str, size: tuple[int, int], output: Path) -> None:
            """A picture of a view of the playground, or of a report: its top, or with --all the whole page."""
            page = browser.new_page(viewport={"width": size[0], "height": size[1]}, color_scheme=theme)
            page.goto(f"http://127.0.0.1:{server.server_port}/{f'{name}.html' if arguments.report else ''}")
            if not arguments.report:
                page.wait_for_selector("#tokens .t")
                prepare(page, name)
            page.screenshot(path=output, full_page=bool(arguments.report and arguments.all))
            page.close()
            print(f"{output}: {output.stat().st_size:,} bytes")

        if arguments.report:
            save_reports(arguments.tokenizers, Path(scratch))
            names, widths, height = ["compare", "inspect"], (1280, 800, 400), 900
            shown = {"compare": arguments.report}
        else:
            site(arguments.tokenizers, Path(scratch))
            names, widths, height = [*VIEWS], (1280, 800, 390), 720
            shown = {"tokens": arguments.output / "playground.png", "training": arguments.output / "training.png"}
        folder = arguments.report.parent if arguments.report else arguments.output
        for name in names if arguments.all else shown:
            for theme in ("light", "dark"):
                if arguments.all:
                    for width in widths:
                        take(name, theme, (width, height), folder / f"{name}-{theme}-{width}.png")
                else:
                    picture = shown[name] if theme == "light" else shown[name].with_stem(f"{shown[name].stem}-dark")
                    take(name, theme, (1180 if arguments.report else 1280, height), picture)
        browser.close()
        server.shutdown()


if __name__ == "__main__":
    main()
