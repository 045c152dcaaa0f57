"""The jobs that change a vocabulary or convert it to another format, and certify the result."""

from __future__ import annotations

import contextlib
import io
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from ..counting.options import TRAINING
from ..errors import InputError, OptionName, UsageError, reason_of
from ..jobs.outputs import is_device, named, refuse_existing, refuse_source_folder, remove
from ..jobs.work import Overwrite, Threads
from ..jobs.working_folder import alone
from ..options import Argument, Option, Options, fields_of
from ..sources.blocks import ReadOptions
from ..tokenizer.opening import Opening
from ..training.options import MergeOptions

if TYPE_CHECKING:
    from ..formats.libraries import LibraryEncoder
    from ..jobs.progress import Progress
    from ..tokenizer import Tokenizer
    from .checking import Agreement
    from .evaluation_text import EvaluationText
    from .pruning import Changed

    Files = Mapping[str, bytes]  # by name

MORE_TEXT = "SRC..."


def _scripts() -> Iterable[str]:
    from .scripts import SCRIPTS  # late: --help does not need NumPy

    return SCRIPTS[1:-1]


@dataclass(frozen=True, kw_only=True)
class Change(Options):
    """Base of the jobs that write a changed tokenizer and its id map."""

    tokenizer: Annotated[Any, Argument("A tokenizer: a file or folder of any format, or a name.")]
    sources: Annotated[Sequence[str], Argument("Text: files, folders, globs; or word counts.")] = ()
    output: Annotated[Path, Option("The folder to write the tokenizer to.", "-o", "--output")]
    opening: Opening = field(default_factory=Opening)
    read: ReadOptions = field(default_factory=ReadOptions)
    num_threads: Threads = None
    overwrite: Overwrite = False

    @property
    def id_map_path(self) -> Path:
        """The path of the new id of each old one, -1 for a removed token."""
        return self.output / "id_map.npy"

    def _unused(self) -> Iterator[tuple[Sequence[Any], Collection[str]]]:
        from ..counting import WordCounts

        if all(map(WordCounts.is_saved, self.sources)):
            mode = "word counts" if self.sources else "a command without text"
            yield (mode,), {*fields_of(ReadOptions)}

    def _side_files(self) -> list[Path]:
        """The files that the job writes in addition to the tokenizer's own."""
        return [self.id_map_path]

    def check(self, *, also_read: Iterable[Any] = ()) -> None:
        """Raise an error for options that exclude each other, and for an output that exists, before the work begins.

        also_read: further sources, which no output may replace.
        """
        from ..formats import check_output
        from ..formats.finding import files_read

        self._refuse_unused()
        sources = [*files_read(self.tokenizer), *self.sources, *also_read]
        refuse_source_folder(self.sources, named(self.output))
        check_output(self.output, overwrite=self.overwrite, sources=sources)
        refuse_existing(*self._side_files(), overwrite=self.overwrite, sources=sources)

    def run(self, *, progress: Progress | None = None) -> Changed:
        """Change the tokenizer, save it, and certify it, except after an extension that keeps all tokens."""
        self.check()
        with alone(self.output):
            return self._changed(self.opening.load(self.tokenizer), progress)

    def _changed(self, tok: Tokenizer, progress: Progress | None) -> Changed:
        raise NotImplementedError

    def _text(self) -> EvaluationText | None:
        from .evaluation_text import EvaluationText

        return EvaluationText(self.sources, self.num_threads, self.read) if self.sources else None

    def _save(
        self, old: Tokenizer, changed: Changed, text: EvaluationText | None, progress: Progress | None, more: Files
    ) -> Changed:
        """Save the tokenizer with its id map and `more` files, read both back, and certify them."""
        import numpy as np

        from ..counting import WordCounts
        from ..formats import write
        from ..tokenizer.loading import load
        from .certificate import certify

        counts = WordCounts.from_mapping({}, split_patterns=old.vocabulary.split_patterns)
        if text is not None:
            counts = text.merged_counts(old, progress)
            text.refuse_empty(len(counts))
        np.save(array := io.BytesIO(), changed.id_map, allow_pickle=False)
        files = {self.id_map_path.name: array.getvalue(), **more}
        write(changed.tok.vocabulary, self.output, overwrite=self.overwrite, tokenizer=type(changed.tok), more=files)
        id_map = np.load(self.id_map_path, allow_pickle=False)
        return replace(changed, certificate=certify(old, load(self.output), id_map, counts, progress))


@dataclass(frozen=True, kw_only=True)
class Prune(Change):
    """Remove tokens; every token that remains can still be built.

    Name the tokens to keep: those that a text uses, those of scripts, or both. Or name those to remove: ids, unreachable tokens, or junk by its IoS.

    id_map.npy contains the new id of each old one, for the rows of an embedding table. A certificate states for which text both tokenizers make the same tokens.

    tokenmill prune cl100k_base corpus/*.txt -o smaller

    tokenmill prune cl100k_base --script Latin --script Greek -o european

    tokenmill prune my-tokenizer corpus/*.txt --ios 0.9 -o cleaned

    tokenmill prune my-tokenizer --unreachable -o reachable
    """

    # fmt: off
    ids: Annotated[Path | None, Option("A file of the tokens to remove: one id per line.")] = None
    unreachable: Annotated[bool, Option("Remove the tokens that no text produces. Those that SRC uses stay.")] = False
    ios: Annotated[float | None, Option("Remove the tokens of a plain tokenizer whose IoS on the text reaches this threshold, e.g. 0.9.", share=True)] = None
    script: Annotated[Sequence[str], Option("Keep tokens of this Unicode script, e.g. Latin, and those without letters. Repeatable.", known=_scripts)] = ()
    # fmt: on
    min_uses: Annotated[int, Option("Keep only tokens that the text uses at least this often.", min=1)] = 1

    def _unused(self) -> Iterator[tuple[Sequence[Any], Collection[str]]]:
        if self.ids is not None:
            yield (OptionName("ids"),), {"unreachable", "ios", "script", "min_uses", "sources"}
        if self.unreachable:
            yield (OptionName("unreachable"),), {"ios", "script", "min_uses"}
        if self.ios is not None:
            yield (OptionName("ios"),), {"script", "min_uses"}
        if not self.sources:
            yield ("a prune without text",), {"ios", "min_uses", "num_threads"}
        yield from super()._unused()

    def check(self, *, also_read: Iterable[Any] = ()) -> None:
        if not self.sources and not self.script and self.ids is None and not self.unreachable:
            script, ids, unreachable, ios = map(OptionName, ("script", "ids", "unreachable", "ios"))
            keep = ("name what to keep (a text, ", script, ")")
            raise UsageError(*keep, " or what to remove (", ids, ", ", unreachable, ", or ", ios, " with a text)")
        super().check(also_read=[*also_read, self.ids])

    def _changed(self, tok: Tokenizer, progress: Progress | None) -> Changed:
        from .pruning import lasting_tokens, prune, shrink
        from .reachability import reach_of_tokens

        text = self._text()
        if self.ids is not None:
            smaller = prune(tok, ids=read_ids(self.ids))
        elif self.unreachable:
            lasting = lasting_tokens(tok.vocabulary)  # raises before the text is counted
            reach = reach_of_tokens(tok, None if text is None else text.usage(tok, progress), progress)
            smaller = prune(tok, ids={id for id, each in reach.items() if each.reason} - lasting)
        elif self.ios is not None:
            smaller = prune(tok, ios=self.ios, counts=text, progress=progress)
        else:
            smaller = shrink(tok, text=text, scripts=self.script, min_uses=self.min_uses, progress=progress)
        return self._save(tok, smaller, text, progress, {})


@dataclass(frozen=True, kw_only=True)
class Extend(MergeOptions, Change):
    """Train a tokenizer further, or only add special tokens; old ids keep their tokens.

    With --reuse, new tokens get the ids of those that the text uses least. For each new id, new_rows.json in the output lists
    old ids: the mean of their rows in an embedding table can initialize the new row.

    tokenmill extend my-tokenizer medicine/*.txt --vocab-size 40000 -o larger

    tokenmill extend cl100k_base src/*.py --reuse 2000 -o for-code

    tokenmill extend my-tokenizer --special-token '<|user|>' -o for-chats
    """

    # fmt: off
    vocab_size: Annotated[int | None, Option("Number of ids, with bytes and special tokens; 32k is 32,000.", min=1, section=TRAINING)] = None
    reuse: Annotated[int | None, Option("Replace the N tokens that the text uses least; 0: all that are worth replacing.", min=0, section=TRAINING)] = None
    keep: Annotated[Sequence[str], Option("With --reuse: more text, whose tokens stay.", metavar=MORE_TEXT, section=TRAINING)] = ()
    # fmt: on

    @property
    def new_rows_path(self) -> Path:
        """The path of the file of --reuse with the old ids for each new one."""
        return self.output / "new_rows.json"

    def _side_files(self) -> list[Path]:
        return [] if self.reuse is None else [self.id_map_path, self.new_rows_path]

    def _unused(self) -> Iterator[tuple[Sequence[Any], Collection[str]]]:
        training = {"min_count", "min_pair_count", "max_token_bytes", "refine"}
        if self.reuse is not None:
            yield (OptionName("reuse"),), {"vocab_size", "special_tokens", *training}
        else:
            yield ("an extension without ", OptionName("reuse")), {"keep"}
        if not self.sources:
            yield ("an extension without text",), {"vocab_size", "reuse", "num_threads", *training}
        yield from super()._unused()

    def check(self, *, also_read: Iterable[Any] = ()) -> None:
        size, special = OptionName("vocab_size"), OptionName("special_tokens")
        if not self.sources and not (self.special_tokens and self.vocab_size is None):
            raise UsageError("name the text to train on; without text, give ", special, " and no ", size)
        if self.sources and self.vocab_size is None and self.reuse is None:
            raise UsageError("give ", size, ", the number of ids to train to, or ", OptionName("reuse"))
        super().check(also_read=[*also_read, *self.keep])

    def _changed(self, tok: Tokenizer, progress: Progress | None) -> Changed:
        import numpy as np

        from ..vocabulary.validation import refuse_ordinary
        from .extending import extend
        from .extending import replace as replace_tokens
        from .pruning import Changed
        from .usage import ordinary_tokens

        refuse_ordinary(self.special_tokens, {*ordinary_tokens(tok.vocabulary).values()})
        text = self._text()
        if self.reuse is not None and text is not None:
            keep = list(self.keep) or None
            better = replace_tokens(tok, text, number=self.reuse or None, keep=keep, read=self.read, progress=progress)
            lines = (f'"{id}": {ids}' for id, ids in better.new_rows.items())
            rows = {self.new_rows_path.name: ("{\n" + ",\n".join(lines) + "\n}\n").encode()}
            return self._save(tok, better, text, progress, rows)
        if self.vocab_size is None:
            larger = tok.add_special_tokens(self.special_tokens)
        else:
            options: dict[str, Any] = {name: getattr(self, name) for name in fields_of(MergeOptions)}
            larger = extend(tok, self.sources, self.vocab_size, read=self.read, progress=progress, **options)
        larger.save(self.output, overwrite=self.overwrite)
        return Changed(larger, np.arange(tok.n_vocab, dtype=np.int32))


def read_ids(path: Path) -> list[int]:
    """Return the ids in a file, one per line. Raises InputError for any other line."""
    try:
        lines = [line.strip() for line in path.read_text(encoding="utf-8").split("\n")]
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"cannot read {path}: {reason_of(error)}") from error
    for number, line in enumerate(lines, 1):
        if not re.fullmatch("[0-9]{0,19}", line):
            raise InputError(f"{path}, line {number}: {line!r:.40} is not an id; give one id per line")
    return [int(line) for line in lines if line]


def _token_and_id(text: str) -> tuple[str, int]:
    token, sign, id = text.rpartition("=")
    if not sign or not token or not (id.isascii() and id.isdigit()):
        raise UsageError(f"{text!r}: expected TEXT=ID, such as '<|endoftext|>=50256'")
    return token, int(id)


@dataclass(frozen=True, kw_only=True)
class Convert(Options):
    """Convert a tokenizer to another format, and certify that the ids are the same.

    The output is read back by tokenmill and, if it is installed, by the library of the format. Notes list what the format
    cannot store. A conversion that would change ids is refused: new files that fail the comparison are removed.

    tokenmill convert cl100k_base my-folder --to huggingface --sample corpus/*.txt
    """

    tokenizer: Annotated[str, Argument("A tokenizer: a file or folder of any format, or a name.")]
    output: Annotated[Path, Argument("The file (for tiktoken, gguf, sentencepiece) or the folder to write.")]
    # fmt: off
    to: Annotated[Literal["huggingface", "tiktoken", "gguf", "sentencepiece", "merges", "ddtok", "longest-match"], Option("huggingface, tiktoken, gguf, sentencepiece, merges (vocab.json, merges.txt) or ddtok; longest-match: a tokenizer.json that encodes by the longest token each time, for a Picky tokenizer with --lossy.")]
    special_tokens: Annotated[Any, Option("A special token, for a file that does not have them. Repeatable.", "--special-token", metavar="TEXT=ID", parse=_token_and_id, many=True)] = ()
    sample: Annotated[Sequence[str], Option("Text to compare the two sides on, in addition to the built-in texts.", metavar="SRC...")] = ()
    lossy: Annotated[bool, Option("Allow other ids: a Picky tokenizer without its events; superwords in GGUF.", "--lossy")] = False
    # fmt: on
    opening: Opening = field(default_factory=Opening)
    read: ReadOptions = field(default_factory=ReadOptions)
    overwrite: Overwrite = False

    def run(self, *, progress: Progress | None = None) -> Converted:
        """Convert, read back, and compare."""
        from .. import formats
        from ..formats.finding import files_read
        from ..formats.writing import paths_of
        from ..tokenizer import Tokenizer
        from .checking import check, document_texts

        opening, output, specials = self.opening, self.output, dict(self.special_tokens)
        sources = [*files_read(self.tokenizer), *self.sample]
        formats.check_output(output, self.to, overwrite=self.overwrite, sources=sources)
        if is_device(output):
            raise UsageError(f"{output} cannot be read back, to compare the ids. Name a file or a folder.")
        document_texts(self.sample, self.read)  # raises for a sample that does not exist, before the output is written
        vocabulary = formats.read(self.tokenizer, opening.split, special_tokens=specials, download=opening.download)
        options: dict[str, Any] = {"lossy": self.lossy, "overwrite": self.overwrite, "tokenizer": Tokenizer}
        new = [path for path in (output, *paths_of(output, self.to)) if not path.exists()]
        notes = formats.write(vocabulary, output, self.to, **options)
        first, notes = Tokenizer(vocabulary), [*vocabulary.notes, *notes]
        if vocabulary.order == "events" and self.lossy:
            return Converted(first, notes, {})
        with contextlib.ExitStack() as unless_certified:
            for path in new:
                unless_certified.callback(remove, path)
            again = Tokenizer(formats.read(output))
            encoders: dict[str, LibraryEncoder | None] = {"tokenmill": None}
            encoder = formats.encode_with_library(output, again.vocabulary, missing_ok=True)
            if encoder is not None and vocabulary.order != "events":
                encoders[encoder.library] = encoder
            readers = {}
            for name, library in encoders.items():
                texts = document_texts(self.sample, self.read)
                readers[name] = check(first, again, texts=texts, library=library, progress=progress)
            if all(agreement.difference is None for agreement in readers.values()):
                unless_certified.pop_all()
        return Converted(first, notes, readers, again)


@dataclass(frozen=True)
class Converted:
    """The result of `Convert`.

    notes: the properties that the format cannot store. readers: the agreement by the library that read the output.
    again: the tokenizer that was read back; None if no ids were compared.
    """

    tok: Tokenizer
    notes: Sequence[str]
    readers: dict[str, Agreement]
    again: Tokenizer | None = None
