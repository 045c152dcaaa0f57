"""The block kernel: encodes the documents of one buffer without a Python object for each."""

from array import array

import cython
from cython.cimports.cpython.bytearray import PyByteArray_AS_STRING, PyByteArray_FromStringAndSize
from cython.cimports.cpython.exc import PyErr_CheckSignals
from cython.cimports.libc.stdint import int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from cython.cimports.libc.string import memcpy, memset
from cython.cimports.tokenmill.tokenizer.encoding._encode_cy import Encoder
from cython.cimports.tokenmill.tokenizer.encoding._sections_cy import Sections
from cython.cimports.tokenmill.tokenizer.encoding._stages_cy import SLICE, Documents, State

# The limit of a thread's cache. Documents are encoded once: a larger cache takes memory and more misses of the processor's
# caches, and was no faster on 600 MB of English and 190 MB in sixteen languages (Intel Xeon, 2026-11-22).
CACHE = cython.declare(cython.size_t, 32 << 20)


def encode_documents(encoder: Encoder, text: cython.const[uint8_t][::1], ends: cython.const[uint64_t][::1],
                     sections: Sections | None, goes_on: cython.bint, end_of_text: int64_t, width: cython.size_t,
                     begin_of_text: int64_t = -1, continued: cython.bint = False):
    """The ids of documents in the format of a token file, and the end of each document in them, as int64.

    text: UTF-8; document i is text[ends[i - 1]:ends[i]]. sections: as for Encoder.encode.
    goes_on: the last document does not end here. end_of_text: the id after each document that ends; -1 for none.
    width: bytes of an id, 2 or 4. begin_of_text: the id before each document except a first that is `continued`; -1 for none.
    """
    work: Documents
    code: cython.Py_ssize_t = 0
    id_end_array = array("q", bytes(8 * ends.shape[0]))
    id_ends: int64_t[::1] = id_end_array
    state: State = encoder.take()
    state.cache.set_limit(min(state.cache.limit, CACHE))
    try:
        memset(cython.address(work), 0, cython.sizeof(Documents))
        work.n = ends.shape[0]
        if text.shape[0] > 0:
            work.text = cython.address(text[0])
        if work.n > 0:
            work.ends = cython.address(ends[0])
            work.id_ends = cython.address(id_ends[0])
        while work.document < work.n:
            with cython.nogil:
                code = encoder.documents(state, cython.address(work), work.at + SLICE, sections)
            if code < 0:
                encoder._check(state, code)
            PyErr_CheckSignals()
        out = _written(state.ids.data, state.ids.used, id_ends, goes_on, end_of_text, width, begin_of_text, continued)
        return out, memoryview(id_end_array)[:work.n - goes_on]
    finally:
        encoder.give(state)


def write_ids(ids: cython.const[uint32_t][::1], ends: int64_t[::1], goes_on: cython.bint, end_of_text: int64_t,
              width: cython.size_t, begin_of_text: int64_t, continued: cython.bint):
    """The bytes that encode_documents returns, for other ids. Changes the `ends` of the documents."""
    n: cython.size_t = ids.shape[0]
    return _written(cython.address(ids[0]) if n > 0 else cython.NULL, n, ends, goes_on, end_of_text, width, begin_of_text,
                    continued)


@cython.cfunc
def _written(ids: cython.pointer(cython.const[uint32_t]), total: cython.size_t, ends: int64_t[::1], goes_on: cython.bint,
             end_of_text: int64_t, width: cython.size_t, begin_of_text: int64_t, continued: cython.bint) -> bytearray:
    start: cython.size_t = 0
    n: cython.Py_ssize_t = ends.shape[0]
    at: cython.size_t = total
    if end_of_text >= 0:
        at += max(n - goes_on, 0)
    if begin_of_text >= 0:
        at += max(n - continued, 0)
    out: bytearray = PyByteArray_FromStringAndSize(cython.NULL, at * width)
    bytes_: cython.p_char = PyByteArray_AS_STRING(out)
    narrow = cython.cast(cython.pointer(uint16_t), bytes_)
    at = 0
    with cython.nogil:
        for i in range(n):
            if begin_of_text >= 0 and not (continued and i == 0):
                memcpy(bytes_ + width * at, cython.address(begin_of_text), width)  # the low bytes are the first
                at += 1
            stop: cython.size_t = ends[i]
            if width == 4:
                memcpy(bytes_ + 4 * at, ids + start, 4 * (stop - start))
            else:
                for k in range(stop - start):
                    narrow[at + k] = cython.cast(uint16_t, ids[start + k])
            at += stop - start
            start = stop
            if end_of_text >= 0 and not (goes_on and i == n - 1):
                memcpy(bytes_ + width * at, cython.address(end_of_text), width)
                at += 1
            ends[i] = at
    return out


def lengths_of(ends: cython.const[int64_t][::1], begun: int64_t):
    """The lengths of the documents that end at `ends`; the first one has `begun` ids before."""
    length_array = array("q", bytes(8 * ends.shape[0]))
    lengths: int64_t[::1] = length_array
    start: int64_t = -begun
    for i in range(ends.shape[0]):
        lengths[i] = ends[i] - start
        start = ends[i]
    return length_array
