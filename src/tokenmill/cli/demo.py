"""The demonstration of `make demo`: train on Python's standard library and show the result.

python -m tokenmill.cli.demo [FOLDER]
"""

from __future__ import annotations

import os
import sys
import sysconfig
from importlib.util import find_spec
from pathlib import Path

SENTENCE = "The quick brown fox jumps over the lazy dog, and def __init__(self) returns None in 2026."
VOCAB_SIZE = 16_384


def standard_library() -> list[Path]:
    """The .py files of the running Python's standard library, without installed packages."""
    root = Path(sysconfig.get_path("stdlib"))
    return sorted(p for p in root.rglob("*.py") if not {"site-packages", "dist-packages"} & set(p.parts))


def demo(folder: Path) -> None:
    """Train, save, show the result and what to try next."""
    from rich.console import Console

    from ..api import load
    from ..jobs.work import JobOptions
    from ..train_job import Train
    from .train import train

    out = Console(highlight=False)
    files = standard_library()
    out.print(
        f"[bold]tokenmill[/]: training {VOCAB_SIZE:,} tokens on the {len(files):,} source files of Python's standard library\n"
    )
    job = Train(
        sources=list(map(str, files)),
        vocab_size=VOCAB_SIZE,
        special_tokens=["<|endoftext|>"],
        output=folder,
        binary="skip",  # a few files of Python's own tests are deliberately in other encodings
        job=JobOptions(overwrite=True),
    )
    train(job)
    tok = load(folder)

    view = tok.show(SENTENCE)
    out.print(f"\n{len(SENTENCE)} characters are {len(view.ids)} tokens:\n")
    for line in view.lines(min(out.width, 110)):
        out.print(line, soft_wrap=True)
    script = Path(sys.executable).parent / "tokenmill"
    command = script.relative_to(Path.cwd()) if script.is_relative_to(Path.cwd()) else script
    advice = {
        f"play {folder}": "see it in the browser: tokens, merges, training",
        f"encode --tokenizer {folder}": "type text, see tokens",
        "train YOUR-TEXT --vocab-size 32768 -o MINE": "train on your own files",
        "--help": "everything else",
    }
    width = max(map(len, advice))
    lines = [f"  {command} {verb:<{width}}  {what}" for verb, what in advice.items()]
    out.print("\n".join(["\nNow try:", *lines]), markup=False, soft_wrap=True)


def offer_playground(folder: Path) -> None:
    """On a terminal, ask whether to open the playground. Elsewhere there is no one to answer."""
    if not (sys.stdin.isatty() and sys.stdout.isatty()) or os.environ.get("CI"):
        return
    if any(find_spec(name) is None for name in ("starlette", "uvicorn")):
        print("\nThe playground needs two more packages: pip install 'tokenmill[play]'")
        return
    try:
        answer = input("\nOpen the playground with this tokenizer now? [y/N] ")
    except EOFError:
        return
    if answer.strip().lower() not in ("y", "yes"):
        return
    from ..api import load
    from ..playground.server import serve
    from .play import announce

    serve([(folder.name, load(folder).vocabulary)], ready=announce)


def main() -> None:
    from .main import run

    folder = Path(sys.argv[1] if len(sys.argv) > 1 else "demo-tokenizer")
    run(lambda: (demo(folder), offer_playground(folder)))


if __name__ == "__main__":
    main()
