/* Where a chain of scanners stopped inside of an outer pretoken.
 *
 * A chain (a second pattern inside the pretokens of a first one) may run out of room in the middle of a pretoken of the
 * first pattern. The next call begins there, and must know where that outer pretoken ends; the caller passes only an
 * offset. So the end is kept for the thread, and believed only if the very next scan of this thread goes on with the
 * same scanner at the same place of the same text.
 */
#ifndef TOKENMILL_CURSOR_H
#define TOKENMILL_CURSOR_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define TM_CHAIN_MAX 8

typedef struct {
    const void *scanner;
    const uint8_t *text;
    size_t at, length;
    size_t known[TM_CHAIN_MAX]; /* the end of the outer pretoken at each level of the chain; 0 where none is open */
} tm_cursor;

static __thread tm_cursor tm_kept;

static inline void tm_cursor_take(const void *scanner, const uint8_t *text, size_t at, size_t length, size_t *known) {
    if (tm_kept.scanner == scanner && tm_kept.text == text && tm_kept.at == at && tm_kept.length == length)
        memcpy(known, tm_kept.known, sizeof tm_kept.known);
    else
        memset(known, 0, sizeof tm_kept.known);
    tm_kept.scanner = NULL;
}

static inline void tm_cursor_keep(const void *scanner, const uint8_t *text, size_t at, size_t length,
                                  const size_t *known) {
    tm_kept.scanner = scanner;
    tm_kept.text = text;
    tm_kept.at = at;
    tm_kept.length = length;
    memcpy(tm_kept.known, known, sizeof tm_kept.known);
}

#endif
