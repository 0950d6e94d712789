/* One segment of a working form: sums of weights over groups of places, scores from them, weights moved by them.

Two bodies, one portable and one for AVX-512, chosen at run time, do the same additions of single floats in the same
order, so that they give the same bits. Layout of a blob: rampion/slabs.py. Twin: rampion/_reference/slab.py */

#ifndef RAMPION_SLAB_H
#define RAMPION_SLAB_H

#include <stdint.h>

#define SLAB 16 /* chunks in a slab */

#if defined(__x86_64__) && (defined(__GNUC__) || defined(__clang__))
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
#if defined(__GNUC__) && !defined(__clang__)
#define SLAB_SCALAR __attribute__((unused, noinline, optimize("no-tree-vectorize,no-tree-slp-vectorize")))
#else
#define SLAB_SCALAR __attribute__((unused))
#endif

typedef struct {
    int64_t slabs, words, size; /* slabs, u64 in a mask, places with pads */
    const uint8_t *sizes;
    const uint32_t *masks, *places;
    const char *after; /* what to fetch while the weights are gathered */
    int64_t bytes;
} slab_t;

static inline slab_t slab_open(const uint32_t *blob) {
    slab_t found = {blob[1], blob[2], 0, (const uint8_t *)(blob + 6), 0, 0, 0, 0};
    found.masks = blob + 6 + 4 * found.slabs;
    found.places = found.masks + 2 * SLAB * found.slabs * found.words;
    found.size = blob + blob[4] - found.places;
    return found;
}

static inline uint64_t slab_mask(const slab_t *slab, int64_t chunk, int64_t word) {
    const uint32_t *half = slab->masks + 2 * (chunk * slab->words + word);
    return half[0] | (uint64_t)half[1] << 32;
}

/* Ask for the cache lines of size bytes. */
static inline void slab_fetch(const void *start, int64_t size) {
    for (int64_t at = 0; at < size; at += 64) __builtin_prefetch((const char *)start + at);
}

/* The weights of all places, pads too; meanwhile the cache lines of the next segment's weights come, and those after. */
SLAB_SCALAR static void slab_gather(const slab_t *slab, const slab_t *next, const float *weights, float *found) {
    const uint32_t *places = slab->places, *coming = next->places;
    int64_t i = 0, at = 0, both = slab->size < next->size ? slab->size : next->size;
    for (; i < both; i += SLAB, at += 64) {
        if (at < slab->bytes) __builtin_prefetch(slab->after + at);
        for (int j = 0; j < SLAB; j++) __builtin_prefetch(weights + coming[i + j]);
        for (int j = 0; j < SLAB; j++) found[i + j] = weights[places[i + j]];
    }
    for (int64_t k = i; k < next->size; k++) __builtin_prefetch(weights + coming[k]);
    for (; i < slab->size; i++) found[i] = weights[places[i]];
    if (at < slab->bytes) slab_fetch(slab->after + at, slab->bytes - at);
}

typedef float slab_floats __attribute__((vector_size(16)));
typedef int32_t slab_ints __attribute__((vector_size(16)));
typedef float slab_loose __attribute__((vector_size(16), aligned(4), may_alias));

/* The sum of each chunk, row upon row. */
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
    {0, 0, 0, 0},  {-1, 0, 0, 0},  {0, -1, 0, 0},  {-1, -1, 0, 0},  {0, 0, -1, 0},  {-1, 0, -1, 0},  {0, -1, -1, 0},  {-1, -1, -1, 0},
    {0, 0, 0, -1}, {-1, 0, 0, -1}, {0, -1, 0, -1}, {-1, -1, 0, -1}, {0, 0, -1, -1}, {-1, 0, -1, -1}, {0, -1, -1, -1}, {-1, -1, -1, -1},
};

/* totals[first ..] = sum over even chunks that the candidate has + sum over odd ones, for 4 * fours candidates. */
static inline __attribute__((always_inline)) void slab_fours(
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

/* Any number of candidates, 16 at a time; totals has room for the next multiple of 64. */
static void slab_total(const slab_t *slab, const float *found, int64_t candidates, float *sums, float *totals) {
    int64_t first = 0;
    slab_sum(slab, found, sums);
    for (; first + 8 < candidates; first += 16) slab_fours(slab, sums, first, 4, totals);
    if (first + 4 < candidates) slab_fours(slab, sums, first, 2, totals);
    else if (first < candidates) slab_fours(slab, sums, first, 1, totals);
}

#if SLAB_WIDE
static inline __attribute__((always_inline)) SLAB_AVX512 void slab_sixteens(
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
static inline void slab_add(const uint32_t *places, int size, float delta, float *weights) {
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
            int i = __builtin_ctz(moved);
            slab_add(places + i, sizes[i], risen >> i & 1 ? delta : -delta, weights);
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
                    delta += steps[64 * word + __builtin_ctzll(bits)];
            if (delta != 0.0f) slab_add(places + i, sizes[i], delta, weights);
        }
        places += SLAB * sizes[0];
    }
}

#endif
