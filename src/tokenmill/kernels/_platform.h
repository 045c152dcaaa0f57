/* Features of the compiler, the processor and the operating system. Other kernel code uses these names, and has no
 * __builtin_, intrinsic guard or system call. Compile with -DTM_PORTABLE to use the plain C branch everywhere. */
#ifndef TOKENMILL_PLATFORM_H
#define TOKENMILL_PLATFORM_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* mremap */
#endif
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#ifdef __GLIBC__
#include <malloc.h>
#endif
#include <string.h>

#ifdef _WIN32
#define WIN32_LEAN_AND_MEAN
#define NOMINMAX
#include <windows.h>
#undef near
#undef far
#endif

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

/* SIMD code is in `#ifdef TM_X86`, in functions marked TM_TARGET("..."), behind a call of tm_has_...(). */
#if defined(__x86_64__) && defined(TM_GNU)
#define TM_X86 1
#include <immintrin.h>
#define TM_TARGET(names) __attribute__((target(names)))
static inline int tm_has_sse41(void) { return __builtin_cpu_supports("sse4.1"); }
static inline int tm_has_aes(void) { return __builtin_cpu_supports("aes"); }
/* AVX2 with the bit instructions that came with it on every processor. */
static inline int tm_has_avx2(void) {
    __builtin_cpu_init();
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2") &&
           __builtin_cpu_supports("popcnt");
}
#else
static inline int tm_has_sse41(void) { return 0; }
static inline int tm_has_avx2(void) { return 0; }
#endif
#if defined(__aarch64__) && defined(__ARM_NEON) && defined(TM_GNU)
#define TM_NEON 1
#include <arm_neon.h>
#endif

/* Memory.
 *
 * tm_pages_*: zeroed memory from the system, returned at once when freed (malloc would keep it). The caller stores the size.
 * tm_alloc, tm_free: uninitialized memory like malloc's.
 *
 * Both put large blocks on huge pages if the system has them: random access to a large table of small pages misses the TLB
 * almost every time. NULL always means that memory has run out.
 */
#if (defined(__unix__) || defined(__APPLE__)) && !defined(TM_PORTABLE)

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#if !defined(MAP_ANONYMOUS)
#define MAP_ANONYMOUS MAP_ANON
#endif

static inline size_t tm_page_size(void) { return (size_t)sysconf(_SC_PAGESIZE); }

/* The size of a huge page, or 0 if there are none, or only ones of more than 32 MB. */
static inline size_t tm_huge_page_size(void) {
#ifdef MADV_HUGEPAGE
    static size_t known = 1; /* threads that set it at once set the same */
    if (known == 1) {
        char text[24] = "0";
        int file = open("/sys/kernel/mm/transparent_hugepage/hpage_pmd_size", O_RDONLY | O_CLOEXEC);
        if (file >= 0) {
            if (read(file, text, sizeof text - 1) <= 0) text[0] = 0;
            close(file);
        }
        size_t size = (size_t)strtoull(text, NULL, 10);
        known = size <= ((size_t)32 << 20) ? size : 0;
    }
    return known;
#else
    return 0;
#endif
}

static inline size_t tm_round_up(size_t size, size_t unit) { return (size + unit - 1) / unit * unit; }

/* `size` bytes of addresses, aligned to `align` where that is not 0. Both are whole pages. */
static inline void *tm_pages_map(size_t size, size_t align, int protection) {
    uint8_t *p = (uint8_t *)mmap(NULL, size + align, protection, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p == (uint8_t *)MAP_FAILED) return NULL;
    if (align) {
        size_t head = (align - (uintptr_t)p % align) % align;
        if (head) munmap(p, head);
        p += head;
        if (align > head) munmap(p + size, align - head);
    }
    return p;
}

static inline void tm_ask_for_huge_pages(void *p, size_t size) {
#ifdef MADV_HUGEPAGE
    madvise(p, size, MADV_HUGEPAGE);
#else
    (void)p, (void)size;
#endif
}

/* `size` zeroed bytes in pages of the usual size. */
static inline void *tm_pages_small(size_t size) {
    return tm_pages_map(tm_round_up(size, tm_page_size()), 0, PROT_READ | PROT_WRITE);
}

/* `size` zeroed bytes, on huge pages where they fill one. */
static inline void *tm_pages_new(size_t size) {
    size_t huge = tm_huge_page_size();
    if (!huge || size < huge) return tm_pages_small(size);
    size = tm_round_up(size, tm_page_size());
    void *p = tm_pages_map(size, huge, PROT_READ | PROT_WRITE);
    if (p) tm_ask_for_huge_pages(p, size);
    return p;
}

static inline void tm_pages_free(void *p, size_t size) {
    if (p) munmap(p, tm_round_up(size, tm_page_size()));
}

/* Grow the `old` bytes at p to `size` bytes, with zeros at the end, and free p. Pages are moved if the system can, not copied. NULL on
 * failure; then p does not change. */
static inline void *tm_pages_grow(void *p, size_t old, size_t size) {
    if (!p) return tm_pages_new(size);
#ifdef MREMAP_MAYMOVE
    size_t page = tm_page_size(), huge = tm_huge_page_size();
    old = tm_round_up(old, page);
    size = tm_round_up(size, page);
    if (!huge || size < huge) {
        p = mremap(p, old, size, MREMAP_MAYMOVE);
        return p == MAP_FAILED ? NULL : p;
    }
    if (old >= huge) { /* moved, small pages would stay small */
        if (mremap(p, old, size, 0) == MAP_FAILED) { /* it cannot grow in place */
            void *target = tm_pages_map(size, huge, PROT_NONE);
            if (!target) return NULL;
            if (mremap(p, old, size, MREMAP_MAYMOVE | MREMAP_FIXED, target) == MAP_FAILED) {
                munmap(target, size);
                return NULL;
            }
            p = target;
        }
        tm_ask_for_huge_pages(p, size);
        return p;
    }
#endif
    void *fresh = tm_pages_new(size);
    if (fresh) {
        memcpy(fresh, p, old);
        tm_pages_free(p, old);
    }
    return fresh;
}

/* Allocate the whole pages within `size` bytes at p now, huge ones if they fit, before they are written from front to back: one call
 * instead of a page fault for each. Does nothing on systems without such a call. */
static inline void tm_pages_populate(void *p, size_t size) {
#ifdef __linux__
    uintptr_t page = tm_page_size(), start = ((uintptr_t)p + page - 1) / page * page, end = ((uintptr_t)p + size) / page * page;
    if (start >= end) return;
    if (tm_huge_page_size() && end - start >= tm_huge_page_size()) tm_ask_for_huge_pages((void *)start, end - start);
    madvise((void *)start, end - start, 23); /* MADV_POPULATE_WRITE, Linux 5.14 */
#else
    (void)p, (void)size;
#endif
}

/* Uninitialized memory, to be freed with tm_free. */
static inline void *tm_alloc(size_t size) {
    size_t huge = tm_huge_page_size();
    void *block = NULL;
    if (!huge || size < 2 * huge) return malloc(size ? size : 1);
    if (posix_memalign(&block, huge, size) != 0) return NULL;
    tm_ask_for_huge_pages(block, size);
    return block;
}

#else /* no mmap: calloc gives zeros as well */

static inline size_t tm_page_size(void) { return 4096; }
static inline size_t tm_huge_page_size(void) { return 0; }
static inline void *tm_pages_new(size_t size) { return calloc(size ? size : 1, 1); }
static inline void *tm_pages_small(size_t size) { return tm_pages_new(size); }
static inline void tm_pages_free(void *p, size_t size) { (void)size, free(p); }
static inline void *tm_pages_grow(void *p, size_t old, size_t size) {
    uint8_t *fresh = (uint8_t *)realloc(p, size);
    if (fresh) memset(fresh + old, 0, size - old);
    return fresh;
}
static inline void tm_pages_populate(void *p, size_t size) { (void)p, (void)size; }
static inline void *tm_alloc(size_t size) { return malloc(size ? size : 1); }

#endif

static inline void tm_free(void *p) { free(p); }

/* Store `value` in a pointer that threads share. Returns the old value. Without an atomic exchange nothing is stored, and `value` is
 * returned. */
static inline void *tm_exchange(void **shared, void *value) {
#if defined(TM_GNU)
    return __atomic_exchange_n(shared, value, __ATOMIC_ACQ_REL);
#elif defined(_WIN32)
    return InterlockedExchangePointer(shared, value);
#else
    (void)shared;
    return value;
#endif
}

/* Return freed memory to the system. glibc may keep 64 MB for each thread. */
static inline void tm_return_freed(void) {
#ifdef __GLIBC__
    malloc_trim(0);
#endif
}

/* Make room for `wanted` items of `size` bytes in an array from malloc, at least doubling it. Returns the array, or NULL; then the old
 * one does not change. */
static inline void *tm_reserve(void *items, size_t *room, size_t wanted, size_t size) {
    if (items && wanted <= *room) return items;
    size_t more = 2 * *room > wanted ? 2 * *room : wanted + 16;
    void *fresh = realloc(items, more * size);
    if (fresh) *room = more;
    return fresh;
}

#endif
