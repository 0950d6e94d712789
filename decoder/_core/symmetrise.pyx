"""Two alignments into one.

Sentence by sentence all points of either stand in a list and in a grid, with marks: in the first, in the second, in the
result.
Twin: decoder/_reference/symmetrise.py
"""

from rampion._core.types cimport byte_t, row_t

cdef enum:
    FIRST = 1
    SECOND = 2
    IN = 4
    NEXT = 8


def symmetrise(
    first, second, int steps, row_t width, byte_t[::1] grid, byte_t[::1] rows, byte_t[::1] columns,
    row_t[::1] bounds, int[::1] sources, int[::1] targets,
):  # OUT bounds, sources, targets
    """Fill in the points of both alignments (steps 0), of either (1), or those of both and what grows from them (2).

    Growth (steps 2): round by round, every point of either that touches one that is in, and whose source or target word
    had no point at the beginning of the round; steps 3: at last every point both of whose words have none so far.
    The grid has `width` cells a source word, with a border of one cell; work arrays hold zeros, also afterwards.
    """
    cdef const row_t[::1] first_bounds = first.bounds, second_bounds = second.bounds
    cdef const int[::1] first_sources = first.sources, first_targets = first.targets
    cdef const int[::1] second_sources = second.sources, second_targets = second.targets
    cdef row_t s, p, begin, end, count = 0, at
    with nogil:
        bounds[0] = 0
        for s in range(first_bounds.shape[0] - 1):
            begin = end = count
            end = enter(first_bounds[s], first_bounds[s + 1], first_sources, first_targets, FIRST, width, grid,
                        end, sources, targets)
            end = enter(second_bounds[s], second_bounds[s + 1], second_sources, second_targets, SECOND, width, grid,
                        end, sources, targets)
            for p in range(begin, end):
                at = (sources[p] + 1) * width + targets[p] + 1
                if steps == 1 or grid[at] == FIRST + SECOND:
                    grid[at] |= IN
                    rows[sources[p]] = columns[targets[p]] = 1
            if steps >= 2:
                while grow(begin, end, sources, targets, width, grid, rows, columns, 0):
                    pass
            if steps == 3:
                grow(begin, end, sources, targets, width, grid, rows, columns, 1)
            bounds[s + 1] = count = collect(begin, end, width, grid, rows, columns, sources, targets)
            sort(begin, count, sources, targets)


cdef inline row_t enter(
    row_t start, row_t stop, const int[::1] from_sources, const int[::1] from_targets, byte_t mark, row_t width,
    byte_t[::1] grid, row_t end, int[::1] sources, int[::1] targets,
) except -1 nogil:
    """Mark the points in the grid and append those not there before; the new end."""
    cdef row_t p, at
    for p in range(start, stop):
        at = (from_sources[p] + 1) * width + from_targets[p] + 1
        if grid[at] == 0:
            sources[end], targets[end] = from_sources[p], from_targets[p]
            end += 1
        grid[at] |= mark
    return end


cdef inline row_t grow(
    row_t begin, row_t end, const int[::1] sources, const int[::1] targets, row_t width, byte_t[::1] grid,
    byte_t[::1] rows, byte_t[::1] columns, bint final,
) except -1 nogil:
    """One round: how many points came in."""
    cdef row_t p, at, added = 0
    cdef bint fits
    for p in range(begin, end):
        at = (sources[p] + 1) * width + targets[p] + 1
        if grid[at] & IN:
            continue
        if final:
            fits = not rows[sources[p]] and not columns[targets[p]]
        else:
            fits = (not rows[sources[p]] or not columns[targets[p]]) and (
                (grid[at - width - 1] | grid[at - width] | grid[at - width + 1] | grid[at - 1]
                 | grid[at + 1] | grid[at + width - 1] | grid[at + width] | grid[at + width + 1]) & IN
            ) != 0
        if fits:
            grid[at] |= NEXT
            added += 1
    for p in range(begin, end):
        at = (sources[p] + 1) * width + targets[p] + 1
        if grid[at] & NEXT:
            grid[at] ^= NEXT | IN
            rows[sources[p]] = columns[targets[p]] = 1
    return added


cdef inline row_t collect(
    row_t begin, row_t end, row_t width, byte_t[::1] grid, byte_t[::1] rows, byte_t[::1] columns,
    int[::1] sources, int[::1] targets,  # OUT
) except -1 nogil:
    """Keep the points that are in, from `begin` on, and clear the work arrays; where the points end."""
    cdef row_t p, at, kept = begin
    for p in range(begin, end):
        at = (sources[p] + 1) * width + targets[p] + 1
        rows[sources[p]] = columns[targets[p]] = 0
        sources[kept], targets[kept] = sources[p], targets[p]
        kept += (grid[at] & IN) != 0
        grid[at] = 0
    return kept


cdef inline int sort(row_t begin, row_t end, int[::1] sources, int[::1] targets) except -1 nogil:
    """The points by source, then target: insertion, for they nearly are."""
    cdef row_t p, place
    cdef int source, target
    for p in range(begin + 1, end):
        source, target, place = sources[p], targets[p], p
        while place > begin and (
            sources[place - 1] > source or (sources[place - 1] == source and targets[place - 1] > target)
        ):
            sources[place], targets[place] = sources[place - 1], targets[place - 1]
            place -= 1
        sources[place], targets[place] = source, target
    return 0
