"""Many texts at once, on several threads: the kernels release the GIL."""

from __future__ import annotations

import codecs
import contextlib
import gc
import itertools
import os
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any, TypeVar

from ..errors import UsageError, WrongTypeError, checked_texts
from ..kernels.machine import threads_for
from .core import Core
from .encoding._batch_cy import Batch
from .normalization import normalizer_of
from .special import Plan

if TYPE_CHECKING:
    from concurrent.futures import ThreadPoolExecutor

    import numpy as np

LONG, MANY = 4096, 1 << 20  # ids of a list, and of all: to start a thread takes as long as to decode 10,000
LONG_TEXT, PIECE = 1 << 20, 1 << 18  # characters, bytes
CHUNKS = 8  # per thread, so that the threads end together

Item = TypeVar("Item")
Result = TypeVar("Result")


def map_batch(function: Callable[[Item], Result], items: Iterable[Item], num_threads: int | None) -> list[Result]:
    """Return the result of `function` for each item, in order. Each thread takes chunks of neighbouring items."""
    items = list(items)
    threads = min(threads_for(num_threads), len(items))
    if threads <= 1:
        return list(map(function, items))
    stopped = False

    def work(chunk: list[Item]) -> list[Result]:
        return [function(item) for item in chunk if not stopped]

    size = -(-len(items) // (CHUNKS * threads))
    with _pool(threads) as pool:
        try:
            chunks = [pool.submit(work, items[i : i + size]) for i in range(0, len(items), size)]
            return list(itertools.chain.from_iterable(chunk.result() for chunk in chunks))
        finally:
            stopped = True


def refuse_unknown_handler(errors: Any) -> None:
    """Raise UsageError unless `errors` is the name of an error handler of bytes.decode."""
    try:
        codecs.lookup_error(errors)
    except (TypeError, ValueError, LookupError):
        raise UsageError(
            f"errors is {errors!r}; it must be the name of an error handler, such as 'replace', 'strict' or 'ignore'"
        ) from None


def decode_batch(decode: Callable[[Item], Result], batch: Iterable[Item], num_threads: int | None) -> list[Result]:
    """Decode each list of ids. Threads are used only for many ids in long lists, which are decoded without the GIL."""
    lists, threads = list(batch), threads_for(num_threads)
    n_ids = sum(len(ids) for ids in lists if hasattr(ids, "__len__") and getattr(ids, "ndim", 1) != 0)
    return map_batch(decode, lists, threads if n_ids > max(MANY, LONG * len(lists)) else 1)


def encode_batch(core: Core, texts: Iterable[str], plan: Plan, num_threads: int | None) -> list[list[int]]:
    """A list of ids for each text."""
    core, batch, threads = core.encoder, _texts(texts), threads_for(num_threads)
    with gc_paused():
        if core.scanner is None:
            return map_batch(_encode_function(batch, core, plan), batch, threads)
        return _encode_together(core, batch, plan, threads, Batch.lists)


def encode_flat(core: Core, texts: Iterable[str], plan: Plan, num_threads: int | None) -> tuple[np.ndarray, np.ndarray]:
    """The ids of all texts in one array, and n + 1 offsets into it."""
    import numpy as np

    core = core.encoder
    if core.scanner is None:
        lists = encode_batch(core, texts, plan, num_threads)
        ids = np.fromiter(itertools.chain.from_iterable(lists), np.uint32)
        return ids, np.cumsum([0, *map(len, lists)], dtype=np.int64)
    ids, ends = _encode_together(core, _texts(texts), plan, threads_for(num_threads), Batch.flat)
    return np.frombuffer(ids, np.uint32) if len(ids) else np.empty(0, np.uint32), np.frombuffer(ends, np.int64)


def encode_divided(core: Core, text: str | bytes, plan: Plan, num_threads: int | None) -> Any:
    """The ids of a long text in one array, by several threads. None if the text is short or cannot be divided, or for one thread."""
    if not isinstance(text, (str, bytes)):
        several = "; encode_batch encodes a list of texts" if isinstance(text, (list, tuple)) else ""
        raise WrongTypeError(f"text is str or bytes, not {type(text).__name__}{several}")
    if num_threads is None and len(text) < LONG_TEXT:
        return None
    core, threads = core.encoder, threads_for(num_threads)
    if threads == 1 or len(text) < LONG_TEXT:
        return None
    pieces = tuple(text[start:end] for start, end in itertools.pairwise(_borders(core, text)))
    if len(pieces) > 1:
        with contextlib.suppress(_DependentPiece):
            return _encode_together(core, pieces, plan, threads, Batch.flat, divided=True)[0]
    return None


class _DependentPiece(Exception):
    """A piece of a text cannot be encoded in Python, which would put a space before it."""


def _borders(core: Core, text: str | bytes) -> list[int]:
    """Return the borders at which a long text may be divided, from 0 to its length.

    They are certain cuts outside of added tokens, between characters of ASCII that stay as they are. Normalization of characters
    does not look across two of them.
    """
    borders = [0]
    splitter, changes = core.dividing_splitter, core.vocabulary.normalization
    if splitter is None:
        return borders
    normalizes = changes.normalizers or changes.space_mark
    change = normalizer_of((*changes.other_steps, ("Replace", changes.space_mark or " ", " ")))
    before_spaces = tuple(text.encode() for text in splitter.special_tokens) if changes.prepends else ()
    around = 1024 + 4 * max((len(token.content) for token in core.vocabulary.added_tokens), default=0)
    for middle in range(PIECE, len(text) - PIECE // 2, PIECE):
        window = text[middle - around : middle + around]
        try:
            data = window.encode() if isinstance(window, str) else window
        except UnicodeEncodeError:  # lone surrogates
            continue
        first = len(data) // 4
        cut = splitter.certain_cut(data, first, len(data) - first)
        while cut:
            pair = data[cut - 1 : cut + 1].decode(errors="replace")
            stays = data[cut - 1 : cut + 2].isascii() and change(pair) == pair
            if (stays or not normalizes) and not data.endswith(before_spaces, 0, cut):
                break
            cut = splitter.certain_cut(data, first, cut)
        if cut:
            border = middle - around + (len(data[:cut].decode()) if isinstance(text, str) else cut)
            borders += [border] if border > borders[-1] else []
    borders.append(len(text))
    return borders


def _pool(threads: int) -> ThreadPoolExecutor:
    from concurrent.futures import ThreadPoolExecutor  # late: one text needs no threads

    return ThreadPoolExecutor(threads)


def _texts(texts: Iterable[str]) -> tuple[str, ...]:
    if type(texts) is list:
        return tuple(texts)
    return tuple(texts.to_pylist() if hasattr(texts, "to_pylist") else checked_texts(texts))


def _encode_function(texts: tuple[str | bytes, ...], core: Core, plan: Plan) -> Callable[[str | bytes], list[int]]:
    """Return a function that encodes one of the texts. Its WrongTypeError has the number of the text."""

    def encode(text: str | bytes) -> list[int]:
        if not isinstance(text, (str, bytes)):
            number = next(number for number, other in enumerate(texts) if other is text)
            raise WrongTypeError(f"texts[{number}] is {text!r:.40}; it must be str or bytes")
        return core.encode(text, plan)

    return encode


def _encode_together(
    core: Core,
    texts: tuple[str | bytes, ...],
    plan: Plan,
    threads: int,
    collect: Callable[[Batch], Result],
    divided: bool = False,
) -> Result:
    """Return the result of `collect`, which encodes in this thread, next to as many other threads as the text is worth."""
    changes = core.vocabulary.normalization
    encode_one = _encode_function(texts, core, plan)

    def encode(text: str | bytes) -> list[int]:
        if divided and (changes.add_prefix_space or changes.prepends):
            raise _DependentPiece
        return encode_one(text)

    batch = Batch(core.kernel, texts, plan.refused_finder, plan.sections, encode, threads, divided)
    if batch.threads == 1:
        return collect(batch)
    with _pool(batch.threads - 1) as pool:
        workers = [pool.submit(batch.work) for _ in range(batch.threads - 1)]
        try:
            result = collect(batch)
        finally:
            batch.stop()
    for worker in workers:
        worker.result()  # raises the worker's exception
    return result


@contextlib.contextmanager
def gc_paused() -> Iterator[None]:
    """Turn automatic garbage collection off, unless it is off.

    Lists of ids have no cycles, but each collection visits all lists so far, which takes longer than creating them.
    If several threads are inside, the first to leave turns collection on again.
    """
    global _paused
    if not gc.isenabled():
        yield
        return
    _paused = True
    gc.disable()
    try:
        yield
    finally:
        gc.enable()
        _paused = False


_paused = False
if hasattr(os, "register_at_fork"):  # the threads that were inside do not exist in the child
    os.register_at_fork(after_in_child=lambda: gc.enable() if _paused else None)
