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


cdef inline int add_slopes(
    const real[::1] dense, row_t width, const id_t[::1] entries, const row_t[::1] entry_bounds, const real[::1] values,
    row_t start, row_t end, const real[::1] slopes, row_t offset, real[::1] local, row_t base,
) except -1 nogil:
    """local[base:] += sum of slopes[offset + i] * f(start + i), candidate by candidate, zero slopes passed over"""
    cdef row_t size = end - start, i, j, e
    cdef real slope
    cdef real[::1] sparse = local[base + width:]
    for i in range(size):
        slope = slopes[offset + i]
        if slope == 0.0:
            continue
        for j in range(width):
            local[base + j] += slope * dense[start * width + j * size + i]
        if entries.shape[0] == 0:
            continue
        if values.shape[0]:
            for e in range(entry_bounds[start + i], entry_bounds[start + i + 1]):
                sparse[entries[e]] += slope * values[e]
        else:
            for e in range(entry_bounds[start + i], entry_bounds[start + i + 1]):
                sparse[entries[e]] += slope
    return 0
