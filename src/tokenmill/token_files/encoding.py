"""encode_files: documents to a token file, which appears whole or not at all.

Beside the output OUT there is, while it is made, a folder .OUT.encoding with

    lock                    held by the process that encodes
    manifest.json           how far everything is on the disk; renamed into place after what it tells of
    ids, lengths, names     the part (parts.py); what is longer than the manifest says is of no use
    OUT, ...                the finished files, just before they are renamed

A later call with the same sources, tokenizer and options goes on from there, to the same bytes.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..counting.manifest import fingerprint, working_folder
from ..errors import UsageError
from ..jobs.outputs import atomic_file, output_errors
from ..jobs.ray import check_engine
from ..sources.find import OnSkip, Source, find_sources
from .documents import Place
from .output import HEADERS, build, put_in_place
from .parts import Counts, Part, PartWriter, run
from .settings import LAYOUTS, Settings, dtype_for, end_of_text_id, output_path

if TYPE_CHECKING:
    from ..tokenizer.tokenizer import Tokenizer

__all__ = ["Summary", "encode_files", "join_parts", "settings_for"]

CHECKPOINT = 5.0  # seconds between two checkpoints
VERSION = 1
NAME = "manifest.json"

Progress = Callable[[str, int, "int | None"], None]
Paths = str | os.PathLike | Iterable[str | os.PathLike]


@dataclass(frozen=True)
class Summary:
    """What was written.

    path: the file with the ids.
    resumed_bytes: how much of the text had been encoded before an earlier call was interrupted.
    """

    path: Path
    dtype: str
    documents: int
    tokens: int
    text_bytes: int
    skipped: int = 0
    resumed_bytes: int = 0


def encode_files(
    tok: Tokenizer,
    sources: Paths,
    output: str | os.PathLike,
    layout: str = "bin",
    *,
    end_of_text: str | bool = True,
    special: bool = False,
    unit: str = "file",
    field: str = "text",
    num_threads: int | None = None,
    on_skip: OnSkip | None = None,
    resume: bool = True,
    checkpoint_every: float = CHECKPOINT,
    engine: str = "local",
    ray_address: str | None = None,
    progress: Progress | None = None,
) -> Summary:
    """Encode files, folders and globs to a token file: all documents in order, by several threads, in bounded memory.

    A file is a document; in .jsonl and .ndjson each line is one, in .parquet each row.

    layout: "bin", "npy", "megatron" or "parquet": see docs/reference/token-files.md.
    end_of_text: the special token that follows each document, by its text; True means <|endoftext|> (and none in
        Parquet, where the rows part the documents), False none.
    special: whether text that spells a special token becomes that token; else it is ordinary text.
    unit: in text files, a document is a "file", a "line", or what stands between "blank" lines.
    field: the field of a JSON line, or the column of Parquet, that holds the text.
    on_skip: called for what cannot be read, and it is left out; without it the first such thing is an InputError.
    resume: go on where an earlier call was interrupted. The output is the same to the byte.
    checkpoint_every: seconds between two checkpoints.
    engine: "ray" encodes on the Ray cluster at `ray_address` ("auto", "head:6379", "ray://head:10001"); without an address,
        on the Ray that this process is connected to or that runs here, or one started for it. All machines must see the
        sources and the folder of `output` under the same paths. `num_threads` is then that of each task (1, if None), a
        source goes to one task whole, and an interrupted call begins anew.
    progress: called as progress("encode", bytes of the sources read, bytes of all).

    >>> encode_files(tok, "corpus/*.txt", "train.bin").tokens
    18211734
    """
    settings = settings_for(tok, layout, end_of_text=end_of_text, special=special, unit=unit, field=field)
    path = output_path(Path(output), layout)
    found = find_sources(sources, on_skip)
    _refuse_overwriting(found, path)
    check_engine(engine, ray_address)
    if engine == "ray":
        from .ray_engine import parts_with_ray

        with parts_with_ray(
            tok,
            found,
            settings,
            path,
            num_threads=num_threads,
            on_skip=on_skip,
            address=ray_address,
            progress=progress,
        ) as parts:
            return join_parts(tok, parts, settings, path)
    with output_errors(path), working_folder(path, resume, "encoding") as folder:
        manifest = _Manifest(folder, found, settings, tok)
        state = manifest.load()
        resumed = state["part"]["counts"]["text_bytes"] if state["part"] else 0
        if not state["finished"]:
            writer = PartWriter(folder, HEADERS[layout], state["part"])
            try:
                _run(
                    tok,
                    found,
                    settings,
                    writer,
                    manifest,
                    state["place"],
                    num_threads,
                    on_skip,
                    checkpoint_every,
                    progress,
                )
            finally:
                writer.close()
            _finish(Part(folder, writer.counts), tok, settings, path, manifest)
            counts = writer.counts
        else:
            put_in_place(folder, state["finished"], path)
            counts = Counts(**state["part"]["counts"])
    return Summary(path, settings.dtype, counts.documents, counts.tokens, counts.text_bytes, counts.skipped, resumed)


def settings_for(tok: Tokenizer, layout: str, *, end_of_text: str | bool = True, **others: Any) -> Settings:
    """The settings of a token file of `tok`: the width of an id from its vocabulary, the id of the end-of-text token."""
    if layout not in LAYOUTS:
        raise UsageError(f"the token file format {layout!r} is not known; known are {', '.join(LAYOUTS)}")
    id = None
    if isinstance(end_of_text, str) or (end_of_text and layout != "parquet"):
        id = end_of_text_id(tok, end_of_text if isinstance(end_of_text, str) else None)
    return Settings(layout, dtype_for(tok.n_vocab), id, **others)


def join_parts(
    tok: Tokenizer, parts: Iterable[Part], settings: Settings, output: str | os.PathLike, resumed_bytes: int = 0
) -> Summary:
    """Write the token file of parts made apart (`encode_part`), joined in order.

    The bytes are those that `encode_files` writes for all their sources.
    """
    path = output_path(Path(output), settings.layout)
    with output_errors(path), working_folder(path, False, "encoding") as folder:
        writer = PartWriter(folder, HEADERS[settings.layout])
        try:
            for part in parts:
                writer.join(part)
            writer.sync()
        finally:
            writer.close()
        put_in_place(folder, build(Part(folder, writer.counts), tok, settings, path), path)
    counts = writer.counts
    return Summary(
        path, settings.dtype, counts.documents, counts.tokens, counts.text_bytes, counts.skipped, resumed_bytes
    )


def _run(
    tok: Tokenizer,
    sources: Sequence[Source],
    settings: Settings,
    writer: PartWriter,
    manifest: _Manifest,
    start: list[int],
    num_threads: int | None,
    on_skip: OnSkip | None,
    every: float,
    progress: Progress | None,
) -> None:
    """Encode from a checkpoint on, with new checkpoints now and then, and one where it is stopped by Ctrl-C."""
    done: tuple[Place, dict[str, Any]] | None = None
    saved = time.monotonic()

    def after(place: Place) -> None:
        nonlocal done, saved
        done = place, writer.mark()
        if time.monotonic() - saved >= every:
            writer.sync()
            manifest.save(*done)
            saved = time.monotonic()

    try:
        run(
            tok,
            sources,
            settings,
            writer,
            Place(*start),
            num_threads=num_threads,
            on_skip=on_skip,
            after=after,
            progress=progress,
        )
    except KeyboardInterrupt:
        if done is not None:
            writer.sync()
            manifest.save(*done)
        raise
    writer.sync()
    manifest.save(Place(len(sources)), writer.mark())


def _finish(part: Part, tok: Tokenizer, settings: Settings, path: Path, manifest: _Manifest) -> None:
    files = build(part, tok, settings, path)
    manifest.save_finished(files)
    put_in_place(part.folder, files, path)


def _refuse_overwriting(sources: Sequence[Source], path: Path) -> None:
    for source in sources:
        if isinstance(source, Path) and path.exists() and source.exists() and path.samefile(source):
            raise UsageError(f"{path} is one of the sources. Name another output.")


class _Manifest:
    """How far everything is on the disk. That sources are the same as before is told by their paths, sizes and dates."""

    def __init__(self, folder: Path, sources: Sequence[Source], settings: Settings, tok: Tokenizer):
        self._path = folder / NAME
        self._key = {
            "version": VERSION,
            "sources": fingerprint(sources),
            "tokenizer": tok.vocabulary.fingerprint(),
            "settings": settings.to_json(),
        }
        self._state: dict[str, Any] = {"place": [0, 0], "part": None, "finished": None}

    def load(self) -> dict[str, Any]:
        """The last checkpoint: the place in the sources, the part, the names of the output's files if they are made."""
        try:
            content = json.loads(self._path.read_bytes())
            state = content.pop("state")
            if set(state) != set(self._state):
                raise ValueError("it is damaged")
        except FileNotFoundError:
            return self._state
        except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
            raise UsageError(f"{self._path} cannot be read: {error}. {self._anew()}") from error
        for name, value in self._key.items():
            if content.get(name) != value:
                raise UsageError(
                    f"{self._path.parent} holds an unfinished output of other {name}. Call it again with the same {name} "
                    f"to go on (sources must not have changed meanwhile). {self._anew()}"
                )
        self._state = state
        return state

    def save(self, place: Place, part: dict[str, Any]) -> None:
        self._write({"place": list(place), "part": part, "finished": None})

    def save_finished(self, files: list[list[str]]) -> None:
        self._write(self._state | {"finished": files})

    def _write(self, state: dict[str, Any]) -> None:
        self._state = state
        with atomic_file(self._path, "w") as file:
            json.dump({**self._key, "state": state}, file)

    def _anew(self) -> str:
        return f"To begin anew, delete {self._path.parent} (or use resume=False, --no-resume)."
