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

cdef packed struct Past:  # PAST of decoder/models/lm.py: one word of a state
    id_t word
    small_t backoff  # of the history that ends with this word, the words after it included


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


cdef inline int forget(Past[::1] states, row_t at, row_t reach) except -1 nogil:
    """The state of `reach` words at states[at] becomes that before any word."""
    cdef row_t k
    for k in range(at, at + reach):
        states[k].word, states[k].backoff = NO_WORD, 0
    return 0


cdef inline real predict(
    const Word[::1] unigrams, const Gram[::1] grams, row_t reach, id_t word, const Past[::1] states, row_t at,
    Past[::1] new_states, row_t new_at,  # OUT new_states
) except? 1 nogil:
    """Natural log p(word | state) and the state after the word.

    A state is `reach` = order - 1 words from states[at] on, the last one first, NO_WORD where the model needs none.
    The new state must not overlap the old one.
    """
    cdef row_t width = unigrams.shape[0], parent = word, length = 0, known = 0, slot
    cdef small_t prob = unigrams[word].prob, backoff = unigrams[word].backoff
    cdef real total
    forget(new_states, new_at, reach)
    if reach > 0:
        new_states[new_at].word, new_states[new_at].backoff = word, backoff
        if backoff != 0 or not signbit(backoff):
            length = 1
    # The longest n-gram that the model has; `length` is how long a history any of its words can still extend.
    while known < reach and states[at + known].word != NO_WORD and signbit(prob):
        slot = slot_of(key_of(parent, states[at + known].word), grams)
        if grams[slot].key == 0:
            break
        prob, backoff, parent = grams[slot].prob, grams[slot].backoff, width + slot
        known += 1
        if known < reach:
            new_states[new_at + known].word, new_states[new_at + known].backoff = states[at + known - 1].word, backoff
            if backoff != 0 or not signbit(backoff):
                length = known + 1
    # The histories that were too long for it cost their backoffs.
    total = -fabs(prob)
    while known < reach and states[at + known].word != NO_WORD:
        total += states[at + known].backoff
        known += 1
    forget(new_states, new_at + length, reach - length)
    return total * 2.302585092994045684
