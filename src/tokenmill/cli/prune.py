"""tokenmill prune and shrink: a smaller vocabulary from a larger one."""

from __future__ import annotations

import re
from dataclasses import dataclass
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

IdMap = Annotated[
    Path | None, opt.output(help="The file for the new id of each old one; by default id_map.npy in the output.")
]


@dataclass(frozen=True)
class Changed:
    """Where a changed tokenizer is written, and how the summary is printed."""

    folder: Path
    id_map: Path | None
    force: bool
    json: bool

    def check(self) -> Path:
        """Refuse an output that exists; the place of the id map."""
        from ..formats import check_output
        from ..jobs.outputs import refuse_existing

        where = self.folder / "id_map.npy" if self.id_map is None else self.id_map
        check_output(self.folder, overwrite=self.force)
        refuse_existing(where, overwrite=self.force)
        return where

    def write(self, old: Tokenizer, new: Tokenizer, id_map: np.ndarray, counts: WordCounts | None) -> dict[str, Any]:
        """Save the tokenizer and the id map, read both back and certify them; the rows of the summary."""
        import dataclasses

        import numpy as np

        from ..api import load
        from ..counting import WordCounts
        from ..jobs.outputs import atomic_file
        from ..quality.certificate import certify

        where = self.check()
        new.save(self.folder, overwrite=self.force)
        with atomic_file(where) as file:
            np.save(file, id_map, allow_pickle=False)
        if counts is None:
            counts = WordCounts.from_mapping({}, old.vocabulary.split_patterns)
        with progress_bar() as progress:
            certificate = certify(old, load(self.folder), np.load(where, allow_pickle=False), counts, progress)
        say(str(certificate))
        rows = {"tokenizer": str(self.folder), "id_map": str(where)}
        return {**rows, **({"certificate": dataclasses.asdict(certificate)} if self.json else {})}


def prune(
    tokenizer: opt.Tokenizer,
    output: Annotated[Path, opt.Option("--output", "-o", help="The folder to write the smaller tokenizer to.")],
    ids: Annotated[Path | None, opt.Option(help="Remove the tokens in this file: one id per line.")] = None,
    ios: Annotated[
        float | None,
        opt.Option(
            help="Remove the tokens of a plain tokenizer whose IoS reaches this threshold on --counts, such as 0.9."
        ),
    ] = None,
    counts: Annotated[list[str] | None, opt.Option(metavar="SRC...", help="For --ios: text or word counts.")] = None,
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
    """Remove tokens; every token that remains can still be built.

    A file says which new id each old one has, for the rows of an embedding table. A certificate says what both encode alike.

    tokenmill prune my-tokenizer --ios 0.9 --counts corpus/*.txt -o cleaned

    tokenmill prune my-tokenizer --ids unwanted.txt -o smaller
    """
    from ..api import load
    from ..quality import prune as prune_tokenizer
    from ..sources.blocks import ReadOptions

    if (ids is None) == (ios is None) or (ios is None) != (not counts):
        raise UsageError("give either --ids FILE, or --ios T with --counts SRC, to say which tokens to remove")
    given = Changed(output, id_map, force, json)
    given.check()
    read = ReadOptions(unit, separator, field)
    tok = load(tokenizer, split=split, download=download)
    check_sample(sample)
    counted = _counted(tok, counts, read, num_threads)
    with progress_bar() as progress:
        removing = None if ids is None else read_ids(ids)
        smaller = prune_tokenizer(tok, removing, ios=ios, counts=counted, progress=progress)
    _report(given, tok, smaller, counted, (sample, read))


def shrink(
    tokenizer: opt.Tokenizer,
    output: Annotated[Path, opt.Option("--output", "-o", help="The folder to write the smaller tokenizer to.")],
    sources: Annotated[
        list[str] | None,
        opt.Argument(help="Keep the tokens that this text uses: files, folders, globs; or word counts."),
    ] = None,
    script: Annotated[
        list[str] | None,
        opt.Option(
            help="Keep the tokens of this Unicode script, such as Latin, and those without letters; may be repeated."
        ),
    ] = None,
    min_uses: Annotated[int, opt.Option(min=1, help="Keep only tokens that the text uses this many times.")] = 1,
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
    """Cut a vocabulary to a text, to scripts, or to both together.

    A file says which new id each old one has, for the rows of an embedding table. A certificate says what both encode alike.

    tokenmill shrink cl100k_base corpus/*.txt -o smaller

    tokenmill shrink cl100k_base --script Latin --script Greek -o smaller
    """
    from ..api import load
    from ..quality import shrink as shrink_tokenizer
    from ..sources.blocks import ReadOptions

    if not sources and not script:
        raise UsageError("name a text, or a script with --script, to say which tokens to keep")
    given = Changed(output, id_map, force, json)
    given.check()
    read = ReadOptions(unit, separator, field)
    tok = load(tokenizer, split=split, download=download)
    check_sample(sample)
    counted = _counted(tok, sources, read, num_threads)
    with progress_bar() as progress:
        smaller = shrink_tokenizer(tok, counted, scripts=script or (), min_uses=min_uses, progress=progress)
    _report(given, tok, smaller, counted, (sample, read))


def _counted(tok: Tokenizer, sources: list[str] | None, read: ReadOptions, threads: int | None) -> WordCounts | None:
    from ..quality.evaluation_text import EvaluationText

    if not sources:
        return None
    with progress_bar() as progress:
        return EvaluationText(sources, threads, read).together(tok, progress)


def _report(
    given: Changed,
    old: Tokenizer,
    smaller: Pruned,
    counts: WordCounts | None,
    sample: tuple[list[str] | None, ReadOptions],
) -> None:
    rows = given.write(old, smaller.tok, smaller.id_map, counts)
    cost = cost_of_export(smaller.tok, sample[0], given.json, counts, sample[1])
    sizes = {"tokens_before": old.n_vocab, "tokens": smaller.tok.n_vocab, "dropped": old.n_vocab - smaller.tok.n_vocab}
    report({**rows, **sizes, "kept_because_needed": len(smaller.needed), **(cost if given.json else {})}, given.json)


def read_ids(path: Path) -> list[int]:
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
