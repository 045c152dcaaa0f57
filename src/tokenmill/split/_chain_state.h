/* The state of a chain of scanners that stopped inside an outer pretoken.
 *
 * A chain runs a second pattern inside the pretokens of a first one. It may run out of room in the middle of an outer
 * pretoken. The next call continues there and needs the end of that outer pretoken, but the caller passes only an offset.
 * So each thread saves the end, and uses it only if its very next scan continues with the same scanner at the same offset
 * of the same text.
 */
#ifndef TOKENMILL_CHAIN_STATE_H
#define TOKENMILL_CHAIN_STATE_H

#include "tokenmill/kernels/_platform.h"

#define TM_CHAIN_MAX 8

typedef struct {
    const void *scanner;
    const uint8_t *at, *end;
    size_t known[TM_CHAIN_MAX]; /* the rest of the open outer pretoken at each level of the chain in bytes, or 0 */
} tm_chain_state;

static TM_THREAD_LOCAL tm_chain_state tm_saved;

/* Writes the end of the open outer pretoken at each level to `known`, or 0 if the saved state is of another offset. */
static inline void tm_chain_take(const void *scanner, const uint8_t *text, size_t at, size_t length, size_t *known) {
    int here = tm_saved.scanner == scanner && tm_saved.at == text + at && tm_saved.end == text + length;
    for (int i = 0; i < TM_CHAIN_MAX; i++) known[i] = here && tm_saved.known[i] ? at + tm_saved.known[i] : 0;
    tm_saved.scanner = NULL;
}

static inline void tm_chain_save(const void *scanner, const uint8_t *text, size_t at, size_t length, const size_t *known) {
    tm_saved = (tm_chain_state){scanner, text + at, text + length, {0}};
    for (int i = 0; i < TM_CHAIN_MAX; i++) tm_saved.known[i] = known[i] > at ? known[i] - at : 0;
}

#endif
