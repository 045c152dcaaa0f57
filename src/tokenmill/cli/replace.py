"""tokenmill replace: better tokens for a text under the ids of those that it does not use."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from . import _options as opt
from ._console import check_sample, cost_of_export, progress_bar, report, say
from .prune import Changed, IdMap, read_ids


def replace(
    tokenizer: opt.Tokenizer,
    sources: Annotated[
        list[str], opt.Argument(help="Text to train the new tokens on: files, folders, globs; or word counts.")
    ],
    output: Annotated[Path, opt.Option("--output", "-o", help="The folder to write the tokenizer to.")],
    number: Annotated[
        int | None,
        opt.training(**opt.number, help="How many tokens; by default as many as `inspect` says are worth replacing."),
    ] = None,
    ids: Annotated[Path | None, opt.training(help="Replace the tokens in this file: one id per line.")] = None,
    keep: Annotated[
        list[str] | None, opt.training(metavar="SRC...", help="More text whose tokens are used too and should stay.")
    ] = None,
    sample: opt.Sample = None,
    unit: opt.Unit = "file",
    separator: opt.Separator = "",
    field: opt.Field = "text",
    split: opt.Split = None,
    download: opt.Download = False,
    num_threads: opt.Threads = None,
    id_map: IdMap = None,
    force: opt.Force = False,
    json: opt.Summary = False,
) -> None:
    """Replace tokens that a text does not use; all other ids keep their tokens.

    The text decides which tokens go, the least used first, and new ones are trained on it.
    new_rows.json beside the tokenizer lists for each new id the old ids whose rows, averaged, start its row of an embedding
    table. A certificate says what both encode alike.

    tokenmill replace cl100k_base src/*.py --number 2000 -o for-code
    """
    import json as json_module

    from ..api import load
    from ..jobs.outputs import atomic_file, refuse_existing
    from ..quality import replace as replace_tokens
    from ..quality.evaluation_text import EvaluationText
    from ..sources.blocks import ReadOptions

    given = Changed(output, id_map, force, json)
    given.check()
    refuse_existing(output / "new_rows.json", overwrite=force)
    read = ReadOptions(unit, separator, field)
    tok = load(tokenizer, split=split, download=download)
    check_sample(sample)
    with progress_bar() as progress:
        counts = EvaluationText(sources, num_threads, read).together(tok, progress)
        wanted = None if ids is None else read_ids(ids)
        better = replace_tokens(tok, counts, number, ids=wanted, keep=keep, read=read, progress=progress)
    rows = given.write(tok, better.tok, better.id_map, counts)
    with atomic_file(output / "new_rows.json") as file:
        file.write((json_module.dumps(better.new_rows, indent=0) + "\n").encode())
    cost = cost_of_export(better.tok, sample, json, counts, read)
    left = int((better.id_map < 0).sum()) - len(better.new_rows)
    summary = {"new_rows": str(output / "new_rows.json"), "ids": better.tok.n_vocab, "replaced": len(better.new_rows)}
    report({**rows, **summary, "ids_left_without_token": left, **(cost if json else {})}, json)
    if left:
        say(f"The text ran out of pairs: {left:,} of the ids have no token now.")
