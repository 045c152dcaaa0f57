/* Stands in for kernels/_memory.h until the last kernel has been moved there. */
#ifndef TOKENMILL_PAGES_H
#define TOKENMILL_PAGES_H
#include "tokenmill/kernels/_memory.h"
#define tm_pages_plain tm_pages_small
#define tm_pages_fill tm_pages_populate
static inline void *tm_pages_enlarge(void *p, size_t old, size_t size, size_t *reserved) {
    void *fresh = tm_pages_grow(p, old, size);
    if (fresh) *reserved = size;
    return fresh;
}
#endif
