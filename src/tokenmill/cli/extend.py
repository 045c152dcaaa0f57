"""tokenmill extend: a larger vocabulary from an existing one."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ._console import progress_bar, report, say
from ._cost import SampleOption, check_sample, cost_of_export
from ._many import taking_many
from .main import app

__all__ = ["extend"]


@app.command(cls=taking_many("--sample"))
def extend(
    tokenizer: Annotated[str, typer.Argument(help="The tokenizer: a file or folder of any format, or a name.")],
    sources: Annotated[
        list[str],
        typer.Argument(help="Text to train on: files, folders, globs; or word counts cut by the tokenizer's pattern."),
    ],
    vocab_size: Annotated[int, typer.Option(help="Ids in all, the old ones and special tokens included.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="The folder to write the larger tokenizer to.")],
    special_token: Annotated[
        list[str] | None, typer.Option(help="A new special token; may be given several times.")
    ] = None,
    min_count: Annotated[int, typer.Option(help="Leave out pretokens seen fewer times.")] = 1,
    min_pair_count: Annotated[int, typer.Option(help="Stop when the best pair is rarer.")] = 1,
    max_token_bytes: Annotated[int | None, typer.Option(help="Never make a longer token.")] = None,
    refine: Annotated[
        float | None,
        typer.Option(
            help="Picky BPE: remove new tokens whose IoS reaches this threshold. A Picky tokenizer goes on with its own."
        ),
    ] = None,
    sample: SampleOption = None,
    split: Annotated[str | None, typer.Option(help="The split pattern, for a file that does not hold it.")] = None,
    num_threads: Annotated[int | None, typer.Option(help="Threads for counting; all cores unless told.")] = None,
    json: Annotated[bool, typer.Option("--json", help="Print the summary as JSON on stdout.")] = False,
) -> None:
    """Train a tokenizer further on new text; all old ids keep their tokens.

    tokenmill extend my-tokenizer medicine/*.txt --vocab-size 40000 -o larger
    """
    from ..api import load
    from ..quality import extend as extend_tokenizer
    from ..quality.domains import Domains

    tok = load(tokenizer, split=split)
    check_sample(sample)
    with progress_bar() as progress:
        counts = Domains(sources, num_threads).together(tok, progress)
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
    cost = cost_of_export(larger, sample, json, otherwise=counts)
    removed = {"removed tokens": len(larger.vocabulary.removed)} if larger.vocabulary.order == "events" else {}
    summary = {"tokenizer": str(output), "ids before": tok.n_vocab, "ids": larger.n_vocab}
    report({**summary, **removed, **(cost if json else {})}, json)
    if larger.n_vocab < vocab_size:
        say(f"The text ran out of pairs at {larger.n_vocab:,} ids, short of {vocab_size:,}.")
