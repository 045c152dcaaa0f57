"""The messages of a SentencePiece model (protobuf), read without a Python object for each field of a piece."""

import cython
from cython.cimports.cpython.bytes import PyBytes_AS_STRING, PyBytes_FromStringAndSize, PyBytes_GET_SIZE
from cython.cimports.cpython.exc import PyErr_CheckSignals
from cython.cimports.cpython.unicode import PyUnicode_DecodeUTF8
from cython.cimports.libc.stdint import uint8_t, uint64_t
from cython.cimports.libc.string import memcpy

Bytes = cython.typedef(cython.pointer(cython.const[uint8_t]))
VARINT = cython.declare(cython.int, 0)  # kinds of fields
FIXED64 = cython.declare(cython.int, 1)
BLOCK = cython.declare(cython.int, 2)
FIXED32 = cython.declare(cython.int, 5)
NORMAL = cython.declare(uint64_t, 1)
KINDS = cython.declare(uint64_t, 6)


@cython.cclass
class FieldReader:
    """Reads the fields of a message one by one.

    number, kind: of the last field. value: its number. start, size: its bytes, if it is a block.
    """

    p: Bytes
    end: Bytes
    number: uint64_t
    kind: cython.int
    value: uint64_t
    start: Bytes
    size: cython.size_t

    @cython.cfunc
    @cython.exceptval(check=False)
    def varint(self, value: cython.pointer(uint64_t)) -> cython.bint:
        shift: cython.int = 0
        value[0] = 0
        while self.p < self.end and shift < 64:
            byte: cython.int = self.p[0]
            value[0] |= cython.cast(uint64_t, byte & 0x7F) << shift
            self.p += 1
            if byte < 0x80:
                return True
            shift += 7
        return False

    @cython.cfunc
    def next(self) -> cython.bint:
        """Read a field. Return False at the end of the message. ValueError for a field that is cut short."""
        tag: uint64_t = 0
        if self.p == self.end:
            return False
        whole = self.varint(cython.address(tag))
        self.number = tag >> 3
        self.kind = tag & 7
        self.value = self.size = 0
        if self.kind == VARINT or self.kind == BLOCK:
            whole = whole and self.varint(cython.address(self.value))
        if self.kind == BLOCK:
            self.size = self.value
        elif self.kind == FIXED64 or self.kind == FIXED32:
            self.size = 8 if self.kind == FIXED64 else 4
        elif self.kind != VARINT:
            whole = False
        if not whole or self.number == 0 or cython.cast(cython.size_t, self.end - self.p) < self.size:
            raise ValueError
        self.start = self.p
        self.p += self.size
        return True


def read_fields(data: bytes) -> dict:
    """Return the fields of a message by number: int or bytes. Of several, the last."""
    reader: FieldReader = FieldReader()
    fields: dict = {}
    reader.p = cython.cast(Bytes, PyBytes_AS_STRING(data))
    reader.end = reader.p + PyBytes_GET_SIZE(data)
    while reader.next():
        fields[reader.number] = reader.value if reader.kind == VARINT else _block(reader)
    return fields


def read_pieces(data: bytes) -> tuple:
    """Return the texts, the scores and the kinds of the pieces of a model as lists, and the other blocks of the model by number.

    ValueError for another or a damaged message, with the number of the damaged piece, if it is a piece.
    """
    model: FieldReader = FieldReader()
    piece: FieldReader = FieldReader()
    texts: list = []
    scores: list = []
    kinds: list = []
    others: dict = {}
    model.p = cython.cast(Bytes, PyBytes_AS_STRING(data))
    model.end = model.p + PyBytes_GET_SIZE(data)
    while model.next():
        if model.kind != BLOCK:
            continue
        if model.number != 1:
            others[model.number] = others.get(model.number, b"") + _block(model)  # blocks of one message are joined
            continue
        text = ""
        score: cython.float = 0
        kind = NORMAL
        piece.p = model.start
        piece.end = model.start + model.size
        try:
            while piece.next():
                if piece.number == 1 and piece.kind == BLOCK:
                    text = PyUnicode_DecodeUTF8(cython.cast(cython.p_char, piece.start), piece.size, cython.NULL)
                elif piece.number == 2 and piece.kind == FIXED32:
                    memcpy(cython.address(score), piece.start, 4)
                elif piece.number == 3 and piece.kind == VARINT and 1 <= piece.value <= KINDS:
                    kind = piece.value
        except ValueError:
            raise ValueError(len(texts)) from None
        texts.append(text)
        scores.append(score)
        kinds.append(kind)
        if len(texts) & 0xFFFF == 0:
            PyErr_CheckSignals()
    return texts, scores, kinds, others


@cython.cfunc
def _block(reader: FieldReader) -> bytes:
    return PyBytes_FromStringAndSize(cython.cast(cython.p_char, reader.start), reader.size)
