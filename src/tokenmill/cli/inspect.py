"""tokenmill inspect: judge one tokenizer."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from . import _options as opt
from ._console import progress_bar
from ._tables import Forms


def inspect(
    tokenizer: opt.Tokenizer,
    opening: opt.Opening,
    documents: opt.Documents,
    forms: Forms,
    sources: Annotated[
        list[str] | None,
        opt.Argument(
            help="Text to judge it on: files, folders, globs, saved word counts; LANG=SRC names its language."
        ),
    ] = None,
    top: Annotated[
        int | None, opt.Option(min=0, help="Rows of each list: by default 10, with --html 200; 0 for all.")
    ] = None,
    baseline: Annotated[str | None, opt.Option(help="A tokenizer to compare the number of tokens with.")] = None,
    threshold: Annotated[float, opt.Option(min=0, max=1, help="List tokens with an IoS of at least this.")] = 0.9,
    rare_below: Annotated[int, opt.Option(min=1, help="List tokens used fewer times than this.")] = 100,
    embeddings: Annotated[
        Path | None, opt.Option(help="A model's embedding table, .safetensors or .npy, to list under-trained tokens.")
    ] = None,
    num_threads: opt.Threads = None,
) -> None:
    """Judge a tokenizer: junk by IoS, unreachable and unused tokens, compression.

    tokenmill inspect my-tokenizer corpus/*.txt --html report.html
    """
    from ..api import load
    from ..quality import InspectionOptions
    from ..quality import inspect as inspect_tokenizer
    from ..quality.names import tokenizer_name

    forms.check()
    tok = opening.load(tokenizer)
    with progress_bar() as progress:
        found = inspect_tokenizer(
            tok,
            sources or None,
            baseline=None if baseline is None else load(baseline, download=opening.download),
            name=tokenizer_name(tokenizer),
            baseline_name=None if baseline is None else tokenizer_name(baseline),
            options=InspectionOptions(
                junk_at=threshold, rare_below=rare_below, embeddings=embeddings, read=documents.read
            ),
            num_threads=num_threads,
            progress=progress,
        )
    forms.show(found, top)
