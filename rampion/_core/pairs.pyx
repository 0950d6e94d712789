"""Pairs of candidates that differ in cost, drawn at random (Hopkins & May 2011; S6).

Segment s has its own splitmix64 stream, which begins at key + s * STRIDE. A draw is one output of it: the upper half
picks j, the lower half k, each as half * size / 2**32 rounded down. j = k is a wasted draw.
Twin: rampion/_reference/pairs.py
"""

from libc.stdint cimport uint64_t

from rampion._core.types cimport real, row_t


cdef inline uint64_t mixed(uint64_t state) except? 0 nogil:
    """The finaliser of splitmix64 (Steele, Lea & Flood 2014)."""
    state = (state ^ (state >> 30)) * <uint64_t> 0xBF58476D1CE4E5B9
    state = (state ^ (state >> 27)) * <uint64_t> 0x94D049BB133111EB
    return state ^ (state >> 31)


def pairs(
    const real[::1] costs, const row_t[::1] bounds, const uint64_t[::1] key, row_t draws, real margin, real[::1] gaps,
    row_t[::1] counts, row_t[:, ::1] better, row_t[:, ::1] worse,
):
    """Of each segment's draws that differ by margin and more than 0, keep those that differ most, equals as drawn.

    gaps is work of one row of better, which says how many are kept; row s holds counts[s] pairs, widest first.
    """
    # Longer than most, because a draw may be dropped at three places.
    cdef row_t s, start, size, _draw, j, k, place, count, kept = better.shape[1]
    cdef uint64_t state, bits, half = 0xFFFFFFFF
    cdef real gap, bar
    with nogil:
        for s in range(bounds.shape[0] - 1):
            start = bounds[s]
            size = bounds[s + 1] - start
            state = mixed(key[0] + <uint64_t> s * <uint64_t> 0xD1342543DE82EF95)
            count = 0
            bar = margin
            if size > 1:
                for _draw in range(draws):
                    # draw two candidates; j is to be the better one
                    state += <uint64_t> 0x9E3779B97F4A7C15
                    bits = mixed(state)
                    j = start + <row_t> (((bits >> 32) * <uint64_t> size) >> 32)
                    k = start + <row_t> (((bits & half) * <uint64_t> size) >> 32)
                    gap = costs[k] - costs[j]
                    if gap < 0.0:
                        gap = -gap
                        j, k = k, j
                    # drop the pair if it differs too little, or less than all of those that are kept
                    if gap < bar or gap == 0.0 or (count == kept and gap == bar):
                        continue
                    # insert it behind those that differ as much or more
                    place = count if count < kept else kept - 1
                    while place > 0 and gaps[place - 1] < gap:
                        gaps[place] = gaps[place - 1]
                        better[s, place] = better[s, place - 1]
                        worse[s, place] = worse[s, place - 1]
                        place -= 1
                    gaps[place] = gap
                    better[s, place] = j
                    worse[s, place] = k
                    count += count < kept
                    if count == kept:
                        bar = gaps[kept - 1]
            counts[s] = count
