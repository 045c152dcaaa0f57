"""The demonstration of `make demo`: train on Python's standard library and show the result.

python scripts/demo.py [FOLDER]
"""

from __future__ import annotations

import os
import sys
import sysconfig
from pathlib import Path

from rich.console import Console

import tokenmill
from tokenmill.cli.main import app

SENTENCE = "The quick brown fox jumps over the lazy dog, and def __init__(self) returns None in 2026."
VOCAB_SIZE = 16_384


def standard_library() -> list[Path]:
    """The .py files of the running Python's standard library, without installed packages."""
    root = Path(sysconfig.get_path("stdlib"))
    return sorted(p for p in root.rglob("*.py") if not {"site-packages", "dist-packages"} & set(p.parts))


def show(folder: str) -> None:
    """Print a sentence in tokens, and what to try next."""
    console = Console(highlight=False)
    view = tokenmill.load(folder).show(SENTENCE)
    console.print(f"\n{len(SENTENCE)} characters are {len(view.ids)} tokens:\n")
    for line in view.lines(width=min(console.width, 110)):
        console.print(line, soft_wrap=True)
    script = Path(sys.executable).parent / "tokenmill"
    command = script.relative_to(Path.cwd()) if script.is_relative_to(Path.cwd()) else script
    advice = {
        f"play {folder}": "see it in the browser: tokens, merges, training",
        f"encode --tokenizer {folder}": "type text, see tokens",
        "train YOUR-TEXT --vocab-size 32768 -o MINE": "train on your own files",
        "--help": "everything else",
    }
    width = max(map(len, advice))
    lines = [f"  {command} {verb:<{width}}  {purpose}" for verb, purpose in advice.items()]
    if max(map(len, lines)) > console.width:  # a purpose below its command, so that no word is broken
        lines = [f"  {command} {verb}\n      {purpose}" for verb, purpose in advice.items()]
    console.print("\n".join(["\nNow try:", *lines]), markup=False, soft_wrap=True)


def wants_playground() -> bool:
    """Whether the user says yes to the playground. Only a terminal is asked: elsewhere there is no one to answer."""
    if not (sys.stdin.isatty() and sys.stdout.isatty()) or os.environ.get("CI"):
        return False
    try:
        answer = input("\nOpen the playground with this tokenizer now? [y/N] ")
    except EOFError:
        return False
    return answer.strip().lower() in ("y", "yes")


def main() -> int:
    folder = sys.argv[1] if len(sys.argv) > 1 else "demo-tokenizer"
    files = list(map(str, standard_library()))
    print(f"tokenmill: training {VOCAB_SIZE:,} tokens on {len(files):,} source files of Python's standard library\n")
    # A few files of Python's own tests are deliberately in other encodings: they are left out.
    options = ["--special-token", "<|endoftext|>", "--binary", "skip", "--skip-damaged", "--force", "-o", folder]
    if code := app(["train", *files, "--vocab-size", str(VOCAB_SIZE), *options]):
        return code
    show(folder)
    return app(["play", folder]) if wants_playground() else 0


if __name__ == "__main__":
    sys.exit(main())
