"""Expectation of the HMM of word alignment, one direction at a time; sides and places are those of align.pyx.

Jumps: jumps[k] is the weight of moving by k - window places, the last one that of every move farther than the window;
the chance of a move is its weight over that of all moves from there. Place 0 is before the sentence; the null word
keeps the place. Far moves all weigh the same: a step of the recursions adds up all places once, times that weight, and
then what near moves weigh more, jump by jump. So it is linear in the words of the sentence.

1. forward: how likely the words up to each one are, wherever it comes from; scaled to 1 at each word.
2. backward: how likely the words behind it are; hence the posteriors, and what crosses each jump.
3. count_moves: what was crossed, and what could have been.

Twin: decoder/_reference/hmm.py
"""

from libc.math cimport log

from rampion._core.types cimport id_t, real, row_t, small_t

from .emissions cimport fill_weights

# Where things stand in the work array of a sentence. Rows hold n + 1 places, with `window` zeros at both sides, so that
# jumps may lead out of the sentence; all but `scales` are places in the middle of a row.
cdef struct room_t:
    row_t n, m                 # states, observed words
    row_t near, window, width  # near jumps, -window to window; the width of a row
    row_t emissions            # m rows: how likely the word is, from each state
    row_t before               # m rows: occupation over norm before the step
    row_t after                # m rows: what each real state has got at the step
    row_t norms                # the weight of all moves from a place
    row_t moves                # what moves bring to a place
    row_t held                 # forward: occupation; backward: gain
    row_t betas
    row_t left                 # moves that left a place
    row_t crossings            # a row for each near jump: moves over it
    row_t scales               # m numbers


cdef inline int divide(row_t n, row_t m, row_t jumps, room_t* r) except -1 nogil:  # OUT r
    """Divide the work array."""
    r.n, r.m, r.near, r.window, r.width = n, m, jumps - 1, (jumps - 1) // 2, n + jumps - 1
    r.emissions = r.window
    r.before = r.emissions + m * r.width
    r.after = r.before + m * r.width
    r.norms = r.after + m * r.width
    r.moves = r.norms + r.width
    r.held = r.moves + r.width
    r.betas = r.held + r.width
    r.left = r.betas + r.width
    r.crossings = r.left + r.width
    r.scales = r.crossings - r.window + r.near * r.width
    return 0


def hmm(
    pairs, const id_t[::1] words, bint flipped, const small_t[::1] probs, const small_t[::1] null, transition,
    row_t first, row_t last, real[::1] work, small_t[::1] posteriors, small_t[::1] nulls, real[::1] tallies,
):  # OUT posteriors, nulls, tallies
    """Fill in the posteriors of the HMM; return log p(observed | states) of all the sentences.

    transition is (jumps, rest), `rest` being the chance of the null word. tallies gains the expected moves of every
    jump, and behind them what each jump's weight was expected to add up to per unit of weight: moves / that is a better
    weight (an MM step).
    """
    cdef const row_t[::1] states = pairs.target_bounds if flipped else pairs.source_bounds
    cdef const row_t[::1] seen = pairs.source_bounds if flipped else pairs.target_bounds
    cdef const row_t[::1] offsets = pairs.offsets
    cdef const id_t[::1] cells = pairs.cells
    cdef const real[::1] jumps = transition[0]
    cdef real rest = transition[1], likelihood = 0.0
    cdef row_t s, state_stride, stride
    cdef room_t r
    with nogil:
        for s in range(first, last):
            divide(states[s + 1] - states[s], seen[s + 1] - seen[s], jumps.shape[0], &r)
            state_stride, stride = 1 if flipped else r.m, r.n if flipped else 1
            work[:r.scales + r.m] = 0.0
            fill_weights(cells, offsets[s], r.n, r.m, state_stride, stride, probs, work, r.width, r.emissions + 1)
            likelihood += forward(r, words, seen[s], null, jumps, rest, work)
            backward(r, words, seen[s], null, jumps, rest, work, offsets[s] - offsets[first], state_stride, stride,
                     posteriors, nulls)
            count_moves(r, jumps, work, tallies)
    return likelihood


cdef inline int weigh_moves(room_t r, const real[::1] jumps, real[::1] work) except -1 nogil:
    """The weight of all moves from a place: each state counts as far, and near ones what they weigh more."""
    cdef row_t p, k
    cdef real far = jumps[r.near], weight
    for p in range(r.n + 1):
        weight = far * <real>r.n
        for k in range(r.near):
            if 1 <= p + k - r.window <= r.n:
                weight += jumps[k] - far
        work[r.norms + p] = weight
    return 0


cdef inline real forward(
    room_t r, const id_t[::1] words, row_t seen, const small_t[::1] null, const real[::1] jumps, real rest,
    real[::1] work,
) except? -1 nogil:
    """Scaled forward pass; log-likelihood."""
    cdef row_t j, k, p, row, before, after
    cdef real far = jumps[r.near], weight, total, scale, blank, here, likelihood = 0.0
    weigh_moves(r, jumps, work)
    work[r.held] = 1.0
    for j in range(r.m):
        row, before, after = r.emissions + j * r.width, r.before + j * r.width, r.after + j * r.width
        # Where moves lead: all far ones alike, then near ones jump by jump.
        total = 0.0
        for p in range(r.n + 1):
            work[before + p] = work[r.held + p] / work[r.norms + p]
            total += work[before + p]
        for p in range(r.n + 1):
            work[r.moves + p] = far * total
        for k in range(r.near):
            weight = jumps[k] - far
            for p in range(r.n + 1):
                work[r.moves + p] += weight * work[before + p - k + r.window]
        # The word comes from there, or from the null word, which does not move.
        blank, scale = rest * null[words[seen + j]], 0.0
        for p in range(r.n + 1):
            here = (1.0 - rest) * work[r.moves + p] * work[row + p]
            work[after + p] = here
            here += blank * work[r.held + p]
            work[r.held + p] = here
            scale += here
        work[r.scales + j] = scale
        likelihood += log(scale)
        for p in range(r.n + 1):
            work[after + p] /= scale
            work[r.held + p] /= scale
    return likelihood


cdef inline int backward(
    room_t r, const id_t[::1] words, row_t seen, const small_t[::1] null, const real[::1] jumps, real rest,
    real[::1] work, row_t place, row_t state_stride, row_t stride, small_t[::1] posteriors, small_t[::1] nulls,  # OUT
) except -1 nogil:
    """Scaled backward pass: posteriors, and what `count_moves` adds up."""
    cdef row_t j, k, p, row, before, after
    cdef real far = jumps[r.near], weight, total, blank, idle
    for p in range(r.n + 1):
        work[r.betas + p] = 1.0
    for j in range(r.m - 1, -1, -1):
        row, before, after = r.emissions + j * r.width, r.before + j * r.width, r.after + j * r.width
        blank, weight, total, idle = rest * null[words[seen + j]] / work[r.scales + j], 1.0 - rest, 0.0, 0.0
        weight /= work[r.scales + j]
        # What is before the word times what is behind it.
        for p in range(1, r.n + 1):
            posteriors[place + (p - 1) * state_stride + j * stride] = <small_t>(work[after + p] * work[r.betas + p])
        for p in range(r.n + 1):
            idle += work[before + p] * work[r.norms + p] * work[r.betas + p]
            work[r.held + p] = weight * work[row + p] * work[r.betas + p]
            total += work[r.held + p]
        nulls[seen + j] = <small_t>(blank * idle)
        # The moves again, from where they lead to where they come from, and what crosses each near jump.
        for p in range(r.n + 1):
            work[r.moves + p] = far * total
        for k in range(r.near):
            weight = jumps[k] - far
            for p in range(r.n + 1):
                work[r.moves + p] += weight * work[r.held + p + k - r.window]
                work[r.crossings + k * r.width + p] += work[before + p] * work[r.held + p + k - r.window]
        for p in range(r.n + 1):
            work[r.left + p] += work[before + p] * work[r.moves + p]
            work[r.betas + p] = blank * work[r.betas + p] + work[r.moves + p] / work[r.norms + p]
    return 0


cdef inline int count_moves(room_t r, const real[::1] jumps, real[::1] work, real[::1] tallies) except -1 nogil:
    """Add the moves of a sentence and their expected room to the tallies."""
    cdef row_t k, p, reached
    cdef real total = 0.0, moved
    for p in range(r.n + 1):
        total += work[r.left + p]
    for k in range(r.near):
        moved = 0.0
        for p in range(r.n + 1):
            moved += work[r.crossings + k * r.width + p]
        moved *= jumps[k]
        tallies[k] += moved
        total -= moved
    tallies[r.near] += max(total, 0.0)
    for p in range(r.n + 1):
        moved, reached = work[r.left + p] / work[r.norms + p], 0
        for k in range(r.near):
            if 1 <= p + k - r.window <= r.n:
                tallies[r.near + 1 + k] += moved
                reached += 1
        tallies[2 * r.near + 1] += moved * <real>(r.n - reached)
    return 0
