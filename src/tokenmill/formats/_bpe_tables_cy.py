"""The tables of a BPE model during reading: the texts of a vocabulary with their ids, and its merges, in flat memory.

The readers of files pass *records* of texts: the size of a text and a number, each a uint32, and its bytes as UTF-8. Unusual or
wrong files are read by the slow readers in Python, which name the mistake or create the tables by `tables_of`. The slow twin
is tests/naive_tables.py.
"""

import cython
from cython.cimports.cpython.bytes import PyBytes_AS_STRING, PyBytes_FromStringAndSize, PyBytes_GET_SIZE
from cython.cimports.cpython.exc import PyErr_CheckSignals
from cython.cimports.cpython.unicode import PyUnicode_AsUTF8AndSize
from cython.cimports.libc.stdint import int32_t, uint8_t, uint32_t, uint64_t
from cython.cimports.libc.stdlib import free
from cython.cimports.libc.string import memchr, memcmp, memcpy, memmove
from cython.cimports.tokenmill.kernels._arrays import grow, new_array, zeroed_array
from cython.cimports.tokenmill.kernels._memory import tm_pages_free, tm_pages_new
from cython.cimports.tokenmill.kernels._platform import tm_prefetch
from cython.cimports.tokenmill.kernels._pretoken_key import tm_key, tm_key_of, tm_random_hash, tm_seed
from cython.cimports.tokenmill.kernels._utf8 import tm_utf8_read

from ..kernels.random_seed import random_seed
from .byte_alphabet import CHARACTERS

Bytes = cython.typedef(cython.pointer(cython.const[uint8_t]))
Entry = cython.struct(key=tm_key, p=Bytes, size=uint32_t, id=uint32_t)
Text = cython.struct(p=Bytes, size=cython.size_t, key=tm_key, hash=uint64_t)
GROUP = cython.declare(cython.int, 32)  # merges whose texts are looked up together
NONE = cython.declare(uint32_t, 0xFFFFFFFF)  # no token, no entry
BYTES = cython.declare(int32_t[0x144])  # the byte of each character of the byte alphabet, -1 for others
for _point in range(0x144):
    BYTES[_point] = -1
for _byte, _character in enumerate(CHARACTERS):
    BYTES[ord(_character)] = _byte


def tables_of(texts: list):
    """Return the tables of texts by id, None for an id without one.

    Raises ValueError with the id of a text that is not Unicode, or that is the text of a lower id too.
    """
    id: uint32_t
    size: cython.size_t = 0
    length: cython.Py_ssize_t = 0
    for id in range(len(texts)):
        if texts[id] is not None:
            try:
                PyUnicode_AsUTF8AndSize(texts[id], cython.address(length))
            except UnicodeEncodeError:
                raise ValueError(id) from None
            size += 8 + length
    records: bytes = PyBytes_FromStringAndSize(cython.NULL, size)
    o: cython.p_char = PyBytes_AS_STRING(records)
    for id in range(len(texts)):
        if texts[id] is not None:
            p: cython.p_const_char = PyUnicode_AsUTF8AndSize(texts[id], cython.address(length))
            memcpy(o, cython.address(length), 4)
            memcpy(o + 4, cython.address(id), 4)
            memcpy(o + 8, p, length)
            o += 8 + length
    return BpeTables(records, 0, size, len(texts))


def end_of_texts(data: bytes, start: cython.size_t, count: cython.size_t):
    """Return the end of `count` texts from data[start] on, each after its size as a uint64; None if `data` ends before it."""
    size: uint64_t = 0
    end: cython.size_t = PyBytes_GET_SIZE(data)
    for n in range(count):
        if end - start < 8:
            return None
        memcpy(cython.address(size), PyBytes_AS_STRING(data) + start, 8)
        if end - start - 8 < size:
            return None
        start += 8 + size
    return start


@cython.final
@cython.cclass
class BpeTables:
    """The texts of a vocabulary with their ids, and its merges. Has the methods of dict[str, int] that readers use.

    start, end: the span in `data` of the records of the texts. Their numbers are the ids. n_ids: the least number of ids.
    listed: the ids are 0, 1 and so on instead, and the texts may not be UTF-8.
    Raises ValueError with the id of a text that is not UTF-8, or whose text or id occurred before.
    """

    data: bytes
    first: Bytes  # of the data
    end: Bytes
    entries: cython.pointer(Entry)
    n: cython.size_t
    slots: cython.pointer(uint64_t)  # by hash: the upper half of the hash, and the number of the entry plus 1; 0 is free
    n_slots: cython.size_t
    seed: tm_seed
    by_id: cython.pointer(uint32_t)  # the entry of each id, plus 1
    text_size: cython.size_t  # of all texts
    n_ids: cython.size_t
    rows: cython.pointer(int32_t)
    n_rows: cython.size_t
    rows_room: cython.size_t
    blob: cython.pointer(uint8_t)  # the tokens, by id
    sizes: cython.pointer(uint32_t)  # of the tokens; NONE where an id has none

    def __cinit__(
        self, data: bytes, start: cython.size_t, end: cython.size_t, n_ids: cython.size_t = 0, listed: cython.bint = False
    ):
        at: cython.size_t = start
        size: uint32_t = 0
        id: uint32_t = 0
        self.data = data
        self.first = cython.cast(Bytes, PyBytes_AS_STRING(data))
        self.end = self.first + PyBytes_GET_SIZE(data)
        while at < end:
            memcpy(cython.address(size), self.first + at, 4)
            memcpy(cython.address(id), self.first + at + 4, 4)
            at += 8 + size
            n_ids = max(n_ids, cython.cast(cython.size_t, id) + 1)
            self.n += 1
        self.n_ids = max(n_ids, self.n) if listed else n_ids
        self.n_slots = 64
        while self.n_slots < 2 * self.n:
            self.n_slots *= 2
        self.entries = cython.cast(cython.pointer(Entry), new_array(self.n + 1, cython.sizeof(Entry)))
        self.by_id = cython.cast(cython.pointer(uint32_t), zeroed_array(self.n_ids, 4))
        self.slots = cython.cast(cython.pointer(uint64_t), tm_pages_new(self.n_slots * 8))
        if self.slots == cython.NULL:
            raise MemoryError
        self.seed.a, self.seed.b = random_seed()
        p: Bytes = self.first + start
        for i in range(self.n):
            memcpy(cython.address(size), p, 4)
            memcpy(cython.address(id), p + 4, 4)
            p += 8
            if listed:
                id = i
                if not _is_utf8(p, size):
                    raise ValueError(id)
            self.entries[i] = Entry(tm_key_of(p, size, self.end, self.seed), p, size, id)
            hash = tm_random_hash(self.entries[i].key, self.seed)
            slot = self.slot(p, size, self.entries[i].key, hash)
            if self.slots[slot] != 0 or self.by_id[id] != 0:
                raise ValueError(id)
            self.slots[slot] = hash >> 32 << 32 | (i + 1)
            self.by_id[id] = i + 1
            self.text_size += size
            p += size
            if i & 0xFFFF == 0xFFFF:
                PyErr_CheckSignals()

    def __dealloc__(self):
        free(self.entries)
        tm_pages_free(self.slots, self.n_slots * 8)
        free(self.by_id)
        free(self.rows)
        free(self.blob)
        free(self.sizes)

    # ------------------------------------------------------------------ the vocabulary

    @cython.cfunc
    @cython.exceptval(check=False)
    def slot(self, p: Bytes, size: cython.size_t, key: tm_key, hash: uint64_t) -> cython.size_t:
        """Return the slot of a text, or the free slot for it."""
        at: cython.size_t = hash & (self.n_slots - 1)
        while self.slots[at] != 0:
            if self.slots[at] >> 32 == hash >> 32:
                entry = self.entries + ((self.slots[at] & NONE) - 1)
                if entry.key.lo == key.lo and entry.key.hi == key.hi and entry.size == size and (
                    size < 16 or memcmp(entry.p, p, size) == 0
                ):
                    break
            at = (at + 1) & (self.n_slots - 1)
        return at

    @cython.cfunc
    @cython.exceptval(check=False)
    def id_at(self, text: Text) -> uint32_t:
        at: cython.size_t = self.slot(text.p, text.size, text.key, text.hash)
        return NONE if self.slots[at] == 0 else self.entries[(self.slots[at] & NONE) - 1].id

    @cython.cfunc
    @cython.inline
    @cython.exceptval(check=False)
    def text(self, p: Bytes, size: cython.size_t, end: Bytes) -> Text:
        """Return a text with its hash. end: of the memory that may be read."""
        key: tm_key = tm_key_of(p, size, end, self.seed)
        return Text(p, size, key, tm_random_hash(key, self.seed))

    @cython.cfunc
    @cython.exceptval(check=False)
    def find(self, text: bytes) -> uint32_t:
        p = cython.cast(Bytes, PyBytes_AS_STRING(text))
        return self.id_at(self.text(p, PyBytes_GET_SIZE(text), p + PyBytes_GET_SIZE(text)))

    @cython.cfunc
    @cython.exceptval(check=False)
    def is_joined(self, id: uint32_t, left: Text, right: Text) -> cython.bint:
        """Return whether the text of an id is `left` followed by `right`."""
        if id >= self.n_ids or self.by_id[id] == 0:
            return False
        entry: cython.pointer(Entry) = self.entries + (self.by_id[id] - 1)
        return (
            entry.size == left.size + right.size
            and memcmp(entry.p, left.p, left.size) == 0
            and memcmp(entry.p + left.size, right.p, right.size) == 0
        )

    # ------------------------------------------------------------------ the merges

    def put_merges(self, start: cython.size_t, end: cython.size_t) -> bool:
        """Add the merges of the records data[start:end], whose number is the size of the left token, or 0 for "left right".

        Return False for a merge with several spaces, and if one of its three tokens is not in the vocabulary.
        """
        lefts: Text[32]  # GROUP
        rights: Text[32]
        i: cython.int
        size: uint32_t = 0
        cut: uint32_t = 0
        new: uint32_t = NONE
        p: Bytes = self.first + start
        while p < self.first + end:
            n: cython.int = 0
            while p < self.first + end and n < GROUP:
                memcpy(cython.address(size), p, 4)
                memcpy(cython.address(cut), p + 4, 4)
                p += 8
                gap: cython.int = cut == 0
                if gap:
                    while cut < size and p[cut] != 0x20:
                        cut += 1
                    if cut == 0 or cut + 1 >= size or memchr(p + cut + 1, 0x20, size - cut - 1) != cython.NULL:
                        return False
                lefts[n] = self.text(p, cut, self.end)
                rights[n] = self.text(p + cut + gap, size - cut - gap, self.end)
                tm_prefetch(self.slots + (lefts[n].hash & (self.n_slots - 1)))
                tm_prefetch(self.slots + (rights[n].hash & (self.n_slots - 1)))
                p += size
                n += 1
            for i in range(n):
                left = self.id_at(lefts[i])
                right = self.id_at(rights[i])
                if not self.is_joined(new, lefts[i], rights[i]):  # nearly always the next id, or the same
                    new += 1
                    if not self.is_joined(new, lefts[i], rights[i]):
                        new = self.find(_bytes(lefts[i]) + _bytes(rights[i]))
                if left == NONE or right == NONE or new == NONE:
                    return False
                self.put_row(left, right, new)
        return True

    @cython.ccall
    def put_row(self, left: uint32_t, right: uint32_t, new: uint32_t):
        """Add the merge of two ids."""
        grow(cython.address(self.rows), cython.address(self.rows_room), 3 * self.n_rows + 3, 4)
        self.rows[3 * self.n_rows] = left
        self.rows[3 * self.n_rows + 1] = right
        self.rows[3 * self.n_rows + 2] = new
        self.n_rows += 1
        if self.n_rows & 0xFFFF == 0:
            PyErr_CheckSignals()

    @cython.cfunc
    def drop_repeated(self):
        """Of a pair that is listed twice keep the last. Equal pairs make the same token, so only merges of one token are compared."""
        latest = cython.cast(cython.pointer(uint32_t), zeroed_array(self.n_ids, 4))
        before: cython.pointer(uint32_t) = cython.NULL
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
        finally:
            free(before)
            free(latest)

    def put_scored(self, scores: list):
        """Add the merges of a model with scores: each two texts that spell one. scores: by id.

        The new id with the highest score comes first, of equal scores the lowest id, and the longest left token first.
        """
        id: cython.size_t
        cut: cython.size_t
        for id in sorted(range(self.n_ids), key=scores.__getitem__, reverse=True):
            if self.by_id[id] == 0:
                continue
            entry: cython.pointer(Entry) = self.entries + (self.by_id[id] - 1)
            p: Bytes = entry.p
            for cut in range(entry.size - 1, 0, -1):
                if p[cut] & 0xC0 == 0x80:  # inside of a character
                    continue
                left = self.id_at(self.text(p, cut, self.end))
                right = NONE if left == NONE else self.id_at(self.text(p + cut, entry.size - cut, self.end))
                if right != NONE:
                    self.put_row(left, right, id)

    # ------------------------------------------------------------------ the vocabulary as a mapping

    def __len__(self):
        return self.n

    def get(self, text: str):
        """Return the id of a text; None for one that is not in the vocabulary."""
        id: uint32_t = self.find(text.encode("utf-8", "surrogatepass"))
        return None if id == NONE else id

    def text_of(self, id: cython.size_t) -> str:
        """Return the text of an id that is in the vocabulary."""
        entry: cython.pointer(Entry) = self.entries + (self.by_id[id] - 1)
        return PyBytes_FromStringAndSize(cython.cast(cython.p_char, entry.p), entry.size).decode()

    # ------------------------------------------------------------------ tokens

    def make_tokens(self, mark, bytes_of: dict):
        """Make the tokens of the texts. mark: None for texts in the byte alphabet, else their character for a space, or "".

        bytes_of: the bytes of byte tokens by id. Returns the texts that no text is encoded to, by id.
        """
        unmerged: dict = {}
        o: cython.size_t = 0
        space: bytes = b"" if mark is None else mark.encode()
        by_bytes: cython.bint = mark is None
        some: cython.bint = len(bytes_of) > 0
        self.blob = cython.cast(cython.pointer(uint8_t), new_array(self.text_size + len(bytes_of) + 1, 1))
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
            p: Bytes = entry.p
            if by_bytes:
                size = _bytes_of(p, entry.size, self.blob + o)
            elif PyBytes_GET_SIZE(space) > 0 and memchr(p, 0x20, entry.size) != cython.NULL:
                size = -1  # the text has the mark for a space, so this is never matched
            else:
                size = _text_of(p, entry.size, self.blob + o, space)
            if size > 0:
                self.sizes[id] = size
                o += size
            else:
                unmerged[id] = PyBytes_FromStringAndSize(cython.cast(cython.p_char, p), entry.size)
        return unmerged

    def finish(self, unmerged, byte_tokens, added):
        """Return the tokens, their sizes and the merges, packed as for packed_vocabulary.

        unmerged: ids whose merges are left out. byte_tokens: ids that no merge may name. added: ids of added tokens, whose
        own entries are left out unless a merge makes them.
        Raises ValueError with the index of a merge and its id that no merge may name.
        """
        kept: cython.size_t = 0
        id: cython.size_t
        k: cython.int
        start: cython.size_t = 0
        o: cython.size_t = 0
        n: cython.size_t = 0
        self.drop_repeated()
        flags = cython.cast(cython.pointer(uint8_t), zeroed_array(self.n_ids, 1))
        try:
            for id in unmerged:
                flags[id] = 1
            for id in byte_tokens:
                flags[id] = 2
            for row in range(self.n_rows):
                left_out: cython.bint = False
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
                PyBytes_FromStringAndSize(cython.cast(cython.p_char, self.rows), 12 * kept) if kept else b"",
            )
        finally:
            free(flags)


@cython.cfunc
@cython.exceptval(check=False)
def _bytes_of(p: Bytes, n: cython.size_t, o: cython.pointer(uint8_t)) -> cython.Py_ssize_t:
    """Write the bytes of a text in the byte alphabet to `o`. Return their number, or -1 for another text."""
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
    """Write a text to `o`, with spaces in place of `mark`. Return its size."""
    size: cython.size_t = PyBytes_GET_SIZE(mark)
    space = cython.cast(Bytes, PyBytes_AS_STRING(mark))
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


@cython.cfunc
def _bytes(text: Text) -> bytes:
    return PyBytes_FromStringAndSize(cython.cast(cython.p_char, text.p), text.size)


@cython.cfunc
@cython.exceptval(check=False)
def _is_utf8(p: Bytes, n: cython.size_t) -> cython.bint:
    point: uint32_t = 0
    while n > 0:
        size = tm_utf8_read(p, n, cython.address(point))
        if size == 0:
            return False
        p += size
        n -= size
    return True
