"""The tokens of a training: their bytes, sizes and counts, the limits on what may be merged, and the events.

A word is a non-empty part of a token between spaces. The shape of a token is (words << 2 | 2 | 1): 2 where it begins with
a word and 1 where it ends with one. The shape of a merged token follows from those of its parts.
"""

import cython
from cython.cimports.libc.stdint import uint8_t, uint32_t
from cython.cimports.libc.stdlib import free
from cython.cimports.libc.string import memcmp, memcpy, memset
from cython.cimports.tokenmill.kernels._arrays import grow, no_memory, zeroed_array
from cython.cimports.tokenmill.kernels._pretoken_key import tm_hash, tm_key_of
from cython.cimports.tokenmill.training._corpus_cy import TOKEN
from cython.cimports.tokenmill.training._take_apart import Made, take_apart
from cython.cimports.tokenmill.training._tokens_cy import joined

from ..kernels.random_seed import random_seed


@cython.final
@cython.cclass
class Tokens:
    """Tokens by id: first the alphabet, then new tokens in the order in which they are made.

    alphabet: bytes objects; b"" for a token that never merges. spans: on how many nodes each of them lies; one by default.
    max_bytes, max_words: limits on the tokens that merges make; 0 words for no limit.
    looks_up: whether two pairs may spell the same bytes, which are one token then.
    """

    def __cinit__(self, alphabet: list, spans: list | None, max_bytes: cython.size_t, max_words: cython.size_t = 0):
        self.seed.a, self.seed.b = random_seed()
        self.max_bytes, self.max_words = max_bytes, max_words
        self.spread = spans is not None
        self._add_known(alphabet, spans or [1] * len(alphabet))
        self.n_alphabet = self.n_tokens

    def __dealloc__(self):
        free(self.token)
        free(self.made)
        free(self.text)
        free(self.slots)
        free(self.parts)
        free(self.event)

    def look_up(self, gone: list):
        """Let pairs that spell the same bytes make one token. Those of `gone`, which were removed before, may come back.

        gone: (bytes, left, right, span) of each, with the pair that it was first made from.
        """
        id: uint32_t = self.n_tokens
        self._add_known([token for token, *_ in gone], [span for *_, span in gone])
        for _, left, right, _ in gone:
            self.made[id].left = left
            self.made[id].right = right
            self.made[id].removed = True
            self.n_removed += 1
            id += 1
        self._rehash()

    def _add_known(self, tokens: list, spans: list):
        data: bytes
        for data, span in zip(tokens, spans, strict=True):
            id = self._add(len(data))
            memcpy(self.text + self.token[id].at, cython.cast(cython.p_char, data), len(data))
            self.token[id].span = span
            if self.max_words:
                self.token[id].shape = shape_of(data)

    @property
    def present(self) -> int:
        """The number of tokens that are present now."""
        return self.n_tokens - self.n_removed

    def to_list(self) -> list:
        """The bytes of all tokens by id."""
        id: uint32_t
        data = cython.cast(cython.p_char, self.text)
        return [data[self.token[id].at : self.token[id].at + self.token[id].length] for id in range(self.n_tokens)]

    def removed(self) -> list:
        id: uint32_t
        return [id for id in range(self.n_tokens) if self.made[id].removed]

    def events(self) -> tuple:
        """The events so far and their numbers: rows of int32, (left, right, new) or (removed, -1, -1), and of uint64, see `Event`."""
        import numpy as np

        kind = np.dtype([("row", np.int32, 3), ("numbers", np.uint64, 2)], align=True)
        data: bytes = cython.cast(cython.p_char, self.event)[: self.n_events * cython.sizeof(Event)] if self.n_events else b""
        events = np.frombuffer(data, kind)
        return events["row"], events["numbers"]

    def join(self, left, right, count):
        """Merge left and right, which occur `count` times, into the token with their bytes, a new one if there is none.

        It is present then.
        """
        slot: cython.pointer(uint32_t) = cython.NULL
        if self.slots != cython.NULL and 2 * (cython.cast(cython.size_t, self.n_tokens) + 1) > self.mask:
            self._rehash()
        id: uint32_t = self._add(cython.cast(cython.size_t, self.token[left].length) + self.token[right].length)
        text = self.text + self.token[id].at
        memcpy(text, self.text + self.token[left].at, self.token[left].length)
        memcpy(text + self.token[left].length, self.text + self.token[right].at, self.token[right].length)
        if self.slots != cython.NULL:
            slot = self._slot_of(id)
        if slot != cython.NULL and slot[0]:
            self.n_tokens -= 1
            id = slot[0] - 1
            self.n_removed -= self.made[id].removed
            self.made[id].removed = False
        else:
            if slot != cython.NULL:
                slot[0] = id + 1
            self.made[id].left = left
            self.made[id].right = right
            self.token[id].span = self.token[left].span + self.token[right].span
            self.token[id].shape = joined(self.token[left].shape, self.token[right].shape)
        self.spread = True
        self._add_event(left, right, id, count, 0)
        return id

    def remove(self, id, a, b):
        """Remove `id`, whose IoS is a / b; what replaces it is put into `parts`. Returns the number of parts."""
        length: cython.size_t = self.token[id].length
        grow(cython.address(self.parts), cython.address(self.parts_room), 2 * length, 4)
        self.held = self.parts + length
        self.n_parts = take_apart(self.made, id, self.parts, length)
        self.made[id].removed = True
        self.n_removed += 1
        self._add_event(id, 0xFFFFFFFF, 0xFFFFFFFF, a, b)
        return self.n_parts

    def _slot_of(self, id):
        """The slot of the token with the bytes of `id`, or the free one where it belongs."""
        at: cython.size_t = self.token[id].at
        length: cython.size_t = self.token[id].length
        end: cython.size_t = self.token[self.n_tokens - 1].at + self.token[self.n_tokens - 1].length
        slot: cython.size_t = self.mask & tm_hash(
            tm_key_of(self.text + at, length, self.text + end, self.seed), self.seed
        )
        while self.slots[slot]:
            found: uint32_t = self.slots[slot] - 1
            if (
                self.token[found].length == length
                and memcmp(self.text + self.token[found].at, self.text + at, length) == 0
            ):
                break
            slot = (slot + 1) & self.mask
        return self.slots + slot

    def _add_event(self, left, right, new, a, b):
        if self.n_events >= 0x7FFFFFFF:
            no_memory(self.n_events + 1, cython.sizeof(Event))
        grow(cython.address(self.event), cython.address(self.events_room), self.n_events + 1, cython.sizeof(Event))
        event = self.event + self.n_events
        event.left, event.right, event.new = left, right, new
        event.numbers[0], event.numbers[1] = a, b
        self.n_events += 1
        return 0

    def _add(self, length):
        """Add a token of `length` bytes, which the caller writes; returns its id."""
        id: uint32_t = self.n_tokens
        at: cython.size_t = self.token[id - 1].at + self.token[id - 1].length if id else 0
        if id >= TOKEN:
            no_memory(id, cython.sizeof(Token))
        grow(cython.address(self.token), cython.address(self.room), id + 1, cython.sizeof(Token))
        grow(cython.address(self.made), cython.address(self.made_room), id + 1, cython.sizeof(Made))
        grow(cython.address(self.text), cython.address(self.text_room), at + length, 1)
        memset(cython.address(self.token[id]), 0, cython.sizeof(Token))
        memset(cython.address(self.made[id]), 0, cython.sizeof(Made))
        self.token[id].at = at
        self.token[id].length = cython.cast(uint32_t, length)
        self.n_tokens += 1
        return id

    def _rehash(self):
        """Put all tokens into a table with room for as many again."""
        size: cython.size_t = 1024
        while size < 4 * cython.cast(cython.size_t, self.n_tokens):
            size <<= 1
        free(self.slots)
        self.slots = cython.NULL
        self.slots = cython.cast(cython.pointer(uint32_t), zeroed_array(size, 4))
        self.mask = size - 1
        for id in range(self.n_tokens):
            slot = self._slot_of(id)
            if slot[0] == 0:
                slot[0] = id + 1
        return 0


def shape_of(token: bytes) -> int:
    """The shape of a token.

    >>> shape_of(b" of the"), shape_of(b" ")
    (9, 0)
    """
    words = min(sum(part != b"" for part in token.split(b" ")), 63)
    begins, ends = (token and not at_edge(b" ") for at_edge in (token.startswith, token.endswith))
    return words << 2 | 2 * bool(begins) | bool(ends)
