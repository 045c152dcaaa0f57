"""Encode text and decode ids as they arrive; and the ids that the end of a text may still become."""

from __future__ import annotations

import codecs
import numbers
from bisect import bisect_left
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from ..errors import UsageError, WrongTypeError
from .normalization import leading_spaces, repair

if TYPE_CHECKING:
    from .core import Core
    from .special import Plan

_CHARACTER = 4  # bytes, at most


class StreamEncoder:
    """Turns text into ids as it arrives: ids are returned as soon as no later text can change them. The results of all `feed` calls and of `finish`, joined, are those of `encode`.

    The encoder buffers the text after the last certain pretoken boundary: usually a word, at most the length of a pretoken or
    a special token. It buffers all text until `finish` if the pattern runs in the regex module, if the tokenizer normalizes
    text or puts a space before it, or if an added token includes the white space next to it.

    >>> stream = tok.stream_encoder()
    >>> stream.feed("low low"), stream.feed("er lowest"), stream.finish()
    ([310], [402], [417])
    """

    def __init__(self, core: Core, plan: Plan):
        self._core, self._plan = core, plan
        texts = [token.content for token in core.vocabulary.added_tokens]
        self._splitter = core.splitter_with(texts) if core.scanner and core.added.simple else None
        self._margin = _CHARACTER + max((len(text.encode()) for text in texts), default=1)
        self._held = bytearray()
        self._searched = 0  # so many bytes of it have no place to cut
        self._surrogate = ""  # the first half of a pair

    def feed(self, text: str) -> list[int]:
        """Take the next part of the text. Return the ids that are certain now, which may be none.

        Raises SpecialTokenError as `encode` does.
        """
        if not isinstance(text, str):
            raise WrongTypeError(f"text is str, not {type(text).__name__}")
        text = self._surrogate + text
        self._surrogate = text[-1:] if "\ud800" <= text[-1:] <= "\udbff" else ""
        self._held += repair(text.removesuffix(self._surrogate)).encode()
        if self._splitter is None:
            return []
        place = self._splitter.certain_cut(self._held, max(0, self._searched - 2 * self._margin))
        if place == 0:
            self._searched = len(self._held)
            return []
        ids = self._core.encode(bytes(memoryview(self._held)[:place]), self._plan)
        del self._held[:place]
        self._searched = len(self._held)
        return ids

    def finish(self) -> list[int]:
        """End the text: return the ids of the buffered text, and start again."""
        ids = self._core.encode(bytes(self._held) + repair(self._surrogate).encode(), self._plan)
        self._held, self._searched, self._surrogate = bytearray(), 0, ""
        return ids


class StreamDecoder:
    """Turns ids into text as they arrive. The bytes of an incomplete character are buffered.

    The results of all `feed` calls and of the last `finish`, joined, are `tokenizer.decode(all_ids, errors)`. Byte tokens of
    SentencePiece-style files are buffered until another token follows, because a run of them is replaced as a whole.

    >>> stream = tok.stream_decoder()
    >>> [stream.feed(id) for id in tok.encode_ordinary("🦜")], stream.finish()
    (['', '', '🦜'], '')
    """

    def __init__(self, core: Core, errors: str = "replace", left_out: frozenset[int] = frozenset()):
        self._core, self._left_out = core, left_out
        self._byte_tokens = frozenset(core.vocabulary.byte_tokens) if errors == "replace" else frozenset()
        self._plain = not (self._byte_tokens or left_out)
        self._decoder = codecs.getincrementaldecoder("utf-8")(errors)
        self._reset()

    def _reset(self) -> None:
        self._decoder.reset()
        self._at_start = True
        self._spaces = 0  # at the start of the text, still to be left out
        self._run: list[int] = []  # byte tokens at the end

    def feed(self, ids: int | Iterable[int]) -> str:
        """Take one id or several. Return the characters that are complete now, which may be none."""
        if type(ids) is int and self._plain and not (self._at_start or self._spaces):
            return self._decoder.decode(self._core.text_decoder.token(ids))
        taken: tuple[int, ...] = (ids,) if isinstance(ids, numbers.Integral) else tuple(self._core.listed(ids))  # type: ignore
        if self._left_out:
            taken = tuple(id for id in taken if id not in self._left_out)
        core = self._core
        if self._at_start:
            self._spaces, self._at_start = core.left_out(taken)
        if not self._byte_tokens:
            return self._shown(self._decoder.decode(core.text_decoder.decode_bytes(taken)))
        end, complete = len(taken), list[int]()
        while end > 0 and taken[end - 1] in self._byte_tokens:
            end -= 1
        if end > 0:
            complete, self._run = [*self._run, *taken[:end]], []
        self._run += taken[end:]
        return self._shown(core.replace_byte_tokens(complete))

    def _shown(self, text: str) -> str:
        spaces = leading_spaces(text, self._spaces)
        self._spaces = self._spaces - spaces if spaces == len(text) else 0
        return text[spaces:]

    def finish(self) -> str:
        """End the stream: return what is left of an incomplete character, treated as `bytes.decode` would, and start again."""
        text = self._core.replace_byte_tokens(self._run) + self._decoder.decode(b"", final=True)
        shown = self._shown(text)
        self._reset()
        return shown


def encode_with_unstable(core: Core, text: str, plan: Plan) -> tuple[list[int], list[list[int]]]:
    """The ids that stay, and each sequence of ids that the text after them may begin with, sorted, as in tiktoken."""
    vocabulary = core.vocabulary
    if vocabulary.alphabet != "bytes" or vocabulary.normalization.normalizers or vocabulary.library is not None:
        raise UsageError(
            "encode_with_unstable is for byte-level vocabularies that do not normalize text, as tiktoken's"
        )
    ids = core.encode(text, plan)
    tokens = [core.decoder.token(id) for id in ids]
    unstable = _unstable_tokens(core, ids, tokens)
    if unstable == 0:
        return ids, []
    end = b"".join(tokens[-unstable:])
    return ids[:-unstable], sorted(map(list, set(_completions(core, end))))


def _unstable_tokens(core: Core, ids: list[int], tokens: list[bytes]) -> int:
    """Return the number of tokens that more text may change: those of the last pretoken, and of white space before it."""
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
    for id in _tokens_with_prefix(core, end):
        yield (id,)
    ordinary = core.plan((), ())
    for cut in range(1, len(end)):
        for id in _tokens_with_prefix(core, end[cut:]):
            ids, size = [], 0
            for each in _ids_of(core, end[:cut] + core.decoder.token(id), ordinary):
                ids.append(each)
                size += len(core.decoder.token(each))
                if size >= len(end):
                    break
            yield tuple(ids)
    last = end.decode("utf-8", "replace")[-1]
    size = len(last.encode())
    if len(end) > size and last.isspace():  # a pattern may leave one space to the next word, as in \s+(?!\S)
        yield (*core.encode_pretoken(end[:-size]), *core.encode_pretoken(end[-size:]))


def _ids_of(core: Core, data: bytes, ordinary: Plan) -> list[int]:
    try:
        return core.encode(data.decode(), ordinary)
    except UnicodeDecodeError:
        return core.encode_pretoken(data)


def _tokens_with_prefix(core: Core, prefix: bytes) -> Iterator[int]:
    ordered = core.ordered_tokens
    for i in range(bisect_left(ordered, (prefix, 0)), len(ordered)):
        token, id = ordered[i]
        if not token.startswith(prefix):
            break
        yield id
