/* One segment of the working form: sums of weights over groups of places, scores from them, weights moved by them.

A segment has some candidates, numbered from 0, and features, of which we see only the places of their weights. Places
of the same candidates form a group. A mask says which candidates those are: bit c stands for candidate c.

A chunk is up to 16 places of one group with the group's mask. Their weights are added up once, for all candidates of
the mask. 16 chunks side by side make a slab, so that a vector register adds a row of 16 weights to 16 sums at once:

    chunk        0   1   2       15         A slab has as many rows as its first chunk has places. Chunks stand by
    mask       m0  m1  m2  ...  m15         falling size, so that no other chunk of the slab has more. Where a chunk
    row 0       7   2   9  ...    0         is shorter stands a pad: place 0, whose weight is always 0. A chunk without
    row 1       8   4   0  ...    0         places fills up the last slab; its mask is 0.
    row 2      11   0   0  ...    0

The score of a candidate is the sum of the even chunks that it has, plus the sum of the odd ones. Two bodies, one
portable and one for AVX-512, chosen at run time, do the same additions of single floats in the same order, so that
they give the same bits.

The layout. A segment is a blob of 32-bit words; a mask is 64 bits wide for every 64 candidates, low words first:

    head      SLAB_HEAD words: how many chunks (without those that fill up), slabs, 64-bit words of a mask, and dormant
              groups there are, where the dormant groups begin, and 0
    sizes     a byte for each of SLAB * slabs chunks: how many places it has
    masks     of each of SLAB * slabs chunks
    places    slab by slab, row by row
    dormant   of each dormant group: its mask, how many places, 0, the places, and a 0 if they are odd in number

This file is all that C and Cython know of the layout (slab.pxd declares it); _reference/slab.py is its twin. What a
dormant group is, and in which order things stand: rampion/sets/packed.py */

#ifndef RAMPION_SLAB_H
#define RAMPION_SLAB_H

#include "machine.h"

enum { SLAB = 16 }; /* chunks in a slab, and the most places of a chunk */

enum { SLAB_CHUNKS, SLAB_SLABS, SLAB_WORDS, SLAB_DORMANT, SLAB_DORMANT_AT, SLAB_HEAD = 6 }; /* words of the head */

#if defined(__x86_64__) && RAMPION_GNU
#define SLAB_WIDE 1
#include <immintrin.h>
#define SLAB_AVX512 __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl")))
static inline int slab_is_wide(void) {
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
           __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
}
#else
#define SLAB_WIDE 0
static inline int slab_is_wide(void) { return 0; }
#endif

/* GCC's vectoriser makes gathers of a load and a store each 1.7 times slower. */
#if RAMPION_GNU && !defined(__clang__)
#define SLAB_SCALAR __attribute__((unused, noinline, optimize("no-tree-vectorize,no-tree-slp-vectorize")))
#else
#define SLAB_SCALAR RAMPION_UNUSED
#endif

/* The active part of a blob. */
typedef struct {
    int64_t slabs, words, size; /* slabs, 64-bit words of a mask, places with pads */
    const uint8_t *sizes;
    const uint32_t *masks, *places;
    const char *after; /* what to fetch while the weights are gathered */
    int64_t bytes;
} slab_t;

static inline slab_t slab_open(const uint32_t *blob) {
    slab_t found = {blob[SLAB_SLABS], blob[SLAB_WORDS], 0, (const uint8_t *)(blob + SLAB_HEAD), 0, 0, 0, 0};
    found.masks = blob + SLAB_HEAD + SLAB / 4 * found.slabs;
    found.places = found.masks + 2 * SLAB * found.slabs * found.words;
    found.size = blob + blob[SLAB_DORMANT_AT] - found.places;
    return found;
}

/* Bits 64 * word and up of the mask that begins at `mask`. */
static inline uint64_t slab_word(const uint32_t *mask, int64_t word) {
    return mask[2 * word] | (uint64_t)mask[2 * word + 1] << 32;
}

/* The same of the mask of a chunk. */
static inline uint64_t slab_mask(const slab_t *slab, int64_t chunk, int64_t word) {
    return slab_word(slab->masks + 2 * (chunk * slab->words + word), 0);
}

/* How many words a dormant group takes: its mask, two more, its places, and a pad if they are odd in number. */
static inline int64_t slab_dormant_size(int64_t words, int64_t places) {
    return 2 * words + 2 + places + places % 2;
}

/* Fetch the cache lines of size bytes. */
static inline void slab_fetch(const void *start, int64_t size) {
    for (int64_t at = 0; at < size; at += 64) rampion_prefetch((const char *)start + at);
}

/* The weights of all places, pads too; meanwhile the next segment's weights, and what is after, are fetched. */
SLAB_SCALAR static void slab_gather(const slab_t *slab, const slab_t *next, const float *weights, float *found) {
    const uint32_t *places = slab->places, *coming = next->places;
    int64_t i = 0, at = 0, both = slab->size < next->size ? slab->size : next->size;
    for (; i < both; i += SLAB, at += 64) {
        if (at < slab->bytes) rampion_prefetch(slab->after + at);
        for (int j = 0; j < SLAB; j++) rampion_prefetch(weights + coming[i + j]);
        for (int j = 0; j < SLAB; j++) found[i + j] = weights[places[i + j]];
    }
    for (int64_t k = i; k < next->size; k++) rampion_prefetch(weights + coming[k]);
    for (; i < slab->size; i++) found[i] = weights[places[i]];
    if (at < slab->bytes) slab_fetch(slab->after + at, slab->bytes - at);
}

#if RAMPION_GNU
typedef float slab_floats __attribute__((vector_size(16)));
typedef int32_t slab_ints __attribute__((vector_size(16)));
typedef float slab_loose __attribute__((vector_size(16), aligned(4), may_alias));

/* The sum of each chunk of each slab, row upon row. */
static inline void slab_sum(const slab_t *slab, const float *found, float *sums) {
    for (int64_t at = 0; at < slab->slabs; at++, sums += SLAB) {
        const slab_loose *row = (const slab_loose *)found;
        slab_floats a = row[0], b = row[1], c = row[2], d = row[3];
        int rows = slab->sizes[SLAB * at];
        for (int i = 1; i < rows; i++) row += 4, a += row[0], b += row[1], c += row[2], d += row[3];
        slab_loose *sum = (slab_loose *)sums;
        sum[0] = a, sum[1] = b, sum[2] = c, sum[3] = d;
        found += SLAB * rows;
    }
}

static const slab_ints slab_lanes[16] = {
    {0, 0, 0, 0},  {-1, 0, 0, 0},  {0, -1, 0, 0},  {-1, -1, 0, 0},
    {0, 0, -1, 0}, {-1, 0, -1, 0}, {0, -1, -1, 0}, {-1, -1, -1, 0},
    {0, 0, 0, -1}, {-1, 0, 0, -1}, {0, -1, 0, -1}, {-1, -1, 0, -1},
    {0, 0, -1, -1}, {-1, 0, -1, -1}, {0, -1, -1, -1}, {-1, -1, -1, -1},
};

/* For 4 * fours candidates, totals[first ..] = the sum of the even chunks that one has + the sum of the odd ones.
   Four candidates at a time: their bits of a chunk's mask pick one of slab_lanes, which lets the sum through or not. */
RAMPION_INLINE void slab_fours(
    const slab_t *slab, const float *sums, int64_t first, int fours, float *totals) {
    slab_floats even[4] = {{0}}, odd[4] = {{0}};
    for (int64_t k = 0; k < SLAB * slab->slabs; k += 2) {
        uint64_t has = slab_mask(slab, k, first / 64) >> first % 64;
        uint64_t also = slab_mask(slab, k + 1, first / 64) >> first % 64;
        slab_ints sum = (slab_ints)(slab_floats){sums[k], sums[k], sums[k], sums[k]};
        slab_ints other = (slab_ints)(slab_floats){sums[k + 1], sums[k + 1], sums[k + 1], sums[k + 1]};
        for (int i = 0; i < fours; i++) {
            even[i] += (slab_floats)(sum & slab_lanes[has >> 4 * i & 15]);
            odd[i] += (slab_floats)(other & slab_lanes[also >> 4 * i & 15]);
        }
    }
    for (int i = 0; i < fours; i++) {
        slab_floats total = even[i] + odd[i];
        for (int j = 0; j < 4; j++) totals[first + 4 * i + j] = total[j];
    }
}
#else /* the same sums, one at a time */
static inline void slab_sum(const slab_t *slab, const float *found, float *sums) {
    for (int64_t at = 0; at < slab->slabs; at++, sums += SLAB) {
        int rows = slab->sizes[SLAB * at];
        for (int j = 0; j < SLAB; j++) sums[j] = found[j];
        for (int i = 1; i < rows; i++)
            for (int j = 0; j < SLAB; j++) sums[j] += found[SLAB * i + j];
        found += SLAB * rows;
    }
}

static inline void slab_fours(const slab_t *slab, const float *sums, int64_t first, int fours, float *totals) {
    float even[16] = {0}, odd[16] = {0};
    for (int64_t k = 0; k < SLAB * slab->slabs; k += 2) {
        uint64_t has = slab_mask(slab, k, first / 64) >> first % 64;
        uint64_t also = slab_mask(slab, k + 1, first / 64) >> first % 64;
        for (int i = 0; i < 4 * fours; i++) {
            even[i] += has >> i & 1 ? sums[k] : 0.0f;
            odd[i] += also >> i & 1 ? sums[k + 1] : 0.0f;
        }
    }
    for (int i = 0; i < 4 * fours; i++) totals[first + i] = even[i] + odd[i];
}
#endif

/* Any number of candidates, 16 at a time; totals has room for the next multiple of 64. */
static void slab_total(const slab_t *slab, const float *found, int64_t candidates, float *sums, float *totals) {
    int64_t first = 0;
    slab_sum(slab, found, sums);
    for (; first + 8 < candidates; first += 16) slab_fours(slab, sums, first, 4, totals);
    if (first + 4 < candidates) slab_fours(slab, sums, first, 2, totals);
    else if (first < candidates) slab_fours(slab, sums, first, 1, totals);
}

#if SLAB_WIDE
RAMPION_INLINE SLAB_AVX512 void slab_sixteens(
    const slab_t *slab, const float *sums, int64_t word, int sixteens, float *totals) {
    __m512 even[4], odd[4];
    for (int i = 0; i < sixteens; i++) even[i] = odd[i] = _mm512_setzero_ps();
    for (int64_t k = 0; k < SLAB * slab->slabs; k += 2) {
        uint64_t has = slab_mask(slab, k, word), also = slab_mask(slab, k + 1, word);
        __m512 sum = _mm512_set1_ps(sums[k]), other = _mm512_set1_ps(sums[k + 1]);
        for (int i = 0; i < sixteens; i++) {
            even[i] = _mm512_mask_add_ps(even[i], (__mmask16)(has >> 16 * i), even[i], sum);
            odd[i] = _mm512_mask_add_ps(odd[i], (__mmask16)(also >> 16 * i), odd[i], other);
        }
    }
    for (int i = 0; i < sixteens; i++) _mm512_storeu_ps(totals + 16 * i, _mm512_add_ps(even[i], odd[i]));
}

static SLAB_AVX512 void slab_total_wide(
    const slab_t *slab, const float *found, int64_t candidates, float *sums, float *totals) {
    float *sum = sums;
    for (int64_t at = 0; at < slab->slabs; at++, sum += SLAB) {
        __m512 row = _mm512_loadu_ps(found);
        int rows = slab->sizes[SLAB * at];
        for (found += SLAB; --rows; found += SLAB) row = _mm512_add_ps(row, _mm512_loadu_ps(found));
        _mm512_storeu_ps(sum, row);
    }
    for (int64_t word = 0; word < slab->words; word++, totals += 64) {
        int64_t rest = candidates - 64 * word;
        if (rest > 48) slab_sixteens(slab, sums, word, 4, totals);
        else if (rest > 32) slab_sixteens(slab, sums, word, 3, totals);
        else if (rest > 16) slab_sixteens(slab, sums, word, 2, totals);
        else slab_sixteens(slab, sums, word, 1, totals);
    }
}

static SLAB_AVX512 uint32_t slab_having_wide(const slab_t *slab, int64_t at, int64_t candidate) {
    const uint32_t *masks = slab->masks + 2 * SLAB * at; /* of one word each */
    __m512i bit = _mm512_set1_epi64((int64_t)(UINT64_C(1) << candidate));
    return (uint32_t)_mm512_test_epi64_mask(_mm512_loadu_si512(masks), bit) |
           (uint32_t)_mm512_test_epi64_mask(_mm512_loadu_si512(masks + SLAB), bit) << 8;
}
#endif

/* totals[c] = what the segment's active places weigh in candidate c. */
static inline void slab_score(
    int wide, const slab_t *slab, const slab_t *next, const float *weights, int64_t candidates, float *found,
    float *sums, float *totals) {
    slab_gather(slab, next, weights, found);
#if SLAB_WIDE
    if (wide) {
        slab_total_wide(slab, found, candidates, sums, totals);
        return;
    }
#endif
    slab_total(slab, found, candidates, sums, totals);
}

/* Bit i: chunk i of the slab has the candidate. */
static inline uint32_t slab_having(int wide, const slab_t *slab, int64_t at, int64_t candidate) {
#if SLAB_WIDE
    if (wide && slab->words == 1) return slab_having_wide(slab, at, candidate);
#endif
    uint32_t having = 0;
    for (int i = 0; i < SLAB; i++)
        having |= (uint32_t)(slab_mask(slab, SLAB * at + i, candidate / 64) >> candidate % 64 & 1) << i;
    return having;
}

/* Move the weights of each place in a chunk, in row order. */
static inline void slab_shift(const uint32_t *places, int size, float delta, float *weights) {
    for (int row = 0; row < size; row++) weights[places[SLAB * row]] += delta;
}

/* What one candidate has and the other has not moves by delta, or by -delta. */
SLAB_SCALAR static void slab_part(
    int wide, const slab_t *slab, int64_t up, int64_t down, float delta, float *weights) {
    const uint32_t *places = slab->places;
    for (int64_t at = 0; at < slab->slabs; at++) {
        const uint8_t *sizes = slab->sizes + SLAB * at;
        uint32_t risen = slab_having(wide, slab, at, up);
        for (uint32_t moved = risen ^ slab_having(wide, slab, at, down); moved; moved &= moved - 1) {
            int i = rampion_lowest(moved);
            slab_shift(places + i, sizes[i], risen >> i & 1 ? delta : -delta, weights);
        }
        places += SLAB * sizes[0];
    }
}

/* Every place moves by the sum of steps[c] over the candidates c of its chunk that are touched, rising. */
SLAB_SCALAR static void slab_move(
    const slab_t *slab, const uint64_t *touched, const float *steps, float *weights) {
    const uint32_t *places = slab->places;
    for (int64_t at = 0; at < slab->slabs; at++) {
        const uint8_t *sizes = slab->sizes + SLAB * at;
        for (int i = 0; i < SLAB; i++) {
            float delta = 0.0f;
            for (int64_t word = 0; word < slab->words; word++)
                for (uint64_t bits = slab_mask(slab, SLAB * at + i, word) & touched[word]; bits; bits &= bits - 1)
                    delta += steps[64 * word + rampion_lowest(bits)];
            if (delta != 0.0f) slab_shift(places + i, sizes[i], delta, weights);
        }
        places += SLAB * sizes[0];
    }
}

#endif
