"""The tokens of a training in which tokens may go and come back: their bytes, counts, parts and events."""

import cython
from cython.cimports.libc.stdint import int32_t, uint8_t, uint32_t, uint64_t
from cython.cimports.libc.stdlib import free, realloc
from cython.cimports.libc.string import memcmp, memcpy, memset
from cython.cimports.tokenmill.training._machine import tm_alloc


@cython.final
@cython.cclass
class Tokens:
    """Tokens by id: first the alphabet, then new tokens in the order of their creation.

    alphabet: bytes objects; b"" for a token that merges with nothing. spans: the nodes that each lies on.
    """

    def __cinit__(self, alphabet: list, spans: list):
        id: cython.size_t
        data: bytes
        for data, span in zip(alphabet, spans, strict=True):
            id = self._add(len(data))
            memcpy(self.text + self.token[id].at, cython.cast(cython.p_char, data), len(data))
            self.token[id].span = span
        self.n_alphabet = self.n_tokens
        self._rehash()

    def __dealloc__(self):
        free(self.token)
        free(self.text)
        free(self.slots)
        free(self.apart)
        free(self.events)

    def recall(self, gone: list):
        """Tokens that were removed before this training began, each (bytes, left, right, span): they may come back.

        left, right: the pair that each was first made from.
        """
        id: cython.size_t
        data: bytes
        for data, left, right, span in gone:
            id = self._add(len(data))
            memcpy(self.text + self.token[id].at, cython.cast(cython.p_char, data), len(data))
            self.token[id].left = left
            self.token[id].right = right
            self.token[id].span = span
            self.token[id].removed = True
            self.n_removed += 1
        self._rehash()

    def to_list(self) -> list:
        """The bytes of all tokens by id."""
        id: cython.size_t
        data: cython.p_char = cython.cast(cython.p_char, self.text)
        return [data[self.token[id].at : self.token[id].at + self.token[id].length] for id in range(self.n_tokens)]

    def removed(self) -> list:
        """The ids of the tokens that are removed now."""
        id: cython.size_t
        return [id for id in range(self.n_tokens) if self.token[id].removed]

    def event_bytes(self) -> bytes:
        """The events so far: rows of int32, (left, right, new) or (removed, -1, -1)."""
        if self.n_events == 0:
            return b""
        return cython.cast(cython.p_char, self.events)[: 12 * self.n_events]

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(0, check=True)
    def join(self, left: uint32_t, right: uint32_t) -> cython.size_t:
        """The merge of left and right: the token with their bytes, a new one where there was none. It is present now."""
        id: cython.size_t = self._join(left, right)
        self._event(left, right, cython.cast(uint32_t, id))
        return id

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1)
    def remove(self, id: uint32_t) -> cython.int:
        """The removal of `id`; what takes its place is put into `apart`."""
        self._take_apart(id)
        self.token[id].removed = True
        self.n_removed += 1
        return self._event(id, 0xFFFFFFFF, 0xFFFFFFFF)

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(0, check=True)
    def _join(self, left: uint32_t, right: uint32_t) -> cython.size_t:
        id: cython.size_t = self.n_tokens
        slot: cython.size_t
        found: cython.size_t
        length: cython.size_t = cython.cast(cython.size_t, self.token[left].length) + self.token[right].length
        self._add(length)
        self.n_tokens -= 1  # until it is seen to be new
        memcpy(self.text + self.token[id].at, self.text + self.token[left].at, self.token[left].length)
        memcpy(
            self.text + self.token[id].at + self.token[left].length,
            self.text + self.token[right].at,
            self.token[right].length,
        )
        slot = self._hash(self.token[id].at, length) & self.mask
        while self.slots[slot]:
            found = self.slots[slot] - 1
            if (
                self.token[found].length == length
                and memcmp(self.text + self.token[found].at, self.text + self.token[id].at, length) == 0
            ):
                if self.token[found].removed:
                    self.token[found].removed = False
                    self.n_removed -= 1
                return found
            slot = (slot + 1) & self.mask
        self.n_tokens += 1
        self.slots[slot] = cython.cast(uint32_t, id + 1)
        self.token[id].left = left
        self.token[id].right = right
        self.token[id].span = self.token[left].span + self.token[right].span
        if 2 * self.n_tokens > self.mask:
            self._rehash()
        return id

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1)
    def _take_apart(self, id: uint32_t) -> cython.int:
        """Put the parts of `id` into `apart`: the pair it was made from, each taken apart while it is removed."""
        i: cython.size_t = 0
        room: cython.size_t = 2 * cython.cast(cython.size_t, self.token[id].length) + 1
        block: cython.p_void
        # A token has at most as many parts as bytes; the list is worked off from its front, so it stays in order.
        if self.apart_room < self.token[id].length + 1:
            block = realloc(self.apart, room * cython.sizeof(Part))
            if block == cython.NULL:
                with cython.gil:
                    raise MemoryError
            self.apart = cython.cast(cython.pointer(Part), block)
            self.apart_room = room
        self.apart[0].token = self.token[id].left
        self.apart[1].token = self.token[id].right
        self.n_apart = 2
        while i < self.n_apart:
            id = self.apart[i].token
            if not self.token[id].removed:
                i += 1
                continue
            self._make_room(i)
            self.apart[i].token = self.token[id].left
            self.apart[i + 1].token = self.token[id].right
        return 0

    @cython.cfunc
    @cython.inline
    @cython.nogil
    @cython.exceptval(check=False)
    def _make_room(self, i: cython.size_t) -> cython.void:
        """Move the parts after i up by one."""
        j: cython.size_t = self.n_apart
        while j > i + 1:
            self.apart[j] = self.apart[j - 1]
            j -= 1
        self.n_apart += 1

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1)
    def _event(self, a: uint32_t, b: uint32_t, c: uint32_t) -> cython.int:
        block: cython.p_void
        if self.n_events == self.events_room:
            self.events_room = 2 * self.events_room + 4096
            block = realloc(self.events, 12 * self.events_room)
            if block == cython.NULL:
                self.events_room = self.n_events
                with cython.gil:
                    raise MemoryError(f"no memory for {self.n_events} events")
            self.events = cython.cast(cython.pointer(int32_t), block)
        self.events[3 * self.n_events] = cython.cast(int32_t, a)
        self.events[3 * self.n_events + 1] = cython.cast(int32_t, b)
        self.events[3 * self.n_events + 2] = cython.cast(int32_t, c)
        self.n_events += 1
        return 0

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1)
    def _add(self, length: cython.size_t) -> cython.longlong:
        """A token of `length` bytes, which are still to be written."""
        id: cython.size_t = self.n_tokens
        at: cython.size_t = self.token[id - 1].at + self.token[id - 1].length if id else 0
        room: cython.size_t
        block: cython.p_void
        if id + 1 > self.room:
            room = 2 * id + 1024
            block = realloc(self.token, room * cython.sizeof(Token))
            if block == cython.NULL:
                with cython.gil:
                    raise MemoryError(f"no memory for {room} tokens")
            self.token = cython.cast(cython.pointer(Token), block)
            self.room = room
        if at + length > self.text_room:
            room = 2 * (at + length) + 4096
            block = realloc(self.text, room)
            if block == cython.NULL:
                with cython.gil:
                    raise MemoryError(f"no memory for {room} bytes of tokens")
            self.text = cython.cast(cython.pointer(uint8_t), block)
            self.text_room = room
        memset(cython.address(self.token[id]), 0, cython.sizeof(Token))
        self.token[id].at = at
        self.token[id].length = cython.cast(uint32_t, length)
        self.n_tokens += 1
        return id

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1)
    def _rehash(self) -> cython.int:
        """A table of all tokens by their bytes, with room for as many again."""
        size: cython.size_t = 1024
        id: cython.size_t
        slot: cython.size_t
        while size < 4 * self.n_tokens:
            size <<= 1
        free(self.slots)
        self.slots = cython.cast(cython.pointer(uint32_t), tm_alloc(4 * size))
        if self.slots == cython.NULL:
            with cython.gil:
                raise MemoryError(f"no memory for a table of {size} tokens")
        memset(self.slots, 0, 4 * size)
        self.mask = size - 1
        for id in range(self.n_tokens):
            slot = self._hash(self.token[id].at, self.token[id].length) & self.mask
            while self.slots[slot]:
                slot = (slot + 1) & self.mask
            self.slots[slot] = cython.cast(uint32_t, id + 1)
        return 0

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def _hash(self, at: cython.size_t, length: cython.size_t) -> uint64_t:
        """FNV-1a with a last stir, since slots are taken from the low bits."""
        x: uint64_t = 0xCBF29CE484222325
        i: cython.size_t
        for i in range(length):
            x = (x ^ self.text[at + i]) * cython.cast(uint64_t, 0x100000001B3)
        return x ^ (x >> 29)
