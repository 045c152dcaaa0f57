"""tokenmill prune: a smaller vocabulary from a larger one."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ..errors import UsageError
from ._console import progress_bar, report
from ._cost import SampleOption, check_sample, cost_of_export
from ._many import taking_many
from .main import app

__all__ = ["prune"]


@app.command(cls=taking_many("--unused-on", "--sample"))
def prune(
    tokenizer: Annotated[str, typer.Argument(help="The tokenizer: a file or folder of any format, or a name.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="The folder to write the smaller tokenizer to.")],
    unused_on: Annotated[
        list[str] | None,
        typer.Option(metavar="SRC...", help="Drop tokens this text does not use: files, folders, globs, word counts."),
    ] = None,
    ids: Annotated[Path | None, typer.Option(help="Drop the tokens of this file: one id a line.")] = None,
    min_uses: Annotated[int, typer.Option(min=1, help="With --unused-on: drop tokens used fewer times.")] = 1,
    sample: SampleOption = None,
    split: Annotated[str | None, typer.Option(help="The split pattern, for a file that does not hold it.")] = None,
    id_map: Annotated[
        Path | None,
        typer.Option(
            help="Where to write the new id of each old one, -1 for none: id_map.npy in the output, unless told."
        ),
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print the summary as JSON on stdout.")] = False,
) -> None:
    """Drop tokens from a vocabulary so that what stays can still be built; writes the map from old ids to new ones.

    tokenmill prune my-tokenizer --unused-on corpus/*.txt -o smaller
    """
    import numpy as np

    from ..api import load
    from ..jobs.outputs import atomic_file
    from ..quality import prune as prune_tokenizer

    if (ids is None) == (not unused_on):
        raise UsageError("say what is to go: either --unused-on SRC or --ids FILE")
    tok = load(tokenizer, split=split)
    check_sample(sample)
    with progress_bar() as progress:
        if ids is None:
            smaller = prune_tokenizer(tok, unused_on=unused_on, min_uses=min_uses, progress=progress)
        else:
            smaller = prune_tokenizer(tok, _read_ids(ids))
    smaller.tok.save(output)
    where = output / "id_map.npy" if id_map is None else id_map
    with atomic_file(where) as file:
        np.save(file, smaller.id_map, allow_pickle=False)
    cost = cost_of_export(smaller.tok, sample, json)
    report(
        {
            "tokenizer": str(output),
            "id map": str(where),
            "tokens before": tok.n_vocab,
            "tokens": smaller.tok.n_vocab,
            "dropped": smaller.dropped,
            "kept because needed": len(smaller.needed),
            **(cost if json else {}),
        },
        json,
    )


def _read_ids(path: Path) -> list[int]:
    from ..errors import InputError

    try:
        lines = path.read_text(encoding="utf-8").split("\n")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"cannot read {path}: {error}") from error
    found = []
    for number, line in enumerate(lines, 1):
        if line.strip():
            try:
                found.append(int(line))
            except ValueError:
                raise InputError(f"{path}, line {number}: {line.strip()!r} is no id; give one id a line") from None
    return found
