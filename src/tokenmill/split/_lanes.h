/* The fast lane of the scanner: the transducer of transducer.py, 64 bytes at a time, without a branch per character.
 *
 * Idea. Whatever the pattern, few states are possible right after a character of a given column of the table (six at
 * most for every pattern that has a name). So a state is known by the column of the last character and a small number,
 * and a step of the machine is a table from small number to small number: one byte shuffle, which takes a cycle or two
 * where a load from a table takes five. Which table it is depends on the text alone, not on the state, so all tables of
 * a block are found ahead of time, by vectors. One table does two bytes at once, and two tables are joined by a shuffle
 * of their own before the state is needed, so that the chain from state to state is one shuffle for four bytes.
 *
 *   1. the columns of 64 bytes: vector look-ups for ASCII; every other character is decoded and looked up by itself;
 *   2. table numbers, one for each pair of bytes: (column of the character before, column, column);
 *   3. 32 steps, each of which yields a byte: the state in bits 0 to 2, the cuts in bits 3 to 6;
 *   4. the cuts to bit masks, and the masks to ends.
 *
 * The second and later bytes of a character have the column `next`, whose steps change nothing; it never stands before
 * a character, so there it serves as the start of the text. The column `end` is the end of the text.
 */
#ifndef TOKENMILL_LANES_H
#define TOKENMILL_LANES_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

typedef struct {
    const uint8_t *pairs;  /* columns * columns * columns tables of 8 bytes, see tm_lane_pairs */
    const uint8_t *ascii;  /* the columns of the ASCII characters, see tm_ascii_columns */
    const uint16_t *index; /* as in Alphabet */
    const uint8_t *pages;
    unsigned columns;
    uint8_t next, end, invalid;
} tm_lane;

/* The room for ends that one block may need: its 64, two of the block before, and what flattening overshoots. */
#define TM_LANE_ROOM 84

/* Makes the tables of pairs out of steps: columns * columns tables of 16 bytes, for each pair (column of the character
 * before, column) from state number to the next one in the low half of a byte, with its action in the high half.
 * A pair's byte has in bit 3 a cut before its first byte, in bit 4 one before its second, in bit 5 one where the
 * character before the first begins, and in bit 6 one where the character before that begins; all four are a rewind. */
static void tm_lane_pairs(uint8_t *pairs, const uint8_t *steps, unsigned columns, unsigned next) {
    for (unsigned before = 0; before < columns; before++)
        for (unsigned first = 0; first < columns; first++)
            for (unsigned second = 0; second < columns; second++, pairs += 8)
                for (unsigned state = 0; state < 8; state++) {
                    unsigned between = first == next ? before : first;
                    unsigned one = steps[(before * columns + first) * 16 + state];
                    unsigned two = steps[(between * columns + second) * 16 + (one & 7)];
                    unsigned a = one >> 4, b = two >> 4;
                    unsigned cuts = (a & 1) | (a & 2) << 1 | (a & 4) << 1 | (b & 1) << 1;
                    /* One back from the second byte is the first, or, if that continues a character, still before it. */
                    cuts |= first == next ? (b & 2) << 1 | (b & 4) << 1 : (b & 2) >> 1 | (b & 4);
                    if (a == 7 || b == 7) cuts = 15;
                    pairs[state] = (uint8_t)((two & 7) | cuts << 3);
                }
}

#if defined(__x86_64__)
#include <immintrin.h>
#define TM_AVX2 __attribute__((target("avx2,bmi,bmi2,lzcnt,popcnt")))

static int tm_lane_supported(void) {
    __builtin_cpu_init();
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2") &&
           __builtin_cpu_supports("popcnt"); /* lzcnt came with bmi on every processor that has AVX2 */
}

/* 64 bytes, ready for the steps. */
typedef struct {
    uint16_t numbers[32];
    uint64_t later;        /* the bytes that continue a character */
    size_t at;             /* where the block begins */
    unsigned size;         /* how many of its bytes are whole characters: 64 or less */
    int at_end;            /* whether the end of the text follows them */
    uint8_t column_before; /* while it is made ready, of the character before the block; then of its own last one */
} tm_block;

/* The columns of 32 bytes of ASCII; those of other bytes mean nothing. `ascii` holds a table for each high digit, from
 * the second one on as the difference (xor) to the one before it: bytes minus 16 k has the top bit, which shuffles to
 * 0, where the high digit is below k, so that the differences up to the high digit add up to its table. */
TM_AVX2 static inline __m256i tm_ascii_columns(__m256i bytes, const uint8_t *ascii) {
    __m256i columns = _mm256_setzero_si256();
    for (int k = 0; k < 8; k++) {
        __m256i table = _mm256_broadcastsi128_si256(_mm_loadu_si128((const __m128i *)(ascii + 16 * k)));
        columns = _mm256_xor_si256(columns, _mm256_shuffle_epi8(table, bytes));
        bytes = _mm256_sub_epi8(bytes, _mm256_set1_epi8(16));
    }
    return columns;
}

/* The numbers of the tables of 16 pairs; `before` has 16 bits for each: the column of the character before it. */
TM_AVX2 static inline void tm_numbers(__m256i before, __m256i here, unsigned columns, uint16_t *numbers) {
    __m256i pair = _mm256_maddubs_epi16(here, _mm256_set1_epi16((short)(columns | 1 << 8)));
    __m256i first = _mm256_mullo_epi16(before, _mm256_set1_epi16((short)(columns * columns)));
    _mm256_storeu_si256((__m256i *)numbers, _mm256_add_epi16(pair, first));
}

/* The columns of the characters beyond ASCII (`high`: their bytes) of the block at text + at: `here` gets them at first
 * bytes and `next` at others, `before` at all of them; what is written behind a character means nothing. Returns how many
 * bytes of the block are whole characters. */
TM_AVX2 static inline unsigned tm_columns_beyond_ascii(const tm_lane *lane, const uint8_t *text, size_t at,
                                                       size_t length, uint64_t high, uint8_t *here, uint8_t *before) {
    const uint32_t later_columns = lane->next * 0x01010100u;
    while (high) {
        unsigned i = (unsigned)_tzcnt_u64(high);
        const uint8_t *p = text + at + i;
        size_t left = length - at - i;
        uint32_t b = p[0], code = 0;
        unsigned size = 1;
        if (b < 0xE0) {
            if (b >= 0xC2 && left >= 2 && (p[1] & 0xC0) == 0x80) {
                code = (b & 0x1F) << 6 | (p[1] & 0x3F);
                size = 2;
            }
        } else if (b < 0xF0) {
            if (left >= 3 && (p[1] & 0xC0) == 0x80 && (p[2] & 0xC0) == 0x80) {
                code = (b & 0x0F) << 12 | (uint32_t)(p[1] & 0x3F) << 6 | (p[2] & 0x3F);
                if (code >= 0x800 && (code < 0xD800 || code > 0xDFFF)) size = 3;
            }
        } else if (b < 0xF5 && left >= 4 && (p[1] & 0xC0) == 0x80 && (p[2] & 0xC0) == 0x80 && (p[3] & 0xC0) == 0x80) {
            code = (b & 0x07) << 18 | (uint32_t)(p[1] & 0x3F) << 12 | (uint32_t)(p[2] & 0x3F) << 6 | (p[3] & 0x3F);
            if (code >= 0x10000 && code < 0x110000) size = 4;
        }
        if (i + size > 64) { /* the bytes of half a character need columns too: they choose which table is read */
            memset(before + i, lane->next, 4);
            memset(here + i, lane->next, 4);
            return i;
        }
        uint8_t column = lane->invalid;
        if (size > 1) column = lane->pages[((size_t)lane->index[code >> 7] << 7) + (code & 127)];
        uint32_t columns = column * 0x01010101u, first = (columns & 0xFF) | later_columns;
        memcpy(before + i, &columns, 4);
        memcpy(here + i, &first, 4);
        high &= ~((((uint64_t)1 << size) - 1) << i);
    }
    return 64;
}

/* Makes a block ready that has other characters than ASCII, or the end of the text. */
TM_AVX2 __attribute__((noinline)) static void tm_prepare_mixed(const tm_lane *lane, const uint8_t *text, size_t length,
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
    __m256i here0 = tm_ascii_columns(bytes0, lane->ascii), here1 = tm_ascii_columns(bytes1, lane->ascii);
    uint64_t high = (uint32_t)_mm256_movemask_epi8(bytes0) | (uint64_t)(uint32_t)_mm256_movemask_epi8(bytes1) << 32;
    unsigned whole = tm_columns_beyond_ascii(lane, text, b->at, length, high, here, before);
    if (whole < b->size) {
        b->size = whole;
        b->at_end = 0;
    }
    /* The top bit of a byte, which blends, tells what is not ASCII. */
    __m256i before0 = _mm256_blendv_epi8(here0, _mm256_loadu_si256((const __m256i *)before), bytes0);
    __m256i before1 = _mm256_blendv_epi8(here1, _mm256_loadu_si256((const __m256i *)(before + 32)), bytes1);
    here0 = _mm256_blendv_epi8(here0, _mm256_loadu_si256((const __m256i *)here), bytes0);
    here1 = _mm256_blendv_epi8(here1, _mm256_loadu_si256((const __m256i *)(here + 32)), bytes1);
    if (b->size < 64) { /* behind it comes the end, or half a pair that changes nothing */
        _mm256_storeu_si256((__m256i *)here, here0);
        _mm256_storeu_si256((__m256i *)(here + 32), here1);
        here[b->size] = b->at_end ? lane->end : lane->next;
        here0 = _mm256_loadu_si256((const __m256i *)here);
        here1 = _mm256_loadu_si256((const __m256i *)(here + 32));
    }
    _mm256_storeu_si256((__m256i *)before, before0);
    _mm256_storeu_si256((__m256i *)(before + 32), before1);
    before[-1] = b->column_before;
    const __m256i low_bytes = _mm256_set1_epi16(0xFF);
    before0 = _mm256_and_si256(_mm256_loadu_si256((const __m256i *)(before - 1)), low_bytes);
    before1 = _mm256_and_si256(_mm256_loadu_si256((const __m256i *)(before + 31)), low_bytes);
    tm_numbers(before0, here0, lane->columns, b->numbers);
    tm_numbers(before1, here1, lane->columns, b->numbers + 16);
    __m256i next = _mm256_set1_epi8((char)lane->next);
    b->later = (uint32_t)_mm256_movemask_epi8(_mm256_cmpeq_epi8(here0, next)) |
               (uint64_t)(uint32_t)_mm256_movemask_epi8(_mm256_cmpeq_epi8(here1, next)) << 32;
    if (b->size) b->column_before = before[b->size - 1];
}

TM_AVX2 static inline void tm_prepare(const tm_lane *lane, const uint8_t *text, size_t length, tm_block *b) {
    if (length - b->at < 64) {
        tm_prepare_mixed(lane, text, length, b);
        return;
    }
    __m256i bytes0 = _mm256_loadu_si256((const __m256i *)(text + b->at));
    __m256i bytes1 = _mm256_loadu_si256((const __m256i *)(text + b->at + 32));
    if (!_mm256_testz_si256(_mm256_or_si256(bytes0, bytes1), _mm256_set1_epi8((char)0x80))) {
        tm_prepare_mixed(lane, text, length, b);
        return;
    }
    __m256i here0 = tm_ascii_columns(bytes0, lane->ascii), here1 = tm_ascii_columns(bytes1, lane->ascii);
    __m256i seconds0 = _mm256_srli_epi16(here0, 8), seconds1 = _mm256_srli_epi16(here1, 8);
    __m256i carried = _mm256_insert_epi16(_mm256_setzero_si256(), b->column_before, 15);
    __m256i before0 = _mm256_alignr_epi8(seconds0, _mm256_permute2x128_si256(carried, seconds0, 0x21), 14);
    __m256i before1 = _mm256_alignr_epi8(seconds1, _mm256_permute2x128_si256(seconds0, seconds1, 0x21), 14);
    tm_numbers(before0, here0, lane->columns, b->numbers);
    tm_numbers(before1, here1, lane->columns, b->numbers + 16);
    b->column_before = (uint8_t)_mm256_extract_epi8(here1, 31);
    b->size = 64;
    b->at_end = 0;
    b->later = 0;
}

/* 16 pairs of bytes. The state stands in all bytes of its vector; the result has that of each pair in its two bytes. */
TM_AVX2 static inline __m256i tm_steps(const uint8_t *pairs, const uint16_t *numbers, __m128i *state) {
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

/* 64 bits of the states of a block: bit `even` of each even byte, and the one above it of each odd byte. */
TM_AVX2 static inline uint64_t tm_bits(__m256i states0, __m256i states1, int even) {
    const __m256i odd_bytes = _mm256_set1_epi16((short)0xFF00);
    const __m128i up = _mm_cvtsi32_si128(7 - even), up_odd = _mm_cvtsi32_si128(6 - even);
    __m256i a = _mm256_blendv_epi8(_mm256_sll_epi16(states0, up), _mm256_sll_epi16(states0, up_odd), odd_bytes);
    __m256i b = _mm256_blendv_epi8(_mm256_sll_epi16(states1, up), _mm256_sll_epi16(states1, up_odd), odd_bytes);
    return (uint32_t)_mm256_movemask_epi8(a) | (uint64_t)(uint32_t)_mm256_movemask_epi8(b) << 32;
}

/* Each bit one character back, past the later bytes of characters; what leaves at the bottom is lost. */
static inline uint64_t tm_back(uint64_t bits, uint64_t later) {
    bits >>= 1;
    while (bits & later) bits = (bits & ~later) | (bits & later) >> 1;
    return bits;
}

/* The contract of Scanner.walk, for room >= TM_LANE_ROOM. */
TM_AVX2 static ptrdiff_t tm_lane_walk(const tm_lane *lane, const uint8_t *text, size_t start, size_t length,
                                      size_t *ends, ptrdiff_t room, size_t *stopped) {
    const uint64_t even_bits = 0x5555555555555555;
    ptrdiff_t n = 0;
    size_t last = start, last_but_one = start; /* where the character before the block begins, and the one before it */
    __m128i state = _mm_setzero_si128();
    tm_block blocks[2], *block = blocks, *coming = blocks + 1;
    block->at = start;
    block->column_before = lane->next; /* as the start of the text */
    tm_prepare(lane, text, length, block);
    while (room - n >= TM_LANE_ROOM) {
        size_t at = block->at;
        unsigned size = block->size;
        /* The next block does not depend on the steps of this one: made ready first, its work overlaps with theirs. */
        coming->at = at + size;
        coming->column_before = block->column_before;
        if (!block->at_end) tm_prepare(lane, text, length, coming);

        __m256i states0 = tm_steps(lane->pairs, block->numbers, &state);
        __m256i states1 = tm_steps(lane->pairs, block->numbers + 16, &state);
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
        do { /* 16 are enough for most blocks, so that the branch is foreseen; what is too much is overwritten */
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

static int tm_lane_supported(void) { return 0; }
static ptrdiff_t tm_lane_walk(const tm_lane *lane, const uint8_t *text, size_t start, size_t length, size_t *ends,
                              ptrdiff_t room, size_t *stopped) {
    (void)lane, (void)text, (void)length, (void)ends, (void)room;
    *stopped = start;
    return 0;
}

#endif
#endif
