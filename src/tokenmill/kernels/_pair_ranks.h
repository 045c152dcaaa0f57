/* The ranks of pairs of ids, in little memory: merging a pretoken mostly waits for this table.
 *
 * A hash table with linear probing and 8 bytes a slot, 2 MB for 150,000 merges. A pair is a number of 48 bits, times an
 * odd constant modulo 2^48, which is a permutation. The top bits of the product are the home of the pair. A slot contains the other
 * bits, its distance from home, and the rank. So equal slots mean equal pairs.
 * Each home also has 8 bits of a Bloom filter, because three of four pairs that are looked up do not merge.
 *
 * Reserve room before the first look-up in a zeroed tm_pair_ranks. Ids and ranks are below 2^24 - 1. A pair of a higher id has no
 * rank.
 */
#ifndef TOKENMILL_PAIR_RANKS_H
#define TOKENMILL_PAIR_RANKS_H

#include "tokenmill/kernels/_platform.h"

#define TM_NO_RANK 0xFFFFFFFFu /* of a pair that does not merge */
#define TM_RANK_MASK 0xFFFFFFull
#define TM_STEP (1ull << 56) /* in a slot: one step further from home */
#define TM_LEAST_BITS 16 /* of a home, so that the other bits of a product are at most 32 */

typedef struct {
    uint64_t *slots; /* steps << 56 | the low bits of the product << 24 | rank + 1; 0 is empty */
    uint8_t *filter; /* by home: a bit for each value of the next three bits of the product */
    size_t used;
    int bits; /* of a home */
} tm_pair_ranks;

static inline uint64_t tm_pair_product(uint32_t left, uint32_t right) {
    return (((uint64_t)left << 24 | right) * 0x9E3779B97F4B7C15ull) << 16; /* in the top 48 bits */
}

static inline uint8_t tm_pair_bit(const tm_pair_ranks *table, uint64_t product) {
    return (uint8_t)(1 << (product >> (61 - table->bits) & 7));
}

/* The rank of a pair, or TM_NO_RANK. */
static inline uint32_t tm_pair_rank(const tm_pair_ranks *table, uint32_t left, uint32_t right) {
    if (tm_unlikely((left | right) >> 24)) return TM_NO_RANK;
    uint64_t product = tm_pair_product(left, right), wanted = product << table->bits >> (table->bits + 16);
    size_t slot = (size_t)(product >> (64 - table->bits)), mask = ((size_t)1 << table->bits) - 1;
    if (!(table->filter[slot] & tm_pair_bit(table, product))) return TM_NO_RANK;
    for (;; slot = (slot + 1) & mask, wanted += TM_STEP >> 24) {
        uint64_t stored = table->slots[slot];
        if (stored >> 24 == wanted && stored) return (uint32_t)(stored & TM_RANK_MASK) - 1;
        if (!stored) return TM_NO_RANK;
    }
}

/* Fetch the first cache line of a look-up. */
static inline void tm_pair_rank_prefetch(const tm_pair_ranks *table, uint32_t left, uint32_t right) {
    tm_prefetch(table->filter + (size_t)(tm_pair_product(left, right) >> (64 - table->bits)));
}

/* Fetch what adding a pair needs. */
static inline void tm_pair_rank_prefetch_slot(const tm_pair_ranks *table, uint32_t left, uint32_t right) {
    size_t slot = (size_t)(tm_pair_product(left, right) >> (64 - table->bits));
    tm_prefetch_write(table->filter + slot);
    tm_prefetch_write(table->slots + slot);
}

/* Add a product with its rank. One in the table keeps its rank. 0 if all slots within reach are used. */
static inline int tm_pair_rank_put(tm_pair_ranks *table, uint64_t product, uint32_t rank) {
    uint64_t wanted = product << table->bits >> (table->bits + 16);
    size_t slot = (size_t)(product >> (64 - table->bits)), mask = ((size_t)1 << table->bits) - 1;
    table->filter[slot] |= tm_pair_bit(table, product);
    for (int steps = 0; steps < 256; steps++, slot = (slot + 1) & mask, wanted += TM_STEP >> 24) {
        uint64_t stored = table->slots[slot];
        if (!stored) {
            table->slots[slot] = wanted << 24 | (rank + 1);
            table->used++;
            return 1;
        }
        if (stored >> 24 == wanted) return 1;
    }
    return 0;
}

static inline void tm_pair_ranks_free(tm_pair_ranks *table) {
    if (table->slots) tm_pages_free(table->slots, sizeof(uint64_t) << table->bits);
    if (table->filter) tm_pages_free(table->filter, (size_t)1 << table->bits);
    table->slots = NULL;
    table->filter = NULL;
}

/* Make room for `more` pairs, and at least `bits`. 0 if memory runs out, and the table stays as it is. */
static inline int tm_pair_ranks_reserve(tm_pair_ranks *table, size_t more, int bits) {
    if (bits < TM_LEAST_BITS) bits = TM_LEAST_BITS;
    while (3 * ((size_t)1 << bits) < 5 * (table->used + more)) bits++;
    if (table->slots && bits <= table->bits) return 1;
    for (; bits < 40; bits++) { /* again, twice as large, if pairs crowd together */
        tm_pair_ranks fresh = {(uint64_t *)tm_pages_new(sizeof(uint64_t) << bits), (uint8_t *)tm_pages_new((size_t)1 << bits), 0, bits};
        if (!fresh.slots || !fresh.filter) {
            tm_pair_ranks_free(&fresh);
            return 0;
        }
        int fits = 1;
        size_t n = table->slots ? (size_t)1 << table->bits : 0;
        for (size_t i = 0; fits && i < n; i++) {
            uint64_t slot = table->slots[i];
            if (!slot) continue;
            uint64_t home = (i - (size_t)(slot >> 56)) & (n - 1);
            uint64_t product = home << (64 - table->bits) | slot << 8 >> 32 << 16;
            fits = tm_pair_rank_put(&fresh, product, (uint32_t)(slot & TM_RANK_MASK) - 1);
        }
        if (fits) {
            tm_pair_ranks_free(table);
            *table = fresh;
            return 1;
        }
        tm_pair_ranks_free(&fresh);
    }
    return 0;
}

/* Replace each rank. By the old rank + 1: the new rank + 1, and 0 for 0. */
static inline void tm_pair_ranks_renumber(tm_pair_ranks *table, const uint32_t *numbers) {
    for (size_t i = 0; i < (size_t)1 << table->bits; i++)
        table->slots[i] = (table->slots[i] & ~TM_RANK_MASK) | numbers[table->slots[i] & TM_RANK_MASK];
}

/* Add a pair. One in the table keeps its rank. 0 if memory runs out, or if a number is too high. */
static inline int tm_pair_ranks_add(tm_pair_ranks *table, uint32_t left, uint32_t right, uint32_t rank) {
    if ((left | right) >> 24 || rank >= TM_RANK_MASK || !tm_pair_ranks_reserve(table, 1, 0)) return 0;
    while (!tm_pair_rank_put(table, tm_pair_product(left, right), rank))
        if (!tm_pair_ranks_reserve(table, 1, table->bits + 1)) return 0;
    return 1;
}

#endif
