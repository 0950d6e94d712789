/* One segment of the working form gains candidates (S10.8): its blob is opened into groups, each new candidate splits
   the groups, and a new blob is written. The layout of a blob: slab.h.

   The idea is partition refinement (Paige & Tarjan 1987). All places that the same candidates have are a group. A new
   candidate can only split a group in two: the places that it has, and those that it has not. No other place needs to
   be looked at, and no candidate but the new one.

   Order makes it cheap. Groups stand by rising mask, read as one number. The bit of a new candidate is the highest of
   all. So what it has not keeps its order and comes first; then come the places that only the new candidate has, whose
   mask is this bit alone; then all that it has, in the old order too. Nothing is sorted.

   A place whose feature counts 2 in a candidate stands in two groups, its levels: one of the candidates that count it
   at least once, and one of those that count it at least twice. Masks of levels are nested, so the first level has the
   greater mask. Walking backwards therefore meets the first level first, which is what a candidate that counts it once
   has; one that counts it twice takes the next level also.

   An example. Candidates 0 and 1 have the places {1, 2, 5} and {2, 3, 5}. These are three groups:

       group     0     1     2                 places of group g: ids[begin[g]] and up to ids[begin[g + 1]]
       mask     01    10    11                 begin    0 1 2 4
       places  {1}   {3}   {2, 5}              ids      1 3 2 5

   Candidate 2 has {2, 3, 4}. Its bit is 100.

   1. Find. Its places go into a hash table, each with how often it is still to be met: 2: 1, 3: 1, 4: 1. All ids are
      looked up, through a filter of bits first, as most are not in the table. Hits are the positions 1 and 2.
   2. Part. From the last hit to the first, an id that is still to be met moves behind all others, where the moved ones
      grow downwards, and leaves a 0. Then the rest closes up.
          ids      1 0 0 5 - - 3 2             moved: 3 2      the table: 4 is left
          ids      1 5                         before[i] counts those that stayed before position i: 0 1 1 1 2
      A group with places that moved has a part `with` the candidate; one with places that stayed has a part without.
      Group 0 stays, group 1 moves, group 2 does both. With `before` both parts know where they begin.
   3. Write. What is left in the table is a group of its own, and the moved ones close up behind it.
          mask    001   011   100   110   111
          places  {1}   {5}   {4}   {3}   {2}
          ids      1 5 4 3 2                   begin    0 1 2 3 4 5

   No function allocates. sets/packed.py says how much room each array has, and why that is enough. */
#ifndef RAMPION_SLAB_ADD_H
#define RAMPION_SLAB_ADD_H

#include <string.h>

#include "slab.h"

enum { FILTER = 13 };

typedef struct {
    uint64_t *masks;           /* `words` of each group, lowest first */
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
    int64_t words;             /* 64-bit words of a mask */
} refine_t;

/* 1 if the mask of b, of `words` 64-bit words, is less than that of a. */
static inline int is_less(const run_t *b, const run_t *a, const uint32_t *blob, int64_t words)
{
    int64_t word = words - 2;
    if (words > 1 && b->top == a->top) {
        for (; word > 0 && slab_word(blob + b->mask, word) == slab_word(blob + a->mask, word);)
            word--;
        return slab_word(blob + b->mask, word) < slab_word(blob + a->mask, word);
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

/* Fetch numbers that will be looked up soon; some may be none of the table. Inlined by force: GCC takes a function that
   only prefetches for one that does nothing, and drops its calls. */
RAMPION_INLINE void foresee(const uint32_t *at, int64_t count, const uint32_t *table)
{
    for (const uint32_t *end = at + count; at < end; at++)
        rampion_prefetch((const void *)((uintptr_t)table + sizeof *at * *at));
}

/* Fill order with chunks and dormant groups by rising mask, and sizes with how many places each has, by index. In a
   blob, they stand in few rising runs: chunks of each size, and dormant groups. Return how many there are. */
SLAB_SCALAR static int64_t list_runs(const uint32_t *blob, run_t *order, uint32_t *edges, uint32_t *sizes)
{
    slab_t slab = slab_open(blob);
    int64_t chunks = blob[SLAB_CHUNKS], count = chunks + blob[SLAB_DORMANT], words = slab.words;
    int64_t at = blob[SLAB_DORMANT_AT], runs = 0, k;
    for (k = 0; k < count; k++) {
        int64_t mask = k < chunks ? slab.masks - blob + 2 * words * k : at;
        order[k] = (run_t){slab_word(blob + mask, words - 1), (uint32_t)mask, (uint32_t)k};
        sizes[k] = k < chunks ? slab.sizes[k] : blob[at + 2 * words];
        if (k >= chunks)
            at += slab_dormant_size(words, sizes[k]);
        if (k == 0 || is_less(order + k, order + k - 1, blob, words))
            edges[runs++] = (uint32_t)k;
    }
    edges[runs] = (uint32_t)count;
    merge(order, count, edges, runs, blob, words);
    return count;
}

/* Groups of the old blob, places renamed. */
SLAB_SCALAR static void open_segment(refine_t *work, const uint32_t *blob, int64_t size, const uint32_t *renamed)
{
    slab_t slab = slab_open(blob);
    int64_t chunks = blob[SLAB_CHUNKS], words = slab.words, at, count, i, k, n = 0, g = -1, r, word;
    uint32_t *ids = work->ids, *to = work->second;
    groups_t *groups = &work->groups;
    run_t *order = work->order;
    foresee(slab.places, blob + size - slab.places, renamed);
    /* 1. find */
    count = list_runs(blob, order, work->first, to);
    /* 2. part: those of one mask are one group; to[k] becomes where the places of k go */
    for (k = 0; k < count; k++) {
        uint32_t here = to[order[k].index];
        g += k == 0 || is_less(order + k - 1, order + k, blob, words);
        for (word = 0; word < work->words; word++)
            groups->masks[g * work->words + word] = word < words ? slab_word(blob + order[k].mask, word) : 0;
        to[order[k].index] = (uint32_t)n;
        n += here;
        groups->begin[g + 1] = (uint32_t)n;
    }
    groups->begin[0] = 0;
    groups->count = g + 1;
    /* 3. write, first the places of chunks, then those of dormant groups */
    for (at = slab.places - blob, k = 0; k < SLAB * slab.slabs; k += SLAB) {
        for (i = k; i < k + SLAB && i < chunks; i++)
            for (r = 0; r < slab.sizes[i]; r++)
                ids[to[i] + r] = renamed[blob[at + SLAB * r + i - k]];
        at += SLAB * slab.sizes[k];
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

/* Enter a candidate's places into slots and filter; fill `used` with the slots taken, and return how many. */
SLAB_SCALAR static int64_t enter_places(refine_t *work, const uint32_t *fresh, int64_t count, const uint32_t *places,
                                        uint32_t *used)
{
    int64_t marked = 0, i;
    for (i = 0; i < count; i++) {
        uint32_t place = places[fresh[i]];
        slot_t *slot = slot_of(work->slots, work->bits, place);
        slot->place = place;
        work->filter[hash_of(place) >> (32 - FILTER)] = 1;
        used[marked] = (uint32_t)(slot - work->slots);
        marked += slot->left++ == 0;
    }
    return marked;
}

/* Move the ids that the candidate has, of `end`, to below `behind`; a 0 stays in the stead of each. Return where the
   moved ones begin. */
SLAB_SCALAR static int64_t move_ids(refine_t *work, int64_t end, int64_t behind, uint32_t *hits)
{
    const uint8_t *filter = work->filter;
    slot_t *slots = work->slots, *slot;
    uint32_t *ids = work->ids;
    int64_t bits = work->bits, found = 0, i;
    for (i = 0; i < end; i++) {
        hits[found] = (uint32_t)i;
        found += filter[hash_of(ids[i]) >> (32 - FILTER)];
    }
    while (found-- > 0) {
        uint32_t *id = ids + hits[found], is;
        slot = slot_of(slots, bits, *id);
        is = slot->left > 0;
        slot->left -= is;
        ids[behind - 1] = *id;
        behind -= is;
        *id = is ? 0 : *id;
    }
    return behind;
}

/* Close up the ids that stayed, fill `before`, and part the groups: `with` gets those that moved, its `begin` counting
   from the first id that did. Return how many groups stayed. */
SLAB_SCALAR static int64_t part_groups(refine_t *work, int64_t end, uint32_t *before)
{
    groups_t *groups = &work->groups, *with = &work->spare;
    uint32_t *ids = work->ids;
    int64_t words = work->words, kept = 0, without = 0, has = 0, begin = 0, i, g;
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
    with->count = has;
    return without;
}

/* Write behind the ids that stayed what is left in the slots, which become empty; return where the ids end. */
SLAB_SCALAR static int64_t empty_slots(refine_t *work, int64_t kept, const uint32_t *used, int64_t marked)
{
    uint32_t *ids = work->ids;
    int64_t i;
    for (i = 0; i < marked; i++) {
        slot_t *slot = work->slots + used[i];
        ids[kept] = slot->place;
        kept += slot->left > 0;
        for (; slot->left > 1; slot->left--)
            ids[kept++] = slot->place;
        work->filter[hash_of(slot->place) >> (32 - FILTER)] = 0;
        *slot = (slot_t){0, 0};
    }
    return kept;
}

/* Part every group in those that the candidate has and those it has not; what is left over is a group of its own. */
SLAB_SCALAR static void split(refine_t *work, int64_t candidate, const uint32_t *fresh, int64_t count,
                              const uint32_t *places)
{
    groups_t *groups = &work->groups, *with = &work->spare;
    uint64_t bit = (uint64_t)1 << candidate % 64;
    uint32_t *used = work->first, *ids = work->ids;
    int64_t words = work->words, end = groups->begin[groups->count], behind = end + count + 1;
    int64_t marked, last, without, kept, g;
    /* 1. find */
    marked = enter_places(work, fresh, count, places, used);
    last = move_ids(work, end, behind, work->second);
    /* 2. part */
    without = part_groups(work, end, work->second);
    /* 3. write */
    kept = empty_slots(work, groups->begin[without], used, marked);
    if (kept > groups->begin[without]) {
        memset(groups->masks + without * words, 0, 8 * (size_t)words);
        groups->masks[without++ * words + candidate / 64] = bit;
    }
    memmove(ids + kept, ids + last, 4 * (size_t)(behind - last));
    for (g = 0; g < with->count; g++, without++) {
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

/* What a blob will hold. Chunks of s places go to at[s] and up; at[0], behind all chunks, is for none. */
typedef struct {
    int64_t at[SLAB + 1], chunks, slabs, dormant;
    int64_t masks, places, size, asleep;  /* where masks and places begin; words before the dormant groups, and of them */
} plan_t;

/* From how many chunks have s places, in at[s], to where each part of the blob goes. */
static void lay_out(plan_t *plan, int64_t words)
{
    int64_t i, s;
    for (s = SLAB; s > 0; s--) {
        int64_t here = plan->at[s];
        plan->at[s] = plan->chunks;
        plan->chunks += here;
    }
    plan->at[0] = plan->chunks;
    plan->slabs = (plan->chunks + SLAB - 1) / SLAB;
    plan->masks = SLAB_HEAD + SLAB / 4 * plan->slabs;
    plan->size = plan->places = plan->masks + 2 * words * SLAB * plan->slabs;
    for (i = 0; i < plan->slabs; i++) {  /* a slab has as many rows as its first chunk has places */
        for (s = SLAB; s > 1 && plan->at[s - 1] <= SLAB * i; s--) {}
        plan->size += SLAB * s;
    }
}

/* Sort the ids of every group, and fill `active` with how many of them are: the first ones. Return the plan. */
SLAB_SCALAR static plan_t plan_segment(refine_t *work, int64_t candidates, uint32_t awake, int common,
                                       uint32_t *active)
{
    const groups_t *groups = &work->groups;
    uint32_t *ids = work->ids, *falls = work->first;
    int64_t words = work->words, g, i;
    plan_t plan = {{0}, 0, 0, 0, 0, 0, 0, 0};
    falls[0] = 0;  /* falls[i]: how often an id is less than the one before it, up to i */
    for (i = 1; i < groups->begin[groups->count]; i++)
        falls[i] = falls[i - 1] + (ids[i] < ids[i - 1]);
    for (g = 0; g < groups->count; g++) {
        uint32_t *row = ids + groups->begin[g];
        int64_t size = groups->begin[g + 1] - groups->begin[g], count = size;
        if (falls[groups->begin[g + 1] - 1] > falls[groups->begin[g]])
            sort_ids(row, count);
        if (!common && is_full(groups->masks + g * words, candidates))
            count = 0;
        while (count > 0 && row[count - 1] > awake)
            count--;
        active[g] = (uint32_t)count;
        plan.at[SLAB] += count / SLAB;
        plan.at[count % SLAB]++;
        plan.dormant += size > count;
        plan.asleep += size > count ? slab_dormant_size(words, size - count) : 0;
    }
    lay_out(&plan, words);
    return plan;
}

/* Give every chunk its group and its first id, by falling size, and write the dormant groups. at[s] become ends. */
SLAB_SCALAR static void part_chunks(refine_t *work, plan_t *plan, const uint32_t *active, uint32_t *blob)
{
    const groups_t *groups = &work->groups;
    uint32_t *from = work->first, *owner = work->second, *ids = work->ids;
    int64_t words = work->words, g;
    uint32_t *to = blob + plan->size;
    for (g = 0; g < groups->count; g++) {
        uint32_t begin = groups->begin[g], rest = active[g];
        int64_t count = groups->begin[g + 1] - begin - rest;
        for (; rest >= SLAB; rest -= SLAB, begin += SLAB) {
            from[plan->at[SLAB]] = begin;
            owner[plan->at[SLAB]++] = (uint32_t)g;
        }
        from[plan->at[rest]] = begin;
        owner[plan->at[rest]] = (uint32_t)g;
        plan->at[rest] += rest > 0;
        if (count > 0) {
            put_mask(work, g, to);
            to[2 * words] = (uint32_t)count;
            to[2 * words + 1] = 0;
            memcpy(to + 2 * words + 2, ids + begin + rest, 4 * (size_t)count);
            to += slab_dormant_size(words, count);
            if (count % 2)
                to[-1] = 0;
        }
    }
}

/* Write sizes, masks and places of all chunks; pads and what fills up the last slab are 0 already. */
SLAB_SCALAR static void put_chunks(const refine_t *work, const plan_t *plan, uint32_t *blob)
{
    const uint32_t *from = work->first, *owner = work->second, *ids = work->ids;
    uint8_t *sizes = (uint8_t *)(blob + SLAB_HEAD);
    int64_t row = plan->places, s = SLAB, k, r;
    for (k = 0; k < plan->chunks; k++) {
        while (plan->at[s] <= k)
            s--;
        sizes[k] = (uint8_t)s;
        put_mask(work, owner[k], blob + plan->masks + 2 * work->words * k);
        for (r = 0; r < s; r++)
            blob[row + SLAB * r + k % SLAB] = ids[from[k] + r];
        if (k % SLAB == SLAB - 1)
            row += SLAB * sizes[k - k % SLAB];
    }
}

/* Write the groups in canonical form and return how many words that takes; more than room: nothing is written. */
static int64_t close_segment(refine_t *work, int64_t candidates, uint32_t awake, int common, uint32_t *blob,
                             int64_t room)
{
    uint32_t *active = work->spare.begin;
    /* 1. find */
    plan_t plan = plan_segment(work, candidates, awake, common, active);
    if (plan.size + plan.asleep > room)
        return plan.size + plan.asleep;
    /* 2. part */
    memset(blob, 0, 4 * (size_t)plan.size);
    part_chunks(work, &plan, active, blob);
    /* 3. write */
    blob[SLAB_CHUNKS] = (uint32_t)plan.chunks;
    blob[SLAB_SLABS] = (uint32_t)plan.slabs;
    blob[SLAB_WORDS] = (uint32_t)work->words;
    blob[SLAB_DORMANT] = (uint32_t)plan.dormant;
    blob[SLAB_DORMANT_AT] = (uint32_t)plan.size;
    put_chunks(work, &plan, blob);
    return plan.size + plan.asleep;
}

#endif
