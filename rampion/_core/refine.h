/* One segment of the working form: read into groups, refined candidate by candidate, written again (S10.8).

   Groups stand by falling mask as a number. Levels of one feature have nested masks, so walking that way meets the
   lower level first, and the bit of a new candidate, the highest of all, parts the order in two without mixing it. */
#ifndef RAMPION_REFINE_H
#define RAMPION_REFINE_H

#include <stdint.h>
#include <string.h>

enum { LANES = 16, HEAD = 6, AHEAD = 48 };

typedef struct {
    uint32_t *ids;             /* group g is ids[begin[g]] and the size[g] - 1 after it */
    uint64_t *masks;           /* words a group, lowest first */
    uint32_t *begin, *size;
    int64_t count;
} groups_t;

typedef struct {
    groups_t groups, spare;
    uint32_t *names;           /* the old blob's places, renamed, where they stood */
    uint32_t *order, *merged;  /* chunks and dormant groups by falling mask */
    uint32_t *source;          /* where in names each of them begins */
    uint32_t *slots;           /* (place, how often it is still to be met) of one candidate; zeroed */
    uint32_t *used;            /* its slots that are in use */
    int64_t bits;              /* 2 ** bits slots */
    int64_t words;             /* of a mask */
} refine_t;

static inline uint64_t mask_word(const uint32_t *blob, int64_t at)
{
    return blob[at] | (uint64_t)blob[at + 1] << 32;
}

/* Where the mask of chunk or dormant group k stands in the blob; the dormant ones have theirs before their places. */
static inline int64_t mask_at(const refine_t *work, const uint32_t *blob, uint32_t k)
{
    int64_t words = blob[2], slabs = blob[1];
    return k < blob[0] ? HEAD + 4 * slabs + 2 * words * k : (int64_t)work->source[k] - 2 - 2 * words;
}

static inline int compare(const refine_t *work, const uint32_t *blob, uint32_t a, uint32_t b)
{
    int64_t left = mask_at(work, blob, a), right = mask_at(work, blob, b), word;
    for (word = blob[2] - 1; word >= 0; word--) {
        uint64_t x = mask_word(blob, left + 2 * word), y = mask_word(blob, right + 2 * word);
        if (x != y)
            return x < y ? -1 : 1;
    }
    return 0;
}

/* Merge the runs of rising masks in which chunks and dormant groups stand, then turn them round. */
static inline void sort_by_mask(refine_t *work, const uint32_t *blob, int64_t count)
{
    int64_t i, j, middle, end, out, runs = 2;
    for (i = 0; i < count; i++)
        work->order[i] = (uint32_t)i;
    while (runs > 1) {
        runs = out = 0;
        for (i = 0; i < count; i = end) {
            for (middle = i + 1; middle < count && compare(work, blob, work->order[middle - 1], work->order[middle]) <= 0;)
                middle++;
            end = middle + (middle < count);
            while (end > middle && end < count && compare(work, blob, work->order[end - 1], work->order[end]) <= 0)
                end++;
            for (j = middle; i < middle || j < end;) {
                if (j == end || (i < middle && compare(work, blob, work->order[i], work->order[j]) <= 0))
                    work->merged[out++] = work->order[i++];
                else
                    work->merged[out++] = work->order[j++];
            }
            runs++;
        }
        { uint32_t *swap = work->order; work->order = work->merged; work->merged = swap; }
    }
}

static inline void open_segment(refine_t *work, const uint32_t *blob, const uint32_t *renamed)
{
    int64_t chunks = blob[0], slabs = blob[1], words = blob[2], dormant = blob[3];
    int64_t at = HEAD + 4 * slabs + 2 * words * LANES * slabs, k, i, n = 0, word;
    groups_t *groups = &work->groups;
    for (i = at; i < blob[4]; i++)
        work->names[i] = renamed[blob[i]];
    for (k = 0; k < chunks; k++) {
        work->source[k] = (uint32_t)(at + k % LANES);
        if (k % LANES == LANES - 1)
            at += LANES * (blob[HEAD + (k - LANES + 1) / 4] & 255);
    }
    at = blob[4];
    for (k = chunks; k < chunks + dormant; k++) {
        int64_t count = blob[at + 2 * words];
        at += 2 * words + 2;
        work->source[k] = (uint32_t)at;
        for (i = at; i < at + count; i++)
            work->names[i] = renamed[blob[i]];
        at += count + count % 2;
    }
    sort_by_mask(work, blob, chunks + dormant);
    groups->count = 0;
    for (i = chunks + dormant - 1; i >= 0; i--) {
        int64_t from = work->source[k = work->order[i]], step = k < chunks ? LANES : 1, size, r;
        int64_t g = groups->count - 1;
        size = k < chunks ? blob[HEAD + k / 4] >> 8 * (k % 4) & 255 : blob[from - 2];
        if (i == chunks + dormant - 1 || compare(work, blob, (uint32_t)k, work->order[i + 1]) != 0) {
            g = groups->count++;
            groups->begin[g] = (uint32_t)n;
            groups->size[g] = 0;
            for (word = 0; word < work->words; word++)
                groups->masks[g * work->words + word] =
                    word < words ? mask_word(blob, mask_at(work, blob, (uint32_t)k) + 2 * word) : 0;
        }
        for (r = 0; r < size; r++)
            groups->ids[n++] = work->names[from + r * step];
        groups->size[g] += (uint32_t)size;
    }
}

static inline uint32_t *slot_of(const refine_t *work, uint32_t place)
{
    int64_t at = place * 0x9E3779B1u >> (32 - work->bits);
    while (work->slots[2 * at] != place && work->slots[2 * at] != 0)
        at = (at + 1) & (((int64_t)1 << work->bits) - 1);
    return work->slots + 2 * at;
}

/* Part every group in those that the candidate has and those it has not; what is left over is a group of its own. */
static inline void split(refine_t *work, int64_t candidate, const uint32_t *ids, int64_t count, const uint32_t *places)
{
    groups_t old = work->groups, new = work->spare;
    int64_t words = work->words, n = 0, last = 0, used = 0, with = 0, without, i, g, top = 2 * old.count + 1;
    uint64_t bit = (uint64_t)1 << candidate % 64;
    for (g = 0; g < old.count; g++)
        n += old.size[g];
    last = n;
    n = 0;
    for (i = 0; i < count; i++) {
        uint32_t *slot = slot_of(work, places[ids[i]]);
        if (slot[0] == 0)
            work->used[used++] = (uint32_t)(slot - work->slots);
        slot[0] = places[ids[i]];
        slot[1]++;
    }
    without = top;
    for (g = 0; g < old.count; g++) {
        const uint32_t *from = old.ids + old.begin[g];
        int64_t kept = n, met = last;
        for (i = 0; i < old.size[g]; i++) {
            uint32_t *slot = slot_of(work, from[i]);
            if (slot[0] != 0 && slot[1] != 0) {
                slot[1]--;
                new.ids[last++] = from[i];
            } else
                new.ids[n++] = from[i];
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
    for (i = 0; i < used; i++) {
        uint32_t *slot = work->slots + work->used[i];
        for (; slot[1] > 0; slot[1]--)
            new.ids[last++] = slot[0];
        slot[0] = 0;
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

/* In place: insertion where few stand wrong, with gaps before where many may. */
static inline void sort_ids(uint32_t *ids, int64_t count)
{
    int64_t gap = count > 32 ? count : 2, i, j;
    while (gap > 1) {
        gap = gap > 2 ? gap * 5 / 11 : 1;
        for (i = gap; i < count; i++) {
            uint32_t id = ids[i];
            for (j = i; j >= gap && ids[j - gap] > id; j -= gap)
                ids[j] = ids[j - gap];
            ids[j] = id;
        }
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
        work->source[i] = (uint32_t)size;
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
    for (g = groups->count - 1; g >= 0; g--) {
        const uint32_t *ids = groups->ids + groups->begin[g];
        int64_t count;
        for (i = 0; i < active[g]; i += count) {
            count = active[g] - i < LANES ? active[g] - i : LANES;
            k = at[count]++;
            blob[HEAD + k / 4] |= (uint32_t)count << 8 * (k % 4);
            put_mask(work, g, blob + masks + 2 * words * k);
            for (s = 0; s < count; s++)
                blob[work->source[k / LANES] + LANES * s + k % LANES] = ids[i + s];
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
    return size;
}

#endif
