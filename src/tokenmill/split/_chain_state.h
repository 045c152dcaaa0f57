/* Where a chain of scanners stopped inside an outer pretoken.
 *
 * A chain runs a second pattern inside the pretokens of a first one. It may run out of room in the middle of an outer
 * pretoken. The next call continues there and needs the end of that outer pretoken, but the caller passes only an
 * offset. So each thread saves the end, and uses it only if its very next scan continues with the same scanner at the
 * same offset of the same text.
 */
#ifndef TOKENMILL_CHAIN_STATE_H
#define TOKENMILL_CHAIN_STATE_H

#include "tokenmill/kernels/_platform.h"

#define TM_CHAIN_MAX 8

typedef struct {
    const void *scanner;
    const uint8_t *text;
    size_t at, length;
    size_t known[TM_CHAIN_MAX]; /* the end of the open outer pretoken at each level of the chain, or 0 */
} tm_chain_state;

static TM_THREAD_LOCAL tm_chain_state tm_saved;

/* The saved state if it is of this place, else one in which no outer pretoken is open. */
static inline tm_chain_state tm_chain_take(const void *scanner, const uint8_t *text, size_t at, size_t length) {
    tm_chain_state state = {scanner, text, at, length, {0}};
    if (memcmp(&tm_saved, &state, offsetof(tm_chain_state, known)) == 0) state = tm_saved;
    tm_saved.scanner = NULL;
    return state;
}

static inline void tm_chain_save(const tm_chain_state *state) { tm_saved = *state; }

#endif
