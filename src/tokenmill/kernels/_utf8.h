/* UTF-8: read one character, and convert to and from the units of a Python str.
 *
 * With SSE4.1, sixteen characters are encoded at a time. Each becomes two or four bytes in a register. A table, by the set of
 * characters above ASCII, has the order that packs the used bytes. docs/experiments/tokenizer.md has the measurements.
 */
#ifndef TOKENMILL_UTF8_H
#define TOKENMILL_UTF8_H

#include "tokenmill/kernels/_platform.h"

/* The size of a character by its first byte; 0 for a byte that does not begin a character. */
static inline size_t tm_utf8_expected(uint8_t lead) {
    return lead < 0x80 ? 1 : lead < 0xC2 ? 0 : lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : lead < 0xF5 ? 4 : 0;
}

/* Read the well-formed character at p[0:left], left >= 1. Stores its code point and returns its size in bytes, or 0 if there is
 * none. */
static inline size_t tm_utf8_read(const uint8_t *p, size_t left, uint32_t *point) {
    uint32_t a = p[0], c;
    if (a < 0x80) {
        *point = a;
        return 1;
    }
    if (a < 0xC2 || left < 2 || (p[1] & 0xC0) != 0x80) return 0;
    if (a < 0xE0) {
        *point = (a & 0x1F) << 6 | (p[1] & 0x3F);
        return 2;
    }
    if (left < 3 || (p[2] & 0xC0) != 0x80) return 0;
    c = (a & 0x0F) << 12 | (uint32_t)(p[1] & 0x3F) << 6 | (p[2] & 0x3F);
    if (a < 0xF0) {
        *point = c;
        return c < 0x800 || (c & 0xF800) == 0xD800 ? 0 : 3;
    }
    if (a > 0xF4 || left < 4 || (p[3] & 0xC0) != 0x80) return 0;
    *point = c = (a & 0x07) << 18 | (uint32_t)(p[1] & 0x3F) << 12 | (uint32_t)(p[2] & 0x3F) << 6 | (p[3] & 0x3F);
    return c < 0x10000 || c > 0x10FFFF ? 0 : 4;
}

/* Decode whole characters of p[0:n] to `out`, which has room for one unit for each first byte. Adds the characters to *count. Returns
 * the bytes read, fewer than n only if the last character is incomplete, or -1 if a character is malformed. Each width has its own
 * function, in which the compiler vectorizes ASCII. */
#define TM_UTF8_DECODE(NAME, UNIT)                                                                                 \
    static TM_UNUSED ptrdiff_t NAME(const uint8_t *p, size_t n, UNIT *out, size_t *count) {                        \
        size_t i = 0, size;                                                                                        \
        UNIT *o = out;                                                                                             \
        while (i < n) {                                                                                            \
            uint64_t eight;                                                                                        \
            uint32_t point;                                                                                        \
            while (n - i >= 8 && (memcpy(&eight, p + i, 8), (eight & 0x8080808080808080ull) == 0)) {               \
                for (int k = 0; k < 8; k++) o[k] = p[i + k];                                                       \
                o += 8;                                                                                            \
                i += 8;                                                                                            \
            }                                                                                                      \
            if (i == n) break;                                                                                     \
            size = tm_utf8_read(p + i, n - i, &point);                                                             \
            if (size == 0) {                                                                                       \
                if (n - i < tm_utf8_expected(p[i])) break;                                                         \
                return -1;                                                                                         \
            }                                                                                                      \
            *o++ = (UNIT)point;                                                                                    \
            i += size;                                                                                             \
        }                                                                                                          \
        *count += (size_t)(o - out);                                                                               \
        return (ptrdiff_t)i;                                                                                       \
    }

TM_UTF8_DECODE(tm_utf8_decode_1, uint8_t)
TM_UTF8_DECODE(tm_utf8_decode_2, uint16_t)
TM_UTF8_DECODE(tm_utf8_decode_4, uint32_t)

/* The same for units of 1, 2 or 4 bytes, after the first *count characters in `data`. */
static inline ptrdiff_t tm_utf8_decode(const uint8_t *p, size_t n, int width, void *data, size_t *count) {
    if (width == 1) return tm_utf8_decode_1(p, n, (uint8_t *)data + *count, count);
    if (width == 2) return tm_utf8_decode_2(p, n, (uint16_t *)data + *count, count);
    return tm_utf8_decode_4(p, n, (uint32_t *)data + *count, count);
}

/* Write a code point as UTF-8, also a surrogate. Returns its end. */
static inline uint8_t *tm_utf8_write(uint32_t c, uint8_t *o) {
    if (c < 0x80) {
        *o++ = (uint8_t)c;
        return o;
    }
    if (c < 0x800) {
        *o++ = (uint8_t)(0xC0 | c >> 6);
    } else {
        if (c < 0x10000) {
            *o++ = (uint8_t)(0xE0 | c >> 12);
        } else {
            *o++ = (uint8_t)(0xF0 | c >> 18);
            *o++ = (uint8_t)(0x80 | (c >> 12 & 0x3F));
        }
        *o++ = (uint8_t)(0x80 | (c >> 6 & 0x3F));
    }
    *o++ = (uint8_t)(0x80 | (c & 0x3F));
    return o;
}

/* Encode n code points in units of `width` bytes. Returns the end of their UTF-8, or NULL if one is a surrogate. */
static TM_UNUSED uint8_t *tm_utf8_encode_plain(const void *data, size_t n, int width, uint8_t *o) {
    for (size_t i = 0; i < n; i++) {
        uint32_t c = width == 1   ? ((const uint8_t *)data)[i]
                     : width == 2 ? ((const uint16_t *)data)[i]
                                  : ((const uint32_t *)data)[i];
        if (c >> 11 == 0x1B) return NULL;
        o = tm_utf8_write(c, o);
    }
    return o;
}

#ifdef TM_X86

#define TM_SSE41 TM_TARGET("sse4.1") static inline

/* By set of characters above ASCII, among eight of at most two bytes or four of at most three: the number of used bytes, then their
 * indices. Filled when the kernel is loaded. */
static uint8_t tm_twos[256][17], tm_threes[256][17];

__attribute__((constructor)) static void tm_utf8_make_tables(void) {
    for (int set = 0; set < 256; set++) {
        uint8_t *twos = tm_twos[set], *threes = tm_threes[set];
        for (int k = 0; k < 8; k++) {
            twos[++twos[0]] = (uint8_t)(2 * k);
            if (set >> k & 1) twos[++twos[0]] = (uint8_t)(2 * k + 1);
        }
        for (int k = 0; k < 4; k++) {
            threes[++threes[0]] = (uint8_t)(4 * k);
            if (set >> k & 1) threes[++threes[0]] = (uint8_t)(4 * k + 1);
            if (set >> (k + 4) & 1) threes[++threes[0]] = (uint8_t)(4 * k + 2);
        }
    }
}

TM_SSE41 uint8_t *tm_utf8_pack(__m128i bytes, const uint8_t *which, uint8_t *o) {
    _mm_storeu_si128((__m128i *)o, _mm_shuffle_epi8(bytes, _mm_loadu_si128((const __m128i *)(which + 1))));
    return o + which[0];
}

/* Eight characters below U+0800. */
TM_SSE41 uint8_t *tm_utf8_encode_twos(__m128i c, uint8_t *o) {
    __m128i wide = _mm_cmpgt_epi16(c, _mm_set1_epi16(0x7F));
    __m128i last = _mm_slli_epi16(_mm_and_si128(c, _mm_set1_epi16(0x3F)), 8);
    __m128i two = _mm_or_si128(_mm_or_si128(_mm_srli_epi16(c, 6), last), _mm_set1_epi16((short)0x80C0));
    int set = _mm_movemask_epi8(_mm_packs_epi16(wide, wide)) & 0xFF;
    return tm_utf8_pack(_mm_blendv_epi8(c, two, wide), tm_twos[set], o);
}

/* Four characters below U+10000. */
TM_SSE41 uint8_t *tm_utf8_encode_threes(__m128i c, uint8_t *o) {
    __m128i six = _mm_set1_epi32(0x3F), more = _mm_set1_epi32(0x80);
    __m128i two_wide = _mm_cmpgt_epi32(c, _mm_set1_epi32(0x7F)), three_wide = _mm_cmpgt_epi32(c, _mm_set1_epi32(0x7FF));
    __m128i last = _mm_or_si128(_mm_and_si128(c, six), more);
    __m128i second = _mm_or_si128(_mm_and_si128(_mm_srli_epi32(c, 6), six), more);
    __m128i two = _mm_or_si128(_mm_or_si128(_mm_srli_epi32(c, 6), _mm_set1_epi32(0xC0)), _mm_slli_epi32(last, 8));
    __m128i three = _mm_or_si128(_mm_or_si128(_mm_srli_epi32(c, 12), _mm_set1_epi32(0xE0)),
                                 _mm_or_si128(_mm_slli_epi32(second, 8), _mm_slli_epi32(last, 16)));
    int set = _mm_movemask_ps(_mm_castsi128_ps(two_wide)) | _mm_movemask_ps(_mm_castsi128_ps(three_wide)) << 4;
    return tm_utf8_pack(_mm_blendv_epi8(_mm_blendv_epi8(c, two, two_wide), three, three_wide), tm_threes[set], o);
}

/* `width` is a constant where this is inlined. */
TM_SSE41 uint8_t *tm_utf8_encode_blocks(const void *data, size_t n, int width, uint8_t *o) {
    const __m128i zero = _mm_setzero_si128();
    size_t i = 0;
    for (; n - i >= 16; i += 16) {
        const __m128i *p = (const __m128i *)((const uint8_t *)data + i * (size_t)width);
        __m128i a = _mm_loadu_si128(p), b = a;
        if (width == 1) {
            b = _mm_unpackhi_epi8(a, zero);
            a = _mm_unpacklo_epi8(a, zero);
        } else if (width == 2) {
            b = _mm_loadu_si128(p + 1);
        } else {
            __m128i a2 = _mm_loadu_si128(p + 1), b1 = _mm_loadu_si128(p + 2), b2 = _mm_loadu_si128(p + 3);
            __m128i any = _mm_or_si128(_mm_or_si128(a, a2), _mm_or_si128(b1, b2));
            if (!_mm_testz_si128(any, _mm_set1_epi32((int)0xFFFF0000))) {
                o = tm_utf8_encode_plain(p, 16, width, o);
                if (!o) return NULL;
                continue;
            }
            a = _mm_packus_epi32(a, a2);
            b = _mm_packus_epi32(b1, b2);
        }
        __m128i any = _mm_or_si128(a, b);
        if (_mm_testz_si128(any, _mm_set1_epi16((short)0xFF80))) {
            _mm_storeu_si128((__m128i *)o, _mm_packus_epi16(a, b));
            o += 16;
        } else if (_mm_testz_si128(any, _mm_set1_epi16((short)0xF800))) {
            o = tm_utf8_encode_twos(b, tm_utf8_encode_twos(a, o));
        } else {
            __m128i top = _mm_set1_epi16((short)0xF800), surrogate = _mm_set1_epi16((short)0xD800);
            __m128i bad = _mm_or_si128(_mm_cmpeq_epi16(_mm_and_si128(a, top), surrogate),
                                       _mm_cmpeq_epi16(_mm_and_si128(b, top), surrogate));
            if (!_mm_testz_si128(bad, bad)) return NULL;
            o = tm_utf8_encode_threes(_mm_unpackhi_epi16(a, zero), tm_utf8_encode_threes(_mm_unpacklo_epi16(a, zero), o));
            o = tm_utf8_encode_threes(_mm_unpackhi_epi16(b, zero), tm_utf8_encode_threes(_mm_unpacklo_epi16(b, zero), o));
        }
    }
    return tm_utf8_encode_plain((const uint8_t *)data + i * (size_t)width, n - i, width, o);
}

TM_TARGET("sse4.1") static uint8_t *tm_utf8_encode_sse41(const void *data, size_t n, int width, uint8_t *o) {
    return width == 1   ? tm_utf8_encode_blocks(data, n, 1, o)
           : width == 2 ? tm_utf8_encode_blocks(data, n, 2, o)
                        : tm_utf8_encode_blocks(data, n, 4, o);
}
#endif

/* Encode n code points in units of 1, 2 or 4 bytes. Returns the length of their UTF-8, or -1 if one is a surrogate. `out` has
 * room for 2, 3 or 4 bytes of each, and 16 more. */
static inline ptrdiff_t tm_utf8_encode(const void *data, size_t n, int width, uint8_t *out) {
    uint8_t *end;
#ifdef TM_X86
    if (tm_has_sse41())
        end = tm_utf8_encode_sse41(data, n, width, out);
    else
#endif
        end = tm_utf8_encode_plain(data, n, width, out);
    return end ? end - out : -1;
}

#endif
