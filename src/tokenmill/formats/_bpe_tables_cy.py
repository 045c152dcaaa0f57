# cython: language_level=3
"""The tables of a BPE model while it is read: the texts of a vocabulary with their ids, and its merges, in flat memory.

The readers of files put them in: _bpe_json_cy.py that of tokenizer.json, _bpe_gguf_cy.py that of GGUF. What is unusual or wrong
is left to the slow readers in Python, which name it, and put in what is right (`tables_of`). The slow twin is
tests/naive_tables.py.
"""

import cython
from cython.cimports.cpython.bytes import PyBytes_AS_STRING, PyBytes_FromStringAndSize, PyBytes_GET_SIZE
from cython.cimports.cpython.exc import PyErr_CheckSignals
from cython.cimports.cpython.unicode import PyUnicode_AsUTF8AndSize, PyUnicode_GET_LENGTH
from cython.cimports.libc.stdint import int32_t, uint8_t, uint32_t, uint64_t
from cython.cimports.libc.stdlib import free
from cython.cimports.libc.string import memchr, memcmp, memcpy, memmove
from cython.cimports.tokenmill.kernels._arrays import grown_array, new_array, zeroed_array
from cython.cimports.tokenmill.kernels._memory import tm_pages_free, tm_pages_new
from cython.cimports.tokenmill.kernels._platform import tm_prefetch
from cython.cimports.tokenmill.kernels._pretoken_key import tm_key, tm_key_of, tm_random_hash, tm_seed
from cython.cimports.tokenmill.kernels._utf8 import tm_utf8_read

from ..kernels.random_seed import random_seed
from .byte_alphabet import CHARACTERS

Bytes = cython.typedef(cython.pointer(cython.const[uint8_t]))
NONE = cython.declare(uint32_t, 0xFFFFFFFF)  # no token, no entry
BYTES = cython.declare(int32_t[0x144])  # the byte of each character of the byte alphabet, -1 for others
for _point in range(0x144):
    BYTES[_point] = -1
for _byte, _character in enumerate(CHARACTERS):
    BYTES[ord(_character)] = _byte


def tables_of(texts: list):
    """The tables of texts by id, None for an id without one.

    Raises ValueError with the id of a text that is not Unicode, or that is the text of a lower id too.
    """
    id: cython.size_t
    room: cython.size_t = 0
    length: cython.Py_ssize_t = 0
    for id in range(len(texts)):
        if texts[id] is not None:
            room += 4 * PyUnicode_GET_LENGTH(texts[id])
    tables: BpeTables = BpeTables(room)
    for id in range(len(texts)):
        if texts[id] is not None:
            try:
                memcpy(tables.text + tables.used, PyUnicode_AsUTF8AndSize(texts[id], cython.address(length)), length)
            except UnicodeEncodeError:
                raise ValueError(id) from None
            tables.add(length, id)
    tables.n_ids = len(texts)
    if not tables.index():
        for id in range(tables.n):
            entry: cython.pointer(Entry) = tables.entries + id
            if tables.find(entry.start, entry.size) != entry.id:
                raise ValueError(entry.id)
    return tables


@cython.final
@cython.cclass
class BpeTables:
    """The texts of a vocabulary with their ids, and its merges. Has the methods of dict[str, int] that readers use.

    room: at least the bytes of all texts of the file.
    """

    def __cinit__(self, room: cython.size_t):
        self.room = room + 64
        self.text = cython.cast(cython.pointer(uint8_t), new_array(self.room, 1))
        self.seed.a, self.seed.b = random_seed()

    def __dealloc__(self):
        free(self.text)
        free(self.entries)
        tm_pages_free(self.slots, self.n_slots * 8)
        free(self.by_id)
        free(self.rows)
        free(self.blob)
        free(self.sizes)

    # ------------------------------------------------------------------ the vocabulary

    def add(self, size, id):
        self.entries = cython.cast(
            cython.pointer(Entry),
            grown_array(self.entries, cython.address(self.entries_room), self.n + 1, cython.sizeof(Entry)),
        )
        self.entries[self.n] = Entry(self.key_at(self.used, size), self.used, size, id)
        self.used += size
        self.at = self.used
        self.n += 1
        if self.n_ids <= id:
            self.n_ids = id + 1
        if self.n & 0xFFFF == 0:
            PyErr_CheckSignals()
        return 0

    def key_at(self, start, size):
        return tm_key_of(self.text + start, size, self.text + self.room, self.seed)

    def index(self):
        i: cython.size_t
        slot: cython.size_t
        hash: uint64_t
        entry: cython.pointer(Entry)
        self.n_slots = 64
        while self.n_slots < 2 * self.n:
            self.n_slots *= 2
        self.slots = cython.cast(cython.pointer(uint64_t), tm_pages_new(self.n_slots * 8))
        if self.slots == cython.NULL:
            raise MemoryError
        self.by_id = cython.cast(cython.pointer(uint32_t), zeroed_array(self.n_ids, 4))
        for i in range(self.n):
            entry = self.entries + i
            hash = tm_random_hash(entry.key, self.seed)
            slot = self.slot(entry.start, entry.size, entry.key, hash)
            if self.slots[slot] != 0 or self.by_id[entry.id] != 0:
                return False
            self.slots[slot] = hash >> 32 << 32 | (i + 1)
            self.by_id[entry.id] = i + 1
        return True

    def slot(self, start, size, key, hash):
        at: cython.size_t = hash & (self.n_slots - 1)
        entry: cython.pointer(Entry)
        while self.slots[at] != 0:
            if self.slots[at] >> 32 == hash >> 32:
                entry = self.entries + ((self.slots[at] & NONE) - 1)
                if entry.key.lo == key.lo and entry.key.hi == key.hi and entry.size == size and (
                    size < 16 or memcmp(self.text + entry.start, self.text + start, size) == 0
                ):
                    break
            at = (at + 1) & (self.n_slots - 1)
        return at

    def id_at(self, start, size, hash):
        at: cython.size_t = self.slot(start, size, self.key_at(start, size), hash)
        return NONE if self.slots[at] == 0 else self.entries[(self.slots[at] & NONE) - 1].id

    # ------------------------------------------------------------------ the merges

    def add_merge(self, left, size):
        side: cython.pointer(Side) = self.sides + self.n_sides
        side.start = self.at
        side.left = left
        side.size = size
        side.hashes[0] = tm_random_hash(self.key_at(self.at, left), self.seed)
        side.hashes[1] = tm_random_hash(self.key_at(self.at + left, size - left), self.seed)
        tm_prefetch(self.slots + (side.hashes[0] & (self.n_slots - 1)))
        tm_prefetch(self.slots + (side.hashes[1] & (self.n_slots - 1)))
        self.at += size
        self.n_sides += 1
        return self.n_sides < GROUP or self.add_rows()

    def add_spaced_merge(self, size):
        p: cython.pointer(uint8_t) = self.text + self.at
        i: cython.size_t
        left: cython.size_t = 0
        while left < size and p[left] != 0x20:
            left += 1
        for i in range(left + 1, size):
            if p[i] == 0x20:
                return False
        if left == 0 or left + 1 >= size:
            return False
        memmove(p + left, p + left + 1, size - left - 1)
        return self.add_merge(left, size - 1)

    def finish_merges(self):
        return self.add_rows() and self.drop_repeated()

    def add_rows(self):
        """Look up the parts and the results of the merges in `sides`. False if one is not in the vocabulary."""
        i: cython.int
        n: cython.int = self.n_sides
        left: uint32_t
        right: uint32_t
        made: uint32_t = NONE
        start: cython.size_t
        size: cython.size_t
        if self.n_rows > 0:
            made = self.rows[3 * self.n_rows - 1]
        for i in range(n):
            start, size = self.sides[i].start, self.sides[i].size
            left = self.id_at(start, self.sides[i].left, self.sides[i].hashes[0])
            right = self.id_at(start + self.sides[i].left, size - self.sides[i].left, self.sides[i].hashes[1])
            if not self.is_text(made, start, size):  # nearly always the next id, or the same
                made += 1
                if not self.is_text(made, start, size):
                    made = self.find(start, size)
            if left == NONE or right == NONE or made == NONE:
                return False
            self.put_row(left, right, made)
        self.n_sides = 0
        self.at = self.used
        return True

    def put_row(self, left, right, made):
        self.rows = cython.cast(
            cython.pointer(int32_t), grown_array(self.rows, cython.address(self.rows_room), 3 * self.n_rows + 3, 4)
        )
        self.rows[3 * self.n_rows] = left
        self.rows[3 * self.n_rows + 1] = right
        self.rows[3 * self.n_rows + 2] = made
        self.n_rows += 1
        if self.n_rows & 0xFFFF == 0:
            PyErr_CheckSignals()
        return 0

    def put_rows(self, rows: bytes):
        """The merges as int32 rows (left id, right id, new id), which are right."""
        self.rows = cython.cast(
            cython.pointer(int32_t), grown_array(self.rows, cython.address(self.rows_room), len(rows) // 4 + 1, 4)
        )
        memcpy(self.rows, PyBytes_AS_STRING(rows), len(rows))
        self.n_rows = len(rows) // 12
        self.drop_repeated()

    def packed_rows(self, n):
        return PyBytes_FromStringAndSize(cython.cast(cython.p_char, self.rows), 12 * n) if n else b""

    def find(self, start, size):
        return self.id_at(start, size, tm_random_hash(self.key_at(start, size), self.seed))

    def is_text(self, id, start, size):
        """Whether the text of an id is text[start:start + size]."""
        if id >= self.n_ids or self.by_id[id] == 0:
            return False
        entry: cython.pointer(Entry) = self.entries + (self.by_id[id] - 1)
        return entry.size == size and memcmp(self.text + entry.start, self.text + start, size) == 0

    def drop_repeated(self):
        """Of a pair that is listed twice keep the last. Equal pairs make the same token, so those that make one are compared."""
        latest: cython.pointer(uint32_t) = cython.cast(cython.pointer(uint32_t), zeroed_array(self.n_ids, 4))
        before: cython.pointer(uint32_t) = cython.NULL
        row: cython.size_t
        at: cython.size_t
        kept: cython.size_t = 0
        try:
            before = cython.cast(cython.pointer(uint32_t), new_array(self.n_rows + 1, 4))
            for row in range(self.n_rows):
                at = row + 1
                before[at] = latest[self.rows[3 * row + 2]]
                latest[self.rows[3 * row + 2]] = at
                while before[at] != 0 and self.rows[3 * before[at] - 3] != self.rows[3 * row]:
                    at = before[at]
                if before[at] != 0:
                    self.rows[3 * before[at] - 3] = -1
                    before[at] = before[before[at]]
            for row in range(self.n_rows):
                if self.rows[3 * row] >= 0:
                    memmove(self.rows + 3 * kept, self.rows + 3 * row, 12)
                    kept += 1
            self.n_rows = kept
            return True
        finally:
            free(before)
            free(latest)

    def put_scored(self, scores: list):
        """The merges of a model with scores: each two texts that spell one. scores: by id.

        The new id with the highest score comes first, of equal scores the lowest id, and the longest left part first.
        """
        id: cython.size_t
        cut: cython.size_t
        left: uint32_t
        right: uint32_t
        for id in sorted(range(self.n_ids), key=scores.__getitem__, reverse=True):
            if self.by_id[id] == 0:
                continue
            entry: cython.pointer(Entry) = self.entries + (self.by_id[id] - 1)
            for cut in range(entry.size - 1, 0, -1):
                if self.text[entry.start + cut] & 0xC0 == 0x80:  # inside of a character
                    continue
                left = self.find(entry.start, cut)
                right = NONE if left == NONE else self.find(entry.start + cut, entry.size - cut)
                if right != NONE:
                    self.put_row(left, right, id)

    # ------------------------------------------------------------------ the vocabulary as a mapping

    def __len__(self):
        return self.n

    def get(self, text: str):
        """The id of a text; None for one that is not in the vocabulary."""
        id: uint32_t = NONE
        data: bytes = text.encode("utf-8", "surrogatepass")
        size: cython.size_t = PyBytes_GET_SIZE(data)
        if self.used + size <= self.room:
            memcpy(self.text + self.used, PyBytes_AS_STRING(data), size)
            id = self.find(self.used, size)
        return None if id == NONE else id

    def text_of(self, id: cython.size_t) -> str:
        """The text of an id that is in the vocabulary."""
        entry: cython.pointer(Entry) = self.entries + (self.by_id[id] - 1)
        return PyBytes_FromStringAndSize(cython.cast(cython.p_char, self.text + entry.start), entry.size).decode()


    # ------------------------------------------------------------------ tokens

    def place(self, mark, bytes_of: dict):
        """Make the tokens of the texts. mark: None for texts in the byte alphabet, else what they have for a space, or "".

        bytes_of: the bytes that ids stand for, whatever their texts. Returns the texts that no text is encoded to, by id.
        """
        apart: dict = {}
        id: cython.size_t
        size: cython.Py_ssize_t
        o: cython.size_t = 0
        space: bytes = b"" if mark is None else mark.encode()
        by_bytes: cython.bint = mark is None
        some: cython.bint = len(bytes_of) > 0
        self.blob = cython.cast(cython.pointer(uint8_t), new_array(self.used + len(bytes_of) + 1, 1))
        self.sizes = cython.cast(cython.pointer(uint32_t), new_array(self.n_ids + 1, 4))
        for id in range(self.n_ids):
            self.sizes[id] = NONE
            if some and id in bytes_of:
                self.blob[o] = bytes_of[id]
                self.sizes[id] = 1
                o += 1
                continue
            if self.by_id[id] == 0:
                continue
            entry: cython.pointer(Entry) = self.entries + (self.by_id[id] - 1)
            p: Bytes = self.text + entry.start
            if by_bytes:
                size = _bytes_of(p, entry.size, self.blob + o)
            elif PyBytes_GET_SIZE(space) > 0 and memchr(p, 0x20, entry.size) != cython.NULL:
                size = -1  # the text has the mark for a space, so this is never found
            else:
                size = _text_of(p, entry.size, self.blob + o, space)
            if size > 0:
                self.sizes[id] = size
                o += size
            else:
                apart[id] = PyBytes_FromStringAndSize(cython.cast(cython.p_char, p), entry.size)
        return apart

    def finish(self, apart, bytes_apart, added):
        """(the tokens, their sizes, the merges), packed as for packed_vocabulary.

        ValueError, with the number of the merge and an id, for one with an id that is no text which merges.
        apart: ids whose merges are left out. bytes_apart: ids of tokens that have no merges. added: ids of added tokens, whose
        own entries are left out unless a merge makes them.
        """
        row: cython.size_t
        kept: cython.size_t = 0
        id: cython.size_t
        k: cython.int
        left_out: cython.bint
        start: cython.size_t = 0
        o: cython.size_t = 0
        n: cython.size_t = 0
        flags: cython.pointer(uint8_t) = cython.cast(cython.pointer(uint8_t), zeroed_array(self.n_ids, 1))
        try:
            for id in apart:
                flags[id] = 1
            for id in bytes_apart:
                flags[id] = 2
            for row in range(self.n_rows):
                left_out = False
                for k in range(3):
                    left_out |= flags[self.rows[3 * row + k]] & 1
                if left_out:
                    continue
                for k in range(3):
                    id = self.rows[3 * row + k]
                    if self.sizes[id] == NONE or flags[id] & 2:
                        raise ValueError(row, id)
                    self.rows[3 * kept + k] = self.rows[3 * row + k]
                kept += 1
            for row in range(kept):
                flags[self.rows[3 * row + 2]] |= 4
            for id in added:
                if id < self.n_ids and flags[id] & 4 == 0 and self.sizes[id] != NONE and self.sizes[id] != 1:
                    flags[id] |= 8
            for id in range(self.n_ids):
                if self.sizes[id] == NONE:
                    continue
                if flags[id] & 8:
                    start += self.sizes[id]
                    self.sizes[id] = NONE
                    continue
                if o != start:
                    memmove(self.blob + o, self.blob + start, self.sizes[id])
                o += self.sizes[id]
                start += self.sizes[id]
                n = id + 1
            return (
                PyBytes_FromStringAndSize(cython.cast(cython.p_char, self.blob), o),
                PyBytes_FromStringAndSize(cython.cast(cython.p_char, self.sizes), 4 * n),
                self.packed_rows(kept),
            )
        finally:
            free(flags)


@cython.cfunc
@cython.exceptval(check=False)
def _bytes_of(p: Bytes, n: cython.size_t, o: cython.pointer(uint8_t)) -> cython.Py_ssize_t:
    """The bytes that a text in the byte alphabet stands for. Returns their number, or -1 for another text."""
    i: cython.size_t = 0
    count: cython.Py_ssize_t = 0
    point: uint32_t = 0
    while i < n:
        i += tm_utf8_read(p + i, n - i, cython.address(point))
        if point >= 0x144 or BYTES[point] < 0:
            return -1
        o[count] = BYTES[point]
        count += 1
    return count


@cython.cfunc
@cython.exceptval(check=False)
def _text_of(p: Bytes, n: cython.size_t, o: cython.pointer(uint8_t), mark: bytes) -> cython.Py_ssize_t:
    """A text with spaces for `mark`. Returns its size."""
    size: cython.size_t = PyBytes_GET_SIZE(mark)
    space: Bytes = cython.cast(Bytes, PyBytes_AS_STRING(mark))
    i: cython.size_t = 0
    count: cython.Py_ssize_t = 0
    if size == 0:
        memcpy(o, p, n)
        return n
    while i < n:
        if p[i] == space[0] and n - i >= size and memcmp(p + i, space, size) == 0:
            o[count] = 0x20
            i += size
        else:
            o[count] = p[i]
            i += 1
        count += 1
    return count
