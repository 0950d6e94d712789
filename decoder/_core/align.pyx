"""Expectation and maximisation of IBM Model 1, one direction at a time; counts and links of any model.

Words of the observed side come from the words of the other side, the states, or from the null word. Pair (i, j) of
sentence s stands at pairs.offsets[s] + i * (target words) + j; where `flipped` is set the source side is observed.
Posteriors of the sentences from `first` to `last` - 1 stand likewise, less offsets[first].
Twin: decoder/_reference/align.py
"""

from libc.math cimport log

from rampion._core.types cimport id_t, real, row_t, small_t

from .emissions cimport fill_weights


def model_one(
    pairs, const id_t[::1] words, bint flipped, const small_t[::1] probs, const small_t[::1] null, row_t first,
    row_t last, real[::1] work, small_t[::1] posteriors, small_t[::1] nulls,
):  # OUT posteriors, nulls
    """Fill in the posteriors of Model 1; return log p(observed | states) of all the sentences."""
    cdef const row_t[::1] states = pairs.target_bounds if flipped else pairs.source_bounds
    cdef const row_t[::1] seen = pairs.source_bounds if flipped else pairs.target_bounds
    cdef const row_t[::1] offsets = pairs.offsets
    cdef const id_t[::1] cells = pairs.cells
    cdef row_t s, i, j, n, m, at, place, state_stride, stride
    cdef real total, likelihood = 0.0
    with nogil:
        for s in range(first, last):
            n, m = states[s + 1] - states[s], seen[s + 1] - seen[s]
            state_stride, stride = 1 if flipped else m, n if flipped else 1
            at, place = offsets[s], offsets[s] - offsets[first]
            fill_weights(cells, at, n, m, state_stride, stride, probs, work, n, 0)
            for j in range(m):
                total = null[words[seen[s] + j]]
                for i in range(n):
                    total += work[j * n + i]
                likelihood += log(total / <real>(n + 1))
                for i in range(n):
                    posteriors[place + i * state_stride + j * stride] = <small_t>(work[j * n + i] / total)
                nulls[seen[s] + j] = <small_t>(null[words[seen[s] + j]] / total)
    return likelihood


def collect(
    pairs, const id_t[::1] words, row_t first, row_t last, row_t low, row_t high, const small_t[::1] posteriors,
    real[::1] counts,
):  # OUT counts
    """Add the posteriors of the pairs whose source word is one of low to high - 1 to the counts of their cells."""
    cdef const row_t[::1] sources = pairs.source_bounds, targets = pairs.target_bounds, offsets = pairs.offsets
    cdef const id_t[::1] cells = pairs.cells
    cdef row_t s, token, at, pair, length
    with nogil:
        for s in range(first, last):
            at, length = offsets[s], targets[s + 1] - targets[s]
            for token in range(sources[s], sources[s + 1]):
                if low <= words[token] < high:
                    for pair in range(at, at + length):
                        counts[cells[pair]] += posteriors[pair - offsets[first]]
                at += length


def normalise(
    const row_t[::1] bounds, const id_t[::1] words, const real[::1] counts, bint flipped, small_t floor,
    real[::1] totals, small_t[::1] probs,
):  # OUT totals, probs
    """probs = counts over those of the row, or where `flipped` those of the column, and no less than the floor."""
    cdef row_t row, cell, given
    with nogil:
        for row in range(bounds.shape[0] - 1):
            for cell in range(bounds[row], bounds[row + 1]):
                totals[words[cell] if flipped else row] += counts[cell]
        for row in range(bounds.shape[0] - 1):
            for cell in range(bounds[row], bounds[row + 1]):
                given = words[cell] if flipped else row
                probs[cell] = max(<small_t>(counts[cell] / totals[given]), floor) if totals[given] > 0.0 else floor


def best(
    pairs, bint flipped, row_t first, row_t last, const small_t[::1] posteriors, const small_t[::1] nulls,
    int[::1] links,
):  # OUT links
    """Fill in the likeliest state of every observed word, the first of equals, -1 if the null word is likelier."""
    cdef const row_t[::1] states = pairs.target_bounds if flipped else pairs.source_bounds
    cdef const row_t[::1] seen = pairs.source_bounds if flipped else pairs.target_bounds
    cdef const row_t[::1] offsets = pairs.offsets
    cdef row_t s, i, j, n, m, place, state_stride, stride
    cdef small_t most
    with nogil:
        for s in range(first, last):
            n, m = states[s + 1] - states[s], seen[s + 1] - seen[s]
            state_stride, stride = 1 if flipped else m, n if flipped else 1
            for j in range(m):
                most, links[seen[s] + j], place = nulls[seen[s] + j], -1, offsets[s] - offsets[first] + j * stride
                for i in range(n):
                    if posteriors[place] > most:
                        most, links[seen[s] + j] = posteriors[place], <int>i
                    place += state_stride
