"""How likely phrases are by Model 1, whatever their alignment (S10.10 b).

Twin: decoder/_reference/lexical.py
"""

from libc.math cimport log

from rampion.decoder._core.lexicon cimport chance
from rampion._core.types cimport id_t, key_t, real, row_t, small_t


def lexical(const id_t[::1] source_words, const row_t[::1] source_bounds, const id_t[::1] target_words,
            const row_t[::1] target_bounds, const id_t[::1] sources, const id_t[::1] targets, lexicon, small_t floor,
            key_t[::1] asked, small_t[::1] answers, small_t[::1] values):  # OUT values
    """log p(S|T) of every pair: the sum over its source words of log (p(f|null) + sum over e of p(f|e)) / (|T| + 1).

    asked and answers remember pairs of words that were looked up, as many as a power of two; asked begins as zeros.
    """
    cdef const row_t[::1] rows = lexicon.bounds
    cdef const id_t[::1] words = lexicon.words
    cdef const small_t[::1] known = lexicon.values, null = lexicon.null
    cdef row_t pair, j, i, first, last, slot, mask = asked.shape[0] - 1
    cdef id_t word
    cdef key_t key
    cdef real total, share
    with nogil:
        for pair in range(sources.shape[0]):
            first, last = target_bounds[targets[pair]], target_bounds[targets[pair] + 1]
            total = 0.0
            for j in range(source_bounds[sources[pair]], source_bounds[sources[pair] + 1]):
                word = source_words[j]
                share = null[word]
                for i in range(first, last):
                    key = (<key_t> word + 1) << 32 | target_words[i]
                    slot = <row_t> (key * <key_t> 0x9E3779B97F4A7C15 >> 40) & mask
                    if asked[slot] != key:
                        asked[slot] = key
                        answers[slot] = chance(rows, words, known, target_words[i], word, floor)
                    share += answers[slot]
                total += log(share / (last - first + 1))
            values[pair] = <small_t> total
