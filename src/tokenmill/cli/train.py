"""tokenmill train: text or word counts to a tokenizer."""

from __future__ import annotations

import math
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..errors import UsageError
from ._console import progress_bar, report, say
from ._cost import SampleOption, check_sample, cost_of_export
from ._many import taking_many
from ._reading import FieldOption, SeparatorOption, UnitOption
from .main import app

if TYPE_CHECKING:
    from ..tokenizer import Tokenizer


@app.command(cls=taking_many("--sample"))
def train(
    sources: Annotated[
        list[str],
        typer.Argument(
            help="Files, folders, globs, URLs, plain or compressed; - is standard input; or a folder of saved word counts."
        ),
    ],
    vocab_size: Annotated[int, typer.Option(help="Tokens in all, the 256 bytes and the special tokens included.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="The folder to write the tokenizer to.")],
    split: Annotated[
        str | None,
        typer.Option(
            help="Split pattern: gpt2, cl100k (default), o200k, llama3, qwen2, nanochat, whitespace, or a regular expression."
        ),
    ] = None,
    special_token: Annotated[
        list[str] | None, typer.Option(help="A special token; may be given several times.")
    ] = None,
    min_count: Annotated[int, typer.Option(help="Leave out pretokens seen fewer times.")] = 1,
    min_pair_count: Annotated[int, typer.Option(help="Stop when the best pair is rarer.")] = 1,
    max_token_bytes: Annotated[int | None, typer.Option(help="Never make a longer token.")] = None,
    alphabet: Annotated[str, typer.Option(help="What training begins with: bytes or characters.")] = "bytes",
    coverage: Annotated[
        float, typer.Option(help="With --alphabet characters: the share of all characters to keep.")
    ] = 1.0,
    unknown_token: Annotated[
        str | None, typer.Option(help="With --alphabet characters: what stands for the others.")
    ] = None,
    refine: Annotated[
        float | None,
        typer.Option(help="Picky BPE: remove intermediate tokens whose IoS reaches this threshold, such as 0.9."),
    ] = None,
    sample: SampleOption = None,
    algorithm: Annotated[str, typer.Option(help="heap, or naive: the textbook loop, for study.")] = "heap",
    unit: UnitOption = "file",
    separator: SeparatorOption = "",
    field: FieldOption = "text",
    binary: Annotated[
        str, typer.Option(help="What to do with a file that is not text: error, skip, or count its bytes.")
    ] = "error",
    num_threads: Annotated[int | None, typer.Option(help="Threads for counting; all cores unless told.")] = None,
    json: Annotated[bool, typer.Option("--json", help="Print the summary as JSON on stdout.")] = False,
) -> None:
    """Train a byte-level BPE tokenizer.

    tokenmill train corpus/*.txt --vocab-size 32768 --split cl100k -o my-tokenizer
    """
    from ..sources.blocks import ReadOptions

    train_and_report(
        sources,
        vocab_size,
        split=split,
        special_tokens=special_token or [],
        output=output,
        sample=sample,
        reading={"read": ReadOptions(unit, separator, field), "binary": binary},
        num_threads=num_threads,
        as_json=json,
        min_count=min_count,
        min_pair_count=min_pair_count,
        max_token_bytes=max_token_bytes,
        alphabet=alphabet,
        coverage=coverage,
        unknown_token=unknown_token,
        refine=refine,
        algorithm=algorithm,
    )


def train_and_report(
    sources: list[str],
    vocab_size: int,
    *,
    output: Path,
    split: str | None = None,
    special_tokens: list[str],
    sample: list[str] | None = None,
    reading: dict[str, Any] | None = None,
    num_threads: int | None = None,
    as_json: bool = False,
    **options: Any,
) -> Tokenizer:
    """Count, train, save, and say what was made."""
    from ..counting import WordCounts, count
    from ..kernels.machine import free_memory
    from ..quality.usage import measure_usage
    from ..tokenizer import Tokenizer
    from ..training import Options, Training, estimate_memory

    wanted = Options(vocab_size=vocab_size, special_tokens=special_tokens, num_threads=num_threads, **options)
    check_sample(sample)
    seconds: dict[str, float] = {}
    with progress_bar() as progress:
        start = time.perf_counter()
        if len(sources) == 1 and WordCounts.is_saved(sources[0]):
            if split is not None:
                raise UsageError(
                    f"{sources[0]} holds word counts, which were split when they were counted: leave out --split"
                )
            counts = WordCounts.load(sources[0], wanted.min_count)
            seconds["load"] = time.perf_counter() - start
        else:
            counts = count(
                sources, split=split or "cl100k", num_threads=num_threads, progress=progress, **reading or {}
            )
            seconds["count"] = time.perf_counter() - start
        needed = estimate_memory(counts, vocab_size, min_count=wanted.min_count, refine=wanted.refine)
        if wanted.algorithm == "heap":
            state_memory(needed, free_memory())
        start = time.perf_counter()
        training = Training(counts, wanted, progress)
        vocabulary = training.run()
        seconds["train"] = time.perf_counter() - start
    start = time.perf_counter()
    tok = Tokenizer(vocabulary)
    notes = tok.save(output)
    seconds["save"] = time.perf_counter() - start
    for note in notes:
        say(f"note: {note}")
    cost = cost_of_export(tok, sample, as_json, otherwise=counts)
    tokens = measure_usage(tok, counts).tokens
    whole = "count" in seconds or wanted.min_count == 1  # or the rare pretokens were not loaded
    ordinary = sum(t is not None for t in vocabulary.tokens) - len(vocabulary.removed)
    report(
        {
            "tokenizer": str(output),
            "documents": counts.documents,
            "bytes": counts.total_bytes,
            "distinct pretokens": len(counts),
            "tokens": ordinary + len(vocabulary.special_tokens),
            "special tokens": len(vocabulary.special_tokens),
            "removed tokens": len(vocabulary.removed),
            "bytes per token": round(counts.total_bytes / tokens, 4) if tokens and whole else None,
            "seconds": {stage: round(took, 3) for stage, took in seconds.items()},
            "peak memory (MiB)": round(peak_memory() / 2**20),
            **(cost if as_json else {}),
        },
        as_json,
    )
    if ordinary + len(vocabulary.special_tokens) < vocab_size:
        say(
            f"The corpus ran out of pairs at {ordinary + len(vocabulary.special_tokens):,} tokens, short of {vocab_size:,}."
        )
    return tok


def state_memory(needed: int, free: int) -> None:
    """Say what training will need before it begins, and that it is too much where it is."""
    message = f"training will need up to {math.ceil(needed / 2**20):,} MiB of memory"
    if needed > free:
        message += f", but only {free >> 20:,} MiB are free. Leave out rare pretokens with --min-count 2 or more, or stop this now."
    say(message)


def peak_memory() -> int:
    """The most resident memory this process has held, in bytes."""
    import resource

    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024
