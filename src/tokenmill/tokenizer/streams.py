"""Encode text and decode ids as they arrive; find the ids that later text may change."""

from __future__ import annotations

import codecs
import numbers
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator
from copy import deepcopy
from itertools import chain
from typing import TYPE_CHECKING, Never

from ..errors import UsageError, WrongTypeError
from .batches import encode_batch
from .core import Core
from .normalization import leading_spaces, repair

if TYPE_CHECKING:
    from .special import Plan

_CHARACTER = 4  # bytes, at most


class StreamEncoder:
    """Encodes text as it arrives. Ids are returned as soon as no later text can change them.

    The results of all `feed` calls and of `finish`, joined, are those of `encode`. The encoder buffers the text after the last
    certain cut: usually a word, at most the length of a pretoken or a special token. It buffers all text until `finish` if the
    pattern runs in the regex module, if the tokenizer normalizes text or puts a space before it, or if an added token includes
    the white space next to it.

    >>> stream = tok.stream_encoder()
    >>> stream.feed("low low"), stream.feed("er lowest"), stream.finish()
    ([310], [402], [417])
    """

    def __init__(self, core: Core, plan: Plan):
        self._core, self._plan = core, plan
        texts = [token.content for token in core.vocabulary.added_tokens]
        self._splitter = core.splitter_with(texts) if core.scanner and core.added.simple else None
        self._margin = _CHARACTER + max((len(text.encode()) for text in texts), default=1)
        self._buffer = bytearray()
        self._searched = 0  # bytes of the buffer without a certain cut
        self._surrogate = ""  # the first half of a pair

    def feed(self, text: str) -> list[int]:
        """Add text. Return the ids that are certain now, which may be none.

        Raises SpecialTokenError as `encode` does.
        """
        if not isinstance(text, str):
            raise WrongTypeError(f"text is str, not {type(text).__name__}")
        text = self._surrogate + text
        self._surrogate = text[-1:] if "\ud800" <= text[-1:] <= "\udbff" else ""
        self._buffer += repair(text.removesuffix(self._surrogate)).encode()
        if self._splitter is None:
            return []
        cut = self._splitter.certain_cut(self._buffer, max(0, self._searched - 2 * self._margin))
        ids = self._core.encode(bytes(memoryview(self._buffer)[:cut]), self._plan) if cut else []
        del self._buffer[:cut]
        self._searched = len(self._buffer)
        return ids

    def finish(self) -> list[int]:
        """End the text: return the ids of the buffered text, and start again."""
        ids = self._core.encode(bytes(self._buffer) + repair(self._surrogate).encode(), self._plan)
        self._buffer, self._searched, self._surrogate = bytearray(), 0, ""
        return ids

    def __reduce__(self) -> Never:
        raise WrongTypeError(
            "a StreamEncoder cannot be pickled or copied; pickle the Tokenizer, and begin a new stream"
        )


class StreamDecoder:
    """Decodes ids as they arrive. The bytes of an incomplete character are buffered.

    The results of all `feed` calls and of the last `finish`, joined, are `tokenizer.decode(all_ids, errors)`. Byte tokens of
    SentencePiece-style files are buffered until another token follows, because neighbouring ones are replaced together.

    >>> stream = tok.stream_decoder()
    >>> [stream.feed(id) for id in tok.encode_ordinary("🦜")], stream.finish()
    (['', '', '🦜'], '')
    """

    def __init__(self, core: Core, errors: str, skipped_ids: frozenset[int]):
        self._core, self._skipped_ids = core, skipped_ids
        self._byte_tokens = frozenset(core.vocabulary.byte_tokens) if errors == "replace" else frozenset()
        self._plain = not (self._byte_tokens or skipped_ids)
        self._decoder = codecs.getincrementaldecoder("utf-8")(errors)
        self._reset()

    def _reset(self) -> None:
        self._decoder.reset()
        self._at_start = True
        self._spaces = 0  # at the start of the text, still to be stripped
        self._last_bytes: list[int] = []  # the byte tokens at the end

    def feed(self, ids: int | Iterable[int]) -> str:
        """Add one id or several. Return the characters that are complete now, which may be none."""
        core = self._core
        if type(ids) is int and self._plain and not (self._at_start or self._spaces):
            return self._decoder.decode(core.text_decoder.token(ids))
        new: tuple[int, ...] = (ids,) if isinstance(ids, numbers.Integral) else tuple(core.checked_ids(ids))  # type: ignore
        if self._skipped_ids:
            new = tuple(id for id in new if id not in self._skipped_ids)
        if self._at_start:
            self._spaces, self._at_start = core.stripped_spaces(new)
        if not self._byte_tokens:
            return self._strip(self._decoder.decode(core.text_decoder.decode_bytes(new)))
        end, complete = len(new), list[int]()
        while end > 0 and new[end - 1] in self._byte_tokens:
            end -= 1
        if end > 0:
            complete, self._last_bytes = [*self._last_bytes, *new[:end]], []
        self._last_bytes += new[end:]
        return self._strip(core.replace_byte_tokens(complete))

    def _strip(self, text: str) -> str:
        spaces = leading_spaces(text, self._spaces)
        self._spaces = self._spaces - spaces if spaces == len(text) else 0
        return text[spaces:]

    def finish(self) -> str:
        """End the stream: return the rest of an incomplete character, decoded like `bytes.decode`, and start again."""
        text = self._core.replace_byte_tokens(self._last_bytes) + self._decoder.decode(b"", final=True)
        text = self._strip(text)
        self._reset()
        return text

    def __copy__(self) -> StreamDecoder:
        return deepcopy(self)  # which shares the core, and no buffer


def encode_with_unstable(core: Core, text: str, plan: Plan) -> tuple[list[int], list[list[int]]]:
    """Return the ids that no later text changes, and the sorted sequences of ids that may follow them. See tiktoken."""
    vocabulary = core.vocabulary
    if vocabulary.alphabet != "bytes" or vocabulary.normalization.normalizers or vocabulary.library is not None:
        raise UsageError(
            "encode_with_unstable is for byte-level vocabularies that do not normalize text, as tiktoken's"
        )
    ids = core.encode(text, plan)
    tokens = [core.decoder.token(id) for id in ids]
    stable = len(ids) - _unstable_tokens(core, ids, tokens)
    if stable == len(ids):
        return ids, []
    return ids[:stable], list(map(list, sorted(set(_completions(core, b"".join(tokens[stable:]))))))


def _unstable_tokens(core: Core, ids: list[int], tokens: list[bytes]) -> int:
    """Return the number of tokens that later text may change: those of the last pretoken, and of white space before it."""
    added = {token.id for token in core.vocabulary.added_tokens}
    tail = next((i for i, id in enumerate(reversed(ids)) if id in added), len(ids))
    if tail == 0:
        return 0
    pretokens = core.splitter.split(b"".join(tokens[-tail:]).decode("utf-8", "replace"))
    size, count = len(pretokens[-1].encode()), 0
    while size > 0:
        count += 1
        size -= len(tokens[-count])
    if not tokens[-count].strip(b" \n\t"):
        while count < len(tokens) and not tokens[-count - 1].strip(b" \n\t"):
            count += 1
    return count


def _completions(core: Core, end: bytes) -> Iterator[tuple[int, ...]]:
    """Return the possible first ids of a text that begins with `end`, up to the token in which `end` ends."""
    for _, id in _tokens_with_prefix(core, end):
        yield (id,)
    texts, lists = [], []
    for cut in range(1, len(end)):
        start = end[:cut]
        for token, _ in _tokens_with_prefix(core, end[cut:]):
            try:
                texts.append((start + token).decode())
            except UnicodeDecodeError:
                lists.append(core.encode_pretoken(start + token))
    tokens, wanted = core.tokens, len(end)
    for ids in chain(encode_batch(core, texts, core.plan((), ()), 1), lists):
        size = number = 0
        while size < wanted:
            size += len(tokens[ids[number]] or b"")
            number += 1
        yield tuple(ids[:number])
    last = end.decode("utf-8", "replace")[-1]
    size = len(last.encode())
    if len(end) > size and last.isspace():  # a pattern may leave one space to the next word, as in \s+(?!\S)
        yield (*core.encode_pretoken(end[:-size]), *core.encode_pretoken(end[-size:]))


def _tokens_with_prefix(core: Core, prefix: bytes) -> list[tuple[bytes, int]]:
    """Return the ordinary tokens that begin with `prefix`, with their ids."""
    tokens = core.ordered_tokens
    first = bisect_left(tokens, (prefix, 0))
    return tokens[first : bisect_right(tokens, prefix, first, key=lambda item: item[0][: len(prefix)])]
