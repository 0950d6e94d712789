"""Which cells to score: cube pruning without a queue.

A cell promises base + score of the row + option gain. In every grid rows and columns are sorted, best first. So the
cells that promise a certain threshold at least are a staircase, which is walked in rows + columns steps (`reaching`).
The threshold that about `pops` cells of all grids reach is sought by halving (`seek_bracket`), and the cells above it
are listed (`take`). Where many cells promise the same, no threshold may fit: then those above the upper bound come
first, and those between both bounds as far as there is room.

The sum of a row is always formed as (base + score) + gain, and does not increase from column to column.
"""

from libc.math cimport INFINITY

from rampion._core.types cimport id_t, real, row_t

from .search cimport FULL, edge_t, grid_t

cdef enum:
    HALVINGS = 40


cdef inline row_t reaching(real least, row_t most, const grid_t[::1] grids, row_t count, const real[::1] rows,
                           const real[::1] gains) except? -1 nogil:
    """How many cells promise at least so much; counting stops above `most`."""
    cdef row_t found = 0, g, i, end
    cdef real sofar
    for g in range(count):
        end = grids[g].end
        for i in range(grids[g].first, grids[g].last):
            sofar = grids[g].base + rows[i]
            while end > grids[g].choice and sofar + gains[end - 1] < least:
                end -= 1
            if end == grids[g].choice:
                break
            found += end - grids[g].choice
        if found > most:
            break
    return found


cdef inline int seek_bracket(row_t pops, real slack, const grid_t[::1] grids, row_t count, const real[::1] rows,
                             const real[::1] gains, real[::1] bracket) except -1 nogil:
    """Find bracket[1], which about and at most `pops` cells reach, and bracket[0] below it, which as many or more do.

    Both are `slack` below the most promising cell if no more cells reach that. The search begins bracket[2] below that
    cell and leaves there how far below it ended.
    """
    cdef real top = -INFINITY, middle
    cdef row_t g, total = 0, found
    for g in range(count):
        total += (grids[g].last - grids[g].first) * (grids[g].end - grids[g].choice)
        top = max(top, (grids[g].base + rows[grids[g].first]) + gains[grids[g].choice])
    if total <= pops:
        bracket[0] = bracket[1] = -INFINITY
        return 0
    if slack < INFINITY and reaching(top - slack, pops, grids, count, rows, gains) <= pops:
        bracket[0] = bracket[1] = top - slack
        return 0
    bracket[0], bracket[1] = top - bracket[2], top
    for _ in range(HALVINGS):
        found = reaching(bracket[0], pops, grids, count, rows, gains)
        if found > pops:
            break
        bracket[1] = bracket[0]
        if 8 * found >= 7 * pops:
            break
        bracket[0] = top - 1.5 * (top - bracket[0])
    for _ in range(HALVINGS):
        if bracket[0] == bracket[1]:
            break
        middle = 0.5 * bracket[0] + 0.5 * bracket[1]
        found = reaching(middle, pops, grids, count, rows, gains)
        if found > pops:
            bracket[0] = middle
        else:
            bracket[1] = middle
            if 8 * found >= 7 * pops:
                bracket[0] = middle
    bracket[2] = max(top - bracket[1], 1e-9)  # widened by a factor next time: it must not be 0
    return 0


cdef inline row_t take(real least, real below, row_t most, const grid_t[::1] grids, row_t count,
                       const real[::1] rows, const id_t[::1] row_nodes, const real[::1] gains,
                       const id_t[::1] choices, edge_t[::1] tries, row_t found) except? -1 nogil:
    """List the cells that promise from `least` to less than `below`, row by row, until there are `most`; or FULL."""
    cdef row_t g, i, j, end
    cdef real sofar
    for g in range(count):
        end = grids[g].end
        for i in range(grids[g].first, grids[g].last):
            sofar = grids[g].base + rows[i]
            while end > grids[g].choice and sofar + gains[end - 1] < least:
                end -= 1
            if end == grids[g].choice:
                break
            for j in range(grids[g].choice, end):
                if sofar + gains[j] >= below:
                    continue
                if found == most:
                    return found
                if found == tries.shape[0]:
                    return FULL
                tries[found].score = grids[g].source + gains[j]
                tries[found].next = g
                tries[found].origin, tries[found].option = row_nodes[i], choices[j]
                found += 1
    return found
