"""tokenmill train: text or word counts to a tokenizer."""

from __future__ import annotations

import contextlib
import math
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..errors import UsageError
from . import _options as opt
from ._console import check_sample, cost_of_export, progress_bar, report, say

if TYPE_CHECKING:
    from ..counting import CountOptions, WordCounts
    from ..jobs.progress import Progress
    from ..tokenizer import Tokenizer
    from ..training import Options


def train(
    sources: Annotated[
        list[str],
        typer.Argument(
            help="Files, folders, globs, URLs, plain or compressed; - is standard input; or saved word counts."
        ),
    ],
    vocab_size: Annotated[int, typer.Option(help="The number of tokens, including bytes and special tokens.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="The folder to write the tokenizer to.")],
    split: Annotated[
        str | None,
        typer.Option(
            help="gpt2, cl100k (default), o200k, llama3, qwen2, nanochat, whitespace, or a regular expression."
        ),
    ] = None,
    special_token: opt.SpecialToken = None,
    min_count: opt.MinCount = 1,
    min_pair_count: opt.MinPairCount = 1,
    max_token_bytes: opt.MaxTokenBytes = None,
    alphabet: Annotated[str, typer.Option(help="The initial tokens: bytes or characters.")] = "bytes",
    coverage: Annotated[float, typer.Option(help="The share of all characters in --alphabet characters.")] = 1.0,
    unknown_token: Annotated[str | None, typer.Option(help="The token for characters outside the alphabet.")] = None,
    refine: Annotated[
        float | None, typer.Option(help="Picky BPE: remove tokens whose IoS reaches this threshold, such as 0.9.")
    ] = None,
    sample: opt.Sample = None,
    algorithm: Annotated[str, typer.Option(help="heap, or naive: the textbook loop, for study.")] = "heap",
    unit: opt.Unit = "file",
    separator: opt.Separator = "",
    field: opt.Field = "text",
    binary: opt.Binary = "error",
    num_threads: opt.Threads = None,
    json: opt.Summary = False,
) -> None:
    """Train a byte-level BPE tokenizer.

    tokenmill train corpus/*.txt --vocab-size 32768 --split cl100k -o my-tokenizer
    """
    from ..counting import CountOptions
    from ..sources.blocks import ReadOptions
    from ..training import Options

    options = Options(
        vocab_size=vocab_size,
        special_tokens=special_token or [],
        min_count=min_count,
        min_pair_count=min_pair_count,
        max_token_bytes=max_token_bytes,
        num_threads=num_threads,
        alphabet=alphabet,
        coverage=coverage,
        unknown_token=unknown_token,
        refine=refine,
        algorithm=algorithm,
    )
    reading = CountOptions(read=ReadOptions(unit, separator, field), binary=binary)  # type: ignore[arg-type]
    train_and_report(sources, options, output, split=split, sample=sample, reading=reading, as_json=json)


def train_and_report(
    sources: list[str],
    options: Options,
    output: Path,
    *,
    split: str | None = None,
    sample: list[str] | None = None,
    reading: CountOptions | None = None,
    as_json: bool = False,
) -> Tokenizer:
    """Count, train, save, and report the result."""
    from ..kernels.machine import free_memory
    from ..tokenizer import Tokenizer
    from ..training import Training, estimate_memory

    check_sample(sample)
    seconds: dict[str, float] = {}
    with progress_bar() as progress:
        with _timed(seconds, "load" if _is_saved(sources) else "count"):
            counts = _counts(sources, split, options, reading, progress)
        needed = estimate_memory(counts, options.vocab_size, min_count=options.min_count, refine=options.refine)
        if options.algorithm == "heap":
            state_memory(needed, free_memory())
        with _timed(seconds, "train"):
            tok = Tokenizer(Training(counts, options, progress).run())
    with _timed(seconds, "save"):
        notes = tok.save(output)
    for note in notes:
        say(f"note: {note}")
    cost = cost_of_export(tok, sample, as_json, trained_on=counts)
    rows = {"tokenizer": str(output), **_summary(tok, counts, options.min_count, seconds)}
    report({**rows, **(cost if as_json else {})}, as_json)
    if rows["tokens"] < options.vocab_size:
        say(f"The corpus ran out of pairs at {rows['tokens']:,} tokens, short of {options.vocab_size:,}.")
    return tok


@contextlib.contextmanager
def _timed(seconds: dict[str, float], stage: str) -> Iterator[None]:
    start = time.perf_counter()
    yield
    seconds[stage] = time.perf_counter() - start


def _is_saved(sources: list[str]) -> bool:
    from ..counting import WordCounts

    return len(sources) == 1 and WordCounts.is_saved(sources[0])


def _counts(
    sources: list[str], split: str | None, options: Options, reading: CountOptions | None, progress: Progress | None
) -> WordCounts:
    """The saved word counts, or those of text files."""
    from ..counting import WordCounts, count

    if not _is_saved(sources):
        return count(sources, split or "cl100k", reading, num_threads=options.num_threads, progress=progress)
    if split is not None:
        raise UsageError(f"{sources[0]} holds word counts, whose split pattern is fixed: leave out --split")
    return WordCounts.load(sources[0], options.min_count)


def _summary(tok: Tokenizer, counts: WordCounts, min_count: int, seconds: dict[str, float]) -> dict[str, Any]:
    from ..kernels.machine import peak_memory
    from ..quality.usage import measure_usage

    vocabulary = tok.vocabulary
    used = measure_usage(tok, counts).tokens
    whole = "count" in seconds or min_count == 1  # otherwise the rare pretokens were not loaded
    present = sum(token is not None for token in vocabulary.tokens) - len(vocabulary.removed)
    return {
        "documents": counts.documents,
        "bytes": counts.total_bytes,
        "distinct pretokens": len(counts),
        "tokens": present + len(vocabulary.special_tokens),
        "special tokens": len(vocabulary.special_tokens),
        "removed tokens": len(vocabulary.removed),
        "bytes per token": round(counts.total_bytes / used, 4) if used and whole else None,
        "seconds": {stage: round(took, 3) for stage, took in seconds.items()},
        "peak memory (MiB)": round(peak_memory() / 2**20),
    }


def state_memory(needed: int, free: int) -> None:
    """Say how much memory training needs before it begins, and warn if that is not free."""
    message = f"training will need up to {math.ceil(needed / 2**20):,} MiB of memory"
    if needed > free:
        message += f", but only {free >> 20:,} MiB are free. Leave out rare pretokens with --min-count 2 or more."
    say(message)
