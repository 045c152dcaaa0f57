"""tokenmill replace: better tokens for a text under the ids of those that it does not use."""

from __future__ import annotations

from typing import Annotated

from . import _options as opt
from ._console import progress_bar, report, say
from .prune import Changed, Ids, read_ids


def replace(
    tokenizer: opt.Tokenizer,
    sources: Annotated[
        list[str], opt.Argument(help="Text to train the new tokens on: files, folders, globs; or word counts.")
    ],
    changed: Changed,
    opening: opt.Opening,
    documents: opt.Documents,
    number: Annotated[
        int | None,
        opt.training(**opt.number, help="How many tokens; by default as many as `inspect` says are worth replacing."),
    ] = None,
    ids: Ids = None,
    keep: Annotated[
        list[str] | None, opt.training(metavar="SRC...", help="More text whose tokens are used too and should stay.")
    ] = None,
) -> None:
    """Replace tokens that a text does not use; all other ids keep their tokens.

    The text decides which tokens go, the least used first, and new ones are trained on it. For each new id, new_rows.json in the
    output lists old ids: the mean of their rows in an embedding table is a start for the new row. A certificate says what both
    encode alike.

    tokenmill replace cl100k_base src/*.py --number 2000 -o for-code
    """
    from ..jobs.outputs import refuse_existing
    from ..quality import replace as replace_tokens
    from ..quality.evaluation_text import EvaluationText

    changed.check()
    new_rows = changed.output / "new_rows.json"
    refuse_existing(new_rows, overwrite=changed.force)
    tok, read = opening.load(tokenizer), documents.read
    with progress_bar() as progress:
        counts = EvaluationText(sources, None, read).together(tok, progress)
        wanted = None if ids is None else read_ids(ids)
        better = replace_tokens(tok, counts, number, ids=wanted, keep=keep, read=read, progress=progress)
    lines = (f'"{id}": {parts}' for id, parts in better.new_rows.items())
    content = ("{\n" + ",\n".join(lines) + "\n}\n").encode()
    rows = changed.write(tok, better.tok, better.id_map, counts, read, {new_rows.name: content})
    left = int((better.id_map < 0).sum()) - len(better.new_rows)
    sizes = {"ids": better.tok.n_vocab, "replaced": len(better.new_rows), "ids_left_without_token": left}
    report({**rows, "new_rows": str(new_rows), **sizes}, changed.json)
    if number is None and ids is None and not better.new_rows:
        say("No token is worth replacing on this text. --number N replaces the N least used ones all the same.")
    if left:
        say(f"The text ran out of pairs: {left:,} of the ids have no token now.")
