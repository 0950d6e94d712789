"""Exact line search (Och 2003): who wins every list along a line, and what corpus the winners make there.

Candidate i is the line intercepts[i] + x * slopes[i]; the winners of a list are its upper envelope (S5.1).
Twin: rampion/_reference/envelope.py
"""

from libc.math cimport INFINITY

from rampion._core.types cimport id_t, real, row_t


cdef inline row_t contend(
    const real[::1] intercepts, const real[::1] slopes, const id_t[::1] order, row_t start, row_t end, row_t[::1] kept
) except -1 nogil:
    """Keep, in order, those not clearly below the chords from the highest line to the flattest and to the steepest.

    What is left out lies strictly below the envelope: the slack of 1e-9 is far above the rounding of the test.
    """
    cdef row_t low = start, high = start, top = start, i, k, count = 0
    cdef real height = intercepts[start], least = slopes[start], most = least, slope, fall = 0.0, rise = 0.0
    cdef real left, right
    for i in range(start + 1, end):
        if intercepts[i] > height:
            height = intercepts[i]
            top = i
        if slopes[i] < least:
            least = slopes[i]
            low = i
        if slopes[i] > most:
            most = slopes[i]
            high = i
    slope = slopes[top]
    if least < slope:
        fall = -(1.0 + 1e-9) * ((height - intercepts[low]) / (slope - least))
    if most > slope:
        rise = (1.0 + 1e-9) * ((height - intercepts[high]) / (most - slope))
    for k in range(start, end):
        i = order[k]
        left = (slopes[i] - slope) * fall
        right = (slopes[i] - slope) * rise
        kept[count] = i
        count += not height - intercepts[i] > (right if right > left else left)
    return count


cdef inline bint precedes(const real[::1] intercepts, const real[::1] slopes, row_t i, row_t k) except -1 nogil:
    """Whether line i comes before line k: flatter, or else higher, or else earlier."""
    if slopes[i] != slopes[k]:
        return slopes[i] < slopes[k]
    if intercepts[i] != intercepts[k]:
        return intercepts[i] > intercepts[k]
    return i < k


cdef inline int sort(const real[::1] intercepts, const real[::1] slopes, row_t[::1] kept, row_t count) except -1 nogil:
    """Shell sort of the lines kept, unless they are in order already."""
    cdef row_t gap = count, i, j, line
    for i in range(1, count):
        if precedes(intercepts, slopes, kept[i], kept[i - 1]):
            break
    else:
        return 0
    while gap > 1:
        gap = gap * 5 // 11 if gap > 2 else 1
        for i in range(gap, count):
            line = kept[i]
            j = i
            while j >= gap and precedes(intercepts, slopes, line, kept[j - gap]):
                kept[j] = kept[j - gap]
                j -= gap
            kept[j] = line
    return 0


cdef inline row_t climb(
    const real[::1] intercepts, const real[::1] slopes, const row_t[::1] kept, row_t count,
    real[::1] starts, row_t[::1] winners, row_t first,
) except -1 nogil:
    """Add to winners[first:] those of the sorted lines kept that win anywhere, and return where they end."""
    cdef row_t last = first, c, i, top
    cdef real start
    for c in range(count):
        i = kept[c]
        if last > first and slopes[i] == slopes[winners[last - 1]]:
            continue
        while last > first:
            top = winners[last - 1]
            start = (intercepts[top] - intercepts[i]) / (slopes[i] - slopes[top])
            if start > starts[last - 1]:
                break
            last -= 1
        else:
            start = -INFINITY
        if start < INFINITY:
            starts[last] = start
            winners[last] = i
            last += 1
    return last


def envelope(
    const real[::1] intercepts, const real[::1] slopes, const id_t[::1] order, const row_t[::1] bounds,
    row_t[::1] kept, real[::1] starts, row_t[::1] winners,    # OUT
):
    """Fill, list after list from left to right, where each winner's reign starts; return how many there are.

    A list's first reign starts at -inf, and the earliest of equal lines wins. order may be any permutation of each
    list; sorted by slope it is quickest. kept is room for the longest list.
    """
    cdef row_t s, size, count = 0
    with nogil:
        for s in range(bounds.shape[0] - 1):
            if bounds[s] < bounds[s + 1]:
                size = contend(intercepts, slopes, order, bounds[s], bounds[s + 1], kept)
                sort(intercepts, slopes, kept, size)
                count = climb(intercepts, slopes, kept, size, starts, winners, count)
    return count


def sweep(
    const real[::1] starts, const row_t[::1] winners, const row_t[::1] order, const real[:, ::1] statistics,
    real least, real reach, real[::1] total, real[::1] spots, real[:, ::1] totals,    # OUT
):
    """Fill a spot and a column of summed statistics for each interval wider than least; return how many.

    order sorts the starts that envelope found; intervals are cut at -reach and reach. The spot is 0 in the interval
    around 0, the middle of any other, and 1 beyond the outermost starts. total is room for one row.
    """
    cdef row_t p, k, j, count = 0, size = order.shape[0], width = statistics.shape[1]
    cdef real left, right
    with nogil:
        for j in range(width):
            total[j] = 0.0
        for p in range(size):
            k = order[p]
            left = starts[k]
            for j in range(width):
                total[j] += statistics[winners[k], j]
            if left > -INFINITY:
                for j in range(width):
                    total[j] -= statistics[winners[k - 1], j]
            right = starts[order[p + 1]] if p + 1 < size else INFINITY
            if not min(right, reach) - max(left, -reach) > least:
                continue
            if left < 0.0 < right:
                spots[count] = 0.0
            elif left == -INFINITY:
                spots[count] = right - 1.0
            elif right == INFINITY:
                spots[count] = left + 1.0
            else:
                spots[count] = (max(left, -reach) + min(right, reach)) / 2
            for j in range(width):
                totals[j, count] = total[j]
            count += 1
    return count
