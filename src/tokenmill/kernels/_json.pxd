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
    const unsigned char[256] ESCAPES "tm_escapes"  # what a letter after a backslash stands for; 0 for no escape


# Reads the JSON string that begins at p and writes it as UTF-8 to out, which needs room for 8 bytes more. Returns the place after
# it, or NULL if there is none that is valid, as RFC 8259 has it. Where out is not NULL, one with a lone surrogate is not.
cdef inline const uint8_t* json_string(const uint8_t* p, const uint8_t* end, uint8_t* out, size_t* size) noexcept nogil:
    cdef uint64_t ones = 0x0101010101010101, eight, special
    cdef uint8_t* o = out
    cdef uint32_t point = 0
    cdef size_t n
    if p == end or p[0] != 0x22:
        return NULL
    p += 1
    while p < end:
        if end - p >= 8:  # eight bytes of ASCII that stand for themselves
            memcpy(&eight, p, 8)
            # The lowest top bit marks the first that does not: one below 32, or 0 after an exclusive or, borrows it.
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


# Returns the size of the JSON escape at p and stores its code point, or returns 0 if there is no valid escape. A surrogate pair
# counts as one escape. A surrogate without its partner is stored as it is.
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


# Whether there is an escape like \u00e9 at p; stores its number.
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


# The rest of JSON, to the letter of RFC 8259 but for what is hard on Python's json: nested less than 64 deep, numbers of at most
# 4,000 digits. Each function steps over what it names, from at[0] on, and returns whether that is there.
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


# Digits; how many there are.
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
