from libc.stdint cimport uint8_t, uint32_t, uint64_t
from libc.string cimport memcmp, memcpy

from ._platform cimport tm_ctz
from ._utf8 cimport tm_utf8_read, tm_utf8_write

cdef extern from *:
    """
    static const unsigned char tm_escapes[256] = { /* ", \\, /, and the letters b, f, n, r and t */
        [0x22] = 0x22, [0x5C] = 0x5C, [0x2F] = 0x2F, [0x62] = 8, [0x66] = 12, [0x6E] = 10, [0x72] = 13, [0x74] = 9,
    };
    """
    const unsigned char[256] ESCAPES "tm_escapes"  # by the letter after a backslash: the character; 0 for no escape


# Read the JSON string that begins at p and write it as UTF-8 to out, which needs room for 8 bytes more. Returns its end, or NULL if it
# is not valid by RFC 8259. If out is not NULL, a string with a lone surrogate is not valid.
cdef inline const uint8_t* json_string(const uint8_t* p, const uint8_t* end, uint8_t* out, size_t* size) noexcept nogil:
    cdef uint64_t ones = 0x0101010101010101, eight, special
    cdef uint8_t* o = out
    cdef uint32_t point = 0
    cdef size_t n
    if p == end or p[0] != 0x22:
        return NULL
    p += 1
    while p < end:
        if end - p >= 8:  # eight unescaped bytes of ASCII
            memcpy(&eight, p, 8)
            # The lowest top bit marks the first other byte: one below 32, or 0 after an exclusive or, borrows it.
            special = eight | eight - 32 * ones | (eight ^ 0x22 * ones) - ones | (eight ^ 0x5C * ones) - ones
            special &= 128 * ones
            n = 8 if special == 0 else tm_ctz(special) >> 3
            if out != NULL:
                memcpy(o, &eight, 8)
                o += n
            p += n
            if special == 0:
                continue
        if p[0] == 0x22:
            size[0] = o - out
            return p + 1
        if p[0] < 0x20:
            return NULL
        if p[0] == 0x5C:
            n = _escape(p, end - p, &point)
            if n == 0 or (out != NULL and point >> 11 == 0x1B):
                return NULL
            if out != NULL:
                o = tm_utf8_write(point, o)
        else:
            n = 1 if p[0] < 0x80 else tm_utf8_read(p, end - p, &point)
            if n == 0:
                return NULL
            if out != NULL:
                memcpy(o, p, n)
                o += n
        p += n
    return NULL


# Return the size of the JSON escape at p and store its code point, or return 0 if there is no valid escape. A surrogate pair
# is one escape. A lone surrogate is stored unchanged.
cdef inline size_t _escape(const uint8_t* p, size_t left, uint32_t* point) noexcept nogil:
    cdef uint32_t low = 0
    if left < 2 or p[0] != 0x5C:
        return 0
    if p[1] == 0x75:  # u
        if not _hex(p, left, point):
            return 0
        if point[0] >> 10 == 0x36 and _hex(p + 6, left - 6, &low) and low >> 10 == 0x37:
            point[0] = 0x10000 + ((point[0] & 0x3FF) << 10 | low & 0x3FF)
            return 12
        return 6
    point[0] = ESCAPES[p[1]]
    return 2 if point[0] else 0


# Store the number of an escape like \u00e9 at p. False if there is none.
cdef inline bint _hex(const uint8_t* p, size_t left, uint32_t* point) noexcept nogil:
    cdef size_t i
    cdef uint32_t digit, number = 0
    if left < 6 or p[0] != 0x5C or p[1] != 0x75:
        return False
    for i in range(2, 6):
        digit = p[i]
        if 0x30 <= digit <= 0x39:
            digit -= 0x30
        elif 0x61 <= (digit | 0x20) <= 0x66:
            digit = (digit | 0x20) - 0x57
        else:
            return False
        number = number << 4 | digit
    point[0] = number
    return True


# The rest of JSON by RFC 8259, within the limits of Python's json: nested less than 64 deep, numbers of at most 4,000 digits. Each
# function skips one item at at[0], and returns false if there is none.
cdef enum:
    DEEPEST = 64
    DIGITS = 4000


cdef inline void skip_space(const uint8_t** at, const uint8_t* end) noexcept nogil:
    while at[0] < end and (at[0][0] == 32 or at[0][0] == 10 or at[0][0] == 13 or at[0][0] == 9):
        at[0] += 1


# `byte`, and white space before and after it.
cdef inline bint take(const uint8_t** at, const uint8_t* end, int byte) noexcept nogil:
    skip_space(at, end)
    if at[0] == end or at[0][0] != byte:
        return False
    at[0] += 1
    skip_space(at, end)
    return True


cdef inline bint skip_string(const uint8_t** at, const uint8_t* end) noexcept nogil:
    cdef size_t size
    cdef const uint8_t* after = json_string(at[0], end, NULL, &size)
    if after != NULL:
        at[0] = after
    return after != NULL


cdef inline bint skip_value(const uint8_t** at, const uint8_t* end, int depth) noexcept nogil:
    cdef int byte = at[0][0] if at[0] < end else 0
    if byte == 0x22:
        return skip_string(at, end)
    if byte == 0x7B or byte == 0x5B:
        return _skip_items(at, end, depth, byte + 2)
    if byte == 0x74:
        return _skip_word(at, end, b"true", 4)
    if byte == 0x66:
        return _skip_word(at, end, b"false", 5)
    if byte == 0x6E:
        return _skip_word(at, end, b"null", 4)
    return _skip_number(at, end)


# An object or an array; `close` is the bracket at its end.
cdef inline bint _skip_items(const uint8_t** at, const uint8_t* end, int depth, int close) noexcept nogil:
    if depth == DEEPEST:
        return False
    at[0] += 1
    if take(at, end, close):
        return True
    while True:
        if close == 0x7D and not (skip_string(at, end) and take(at, end, 0x3A)):
            return False
        if not skip_value(at, end, depth + 1):
            return False
        if not take(at, end, 0x2C):
            return take(at, end, close)


cdef inline bint _skip_word(const uint8_t** at, const uint8_t* end, const char* word, size_t size) noexcept nogil:
    if <size_t> (end - at[0]) < size or memcmp(at[0], word, size) != 0:
        return False
    at[0] += size
    return True


# Skip digits. Return their number.
cdef inline size_t _skip_digits(const uint8_t** at, const uint8_t* end) noexcept nogil:
    cdef const uint8_t* start = at[0]
    while at[0] < end and 0x30 <= at[0][0] <= 0x39:
        at[0] += 1
    return at[0] - start


cdef inline bint _skip_number(const uint8_t** at, const uint8_t* end) noexcept nogil:
    cdef const uint8_t* first
    cdef size_t n
    if at[0] < end and at[0][0] == 0x2D:
        at[0] += 1
    first = at[0]
    n = _skip_digits(at, end)
    if n == 0 or n > DIGITS or (first[0] == 0x30 and n > 1):
        return False
    if at[0] < end and at[0][0] == 0x2E:
        at[0] += 1
        if _skip_digits(at, end) == 0:
            return False
    if at[0] < end and at[0][0] | 32 == 0x65:
        at[0] += 1
        if at[0] < end and (at[0][0] == 0x2B or at[0][0] == 0x2D):
            at[0] += 1
        if _skip_digits(at, end) == 0:
            return False
    return True
