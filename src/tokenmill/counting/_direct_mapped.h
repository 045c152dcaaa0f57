/* A direct-mapped cache of counts in front of a counting table (_count_cy.py): one batch of pretokens goes through it, and
 * what is displaced goes to the table.
 *
 * Whether a pretoken is in the cache is unpredictable, so nothing branches on it: the old content of the slot is always
 * written out, with a bit that says whether it was of another pretoken; the bits are looked at afterwards.
 */
#ifndef TOKENMILL_DIRECT_MAPPED_H
#define TOKENMILL_DIRECT_MAPPED_H

#include "tokenmill/kernels/_pretoken_key.h"

/* What is to be added to a table: a key and a count; and of a long pretoken its bytes. */
typedef struct {
    uint64_t lo, hi, count;
    const uint8_t *pretoken;
    size_t length;
} tm_addition;

/* A slot is empty where its count is 0. */
typedef struct {
    uint64_t lo, hi, count, unused;
} tm_cached;

static TM_NOINLINE void tm_add_long(const uint8_t *pretoken, size_t n, tm_addition *out) {
    tm_key key = tm_long_key(pretoken, n, TM_CANONICAL);
    tm_addition addition = {key.lo, key.hi, 1, pretoken, n};
    *out = addition;
}

/* Count the n pretokens text[start:ends[0]], text[ends[0]:ends[1]]... in the cache. What they displace is written to `out`,
 * and so are pretokens of more than 15 bytes. `slots`: a power of two. `readable`: how much of the text is memory.
 * Returns how many additions were written, at most n. */
static inline ptrdiff_t tm_count_cached(tm_cached *cache, size_t slots, const uint8_t *text, size_t start,
                                        const size_t *ends, ptrdiff_t n, size_t readable, tm_addition *out) {
    tm_cached displaced[64];
    ptrdiff_t m = 0;
    for (ptrdiff_t first = 0; first < n; first += 64) {
        ptrdiff_t size = n - first < 64 ? n - first : 64;
        uint64_t others = 0;
        for (ptrdiff_t i = 0; i < size; i++) {
            const uint8_t *pretoken = text + start;
            size_t length = ends[first + i] - start;
            start += length;
            if (tm_unlikely(length > TM_INLINE_MAX)) {
                tm_add_long(pretoken, length, out + m++);
                continue;
            }
            tm_key key = tm_key_of(pretoken, length, text + readable, TM_CANONICAL);
            tm_cached *slot = cache + (tm_hash(key, TM_CANONICAL) & (slots - 1)), old = *slot;
            uint64_t same = ((old.lo ^ key.lo) | (old.hi ^ key.hi)) == 0;
            displaced[i] = old;
            others |= (same ^ 1) << i;
            slot->lo = key.lo;
            slot->hi = key.hi;
            slot->count = (old.count & (0 - same)) + 1;
        }
        for (; others; others &= others - 1) {
            const tm_cached *old = displaced + tm_ctz(others);
            out[m].lo = old->lo;
            out[m].hi = old->hi;
            out[m].count = old->count;
            m += old->count != 0;
        }
    }
    return m;
}

#endif
