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
    opening: opt.Opening,
    merging: opt.Merging,
    documents: opt.Documents,
    result: opt.Result,
    sources: Annotated[
        list[str] | None,
        opt.Argument(help="Text to train on: files, folders, globs; or word counts cut by the tokenizer's pattern."),
    ] = None,
    vocab_size: Annotated[
        int | None,
        opt.training(**opt.number, help="The number of ids, with bytes and special tokens; 32k is 32,000."),
    ] = None,
    sample: opt.Sample = None,
    num_threads: opt.Threads = None,
) -> None:
    """Train a tokenizer further, or only add special tokens; old ids keep their tokens.

    tokenmill extend my-tokenizer medicine/*.txt --vocab-size 40000 -o larger

    tokenmill extend my-tokenizer --special-token '<|user|>' -o larger
    """
    from ..formats import check_output
    from ..quality import extend as extend_tokenizer
    from ..quality.evaluation_text import EvaluationText

    special_tokens = merging.special_token or []
    if not sources and not (special_tokens and vocab_size is None):
        raise UsageError("name the text to train on; without text, give --special-token and no --vocab-size")
    if sources and vocab_size is None:
        raise UsageError("say with --vocab-size how many ids to train to")
    check_output(output, overwrite=result.force)
    tok = opening.load(tokenizer)
    if vocab_size is None:
        larger = tok.add_special_tokens(special_tokens)
        larger.save(output, overwrite=result.force)
        report({"tokenizer": str(output), "ids_before": tok.n_vocab, "ids": larger.n_vocab}, result.json)
        return
    check_sample(sample)
    with progress_bar() as progress:
        special = [*tok.special_tokens_set, *special_tokens]
        counts = EvaluationText(sources or [], num_threads, documents.read, special).together(tok, progress)
        larger = extend_tokenizer(tok, counts, vocab_size, progress=progress, **merging.keywords)
    larger.save(output, overwrite=result.force)
    cost = cost_of_export(larger, sample, result.json, counts, documents.read)
    removed = {"removed_tokens": len(larger.vocabulary.removed)} if larger.vocabulary.order == "events" else {}
    summary = {"tokenizer": str(output), "ids_before": tok.n_vocab, "ids": larger.n_vocab}
    report({**summary, **removed, **(cost if result.json else {})}, result.json)
    if larger.n_vocab < vocab_size:
        say(f"The text ran out of pairs at {larger.n_vocab:,} ids, short of {vocab_size:,}.")
