"""The span of each id in a text, from the recorded rows of the text (see _sections_cy.pxd)."""

import cython
from cython.cimports.cpython.bytearray import PyByteArray_AS_STRING, PyByteArray_FromStringAndSize
from cython.cimports.cpython.bytes import PyBytes_AS_STRING
from cython.cimports.libc.stdint import int64_t, uint8_t, uint32_t
from cython.cimports.tokenmill.tokenizer.encoding._sections_cy import (
    ADDED_TOKEN,
    CHANGED_STRETCH,
    IN_CHANGED,
    PREFIXED_SECTION,
)
from cython.cimports.tokenmill.tokenizer.merging._merger_cy import Merger

NO_TOKEN = cython.declare(uint32_t, 0xFFFFFFFF)


def token_spans(id_memory: cython.const[uint8_t][::1], row_memory: cython.const[uint8_t][::1], size_memory: bytes,
                data: bytes, changes: list, unknown: int64_t, by_character: cython.bint,
                unknown_sizes: list, dropping: Merger | None = None) -> bytearray:
    """Return the start and the end of each id in a text, as rows of two int64; in its changed stretch, for a row IN_CHANGED.

    id_memory, row_memory: see Encoder.encode_sections. size_memory: the bytes of each token by id, uint32. unknown: the id of one
    unknown byte, or with by_character of one unknown character; -1 for none.
    unknown_sizes: the bytes of each unknown id in order, if it may be several characters.
    dropping: drops characters between tokens; None if none are dropped.
    """
    n: cython.Py_ssize_t = id_memory.shape[0] // 4
    ids: cython.pointer(cython.const[uint32_t]) = cython.NULL
    rows: cython.pointer(cython.const[cython.size_t]) = cython.NULL
    sizes = cython.cast(cython.pointer(cython.const[uint32_t]), PyBytes_AS_STRING(size_memory))
    n_sizes: cython.size_t = len(size_memory) // 4
    result: bytearray = PyByteArray_FromStringAndSize(cython.NULL, 16 * n)
    spans = cython.cast(cython.pointer(int64_t), PyByteArray_AS_STRING(result))
    n_rows: cython.Py_ssize_t = row_memory.shape[0] // (4 * cython.sizeof(cython.size_t))
    stretch: cython.Py_ssize_t = -1
    n_unknown: cython.Py_ssize_t = 0
    if n > 0:
        ids = cython.cast(cython.pointer(cython.const[uint32_t]), cython.address(id_memory[0]))
    if n_rows > 0:
        rows = cython.cast(cython.pointer(cython.const[cython.size_t]), cython.address(row_memory[0]))
    for row in range(n_rows):
        kind = rows[4 * row + 3]
        if kind == CHANGED_STRETCH:
            stretch += 1
            continue
        i: cython.Py_ssize_t = rows[4 * row]
        last: cython.Py_ssize_t = rows[4 * row + 4] if row + 1 < n_rows else n
        begin: int64_t = rows[4 * row + 1]
        if kind & 3 == ADDED_TOKEN:
            if i < n:
                spans[2 * i] = begin
                spans[2 * i + 1] = rows[4 * row + 2]
            continue
        if kind & IN_CHANGED:
            changed: bytes = changes[stretch]
            text = cython.cast(cython.pointer(cython.const[uint8_t]), PyBytes_AS_STRING(changed))
            length: int64_t = len(changed)
        else:
            text = cython.cast(cython.pointer(cython.const[uint8_t]), PyBytes_AS_STRING(data))
            length = len(data)
        at: int64_t = begin - (1 if kind & 3 == PREFIXED_SECTION else 0)
        while i < last:
            while dropping is not None and at < length:
                size: int64_t = dropping.dropped(text + at, length - at)
                if size == 0:
                    break
                at += size
            size = 0
            if ids[i] < n_sizes and sizes[ids[i]] != NO_TOKEN:
                size = sizes[ids[i]]
            if ids[i] == unknown:
                size = 1
                if n_unknown < len(unknown_sizes):
                    size = unknown_sizes[n_unknown]
                    n_unknown += 1
                while by_character and at + size < length and text[at + size] & 0xC0 == 0x80:
                    size += 1
            spans[2 * i] = at if at > begin else begin
            at += size
            spans[2 * i + 1] = at if at > begin else begin
            i += 1
    return result


def character_spans(spans: cython.const[int64_t][::1], data: bytes) -> bytearray:
    """The spans in characters. A span in characters includes every character that has a byte in the span."""
    n: cython.Py_ssize_t = spans.shape[0]
    result: bytearray = PyByteArray_FromStringAndSize(cython.NULL, 8 * n)
    characters = cython.cast(cython.pointer(int64_t), PyByteArray_AS_STRING(result))
    text = cython.cast(cython.pointer(cython.const[uint8_t]), PyBytes_AS_STRING(data))
    at: int64_t = 0
    before: int64_t = 0  # characters that begin in text[0:at]
    inside: int64_t
    for i in range(n):
        inside = 1 if i % 2 == 0 and spans[i] < spans[i + 1] else 0  # the character of the first byte
        target = spans[i] + inside
        while at < target:
            before += text[at] & 0xC0 != 0x80
            at += 1
        while at > target:
            at -= 1
            before -= text[at] & 0xC0 != 0x80
        characters[i] = before - inside
    return result
