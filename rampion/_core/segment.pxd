"""What every kernel over a store does with one segment: scores out of local weights, slopes into a local gradient.

Local order: the `width` dense features, then the segment's sparse features. A store without values holds ones.
Order of summation (part of the definition): dense products feature by feature; sparse products in four lanes,
entry e of a candidate into lane e mod 4, lanes joined as (0 + 1) + (2 + 3); then dense + sparse.
Twin: rampion/_reference/segment.py
"""

from rampion._core.types cimport id_t, real, row_t


cdef inline int fill_scores(
    const real[::1] dense, row_t width, const id_t[::1] entries, const row_t[::1] entry_bounds, const real[::1] values,
    row_t start, row_t end, const real[::1] local, real[::1] scores, row_t offset,
) except -1 nogil:
    """scores[offset + i] = local . f(start + i)"""
    cdef row_t size = end - start, i, j, column, e, last
    cdef real weight, lane0, lane1, lane2, lane3
    cdef const real[::1] sparse
    # Longer than most, because counts, which have no values to load, get a loop of their own.
    for i in range(size):
        scores[offset + i] = 0.0
    for j in range(width):
        weight = local[j]
        column = start * width + j * size
        for i in range(size):
            scores[offset + i] += weight * dense[column + i]
    if entries.shape[0] == 0:
        return 0
    sparse = local[width:]
    for i in range(size):
        lane0 = lane1 = lane2 = lane3 = 0.0
        e = entry_bounds[start + i]
        last = entry_bounds[start + i + 1]
        if values.shape[0]:
            while e + 4 <= last:
                lane0 += sparse[entries[e]] * values[e]
                lane1 += sparse[entries[e + 1]] * values[e + 1]
                lane2 += sparse[entries[e + 2]] * values[e + 2]
                lane3 += sparse[entries[e + 3]] * values[e + 3]
                e += 4
            if e < last:
                lane0 += sparse[entries[e]] * values[e]
            if e + 1 < last:
                lane1 += sparse[entries[e + 1]] * values[e + 1]
            if e + 2 < last:
                lane2 += sparse[entries[e + 2]] * values[e + 2]
        else:
            while e + 4 <= last:
                lane0 += sparse[entries[e]]
                lane1 += sparse[entries[e + 1]]
                lane2 += sparse[entries[e + 2]]
                lane3 += sparse[entries[e + 3]]
                e += 4
            if e < last:
                lane0 += sparse[entries[e]]
            if e + 1 < last:
                lane1 += sparse[entries[e + 1]]
            if e + 2 < last:
                lane2 += sparse[entries[e + 2]]
        scores[offset + i] += (lane0 + lane1) + (lane2 + lane3)
    return 0


cdef enum:
    FEW = 4  # if fewer than one slope in so many is not zero, candidates are visited one by one


cdef inline int add_dense(
    const real[::1] dense, row_t width, row_t start, row_t size, const real[::1] slopes, row_t offset,
    real[::1] local,
) except -1 nogil:
    """The dense part of add_slopes, four features side by side, so that sums do not wait for one another.

    Each is summed up candidate by candidate; a zero slope adds a zero, which changes no sum that began with 0.0.
    """
    cdef row_t i, j = 0, column = start * width
    cdef real slope, sum0, sum1, sum2, sum3
    while j + 4 <= width:
        sum0, sum1, sum2, sum3 = local[j], local[j + 1], local[j + 2], local[j + 3]
        for i in range(size):
            slope = slopes[offset + i]
            sum0 += slope * dense[column + i]
            sum1 += slope * dense[column + size + i]
            sum2 += slope * dense[column + 2 * size + i]
            sum3 += slope * dense[column + 3 * size + i]
        local[j], local[j + 1], local[j + 2], local[j + 3] = sum0, sum1, sum2, sum3
        column += 4 * size
        j += 4
    while j < width:
        sum0 = local[j]
        for i in range(size):
            sum0 += slopes[offset + i] * dense[column + i]
        local[j] = sum0
        column += size
        j += 1
    return 0


cdef inline int add_sparse(
    const id_t[::1] entries, const row_t[::1] entry_bounds, const real[::1] values, row_t i, real slope,
    real[::1] sparse,
) except -1 nogil:
    """sparse += slope * the sparse part of f(i)"""
    cdef row_t e
    if entries.shape[0] == 0:
        return 0
    if values.shape[0]:
        for e in range(entry_bounds[i], entry_bounds[i + 1]):
            sparse[entries[e]] += slope * values[e]
    else:
        for e in range(entry_bounds[i], entry_bounds[i + 1]):
            sparse[entries[e]] += slope
    return 0


cdef inline int add_few(
    const real[::1] dense, row_t width, const id_t[::1] entries, const row_t[::1] entry_bounds, const real[::1] values,
    row_t start, row_t end, const real[::1] slopes, row_t offset, real[::1] local,
) except -1 nogil:
    """As add_slopes, and quicker if most slopes are 0, as those of hard sides are."""
    cdef row_t size = end - start, i = -1, j
    cdef real slope
    while True:
        i += 1
        while i < size and slopes[offset + i] == 0.0:
            i += 1
        if i >= size:
            return 0
        slope = slopes[offset + i]
        for j in range(width):
            local[j] += slope * dense[start * width + j * size + i]
        add_sparse(entries, entry_bounds, values, start + i, slope, local[width:])


cdef inline int add_slopes(
    const real[::1] dense, row_t width, const id_t[::1] entries, const row_t[::1] entry_bounds, const real[::1] values,
    row_t start, row_t end, const real[::1] slopes, row_t offset, real[::1] local,
) except -1 nogil:
    """local += sum of slopes[offset + i] * f(start + i), candidate by candidate, zero slopes passed over"""
    cdef row_t size = end - start, i, count = 0
    for i in range(size):
        count += slopes[offset + i] != 0.0
    if FEW * count < size:
        return add_few(dense, width, entries, entry_bounds, values, start, end, slopes, offset, local)
    add_dense(dense, width, start, size, slopes, offset, local)
    for i in range(size):
        if slopes[offset + i] != 0.0:
            add_sparse(entries, entry_bounds, values, start + i, slopes[offset + i], local[width:])
    return 0
