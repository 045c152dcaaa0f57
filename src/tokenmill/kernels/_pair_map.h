/* A map from a pair of 32-bit ids to a 32-bit value: open addressing, linear probing, at most half of the slots used.
 *
 * A zeroed tm_pair_map is an empty map. Call tm_pair_map_reserve before the first look-up. Set `seed` before that if others
 * choose the pairs.
 */
#ifndef TOKENMILL_PAIR_MAP_H
#define TOKENMILL_PAIR_MAP_H

#include "tokenmill/kernels/_platform.h"

#define TM_NO_VALUE 0xFFFFFFFFu /* of a pair that is not in the map; not a valid value */

typedef struct {
    uint32_t left, right, value, used;
} tm_pair_slot;

typedef struct {
    tm_pair_slot *slots;
    size_t n_slots, used;
    uint64_t seed;
    int shift;
} tm_pair_map;

static inline uint64_t tm_pair_hash(uint64_t seed, uint32_t left, uint32_t right) {
    uint64_t key = (uint64_t)left << 32 | right;
    return tm_fold(key ^ seed ^ 0x2D358DCCAA6C78A5ull, 0x9E3779B97F4A7C15ull);
}

/* The slot of a pair, or a free one for it. */
static inline tm_pair_slot *tm_pair_slot_of(const tm_pair_map *map, uint32_t left, uint32_t right) {
    size_t slot = (size_t)(tm_pair_hash(map->seed, left, right) >> map->shift);
    while (map->slots[slot].used && (map->slots[slot].left != left || map->slots[slot].right != right))
        slot = (slot + 1) & (map->n_slots - 1);
    return map->slots + slot;
}

/* Make room for `more` pairs. 0 if memory runs out, and the map stays as it is. */
static inline int tm_pair_map_reserve(tm_pair_map *map, size_t more) {
    size_t n = map->n_slots ? map->n_slots : 64;
    while (n < 2 * (map->used + more)) n *= 2;
    if (n == map->n_slots) return 1;
    tm_pair_map fresh = *map;
    fresh.slots = (tm_pair_slot *)tm_pages_new(n * sizeof(tm_pair_slot));
    if (!fresh.slots) return 0;
    fresh.n_slots = n;
    fresh.shift = 64 - tm_log2(n);
    for (size_t i = 0; i < map->n_slots; i++)
        if (map->slots[i].used) *tm_pair_slot_of(&fresh, map->slots[i].left, map->slots[i].right) = map->slots[i];
    tm_pages_free(map->slots, map->n_slots * sizeof(tm_pair_slot));
    *map = fresh;
    return 1;
}

static inline void tm_pair_map_free(tm_pair_map *map) {
    tm_pages_free(map->slots, map->n_slots * sizeof(tm_pair_slot));
    map->slots = NULL;
    map->n_slots = map->used = 0;
}

/* The value of a pair, or TM_NO_VALUE. */
static inline uint32_t tm_pair_map_get(const tm_pair_map *map, uint32_t left, uint32_t right) {
    const tm_pair_slot *slot = tm_pair_slot_of(map, left, right);
    return slot->used ? slot->value : TM_NO_VALUE;
}

/* The value of a pair. A missing pair is added with `value`; call tm_pair_map_reserve before. */
static inline uint32_t tm_pair_map_get_or_put(tm_pair_map *map, uint32_t left, uint32_t right, uint32_t value) {
    tm_pair_slot *slot = tm_pair_slot_of(map, left, right);
    if (!slot->used) {
        tm_pair_slot fresh = {left, right, value, 1};
        *slot = fresh;
        map->used++;
    }
    return slot->value;
}

static inline void tm_pair_map_prefetch(const tm_pair_map *map, uint32_t left, uint32_t right) {
    tm_prefetch(map->slots + (tm_pair_hash(map->seed, left, right) >> map->shift));
}

#endif
