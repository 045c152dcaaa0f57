/* The code points of a Python str to UTF-8.
 *
 * With SSE4.1, sixteen at a time: each becomes two or four bytes in a register, and a table says, by which of them are
 * wide, how to close up the bytes that are used. 50 MB in documents of 4 kB, two bytes a character: English 5.4 ms instead
 * of 24 one by one, sixteen languages 10 instead of 38; 16 at once by what the compiler makes of plain C: 25 and 44. */
#ifndef TOKENMILL_NARROW_H
#define TOKENMILL_NARROW_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* n code points in units of `width` bytes: returns the end of their UTF-8, NULL where one is a surrogate. */
static uint8_t *tm_narrow_plain(const void *data, size_t n, int width, uint8_t *o) {
    for (size_t i = 0; i < n; i++) {
        uint32_t c = width == 1   ? ((const uint8_t *)data)[i]
                     : width == 2 ? ((const uint16_t *)data)[i]
                                  : ((const uint32_t *)data)[i];
        if (c < 0x80) {
            *o++ = (uint8_t)c;
        } else if (c < 0x800) {
            *o++ = (uint8_t)(0xC0 | c >> 6);
            *o++ = (uint8_t)(0x80 | (c & 0x3F));
        } else if (c < 0x10000) {
            if ((c & 0xF800) == 0xD800) return NULL;
            *o++ = (uint8_t)(0xE0 | c >> 12);
            *o++ = (uint8_t)(0x80 | (c >> 6 & 0x3F));
            *o++ = (uint8_t)(0x80 | (c & 0x3F));
        } else {
            *o++ = (uint8_t)(0xF0 | c >> 18);
            *o++ = (uint8_t)(0x80 | (c >> 12 & 0x3F));
            *o++ = (uint8_t)(0x80 | (c >> 6 & 0x3F));
            *o++ = (uint8_t)(0x80 | (c & 0x3F));
        }
    }
    return o;
}

#if defined(__x86_64__) && defined(__GNUC__)
#include <immintrin.h>
#define TM_SSE4 __attribute__((target("sse4.1"))) static inline

/* For each set of wide ones among eight characters of two bytes at most, or four of three: how many bytes they have
 * together, and which these are. Made when the kernel is loaded. */
static uint8_t tm_twos[256][17], tm_threes[256][17];

__attribute__((constructor)) static void tm_narrow_tables(void) {
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

TM_SSE4 uint8_t *tm_close_up(__m128i bytes, const uint8_t *which, uint8_t *o) {
    _mm_storeu_si128((__m128i *)o, _mm_shuffle_epi8(bytes, _mm_loadu_si128((const __m128i *)(which + 1))));
    return o + which[0];
}

/* Eight characters below U+0800. */
TM_SSE4 uint8_t *tm_narrow_twos(__m128i c, uint8_t *o) {
    __m128i wide = _mm_cmpgt_epi16(c, _mm_set1_epi16(0x7F));
    __m128i last = _mm_slli_epi16(_mm_and_si128(c, _mm_set1_epi16(0x3F)), 8);
    __m128i two = _mm_or_si128(_mm_or_si128(_mm_srli_epi16(c, 6), last), _mm_set1_epi16((short)0x80C0));
    int set = _mm_movemask_epi8(_mm_packs_epi16(wide, wide)) & 0xFF;
    return tm_close_up(_mm_blendv_epi8(c, two, wide), tm_twos[set], o);
}

/* Four characters below U+10000. */
TM_SSE4 uint8_t *tm_narrow_threes(__m128i c, uint8_t *o) {
    __m128i six = _mm_set1_epi32(0x3F), more = _mm_set1_epi32(0x80);
    __m128i two_wide = _mm_cmpgt_epi32(c, _mm_set1_epi32(0x7F)), three_wide = _mm_cmpgt_epi32(c, _mm_set1_epi32(0x7FF));
    __m128i last = _mm_or_si128(_mm_and_si128(c, six), more);
    __m128i second = _mm_or_si128(_mm_and_si128(_mm_srli_epi32(c, 6), six), more);
    __m128i two = _mm_or_si128(_mm_or_si128(_mm_srli_epi32(c, 6), _mm_set1_epi32(0xC0)), _mm_slli_epi32(last, 8));
    __m128i three = _mm_or_si128(_mm_or_si128(_mm_srli_epi32(c, 12), _mm_set1_epi32(0xE0)),
                                 _mm_or_si128(_mm_slli_epi32(second, 8), _mm_slli_epi32(last, 16)));
    int set = _mm_movemask_ps(_mm_castsi128_ps(two_wide)) | _mm_movemask_ps(_mm_castsi128_ps(three_wide)) << 4;
    return tm_close_up(_mm_blendv_epi8(_mm_blendv_epi8(c, two, two_wide), three, three_wide), tm_threes[set], o);
}

/* `width` is a constant where this is inlined. */
TM_SSE4 uint8_t *tm_narrow_sse4(const void *data, size_t n, int width, uint8_t *o) {
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
                o = tm_narrow_plain(p, 16, width, o);
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
            o = tm_narrow_twos(b, tm_narrow_twos(a, o));
        } else {
            __m128i top = _mm_set1_epi16((short)0xF800), surrogate = _mm_set1_epi16((short)0xD800);
            __m128i bad = _mm_or_si128(_mm_cmpeq_epi16(_mm_and_si128(a, top), surrogate),
                                       _mm_cmpeq_epi16(_mm_and_si128(b, top), surrogate));
            if (!_mm_testz_si128(bad, bad)) return NULL;
            o = tm_narrow_threes(_mm_unpackhi_epi16(a, zero), tm_narrow_threes(_mm_unpacklo_epi16(a, zero), o));
            o = tm_narrow_threes(_mm_unpackhi_epi16(b, zero), tm_narrow_threes(_mm_unpacklo_epi16(b, zero), o));
        }
    }
    return tm_narrow_plain((const uint8_t *)data + i * (size_t)width, n - i, width, o);
}

__attribute__((target("sse4.1"))) static uint8_t *tm_narrow_fast(const void *data, size_t n, int width, uint8_t *o) {
    return width == 1   ? tm_narrow_sse4(data, n, 1, o)
           : width == 2 ? tm_narrow_sse4(data, n, 2, o)
                        : tm_narrow_sse4(data, n, 4, o);
}
#endif

/* n code points in units of 1, 2 or 4 bytes to UTF-8: returns its length, or -1 where one is a surrogate. `out` has room
 * for 2, 3 or 4 bytes of each, and 16 more. */
static inline ptrdiff_t tm_narrow(const void *data, size_t n, int width, uint8_t *out) {
    uint8_t *end;
#if defined(__x86_64__) && defined(__GNUC__)
    if (__builtin_cpu_supports("sse4.1"))
        end = tm_narrow_fast(data, n, width, out);
    else
#endif
        end = tm_narrow_plain(data, n, width, out);
    return end ? end - out : -1;
}

#endif
