"""Consistent pairs of spans of word-aligned sentences, with their orientation, and what their occurrences add up to.

1. measure: what every word is linked to.
2. survey: the core of every source span, the smallest target span that holds all its links; is it consistent? Blocks of
   any length mark the four corners of their rectangles in a grid of (source place, target place).
3. spread: cores within the limit, and the same with unlinked target words around them. The orientation of a block is
   read off the grid: it is monotone or swapped if the corner of some block touches its own.

Twin: decoder/_reference/extract.py
"""

from libc.stdint cimport int32_t

from rampion._core.types cimport byte_t, id_t, real, row_t

cdef enum:
    FIRST = 0  # rows of reach: the links of source word j lie in [reach[FIRST, j], reach[LAST, j])
    LAST = 1
    FIRST_OF_TARGET = 2  # and those of target word i in [reach[FIRST_OF_TARGET, i], reach[LAST_OF_TARGET, i])
    LAST_OF_TARGET = 3
    BEGIN_BEGIN = 1  # corners of blocks of any length: where it begins or ends in the source, and in the target
    BEGIN_END = 2
    END_BEGIN = 4
    END_END = 8
    NOWHERE = 0x7FFFFFFF

cdef struct pair_t:  # of sentences
    row_t source, n  # its first source word, and how many it has
    row_t target, m
    row_t longest    # words of a span
    bint loose


def extract(source, target, alignment, row_t longest, bint loose, row_t done, byte_t[::1] corners,
            int32_t[:, ::1] reach, int32_t[:, ::1] cores, spans, row_t[::1] span_bounds):  # OUT spans, span_bounds
    """Spans of the sentence pairs from number `done` on; return how many are done: all, unless spans are full.

    A pair of spans is consistent if it holds a link and no link leads out of it. Both have at most `longest` words;
    without `loose`, their outermost words have links. codes are 3 * backward + forward orientation (M, S, D).
    The work arrays are for the longest linked sentences of n and m words: (n + 1)(m + 1); 4 by the longer; n * longest
    by 4.
    """
    cdef const row_t[::1] source_bounds = source.bounds, target_bounds = target.bounds, link_bounds = alignment.bounds
    cdef const int32_t[::1] from_source = alignment.sources, to_target = alignment.targets
    cdef row_t[::1] source_starts = spans.source_starts, target_starts = spans.target_starts
    cdef byte_t[::1] source_sizes = spans.source_sizes, target_sizes = spans.target_sizes, codes = spans.codes
    cdef row_t at, count, core
    cdef pair_t p
    p.longest, p.loose = longest, loose
    with nogil:
        while done < source_bounds.shape[0] - 1:
            p.source, p.n = source_bounds[done], source_bounds[done + 1] - source_bounds[done]
            p.target, p.m = target_bounds[done], target_bounds[done + 1] - target_bounds[done]
            at = span_bounds[done]
            if link_bounds[done] < link_bounds[done + 1]:
                measure(from_source, to_target, link_bounds[done], link_bounds[done + 1], p.n, p.m, reach)
                count = survey(p, reach, corners, cores)
                for core in range(count):
                    at = spread(p, core, reach, corners, cores, source_starts, target_starts, source_sizes,
                                target_sizes, codes, at)
                if at == codes.shape[0]:
                    break
            done += 1
            span_bounds[done] = at
    return done


cdef inline row_t spread(
    pair_t p, row_t core, const int32_t[:, ::1] reach, const byte_t[::1] corners, const int32_t[:, ::1] cores,
    row_t[::1] source_starts, row_t[::1] target_starts, byte_t[::1] source_sizes, byte_t[::1] target_sizes,
    byte_t[::1] codes, row_t at,  # OUT
) except -1 nogil:
    """Write a core from `at` on, and the spans that unlinked target words make it grow to; where they end, or full."""
    cdef row_t start = cores[core, 0], end = cores[core, 1], begin = cores[core, 2], finish
    cdef row_t begins = start * (p.m + 1), ends = end * (p.m + 1)
    while True:
        finish = cores[core, 3]
        while finish - begin <= p.longest and at < codes.shape[0]:
            source_starts[at], source_sizes[at] = p.source + start, <byte_t> (end - start)
            target_starts[at], target_sizes[at] = p.target + begin, <byte_t> (finish - begin)
            codes[at] = <byte_t> (3 * turn(corners[begins + begin], END_END, corners[ends + begin], BEGIN_END)
                                  + turn(corners[ends + finish], BEGIN_BEGIN, corners[begins + finish], END_BEGIN))
            at += 1
            if not p.loose or finish == p.m or reach[LAST_OF_TARGET, finish] != 0:
                break
            finish += 1
        if not p.loose or begin == 0 or reach[LAST_OF_TARGET, begin - 1] != 0 or cores[core, 3] - begin >= p.longest:
            return at
        begin -= 1


cdef inline int turn(byte_t straight, int wanted, byte_t swapped, int other) except? -1 nogil:
    """M, S or D, by the corners that touch."""
    return 0 if straight & wanted else 1 if swapped & other else 2


cdef inline row_t measure(
    const int32_t[::1] from_source, const int32_t[::1] to_target, row_t first, row_t last, row_t n, row_t m,
    int32_t[:, ::1] reach,
) except -1 nogil:
    """What every word is linked to."""
    cdef row_t at
    cdef int32_t j, i
    for at in range(max(n, m)):
        reach[FIRST, at] = reach[FIRST_OF_TARGET, at] = NOWHERE
        reach[LAST, at] = reach[LAST_OF_TARGET, at] = 0
    for at in range(first, last):
        j, i = from_source[at], to_target[at]
        reach[FIRST, j] = min(reach[FIRST, j], i)
        reach[LAST, j] = max(reach[LAST, j], i + 1)
        reach[FIRST_OF_TARGET, i] = min(reach[FIRST_OF_TARGET, i], j)
        reach[LAST_OF_TARGET, i] = max(reach[LAST_OF_TARGET, i], j + 1)
    return 0


cdef inline row_t survey(
    pair_t p, const int32_t[:, ::1] reach, byte_t[::1] corners, int32_t[:, ::1] cores,
) except -1 nogil:
    """Mark the corners of all blocks of any length; list those within `longest`, target spans as small as can be."""
    cdef row_t start, end, low, high, left, right, at, count = 0, width = p.m + 1
    for at in range((p.n + 1) * width):
        corners[at] = 0
    corners[0] = END_END
    corners[p.n * width + p.m] = BEGIN_BEGIN
    for start in range(p.n):
        low, high, left, right = NOWHERE, 0, NOWHERE, 0
        for end in range(start + 1, p.n + 1):
            if reach[LAST, end - 1] != 0:
                if high == 0:
                    low = high = reach[FIRST, end - 1]
                for at in range(reach[FIRST, end - 1], low):
                    left, right = min(left, reach[FIRST_OF_TARGET, at]), max(right, reach[LAST_OF_TARGET, at])
                for at in range(high, reach[LAST, end - 1]):
                    left, right = min(left, reach[FIRST_OF_TARGET, at]), max(right, reach[LAST_OF_TARGET, at])
                low, high = min(low, reach[FIRST, end - 1]), max(high, reach[LAST, end - 1])
            if left < start:
                break
            if high == 0 or right > end:
                continue
            mark(start * width, end * width, low, high, p.m, reach, corners)
            if end - start <= p.longest and high - low <= p.longest and (
                p.loose or (reach[LAST, start] != 0 and reach[LAST, end - 1] != 0)
            ):
                cores[count, 0], cores[count, 1] = <int32_t> start, <int32_t> end
                cores[count, 2], cores[count, 3] = <int32_t> low, <int32_t> high
                count += 1
    return count


cdef inline row_t mark(
    row_t begins, row_t ends, row_t low, row_t high, row_t m, const int32_t[:, ::1] reach, byte_t[::1] corners,
) except -1 nogil:
    """The corners of the block, and of those that unaligned target words make it grow to."""
    while True:
        corners[begins + low] |= BEGIN_BEGIN
        corners[ends + low] |= END_BEGIN
        if low == 0 or reach[LAST_OF_TARGET, low - 1] != 0:
            break
        low -= 1
    while True:
        corners[begins + high] |= BEGIN_END
        corners[ends + high] |= END_END
        if high == m or reach[LAST_OF_TARGET, high] != 0:
            break
        high += 1
    return 0


def tally(spans, const id_t[::1] sources, const id_t[::1] targets, const real[::1] source_weights,
          const real[::1] target_weights, const row_t[::1] firsts, const id_t[::1] followers,
          id_t[:, ::1] turns, real[:, ::1] lexical):  # OUT turns, lexical
    """Add the orientations of all occurrences to those of their blocks; keep the greatest lexical weights.

    The targets of source phrase p are followers[firsts[p]:firsts[p + 1]], ascending. Other pairs are passed over.
    """
    cdef const row_t[::1] source_starts = spans.source_starts, target_starts = spans.target_starts
    cdef const byte_t[::1] source_sizes = spans.source_sizes, target_sizes = spans.target_sizes, codes = spans.codes
    cdef row_t at, low, high, middle, word
    cdef real total
    with nogil:
        for at in range(sources.shape[0]):
            low, high = firsts[sources[at]], firsts[sources[at] + 1]
            while low < high:
                middle = (low + high) // 2
                if followers[middle] < targets[at]:
                    low = middle + 1
                else:
                    high = middle
            if low == firsts[sources[at] + 1] or followers[low] != targets[at]:
                continue
            turns[low, codes[at] // 3] += 1
            turns[low, 3 + codes[at] % 3] += 1
            total = 0.0
            for word in range(source_starts[at], source_starts[at] + source_sizes[at]):
                total += source_weights[word]
            lexical[low, 0] = max(lexical[low, 0], total)
            total = 0.0
            for word in range(target_starts[at], target_starts[at] + target_sizes[at]):
                total += target_weights[word]
            lexical[low, 1] = max(lexical[low, 1], total)
