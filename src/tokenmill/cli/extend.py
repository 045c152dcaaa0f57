"""tokenmill extend: a larger vocabulary from an existing one."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from ..errors import UsageError
from . import _options as opt
from ._console import check_sample, cost_of_export, progress_bar, report, say


def extend(
    tokenizer: opt.Tokenizer,
    output: Annotated[Path, opt.Option("--output", "-o", help="The folder to write the larger tokenizer to.")],
    sources: Annotated[
        list[str] | None,
        opt.Argument(help="Text to train on: files, folders, globs; or word counts cut by the tokenizer's pattern."),
    ] = None,
    vocab_size: Annotated[
        int | None,
        opt.training(**opt.number, help="The number of ids, with bytes and special tokens; 32k is 32,000."),
    ] = None,
    special_token: opt.SpecialToken = None,
    min_count: opt.MinCount = 1,
    min_pair_count: opt.MinPairCount = 1,
    max_token_bytes: opt.MaxTokenBytes = None,
    refine: Annotated[
        float | None, opt.training(help="Picky BPE with this threshold. A Picky tokenizer keeps its own by default.")
    ] = None,
    sample: opt.Sample = None,
    split: opt.Split = None,
    download: opt.Download = False,
    unit: opt.Unit = "file",
    separator: opt.Separator = "",
    field: opt.Field = "text",
    num_threads: opt.Threads = None,
    force: opt.Force = False,
    json: opt.Summary = False,
) -> None:
    """Train a tokenizer further, or only add special tokens; old ids keep their tokens.

    tokenmill extend my-tokenizer medicine/*.txt --vocab-size 40000 -o larger

    tokenmill extend my-tokenizer --special-token '<|user|>' -o larger
    """
    from ..api import load
    from ..formats import check_output
    from ..quality import extend as extend_tokenizer
    from ..quality.evaluation_text import EvaluationText
    from ..sources.blocks import ReadOptions

    if not sources and not (special_token and vocab_size is None):
        raise UsageError("name the text to train on; without text, give --special-token and no --vocab-size")
    if sources and vocab_size is None:
        raise UsageError("say with --vocab-size how many ids to train to")
    check_output(output, overwrite=force)
    read = ReadOptions(unit, separator, field)
    tok = load(tokenizer, split=split, download=download)
    if vocab_size is None:
        larger = tok.add_special_tokens(special_token or [])
        larger.save(output, overwrite=force)
        report({"tokenizer": str(output), "ids before": tok.n_vocab, "ids": larger.n_vocab}, json)
        return
    check_sample(sample)
    with progress_bar() as progress:
        special = [*tok.special_tokens_set, *(special_token or [])]
        counts = EvaluationText(sources or [], num_threads, read, special).together(tok, progress)
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
