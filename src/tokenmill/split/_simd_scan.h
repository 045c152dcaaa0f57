/* The SIMD scan: runs the transducer of transducer.py over 64 bytes at a time, without a branch per character.
 *
 * Only a few states are possible right after a character of a given column of the table: at most six for every named
 * pattern. So the column of the last character and a small number identify a state, and one step of the machine maps
 * small numbers to small numbers. A byte shuffle does that in one or two cycles; a load from a table takes five. The
 * choice of the map depends on the text alone, not on the state, so vector code finds all maps of a block ahead of
 * time. One map covers two bytes, and two maps are composed by a shuffle before the state is needed. The dependency
 * chain from state to state is therefore one shuffle per four bytes.
 *
 *   1. Find the columns of 64 bytes: vector look-ups for ASCII, a look-up for every other character.
 *   2. Compute table numbers, one per pair of bytes: (column of the previous character, column, column).
 *   3. Run 32 steps. Each yields one byte: the state in bits 0 to 2, the cuts in bits 3 to 6.
 *   4. Turn the cuts into bit masks, and the masks into ends.
 *
 * The continuation bytes of a character have the column `next`, whose steps change nothing. That column never precedes
 * a character, so in that position it stands for the start of the text. The column `end` is the end of the text.
 */
#ifndef TOKENMILL_SIMD_SCAN_H
#define TOKENMILL_SIMD_SCAN_H

#include "tokenmill/kernels/_utf8.h"
#include "tokenmill/split/_byte_pairs.h"

typedef struct {
    const uint8_t *pairs;  /* columns * columns * columns tables of 8 bytes: see tm_simd_pairs */
    uint8_t ascii[128];    /* the columns of the ASCII characters, see tm_column_table */
    const uint16_t *index; /* as in Alphabet */
    const uint8_t *pages;
    unsigned columns;
    uint8_t next, end, invalid;
    uint8_t leads[64];     /* of bytes from C0 on: the column of most characters that begin with them, see tm_column_table */
    tm_byte_pairs odd;     /* the first two bytes of the others */
} tm_simd_tables;

/* The ends one block may write: its own 64, two of the previous block, and the overshoot of the last 16-wide store. */
#define TM_SIMD_ROOM 84

/* Builds the tables of byte pairs from `steps`: columns * columns tables of 16 bytes, one for each pair (column of the
 * previous character, column). A table maps a state number to the next one in the low half of a byte, with the action
 * in the high half. In a byte of `pairs`, bit 3 is a cut before the first byte, bit 4 a cut before the second, bit 5 a
 * cut where the previous character begins, bit 6 a cut where the one before that begins. All four mean rewind. */
static void tm_simd_pairs(uint8_t *pairs, const uint8_t *steps, unsigned columns, unsigned next) {
    for (unsigned before = 0; before < columns; before++)
        for (unsigned first = 0; first < columns; first++)
            for (unsigned second = 0; second < columns; second++, pairs += 8)
                for (unsigned state = 0; state < 8; state++) {
                    unsigned between = first == next ? before : first;
                    unsigned one = steps[(before * columns + first) * 16 + state];
                    unsigned two = steps[(between * columns + second) * 16 + (one & 7)];
                    unsigned a = one >> 4, b = two >> 4;
                    unsigned cuts = (a & 1) | (a & 2) << 1 | (a & 4) << 1 | (b & 1) << 1;
                    /* One character back from the second byte is the first byte, unless that continues a character. */
                    cuts |= first == next ? (b & 2) << 1 | (b & 4) << 1 : (b & 2) >> 1 | (b & 4);
                    if (a == 7 || b == 7) cuts = 15;
                    pairs[state] = (uint8_t)((two & 7) | cuts << 3);
                }
}

#if defined(TM_X86) || defined(TM_NEON)

/* A block of 64 bytes, prepared for the steps. */
typedef struct {
    uint16_t numbers[32];
    uint64_t later;        /* the continuation bytes, as bits */
    size_t at;             /* where the block begins */
    unsigned size;         /* how many of its bytes form whole characters: at most 64 */
    int at_end;            /* whether the end of the text follows */
    uint8_t column_before; /* during preparation the column of the character before the block, then of its last one */
} tm_block;

/* Writes the columns of half a character at the end of a block. They are needed because they select a table. */
static inline unsigned tm_half(const tm_simd_tables *tables, unsigned i, uint8_t *here, uint8_t *before) {
    memset(before + i, tables->next, 4);
    memset(here + i, tables->next, 4);
    return i;
}

/* Writes the columns of the non-ASCII characters of the block at text + at; `high` marks their bytes. `here` gets the
 * column at first bytes and `next` at continuation bytes, `before` gets the column at all of them. Bytes written after a
 * character are meaningless. Returns how many bytes of the block form whole characters. */
TM_SIMD inline unsigned tm_columns_beyond_ascii(const tm_simd_tables *tables, const uint8_t *text, size_t at,
                                                       size_t length, uint64_t high, uint8_t *here, uint8_t *before) {
    const uint32_t later_columns = tables->next * 0x01010100u;
    while (high) {
        unsigned i = (unsigned)tm_lowest(high);
        const uint8_t *p = text + at + i;
        uint32_t code;
        size_t size = tm_utf8_read(p, length - at - i, &code);
        uint8_t column = tables->invalid;
        if (size)
            column = tables->pages[((size_t)tables->index[code >> 7] << 7) + (code & 127)];
        else
            size = 1;
        if (i + size > 64) return tm_half(tables, i, here, before);
        uint32_t columns = column * 0x01010101u, first = (columns & 0xFF) | later_columns;
        memcpy(before + i, &columns, 4);
        memcpy(here + i, &first, 4);
        high &= ~((((uint64_t)1 << size) - 1) << i);
    }
    return 64;
}

/* The same where all of them are well-formed characters of two or three bytes, whose first bytes `firsts` marks, and those of
 * three bytes `threes`. */
TM_SIMD inline unsigned tm_columns_of_most(const tm_simd_tables *tables, const uint8_t *bytes, tm_bytes v, uint64_t firsts,
                                           uint64_t threes, uint8_t *here, uint8_t *before) {
    tm_bytes columns = tm_columns_from(v, 0xC0, tables->leads);
    tm_bytes first = tm_previous(tm_columns_from(v, 0xC0, tables->odd.first + 64));
    tm_bytes pairs = tm_and(first, tm_columns_from(v, 0x80, tables->odd.second));
    columns = tm_choose_later(columns, tm_all(tables->next | 128), v); /* the top bit: to be taken from the byte before */
    tm_store(here, tm_and(columns, tm_all(127)));
    columns = tm_choose(columns, tm_previous(columns), columns);
    tm_store(before, tm_choose(columns, tm_previous(columns), columns));
    uint64_t half = (firsts & 1ull << 63) | (threes & 3ull << 62);
    for (uint64_t odd = ~tm_equal(pairs, 0) >> 1 & firsts & ~half; odd; odd &= odd - 1) {
        unsigned i = (unsigned)tm_lowest(odd);
        const uint8_t *p = bytes + i;
        uint32_t code = (p[0] & 0x1F) << 6 | (p[1] & 0x3F);
        if (p[0] >= 0xE0) code = (code & 0x3FF) << 6 | (p[2] & 0x3F);
        uint8_t column = tables->pages[((size_t)tables->index[code >> 7] << 7) + (code & 127)];
        here[i] = before[i] = before[i + 1] = column;
        if (p[0] >= 0xE0) before[i + 2] = column;
    }
    return half ? tm_half(tables, (unsigned)tm_lowest(half), here, before) : 64;
}

/* Copies fewer than 64 bytes to `padded`, followed by zeros. */
static inline void tm_copy_last(uint8_t *padded, const uint8_t *bytes, size_t size) {
    memset(padded, 0, 64);
    memcpy(padded, bytes, size);
}

/* Prepares a block with non-ASCII characters, and maybe the end of the text. Nearly all text consists of well-formed characters of at
 * most three bytes. A few vector instructions detect that, and then no byte of a character is read twice. */
TM_SIMD TM_NOINLINE void tm_prepare_mixed(const tm_simd_tables *tables, const uint8_t *text, size_t length, tm_block *b) {
    const uint8_t *bytes = text + b->at;
    uint8_t padded[64], here[64 + 4], before[64 + 4];
    b->size = 64;
    if (length - b->at < 64) {
        b->size = (unsigned)(length - b->at);
        tm_copy_last(padded, bytes, b->size);
        bytes = padded;
    }
    b->at_end = b->size < 64;
    tm_bytes v = tm_load(bytes), columns = tm_ascii_columns(v, tables->ascii);
    /* After E0 a lower byte would be a longer form than needed, after ED a higher one a surrogate. */
    uint64_t high = tm_beyond_ascii(v), firsts = tm_between(v, 0xC2, 0xEF), threes = tm_between(v, 0xE0, 0xEF);
    uint64_t later = firsts << 1 | threes << 2;
    uint64_t wrong = (tm_equal(v, 0xE0) << 1 & tm_between(v, 0x80, 0x9F)) | (tm_equal(v, 0xED) << 1 & tm_between(v, 0xA0, 0xBF));
    unsigned whole = wrong == 0 && (high & ~firsts) == later && later == tm_between(v, 0x80, 0xBF)
                         ? tm_columns_of_most(tables, bytes, v, firsts, threes, here, before)
                         : tm_columns_beyond_ascii(tables, text, b->at, length, high, here, before);
    if (whole < b->size) {
        b->size = whole;
        b->at_end = 0;
    }
    tm_bytes previous = tm_choose(columns, tm_load(before), v);
    columns = tm_choose(columns, tm_load(here), v);
    if (b->size < 64) { /* the next byte is the end of the text, or the no-op half of a pair */
        tm_store(here, columns);
        here[b->size] = b->at_end ? tables->end : tables->next;
        columns = tm_load(here);
    }
    tm_numbers(tm_before_pairs(previous, b->column_before), columns, tables->columns, b->numbers);
    b->later = tm_equal(columns, tables->next);
    if (b->size) {
        tm_store(before, previous);
        b->column_before = before[b->size - 1];
    }
}

TM_SIMD inline void tm_prepare(const tm_simd_tables *tables, const uint8_t *text, size_t length, tm_block *b) {
    /* The byte after the last one is the 0xFF, since the load begins that many bytes before it. */
    static const uint8_t follows[128] = {[64] = 0xFF};
    size_t left = length - b->at;
    uint8_t padded[64];
    if (left < 64) tm_copy_last(padded, text + b->at, left);
    tm_bytes v = tm_load(left < 64 ? padded : text + b->at);
    if (!tm_is_all_ascii(v)) {
        tm_prepare_mixed(tables, text, length, b);
        return;
    }
    tm_bytes columns = tm_ascii_columns(v, tables->ascii);
    if (left < 64) {
        memset(padded, tables->end, 64);
        columns = tm_choose(columns, tm_load(padded), tm_load(follows + 64 - left));
    }
    tm_numbers(tm_before_pairs(columns, b->column_before), columns, tables->columns, b->numbers);
    b->column_before = tm_last(columns);
    b->size = left < 64 ? (unsigned)left : 64;
    b->at_end = left < 64;
    b->later = 0;
}

/* Moves each bit one character back, past continuation bytes. Bits that leave at the bottom are lost. */
static inline uint64_t tm_back(uint64_t bits, uint64_t later) {
    bits >>= 1;
    while (bits & later) bits = (bits & ~later) | (bits & later) >> 1;
    return bits;
}

/* Same contract as Scanner.run_transducer, for room >= TM_SIMD_ROOM. */
TM_SIMD ptrdiff_t tm_simd_scan(const tm_simd_tables *tables, const uint8_t *text, size_t start, size_t length,
                                      size_t *ends, ptrdiff_t room, size_t *stopped) {
    const uint64_t even_bits = 0x5555555555555555;
    ptrdiff_t n = 0;
    size_t last = start, last_but_one = start; /* where the last two characters before the block begin */
    tm_state state = tm_state_of(0);
    tm_block blocks[2], *block = blocks, *coming = blocks + 1;
    block->at = start;
    block->column_before = tables->next; /* as the start of the text */
    tm_prepare(tables, text, length, block);
    while (room - n >= TM_SIMD_ROOM) {
        size_t at = block->at;
        unsigned size = block->size;
        /* The next block does not depend on the steps of this one, so preparing it first overlaps the two. */
        coming->at = at + size;
        coming->column_before = block->column_before;
        if (!block->at_end) tm_prepare(tables, text, length, coming);

        tm_bytes states = tm_steps(tables->pairs, block->numbers, &state);
        uint64_t cuts = tm_bits(states, 3);
        uint64_t backs = tm_bits(states, 5);
        uint64_t one_back = backs & even_bits, two_back = backs >> 1 & even_bits;
        uint64_t rewind = one_back & two_back & cuts & cuts >> 1;
        if (size < 64) { /* the end of the text, or of its whole characters in this block */
            uint64_t valid = ((uint64_t)1 << size) - 1 + ((uint64_t)block->at_end << size);
            cuts &= valid, one_back &= valid, two_back &= valid, rewind &= valid;
            if (size && !block->at_end) {
                uint8_t bytes[64];
                tm_store(bytes, states);
                state = tm_state_of(bytes[size - 1]);
            }
        }
        if (rewind) {
            uint64_t sure = (rewind ^ (rewind - 1)) >> 1;
            *stopped = at + tm_lowest(rewind) + 1;
            cuts &= sure, one_back &= sure, two_back &= sure;
        }
        if ((one_back | two_back) & 1) { /* into the block before */
            if (two_back & 1) ends[n++] = last_but_one;
            if (one_back & 1) ends[n++] = last;
        }
        if (block->later == 0) {
            cuts |= one_back >> 1 | two_back >> 2;
        } else if (one_back | two_back) {
            uint64_t from_two = tm_back(two_back, block->later);
            if (from_two & 1) ends[n++] = last;
            cuts |= tm_back(one_back | from_two, block->later);
        }
        unsigned count = tm_set_bits(cuts);
        size_t *out = ends + n;
        do { /* 16 are enough for most blocks, so the branch is predictable; surplus ends are overwritten */
            for (int k = 0; k < 16; k++) {
                out[k] = at + tm_lowest(cuts);
                cuts &= cuts - 1;
            }
            out += 16;
        } while (cuts);
        n += count;
        if (rewind) return n > 2 ? n - 2 : 0;
        if (block->at_end) {
            *stopped = (size_t)-1;
            return n;
        }
        uint64_t firsts = ~block->later;
        if (size < 64) firsts &= ((uint64_t)1 << size) - 1;
        size_t newest = at + (size_t)tm_log2(firsts);
        firsts &= ~((uint64_t)1 << (newest - at));
        last_but_one = firsts ? at + (size_t)tm_log2(firsts) : last;
        last = newest;
        tm_block *done = block;
        block = coming;
        coming = done;
    }
    *stopped = n <= 2 ? block->at : (size_t)-1;
    return n > 2 ? n - 2 : 0;
}

#else

/* Never called where tm_has_simd is false. */
#define tm_simd_scan(tables, text, start, length, ends, room, stopped) ((ptrdiff_t)0)

#endif
#endif
