"""Sums of resampled rows: the bootstrap draws them with replacement, approximate randomisation deals them out (S12).

Every trial has its stream of words, SplitMix64 from a start of its own; a place below m is the upper half of a word
times m / 2^32, and none is likelier than another by more than 2^-32.
Twin: rampion/_reference/resample.py
"""

from libc.stdint cimport uint64_t

from rampion._core.types cimport real, row_t


cdef inline row_t place(uint64_t start, row_t n, row_t m) except -1 nogil:
    cdef uint64_t word = start + <uint64_t>n * <uint64_t>0x9E3779B97F4A7C15
    word = (word ^ (word >> 30)) * <uint64_t>0xBF58476D1CE4E5B9
    word = (word ^ (word >> 27)) * <uint64_t>0x94D049BB133111EB
    return <row_t>((((word ^ (word >> 31)) >> 32) * <uint64_t>m) >> 32)


cdef inline int add(const real[:, ::1] rows, const row_t[::1] picks, real[:, ::1] totals, row_t t) except -1 nogil:
    """Four rows at a time, so that a total is loaded once for four additions."""
    cdef row_t last = picks.shape[0], n = 0, a, b, c, d, j
    while n + 4 <= last:
        a, b, c, d = picks[n], picks[n + 1], picks[n + 2], picks[n + 3]
        for j in range(rows.shape[1]):
            totals[t, j] = totals[t, j] + rows[a, j] + rows[b, j] + rows[c, j] + rows[d, j]
        n += 4
    while n < last:
        for j in range(rows.shape[1]):
            totals[t, j] += rows[picks[n], j]
        n += 1
    return 0


def draw(const real[:, ::1] rows, const uint64_t[::1] streams, row_t[::1] picks, real[:, ::1] totals):
    """Add to every trial's totals as many rows as there are picks, drawn with replacement."""
    cdef row_t t, n
    with nogil:
        for t in range(streams.shape[0]):
            for n in range(picks.shape[0]):
                picks[n] = place(streams[t], n, rows.shape[0])
            add(rows, picks, totals, t)


def deal(const real[:, ::1] rows, const uint64_t[::1] streams, row_t[::1] deck, row_t[::1] picks, real[:, ::1] totals):
    """Add to every trial's totals a random half of each len(deck) successive rows, dealt from a shuffled deck."""
    cdef row_t pool = deck.shape[0], half = pool // 2, t, s, n, e, other
    with nogil:
        for t in range(streams.shape[0]):
            n = 0
            for s in range(rows.shape[0] // pool):
                if pool == 2:  # one card of two needs no deck
                    picks[s] = 2 * s + place(streams[t], s, 2)
                    continue
                for e in range(pool):
                    deck[e] = s * pool + e
                for e in range(half):
                    other = e + place(streams[t], n, pool - e)
                    picks[n] = deck[other]
                    deck[other] = deck[e]
                    n += 1
            add(rows, picks, totals, t)
