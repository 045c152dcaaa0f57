"""tokenmill prune: a smaller vocabulary from a larger one."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated

from ..errors import UsageError
from . import _options as opt
from ._console import check_sample, cost_of_export, progress_bar, report


def prune(
    tokenizer: opt.Tokenizer,
    output: Annotated[Path, opt.Option("--output", "-o", help="The folder to write the smaller tokenizer to.")],
    opening: opt.Opening,
    documents: opt.Documents,
    result: opt.Result,
    unused_on: Annotated[
        list[str] | None,
        opt.Option(metavar="SRC...", help="Remove the tokens that this text does not use, or word counts."),
    ] = None,
    ids: Annotated[Path | None, opt.Option(help="Remove the tokens in this file: one id per line.")] = None,
    min_uses: Annotated[int, opt.Option(min=1, help="With --unused-on: remove tokens used fewer times.")] = 1,
    sample: opt.Sample = None,
    id_map: Annotated[
        Path | None, opt.Option(help="The file for the new id of each old one; by default id_map.npy in the output.")
    ] = None,
) -> None:
    """Remove tokens; every token that remains can still be built.

    A file says which new id each old one has, for the rows of an embedding table.

    tokenmill prune my-tokenizer --unused-on corpus/*.txt -o smaller
    """
    import numpy as np

    from ..formats import check_output
    from ..jobs.outputs import atomic_file, refuse_existing
    from ..quality import prune as prune_tokenizer

    if (ids is None) == (not unused_on):
        raise UsageError("give either --unused-on SRC or --ids FILE to say which tokens to remove")
    where = output / "id_map.npy" if id_map is None else id_map
    check_output(output, overwrite=result.force)
    refuse_existing(where, overwrite=result.force)
    tok = opening.load(tokenizer)
    check_sample(sample)
    with progress_bar() as progress:
        if ids is None:
            smaller = prune_tokenizer(
                tok, unused_on=unused_on, min_uses=min_uses, read=documents.read, progress=progress
            )
        else:
            smaller = prune_tokenizer(tok, _read_ids(ids))
    smaller.tok.save(output, overwrite=result.force)
    with atomic_file(where) as file:
        np.save(file, smaller.id_map, allow_pickle=False)
    cost = cost_of_export(smaller.tok, sample, result.json, read=documents.read)
    report(
        {
            "tokenizer": str(output),
            "id_map": str(where),
            "tokens_before": tok.n_vocab,
            "tokens": smaller.tok.n_vocab,
            "dropped": smaller.dropped,
            "kept_because_needed": len(smaller.needed),
            **(cost if result.json else {}),
        },
        result.json,
    )


def _read_ids(path: Path) -> list[int]:
    from ..errors import InputError

    try:
        lines = path.read_text(encoding="utf-8").split("\n")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"cannot read {path}: {error}") from error
    lines = [line.strip() for line in lines]
    for number, line in enumerate(lines, 1):
        if not re.fullmatch("[0-9]*", line):
            raise InputError(f"{path}, line {number}: {line!r} is not an id; give one id per line")
    return [int(line) for line in lines if line]
