/* How many n-grams one text of a list shares with each later one.

The n-grams of a list are numbered. A text that has one twice has two numbers for it, so that a text is a set of numbers
and what two texts share is the size of an intersection. A set is a row of bits, 64 numbers a word. Words are laid out
with those of all texts side by side, so that one instruction can work on several texts:

    word            text 0   text 1   text 2            numbers of order o stand in the words cuts[o] to cuts[o + 1]
      0 (order 1)    1011     0111     1001
      1 (order 2)    0011     0010     1000             text 0 shares with text 1: 2 of order 1, 1 of order 2
                                                                    with text 2: 2 of order 1, 0 of order 2

Counting bits is an instruction that not all x86 processors have. The same body is compiled for three kinds of them, and
the kind is chosen at run time; whole numbers are the same on all. */

#ifndef RAMPION_OVERLAP_H
#define RAMPION_OVERLAP_H

#include "machine.h"

typedef struct {
    const uint64_t *bits; /* word w of text j is bits[w * texts + j] */
    const int64_t *cuts;
    int64_t texts, orders;
} overlap_t;

#if defined(__x86_64__) && RAMPION_GNU
#define OVERLAP_KINDS 1
#else
#define OVERLAP_KINDS 0
#endif

/* counts[o * texts + j] = what text i and each later text j share of order o */
RAMPION_INLINE void overlap_body(const overlap_t *lists, int64_t i, int64_t *counts) {
    int64_t n = lists->texts;
    for (int64_t o = 0; o < lists->orders; o++) {
        int64_t *found = counts + o * n;
        for (int64_t j = i + 1; j < n; j++) found[j] = 0;
        for (int64_t w = lists->cuts[o]; w < lists->cuts[o + 1]; w++) {
            const uint64_t *word = lists->bits + w * n;
            for (int64_t j = i + 1; j < n; j++) found[j] += (int64_t)rampion_ones(word[i] & word[j]);
        }
    }
}

#if OVERLAP_KINDS
__attribute__((target("avx512f,avx512vl,avx512vpopcntdq"), unused)) static void overlap_wide(
    const overlap_t *lists, int64_t i, int64_t *counts) {
    overlap_body(lists, i, counts);
}

__attribute__((target("popcnt"), unused)) static void overlap_counting(
    const overlap_t *lists, int64_t i, int64_t *counts) {
    overlap_body(lists, i, counts);
}
#endif

static inline void overlap(const overlap_t *lists, int64_t i, int64_t *counts) {
#if OVERLAP_KINDS
    if (__builtin_cpu_supports("avx512vpopcntdq") && __builtin_cpu_supports("avx512vl")) {
        overlap_wide(lists, i, counts);
        return;
    }
    if (__builtin_cpu_supports("popcnt")) {
        overlap_counting(lists, i, counts);
        return;
    }
#endif
    overlap_body(lists, i, counts);
}

#endif
