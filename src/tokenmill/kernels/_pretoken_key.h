/* The key of a pretoken, shared by the counting table and the encoder's cache.
 *
 * A key is two u64. Pretokens of up to 15 bytes sit in it whole, with the length in the top byte, so that equal keys
 * mean equal pretokens. Longer pretokens store 120 bits of hash under the tag 0xFF; whoever keeps them must compare bytes.
 * Little-endian machines only. The hash is fixed for good: word counts on disk are ordered by it.
 */
#ifndef TOKENMILL_PRETOKEN_KEY_H
#define TOKENMILL_PRETOKEN_KEY_H

#include <stdint.h>
#include <stddef.h>
#include <string.h>

#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "tokenmill's kernels are written for little-endian machines"
#endif

typedef struct { uint64_t lo, hi; } tm_key;

#define TM_INLINE_MAX 15
#define TM_LONG_TAG 0xFF00000000000000ull

static inline uint64_t tm_fold(uint64_t a, uint64_t b) {
    __uint128_t product = (__uint128_t)a * b;
    return (uint64_t)product ^ (uint64_t)(product >> 64);
}

static inline uint64_t tm_read64(const uint8_t *p) { uint64_t v; memcpy(&v, p, 8); return v; }

static inline tm_key tm_long_key(const uint8_t *p, size_t n) {
    uint64_t a = 0x9E3779B97F4A7C15ull ^ n, b = 0xD1B54A32D192ED03ull + n;
    size_t i = 0;
    for (; i + 16 <= n; i += 16) {
        uint64_t x = tm_read64(p + i), y = tm_read64(p + i + 8);
        a = tm_fold(x ^ a, y ^ 0xA0761D6478BD642Full);
        b = tm_fold(y ^ b, x ^ 0xE7037ED1A0B428DBull);
    }
    uint64_t x = tm_read64(p + n - 16), y = tm_read64(p + n - 8); /* n >= 16, so the last 16 bytes exist */
    a = tm_fold(x ^ a, y ^ 0x8EBC6AF09C88C6E3ull);
    b = tm_fold(y ^ b, x ^ 0x589965CC75374CC3ull);
    tm_key key = { a, (b & 0x00FFFFFFFFFFFFFFull) | TM_LONG_TAG };
    return key;
}

/* Which bits of 16 bytes read at a pretoken of n bytes are its own. A table, since lengths around 8 alternate and a branch
 * on them is mispredicted: keys took 14 % less time. */
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

/* The key of p[0:n], n >= 1. `end` is where readable memory ends: p + n <= end. */
static inline tm_key tm_key_of(const uint8_t *p, size_t n, const uint8_t *end) {
    tm_key key;
    if (__builtin_expect(n > TM_INLINE_MAX, 0)) return tm_long_key(p, n);
    if (__builtin_expect((size_t)(end - p) >= 16, 1)) {
        key.lo = tm_read64(p) & tm_key_mask[n].lo;
        key.hi = tm_read64(p + 8) & tm_key_mask[n].hi;
    } else {
        key.lo = key.hi = 0;
        memcpy(&key, p, n);
    }
    key.hi |= (uint64_t)n << 56;
    return key;
}

/* 64 well-mixed bits of a key: take table indices and partitions from the top. */
static inline uint64_t tm_hash(tm_key key) {
    return tm_fold(key.lo ^ 0x2D358DCCAA6C78A5ull, key.hi ^ 0x8BB84B93962EACC9ull);
}

#endif
