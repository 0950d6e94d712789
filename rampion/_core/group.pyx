"""Features of a segment that stand in the same candidates equally often become groups (S11.2): candidates hold groups.

A group usually stands in a candidate as often as its features do in more than half of them; a candidate holds what it
differs by: group g for once more, as many groups + g for once less. So what all candidates have alike is in none.
Twin: rampion/_reference/group.py
"""

from rampion._core.types cimport id_t, place_t, row_t

cdef enum:
    GROUP    # of a feature, all else of a group: this and the next are names of rows of `work`
    SIZE     # features
    STAMP    # of the last refinement that parted it
    CHILD    # where that put its features
    FREE     # numbers that no group has now
    FIRST    # feature
    TOTAL    # how often it stands in all candidates
    MOST     # how often it stands in one
    HITS     # in how many it stands as often as is asked; later, how often in the last one
    USUAL    # how often it stands in more than half of them
    NUMBER   # among those that tell candidates apart, from 1; 0 of the others
    OFTEN    # the groups that are usual at all
    SEEN     # the last candidate that had it
    LATER    # features of a candidate that stand oftener than once,
    TIMES    # and how often


cdef inline row_t move(row_t feature, row_t mark, row_t[:, ::1] work, row_t spare) except -1 nogil:
    """Move a feature to where those of its group go that have this mark; the numbers that are still free."""
    cdef row_t group = work[GROUP, feature], child
    if work[STAMP, group] != mark:
        spare -= 1
        child = work[FREE, spare]
        work[STAMP, group] = mark
        work[CHILD, group] = child
        work[STAMP, child] = -1
        work[SIZE, child] = 0
    child = work[CHILD, group]
    work[GROUP, feature] = child
    work[SIZE, child] += 1
    work[SIZE, group] -= 1
    if work[SIZE, group] == 0:
        work[FREE, spare] = group
        spare += 1
    return spare


cdef inline row_t refine(
    const id_t[::1] entries, row_t start, row_t end, row_t[:, ::1] work, row_t spare,
) except -1 nogil:
    """Part groups by how often features stand in a candidate; the numbers that are still free."""
    cdef row_t i, run, e = start, later = 0, most = 1, level
    while e < end:
        run = 1
        while e + run < end and entries[e + run] == entries[e]:
            run += 1
        if run == 1:
            spare = move(entries[e], start + 1, work, spare)
        else:
            work[LATER, later] = entries[e]
            work[TIMES, later] = run
            later += 1
            most = max(most, run)
        e += run
    for level in range(2, most + 1):
        for i in range(later):
            if work[TIMES, i] == level:
                spare = move(work[LATER, i], start + level, work, spare)
    return spare


cdef inline row_t count(
    const id_t[::1] entries, const row_t[::1] entry_bounds, row_t start, row_t end, row_t level, row_t[:, ::1] work,
) except -1 nogil:
    """Count the candidates in which groups stand at least so often; how many groups more than half of them hold."""
    cdef row_t i, e, group, run, found = 0
    for i in range(start, end):
        run = 0
        for e in range(entry_bounds[i], entry_bounds[i + 1]):
            run = run + 1 if e > entry_bounds[i] and entries[e] == entries[e - 1] else 1
            group = work[GROUP, entries[e]]
            if work[FIRST, group] == entries[e]:
                if level == 1:
                    work[TOTAL, group] += 1
                    work[MOST, group] = max(work[MOST, group], run)
                if run == level:
                    work[HITS, group] += 1
                    if 2 * work[HITS, group] > end - start and work[USUAL, group] < level:
                        work[USUAL, group] = level
                        found += 1
    return found


cdef inline row_t part(
    const id_t[::1] entries, const row_t[::1] entry_bounds, row_t start, row_t end, row_t size, row_t[:, ::1] work,
) except -1 nogil:
    """Fill the groups of a segment, and their numbers; how many tell candidates apart."""
    cdef row_t i, j, group, level = 1, spare = size, number = 0
    for j in range(size + 1):
        work[TOTAL, j] = work[MOST, j] = work[USUAL, j] = work[HITS, j] = work[NUMBER, j] = 0
        work[SEEN, j] = -1
    for j in range(size):
        work[GROUP, j] = size
        work[FREE, j] = j
    work[SIZE, size] = size
    work[STAMP, size] = -1
    for i in range(start, end):
        spare = refine(entries, entry_bounds[i], entry_bounds[i + 1], work, spare)
    for j in range(size - 1, -1, -1):
        work[FIRST, work[GROUP, j]] = j
    while count(entries, entry_bounds, start, end, level, work):
        level += 1
        for j in range(size + 1):
            work[HITS, j] = 0
    for j in range(size):
        group = work[GROUP, j]
        if work[FIRST, group] == j and work[TOTAL, group] != work[MOST, group] * (end - start):
            number += 1
            work[NUMBER, group] = number
    return number


cdef inline row_t differ(
    const id_t[::1] held, row_t start, row_t end, row_t often, row_t size, place_t owner, row_t[:, ::1] work,
    row_t filled, place_t[::1] entries, place_t[::1] owners,
) except -1 nogil:
    """Write by what a candidate differs from what is usual, first what it has oftener; where the next one begins."""
    cdef row_t e, i, _, group, run = 0
    for e in range(start, end):
        run = run + 1 if e > start and held[e] == held[e - 1] else 1
        group = work[GROUP, held[e]]
        if work[FIRST, group] == held[e] and work[NUMBER, group]:
            work[SEEN, group] = start
            work[HITS, group] = run
            if run > work[USUAL, group]:
                entries[filled] = <place_t>(work[NUMBER, group] - 1)
                owners[filled] = owner
                filled += 1
    for i in range(often):
        group = work[OFTEN, i]
        for _ in range(work[HITS, group] if work[SEEN, group] == start else 0, work[USUAL, group]):
            entries[filled] = <place_t>(size + work[NUMBER, group] - 1)
            owners[filled] = owner
            filled += 1
    return filled


def group(
    lists, row_t[:, ::1] work,
    id_t[::1] features, row_t[::1] feature_bounds, place_t[::1] groups, row_t[::1] group_bounds,  # OUT
    place_t[::1] entries, place_t[::1] owners, row_t[::1] entry_bounds,  # OUT
):
    """Fill features that tell candidates of a segment apart, their groups, and by which groups candidates differ."""
    cdef const row_t[::1] bounds = lists.bounds, dictionaries = lists.feature_bounds, spans = lists.entry_bounds
    cdef const id_t[::1] known = lists.features, held = lists.entries
    cdef row_t s, i, j, one, size, number, often, kept = 0, filled = 0
    with nogil:
        feature_bounds[0] = group_bounds[0] = entry_bounds[0] = 0
        for s in range(bounds.shape[0] - 1):
            size = dictionaries[s + 1] - dictionaries[s]
            number = part(held, spans, bounds[s], bounds[s + 1], size, work)
            often = 0
            for j in range(size):
                one = work[GROUP, j]
                if work[NUMBER, one]:
                    if work[FIRST, one] == j and work[USUAL, one]:
                        work[OFTEN, often] = one
                        often += 1
                    features[kept] = known[dictionaries[s] + j]
                    groups[kept] = <place_t>(work[NUMBER, one] - 1)
                    kept += 1
            feature_bounds[s + 1] = kept
            group_bounds[s + 1] = group_bounds[s] + number
            for i in range(bounds[s], bounds[s + 1]):
                filled = differ(
                    held, spans[i], spans[i + 1], often, number, <place_t>(i - bounds[s]), work, filled, entries, owners
                )
            entry_bounds[s + 1] = filled
