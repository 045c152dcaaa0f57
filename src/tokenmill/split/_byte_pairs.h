/* Membership of neighbouring bytes of a text in a set of byte pairs, 64 pairs at a time.
 *
 * A set is the union of eight products: bit k of `first` is set for the bytes that pairs of product k begin with, bit k of
 * `second` for those that they end with. So a pair is in the set where first[a] & second[b] is not 0.
 */
#ifndef TOKENMILL_BYTE_PAIRS_H
#define TOKENMILL_BYTE_PAIRS_H

#include "tokenmill/kernels/_utf8.h"
#include "tokenmill/split/_simd_lanes.h"

typedef struct {
    uint8_t first[128], second[128];   /* of ASCII bytes, or of all others; see tm_column_table */
    /* Only for tm_find_pair: the bits of the bytes beyond ASCII, and the range of those that pairs begin with. */
    uint8_t first_beyond, second_beyond, least_beyond, most_beyond;
} tm_byte_pairs;

/* The state of a search in text[0:limit]: the pairs of the set that it has not passed, of the 64 from `at` on. */
typedef struct {
    size_t limit, at;
    uint64_t pairs;
} tm_pair_block;

#define TM_NO_BLOCK ((size_t)-64) /* `at` before the first search */

/* The number of bits that are set. */
static inline int tm_bits_of(uint64_t x) {
    x -= x >> 1 & 0x5555555555555555;
    x = (x & 0x3333333333333333) + (x >> 2 & 0x3333333333333333);
    return (int)(((x + (x >> 4)) & 0x0F0F0F0F0F0F0F0F) * 0x0101010101010101 >> 56);
}

static inline void tm_byte_pairs_make(tm_byte_pairs *set, const uint8_t *first, const uint8_t *second) {
    tm_column_table(set->first, first, 128);
    tm_column_table(set->second, second, 128);
}

#if defined(TM_X86) || defined(TM_NEON)

/* Writes the ends of segments in text[at:length]: before each byte whose pair with the byte before is not in the set. Stops at a byte
 * beyond ASCII, or when room for 80 ends is left. text[at - 1] is ASCII; text[0:limit] may be read. Returns the offset of the stop. */
TM_SIMD size_t tm_segment_ends(const tm_byte_pairs *set, const uint8_t *text, size_t at, size_t length, size_t limit, size_t *ends,
                            ptrdiff_t room, ptrdiff_t *n) {
    while (at < length && room - *n > 80 && limit > 64) {
        size_t from = limit - at >= 64 ? at : limit - 64; /* the last block overlaps the one before */
        size_t next = from + 64 < length ? from + 64 : length;
        tm_bytes before = tm_load(text + from - 1), here = tm_load(text + from);
        uint64_t beyond = tm_beyond_ascii(here) >> (at - from), in_text = ~(uint64_t)0 >> (64 - (next - at));
        if (tm_unlikely(beyond & in_text)) {
            next = at + tm_lowest(beyond);
            if (next - at < 16) break;
            in_text = ((uint64_t)1 << (next - at)) - 1;
        }
        uint64_t cuts = tm_equal(tm_and(tm_ascii_columns(before, set->first), tm_ascii_columns(here, set->second)), 0) >> (at - from);
        cuts &= in_text;
        size_t *out = ends + *n;
        *n += tm_set_bits(cuts);
        do {
            for (int k = 0; k < 16; k++) {
                out[k] = at + tm_lowest(cuts);
                cuts &= cuts - 1;
            }
            out += 16;
        } while (cuts);
        at = next;
        if (tm_unlikely(beyond != 0)) break;
    }
    return at;
}

/* The offset of the first pair of the set from text[at] on whose bit in `exact` is set. Without one, an offset from `length` on, or
 * with fewer than 65 bytes after it. */
TM_SIMD size_t tm_find_pair(const tm_byte_pairs *set, const uint64_t *exact, const uint8_t *text, size_t at, size_t length,
                            tm_pair_block *block) {
    const tm_bytes first_beyond = tm_all(set->first_beyond), second_beyond = tm_all(set->second_beyond);
    uint64_t pairs = 0;
    if (at - block->at < 64) {
        pairs = block->pairs & ~(uint64_t)0 << (at - block->at);
        at = block->at;
    } else {
        at -= 64;
    }
    for (;;) {
        for (; pairs; pairs &= pairs - 1) {
            const uint8_t *p = text + at + tm_lowest(pairs);
            if (exact[p[0] << 2 | p[1] >> 6] >> (p[1] & 63) & 1) {
                block->at = at;
                block->pairs = pairs;
                return (size_t)(p - text);
            }
        }
        at += 64;
        if (at >= length || block->limit - at < 65) return at;
        tm_bytes a = tm_load(text + at), b = tm_load(text + at + 1);
        tm_bytes first = tm_choose(tm_ascii_columns(a, set->first), first_beyond, a);
        tm_bytes second = tm_choose(tm_ascii_columns(b, set->second), second_beyond, b);
        pairs = ~tm_equal(tm_and(first, second), 0) & (~tm_beyond_ascii(a) | tm_between(a, set->least_beyond, set->most_beyond));
    }
}

/* The offset of the first character from text[at] on whose class is not 1, or an offset with fewer than 68 bytes after it. The set
 * contains the first two bytes of each such character, which are beyond ASCII. Skips ASCII and bytes that are not UTF-8. */
TM_SIMD size_t tm_find_character(const tm_byte_pairs *set, const uint8_t *classes, const uint8_t *text, size_t at, size_t length) {
    for (; length - at >= 68; at += 64) {
        tm_bytes v = tm_load(text + at), first = tm_choose(tm_all(0), tm_columns_from(v, 0xC0, set->first + 64), v);
        tm_bytes second = tm_columns_from(tm_load(text + at + 1), 0x80, set->second);
        for (uint64_t pairs = ~tm_equal(tm_and(first, second), 0); pairs; pairs &= pairs - 1) {
            const uint8_t *p = text + at + tm_lowest(pairs);
            uint32_t point = 0;
            size_t size = tm_utf8_read(p, 4, &point);
            if (size == 4 || (size > 0 && classes[point] != 1)) return (size_t)(p - text);
        }
    }
    return at;
}

#else

/* Never called where tm_has_simd is false. */
#define tm_segment_ends(set, text, at, length, limit, ends, room, n) (at)
#define tm_find_pair(set, exact, text, at, length, block) (at)
#define tm_find_character(set, classes, text, at, length) (at)

#endif
#endif
