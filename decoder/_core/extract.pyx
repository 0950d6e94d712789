"""Consistent pairs of spans of word-aligned sentences, with their orientation, and what their occurrences add up to.

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
    cdef row_t pair = done, last = source_bounds.shape[0] - 1, at, n, m, count, core, room = codes.shape[0]
    cdef row_t start, end, low, high, begin, finish
    with nogil:
        while pair < last:
            n = source_bounds[pair + 1] - source_bounds[pair]
            m = target_bounds[pair + 1] - target_bounds[pair]
            if link_bounds[pair] == link_bounds[pair + 1]:
                pair += 1
                span_bounds[pair] = span_bounds[pair - 1]
                continue
            measure(from_source, to_target, link_bounds[pair], link_bounds[pair + 1], n, m, reach)
            count = survey(n, m, longest, loose, reach, corners, cores)
            at = span_bounds[pair]
            for core in range(count):
                start, end, low, high = cores[core, 0], cores[core, 1], cores[core, 2], cores[core, 3]
                begin = low
                while True:
                    finish = high
                    while finish - begin <= longest and at < room:
                        source_starts[at] = source_bounds[pair] + start
                        source_sizes[at] = <byte_t> (end - start)
                        target_starts[at] = target_bounds[pair] + begin
                        target_sizes[at] = <byte_t> (finish - begin)
                        codes[at] = <byte_t> (
                            3 * turn(corners[start * (m + 1) + begin], END_END,
                                     corners[end * (m + 1) + begin], BEGIN_END)
                            + turn(corners[end * (m + 1) + finish], BEGIN_BEGIN,
                                   corners[start * (m + 1) + finish], END_BEGIN)
                        )
                        at += 1
                        if not loose or finish == m or reach[LAST_OF_TARGET, finish] != 0:
                            break
                        finish += 1
                    if not loose or begin == 0 or reach[LAST_OF_TARGET, begin - 1] != 0 or high - begin >= longest:
                        break
                    begin -= 1
            if at == room:
                break
            pair += 1
            span_bounds[pair] = at
    return pair


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
    row_t n, row_t m, row_t longest, bint loose, const int32_t[:, ::1] reach, byte_t[::1] corners,
    int32_t[:, ::1] cores,
) except -1 nogil:
    """Mark the corners of all blocks of any length; list those within `longest`, target spans as small as can be."""
    cdef row_t start, end, low, high, left, right, at, count = 0, width = m + 1
    for at in range((n + 1) * width):
        corners[at] = 0
    corners[0] = END_END
    corners[n * width + m] = BEGIN_BEGIN
    for start in range(n):
        low, high, left, right = NOWHERE, 0, NOWHERE, 0
        for end in range(start + 1, n + 1):
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
            mark(start * width, end * width, low, high, m, reach, corners)
            if end - start <= longest and high - low <= longest and (
                loose or (reach[LAST, start] != 0 and reach[LAST, end - 1] != 0)
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
