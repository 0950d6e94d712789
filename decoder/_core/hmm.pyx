"""Expectation of the HMM of word alignment, one direction at a time; sides and places are those of align.pyx.

Jumps: jumps[k] is the weight of moving by k - window places, the last one that of every move farther than the window;
the chance of a move is its weight over that of all moves from there. Place 0 is before the sentence; the null word
keeps the place. The window makes a step of the recursions linear in the words of the sentence.

Work of one sentence, in rows of n + 1 places with `window` zeros at both sides (width = n + 1 + 2 * window):
m rows of emissions, m of occupation over norm before the step, m of what each real state has got at the step;
then norms, moves, occupation or gain, betas, moves that left a place; then a row of crossings for each near jump;
then the m scales.
Twin: decoder/_reference/hmm.py
"""

from libc.math cimport log

from rampion._core.types cimport id_t, real, row_t, small_t

from .emissions cimport fill_weights


def hmm(
    pairs, const id_t[::1] words, bint flipped, const small_t[::1] probs, const small_t[::1] null,
    const real[::1] jumps, real rest, row_t first, row_t last, real[::1] work, small_t[::1] posteriors,
    small_t[::1] nulls, real[::1] tallies,
):  # OUT posteriors, nulls, tallies
    """Fill in the posteriors of the HMM; return log p(observed | states) of all the sentences.

    `rest` is the chance of the null word. tallies gains the expected moves of every jump, and behind them what each
    jump's weight was expected to add up to per unit of weight: moves / that is a better weight (an MM step).
    """
    cdef const row_t[::1] states = pairs.target_bounds if flipped else pairs.source_bounds
    cdef const row_t[::1] seen = pairs.source_bounds if flipped else pairs.target_bounds
    cdef const row_t[::1] offsets = pairs.offsets
    cdef const id_t[::1] cells = pairs.cells
    cdef row_t s, n, m, size = jumps.shape[0], state_stride, stride
    cdef real likelihood = 0.0
    with nogil:
        for s in range(first, last):
            n, m = states[s + 1] - states[s], seen[s + 1] - seen[s]
            state_stride, stride = 1 if flipped else m, n if flipped else 1
            work[:(3 * m + 4 + size) * (n + size - 1) + m] = 0.0
            fill_weights(
                cells, offsets[s], n, m, state_stride, stride, probs, work, n + size - 1, (size - 2) // 2 + 1,
            )
            likelihood += forward(words, seen[s], n, m, null, jumps, rest, work)
            backward(
                words, seen[s], n, m, null, jumps, rest, work, offsets[s] - offsets[first], state_stride, stride,
                posteriors, nulls,
            )
            count_moves(n, m, jumps, work, tallies)
    return likelihood


cdef inline real forward(
    const id_t[::1] words, row_t seen, row_t n, row_t m, const small_t[::1] null, const real[::1] jumps, real rest,
    real[::1] work,
) except? -1 nogil:
    """Scaled forward pass; log-likelihood."""
    cdef row_t near = jumps.shape[0] - 1, window = near // 2, width = n + near, block = m * width
    cdef row_t norms = 3 * block + window, moves = norms + width, held = norms + 2 * width
    cdef row_t scales = 3 * block + (5 + near) * width, j, k, p, row, before, after
    cdef real far = jumps[near], weight, total, scale, blank, here, likelihood = 0.0
    for p in range(n + 1):
        weight = far * <real>n
        for k in range(near):
            if 1 <= p + k - window <= n:
                weight += jumps[k] - far
        work[norms + p] = weight
    work[held] = 1.0
    for j in range(m):
        row, before, after = j * width + window, block + j * width + window, 2 * block + j * width + window
        total = 0.0
        for p in range(n + 1):
            work[before + p] = work[held + p] / work[norms + p]
            total += work[before + p]
        for p in range(n + 1):
            work[moves + p] = far * total
        for k in range(near):
            weight = jumps[k] - far
            for p in range(n + 1):
                work[moves + p] += weight * work[before + p - k + window]
        blank, scale = rest * null[words[seen + j]], 0.0
        for p in range(n + 1):
            here = (1.0 - rest) * work[moves + p] * work[row + p]
            work[after + p] = here
            here += blank * work[held + p]
            work[held + p] = here
            scale += here
        work[scales + j] = scale
        likelihood += log(scale)
        for p in range(n + 1):
            work[after + p] /= scale
            work[held + p] /= scale
    return likelihood


cdef inline int backward(
    const id_t[::1] words, row_t seen, row_t n, row_t m, const small_t[::1] null, const real[::1] jumps, real rest,
    real[::1] work, row_t place, row_t state_stride, row_t stride, small_t[::1] posteriors, small_t[::1] nulls,
) except -1 nogil:
    """Scaled backward pass: posteriors, and what `count_moves` adds up."""
    cdef row_t near = jumps.shape[0] - 1, window = near // 2, width = n + near, block = m * width
    cdef row_t norms = 3 * block + window, moves = norms + width, gains = norms + 2 * width
    cdef row_t betas = norms + 3 * width, left = norms + 4 * width, crossings = norms + 5 * width
    cdef row_t scales = 3 * block + (5 + near) * width, j, k, p, row, before, after
    cdef real far = jumps[near], weight, total, blank, idle
    for p in range(n + 1):
        work[betas + p] = 1.0
    for j in range(m - 1, -1, -1):
        row, before, after = j * width + window, block + j * width + window, 2 * block + j * width + window
        blank, weight, total, idle = rest * null[words[seen + j]] / work[scales + j], 1.0 - rest, 0.0, 0.0
        weight /= work[scales + j]
        for p in range(1, n + 1):
            posteriors[place + (p - 1) * state_stride + j * stride] = <small_t>(work[after + p] * work[betas + p])
        for p in range(n + 1):
            idle += work[before + p] * work[norms + p] * work[betas + p]
            work[gains + p] = weight * work[row + p] * work[betas + p]
            total += work[gains + p]
        nulls[seen + j] = <small_t>(blank * idle)
        for p in range(n + 1):
            work[moves + p] = far * total
        for k in range(near):
            weight = jumps[k] - far
            for p in range(n + 1):
                work[moves + p] += weight * work[gains + p + k - window]
                work[crossings + k * width + p] += work[before + p] * work[gains + p + k - window]
        for p in range(n + 1):
            work[left + p] += work[before + p] * work[moves + p]
            work[betas + p] = blank * work[betas + p] + work[moves + p] / work[norms + p]
    return 0


cdef inline int count_moves(row_t n, row_t m, const real[::1] jumps, real[::1] work, real[::1] tallies) except -1 nogil:
    """Add the moves of a sentence and their expected room to the tallies."""
    cdef row_t near = jumps.shape[0] - 1, window = near // 2, width = n + near, k, p, reached
    cdef row_t norms = 3 * m * width + window, left = norms + 4 * width, crossings = norms + 5 * width
    cdef real total = 0.0, moved
    for p in range(n + 1):
        total += work[left + p]
    for k in range(near):
        moved = 0.0
        for p in range(n + 1):
            moved += work[crossings + k * width + p]
        moved *= jumps[k]
        tallies[k] += moved
        total -= moved
    tallies[near] += max(total, 0.0)
    for p in range(n + 1):
        moved, reached = work[left + p] / work[norms + p], 0
        for k in range(near):
            if 1 <= p + k - window <= n:
                tallies[near + 1 + k] += moved
                reached += 1
        tallies[2 * near + 1] += moved * <real>(n - reached)
    return 0
