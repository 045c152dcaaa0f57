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


def report_pages(tokenizers: list[str], folder: Path) -> dict[str, Path]:
    """Write the pages of a comparison of the tokenizers and of an inspection of the first."""
    import tokenmill

    toks = loaded(tokenizers)
    library = sysconfig.get_path("stdlib")
    text = [f"code={library}/asyncio/*.py", f"mail={library}/email/*.py"]
    found = {
        "compare": tokenmill.compare(toks, text),
        "inspect": tokenmill.inspect(next(iter(toks.values())), text=text, name=next(iter(toks))),
    }
    for name, report in found.items():
        report.save(folder / f"{name}.html")
    return {name: folder / f"{name}.html" for name in found}


def pictures(path: Path) -> list[tuple[str, Path]]:
    """The two themes of a picture; the file of the dark one has `-dark` in its name."""
    return [("light", path), ("dark", path.with_stem(f"{path.stem}-dark"))]


def take_report(browser, page_path: Path, theme: str, width: int, output: Path, whole: bool) -> None:
    """A picture of a report: its top, or the whole page."""
    page = browser.new_page(viewport={"width": width, "height": 900}, color_scheme=theme)
    page.goto(page_path.as_uri())
    page.screenshot(path=output, full_page=whole)
    page.close()
    print(f"{output}: {output.stat().st_size:,} bytes")


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
        if arguments.report:
            browser = playwright.chromium.launch(executable_path=path, headless=True, args=FLAGS)
            pages = report_pages(arguments.tokenizers, Path(scratch))
            if not arguments.all:
                for theme, picture in pictures(arguments.report):
                    take_report(browser, pages["compare"], theme, 1180, picture, whole=False)
            for name, page in pages.items() if arguments.all else ():
                for theme in ("light", "dark"):
                    for width in (1280, 800, 400):
                        output = arguments.report.with_name(f"{name}-{theme}-{width}.png")
                        take_report(browser, page, theme, width, output, whole=True)
            browser.close()
            return
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
            for view, name in (("tokens", "playground.png"), ("training", "training.png")):
                for theme, picture in pictures(arguments.output / name):
                    take(view, theme, 1280, picture)
        browser.close()
        server.shutdown()


if __name__ == "__main__":
    main()
