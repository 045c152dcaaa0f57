"""tokenmill extend: a larger vocabulary from an existing one."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from . import _options as opt
from ._console import check_sample, cost_of_export, progress_bar, report, say


def extend(
    tokenizer: opt.Tokenizer,
    sources: Annotated[
        list[str],
        typer.Argument(help="Text to train on: files, folders, globs; or word counts cut by the tokenizer's pattern."),
    ],
    vocab_size: Annotated[int, typer.Option(help="The number of ids, old ones and special tokens included.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="The folder to write the larger tokenizer to.")],
    special_token: opt.SpecialToken = None,
    min_count: opt.MinCount = 1,
    min_pair_count: opt.MinPairCount = 1,
    max_token_bytes: opt.MaxTokenBytes = None,
    refine: Annotated[
        float | None, typer.Option(help="Picky BPE with this threshold. A Picky tokenizer keeps its own by default.")
    ] = None,
    sample: opt.Sample = None,
    split: opt.Split = None,
    num_threads: opt.Threads = None,
    json: opt.Summary = False,
) -> None:
    """Train a tokenizer further on new text; old ids keep their tokens.

    tokenmill extend my-tokenizer medicine/*.txt --vocab-size 40000 -o larger
    """
    from ..api import load
    from ..quality import extend as extend_tokenizer
    from ..quality.evaluation_text import EvaluationText

    tok = load(tokenizer, split=split)
    check_sample(sample)
    with progress_bar() as progress:
        counts = EvaluationText(sources, num_threads).together(tok, progress)
        larger = extend_tokenizer(
            tok,
            counts,
            vocab_size,
            special_tokens=special_token or [],
            min_count=min_count,
            min_pair_count=min_pair_count,
            max_token_bytes=max_token_bytes,
            refine=refine,
            progress=progress,
        )
    larger.save(output)
    cost = cost_of_export(larger, sample, json, trained_on=counts)
    removed = {"removed tokens": len(larger.vocabulary.removed)} if larger.vocabulary.order == "events" else {}
    summary = {"tokenizer": str(output), "ids before": tok.n_vocab, "ids": larger.n_vocab}
    report({**summary, **removed, **(cost if json else {})}, json)
    if larger.n_vocab < vocab_size:
        say(f"The text ran out of pairs at {larger.n_vocab:,} ids, short of {vocab_size:,}.")
