"""The JSON kernel: some fields of many objects as columns, without a Python object for each value.

It reads only valid JSON of RFC 8259: UTF-8, nested less than 64 deep, numbers of at most 4,000 digits, no lone
surrogate in the fields. Anything else is odd, and is read by Python's json, its slow twin.
"""

from array import array

import cython
from cython.cimports.cpython.bytearray import PyByteArray_AS_STRING, PyByteArray_FromStringAndSize
from cython.cimports.cpython.bytes import PyBytes_AS_STRING
from cython.cimports.libc.stdint import uint8_t, uint64_t
from cython.cimports.libc.string import memchr, memcmp, memcpy
from cython.cimports.tokenmill.kernels._json import json_string, skip_string, skip_value, take

QUOTE = cython.declare(cython.int, 34)
BACKSLASH = cython.declare(cython.int, 92)

MOST_FIELDS = cython.declare(cython.int, 10)
NONE = cython.declare(cython.int, 0)  # the kinds of a value: missing, or of another type
STRING = cython.declare(cython.int, 1)
SCALAR = cython.declare(cython.int, 2)  # an integer, true or false

# The values of one field.
Values = cython.struct(
    name=cython.pointer(cython.const[uint8_t]),
    name_size=cython.size_t,
    start=cython.pointer(uint8_t),
    ends=cython.pointer(uint64_t),
    kinds=cython.pointer(uint8_t),
    out=cython.pointer(uint8_t),  # the next value goes here
    size=cython.size_t,  # bytes of the value
    kind=uint8_t,
)

# A JSON text, and the columns to read. The first is the text, which must be a string.
Reader = cython.struct(
    at=cython.pointer(cython.const[uint8_t]),
    end=cython.pointer(cython.const[uint8_t]),
    columns=cython.pointer(Values),
    num_columns=cython.int,
)


def field_columns(text: cython.const[uint8_t][::1], ends: cython.const[uint64_t][::1], fields: tuple) -> tuple:
    """Return the values of the fields of the JSON objects in `text` as columns, and the indexes of the odd objects.

    Object i is text[ends[i - 1]:ends[i]]. Up to ten different fields; an object without a string in the first is odd.
    A column is its bytes, their ends, and the kinds of the values: 1 a string; 2 an integer, true or false, as Python
    writes them; 0 anything else, or no such field. The values of an odd object are empty and of kind 0.
    """
    n: cython.Py_ssize_t = ends.shape[0]
    odd: list = []
    reader: Reader
    columns: Values[10]
    good: cython.bint
    results: list = []
    number_of_fields: cython.int = len(fields)
    if number_of_fields > MOST_FIELDS:
        raise ValueError(f"{len(fields)} fields; at most {MOST_FIELDS}")
    if n == 0 or text.shape[0] == 0:
        return tuple((b"", array("Q", bytes(8 * n)), bytes(n)) for _ in fields), [*range(n)]
    base: cython.pointer(cython.const[uint8_t]) = cython.address(text[0])
    for j in range(number_of_fields):
        name: bytes = fields[j]
        values: bytearray = PyByteArray_FromStringAndSize(cython.NULL, ends[n - 1] + 8)
        ends_of_values: bytearray = PyByteArray_FromStringAndSize(cython.NULL, 8 * n)
        kinds_of_values: bytearray = PyByteArray_FromStringAndSize(cython.NULL, n)
        column = cython.address(columns[j])
        column.name = cython.cast(cython.pointer(cython.const[uint8_t]), PyBytes_AS_STRING(name))
        column.name_size = len(name)
        column.start = column.out = cython.cast(cython.pointer(uint8_t), PyByteArray_AS_STRING(values))
        column.ends = cython.cast(cython.pointer(uint64_t), PyByteArray_AS_STRING(ends_of_values))
        column.kinds = cython.cast(cython.pointer(uint8_t), PyByteArray_AS_STRING(kinds_of_values))
        results.append((values, ends_of_values, kinds_of_values))
    reader.end = base
    reader.columns = cython.address(columns[0])
    reader.num_columns = number_of_fields
    with cython.nogil:
        for i in range(n):
            reader.at = reader.end
            reader.end = base + ends[i]
            for j in range(number_of_fields):
                columns[j].kind = NONE
                columns[j].size = 0
            good = _object(cython.address(reader)) and columns[0].kind == STRING and reader.at == reader.end
            if not good:
                with cython.gil:
                    odd.append(i)
            for j in range(number_of_fields):
                column = cython.address(columns[j])
                if good:
                    column.out += column.size
                column.ends[i] = column.out - column.start
                column.kinds[i] = column.kind if good else NONE
    return tuple((values, array("Q", bytes(ends)), kinds) for values, ends, kinds in results), odd


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _object(r: cython.pointer(Reader)) -> cython.bint:
    """Skip an object, and keep the values of the fields; of several values of a field, the last."""
    if not take(cython.address(r.at), r.end, 123):
        return False
    if take(cython.address(r.at), r.end, 125):
        return True
    while True:
        key = r.at + 1
        if not skip_string(cython.address(r.at), r.end):
            return False
        size: cython.size_t = r.at - key - 1
        if memchr(key, BACKSLASH, size) != cython.NULL:  # perhaps the field, written with an escape
            return False
        column: cython.pointer(Values) = cython.NULL
        for j in range(r.num_columns):
            if size == r.columns[j].name_size and memcmp(key, r.columns[j].name, size) == 0:
                column = r.columns + j
        if not take(cython.address(r.at), r.end, 58):
            return False
        if not (skip_value(cython.address(r.at), r.end, 1) if column == cython.NULL else _keep_value(r, column)):
            return False
        if not take(cython.address(r.at), r.end, 44):
            return take(cython.address(r.at), r.end, 125)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _keep_value(r: cython.pointer(Reader), column: cython.pointer(Values)) -> cython.bint:
    """Skip a value of a column's field, and write it to the column."""
    start: cython.pointer(cython.const[uint8_t]) = r.at
    size: cython.size_t = 0
    if start < r.end and start[0] == QUOTE:
        r.at = json_string(start, r.end, column.out, cython.address(size))
        column.size = size
        column.kind = STRING
        return r.at != cython.NULL
    column.kind = NONE
    column.size = 0
    if not skip_value(cython.address(r.at), r.end, 1):
        return False
    size = r.at - start
    if start[0] == 116 or start[0] == 102:  # as Python writes them
        memcpy(column.out, start, size)
        column.out[0] -= 32
    elif start[0] == 45 and size == 2 and start[1] == 48:  # -0 is 0
        column.out[0] = 48
        size = 1
    elif (start[0] == 45 or 48 <= start[0] <= 57) and _is_integer(start, r.at):
        memcpy(column.out, start, size)
    else:
        return True
    column.size = size
    column.kind = SCALAR
    return True


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _is_integer(at: cython.pointer(cython.const[uint8_t]), end: cython.pointer(cython.const[uint8_t])) -> cython.bint:
    """Return whether a number has neither a fraction nor an exponent."""
    while at < end and at[0] != 46 and at[0] | 32 != 101:
        at += 1
    return at == end
