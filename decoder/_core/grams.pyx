"""Which count features derivations fire: pairs of linked words, n-grams and triggers (S9.3).

Pairs are known for each option beforehand. N-grams and triggers are found in the whole text <s>, the words, </s>, by
the table of keys of grams.pxd.
Twin: decoder/_reference/grams.py
"""

from rampion.decoder._core.derive cimport write_words
from rampion._core.types cimport byte_t, id_t, key_t, real, row_t


cdef inline row_t add(
    const row_t[::1] buckets, const key_t[::1] keys, const real[::1] numbers, int shift, key_t key, id_t[::1] ids,
    row_t at,
) except -2 nogil:
    """Write the feature of the key to ids[at], if it has one; return where they end, -1 if there is no room."""
    cdef real number
    if at < 0:
        return at
    number = weight_of(buckets, keys, numbers, shift, key)
    if number == 0.0:
        return at
    if at == ids.shape[0]:
        return -1
    ids[at] = <id_t>number - 1
    return at + 1


cdef inline row_t add_text(
    const row_t[::1] buckets, const key_t[::1] keys, const real[::1] numbers, int shift, const byte_t[::1] triggered,
    const id_t[::1] text, row_t end, id_t[::1] ids, row_t at,
) except -2 nogil:
    """Write the features of text[:end], place by place: by length those of n-grams, and triggers by earlier words."""
    cdef key_t key
    cdef row_t i, j
    for j in range(1, end):
        key = code(text[j])
        at = add(buckets, keys, numbers, shift, key, ids, at)
        key |= code(text[j - 1]) << BITS
        at = add(buckets, keys, numbers, shift, key, ids, at)
        if j > 1:
            key |= code(text[j - 2]) << (2 * BITS)
            at = add(buckets, keys, numbers, shift, key, ids, at)
        if is_triggered(triggered, text[j]):
            for i in range(j):
                key = trigger(text[i], text[j])
                if weight_of(buckets, keys, numbers, shift, key) != 0.0 and is_first(text, 0, i):
                    at = add(buckets, keys, numbers, shift, key, ids, at)
    return at


def count_features(derivations, wording, features, const row_t[::1] firsts, const row_t[::1] lasts,
                   const id_t[::1] pairs, row_t done, id_t[::1] text, row_t[::1] bounds, id_t[::1] ids):  # OUT
    """Features of the derivations from `done` on: d fires ids[bounds[d]:bounds[d + 1]]; return how many are done.

    All are, unless ids has no room. Option o fires pairs[firsts[o]:lasts[o]]. The n-gram or trigger whose weight is
    n + 1 is feature n. One that fires twice stands there twice. text has room for the longest of the texts.
    """
    cdef const row_t[::1] step_bounds = derivations.step_bounds, phrase_bounds = wording.bounds
    cdef const id_t[::1] steps = derivations.steps
    cdef const id_t[::1] phrases = wording.phrases, words = wording.words, others = wording.others
    cdef const row_t[::1] buckets = features.buckets
    cdef const key_t[::1] keys = features.keys
    cdef const real[::1] numbers = features.weights
    cdef const byte_t[::1] triggered = features.triggered
    cdef int shift = features.shift
    cdef row_t d = done, last = step_bounds.shape[0] - 1, at, end, i, p
    with nogil:
        while d < last:
            at, end = bounds[d], 1
            text[0] = START
            for i in range(step_bounds[d], step_bounds[d + 1]):
                end = write_words(steps[i], phrases, words, phrase_bounds, others, text, end)
                for p in range(firsts[steps[i]], lasts[steps[i]]):
                    if at == ids.shape[0]:
                        at = -1
                    if at < 0:
                        break
                    ids[at] = pairs[p]
                    at += 1
            text[end] = END
            at = add_text(buckets, keys, numbers, shift, triggered, text, end + 1, ids, at)
            if at < 0:
                break
            d += 1
            bounds[d] = at
    return d
