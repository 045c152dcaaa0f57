/* Zeroed memory for large tables, on huge pages where the system has them, and the multiplication that maps a hash
 * to a slot. Random access to a table of 4 kB pages misses the TLB almost every time; the request for huge pages must
 * come before the first touch. Memory comes straight from the system and goes straight back: malloc would keep it.
 */
#ifndef TOKENMILL_PAGES_H
#define TOKENMILL_PAGES_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* mremap */
#endif
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#define TM_HUGE ((size_t)2 << 20)
#define TM_LONG 600000L      /* nanoseconds: as long as as many small pages take */
#define TM_REST 24           /* huge pages that are then not asked for: as long as the wait, spread over so many, would hurt */
#define TM_ROOM ((size_t)16) /* how many times its size what is enlarged may become before it is copied */

/* `size` zeroed bytes, aligned to 2 MB where they fill at least one huge page; NULL where there is no memory. */
static inline void *tm_pages_plain(size_t size) {
    size_t spare = size >= TM_HUGE ? TM_HUGE : 0;
    uint8_t *p = (uint8_t *)mmap(NULL, size + spare, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p == (uint8_t *)MAP_FAILED) return NULL;
    if (spare) {
        size_t page = 4096, head = (TM_HUGE - (uintptr_t)p % TM_HUGE) % TM_HUGE;
        size_t used = (size + page - 1) / page * page;
        if (head) munmap(p, head);
        p += head;
        if (spare > head && size + spare - head > used) munmap(p + used, size + spare - head - used);
    }
    return p;
}

/* The same on huge pages, for what is read and written here and there. */
static inline void *tm_pages_new(size_t size) {
    void *p = tm_pages_plain(size);
#ifdef MADV_HUGEPAGE
    if (p && size >= TM_HUGE) madvise(p, size, MADV_HUGEPAGE);
#endif
    return p;
}

#ifdef __linux__
/* Get whole pages that are about to be written; older systems refuse it, and give them one by one. */
static inline void tm_pages_get(uintptr_t start, uintptr_t end) {
    if (start < end) madvise((void *)start, end - start, 23); /* MADV_POPULATE_WRITE */
}

/* The same for a huge page: 0 if that took long. */
static inline int tm_pages_get_huge(uintptr_t start) {
    struct timespec before, after;
    clock_gettime(CLOCK_MONOTONIC, &before);
    madvise((void *)start, TM_HUGE, MADV_HUGEPAGE);
    tm_pages_get(start, start + TM_HUGE);
    clock_gettime(CLOCK_MONOTONIC, &after);
    return (after.tv_sec - before.tv_sec) * 1000000000L + (after.tv_nsec - before.tv_nsec) < TM_LONG;
}
#endif

/* Get the pages that lie within size bytes at p, which are about to be written from front to back. Huge pages take a third
 * of the time of small ones (64 MB: 8 ms, 24), but where a virtual machine gives free memory back to its host, in
 * blocks of that size, the next to get one waits for the host, up to 3 ms. So one that took long is followed by small
 * ones for a while. */
static inline void tm_pages_fill(void *p, size_t size) {
#ifdef __linux__
    static int rest; /* huge pages not to ask for; threads that count it down at once do no harm */
    uintptr_t at = ((uintptr_t)p + 4095) & ~(uintptr_t)4095, end = ((uintptr_t)p + size) & ~(uintptr_t)4095;
    uintptr_t block = (at + TM_HUGE - 1) & ~(uintptr_t)(TM_HUGE - 1);
    for (; block + TM_HUGE <= end; block += TM_HUGE) {
        if (rest > 0) {
            rest--;
        } else {
            tm_pages_get(at, block);
            at = block + TM_HUGE;
            if (!tm_pages_get_huge(block)) rest = TM_REST;
        }
    }
    tm_pages_get(at, end);
#endif
}

static inline void tm_pages_free(void *p, size_t size) {
    if (p) munmap(p, size);
}

/* As tm_pages_new, at the front of a range of `room` addresses into which it can grow where it stands. What lies beyond
 * takes no memory. NULL where the system has no such range. */
static inline void *tm_pages_reserve(size_t size, size_t room) {
    uint8_t *p = (uint8_t *)mmap(NULL, room + TM_HUGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (p == (uint8_t *)MAP_FAILED) return NULL;
    size_t head = (TM_HUGE - (uintptr_t)p % TM_HUGE) % TM_HUGE;
    if (head) munmap(p, head);
    p += head;
    if (head < TM_HUGE) munmap(p + room, TM_HUGE - head);
    if (mprotect(p, size, PROT_READ | PROT_WRITE)) {
        munmap(p, room);
        return NULL;
    }
#ifdef MADV_HUGEPAGE
    madvise(p, size, MADV_HUGEPAGE);
#endif
    return p;
}

/* Let the `old` bytes at p of such a range be `size`, both whole pages; 0 where there is no memory. */
static inline int tm_pages_extend(void *p, size_t old, size_t size) {
    if (mprotect((uint8_t *)p + old, size - old, PROT_READ | PROT_WRITE)) return 0;
#ifdef MADV_HUGEPAGE
    madvise((uint8_t *)p + old, size - old, MADV_HUGEPAGE);
#endif
    return 1;
}

/* `size` bytes that begin with the `old` bytes at p, all whole pages: where they stand, if *reserved addresses there are
 * enough, else at the front of a new range, which takes the place of the old. NULL, and p untouched, where there is no
 * memory. To be freed with *reserved. */
static inline void *tm_pages_enlarge(void *p, size_t old, size_t size, size_t *reserved) {
    if (size <= *reserved) return tm_pages_extend(p, old, size) ? p : NULL;
    size_t room = size * TM_ROOM;
    void *fresh = tm_pages_reserve(size, room);
    if (!fresh) fresh = tm_pages_new(room = size);
    if (!fresh) return NULL;
    if (old) memcpy(fresh, p, old);
    tm_pages_free(p, *reserved);
    *reserved = room;
    return fresh;
}

/* `size` bytes that begin with the `old` bytes at p, which is freed; NULL, and p untouched, where there is no memory. */
static inline void *tm_pages_grow(void *p, size_t old, size_t size) {
#ifdef MREMAP_MAYMOVE
    if (p) {
        void *moved = mremap(p, old, size, MREMAP_MAYMOVE);
        return moved == MAP_FAILED ? NULL : moved;
    }
#endif
    void *fresh = tm_pages_new(size);
    if (fresh && p) {
        memcpy(fresh, p, old);
        tm_pages_free(p, old);
    }
    return fresh;
}

/* The upper half of the product: maps a 64-bit hash to 0..n-1 in the order of the hashes. */
static inline uint64_t tm_mulhi(uint64_t a, uint64_t n) { return (uint64_t)(((__uint128_t)a * n) >> 64); }

/* Index of the lowest set bit; x must not be 0. */
static inline int tm_lowest(uint64_t x) { return __builtin_ctzll(x); }

static inline void tm_prefetch(const void *p) { __builtin_prefetch(p, 1); }

#endif
