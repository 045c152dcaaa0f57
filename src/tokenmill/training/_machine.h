/* What the training kernels need of the machine: prefetch, and large blocks on huge pages. */
#ifndef TOKENMILL_MACHINE_H
#define TOKENMILL_MACHINE_H

#include <stdlib.h>
#include <stdint.h>
#if defined(__linux__)
#include <sys/mman.h>
#endif

/* The empty asm is for gcc, which drops calls of functions that do nothing but prefetch. */
#define tm_prefetch(address) (__extension__({ __builtin_prefetch((const void *)(address), 0, 3); __asm__ volatile(""); }))
#define tm_likely(x) __builtin_expect(!!(x), 1)
#define tm_unlikely(x) __builtin_expect(!!(x), 0)

/* Index of the highest set bit; x must not be 0. */
static inline int tm_log2(uint64_t x) { return 63 - __builtin_clzll(x); }

/* log2(x) in steps of a sixteenth of an octave; exact below 32. Never falls as x grows; x must not be 0. */
#define TM_LEVELS 976
static inline int tm_level(uint64_t x) {
    int shift = x < 32 ? 0 : tm_log2(x) - 4;
    return 16 * shift + (int)(x >> shift);
}

/* The smallest x of a level that is not empty. */
static inline uint64_t tm_level_start(int level) {
    int shift = level < 32 ? 0 : level / 16 - 1;
    return (uint64_t)(level - 16 * shift) << shift;
}

/* a / b >= p / q, exactly. */
static inline int tm_reaches(uint64_t a, uint64_t b, uint64_t p, uint64_t q) {
    return (__uint128_t)a * q >= (__uint128_t)p * b;
}

static int tm_order32(const void *a, const void *b) {
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}
static int tm_order64(const void *a, const void *b) {
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

/* Sort n positions of `width` bytes, 4 or 8. */
static inline void tm_sort(void *places, size_t n, size_t width) {
    qsort(places, n, width, width == 4 ? tm_order32 : tm_order64);
}

/* Memory for free(). Blocks of many megabytes lie on huge pages, asked for before the first touch: the kernels jump
 * about in them, and with 4 KiB pages every jump would also miss the TLB. NULL where there is none. */
static inline void *tm_alloc(size_t bytes) {
    void *block = NULL;
    if (bytes < ((size_t)4 << 20)) return malloc(bytes ? bytes : 1);
    if (posix_memalign(&block, (size_t)2 << 20, bytes) != 0) return NULL;
#if defined(__linux__) && defined(MADV_HUGEPAGE)
    madvise(block, bytes, MADV_HUGEPAGE);
#endif
    return block;
}

#endif
