"""The vocabulary and the merges of a tokenizer.json, read from its bytes without a Python object for each token.

`read_model` reads most files. It returns None for an unusual or wrong one, which huggingface.py reads slowly with the json module
to name the mistake. Both give the same vocabulary.
"""

import cython
from cython.cimports.cpython.bytes import PyBytes_AS_STRING, PyBytes_FromStringAndSize, PyBytes_GET_SIZE
from cython.cimports.cpython.exc import PyErr_CheckSignals
from cython.cimports.libc.stdint import uint8_t, uint32_t, uint64_t
from cython.cimports.libc.string import memcpy
from cython.cimports.tokenmill.kernels._json import json_string, skip_value, take

from .file_content import MAX_ID

Bytes = cython.typedef(cython.pointer(cython.const[uint8_t]))
HIGHEST = cython.declare(uint32_t, MAX_ID)


def read_model(data: bytes):
    """Return records for BpeTables, the span of the vocabulary and that of the merges in them, and `data` without the two.

    None for an unusual file.
    """
    reader: Reader = Reader(data)
    if not reader.read(False) or len(reader.cuts) < 2:
        return None
    (a, b), (c, d) = reader.cuts
    return reader.records, reader.spans[b"vocab"], reader.spans[b"merges"], data[:a + 1] + data[b - 1:c + 1] + data[d - 1:]


@cython.final
@cython.cclass
class Reader:
    """Reads a file from front to back.

    records: each is less than three times as long as its JSON, which bounds their size.
    spans: of the vocabulary and of the merges in the records. cuts: the spans of their JSON, in the order of the file.
    """

    records: bytes
    spans: dict
    cuts: list
    p: Bytes
    start: Bytes
    end: Bytes
    o: cython.pointer(uint8_t)  # the end of the records
    n: cython.size_t

    def __cinit__(self, data: bytes):
        self.spans = {}
        self.cuts = []
        self.p = self.start = cython.cast(Bytes, PyBytes_AS_STRING(data))
        self.end = self.p + PyBytes_GET_SIZE(data)
        self.records = PyBytes_FromStringAndSize(cython.NULL, 3 * PyBytes_GET_SIZE(data) + 64)
        self.o = cython.cast(cython.pointer(uint8_t), PyBytes_AS_STRING(self.records))

    @cython.cfunc
    def read(self, in_model: cython.bint) -> cython.bint:
        """Read the vocabulary and the merges of $.model in the object here."""
        begin: cython.size_t
        if not self.take(ord("{")):
            return False
        while True:
            key = self.key()
            if key is None:
                return False
            if not in_model and key == b"model":
                return self.read(True)
            begin, first = self.p - self.start, self.size()
            if in_model and (key == b"vocab" or key == b"merges") and key not in self.spans:
                if not self.read_items(key == b"merges"):
                    return False
                self.spans[key] = (first, self.size())
                last: Bytes = self.p
                while (last - 1)[0] <= 0x20:  # the space after it
                    last -= 1
                self.cuts.append((begin, last - self.start))
            elif not skip_value(cython.address(self.p), self.end, 0):
                return False
            if not self.take(ord(",")):
                return in_model

    @cython.cfunc
    @cython.exceptval(check=False)
    def size(self) -> cython.size_t:
        """Return the number of bytes of all records."""
        return cython.cast(cython.p_char, self.o) - PyBytes_AS_STRING(self.records)

    @cython.cfunc
    @cython.exceptval(-1)
    def put(self, size: uint32_t, number: uint32_t) -> cython.int:
        """Write the head of a record before its text."""
        memcpy(self.o, cython.address(size), 4)
        memcpy(self.o + 4, cython.address(number), 4)
        self.o += 8 + size
        self.n += 1
        if self.n & 0xFFFF == 0:
            PyErr_CheckSignals()
        return 0

    @cython.cfunc
    def key(self) -> bytes:
        """Return the key here and pass the colon; None if there is none."""
        size: cython.Py_ssize_t = self.string(0)
        if size < 0 or not self.take(ord(":")):
            return None
        return PyBytes_FromStringAndSize(cython.cast(cython.p_char, self.o + 8), size)

    @cython.cfunc
    @cython.inline
    @cython.exceptval(check=False)
    def take(self, byte: uint8_t) -> cython.bint:
        """Pass `byte` and the white space around it; False if it is not next."""
        return take(cython.address(self.p), self.end, byte)

    @cython.cfunc
    @cython.exceptval(check=False)
    def string(self, at: cython.size_t) -> cython.Py_ssize_t:
        """Read a string and write its UTF-8 to the text of the record, from byte `at` on. Return its size; -1 if it is not valid."""
        size: cython.size_t = 0
        after: Bytes = json_string(self.p, self.end, self.o + 8 + at, cython.address(size))
        if after == cython.NULL:
            return -1
        self.p = after
        return size

    @cython.cfunc
    def read_items(self, merges: cython.bint) -> cython.bint:
        """Read {"text": id, ...}, or ["a b", ...] or [["a", "b"], ...]."""
        end: uint8_t = ord("]") if merges else ord("}")
        if not self.take(ord("[") if merges else ord("{")):
            return False
        if merges and self.take(end):
            return True
        while self.read_merge() if merges else self.read_token():
            if not self.take(ord(",")):
                return self.take(end)
        return False

    @cython.cfunc
    def read_token(self) -> cython.bint:
        id: uint64_t = 0
        size: cython.Py_ssize_t = self.string(0)
        if size < 0 or not self.take(ord(":")):
            return False
        digits: Bytes = self.p
        while self.p < self.end and self.p - digits < 8 and 0x30 <= self.p[0] <= 0x39:
            id = 10 * id + self.p[0] - 0x30
            self.p += 1
        if self.p == digits or id > HIGHEST or (digits[0] == 0x30 and self.p - digits > 1):
            return False
        self.put(size, id)
        return True

    @cython.cfunc
    def read_merge(self) -> cython.bint:
        left: cython.Py_ssize_t = 0
        pair: cython.bint = self.take(ord("["))
        if pair:
            left = self.string(0)
            if left < 1 or not self.take(ord(",")):
                return False
        size = self.string(left)
        if size < 1 or (pair and not self.take(ord("]"))):
            return False
        self.put(left + size, left)
        return True
