"""tokenmill play: the playground in the browser, and its static export."""

from __future__ import annotations

import itertools
import os
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from ..errors import OptionName, printable
from ..jobs.work import Overwrite
from ..options import Argument, Option, refuse_given
from ..tokenizer import Tokenizer
from ..tokenizer.opening import Opening
from ._console import progress_bar, report, say

if TYPE_CHECKING:
    from ..playground.pack import Shown, TokenCounts

# fmt: off
Tokenizers = Annotated[Sequence[str], Argument("Tokenizers: folders, files, or names of published encodings; NAME=FILE names one. [default: a small one to try]")]
Port = Annotated[int | None, Option("The port on 127.0.0.1. [default: 8765, or any free port]", min=0, max=65535)]
# fmt: on


def play(
    opening: Opening,
    *,
    tokenizers: Tokenizers = (),
    port: Port = None,
    browser: Annotated[bool, Option("Open the page in the browser.")] = True,
    paths: Annotated[bool, Option("Let the page open any file of this machine by its path.", "--paths")] = False,
    counts: Annotated[Path | None, Option("Word counts, to show each token's count and IoS.")] = None,
    overwrite: Overwrite = False,
    export: Annotated[Path | None, Option("Write a static site to this folder, or one FILE.html.")] = None,
) -> None:
    """See tokens, compare tokenizers and step through training, in the browser.

    tokenmill play my-tokenizer cl100k_base
    """
    if export is not None:
        refuse_given(None, OptionName("export"), port=port, paths=paths)
    if not tokenizers:
        refuse_given(opening, "a page without a tokenizer of yours", counts=counts)
    from ..quality.names import free_name, given_name, tokenizer_name

    arguments = [given_name(argument) for argument in tokenizers]
    files = [path for _, path in arguments]
    if export is not None:
        from ..formats.finding import files_read
        from ..jobs.outputs import refuse_source

        refuse_source([*itertools.chain(*map(files_read, files)), counts], export)
    from ..playground.server import serve, starter

    shown: dict[str, Shown] = {}
    for (name, path), tok in zip(arguments, opening.load_each(files), strict=True):
        name = free_name(name or tokenizer_name(path), shown)
        usage = None if counts is None else _usage(tok, counts)
        shown[name] = name, tok.vocabulary, usage, printable(Path(path).name)
    listed = list(shown.values()) or [starter()]
    if export is not None:
        from ..playground.export import export as write

        sizes = write(listed, export, overwrite=overwrite)
        files_row = {name: f"{size:,}" for name, size in sizes.items()}
        report({"site": str(export), "bytes": sum(sizes.values()), "files": files_row}, False)
        if export.suffix == ".html":
            say("Open it in the browser.")
            return
        say(f"To see it here: python3 -m http.server 8000 --bind 127.0.0.1 --directory {shlex.quote(str(export))}")
        say("Then open http://127.0.0.1:8000/ in the browser.")
        return
    serve(listed, port, allow_paths=paths, ready=lambda address: announce(address, browser))


def announce(address: str, browser: bool = True, subject: str = "The playground is") -> None:
    """Print the address, and open the page if there is a screen (a text browser would take over the terminal)."""
    say(f"{subject} at {address} (Ctrl-C ends it).")
    screen = not sys.platform.startswith("linux") or any(map(os.environ.get, ("DISPLAY", "WAYLAND_DISPLAY", "BROWSER")))
    if browser and screen:
        import threading
        import webbrowser

        threading.Thread(target=webbrowser.open, args=(address,), daemon=True).start()


def _usage(tok: Tokenizer, counts: Path) -> TokenCounts:
    """Return each token's count and highest IoS over word counts."""
    import numpy as np

    from ..counting import WordCounts
    from ..playground.pack import TokenCounts
    from ..quality.evaluation_text import EvaluationText, judge

    with progress_bar() as progress:
        judged = judge(tok, EvaluationText(WordCounts.load(counts)), progress)
    ios = np.full(len(tok.vocabulary.tokens), np.nan)
    for token in judged.swallowed or ():
        ios[token.id] = token.ios
    return TokenCounts(judged.usage.by_id, ios, printable(counts.name))
