"""Queries of the language model of decoder/models/lm.py; the search calls predict, the kernels of lm.pyx do too.

One walk from a word towards its past gives the probability of the word and the state after it. Logarithms are base 10
inside the tables, as in ARPA files, and natural when they leave.
"""

from libc.math cimport copysign, fabs, signbit

from rampion._core.types cimport id_t, key_t, real, row_t, small_t

cdef enum:
    NO_WORD = 0xFFFFFFFF
    ABSENT = -1

cdef packed struct Word:
    small_t prob
    small_t backoff

cdef packed struct Gram:
    key_t key
    small_t prob
    small_t backoff


cdef inline key_t key_of(row_t parent, id_t word) except? 0 nogil:
    return <key_t>(parent + 1) << 32 | word


cdef inline row_t home(key_t key, const Gram[::1] grams) except? -1 nogil:
    """The slot where the search for a key begins: what to prefetch."""
    cdef key_t mixed = (key ^ key >> 29) * <key_t>0x9E3779B97F4A7C15
    mixed = (mixed ^ mixed >> 32) * <key_t>0xD6E8FEB86659FD93
    return <row_t>((mixed >> 32) * <key_t>grams.shape[0] >> 32)


cdef inline row_t slot_of(key_t key, const Gram[::1] grams) except? -1 nogil:
    """The slot that holds the key, or the free one where it belongs."""
    cdef row_t slot = home(key, grams)
    while grams[slot].key != key and grams[slot].key != 0:
        slot = slot + 1 if slot + 1 < grams.shape[0] else 0
    return slot


cdef inline real predict(
    const Word[::1] unigrams, const Gram[::1] grams, row_t reach, id_t word,
    const id_t[::1] words, const small_t[::1] backoffs, row_t at,
    id_t[::1] new_words, small_t[::1] new_backoffs, row_t new_at,  # OUT new_words, new_backoffs
) except? 1 nogil:
    """Natural log p(word | state) and the state after the word.

    A state is `reach` = order - 1 words from words[at] on, the last one first, NO_WORD where the model needs none,
    and the backoffs of the histories of 1, 2, … of them. The new state must not overlap the old one.
    """
    cdef row_t width = unigrams.shape[0], parent = word, length = 0, known = 0, slot
    cdef small_t prob = unigrams[word].prob, backoff = unigrams[word].backoff
    cdef real total
    for slot in range(reach):
        new_words[new_at + slot], new_backoffs[new_at + slot] = NO_WORD, 0
    if reach > 0:
        new_words[new_at], new_backoffs[new_at] = word, backoff
        if backoff != 0 or not signbit(backoff):
            length = 1
    while known < reach and words[at + known] != NO_WORD and signbit(prob):
        slot = slot_of(key_of(parent, words[at + known]), grams)
        if grams[slot].key == 0:
            break
        prob, backoff, parent = grams[slot].prob, grams[slot].backoff, width + slot
        known += 1
        if known < reach:
            new_words[new_at + known], new_backoffs[new_at + known] = words[at + known - 1], backoff
            if backoff != 0 or not signbit(backoff):
                length = known + 1
    total = -fabs(prob)
    while known < reach and words[at + known] != NO_WORD:
        total += backoffs[at + known]
        known += 1
    for slot in range(length, reach):
        new_words[new_at + slot], new_backoffs[new_at + slot] = NO_WORD, 0
    return total * 2.302585092994045684
