/* The SIMD scan: runs the transducer of transducer.py over 64 bytes at a time, without a branch per character.
 *
 * Only a few states are possible right after a character of a given column of the table: at most six for every named
 * pattern. So the column of the last character and a small number identify a state, and one step of the machine maps
 * small numbers to small numbers. A byte shuffle does that in one or two cycles; a load from a table takes five. The
 * choice of the map depends on the text alone, not on the state, so vector code finds all maps of a block ahead of
 * time. One map covers two bytes, and two maps are composed by a shuffle before the state is needed. The dependency
 * chain from state to state is therefore one shuffle per four bytes.
 *
 *   1. Find the columns of 64 bytes: vector look-ups for ASCII, scalar decoding for every other character.
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

typedef struct {
    const uint8_t *pairs;  /* columns * columns * columns tables of 8 bytes: see tm_simd_pairs */
    const uint8_t *ascii;  /* the columns of the ASCII characters, see tm_ascii_columns */
    const uint16_t *index; /* as in Alphabet */
    const uint8_t *pages;
    unsigned columns;
    uint8_t next, end, invalid;
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

#ifdef TM_X86
#define TM_AVX2 TM_TARGET("avx2,bmi,bmi2,lzcnt,popcnt") static

/* A block of 64 bytes, prepared for the steps. */
typedef struct {
    uint16_t numbers[32];
    uint64_t later;        /* the continuation bytes, as bits */
    size_t at;             /* where the block begins */
    unsigned size;         /* how many of its bytes form whole characters: at most 64 */
    int at_end;            /* whether the end of the text follows */
    uint8_t column_before; /* during preparation the column of the character before the block, then of its last one */
} tm_block;

/* The columns of 32 ASCII bytes; the result for other bytes is meaningless. `ascii` holds one table per high digit, each
 * stored as the xor with the table before it. Where the high digit is below k, bytes - 16 k has its top bit set and
 * shuffles to 0, so the xor of all steps up to the high digit is the table of that digit. */
TM_AVX2 inline __m256i tm_ascii_columns(__m256i bytes, const uint8_t *ascii) {
    __m256i columns = _mm256_setzero_si256();
    for (int k = 0; k < 8; k++) {
        __m256i table = _mm256_broadcastsi128_si256(_mm_loadu_si128((const __m128i *)(ascii + 16 * k)));
        columns = _mm256_xor_si256(columns, _mm256_shuffle_epi8(table, bytes));
        bytes = _mm256_sub_epi8(bytes, _mm256_set1_epi8(16));
    }
    return columns;
}

/* The table numbers of 16 pairs. `before` holds 16 bits per pair: the column of the previous character. */
TM_AVX2 inline void tm_numbers(__m256i before, __m256i here, unsigned columns, uint16_t *numbers) {
    __m256i pair = _mm256_maddubs_epi16(here, _mm256_set1_epi16((short)(columns | 1 << 8)));
    __m256i first = _mm256_mullo_epi16(before, _mm256_set1_epi16((short)(columns * columns)));
    _mm256_storeu_si256((__m256i *)numbers, _mm256_add_epi16(pair, first));
}

/* Writes the columns of the non-ASCII characters of the block at text + at; `high` marks their bytes. `here` gets the
 * column at first bytes and `next` at continuation bytes, `before` gets the column at all of them. Bytes written after a
 * character are meaningless. Returns how many bytes of the block form whole characters. */
TM_AVX2 inline unsigned tm_columns_beyond_ascii(const tm_simd_tables *tables, const uint8_t *text, size_t at,
                                                       size_t length, uint64_t high, uint8_t *here, uint8_t *before) {
    const uint32_t later_columns = tables->next * 0x01010100u;
    while (high) {
        unsigned i = (unsigned)_tzcnt_u64(high);
        const uint8_t *p = text + at + i;
        uint32_t code;
        size_t size = tm_utf8_read(p, length - at - i, &code);
        uint8_t column = tables->invalid;
        if (size)
            column = tables->pages[((size_t)tables->index[code >> 7] << 7) + (code & 127)];
        else
            size = 1;
        if (i + size > 64) { /* the bytes of half a character need columns too, because they select a table */
            memset(before + i, tables->next, 4);
            memset(here + i, tables->next, 4);
            return i;
        }
        uint32_t columns = column * 0x01010101u, first = (columns & 0xFF) | later_columns;
        memcpy(before + i, &columns, 4);
        memcpy(here + i, &first, 4);
        high &= ~((((uint64_t)1 << size) - 1) << i);
    }
    return 64;
}

/* Prepares a block that holds non-ASCII characters or the end of the text. */
TM_AVX2 TM_NOINLINE void tm_prepare_mixed(const tm_simd_tables *tables, const uint8_t *text, size_t length,
                                                               tm_block *b) {
    const uint8_t *bytes = text + b->at;
    uint8_t padded[64], here[64 + 4], before_bytes[32 + 64 + 4], *before = before_bytes + 32;
    b->size = 64;
    if (length - b->at < 64) {
        b->size = (unsigned)(length - b->at);
        memset(padded, 0, 64);
        memcpy(padded, bytes, b->size);
        bytes = padded;
    }
    b->at_end = b->size < 64;
    __m256i bytes0 = _mm256_loadu_si256((const __m256i *)bytes);
    __m256i bytes1 = _mm256_loadu_si256((const __m256i *)(bytes + 32));
    __m256i here0 = tm_ascii_columns(bytes0, tables->ascii), here1 = tm_ascii_columns(bytes1, tables->ascii);
    uint64_t high = (uint32_t)_mm256_movemask_epi8(bytes0) | (uint64_t)(uint32_t)_mm256_movemask_epi8(bytes1) << 32;
    unsigned whole = tm_columns_beyond_ascii(tables, text, b->at, length, high, here, before);
    if (whole < b->size) {
        b->size = whole;
        b->at_end = 0;
    }
    /* blendv selects by the top bit of each byte, which is set for non-ASCII. */
    __m256i before0 = _mm256_blendv_epi8(here0, _mm256_loadu_si256((const __m256i *)before), bytes0);
    __m256i before1 = _mm256_blendv_epi8(here1, _mm256_loadu_si256((const __m256i *)(before + 32)), bytes1);
    here0 = _mm256_blendv_epi8(here0, _mm256_loadu_si256((const __m256i *)here), bytes0);
    here1 = _mm256_blendv_epi8(here1, _mm256_loadu_si256((const __m256i *)(here + 32)), bytes1);
    if (b->size < 64) { /* the next byte is the end of the text, or the no-op half of a pair */
        _mm256_storeu_si256((__m256i *)here, here0);
        _mm256_storeu_si256((__m256i *)(here + 32), here1);
        here[b->size] = b->at_end ? tables->end : tables->next;
        here0 = _mm256_loadu_si256((const __m256i *)here);
        here1 = _mm256_loadu_si256((const __m256i *)(here + 32));
    }
    _mm256_storeu_si256((__m256i *)before, before0);
    _mm256_storeu_si256((__m256i *)(before + 32), before1);
    before[-1] = b->column_before;
    const __m256i low_bytes = _mm256_set1_epi16(0xFF);
    before0 = _mm256_and_si256(_mm256_loadu_si256((const __m256i *)(before - 1)), low_bytes);
    before1 = _mm256_and_si256(_mm256_loadu_si256((const __m256i *)(before + 31)), low_bytes);
    tm_numbers(before0, here0, tables->columns, b->numbers);
    tm_numbers(before1, here1, tables->columns, b->numbers + 16);
    __m256i next = _mm256_set1_epi8((char)tables->next);
    b->later = (uint32_t)_mm256_movemask_epi8(_mm256_cmpeq_epi8(here0, next)) |
               (uint64_t)(uint32_t)_mm256_movemask_epi8(_mm256_cmpeq_epi8(here1, next)) << 32;
    if (b->size) b->column_before = before[b->size - 1];
}

TM_AVX2 inline void tm_prepare(const tm_simd_tables *tables, const uint8_t *text, size_t length, tm_block *b) {
    if (length - b->at < 64) {
        tm_prepare_mixed(tables, text, length, b);
        return;
    }
    __m256i bytes0 = _mm256_loadu_si256((const __m256i *)(text + b->at));
    __m256i bytes1 = _mm256_loadu_si256((const __m256i *)(text + b->at + 32));
    if (!_mm256_testz_si256(_mm256_or_si256(bytes0, bytes1), _mm256_set1_epi8((char)0x80))) {
        tm_prepare_mixed(tables, text, length, b);
        return;
    }
    __m256i here0 = tm_ascii_columns(bytes0, tables->ascii), here1 = tm_ascii_columns(bytes1, tables->ascii);
    __m256i seconds0 = _mm256_srli_epi16(here0, 8), seconds1 = _mm256_srli_epi16(here1, 8);
    __m256i carried = _mm256_insert_epi16(_mm256_setzero_si256(), b->column_before, 15);
    __m256i before0 = _mm256_alignr_epi8(seconds0, _mm256_permute2x128_si256(carried, seconds0, 0x21), 14);
    __m256i before1 = _mm256_alignr_epi8(seconds1, _mm256_permute2x128_si256(seconds0, seconds1, 0x21), 14);
    tm_numbers(before0, here0, tables->columns, b->numbers);
    tm_numbers(before1, here1, tables->columns, b->numbers + 16);
    b->column_before = (uint8_t)_mm256_extract_epi8(here1, 31);
    b->size = 64;
    b->at_end = 0;
    b->later = 0;
}

/* Runs 16 pairs of bytes. All bytes of `state` hold the state; the result holds the state after each pair in its two bytes. */
TM_AVX2 inline __m256i tm_steps(const uint8_t *pairs, const uint16_t *numbers, __m128i *state) {
    __m128i s = *state, first, both, middle, halves[2];
#define TM_TABLE(j) _mm_castpd_si128(_mm_loaddup_pd((const double *)(pairs + 8 * (size_t)numbers[j])))
#define TM_TWO_PAIRS(k)                                              \
    first = TM_TABLE(8 * h + k);                                     \
    both = _mm_shuffle_epi8(TM_TABLE(8 * h + k + 1), first);         \
    middle = _mm_shuffle_epi8(first, s);                             \
    s = _mm_shuffle_epi8(both, s);                                   \
    half = _mm_blend_epi16(half, middle, 1 << k);                    \
    half = _mm_blend_epi16(half, s, 2 << k);
    for (int h = 0; h < 2; h++) {
        __m128i half = _mm_setzero_si128();
        TM_TWO_PAIRS(0) TM_TWO_PAIRS(2) TM_TWO_PAIRS(4) TM_TWO_PAIRS(6)
        halves[h] = half;
    }
#undef TM_TWO_PAIRS
#undef TM_TABLE
    *state = s;
    return _mm256_set_m128i(halves[1], halves[0]);
}

/* 64 bits from the states of a block: bit `even` of each even byte, and bit `even` + 1 of each odd byte. */
TM_AVX2 inline uint64_t tm_bits(__m256i states0, __m256i states1, int even) {
    const __m256i odd_bytes = _mm256_set1_epi16((short)0xFF00);
    const __m128i up = _mm_cvtsi32_si128(7 - even), up_odd = _mm_cvtsi32_si128(6 - even);
    __m256i a = _mm256_blendv_epi8(_mm256_sll_epi16(states0, up), _mm256_sll_epi16(states0, up_odd), odd_bytes);
    __m256i b = _mm256_blendv_epi8(_mm256_sll_epi16(states1, up), _mm256_sll_epi16(states1, up_odd), odd_bytes);
    return (uint32_t)_mm256_movemask_epi8(a) | (uint64_t)(uint32_t)_mm256_movemask_epi8(b) << 32;
}

/* Moves each bit one character back, past continuation bytes. Bits that leave at the bottom are lost. */
static inline uint64_t tm_back(uint64_t bits, uint64_t later) {
    bits >>= 1;
    while (bits & later) bits = (bits & ~later) | (bits & later) >> 1;
    return bits;
}

/* Same contract as Scanner.run_transducer, for room >= TM_SIMD_ROOM. */
TM_AVX2 ptrdiff_t tm_simd_scan(const tm_simd_tables *tables, const uint8_t *text, size_t start, size_t length,
                                      size_t *ends, ptrdiff_t room, size_t *stopped) {
    const uint64_t even_bits = 0x5555555555555555;
    ptrdiff_t n = 0;
    size_t last = start, last_but_one = start; /* where the last two characters before the block begin */
    __m128i state = _mm_setzero_si128();
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

        __m256i states0 = tm_steps(tables->pairs, block->numbers, &state);
        __m256i states1 = tm_steps(tables->pairs, block->numbers + 16, &state);
        uint64_t cuts = tm_bits(states0, states1, 3);
        uint64_t backs = tm_bits(states0, states1, 5);
        uint64_t one_back = backs & even_bits, two_back = backs >> 1 & even_bits;
        uint64_t rewind = one_back & two_back & cuts & cuts >> 1;
        if (size < 64) { /* the end of the text, or of its whole characters in this block */
            uint64_t valid = ((uint64_t)1 << size) - 1 + ((uint64_t)block->at_end << size);
            cuts &= valid, one_back &= valid, two_back &= valid, rewind &= valid;
            if (size) {
                uint8_t bytes[64];
                _mm256_storeu_si256((__m256i *)bytes, states0);
                _mm256_storeu_si256((__m256i *)(bytes + 32), states1);
                state = _mm_set1_epi8((char)bytes[size - 1]);
            }
        }
        if (rewind) {
            uint64_t sure = _blsmsk_u64(rewind) >> 1;
            *stopped = at + _tzcnt_u64(rewind) + 1;
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
        unsigned count = (unsigned)_mm_popcnt_u64(cuts);
        size_t *out = ends + n;
        do { /* 16 are enough for most blocks, so the branch is predictable; surplus ends are overwritten */
            for (int k = 0; k < 16; k++) {
                out[k] = at + _tzcnt_u64(cuts);
                cuts = _blsr_u64(cuts);
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
        size_t newest = at + 63 - _lzcnt_u64(firsts);
        firsts &= ~((uint64_t)1 << (newest - at));
        last_but_one = firsts ? at + 63 - _lzcnt_u64(firsts) : last;
        last = newest;
        tm_block *done = block;
        block = coming;
        coming = done;
    }
    *stopped = n <= 2 ? block->at : (size_t)-1;
    return n > 2 ? n - 2 : 0;
}

#else

static ptrdiff_t tm_simd_scan(const tm_simd_tables *tables, const uint8_t *text, size_t start, size_t length, size_t *ends,
                              ptrdiff_t room, size_t *stopped) {
    (void)tables, (void)text, (void)length, (void)ends, (void)room;
    *stopped = start;
    return 0;
}

#endif
#endif
