/* The key of a pretoken, and its hash.
 *
 * A key is two u64. A pretoken of up to 15 bytes is in it whole, with the length in the top byte, so equal keys mean
 * equal pretokens. A longer one stores 120 bits of hash under the tag 0xFF; tables must compare its bytes as well.
 *
 * Every hash takes a seed. TM_CANONICAL gives the hash that orders word counts on disk; it never changes. Anyone can compute
 * pretokens that collide under it, so tables of pretokens use a random seed (kernels/random_seed.py), or notice collisions.
 */
#ifndef TOKENMILL_PRETOKEN_KEY_H
#define TOKENMILL_PRETOKEN_KEY_H

#include "tokenmill/kernels/_platform.h"

typedef struct { uint64_t lo, hi; } tm_key;
typedef struct { uint64_t a, b; } tm_seed;

static const tm_seed TM_CANONICAL = {0, 0};

#define TM_INLINE_MAX 15
#define TM_LONG_TAG 0xFF00000000000000ull

static inline uint64_t tm_read64(const uint8_t *p) { uint64_t v; memcpy(&v, p, 8); return v; }

static inline tm_key tm_long_key(const uint8_t *p, size_t n, tm_seed seed) {
    uint64_t a = 0x9E3779B97F4A7C15ull ^ n ^ seed.a, b = (0xD1B54A32D192ED03ull + n) ^ seed.b;
    /* The seed is in the constants too: text equal to a known constant would make a product 0 and erase the state. */
    uint64_t c1 = 0xA0761D6478BD642Full ^ seed.b, c2 = 0xE7037ED1A0B428DBull ^ seed.a;
    size_t i = 0;
    for (; i + 16 <= n; i += 16) {
        uint64_t x = tm_read64(p + i), y = tm_read64(p + i + 8);
        a = tm_fold(x ^ a, y ^ c1);
        b = tm_fold(y ^ b, x ^ c2);
    }
    uint64_t x = tm_read64(p + n - 16), y = tm_read64(p + n - 8); /* n >= 16, so the last 16 bytes exist */
    a = tm_fold(x ^ a, y ^ 0x8EBC6AF09C88C6E3ull ^ seed.b);
    b = tm_fold(y ^ b, x ^ 0x589965CC75374CC3ull ^ seed.a);
    tm_key key = { a, (b & 0x00FFFFFFFFFFFFFFull) | TM_LONG_TAG };
    return key;
}

/* By the length of a pretoken: its bits among the 16 bytes at its start. A table, because a branch on the length is mispredicted. */
static const tm_key tm_key_mask[16] = {
    {0x0ull, 0x0ull}, {0xFFull, 0x0ull},
    {0xFFFFull, 0x0ull}, {0xFFFFFFull, 0x0ull},
    {0xFFFFFFFFull, 0x0ull}, {0xFFFFFFFFFFull, 0x0ull},
    {0xFFFFFFFFFFFFull, 0x0ull}, {0xFFFFFFFFFFFFFFull, 0x0ull},
    {0xFFFFFFFFFFFFFFFFull, 0x0ull}, {0xFFFFFFFFFFFFFFFFull, 0xFFull},
    {0xFFFFFFFFFFFFFFFFull, 0xFFFFull}, {0xFFFFFFFFFFFFFFFFull, 0xFFFFFFull},
    {0xFFFFFFFFFFFFFFFFull, 0xFFFFFFFFull}, {0xFFFFFFFFFFFFFFFFull, 0xFFFFFFFFFFull},
    {0xFFFFFFFFFFFFFFFFull, 0xFFFFFFFFFFFFull}, {0xFFFFFFFFFFFFFFFFull, 0xFFFFFFFFFFFFFFull}
};

/* The key of p[0:n], n >= 1. `end` is the end of readable memory: p + n <= end. */
static inline tm_key tm_key_of(const uint8_t *p, size_t n, const uint8_t *end, tm_seed seed) {
    tm_key key;
    if (tm_unlikely(n > TM_INLINE_MAX)) return tm_long_key(p, n, seed);
    if (tm_likely((size_t)(end - p) >= 16)) {
        key.lo = tm_read64(p) & tm_key_mask[n].lo;
        key.hi = tm_read64(p + 8) & tm_key_mask[n].hi;
    } else {
        key.lo = key.hi = 0;
        memcpy(&key, p, n);
    }
    key.hi |= (uint64_t)n << 56;
    return key;
}

/* 64 well-mixed bits of a key. */
static inline uint64_t tm_hash(tm_key key, tm_seed seed) {
    return tm_fold(key.lo ^ 0x2D358DCCAA6C78A5ull ^ seed.a, key.hi ^ 0x8BB84B93962EACC9ull ^ seed.b);
}

#ifdef TM_X86
/* Three rounds of AES with the seed: half the instructions of the products below. */
TM_TARGET("aes") static inline uint64_t tm_aes_hash(tm_key key, tm_seed seed) {
    const __m128i s = _mm_set_epi64x((long long)seed.b, (long long)seed.a);
    __m128i x = _mm_xor_si128(_mm_set_epi64x((long long)key.hi, (long long)key.lo), s);
    x = _mm_aesenc_si128(_mm_aesenc_si128(_mm_aesenc_si128(x, s), s), s);
    return (uint64_t)_mm_cvtsi128_si64(x);
}
#endif

/* The hash for a table whose seed is random. A product alone leaves keys in arithmetic progression, such as numbers, close
 * together under one seed in twenty. The second one separates them. */
static inline uint64_t tm_random_hash(tm_key key, tm_seed seed) {
#ifdef TM_X86
    if (tm_has_aes()) return tm_aes_hash(key, seed);
#endif
    return tm_fold(tm_hash(key, seed), 0xD6E8FEB86659FD93ull ^ seed.a);
}

/* The hashes of n keys. Fetches their slots, of `size` bytes, in a table of mask + 1 slots. */
#define TM_HASH_ALL(hash_of)                                                    \
    for (ptrdiff_t i = 0; i < n; i++) {                                         \
        hashes[i] = hash_of(keys[i], seed);                                     \
        tm_prefetch_write((const uint8_t *)slots + (hashes[i] & mask) * size);  \
    }
#ifdef TM_X86
TM_TARGET("aes") TM_NOINLINE static void tm_aes_hashes(const tm_key *keys, ptrdiff_t n, tm_seed seed, const void *slots, size_t size,
                                                       uint64_t mask, uint64_t *hashes) {
    TM_HASH_ALL(tm_aes_hash)
}
#endif
static inline void tm_random_hashes(const tm_key *keys, ptrdiff_t n, tm_seed seed, const void *slots, size_t size, uint64_t mask,
                                    uint64_t *hashes) {
#ifdef TM_X86
    if (tm_has_aes()) {
        tm_aes_hashes(keys, n, seed, slots, size, mask, hashes);
        return;
    }
#endif
    TM_HASH_ALL(tm_random_hash)
}

#endif
