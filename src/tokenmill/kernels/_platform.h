/* What the kernels ask of the compiler and the processor. Other code uses these names and no __builtin_ or intrinsic
 * guard of its own. Compile with -DTM_PORTABLE to take the plain C branch everywhere. */
#ifndef TOKENMILL_PLATFORM_H
#define TOKENMILL_PLATFORM_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "tokenmill's kernels are written for little-endian machines"
#endif

#if defined(__GNUC__) && !defined(TM_PORTABLE)

#define TM_GNU 1
#define TM_UNUSED __attribute__((unused))
#define TM_NOINLINE __attribute__((noinline, unused))
#define TM_THREAD_LOCAL __thread
#define tm_likely(x) __builtin_expect(!!(x), 1)
#define tm_unlikely(x) __builtin_expect(!!(x), 0)

/* Fetch a cache line to read, or to write. The empty asm keeps gcc from dropping calls of functions that only prefetch. */
#define tm_prefetch(address) (__extension__({ __builtin_prefetch((const void *)(address), 0, 3); __asm__ volatile(""); }))
#define tm_prefetch_write(address) \
    (__extension__({ __builtin_prefetch((const void *)(address), 1, 3); __asm__ volatile(""); }))

/* The number of zero bits below the lowest set bit, and the index of the highest set bit; x must not be 0. */
static inline int tm_ctz(uint64_t x) { return __builtin_ctzll(x); }
static inline int tm_log2(uint64_t x) { return 63 - __builtin_clzll(x); }

#else

#define TM_UNUSED
#define TM_NOINLINE
#ifdef _MSC_VER
#define TM_THREAD_LOCAL __declspec(thread)
#else
#define TM_THREAD_LOCAL _Thread_local
#endif
#define tm_likely(x) (x)
#define tm_unlikely(x) (x)
#define tm_prefetch(address) ((void)(address))
#define tm_prefetch_write(address) ((void)(address))

static inline int tm_log2(uint64_t x) {
    int n = 0;
    for (int shift = 32; shift; shift >>= 1)
        if (x >> shift) {
            x >>= shift;
            n += shift;
        }
    return n;
}
static inline int tm_ctz(uint64_t x) { return tm_log2(x & (0 - x)); }

#endif

/* The 128-bit product of a and b: returns the low half, stores the high half. */
static inline uint64_t tm_multiply(uint64_t a, uint64_t b, uint64_t *high) {
#if defined(__SIZEOF_INT128__) && !defined(TM_PORTABLE)
    __uint128_t product = (__uint128_t)a * b;
    *high = (uint64_t)(product >> 64);
    return (uint64_t)product;
#else
    uint64_t a0 = (uint32_t)a, a1 = a >> 32, b0 = (uint32_t)b, b1 = b >> 32;
    uint64_t middle = a1 * b0 + (a0 * b0 >> 32), other = a0 * b1 + (uint32_t)middle;
    *high = a1 * b1 + (middle >> 32) + (other >> 32);
    return a * b;
#endif
}

/* The high half of the product: maps a 64-bit hash to 0..n-1 and keeps the order of the hashes. */
static inline uint64_t tm_mulhi(uint64_t a, uint64_t n) {
    uint64_t high;
    tm_multiply(a, n, &high);
    return high;
}

/* Both halves of the product, xored: the mixing step of every hash here. */
static inline uint64_t tm_fold(uint64_t a, uint64_t b) {
    uint64_t high, low = tm_multiply(a, b, &high);
    return low ^ high;
}

/* SIMD code stands in `#ifdef TM_X86`, in functions marked TM_TARGET("..."), behind a call of tm_has_...(). */
#if defined(__x86_64__) && defined(TM_GNU)
#define TM_X86 1
#include <immintrin.h>
#define TM_TARGET(names) __attribute__((target(names)))
static inline int tm_has_sse41(void) { return __builtin_cpu_supports("sse4.1"); }
/* AVX2 with the bit instructions that came with it on every processor. */
static inline int tm_has_avx2(void) {
    __builtin_cpu_init();
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2") &&
           __builtin_cpu_supports("popcnt");
}
static inline int tm_has_aes(void) { return __builtin_cpu_supports("aes"); }
#else
static inline int tm_has_sse41(void) { return 0; }
static inline int tm_has_avx2(void) { return 0; }
static inline int tm_has_aes(void) { return 0; }
#endif

#endif
