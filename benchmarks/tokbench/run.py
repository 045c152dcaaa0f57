#!/usr/bin/env python3
"""tokenmill as an engine of huggingface/tokbench: copy this file to engines/tokenmill/run.py of a clone.

tokbench's driver runs it with --model FOLDER --corpus FILE. Its own python/harness.py cuts the text, takes the time and prints the
JSON. Special tokens in the text are found and none are added, as in the reference engine with add_special_tokens=False.
"""

import sys
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "python"))
import harness  # type: ignore[import-not-found]

try:
    VERSION = f"tokenmill {version('tokenmill')}"
except PackageNotFoundError:
    VERSION = "tokenmill (not installed)"


def main() -> None:
    args = harness.args_parser().parse_args()
    path = args.model / "tokenizer.json"
    if not path.exists():
        harness.unsupported(VERSION, "python", f"there is no tokenizer.json in {args.model}")
    try:
        import tokenmill
    except ImportError as error:
        harness.unsupported(VERSION, "python", f"tokenmill cannot be imported: {error}")
    try:
        tokenmill.load(path)
    except tokenmill.errors.TokenmillError as error:
        harness.unsupported(VERSION, "python", str(error))
    harness.run(
        name="tokenmill",
        version=VERSION,
        lang="python",
        load=lambda: tokenmill.load(path),
        encode=lambda tok, text: tok.encode(text, allowed_special="all", num_threads=1),
        args=args,
    )


if __name__ == "__main__":
    main()
