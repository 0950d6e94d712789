"""Exact line search (Och 2003): the winners of every list along a line, and the statistics of their corpus.

Candidate i is the line intercepts[i] + x * slopes[i]; the winners of a list are its upper envelope (S5.1).
Twin: rampion/_reference/envelope.py
"""

from libc.math cimport INFINITY

from rampion._core.types cimport real, row_t

cdef enum:
    DEPTH = 2  # chords of chords: what they leave is soon sorted


def extremes(const real[::1] values, const row_t[::1] bounds, row_t[::1] least, row_t[::1] most):    # OUT least, most
    """Fill the place of the least and the greatest value of every list: the first of equals, the start if empty."""
    cdef row_t s, i, low, high
    with nogil:
        for s in range(bounds.shape[0] - 1):
            low = high = bounds[s]
            for i in range(bounds[s] + 1, bounds[s + 1]):
                if values[i] < values[low]:
                    low = i
                if values[i] > values[high]:
                    high = i
            least[s], most[s] = low, high


cdef inline real chord(const real[::1] intercepts, const real[::1] slopes, row_t i, row_t k) except? -1.0 nogil:
    """How fast the lines between two of the envelope may fall from i towards k, with a slack of 1e-9, which is far
    above the rounding of the test: what falls faster lies strictly below the envelope."""
    if slopes[i] == slopes[k]:
        return 0.0
    return (1.0 + 1e-9) * ((intercepts[i] - intercepts[k]) / (slopes[k] - slopes[i]))


cdef inline row_t contend(
    const real[::1] intercepts, const real[::1] slopes, row_t low, row_t high, row_t top, row_t start, row_t end,
    row_t[::1] kept,
) except -1 nogil:
    """Keep, in order, those not clearly below the chords from the highest line to the flattest and to the steepest."""
    cdef row_t i, count = 0
    cdef real height = intercepts[top], slope = slopes[top], left, right
    cdef real fall = chord(intercepts, slopes, top, low), rise = chord(intercepts, slopes, top, high)
    for i in range(start, end):
        left = (slopes[i] - slope) * fall
        right = (slopes[i] - slope) * rise
        kept[count] = i
        count += not height - intercepts[i] > (right if right > left else left)
    return count


cdef row_t narrow(
    const real[::1] intercepts, const real[::1] slopes, row_t low, row_t high, int depth, row_t[::1] kept, row_t count,
) except -1 nogil:
    """Of the lines kept between two of the envelope, only those not clearly below the chords to the one that is
    highest above the chord of the two; and the same again on both sides."""
    cdef row_t c, i, top = -1, left = 0
    cdef real ahead, most = 0.0, away, slope = slopes[low], height = intercepts[low], fall, rise
    if not slope < slopes[high]:
        return count
    ahead = (height - intercepts[high]) / (slopes[high] - slope)
    for c in range(count):
        i = kept[c]
        away = intercepts[i] - height + (slopes[i] - slope) * ahead
        if slope < slopes[i] < slopes[high] and away > most:
            top = i
            most = away
    if top < 0:
        return count
    height = intercepts[top]
    fall, rise = chord(intercepts, slopes, top, low), chord(intercepts, slopes, top, high)
    for c in range(count):
        i = kept[c]
        away = slopes[i] - slopes[top]
        away *= fall if away < 0.0 else rise
        kept[left] = i
        left += not (slope < slopes[i] < slopes[high] and height - intercepts[i] > away)
    if depth > 1:
        left = narrow(intercepts, slopes, low, top, depth - 1, kept, left)
        left = narrow(intercepts, slopes, top, high, depth - 1, kept, left)
    return left


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
    const real[::1] intercepts, const real[::1] slopes, const row_t[::1] flattest, const row_t[::1] steepest,
    const row_t[::1] highest, const row_t[::1] bounds,
    row_t[::1] kept, real[::1] starts, row_t[::1] winners,    # OUT
):
    """Fill, list after list from left to right, where each winner's reign starts; return how many there are.

    A list's first reign starts at -inf, and the earliest of equal lines wins. The flattest, steepest and highest
    lines are found by `extremes`. kept is room for the longest list.
    """
    cdef row_t s, size, count = 0
    with nogil:
        for s in range(bounds.shape[0] - 1):
            if bounds[s] < bounds[s + 1]:
                size = contend(intercepts, slopes, flattest[s], steepest[s], highest[s], bounds[s], bounds[s + 1], kept)
                size = narrow(intercepts, slopes, flattest[s], highest[s], DEPTH, kept, size)
                size = narrow(intercepts, slopes, highest[s], steepest[s], DEPTH, kept, size)
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
