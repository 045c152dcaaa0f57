"""tokenmill extend: a larger vocabulary from an existing one."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from . import _options as opt
from ._console import check_sample, cost_of_export, progress_bar, report, say


def extend(
    tokenizer: opt.Tokenizer,
    sources: Annotated[
        list[str],
        opt.Argument(help="Text to train on: files, folders, globs; or word counts cut by the tokenizer's pattern."),
    ],
    vocab_size: opt.VocabSize,
    output: Annotated[Path, opt.Option("--output", "-o", help="The folder to write the larger tokenizer to.")],
    special_token: opt.SpecialToken = None,
    min_count: opt.MinCount = 1,
    min_pair_count: opt.MinPairCount = 1,
    max_token_bytes: opt.MaxTokenBytes = None,
    refine: Annotated[
        float | None, opt.training(help="Picky BPE with this threshold. A Picky tokenizer keeps its own by default.")
    ] = None,
    sample: opt.Sample = None,
    split: opt.Split = None,
    unit: opt.Unit = "file",
    separator: opt.Separator = "",
    field: opt.Field = "text",
    num_threads: opt.Threads = None,
    force: opt.Force = False,
    json: opt.Summary = False,
) -> None:
    """Train a tokenizer further on new text; old ids keep their tokens.

    tokenmill extend my-tokenizer medicine/*.txt --vocab-size 40000 -o larger
    """
    from ..api import load
    from ..formats import check_output
    from ..quality import extend as extend_tokenizer
    from ..quality.evaluation_text import EvaluationText
    from ..sources.blocks import ReadOptions

    check_output(output, overwrite=force)
    read = ReadOptions(unit, separator, field)
    tok = load(tokenizer, split=split)
    check_sample(sample)
    with progress_bar() as progress:
        counts = EvaluationText(sources, num_threads, read).together(tok, progress)
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
    larger.save(output, overwrite=force)
    cost = cost_of_export(larger, sample, json, counts, read)
    removed = {"removed_tokens": len(larger.vocabulary.removed)} if larger.vocabulary.order == "events" else {}
    summary = {"tokenizer": str(output), "ids_before": tok.n_vocab, "ids": larger.n_vocab}
    report({**summary, **removed, **(cost if json else {})}, json)
    if larger.n_vocab < vocab_size:
        say(f"The text ran out of pairs at {larger.n_vocab:,} ids, short of {vocab_size:,}.")
