/* The memory of the pretokens seen last, which stands before a counting table (see _count_cy.py): one batch of pretokens goes
 * through it, and what falls out is for the table.
 *
 * Whether a pretoken is among the last ones cannot be predicted, so nothing branches on it, and no address depends on it
 * either: what stood in the slot is always written out, pretoken by pretoken, with a bit that says whether it was another one;
 * the bits are looked at afterwards. Where the processor has AVX2 and AES, a key and its count are a register each, and
 * two rounds of AES are the hash, so that no key need leave the vectors: half of the instructions, half of the time.
 */
#ifndef TOKENMILL_RECENT_H
#define TOKENMILL_RECENT_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include "tokenmill/kernels/_pretoken_key.h"

/* What is to be added to a table: a key and a count; and of a long pretoken where its bytes are, and how many. */
typedef struct {
    uint64_t lo, hi, count;
    const uint8_t *pretoken;
    size_t length;
} tm_addition;

/* A slot is empty where its count is 0. */
typedef struct {
    uint64_t lo, hi, count, unused;
} tm_recent;

static __attribute__((noinline, unused)) void tm_add_long(const uint8_t *pretoken, size_t n, tm_addition *out) {
    tm_key key = tm_long_key(pretoken, n, TM_CANONICAL);
    tm_addition addition = {key.lo, key.hi, 1, pretoken, n};
    *out = addition;
}

/* Count the n pretokens text[start:ends[0]], text[ends[0]:ends[1]]... among the last ones. What falls out of them is written
 * to `out`, and so are pretokens of more than 15 bytes. `slots`: a power of two, at most 4096. `readable`: how much of the
 * text is memory. Returns how many were written, at most n. */
static inline ptrdiff_t tm_sift(tm_recent *recent, size_t slots, const uint8_t *text, size_t start,
                                const size_t *ends, ptrdiff_t n, size_t readable, tm_addition *out) {
    tm_recent fallen[64];
    ptrdiff_t m = 0;
    for (ptrdiff_t first = 0; first < n; first += 64) {
        ptrdiff_t size = n - first < 64 ? n - first : 64;
        uint64_t others = 0;
        for (ptrdiff_t i = 0; i < size; i++) {
            const uint8_t *pretoken = text + start;
            size_t length = ends[first + i] - start;
            start += length;
            if (__builtin_expect(length > TM_INLINE_MAX, 0)) {
                tm_add_long(pretoken, length, out + m++);
                continue;
            }
            tm_key key = tm_key_of(pretoken, length, text + readable, TM_CANONICAL);
            tm_recent *slot = recent + (tm_hash(key, TM_CANONICAL) & (slots - 1)), old = *slot;
            uint64_t same = ((old.lo ^ key.lo) | (old.hi ^ key.hi)) == 0;
            fallen[i] = old;
            others |= (same ^ 1) << i;
            slot->lo = key.lo;
            slot->hi = key.hi;
            slot->count = (old.count & (0 - same)) + 1;
        }
        for (; others; others &= others - 1) {
            const tm_recent *old = fallen + __builtin_ctzll(others);
            out[m].lo = old->lo;
            out[m].hi = old->hi;
            out[m].count = old->count;
            m += old->count != 0;
        }
    }
    return m;
}

#if defined(__x86_64__)
#include <immintrin.h>

static inline int tm_sift_supported(void) {
    __builtin_cpu_init();
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2") &&
           __builtin_cpu_supports("aes");
}

/* 16 bytes from 16 - n on: the first n of them are all ones. */
static const uint8_t tm_first_bytes[32] = {255, 255, 255, 255, 255, 255, 255, 255,
                                           255, 255, 255, 255, 255, 255, 255, 255};

#define TM_FAST __attribute__((target("avx2,aes,bmi,bmi2")))

/* As tm_sift, to the same counts. */
TM_FAST static inline ptrdiff_t tm_sift_fast(tm_recent *recent, size_t slots, const uint8_t *text, size_t start,
                                             const size_t *ends, ptrdiff_t n, size_t readable, tm_addition *out) {
    const __m128i one = _mm_set_epi64x(0, 1);
    const __m128i round = _mm_set_epi64x((long long)0x8BB84B93962EACC9ull, 0x2D358DCCAA6C78A5ll);
    const ptrdiff_t whole = (ptrdiff_t)readable - 16; /* up to here 16 bytes can be read */
    const uint32_t mask = (uint32_t)(slots - 1) * (uint32_t)sizeof(tm_recent);
    __m256i fallen[64];
    ptrdiff_t m = 0;
    for (ptrdiff_t first = 0; first < n; first += 64) {
        ptrdiff_t size = n - first < 64 ? n - first : 64;
        uint64_t others = 0;
        for (ptrdiff_t i = 0; i < size; i++) {
            const uint8_t *pretoken = text + start;
            size_t length = ends[first + i] - start;
            uint8_t padded[16];
            if (__builtin_expect(length > TM_INLINE_MAX, 0)) {
                start += length;
                tm_add_long(pretoken, length, out + m++);
                continue;
            }
            if (__builtin_expect((ptrdiff_t)start > whole, 0)) pretoken = memcpy(padded, pretoken, length);
            start += length;
            __m128i bytes = _mm_loadu_si128((const __m128i *)pretoken);
            __m128i key = _mm_and_si128(bytes, _mm_loadu_si128((const __m128i *)(tm_first_bytes + 16 - length)));
            key = _mm_insert_epi8(key, (char)length, 15);
            __m128i hash = _mm_aesenc_si128(_mm_aesenc_si128(key, round), round);
            __m256i *slot = (__m256i *)((uint8_t *)recent + ((uint32_t)_mm_cvtsi128_si32(hash) & mask));
            __m256i old = _mm256_load_si256(slot);
            __m128i same = _mm_cmpeq_epi64(_mm256_castsi256_si128(old), key);
            same = _mm_and_si128(same, _mm_shuffle_epi32(same, 0x4E));
            __m128i count = _mm_add_epi64(_mm_and_si128(_mm256_extracti128_si256(old, 1), same), one);
            fallen[i] = old; /* one register wide, since there is one such store in a cycle */
            _mm256_store_si256(slot, _mm256_inserti128_si256(_mm256_castsi128_si256(key), count, 1));
            others |= (uint64_t)(_mm_cvtsi128_si64(same) + 1) << i;
        }
        for (; others; others = _blsr_u64(others)) {
            _mm256_storeu_si256((__m256i *)(out + m), fallen[_tzcnt_u64(others)]);
            m += out[m].count != 0;
        }
    }
    return m;
}

#else

static inline int tm_sift_supported(void) { return 0; }
#define tm_sift_fast tm_sift

#endif
#endif
