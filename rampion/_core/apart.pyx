"""In what the candidates of a pair differ: the rows of a sparse matrix.

Twin: rampion/_reference/apart.py
"""

from rampion._core.types cimport id_t, real, row_t


cdef inline int add(
    const id_t[::1] entries, const real[::1] values, row_t start, row_t end, real sign, real[::1] sums,
) except? -1 nogil:
    """Add a candidate's sparse features to the sums of its list."""
    cdef row_t e
    for e in range(start, end):
        sums[entries[e]] += sign * (values[e] if values.shape[0] else 1.0)
    return 0


cdef inline row_t move(
    const id_t[::1] entries, row_t start, row_t end, const id_t[::1] features, row_t first, row_t done,
    real[::1] sums, id_t[::1] ids, real[::1] found,
) except? -1 nogil:
    """Write the sums of a candidate's features that are not 0 from `done` on, make them 0; return how far it came."""
    cdef row_t e
    for e in range(start, end):
        if sums[entries[e]] != 0.0:
            ids[done] = features[first + entries[e]]
            found[done] = sums[entries[e]]
            sums[entries[e]] = 0.0
            done += 1
    return done


def apart(
    lists, const row_t[::1] owners, const row_t[::1] better, const row_t[::1] worse, real[::1] sums, row_t[::1] bounds,
    id_t[::1] ids, real[::1] found,
):
    """Fill ids[bounds[p]:bounds[p + 1]] and found with the features of pair p's better candidate minus the worse one's.

    owners are the segments of the pairs; sums are 0, one for every feature that a segment has.
    """
    cdef const row_t[::1] starts = lists.bounds, feature_bounds = lists.feature_bounds
    cdef const row_t[::1] entry_bounds = lists.entry_bounds
    cdef const real[::1] dense = lists.dense, values = lists.values
    cdef const id_t[::1] features = lists.features, entries = lists.entries
    cdef row_t width = lists.width, p, j, k, f, first, block, size, done = 0
    cdef real gap
    with nogil:
        bounds[0] = 0
        for p in range(owners.shape[0]):
            j = better[p]
            k = worse[p]
            first = starts[owners[p]]
            size = starts[owners[p] + 1] - first
            for f in range(width):
                block = width * first - first + f * size
                gap = dense[block + j] - dense[block + k]
                if gap != 0.0:
                    ids[done] = <id_t> f
                    found[done] = gap
                    done += 1
            add(entries, values, entry_bounds[j], entry_bounds[j + 1], 1.0, sums)
            add(entries, values, entry_bounds[k], entry_bounds[k + 1], -1.0, sums)
            first = feature_bounds[owners[p]]
            done = move(entries, entry_bounds[j], entry_bounds[j + 1], features, first, done, sums, ids, found)
            done = move(entries, entry_bounds[k], entry_bounds[k + 1], features, first, done, sums, ids, found)
            bounds[p + 1] = done
