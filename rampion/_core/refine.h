/* One segment of the working form: read into groups, refined candidate by candidate, written again (S10.8).

   Groups stand by rising mask as a number. Levels of one feature have nested masks, so walking backwards meets the
   lower level first, and the bit of a new candidate, the highest of all, parts the order in two without mixing it. */
#ifndef RAMPION_REFINE_H
#define RAMPION_REFINE_H

#include <stdint.h>
#include <string.h>

enum { LANES = 16, HEAD = 6, FILTER = 13 };

/* GCC's vectoriser makes gathers of a load and a store each slower, and loops here are short. */
#if defined(__GNUC__) && !defined(__clang__)
#define SCALAR __attribute__((optimize("no-tree-vectorize,no-tree-slp-vectorize")))
#else
#define SCALAR
#endif

typedef struct {
    uint64_t *masks;           /* words a group, lowest first */
    uint32_t *begin;           /* group g is ids[begin[g]] and those after it, before ids[begin[g + 1]] */
    int64_t count;
} groups_t;

typedef struct { uint32_t place, left; } slot_t;

/* A chunk or a dormant group of the old blob: the highest word of its mask, and where that begins. */
typedef struct {
    uint64_t top;
    uint32_t mask, index;
} run_t;

typedef struct {
    groups_t groups, spare;
    uint32_t *ids;             /* of all groups; behind them there is room for those of fresh candidates */
    uint32_t *first, *second;  /* a number each for as many as there may be ids, and one more */
    run_t *order;              /* twice as many */
    slot_t *slots;             /* the places of a candidate, and how often each is still to be met; zeroed */
    uint8_t *filter;           /* 2 ** FILTER bytes: whether a place may be in slots; zeroed */
    int64_t bits;              /* 2 ** bits slots */
    int64_t words;             /* of a mask */
} refine_t;

static inline uint64_t mask_word(const uint32_t *blob, int64_t at)
{
    return blob[at] | (uint64_t)blob[at + 1] << 32;
}

static inline const uint8_t *sizes_of(const uint32_t *blob)
{
    return (const uint8_t *)(blob + HEAD);
}

/* 1 if the mask of b, of `words` 64-bit words, is less than that of a. */
static inline int is_less(const run_t *b, const run_t *a, const uint32_t *blob, int64_t words)
{
    int64_t word = words - 2;
    if (words > 1 && b->top == a->top) {
        for (; word > 0 && mask_word(blob, b->mask + 2 * word) == mask_word(blob, a->mask + 2 * word);)
            word--;
        return mask_word(blob, b->mask + 2 * word) < mask_word(blob, a->mask + 2 * word);
    }
    return b->top < a->top;
}

/* Merge rising runs, run r from order[edges[r]] on, first those of either half; behind `last` there is room. */
static void merge(run_t *order, int64_t last, const uint32_t *edges, int64_t runs, const uint32_t *blob, int64_t words)
{
    int64_t middle = 1, to = edges[0], end = edges[runs], i = last, j, i_end, j_end = last + end - to;
    if (runs < 2)
        return;
    while (middle < runs - 1 && 2 * edges[middle] < edges[0] + edges[runs])
        middle++;
    merge(order, last, edges, middle, blob, words);
    merge(order, last, edges + middle, runs - middle, blob, words);
    memcpy(order + last, order + to, sizeof *order * (size_t)(end - to));
    i_end = j = last + edges[middle] - to;
    while (i < i_end && j < j_end) {  /* the least and the greatest at a time, without branches that nobody foresees */
        int64_t later = is_less(order + j, order + i, blob, words);
        int64_t sooner = is_less(order + j_end - 1, order + i_end - 1, blob, words);
        order[to++] = order[i + (j - i) * later];
        order[--end] = order[j_end - 1 + (i_end - j_end) * sooner];
        j += later;
        i += 1 - later;
        i_end -= sooner;
        j_end -= 1 - sooner;
    }
    memcpy(order + to, order + i, sizeof *order * (size_t)(i_end - i));
    memcpy(order + to + i_end - i, order + j, sizeof *order * (size_t)(j_end - j));
}

/* Ask for the cache lines of numbers that will be looked up soon; some may be none of the table. Inlined by force: GCC
   takes a function that only prefetches for one that does nothing, and drops its calls. */
__attribute__((always_inline)) static inline void foresee(const uint32_t *at, int64_t count, const uint32_t *table)
{
    for (const uint32_t *end = at + count; at < end; at++)
        __builtin_prefetch((const void *)((uintptr_t)table + sizeof *at * *at));
}

/* Groups of the old blob, places renamed: chunks and dormant groups stand by rising mask in runs. */
SCALAR static void open_segment(refine_t *work, const uint32_t *blob, int64_t size, const uint32_t *renamed)
{
    const uint8_t *sizes = sizes_of(blob);
    int64_t chunks = blob[0], slabs = blob[1], words = blob[2], dormant = blob[3], count = chunks + dormant;
    int64_t masks = HEAD + 4 * slabs, at = blob[4], runs = 0, i, k, n = 0, g = -1, r, word;
    uint32_t *ids = work->ids, *edges = work->first, *to = work->second;
    groups_t *groups = &work->groups;
    run_t *order = work->order;
    int64_t row = masks + 2 * words * LANES * slabs;
    foresee(blob + row, size - row, renamed);
    for (k = 0; k < count; k++) {
        int64_t mask = k < chunks ? masks + 2 * words * k : at;
        order[k] = (run_t){mask_word(blob, mask + 2 * words - 2), (uint32_t)mask, (uint32_t)k};
        to[k] = k < chunks ? sizes[k] : blob[at + 2 * words];
        if (k >= chunks)
            at += 2 * words + 2 + to[k] + to[k] % 2;
        if (k == 0 || is_less(order + k, order + k - 1, blob, words))
            edges[runs++] = (uint32_t)k;
    }
    edges[runs] = (uint32_t)count;
    merge(order, count, edges, runs, blob, words);
    for (k = 0; k < count; k++) {
        uint32_t here = to[order[k].index];
        g += k == 0 || is_less(order + k - 1, order + k, blob, words);
        for (word = 0; word < work->words; word++)
            groups->masks[g * work->words + word] = word < words ? mask_word(blob, order[k].mask + 2 * word) : 0;
        to[order[k].index] = (uint32_t)n;
        n += here;
        groups->begin[g + 1] = (uint32_t)n;
    }
    groups->begin[0] = 0;
    groups->count = g + 1;
    for (at = row, k = 0; k < LANES * slabs; k += LANES) {
        for (i = k; i < k + LANES && i < chunks; i++)
            for (r = 0; r < sizes[i]; r++)
                ids[to[i] + r] = renamed[blob[at + LANES * r + i - k]];
        at += LANES * sizes[k];
    }
    for (k = chunks; k < count; k++) {
        int64_t here = blob[at += 2 * words];
        for (i = 0, at += 2; i < here; i++)
            ids[to[k] + i] = renamed[blob[at + i]];
        at += here + here % 2;
    }
}

static inline uint32_t hash_of(uint32_t place)
{
    return place * 0x9E3779B1u;
}

static inline slot_t *slot_of(slot_t *slots, int64_t bits, uint32_t place)
{
    int64_t at = hash_of(place) >> (32 - bits);
    while (slots[at].place != place && slots[at].place != 0)
        at = (at + 1) & (((int64_t)1 << bits) - 1);
    return slots + at;
}

static inline void copy_mask(uint64_t *to, const uint64_t *from, int64_t words)
{
    int64_t word;
    for (word = 0; word < words; word++)
        to[word] = from[word];
}

/* Part every group in those that the candidate has and those it has not; what is left over is a group of its own. */
SCALAR static void split(refine_t *work, int64_t candidate, const uint32_t *fresh, int64_t count,
                         const uint32_t *places)
{
    groups_t *groups = &work->groups, *with = &work->spare;
    slot_t *slots = work->slots, *slot;
    uint64_t bit = (uint64_t)1 << candidate % 64;
    uint8_t *filter = work->filter;
    uint32_t *used = work->first, *hits = work->second, *before = hits, *ids = work->ids;
    int64_t bits = work->bits, words = work->words, end = groups->begin[groups->count], behind = end + count + 1;
    int64_t last = behind, found = 0, marked = 0, kept = 0, without = 0, has = 0, begin = 0, i, g;
    for (i = 0; i < count; i++) {
        uint32_t place = places[fresh[i]];
        slot = slot_of(slots, bits, place);
        slot->place = place;
        filter[hash_of(place) >> (32 - FILTER)] = 1;
        used[marked] = (uint32_t)(slot - slots);
        marked += slot->left++ == 0;
    }
    for (i = 0; i < end; i++) {
        hits[found] = (uint32_t)i;
        found += filter[hash_of(ids[i]) >> (32 - FILTER)];
    }
    while (found-- > 0) {  /* what the candidate has moves behind all, a 0 stays in its stead */
        uint32_t *id = ids + hits[found], is;
        slot = slot_of(slots, bits, *id);
        is = slot->left > 0;
        slot->left -= is;
        ids[last - 1] = *id;
        last -= is;
        *id = is ? 0 : *id;
    }
    for (i = 0; i < end; i++) {
        uint32_t id = ids[i];
        before[i] = (uint32_t)kept;
        ids[kept] = id;
        kept += id > 0;
    }
    before[end] = (uint32_t)kept;
    for (g = 0; g < groups->count; g++) {
        const uint64_t *mask = groups->masks + g * words;
        int64_t next = groups->begin[g + 1], size = before[next] - before[begin];
        copy_mask(with->masks + has * words, mask, words);
        with->begin[has] = (uint32_t)begin - before[begin];
        has += size < next - begin;
        copy_mask(groups->masks + without * words, mask, words);
        groups->begin[without] = before[begin];
        without += size > 0;
        begin = next;
    }
    groups->begin[without] = (uint32_t)kept;
    for (i = 0; i < marked; i++) {
        slot = slots + used[i];
        ids[kept] = slot->place;
        kept += slot->left > 0;
        for (; slot->left > 1; slot->left--)
            ids[kept++] = slot->place;
        filter[hash_of(slot->place) >> (32 - FILTER)] = 0;
        *slot = (slot_t){0, 0};
    }
    if (kept > groups->begin[without]) {
        memset(groups->masks + without * words, 0, 8 * (size_t)words);
        groups->masks[without++ * words + candidate / 64] = bit;
    }
    memmove(ids + kept, ids + last, 4 * (size_t)(behind - last));
    for (g = 0; g < has; g++, without++) {
        groups->begin[without] = (uint32_t)kept + with->begin[g];
        copy_mask(groups->masks + without * words, with->masks + g * words, words);
        groups->masks[without * words + candidate / 64] |= bit;
    }
    groups->begin[without] = (uint32_t)(kept + behind - last);
    groups->count = without;
}

/* In place: insertion while few stand wrong, then with gaps. */
static void sort_ids(uint32_t *ids, int64_t count)
{
    int64_t gap = 1, budget = 8 * count, i, j;
    for (;;) {
        for (i = gap; i < count && budget > 0; i++) {
            uint32_t id = ids[i];
            if (ids[i - gap] <= id)
                continue;
            for (j = i; j >= gap && ids[j - gap] > id; j -= gap)
                ids[j] = ids[j - gap];
            ids[j] = id;
            budget -= i - j;
        }
        if (gap == 1 && budget > 0)
            return;
        gap = budget > 0 ? (gap > 2 ? gap * 5 / 11 : 1) : count;
        budget = INT64_MAX;
    }
}

static inline int is_full(const uint64_t *mask, int64_t candidates)
{
    int64_t word;
    for (word = 0; word < candidates / 64; word++)
        if (mask[word] != UINT64_MAX)
            return 0;
    return candidates % 64 == 0 || mask[word] == ((uint64_t)1 << candidates % 64) - 1;
}

static inline void put_mask(const refine_t *work, int64_t group, uint32_t *blob)
{
    int64_t word;
    for (word = 0; word < work->words; word++) {
        blob[2 * word] = (uint32_t)work->groups.masks[group * work->words + word];
        blob[2 * word + 1] = (uint32_t)(work->groups.masks[group * work->words + word] >> 32);
    }
}

/* Write the groups in canonical form and return how many words that takes; more than room: nothing is written. */
SCALAR static int64_t close_segment(refine_t *work, int64_t candidates, uint32_t awake, int common, uint32_t *blob,
                                    int64_t room)
{
    const groups_t *groups = &work->groups;
    uint32_t *active = work->spare.begin;  /* how many of a group's ids are */
    uint32_t *from = work->first, *owner = work->second, *ids = work->ids, *falls = from;
    uint8_t *sizes = (uint8_t *)(blob + HEAD);
    int64_t words = work->words, at[LANES + 1] = {0}, chunks = 0, slabs, dormant = 0, asleep = 0;
    int64_t g, k, i, r, s, masks, size, row;
    falls[0] = 0;
    for (i = 1; i < groups->begin[groups->count]; i++)
        falls[i] = falls[i - 1] + (ids[i] < ids[i - 1]);
    for (g = 0; g < groups->count; g++) {
        uint32_t *row_ids = ids + groups->begin[g];
        int64_t size = groups->begin[g + 1] - groups->begin[g], count = size;
        if (falls[groups->begin[g + 1] - 1] > falls[groups->begin[g]])
            sort_ids(row_ids, count);
        if (!common && is_full(groups->masks + g * words, candidates))
            count = 0;
        while (count > 0 && row_ids[count - 1] > awake)
            count--;
        active[g] = (uint32_t)count;
        at[LANES] += count / LANES;
        at[count % LANES]++;
        if ((count = size - count) > 0) {
            dormant++;
            asleep += 2 * words + 2 + count + count % 2;
        }
    }
    for (s = LANES; s > 0; s--) {
        int64_t here = at[s];
        at[s] = chunks;
        chunks += here;
    }
    at[0] = chunks;
    slabs = (chunks + LANES - 1) / LANES;
    masks = HEAD + 4 * slabs;
    row = masks + 2 * words * LANES * slabs;
    /* sizes, by position: from at[s] on they are s */
    size = row;
    for (i = 0; i < slabs; i++) {
        for (s = LANES; s > 1 && at[s - 1] <= LANES * i; s--) {}
        size += LANES * s;
    }
    if (size + asleep > room)
        return size + asleep;
    memset(blob, 0, 4 * (size_t)size);
    blob[0] = (uint32_t)chunks;
    blob[1] = (uint32_t)slabs;
    blob[2] = (uint32_t)words;
    blob[3] = (uint32_t)dormant;
    blob[4] = (uint32_t)size;
    for (g = 0; g < groups->count; g++) {
        uint32_t begin = groups->begin[g], rest = active[g];
        int64_t count = groups->begin[g + 1] - begin - rest;
        for (; rest >= LANES; rest -= LANES, begin += LANES) {
            from[at[LANES]] = begin;
            owner[at[LANES]++] = (uint32_t)g;
        }
        from[at[rest]] = begin;
        owner[at[rest]] = (uint32_t)g;
        at[rest] += rest > 0;
        if (count > 0) {
            put_mask(work, g, blob + size);
            blob[size + 2 * words] = (uint32_t)count;
            blob[size + 2 * words + 1] = 0;
            size += 2 * words + 2;
            memcpy(blob + size, ids + begin + rest, 4 * (size_t)count);
            size += count;
            if (count % 2)
                blob[size++] = 0;
        }
    }
    for (s = LANES, k = 0; k < chunks; k++) {
        while (at[s] <= k)
            s--;
        sizes[k] = (uint8_t)s;
        put_mask(work, owner[k], blob + masks + 2 * words * k);
        for (r = 0; r < s; r++)
            blob[row + LANES * r + k % LANES] = ids[from[k] + r];
        if (k % LANES == LANES - 1)
            row += LANES * sizes[k - k % LANES];
    }
    return size;
}

#undef SCALAR
#endif
