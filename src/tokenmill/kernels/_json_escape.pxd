from libc.stdint cimport uint8_t, uint32_t


# Returns the size of the JSON escape at p and stores its code point, or returns 0 if there is no valid escape. A surrogate pair
# counts as one escape. A surrogate without its partner is stored as it is.
cdef inline size_t json_escape(const uint8_t* p, size_t left, uint32_t* point) noexcept nogil:
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
    if p[1] == 0x22 or p[1] == 0x5C or p[1] == 0x2F:
        point[0] = p[1]
    elif p[1] == 0x6E:  # n
        point[0] = 0x0A
    elif p[1] == 0x74:  # t
        point[0] = 0x09
    elif p[1] == 0x72:  # r
        point[0] = 0x0D
    elif p[1] == 0x62:  # b
        point[0] = 0x08
    elif p[1] == 0x66:  # f
        point[0] = 0x0C
    else:
        return 0
    return 2


# Writes a code point as UTF-8 and returns its size.
cdef inline size_t utf8_write(uint32_t point, uint8_t* out) noexcept nogil:
    if point < 0x80:
        out[0] = point
        return 1
    if point < 0x800:
        out[0] = 0xC0 | point >> 6
        out[1] = 0x80 | point & 0x3F
        return 2
    if point < 0x10000:
        out[0] = 0xE0 | point >> 12
        out[1] = 0x80 | point >> 6 & 0x3F
        out[2] = 0x80 | point & 0x3F
        return 3
    out[0] = 0xF0 | point >> 18
    out[1] = 0x80 | point >> 12 & 0x3F
    out[2] = 0x80 | point >> 6 & 0x3F
    out[3] = 0x80 | point & 0x3F
    return 4


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
