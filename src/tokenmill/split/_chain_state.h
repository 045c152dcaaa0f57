/* Where a chain of scanners stopped inside an outer pretoken.
 *
 * A chain runs a second pattern inside the pretokens of a first one. It may run out of room in the middle of an outer
 * pretoken. The next call continues there and needs the end of that outer pretoken, but the caller passes only an
 * offset. So each thread saves the end, and uses it only if its very next scan continues with the same scanner at the
 * same offset of the same text.
 */
#ifndef TOKENMILL_CHAIN_STATE_H
#define TOKENMILL_CHAIN_STATE_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define TM_CHAIN_MAX 8

typedef struct {
    const void *scanner;
    const uint8_t *text;
    size_t at, length;
    size_t known[TM_CHAIN_MAX]; /* the end of the open outer pretoken at each level of the chain, or 0 */
} tm_chain_state;

static __thread tm_chain_state tm_saved;

static inline void tm_chain_take(const void *scanner, const uint8_t *text, size_t at, size_t length, size_t *known) {
    if (tm_saved.scanner == scanner && tm_saved.text == text && tm_saved.at == at && tm_saved.length == length)
        memcpy(known, tm_saved.known, sizeof tm_saved.known);
    else
        memset(known, 0, sizeof tm_saved.known);
    tm_saved.scanner = NULL;
}

static inline void tm_chain_save(const void *scanner, const uint8_t *text, size_t at, size_t length,
                                  const size_t *known) {
    tm_saved.scanner = scanner;
    tm_saved.text = text;
    tm_saved.at = at;
    tm_saved.length = length;
    memcpy(tm_saved.known, known, sizeof tm_saved.known);
}

#endif
