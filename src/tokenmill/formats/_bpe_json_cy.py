# cython: language_level=3
"""The vocabulary and the merges of a tokenizer.json, read from its bytes without a Python object for each token.

`read_tables` takes what most files hold. None means that something is unusual or wrong; then huggingface.py reads the file with
the json module, slowly, and names what is wrong. Both give the same vocabulary.
"""

import cython
from cython.cimports.cpython.bytes import PyBytes_AS_STRING, PyBytes_FromStringAndSize, PyBytes_GET_SIZE
from cython.cimports.libc.stdint import uint8_t, uint32_t, uint64_t
from cython.cimports.tokenmill.formats._bpe_tables_cy import BpeTables
from cython.cimports.tokenmill.kernels._json_string import json_string

from .file_content import MAX_ID

Bytes = cython.typedef(cython.pointer(cython.const[uint8_t]))
HIGHEST = cython.declare(uint32_t, MAX_ID)


def read_tables(data: bytes):
    """The BpeTables of the model in `data`, and `data` with an empty vocabulary and no merges. None if they are not as usual."""
    reader: Reader = Reader(data)
    return (reader.tables, reader.head) if reader.read() else None


@cython.final
@cython.cclass
class Reader:
    """Reads a file from front to back.

    head: the file with an empty vocabulary and no merges.
    """

    tables: BpeTables
    head: bytes
    data: bytes
    p: Bytes
    end: Bytes

    def __cinit__(self, data: bytes):
        self.tables = BpeTables(PyBytes_GET_SIZE(data))
        self.data = data
        self.p = cython.cast(Bytes, PyBytes_AS_STRING(data))
        self.end = self.p + PyBytes_GET_SIZE(data)

    @cython.cfunc
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
                if not (self.read_merges() if self.tables.slots != cython.NULL else self.skip()):
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
        size: cython.Py_ssize_t = self.string(self.tables.used)
        if size < 0 or not self.take(ord(":")):
            return None
        return PyBytes_FromStringAndSize(cython.cast(cython.p_char, self.tables.text + self.tables.used), size)

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
        size: cython.size_t = 0
        self.blank()
        after: Bytes = json_string(self.p, self.end, self.tables.text + start, cython.address(size))
        if after == cython.NULL:
            return -1
        self.p = after
        return size

    @cython.cfunc
    def read_vocabulary(self) -> cython.bint:
        """Read {"text": id, ...} and index it."""
        size: cython.Py_ssize_t
        id: uint64_t
        digits: Bytes
        if not self.take(ord("{")):
            return False
        while True:
            size = self.string(self.tables.used)
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
            self.tables.add(size, cython.cast(uint32_t, id))
            if not self.take(ord(",")):
                return self.take(ord("}")) and self.tables.index()

    @cython.cfunc
    def read_merges(self) -> cython.bint:
        """Read ["a b", ...] or [["a", "b"], ...] as rows."""
        if not self.take(ord("[")):
            return False
        if self.take(ord("]")):
            return True
        while self.read_merge():
            if not self.take(ord(",")):
                return self.take(ord("]")) and self.tables.finish_merges()
        return False

    @cython.cfunc
    def read_merge(self) -> cython.bint:
        left: cython.Py_ssize_t
        size: cython.Py_ssize_t
        start: cython.size_t = self.tables.at
        if self.take(ord("[")):
            left = self.string(start)
            if left < 1 or not self.take(ord(",")):
                return False
            size = self.string(start + left)
            return size > 0 and self.take(ord("]")) and self.tables.add_merge(left, left + size)
        size = self.string(start)
        return size > 0 and self.tables.add_spaced_merge(size)
