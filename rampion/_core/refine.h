/* One segment of the working form: read into groups, refined candidate by candidate, written again (S10.8).

   Groups stand by falling mask as a number. Levels of one feature have nested masks, so walking that way meets the
   lower level first, and the bit of a new candidate, the highest of all, parts the order in two without mixing it. */
#ifndef RAMPION_REFINE_H
#define RAMPION_REFINE_H

#include <stdint.h>
#include <string.h>

enum { LANES = 16, HEAD = 6, FILTER = 15 };

typedef struct {
    uint32_t *ids;             /* group g is ids[begin[g]] and the size[g] - 1 after it */
    uint64_t *masks;           /* words a group, lowest first */
    uint32_t *begin, *size;
    int64_t count;
} groups_t;

typedef struct { uint32_t place, left; } slot_t;

/* A chunk or a dormant group of the old blob: the highest word of its mask, where that and its ids begin. */
typedef struct {
    uint64_t top;
    uint32_t mask, from, size;
} run_t;

typedef struct {
    groups_t groups, spare;
    uint32_t *names;           /* the old blob's places, renamed: 16 for a chunk, then the dormant ones */
    run_t *order, *merged;
    slot_t *slots;             /* the places of a candidate, and how often each is still to be met; zeroed */
    uint64_t *filter;          /* 2 ** FILTER bits: whether a place may be in slots; zeroed */
    uint32_t *used;            /* its slots that are in use */
    int64_t bits;              /* 2 ** bits slots */
    int64_t words;             /* of a mask */
} refine_t;

static inline uint64_t mask_word(const uint32_t *blob, int64_t at)
{
    return blob[at] | (uint64_t)blob[at + 1] << 32;
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

/* Merge, by rising masks, the runs in which chunks and dormant groups already stand so. */
static inline void sort_by_mask(refine_t *work, const uint32_t *blob, int64_t words, int64_t count)
{
    uint32_t *edges = work->used;
    int64_t runs = 0, i, j, end, middle, out, r;
    for (i = 0; i < count; i++)
        if (i == 0 || is_less(work->order + i, work->order + i - 1, blob, words))
            edges[runs++] = (uint32_t)i;
    while (runs > 1) {
        run_t *from = work->order, *to = work->merged;
        edges[runs] = (uint32_t)count;
        for (r = out = 0; r < runs; r += 2) {
            i = edges[r];
            j = middle = edges[r + 1];
            end = r + 1 < runs ? edges[r + 2] : middle;
            while (i < middle && j < end) {
                int later = is_less(from + j, from + i, blob, words);
                to[out++] = from[later ? j : i];
                j += later;
                i += !later;
            }
            memcpy(to + out, from + i, sizeof *to * (size_t)(middle - i));
            out += middle - i;
            memcpy(to + out, from + j, sizeof *to * (size_t)(end - j));
            out += end - j;
            edges[r / 2] = edges[r];
        }
        runs = (runs + 1) / 2;
        work->order = to;
        work->merged = from;
    }
}

/* Ask for the new names of a segment's places, and for the places of its fresh ids, ahead of their use. */
static inline void foresee(const uint32_t *blob, const uint32_t *renamed, const uint32_t *fresh, int64_t count,
                           const uint32_t *places)
{
    int64_t words = blob[2], i, at = HEAD + 4 * blob[1] + 2 * words * LANES * blob[1], k, end;
    for (i = 0; i < count; i++)
        __builtin_prefetch(places + fresh[i]);
    for (; at < blob[4]; at++)
        __builtin_prefetch(renamed + blob[at]);
    for (k = 0; k < blob[3]; k++) {
        at += 2 * words;
        end = at + 2 + blob[at];
        for (at += 2; at < end; at++)
            __builtin_prefetch(renamed + blob[at]);
        at += at % 2;
    }
}

static inline void open_segment(refine_t *work, const uint32_t *blob, const uint32_t *renamed)
{
    int64_t chunks = blob[0], slabs = blob[1], words = blob[2], dormant = blob[3], count = chunks + dormant;
    int64_t masks = HEAD + 4 * slabs, at = masks + 2 * words * LANES * slabs, i, j, k, n, r, word;
    uint32_t *names = work->names, *ids = work->groups.ids;
    groups_t *groups = &work->groups;
    for (k = 0; k < slabs; k++) {
        int64_t rows = blob[HEAD + 4 * k] & 255;
        for (r = 0; r < rows; r++, at += LANES)
            for (i = 0; i < LANES; i++)
                names[LANES * (LANES * k + i) + r] = renamed[blob[at + i]];
    }
    for (k = 0; k < chunks; k++) {
        int64_t mask = masks + 2 * words * k;
        uint32_t size = blob[HEAD + k / 4] >> 8 * (k % 4) & 255;
        work->order[k] = (run_t){mask_word(blob, mask + 2 * words - 2), (uint32_t)mask, (uint32_t)(LANES * k), size};
    }
    for (n = LANES * LANES * slabs; k < count; k++) {
        int64_t mask = at, size = blob[at += 2 * words];
        at += 2;
        work->order[k] = (run_t){mask_word(blob, at - 4), (uint32_t)mask, (uint32_t)n, (uint32_t)size};
        for (i = at; i < at + size; i++)
            names[n++] = renamed[blob[i]];
        at += size + size % 2;
    }
    sort_by_mask(work, blob, words, count);
    groups->count = 0;
    for (n = 0, k = count; k > 0; k = i) {
        uint64_t *mask = groups->masks + groups->count * work->words;
        for (i = k - 1; i > 0 && !is_less(work->order + i - 1, work->order + i, blob, words);)
            i--;
        for (word = 0; word < work->words; word++)
            mask[word] = word < words ? mask_word(blob, work->order[i].mask + 2 * word) : 0;
        groups->begin[groups->count] = (uint32_t)n;
        for (j = i; j < k; j++) {
            const uint32_t *from = names + work->order[j].from;
            memcpy(ids + n, from, 4 * LANES);
            if (work->order[j].size > LANES)
                memcpy(ids + n, from, 4 * (size_t)work->order[j].size);
            n += work->order[j].size;
        }
        groups->size[groups->count] = (uint32_t)n - groups->begin[groups->count];
        groups->count++;
    }
}

static inline uint32_t hash_of(uint32_t place)
{
    return place * 0x9E3779B1u >> (32 - FILTER);
}

static inline slot_t *slot_of(slot_t *slots, int64_t bits, uint32_t place)
{
    int64_t at = place * 0x9E3779B1u >> (32 - bits);
    while (slots[at].place != place && slots[at].place != 0)
        at = (at + 1) & (((int64_t)1 << bits) - 1);
    return slots + at;
}

/* Part every group in those that the candidate has and those it has not; what is left over is a group of its own. */
static inline void split(refine_t *work, int64_t candidate, const uint32_t *fresh, int64_t count,
                         const uint32_t *places)
{
    groups_t old = work->groups, new = work->spare;
    slot_t *slots = work->slots, *slot;
    uint64_t *filter = work->filter;
    uint32_t *used = work->used, *ids = new.ids;
    int64_t words = work->words, bits = work->bits, top = 2 * old.count + 1, without = top, with = 0;
    int64_t n = 0, last, marked = 0, i, g;
    uint64_t bit = (uint64_t)1 << candidate % 64;
    for (i = 0; i < count; i++)
        used[i] = places[fresh[i]];
    for (i = 0; i < count; i++) {
        uint32_t place = used[i], hash = hash_of(place);
        slot = slot_of(slots, bits, place);
        slot->place = place;
        filter[hash >> 6] |= (uint64_t)1 << (hash & 63);
        if (slot->left++ == 0)
            used[marked++] = (uint32_t)(slot - slots);
    }
    for (last = g = 0; g < old.count; g++)
        last += old.size[g];
    for (g = 0; g < old.count; g++) {
        const uint32_t *from = old.ids + old.begin[g];
        int64_t kept = n, met = last, size = old.size[g];
        for (i = 0; i < size; i++) {
            uint32_t place = from[i], hash = hash_of(place);
            if (filter[hash >> 6] >> (hash & 63) & 1 && (slot = slot_of(slots, bits, place))->left > 0) {
                slot->left--;
                ids[last++] = place;
            } else
                ids[n++] = place;
        }
        if (last > met) {
            memcpy(new.masks + with * words, old.masks + g * words, 8 * words);
            new.masks[with * words + candidate / 64] |= bit;
            new.begin[with] = (uint32_t)met;
            new.size[with++] = (uint32_t)(last - met);
        }
        if (n > kept) {
            memcpy(new.masks + without * words, old.masks + g * words, 8 * words);
            new.begin[without] = (uint32_t)kept;
            new.size[without++] = (uint32_t)(n - kept);
        }
    }
    new.begin[with] = (uint32_t)last;
    for (i = 0; i < marked; i++) {
        for (slot = slots + used[i]; slot->left > 0; slot->left--)
            ids[last++] = slot->place;
        filter[hash_of(slot->place) >> 6] = 0;
        slot->place = 0;
    }
    if (last > new.begin[with]) {
        memset(new.masks + with * words, 0, 8 * words);
        new.masks[with * words + candidate / 64] = bit;
        new.size[with] = (uint32_t)(last - new.begin[with]);
        with++;
    }
    memmove(new.begin + with, new.begin + top, 4 * (without - top));
    memmove(new.size + with, new.size + top, 4 * (without - top));
    memmove(new.masks + with * words, new.masks + top * words, 8 * words * (without - top));
    new.count = with + without - top;
    work->spare = old;
    work->groups = new;
}

/* In place: insertion while few stand wrong, then with gaps. */
static inline void sort_ids(uint32_t *ids, int64_t count)
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
static inline int64_t close_segment(refine_t *work, int64_t candidates, uint32_t awake, int common, uint32_t *blob,
                                    int64_t room)
{
    const groups_t *groups = &work->groups;
    uint32_t *active = work->spare.begin;  /* how many of a group's ids are */
    uint32_t *columns = work->names;
    int64_t words = work->words, at[LANES + 2] = {0}, chunks = 0, slabs, dormant = 0, asleep = 0, g, k, i, s, masks, size;
    for (g = groups->count - 1; g >= 0; g--) {
        uint32_t *ids = groups->ids + groups->begin[g];
        int64_t count = groups->size[g];
        sort_ids(ids, count);
        if (!common && is_full(groups->masks + g * words, candidates))
            count = 0;
        while (count > 0 && ids[count - 1] > awake)
            count--;
        active[g] = (uint32_t)count;
        at[LANES] += count / LANES;
        at[count % LANES] += count % LANES > 0;
        if ((count = groups->size[g] - count) > 0) {
            dormant++;
            asleep += 2 * words + 2 + count + count % 2;
        }
    }
    for (s = LANES; s > 0; s--) {
        int64_t here = at[s];
        at[s] = chunks;
        chunks += here;
    }
    slabs = (chunks + LANES - 1) / LANES;
    masks = HEAD + 4 * slabs;
    /* sizes, by position: from at[s] on they are s */
    size = masks + 2 * words * LANES * slabs;
    for (i = 0; i < slabs; i++) {
        for (s = LANES; s > 1 && at[s - 1] <= LANES * i; s--) {}
        size += LANES * s;
    }
    if (size + asleep > room)
        return size + asleep;
    memset(blob, 0, 4 * (size_t)masks);
    memset(blob + masks + 2 * words * chunks, 0, 8 * (size_t)(words * (LANES * slabs - chunks)));
    memset(columns + LANES * chunks, 0, 4 * (size_t)(LANES * (LANES * slabs - chunks)));
    blob[0] = (uint32_t)chunks;
    blob[1] = (uint32_t)slabs;
    blob[2] = (uint32_t)words;
    blob[3] = (uint32_t)dormant;
    blob[4] = (uint32_t)size;
    for (g = groups->count - 1; g >= 0; g--) {
        const uint32_t *ids = groups->ids + groups->begin[g];
        int64_t count;
        for (i = 0; i < active[g]; i += count) {
            count = active[g] - i < LANES ? active[g] - i : LANES;
            k = at[count]++;
            blob[HEAD + k / 4] |= (uint32_t)count << 8 * (k % 4);
            put_mask(work, g, blob + masks + 2 * words * k);
            for (s = 0; s < LANES; s++)
                columns[LANES * k + s] = s < count ? ids[i + s] : 0;
        }
        if ((count = groups->size[g] - active[g]) > 0) {
            put_mask(work, g, blob + size);
            blob[size + 2 * words] = (uint32_t)count;
            blob[size + 2 * words + 1] = 0;
            size += 2 * words + 2;
            memcpy(blob + size, ids + active[g], 4 * (size_t)count);
            size += count;
            if (count % 2)
                blob[size++] = 0;
        }
    }
    for (at[0] = masks + 2 * words * LANES * slabs, k = 0; k < slabs; k++) {
        int64_t rows = blob[HEAD + 4 * k] & 255, r;
        for (r = 0; r < rows; r++, at[0] += LANES)
            for (i = 0; i < LANES; i++)
                blob[at[0] + i] = columns[LANES * (LANES * k + i) + r];
    }
    return size;
}

#endif
