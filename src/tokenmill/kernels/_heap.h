/* Binary heaps in arrays of the caller.
 *
 * TM_HEAP(NAME, TYPE, BEFORE) defines NAME_push and NAME_pop for items of a type. BEFORE(a, b) compares two pointers to
 * items: true if *a comes out before *b.
 */
#ifndef TOKENMILL_HEAP_H
#define TOKENMILL_HEAP_H

#include <stddef.h>
#include <stdint.h>

#define TM_HEAP(NAME, TYPE, BEFORE)                                                                \
    /* Add an item; the array has room. Returns the new number of items. */                        \
    static inline size_t NAME##_push(TYPE *heap, size_t used, TYPE item) {                         \
        size_t i = used;                                                                           \
        while (i > 0 && BEFORE(&item, heap + ((i - 1) >> 1))) {                                    \
            heap[i] = heap[(i - 1) >> 1];                                                          \
            i = (i - 1) >> 1;                                                                      \
        }                                                                                          \
        heap[i] = item;                                                                            \
        return used + 1;                                                                           \
    }                                                                                              \
    /* Remove heap[0], the first item. Returns the new number of items. */                         \
    static inline size_t NAME##_pop(TYPE *heap, size_t used) {                                     \
        TYPE item = heap[--used];                                                                  \
        size_t i = 0, child = 1;                                                                   \
        while (child < used) {                                                                     \
            if (child + 1 < used && BEFORE(heap + child + 1, heap + child)) child++;               \
            if (!BEFORE(heap + child, &item)) break;                                               \
            heap[i] = heap[child];                                                                 \
            i = child;                                                                             \
            child = 2 * i + 1;                                                                     \
        }                                                                                          \
        heap[i] = item;                                                                            \
        return used;                                                                               \
    }

#define TM_LESS(a, b) (*(a) < *(b))

/* Of 64-bit numbers, the least first. */
TM_HEAP(tm_heap, uint64_t, TM_LESS)

#endif
