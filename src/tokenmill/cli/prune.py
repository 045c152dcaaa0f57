"""tokenmill prune and shrink: a smaller vocabulary from a larger one."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from ..errors import UsageError
from . import _options as opt
from ._console import check_sample, cost_of_export, progress_bar, report, say

if TYPE_CHECKING:
    import numpy as np

    from ..counting import WordCounts
    from ..quality import Pruned
    from ..sources.blocks import ReadOptions
    from ..tokenizer import Tokenizer

Ids = Annotated[Path | None, opt.Option(help="A file of the tokens to remove or replace: one id per line.")]


class Changed(opt.Result):
    """Where a changed tokenizer and its id map are written, and what is measured on it."""

    output: Annotated[Path, opt.Option("--output", "-o", help="The folder to write the tokenizer to.")]
    id_map: Annotated[
        Path | None, opt.output(help="The file for the new id of each old one; by default id_map.npy in the output.")
    ] = None
    sample: opt.Sample = None

    @property
    def where(self) -> Path:
        """The file of the id map."""
        return self.output / "id_map.npy" if self.id_map is None else self.id_map

    def check(self) -> None:
        """Refuse an output that exists and a sample that is missing, before the work begins."""
        from ..formats import check_output
        from ..jobs.outputs import refuse_existing

        check_output(self.output, overwrite=self.force)
        refuse_existing(self.where, overwrite=self.force)
        check_sample(self.sample)

    def write(
        self,
        old: Tokenizer,
        new: Tokenizer,
        id_map: np.ndarray,
        counts: WordCounts | None,
        read: ReadOptions,
        more: Mapping[str, bytes] | None = None,
    ) -> dict[str, Any]:
        """Save the tokenizer with the id map and `more` files, read back, certify and measure it; the rows of the summary."""
        import dataclasses
        import io

        import numpy as np

        from ..api import load
        from ..counting import WordCounts
        from ..formats import write
        from ..jobs.outputs import atomic_files
        from ..quality.certificate import certify

        np.save(array := io.BytesIO(), id_map, allow_pickle=False)
        beside = {self.where.name: array.getvalue()} if self.id_map is None else {}
        write(new.vocabulary, self.output, overwrite=self.force, more={**beside, **(more or {})})
        if not beside:
            atomic_files({self.where: array.getvalue()})
        texts = WordCounts.from_mapping({}, old.vocabulary.split_patterns) if counts is None else counts
        with progress_bar() as progress:
            certificate = certify(old, load(self.output), np.load(self.where, allow_pickle=False), texts, progress)
        say(str(certificate))
        cost = cost_of_export(new, self.sample, self.json, counts, read)
        rows = {"tokenizer": str(self.output), "id_map": str(self.where)}
        return rows | ({"certificate": dataclasses.asdict(certificate), **cost} if self.json else {})


def prune(
    tokenizer: opt.Tokenizer,
    changed: Changed,
    opening: opt.Opening,
    documents: opt.Documents,
    ids: Ids = None,
    ios: Annotated[
        float | None,
        opt.Option(
            help="Remove tokens of a plain tokenizer whose IoS on --counts reaches this threshold, such as 0.9."
        ),
    ] = None,
    counts: Annotated[list[str] | None, opt.Option(metavar="SRC...", help="For --ios: text or word counts.")] = None,
    num_threads: opt.Threads = None,
) -> None:
    """Remove tokens; every token that remains can still be built.

    A file says which new id each old one has, for the rows of an embedding table. A certificate says what both encode alike.

    tokenmill prune my-tokenizer --ios 0.9 --counts corpus/*.txt -o cleaned

    tokenmill prune my-tokenizer --ids unwanted.txt -o smaller
    """
    from ..quality import prune as prune_tokenizer

    if (ids is None) == (ios is None) or (ios is None) != (not counts):
        raise UsageError("give either --ids FILE, or --ios T with --counts SRC, to say which tokens to remove")
    changed.check()
    tok = opening.load(tokenizer)
    counted = _counted(tok, counts, documents.read, num_threads)
    with progress_bar() as progress:
        removing = None if ids is None else read_ids(ids)
        smaller = prune_tokenizer(tok, removing, ios=ios, counts=counted, progress=progress)
    _report(changed, tok, smaller, counted, documents.read)


def shrink(
    tokenizer: opt.Tokenizer,
    changed: Changed,
    opening: opt.Opening,
    documents: opt.Documents,
    sources: Annotated[
        list[str] | None,
        opt.Argument(help="Keep the tokens that this text uses: files, folders, globs; or word counts."),
    ] = None,
    script: Annotated[
        list[str] | None,
        opt.Option(
            help="Keep tokens of this Unicode script, such as Latin, and those without letters; may be repeated."
        ),
    ] = None,
    min_uses: Annotated[int, opt.Option(min=1, help="Keep only tokens that the text uses this many times.")] = 1,
    num_threads: opt.Threads = None,
) -> None:
    """Cut a vocabulary to a text, to scripts, or to both together.

    A file says which new id each old one has, for the rows of an embedding table. A certificate says what both encode alike.

    tokenmill shrink cl100k_base corpus/*.txt -o smaller

    tokenmill shrink cl100k_base --script Latin --script Greek -o smaller
    """
    from ..quality import shrink as shrink_tokenizer

    if not sources and not script:
        raise UsageError("name a text, or a script with --script, to say which tokens to keep")
    changed.check()
    tok = opening.load(tokenizer)
    counted = _counted(tok, sources, documents.read, num_threads)
    with progress_bar() as progress:
        smaller = shrink_tokenizer(tok, counted, scripts=script or (), min_uses=min_uses, progress=progress)
    _report(changed, tok, smaller, counted, documents.read)


def _counted(tok: Tokenizer, sources: list[str] | None, read: ReadOptions, threads: int | None) -> WordCounts | None:
    from ..quality.evaluation_text import EvaluationText

    if not sources:
        return None
    with progress_bar() as progress:
        return EvaluationText(sources, threads, read).together(tok, progress)


def _report(changed: Changed, old: Tokenizer, smaller: Pruned, counts: WordCounts | None, read: ReadOptions) -> None:
    rows = changed.write(old, smaller.tok, smaller.id_map, counts, read)
    sizes = {"tokens_before": old.n_vocab, "tokens": smaller.tok.n_vocab, "dropped": smaller.dropped}
    report({**rows, **sizes, "kept_because_needed": len(smaller.needed)}, changed.json)


def read_ids(path: Path) -> list[int]:
    """The ids in a file, one per line. InputError for a file that holds anything else."""
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
