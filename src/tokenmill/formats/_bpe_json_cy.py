# cython: language_level=3
"""The vocabulary and the merges of a tokenizer.json, read from its bytes without a Python object for each token.

`read_tables` takes what most files hold. None means that something is unusual or wrong; then huggingface.py reads the file with
the json module, slowly, and names what is wrong. Both give the same vocabulary.
"""

import cython
from cython.cimports.cpython.bytes import PyBytes_AS_STRING, PyBytes_FromStringAndSize, PyBytes_GET_SIZE
from cython.cimports.cpython.exc import PyErr_CheckSignals
from cython.cimports.libc.stdint import int32_t, uint8_t, uint32_t, uint64_t
from cython.cimports.libc.stdlib import free
from cython.cimports.libc.string import memcmp, memcpy, memmove
from cython.cimports.tokenmill.kernels._arrays import grown_array, new_array, zeroed_array
from cython.cimports.tokenmill.kernels._memory import tm_pages_free, tm_pages_new
from cython.cimports.tokenmill.kernels._platform import tm_prefetch
from cython.cimports.tokenmill.kernels._pretoken_key import tm_key, tm_key_of, tm_random_hash, tm_seed
from cython.cimports.tokenmill.kernels._utf8 import tm_utf8_read

from ..kernels.random_seed import random_seed
from .byte_alphabet import CHARACTERS
from .file_content import MAX_ID

Bytes = cython.typedef(cython.pointer(cython.const[uint8_t]))
NONE = cython.declare(uint32_t, 0xFFFFFFFF)  # no token, no entry
GROUP = cython.declare(cython.int, 32)  # merges whose texts are looked up together
HIGHEST = cython.declare(uint32_t, MAX_ID)
BYTES = cython.declare(int32_t[0x144])  # the byte of each character of the byte alphabet, -1 for others
for _point in range(0x144):
    BYTES[_point] = -1
for _byte, _character in enumerate(CHARACTERS):
    BYTES[ord(_character)] = _byte

Entry = cython.struct(key=tm_key, start=cython.size_t, size=uint32_t, id=uint32_t)
# Of one merge: where its text begins, the size of it and of its left part, and the hashes of the left and the right part.
Side = cython.struct(start=cython.size_t, left=uint32_t, size=uint32_t, hashes=uint64_t[2])


def read_tables(data: bytes):
    """The vocabulary and the merges of the model in `data`, or None if they are not as usual."""
    tables: BpeTables = BpeTables(data)
    return tables if tables.read() else None


@cython.final
@cython.cclass
class BpeTables:
    """The texts of a vocabulary with their ids, and its merges. Has the methods of dict[str, int] that readers use.

    head: the file with an empty vocabulary and no merges.
    """

    head = cython.declare(bytes, visibility="readonly")
    data: bytes
    p: Bytes
    end: Bytes
    text: cython.pointer(uint8_t)  # of all entries; behind them that of the merges being read
    used: cython.size_t
    room: cython.size_t
    entries: cython.pointer(Entry)
    n: cython.size_t
    entries_room: cython.size_t
    slots: cython.pointer(Entry)  # the entries by hash; free ones have id NONE
    n_slots: cython.size_t
    seed: tm_seed
    by_id: cython.pointer(uint32_t)  # the entry of each id
    n_ids: cython.size_t
    rows: cython.pointer(int32_t)
    n_rows: cython.size_t
    rows_room: cython.size_t
    blob: cython.pointer(uint8_t)  # the tokens, by id
    sizes: cython.pointer(uint32_t)  # of the tokens; NONE where an id has none

    def __cinit__(self, data: bytes):
        self.data = data
        self.p = cython.cast(Bytes, PyBytes_AS_STRING(data))
        self.end = self.p + PyBytes_GET_SIZE(data)
        self.room = PyBytes_GET_SIZE(data) + 64
        self.text = cython.cast(cython.pointer(uint8_t), new_array(self.room, 1))
        self.seed.a, self.seed.b = random_seed()

    def __dealloc__(self):
        free(self.text)
        free(self.entries)
        tm_pages_free(self.slots, self.n_slots * cython.sizeof(Entry))
        free(self.by_id)
        free(self.rows)
        free(self.blob)
        free(self.sizes)

    # ------------------------------------------------------------------ reading

    @cython.cfunc
    @cython.exceptval(check=True)
    def read(self) -> cython.bint:
        """Find $.model.vocab and $.model.merges, and read them."""
        start: Bytes = self.p
        cuts: cython.size_t[4]
        merges: Bytes = cython.NULL
        cuts[0] = cuts[1] = cuts[2] = cuts[3] = 0
        if not self.enter(b"model"):
            return False
        if not self.take(ord("{")):
            return False
        while True:
            key = self.key()
            if key is None:
                return False
            self.blank()
            if key == b"vocab" and cuts[0] == 0:
                cuts[0] = self.p - start
                if not self.read_vocabulary():
                    return False
                cuts[1] = self.p - start
            elif key == b"merges" and cuts[2] == 0:
                cuts[2] = self.p - start
                merges = self.p
                if not (self.read_merges() if self.slots != cython.NULL else self.skip()):
                    return False
                cuts[3] = self.p - start
            elif not self.skip():
                return False
            if not self.take(ord(",")):
                break
        if cuts[0] == 0 or cuts[2] == 0:
            return False
        if cuts[2] < cuts[0]:
            self.p = merges
            if not self.read_merges():
                return False
            self.head = self.data[:cuts[2]] + b"[]" + self.data[cuts[3]:cuts[0]] + b"{}" + self.data[cuts[1]:]
        else:
            self.head = self.data[:cuts[0]] + b"{}" + self.data[cuts[1]:cuts[2]] + b"[]" + self.data[cuts[3]:]
        return True

    @cython.cfunc
    @cython.exceptval(check=True)
    def enter(self, name: bytes) -> cython.bint:
        """Go to the value of the member `name` of the object here."""
        if not self.take(ord("{")):
            return False
        while True:
            key = self.key()
            if key is None:
                return False
            if key == name:
                return True
            if not self.skip() or not self.take(ord(",")):
                return False

    @cython.cfunc
    def key(self) -> bytes:
        """The key here, after which the colon is passed; None if there is none."""
        size: cython.Py_ssize_t = self.string(self.used)
        if size < 0 or not self.take(ord(":")):
            return None
        return PyBytes_FromStringAndSize(cython.cast(cython.p_char, self.text + self.used), size)

    @cython.cfunc
    @cython.inline
    @cython.exceptval(check=False)
    def blank(self) -> cython.void:
        while self.p < self.end and (self.p[0] == 0x20 or self.p[0] == 0x0A or self.p[0] == 0x0D or self.p[0] == 0x09):
            self.p += 1

    @cython.cfunc
    @cython.inline
    @cython.exceptval(check=False)
    def take(self, byte: uint8_t) -> cython.bint:
        """Pass white space and `byte`; False if that is not next."""
        self.blank()
        if self.p < self.end and self.p[0] == byte:
            self.p += 1
            return True
        return False

    @cython.cfunc
    @cython.exceptval(check=False)
    def skip(self) -> cython.bint:
        """Pass one value. What it holds is not checked: it stays in `head`."""
        depth: cython.size_t = 0
        self.blank()
        while self.p < self.end:
            if self.p[0] == ord('"'):
                self.p += 1
                while self.p < self.end and self.p[0] != ord('"'):
                    self.p += 1 + (self.p[0] == ord("\\"))
                if self.p >= self.end:
                    return False
            elif self.p[0] == ord("{") or self.p[0] == ord("["):
                depth += 1
            elif depth == 0 and (self.p[0] == ord(",") or self.p[0] == ord("}") or self.p[0] == ord("]")):
                return True
            elif self.p[0] == ord("}") or self.p[0] == ord("]"):
                depth -= 1
            self.p += 1
        return False

    @cython.cfunc
    @cython.exceptval(check=False)
    def string(self, start: cython.size_t) -> cython.Py_ssize_t:
        """Pass a string and write its UTF-8 to text[start:]. Returns its size, or -1 if there is none that is valid."""
        p: Bytes
        o: cython.pointer(uint8_t) = self.text + start
        point: uint32_t = 0
        size: cython.size_t
        if not self.take(ord('"')):
            return -1
        p = self.p
        while p < self.end:
            if p[0] >= 0x80:
                size = tm_utf8_read(p, self.end - p, cython.address(point))
                if size == 0:
                    return -1
                o[0], o[1] = p[0], p[1]  # there is room beyond the text of the whole file
                if size > 2:
                    o[2] = p[2]
                    if size > 3:
                        o[3] = p[3]
                o += size
                p += size
            elif p[0] == ord('"'):
                self.p = p + 1
                return o - (self.text + start)
            elif p[0] == ord("\\"):
                size = _escape(p, self.end - p, cython.address(point))
                if size == 0:
                    return -1
                p += size
                o += _write(point, o)
            elif p[0] < 0x20:
                return -1
            else:
                o[0] = p[0]
                o += 1
                p += 1
        return -1

    @cython.cfunc
    @cython.exceptval(check=True)
    def read_vocabulary(self) -> cython.bint:
        """Read {"text": id, ...} and index it."""
        size: cython.Py_ssize_t
        id: uint64_t
        digits: Bytes
        if not self.take(ord("{")):
            return False
        while True:
            size = self.string(self.used)
            if size < 0 or not self.take(ord(":")):
                return False
            self.blank()
            digits = self.p
            id = 0
            while self.p < self.end and self.p - digits < 8 and 0x30 <= self.p[0] <= 0x39:
                id = 10 * id + self.p[0] - 0x30
                self.p += 1
            if self.p == digits or id > HIGHEST or (digits[0] == 0x30 and self.p - digits > 1):
                return False
            self.entries = cython.cast(
                cython.pointer(Entry),
                grown_array(self.entries, cython.address(self.entries_room), self.n + 1, cython.sizeof(Entry)),
            )
            self.entries[self.n] = Entry(self.key_at(self.used, size), self.used, size, cython.cast(uint32_t, id))
            self.used += size
            self.n += 1
            if self.n_ids <= id:
                self.n_ids = id + 1
            if self.n & 0xFFFF == 0:
                PyErr_CheckSignals()
            if not self.take(ord(",")):
                return self.take(ord("}")) and self.index()

    @cython.cfunc
    @cython.inline
    @cython.exceptval(check=False)
    def key_at(self, start: cython.size_t, size: cython.size_t) -> tm_key:
        return tm_key_of(self.text + start, size, self.text + self.room, self.seed)

    @cython.cfunc
    @cython.exceptval(check=True)
    def index(self) -> cython.bint:
        """Find the entries by text and by id. False if a text or an id occurs twice."""
        i: cython.size_t
        slot: cython.pointer(Entry)
        self.n_slots = 64
        while self.n_slots < 2 * self.n:
            self.n_slots *= 2
        self.slots = cython.cast(cython.pointer(Entry), tm_pages_new(self.n_slots * cython.sizeof(Entry)))
        if self.slots == cython.NULL:
            raise MemoryError
        for i in range(self.n_slots):
            self.slots[i].id = NONE
        self.by_id = cython.cast(cython.pointer(uint32_t), zeroed_array(self.n_ids, 4))
        for i in range(self.n):
            if i + 8 < self.n:
                tm_prefetch(self.slots + (tm_random_hash(self.entries[i + 8].key, self.seed) & (self.n_slots - 1)))
            slot = self.slot(self.entries[i].start, self.entries[i].size, tm_random_hash(self.entries[i].key, self.seed))
            if slot.id != NONE or self.by_id[self.entries[i].id] != 0:
                return False
            slot[0] = self.entries[i]
            self.by_id[self.entries[i].id] = i + 1
        return True

    @cython.cfunc
    @cython.inline
    @cython.exceptval(check=False)
    def slot(self, start: cython.size_t, size: cython.size_t, hash: uint64_t) -> cython.pointer(Entry):
        """The slot of text[start:start + size], or the free one where it belongs."""
        key: tm_key = self.key_at(start, size)
        at: cython.size_t = hash & (self.n_slots - 1)
        while self.slots[at].id != NONE and not (
            self.slots[at].key.lo == key.lo and self.slots[at].key.hi == key.hi and self.slots[at].size == size
            and (size < 16 or memcmp(self.text + self.slots[at].start, self.text + start, size) == 0)
        ):
            at = (at + 1) & (self.n_slots - 1)
        return self.slots + at

    @cython.cfunc
    @cython.exceptval(check=True)
    def read_merges(self) -> cython.bint:
        """Read ["a b", ...] or [["a", "b"], ...] as rows."""
        sides: Side[32]
        n: cython.int = 0
        start: cython.size_t = self.used
        if not self.take(ord("[")):
            return False
        if self.take(ord("]")):
            return True
        while True:
            if not self.read_merge(cython.address(sides[n]), start):
                return False
            start += sides[n].size
            n += 1
            if n == GROUP:
                if not self.add_rows(sides, n):
                    return False
                n = 0
                start = self.used
                if self.n_rows & 0xFFFF == 0:
                    PyErr_CheckSignals()
            if not self.take(ord(",")):
                return self.take(ord("]")) and self.add_rows(sides, n) and self.pairs_differ()

    @cython.cfunc
    @cython.exceptval(check=False)
    def read_merge(self, side: cython.pointer(Side), start: cython.size_t) -> cython.bint:
        """Read the two parts of a merge to text[start:], and fetch the slots that they may be in."""
        left: cython.Py_ssize_t
        size: cython.Py_ssize_t
        i: cython.Py_ssize_t
        p: cython.pointer(uint8_t) = self.text + start
        if self.take(ord("[")):
            left = self.string(start)
            if left < 1 or not self.take(ord(",")):
                return False
            size = self.string(start + left)
            if size < 1 or not self.take(ord("]")):
                return False
            size += left
        else:
            size = self.string(start)
            left = 0
            while left < size and p[left] != 0x20:
                left += 1
            for i in range(left + 1, size):
                if p[i] == 0x20:
                    return False
            if left == 0 or left + 1 >= size:
                return False
            memmove(p + left, p + left + 1, size - left - 1)
            size -= 1
        side.start = start
        side.left = left
        side.size = size
        side.hashes[0] = tm_random_hash(self.key_at(start, left), self.seed)
        side.hashes[1] = tm_random_hash(self.key_at(start + left, size - left), self.seed)
        tm_prefetch(self.slots + (side.hashes[0] & (self.n_slots - 1)))
        tm_prefetch(self.slots + (side.hashes[1] & (self.n_slots - 1)))
        return True

    @cython.cfunc
    @cython.exceptval(check=True)
    def add_rows(self, sides: cython.pointer(Side), n: cython.int) -> cython.bint:
        """Look up the parts and the results of merges. False if one is not in the vocabulary."""
        i: cython.int
        left: uint32_t
        right: uint32_t
        made: uint32_t = NONE
        start: cython.size_t
        size: cython.size_t
        self.rows = cython.cast(
            cython.pointer(int32_t), grown_array(self.rows, cython.address(self.rows_room), 3 * (self.n_rows + n), 4)
        )
        if self.n_rows > 0:
            made = self.rows[3 * self.n_rows - 1]
        for i in range(n):
            start, size = sides[i].start, sides[i].size
            left = self.slot(start, sides[i].left, sides[i].hashes[0]).id
            right = self.slot(start + sides[i].left, size - sides[i].left, sides[i].hashes[1]).id
            if not self.is_text(made, start, size):  # nearly always the next id, or the same
                made += 1
                if not self.is_text(made, start, size):
                    made = self.slot(start, size, tm_random_hash(self.key_at(start, size), self.seed)).id
            if left == NONE or right == NONE or made == NONE:
                return False
            self.rows[3 * self.n_rows] = left
            self.rows[3 * self.n_rows + 1] = right
            self.rows[3 * self.n_rows + 2] = made
            self.n_rows += 1
        return True

    @cython.cfunc
    @cython.inline
    @cython.exceptval(check=False)
    def is_text(self, id: uint32_t, start: cython.size_t, size: cython.size_t) -> cython.bint:
        """Whether the text of an id is text[start:start + size]."""
        if id >= self.n_ids or self.by_id[id] == 0:
            return False
        entry: cython.pointer(Entry) = self.entries + (self.by_id[id] - 1)
        return entry.size == size and memcmp(self.text + entry.start, self.text + start, size) == 0

    @cython.cfunc
    @cython.exceptval(check=True)
    def pairs_differ(self) -> cython.bint:
        """Whether no pair is listed twice. Equal pairs make the same token, so those that make one are compared."""
        latest: cython.pointer(uint32_t) = cython.cast(cython.pointer(uint32_t), zeroed_array(self.n_ids, 4))
        before: cython.pointer(uint32_t) = cython.NULL
        row: cython.size_t
        other: cython.size_t
        try:
            before = cython.cast(cython.pointer(uint32_t), new_array(self.n_rows + 1, 4))
            for row in range(self.n_rows):
                other = before[row + 1] = latest[self.rows[3 * row + 2]]
                while other != 0:
                    if self.rows[3 * other - 3] == self.rows[3 * row]:
                        return False
                    other = before[other]
                latest[self.rows[3 * row + 2]] = row + 1
            return True
        finally:
            free(before)
            free(latest)

    # ------------------------------------------------------------------ the vocabulary as a mapping

    def __len__(self):
        return self.n

    def __contains__(self, text: str):
        return self.id_of(text) != NONE

    def get(self, text: str):
        id: uint32_t = self.id_of(text)
        return None if id == NONE else id

    def __getitem__(self, text: str):
        id: uint32_t = self.id_of(text)
        if id == NONE:
            raise KeyError(text)
        return id

    @cython.cfunc
    @cython.exceptval(check=True)
    def id_of(self, text: str) -> uint32_t:
        data: bytes = text.encode("utf-8", "surrogatepass")
        size: cython.size_t = PyBytes_GET_SIZE(data)
        if self.used + size > self.room:
            return NONE
        memcpy(self.text + self.used, PyBytes_AS_STRING(data), size)
        return self.slot(self.used, size, tm_random_hash(self.key_at(self.used, size), self.seed)).id

    # ------------------------------------------------------------------ tokens

    def place(self, mark):
        """Make the tokens of the texts. mark: None for texts in the byte alphabet, else what they have for a space, or "".

        Returns the texts that no text is encoded to, by id.
        """
        apart: dict = {}
        id: cython.size_t
        size: cython.Py_ssize_t
        o: cython.size_t = 0
        space: bytes = b"" if mark is None else mark.encode()
        by_bytes: cython.bint = mark is None
        self.blob = cython.cast(cython.pointer(uint8_t), new_array(self.used + 1, 1))
        self.sizes = cython.cast(cython.pointer(uint32_t), new_array(self.n_ids + 1, 4))
        for id in range(self.n_ids):
            self.sizes[id] = NONE
            if self.by_id[id] == 0:
                continue
            entry: cython.pointer(Entry) = self.entries + (self.by_id[id] - 1)
            p: Bytes = self.text + entry.start
            size = _bytes_of(p, entry.size, self.blob + o) if by_bytes else _text_of(p, entry.size, self.blob + o, space)
            if size > 0:
                self.sizes[id] = size
                o += size
            else:
                apart[id] = PyBytes_FromStringAndSize(cython.cast(cython.p_char, p), entry.size)
        return apart

    def put_bytes(self, ids: list):
        """Make the tokens with these 256 ids, None for a byte without one, those bytes. To be called before `finish`."""
        i: cython.size_t
        id: cython.size_t
        o: cython.size_t = 0
        values: dict = {known: i for i, known in enumerate(ids) if known is not None}
        start: cython.size_t = 0
        for id in range(self.n_ids):
            if self.sizes[id] == NONE:
                continue
            i = self.sizes[id]
            if id in values:
                self.blob[o] = values[id]
                self.sizes[id] = 1
            elif o != start:
                memmove(self.blob + o, self.blob + start, i)
            o += self.sizes[id]
            start += i

    def finish(self, apart, bytes_apart, added: list):
        """(the tokens, their sizes, the merges, whether each byte has a token), packed as in FlatVocabulary; None for what is wrong.

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
        known: uint8_t[256]
        all_known: cython.int = 0
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
                        return None
                    self.rows[3 * kept + k] = self.rows[3 * row + k]
                kept += 1
            for row in range(kept):
                flags[self.rows[3 * row + 2]] |= 4
            for id in added:
                if id < self.n_ids and flags[id] & 4 == 0 and self.sizes[id] != NONE and self.sizes[id] != 1:
                    flags[id] |= 8
            for k in range(256):
                known[k] = 0
            for id in range(self.n_ids):
                if self.sizes[id] == NONE:
                    continue
                if flags[id] & 8:
                    start += self.sizes[id]
                    self.sizes[id] = NONE
                    continue
                if o != start:
                    memmove(self.blob + o, self.blob + start, self.sizes[id])
                if self.sizes[id] == 1:
                    known[self.blob[o]] = 1
                o += self.sizes[id]
                start += self.sizes[id]
                n = id + 1
            for k in range(256):
                all_known += known[k]
            return (
                PyBytes_FromStringAndSize(cython.cast(cython.p_char, self.blob), o),
                PyBytes_FromStringAndSize(cython.cast(cython.p_char, self.sizes), 4 * n),
                PyBytes_FromStringAndSize(cython.cast(cython.p_char, self.rows), 12 * kept) if kept else b"",
                all_known == 256,
            )
        finally:
            free(flags)


# ---------------------------------------------------------------------- texts


@cython.cfunc
@cython.exceptval(check=False)
def _escape(p: Bytes, n: cython.size_t, point: cython.pointer(uint32_t)) -> cython.size_t:
    """The code point of the escape at p, and its size; 0 for one that is wrong, or half of a surrogate pair alone."""
    low: uint32_t = 0
    if n < 2:
        return 0
    if p[1] == ord("u"):
        if n < 6 or not _hex(p + 2, point):
            return 0
        if point[0] & 0xF800 != 0xD800:
            return 6
        if point[0] >= 0xDC00 or n < 12 or p[6] != ord("\\") or p[7] != ord("u") or not _hex(p + 8, cython.address(low)) or low & 0xFC00 != 0xDC00:
            return 0
        point[0] = 0x10000 + ((point[0] & 0x3FF) << 10 | (low & 0x3FF))
        return 12
    if p[1] == ord('"') or p[1] == ord("\\") or p[1] == ord("/"):
        point[0] = p[1]
    elif p[1] == ord("n"):
        point[0] = 0x0A
    elif p[1] == ord("t"):
        point[0] = 0x09
    elif p[1] == ord("r"):
        point[0] = 0x0D
    elif p[1] == ord("b"):
        point[0] = 0x08
    elif p[1] == ord("f"):
        point[0] = 0x0C
    else:
        return 0
    return 2


@cython.cfunc
@cython.exceptval(check=False)
def _hex(p: Bytes, value: cython.pointer(uint32_t)) -> cython.bint:
    i: cython.int
    digit: uint8_t
    value[0] = 0
    for i in range(4):
        digit = p[i] | 0x20
        if 0x30 <= p[i] <= 0x39:
            digit = p[i] - 0x30
        elif ord("a") <= digit <= ord("f"):
            digit -= ord("a") - 10
        else:
            return False
        value[0] = value[0] << 4 | digit
    return True


@cython.cfunc
@cython.exceptval(check=False)
def _write(point: uint32_t, o: cython.pointer(uint8_t)) -> cython.size_t:
    """Write a code point in UTF-8; its size."""
    if point < 0x80:
        o[0] = point
        return 1
    if point < 0x800:
        o[0], o[1] = 0xC0 | point >> 6, 0x80 | (point & 0x3F)
        return 2
    if point < 0x10000:
        o[0], o[1], o[2] = 0xE0 | point >> 12, 0x80 | (point >> 6 & 0x3F), 0x80 | (point & 0x3F)
        return 3
    o[0], o[1] = 0xF0 | point >> 18, 0x80 | (point >> 12 & 0x3F)
    o[2], o[3] = 0x80 | (point >> 6 & 0x3F), 0x80 | (point & 0x3F)
    return 4


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
    """A text with spaces for `mark`. Returns its size, or -1 for one that has a space already."""
    size: cython.size_t = PyBytes_GET_SIZE(mark)
    space: Bytes = cython.cast(Bytes, PyBytes_AS_STRING(mark))
    i: cython.size_t = 0
    count: cython.Py_ssize_t = 0
    if size == 0:
        memcpy(o, p, n)
        return n
    while i < n:
        if p[i] == 0x20:
            return -1
        if p[i] == space[0] and n - i >= size and memcmp(p + i, space, size) == 0:
            o[count] = 0x20
            i += size
        else:
            o[count] = p[i]
            i += 1
        count += 1
    return count
