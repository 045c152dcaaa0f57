"""tokenmill join and verify: join token files, and verify one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from ..errors import OptionName
from ..jobs.work import Threads
from ..options import Argument, refuse_given
from ..token_files.joining import Join, named_files
from ..token_files.settings import IdType
from ..tokenizer.opening import EncoderOpening, TokenizerOption
from . import _commands as opt
from ._console import progress_bar, report


def join(job: Join, *, json: opt.Json = False) -> None:
    with progress_bar() as progress:
        summary = job.run(progress=progress)
    rows = {"token_file": str(summary.path), "documents": summary.documents, "tokens": summary.tokens}
    report({**rows, "files": summary.files, "dtype": summary.dtype, "seconds": round(summary.seconds, 3)}, json)


def verify(
    opening: EncoderOpening,
    *,
    path: Annotated[str, Argument("A token file, or a glob of token files.")],
    sources: Annotated[Sequence[str], Argument("The text that it was made from, to encode it again and compare.")] = (),
    tokenizer: TokenizerOption = None,
    dtype: IdType = None,
    num_threads: Threads = None,
    json: opt.Json = False,
) -> None:
    """Verify a token file: hashes, ids, ends of documents, and the text it was made from.

    With --tokenizer and sources, the sources are encoded again, and every id is compared. Exits with 1 at the first fault, and names its position.

    tokenmill verify train.bin corpus/*.jsonl --tokenizer my-tokenizer
    """
    from ..token_files.verifying import verify as verify_file

    if tokenizer is None:
        refuse_given(opening, "verifying without ", OptionName("tokenizer", ...))
    if not sources:
        refuse_given(None, "verifying without sources", num_threads=num_threads)
    tok = opening.load(tokenizer) if tokenizer is not None else None
    for file in named_files([path]):
        with progress_bar() as progress:
            result = verify_file(
                file, tok=tok, sources=list(sources), dtype=dtype, num_threads=num_threads, progress=progress
            )
        rows = {"token_file": str(result.path), "documents": result.documents, "tokens": result.tokens}
        report(rows | {"verified": list(result.checks) if json else ", ".join(result.checks)}, json)
