/* 64 bytes as one value, and the operations of the SIMD scan on it: AVX2 of x86-64, and NEON of 64-bit ARM.
 *
 * Each kind of processor has its own definitions of the same names, which _simd_scan.h uses.
 */
#ifndef TOKENMILL_SIMD_LANES_H
#define TOKENMILL_SIMD_LANES_H

#include "tokenmill/kernels/_platform.h"

#ifdef TM_X86
#define TM_SIMD TM_TARGET("avx2,bmi,bmi2,lzcnt,popcnt") static
#define tm_has_simd tm_has_avx2

typedef struct { __m256i lo, hi; } tm_bytes;
typedef __m128i tm_state; /* all bytes hold the state */

TM_SIMD inline tm_bytes tm_load(const uint8_t *p) {
    return (tm_bytes){_mm256_loadu_si256((const __m256i *)p), _mm256_loadu_si256((const __m256i *)(p + 32))};
}
TM_SIMD inline void tm_store(uint8_t *p, tm_bytes v) {
    _mm256_storeu_si256((__m256i *)p, v.lo);
    _mm256_storeu_si256((__m256i *)(p + 32), v.hi);
}
TM_SIMD inline uint8_t tm_last(tm_bytes v) { return (uint8_t)_mm256_extract_epi8(v.hi, 31); }
TM_SIMD inline tm_bytes tm_all(uint8_t byte) { return (tm_bytes){_mm256_set1_epi8((char)byte), _mm256_set1_epi8((char)byte)}; }
TM_SIMD inline tm_bytes tm_and(tm_bytes a, tm_bytes b) {
    return (tm_bytes){_mm256_and_si256(a.lo, b.lo), _mm256_and_si256(a.hi, b.hi)};
}

/* The top bits of all bytes. */
TM_SIMD inline uint64_t tm_tops(__m256i lo, __m256i hi) {
    return (uint32_t)_mm256_movemask_epi8(lo) | (uint64_t)(uint32_t)_mm256_movemask_epi8(hi) << 32;
}

/* The bytes above 127, and those equal to `byte`, as bits. */
TM_SIMD inline uint64_t tm_beyond_ascii(tm_bytes v) { return tm_tops(v.lo, v.hi); }
TM_SIMD inline uint64_t tm_equal(tm_bytes v, uint8_t byte) {
    const __m256i all = _mm256_set1_epi8((char)byte);
    return tm_tops(_mm256_cmpeq_epi8(v.lo, all), _mm256_cmpeq_epi8(v.hi, all));
}

/* The bytes from `first` to `last`, as bits. */
TM_SIMD inline uint64_t tm_between(tm_bytes v, uint8_t first, uint8_t last) {
    const __m256i start = _mm256_set1_epi8((char)first), most = _mm256_set1_epi8((char)(last - first));
    __m256i lo = _mm256_sub_epi8(v.lo, start), hi = _mm256_sub_epi8(v.hi, start);
    return tm_tops(_mm256_cmpeq_epi8(_mm256_min_epu8(lo, most), lo), _mm256_cmpeq_epi8(_mm256_min_epu8(hi, most), hi));
}

TM_SIMD inline int tm_is_all_ascii(tm_bytes v) {
    return _mm256_testz_si256(_mm256_or_si256(v.lo, v.hi), _mm256_set1_epi8((char)0x80));
}

/* The bytes of b where those of `by` are above 127, else those of a. */
TM_SIMD inline tm_bytes tm_choose(tm_bytes a, tm_bytes b, tm_bytes by) {
    return (tm_bytes){_mm256_blendv_epi8(a.lo, b.lo, by.lo), _mm256_blendv_epi8(a.hi, b.hi, by.hi)};
}

/* For each pair of bytes, the byte before it as 16 bits; `first` is the one before the first pair. */
TM_SIMD inline tm_bytes tm_before_pairs(tm_bytes v, uint8_t first) {
    __m256i lo = _mm256_srli_epi16(v.lo, 8), hi = _mm256_srli_epi16(v.hi, 8);
    __m256i carried = _mm256_insert_epi16(_mm256_setzero_si256(), first, 15);
    return (tm_bytes){_mm256_alignr_epi8(lo, _mm256_permute2x128_si256(carried, lo, 0x21), 14),
                      _mm256_alignr_epi8(hi, _mm256_permute2x128_si256(lo, hi, 0x21), 14)};
}

/* For each byte the one before it, 0 for the first. */
TM_SIMD inline tm_bytes tm_previous(tm_bytes v) {
    return (tm_bytes){_mm256_alignr_epi8(v.lo, _mm256_permute2x128_si256(v.lo, v.lo, 0x08), 15),
                      _mm256_alignr_epi8(v.hi, _mm256_permute2x128_si256(v.lo, v.hi, 0x21), 15)};
}

/* Makes the table of 128 columns for tm_ascii_columns, or of 64 for tm_columns_from: from the 17th column on, the xor with the
 * column 16 characters before. */
static inline void tm_column_table(uint8_t *table, const uint8_t *columns, int n) {
    for (int i = 0; i < n; i++) table[i] = columns[i] ^ (i < 16 ? 0 : columns[i - 16]);
}

/* The columns of ASCII bytes; the result for other bytes is meaningless. Where the high digit of a byte is below k,
 * byte - 16 k has its top bit set and shuffles to 0, so the xor of all steps up to the high digit is the byte's column. */
TM_SIMD inline __m256i tm_half_columns(__m256i bytes, const uint8_t *tables, int n) {
    __m256i columns = _mm256_setzero_si256();
    for (int k = 0; k < n; k++) {
        __m256i table = _mm256_broadcastsi128_si256(_mm_loadu_si128((const __m128i *)(tables + 16 * k)));
        columns = _mm256_xor_si256(columns, _mm256_shuffle_epi8(table, bytes));
        bytes = _mm256_sub_epi8(bytes, _mm256_set1_epi8(16));
    }
    return columns;
}
TM_SIMD inline tm_bytes tm_ascii_columns(tm_bytes v, const uint8_t *ascii) {
    return (tm_bytes){tm_half_columns(v.lo, ascii, 8), tm_half_columns(v.hi, ascii, 8)};
}

/* The same for the 64 bytes from `first` on; 0 for the 64 before them. */
TM_SIMD inline tm_bytes tm_columns_from(tm_bytes v, uint8_t first, const uint8_t *table) {
    const __m256i start = _mm256_set1_epi8((char)first);
    return (tm_bytes){tm_half_columns(_mm256_sub_epi8(v.lo, start), table, 4), tm_half_columns(_mm256_sub_epi8(v.hi, start), table, 4)};
}

/* The bytes of b where those of v continue a character, else those of a. */
TM_SIMD inline tm_bytes tm_choose_later(tm_bytes a, tm_bytes b, tm_bytes v) {
    const __m256i first = _mm256_set1_epi8((char)0xC0);
    return (tm_bytes){_mm256_blendv_epi8(a.lo, b.lo, _mm256_cmpgt_epi8(first, v.lo)),
                      _mm256_blendv_epi8(a.hi, b.hi, _mm256_cmpgt_epi8(first, v.hi))};
}

/* The table numbers of 32 pairs: `before` is tm_before_pairs of the columns of characters, `here` the columns of the bytes. */
TM_SIMD inline void tm_numbers(tm_bytes before, tm_bytes here, unsigned columns, uint16_t *numbers) {
    const __m256i pair = _mm256_set1_epi16((short)(columns | 1 << 8)), square = _mm256_set1_epi16((short)(columns * columns));
    __m256i lo = _mm256_mullo_epi16(before.lo, square), hi = _mm256_mullo_epi16(before.hi, square);
    _mm256_storeu_si256((__m256i *)numbers, _mm256_add_epi16(_mm256_maddubs_epi16(here.lo, pair), lo));
    _mm256_storeu_si256((__m256i *)(numbers + 16), _mm256_add_epi16(_mm256_maddubs_epi16(here.hi, pair), hi));
}

TM_SIMD inline tm_state tm_state_of(uint8_t state) { return _mm_set1_epi8((char)state); }

/* Runs 16 pairs of bytes. The result has the state after each pair in its two bytes. */
TM_SIMD inline __m256i tm_half_steps(const uint8_t *pairs, const uint16_t *numbers, tm_state *state) {
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

/* Runs the 32 pairs of a block. */
TM_SIMD inline tm_bytes tm_steps(const uint8_t *pairs, const uint16_t *numbers, tm_state *state) {
    __m256i lo = tm_half_steps(pairs, numbers, state);
    return (tm_bytes){lo, tm_half_steps(pairs, numbers + 16, state)};
}

/* 64 bits from the states of a block: bit `even` of each even byte, and bit `even` + 1 of each odd byte. */
TM_SIMD inline uint64_t tm_bits(tm_bytes states, int even) {
    const __m256i odd_bytes = _mm256_set1_epi16((short)0xFF00);
    const __m128i up = _mm_cvtsi32_si128(7 - even), up_odd = _mm_cvtsi32_si128(6 - even);
    return tm_tops(_mm256_blendv_epi8(_mm256_sll_epi16(states.lo, up), _mm256_sll_epi16(states.lo, up_odd), odd_bytes),
                   _mm256_blendv_epi8(_mm256_sll_epi16(states.hi, up), _mm256_sll_epi16(states.hi, up_odd), odd_bytes));
}

/* The number of zero bits below the lowest set bit, 64 without one; the number of set bits. */
TM_SIMD inline size_t tm_lowest(uint64_t x) { return _tzcnt_u64(x); }
TM_SIMD inline unsigned tm_set_bits(uint64_t x) { return (unsigned)_mm_popcnt_u64(x); }

#elif defined(TM_NEON)
#define TM_SIMD static
static inline int tm_has_simd(void) { return 1; }

typedef uint8x16x4_t tm_bytes;
typedef uint8x8_t tm_state; /* all bytes hold the state */

TM_SIMD inline tm_bytes tm_load(const uint8_t *p) {
    return (tm_bytes){{vld1q_u8(p), vld1q_u8(p + 16), vld1q_u8(p + 32), vld1q_u8(p + 48)}};
}
TM_SIMD inline void tm_store(uint8_t *p, tm_bytes v) {
    for (int i = 0; i < 4; i++) vst1q_u8(p + 16 * i, v.val[i]);
}
TM_SIMD inline uint8_t tm_last(tm_bytes v) { return vgetq_lane_u8(v.val[3], 15); }
TM_SIMD inline tm_bytes tm_all(uint8_t byte) {
    return (tm_bytes){{vdupq_n_u8(byte), vdupq_n_u8(byte), vdupq_n_u8(byte), vdupq_n_u8(byte)}};
}
TM_SIMD inline tm_bytes tm_and(tm_bytes a, tm_bytes b) {
    for (int i = 0; i < 4; i++) a.val[i] = vandq_u8(a.val[i], b.val[i]);
    return a;
}

/* One bit of each byte, which is 0 or 255. */
TM_SIMD inline uint64_t tm_mask(tm_bytes v) {
    static const uint8_t bits[16] = {1, 2, 4, 8, 16, 32, 64, 128, 1, 2, 4, 8, 16, 32, 64, 128};
    const uint8x16_t bit = vld1q_u8(bits);
    uint8x16_t lo = vpaddq_u8(vandq_u8(v.val[0], bit), vandq_u8(v.val[1], bit));
    uint8x16_t hi = vpaddq_u8(vandq_u8(v.val[2], bit), vandq_u8(v.val[3], bit));
    uint8x16_t sums = vpaddq_u8(lo, hi);
    return vgetq_lane_u64(vreinterpretq_u64_u8(vpaddq_u8(sums, sums)), 0);
}
TM_SIMD inline uint64_t tm_beyond_ascii(tm_bytes v) {
    for (int i = 0; i < 4; i++) v.val[i] = vcgtq_u8(v.val[i], vdupq_n_u8(127));
    return tm_mask(v);
}
TM_SIMD inline int tm_is_all_ascii(tm_bytes v) {
    return vmaxvq_u8(vorrq_u8(vorrq_u8(v.val[0], v.val[1]), vorrq_u8(v.val[2], v.val[3]))) < 128;
}
TM_SIMD inline uint64_t tm_equal(tm_bytes v, uint8_t byte) {
    for (int i = 0; i < 4; i++) v.val[i] = vceqq_u8(v.val[i], vdupq_n_u8(byte));
    return tm_mask(v);
}
TM_SIMD inline uint64_t tm_between(tm_bytes v, uint8_t first, uint8_t last) {
    for (int i = 0; i < 4; i++) v.val[i] = vcleq_u8(vsubq_u8(v.val[i], vdupq_n_u8(first)), vdupq_n_u8(last - first));
    return tm_mask(v);
}
TM_SIMD inline tm_bytes tm_choose(tm_bytes a, tm_bytes b, tm_bytes by) {
    for (int i = 0; i < 4; i++) a.val[i] = vbslq_u8(vcgtq_u8(by.val[i], vdupq_n_u8(127)), b.val[i], a.val[i]);
    return a;
}
TM_SIMD inline tm_bytes tm_before_pairs(tm_bytes v, uint8_t first) {
    uint8x16_t last = vdupq_n_u8(first);
    for (int i = 0; i < 4; i++) {
        uint8x16_t before = vextq_u8(last, v.val[i], 15);
        last = v.val[i];
        v.val[i] = vandq_u8(before, vreinterpretq_u8_u16(vdupq_n_u16(0xFF)));
    }
    return v;
}
TM_SIMD inline tm_bytes tm_previous(tm_bytes v) {
    uint8x16_t last = vdupq_n_u8(0);
    for (int i = 0; i < 4; i++) {
        uint8x16_t before = vextq_u8(last, v.val[i], 15);
        last = v.val[i];
        v.val[i] = before;
    }
    return v;
}

static inline void tm_column_table(uint8_t *table, const uint8_t *columns, int n) { memcpy(table, columns, n); }

/* A look-up out of the range of the first table is 0, and out of the range of the second one keeps the first result. */
TM_SIMD inline tm_bytes tm_ascii_columns(tm_bytes v, const uint8_t *ascii) {
    const tm_bytes low = tm_load(ascii), high = tm_load(ascii + 64);
    for (int i = 0; i < 4; i++)
        v.val[i] = vqtbx4q_u8(vqtbl4q_u8(low, v.val[i]), high, vsubq_u8(v.val[i], vdupq_n_u8(64)));
    return v;
}
TM_SIMD inline tm_bytes tm_columns_from(tm_bytes v, uint8_t first, const uint8_t *table) {
    const tm_bytes columns = tm_load(table);
    for (int i = 0; i < 4; i++) v.val[i] = vqtbl4q_u8(columns, vsubq_u8(v.val[i], vdupq_n_u8(first)));
    return v;
}
TM_SIMD inline tm_bytes tm_choose_later(tm_bytes a, tm_bytes b, tm_bytes v) {
    for (int i = 0; i < 4; i++)
        a.val[i] = vbslq_u8(vcltq_s8(vreinterpretq_s8_u8(v.val[i]), vdupq_n_s8(-64)), b.val[i], a.val[i]);
    return a;
}
TM_SIMD inline void tm_numbers(tm_bytes before, tm_bytes here, unsigned columns, uint16_t *numbers) {
    for (int i = 0; i < 4; i++) {
        uint16x8_t pair = vreinterpretq_u16_u8(here.val[i]), last = vreinterpretq_u16_u8(before.val[i]);
        uint16x8_t n = vmlaq_n_u16(vshrq_n_u16(pair, 8), vandq_u16(pair, vdupq_n_u16(0xFF)), (uint16_t)columns);
        n = vmlaq_n_u16(n, last, (uint16_t)(columns * columns));
        vst1q_u16(numbers + 8 * i, n);
    }
}

TM_SIMD inline tm_state tm_state_of(uint8_t state) { return vdup_n_u8(state); }

TM_SIMD inline tm_bytes tm_steps(const uint8_t *pairs, const uint16_t *numbers, tm_state *state) {
    const uint8x8_t low_bits = vdup_n_u8(7);
    uint8x8_t s = *state;
    uint8_t bytes[64];
    for (int k = 0; k < 32; k += 2) { /* tbl reads all bits of an index, so the cuts are masked */
        uint8x8_t first = vld1_u8(pairs + 8 * (size_t)numbers[k]), number = vand_u8(s, low_bits);
        uint8x8_t both = vtbl1_u8(vld1_u8(pairs + 8 * (size_t)numbers[k + 1]), vand_u8(first, low_bits));
        uint8x8_t middle = vtbl1_u8(first, number);
        s = vtbl1_u8(both, number);
        vst1_lane_u32((uint32_t *)(void *)(bytes + 2 * k), vreinterpret_u32_u16(vzip1_u16(vreinterpret_u16_u8(middle), vreinterpret_u16_u8(s))), 0);
    }
    *state = s;
    return tm_load(bytes);
}
TM_SIMD inline uint64_t tm_bits(tm_bytes states, int even) {
    const uint8x16_t bit = vreinterpretq_u8_u16(vdupq_n_u16((uint16_t)(1u << even | 2u << (even + 8))));
    for (int i = 0; i < 4; i++) states.val[i] = vtstq_u8(states.val[i], bit);
    return tm_mask(states);
}
TM_SIMD inline size_t tm_lowest(uint64_t x) { return x ? (size_t)tm_ctz(x) : 64; }
TM_SIMD inline unsigned tm_set_bits(uint64_t x) { return (unsigned)__builtin_popcountll(x); }

#else

static inline int tm_has_simd(void) { return 0; }
static inline void tm_column_table(uint8_t *table, const uint8_t *columns, int n) { memcpy(table, columns, n); }

#endif
#endif
