"""The tokens of a training: their bytes, sizes and counts, the limits on what may be merged, and the events.

A word is a longest stretch of a token without spaces. The shape of a token is (words << 2 | 2 | 1): 2 if it begins with a word, 1 if it
ends with one. The shape of a merged token follows from the shapes of the two tokens.
"""

import cython
from cython.cimports.libc.stdint import uint8_t, uint32_t
from cython.cimports.libc.stdlib import free
from cython.cimports.libc.string import memcmp, memcpy, memset
from cython.cimports.tokenmill.kernels._arrays import grow, no_memory, zeroed_array
from cython.cimports.tokenmill.kernels._pretoken_key import tm_hash, tm_key_of
from cython.cimports.tokenmill.training._corpus_cy import TOKEN
from cython.cimports.tokenmill.training._first_pair import FirstPair, split_token
from cython.cimports.tokenmill.training._tokens_cy import joined

from ..kernels.random_seed import random_seed


@cython.final
@cython.cclass
class Tokens:
    """Tokens by id: first the alphabet, then new tokens in the order of their merges.

    alphabet: bytes objects; b"" for a token that never merges. spans: the number of nodes of each; one by default.
    max_bytes, max_words: limits on the tokens of merges; 0 words is no limit.
    """

    def __cinit__(self, alphabet: list, spans: list | None, max_bytes: cython.size_t, max_words: cython.size_t = 0):
        self.seed.a, self.seed.b = random_seed()
        self.max_bytes, self.max_words = max_bytes, max_words
        self.spread = spans is not None
        self._add_known(alphabet, spans or [1] * len(alphabet))
        self.n_alphabet = self.n_tokens

    def __dealloc__(self):
        free(self.token)
        free(self.first_pair)
        free(self.text)
        free(self.slots)
        free(self.parts)
        free(self.event)

    def look_up(self, gone: list):
        """Merge pairs that spell the same bytes into one token from now on. Add the tokens `gone`, which may come back.

        gone: (bytes, left, right, span) of each token that was removed before, with its first pair.
        """
        id: uint32_t = self.n_tokens
        self._add_known([token for token, *_ in gone], [span for *_, span in gone])
        for _, left, right, _ in gone:
            self.first_pair[id].left = left
            self.first_pair[id].right = right
            self.first_pair[id].removed = True
            self.n_removed += 1
            id += 1
        self._rehash()

    def _add_known(self, tokens: list, spans: list):
        data: bytes
        for data, span in zip(tokens, spans, strict=True):
            id = self._add(len(data))
            memcpy(self.text + self.token[id].start, cython.cast(cython.p_char, data), len(data))
            self.token[id].span = span
            if self.max_words:
                self.token[id].shape = shape_of(data)

    @property
    def present(self) -> int:
        """The number of tokens that are not removed."""
        return self.n_tokens - self.n_removed

    def to_list(self) -> list:
        """The bytes of all tokens by id."""
        id: uint32_t
        data = cython.cast(cython.p_char, self.text)
        return [data[self.token[id].start : self.token[id].start + self.token[id].length] for id in range(self.n_tokens)]

    def removed(self) -> list:
        id: uint32_t
        return [id for id in range(self.n_tokens) if self.first_pair[id].removed]

    def events(self) -> tuple:
        """The events so far, int32 rows (left, right, new) or (removed, -1, -1), and their numbers, uint64 rows: see `Event`."""
        import numpy as np

        kind = np.dtype([("row", np.int32, 3), ("numbers", np.uint64, 2)], align=True)
        data: bytes = cython.cast(cython.p_char, self.event)[: self.n_events * cython.sizeof(Event)] if self.n_events else b""
        events = np.frombuffer(data, kind)
        return events["row"], events["numbers"]

    def join(self, left, right, count):
        """Record the merge of left and right, which occur `count` times. Return the id of the token with their bytes.

        It is a new token, or with `look_up` maybe an old one, which is present again then.
        """
        slot: cython.pointer(uint32_t) = cython.NULL
        if self.slots != cython.NULL and 2 * (cython.cast(cython.size_t, self.n_tokens) + 1) > self.mask:
            self._rehash()
        id: uint32_t = self._add(cython.cast(cython.size_t, self.token[left].length) + self.token[right].length)
        text = self.text + self.token[id].start
        memcpy(text, self.text + self.token[left].start, self.token[left].length)
        memcpy(text + self.token[left].length, self.text + self.token[right].start, self.token[right].length)
        if self.slots != cython.NULL:
            slot = self._slot_of(id)
        if slot != cython.NULL and slot[0]:
            self.n_tokens -= 1
            id = slot[0] - 1
            self.n_removed -= self.first_pair[id].removed
            self.first_pair[id].removed = False
        else:
            if slot != cython.NULL:
                slot[0] = id + 1
            self.first_pair[id].left = left
            self.first_pair[id].right = right
            self.token[id].span = self.token[left].span + self.token[right].span
            self.token[id].shape = joined(self.token[left].shape, self.token[right].shape)
        self.spread = True
        self._add_event(left, right, id, count, 0)
        return id

    def remove(self, id, a, b):
        """Remove `id`, whose IoS is a / b. Write the tokens that replace it to `parts`, and return their number."""
        length: cython.size_t = self.token[id].length
        grow(cython.address(self.parts), cython.address(self.parts_room), 2 * length, 4)
        self.part_values = self.parts + length
        self.n_parts = split_token(self.first_pair, id, self.parts, length)
        self.first_pair[id].removed = True
        self.n_removed += 1
        self._add_event(id, 0xFFFFFFFF, 0xFFFFFFFF, a, b)
        return self.n_parts

    def _slot_of(self, id):
        """The slot of the token with the bytes of `id`, or the empty slot for it."""
        start: cython.size_t = self.token[id].start
        length: cython.size_t = self.token[id].length
        end: cython.size_t = self.token[self.n_tokens - 1].start + self.token[self.n_tokens - 1].length
        slot: cython.size_t = self.mask & tm_hash(
            tm_key_of(self.text + start, length, self.text + end, self.seed), self.seed
        )
        while self.slots[slot]:
            other = cython.address(self.token[self.slots[slot] - 1])
            if other.length == length and memcmp(self.text + other.start, self.text + start, length) == 0:
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
        """Add a token of `length` bytes, which the caller writes. Return its id."""
        id: uint32_t = self.n_tokens
        start: cython.size_t = self.token[id - 1].start + self.token[id - 1].length if id else 0
        if id >= TOKEN:
            no_memory(id, cython.sizeof(Token))
        grow(cython.address(self.token), cython.address(self.room), id + 1, cython.sizeof(Token))
        grow(cython.address(self.first_pair), cython.address(self.first_pairs_room), id + 1, cython.sizeof(FirstPair))
        grow(cython.address(self.text), cython.address(self.text_room), start + length, 1)
        memset(cython.address(self.token[id]), 0, cython.sizeof(Token))
        memset(cython.address(self.first_pair[id]), 0, cython.sizeof(FirstPair))
        self.token[id].start = start
        self.token[id].length = cython.cast(uint32_t, length)
        self.n_tokens += 1
        return id

    def _rehash(self):
        """Move all tokens to a table of at least four times as many slots."""
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
