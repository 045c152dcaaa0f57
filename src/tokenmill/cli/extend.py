"""tokenmill extend: a larger vocabulary from an existing one."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ..errors import UsageError
from . import _options as opt
from ._console import check_sample, cost_of_export, progress_bar, report, say


def extend(
    tokenizer: opt.Tokenizer,
    output: Annotated[Path, typer.Option("--output", "-o", help="The folder to write the larger tokenizer to.")],
    sources: Annotated[
        list[str] | None,
        typer.Argument(help="Text to train on: files, folders, globs; or word counts cut by the tokenizer's pattern."),
    ] = None,
    vocab_size: Annotated[
        int | None, typer.Option(help="The number of ids, old ones and special tokens included; needed with text.")
    ] = None,
    special_token: opt.SpecialToken = None,
    min_count: opt.MinCount = 1,
    min_pair_count: opt.MinPairCount = 1,
    max_token_bytes: opt.MaxTokenBytes = None,
    refine: Annotated[
        float | None, typer.Option(help="Picky BPE with this threshold. A Picky tokenizer keeps its own by default.")
    ] = None,
    sample: opt.Sample = None,
    split: opt.Split = None,
    download: opt.Download = False,
    num_threads: opt.Threads = None,
    json: opt.Summary = False,
) -> None:
    """Train a tokenizer further on new text, or only add special tokens to it; old ids keep their tokens.

    tokenmill extend my-tokenizer medicine/*.txt --vocab-size 40000 -o larger

    tokenmill extend my-tokenizer --special-token '<|user|>' -o larger
    """
    from ..api import load
    from ..quality import extend as extend_tokenizer
    from ..quality.evaluation_text import EvaluationText

    if not sources and not (special_token and vocab_size is None):
        raise UsageError("name the text to train on; without text, give --special-token and no --vocab-size")
    if sources and vocab_size is None:
        raise UsageError("say with --vocab-size how many ids to train to")
    tok = load(tokenizer, split=split, download=download)
    if vocab_size is None:
        larger = tok.add_special_tokens(special_token or [])
        larger.save(output)
        report({"tokenizer": str(output), "ids before": tok.n_vocab, "ids": larger.n_vocab}, json)
        return
    check_sample(sample)
    with progress_bar() as progress:
        special = [*tok.special_tokens_set, *(special_token or [])]
        counts = EvaluationText(sources or [], num_threads, special).together(tok, progress)
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
