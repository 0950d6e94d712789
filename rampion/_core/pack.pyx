"""Flat rows of features become the segments of a store: dense block, own dictionary, entries in dictionary order.

Twin: rampion/_reference/pack.py
"""

from rampion._core.types cimport id_t, real, row_t


cdef inline int sort(id_t[::1] keys, row_t start, row_t end) except -1 nogil:
    """Shell sort of keys[start:end]: in place, no memory, quick at dictionary sizes."""
    cdef row_t gap = end - start, i, j
    cdef id_t key
    while gap > 1:
        gap = gap * 5 // 11 if gap > 2 else 1
        for i in range(start + gap, end):
            key = keys[i]
            j = i
            while j >= start + gap and keys[j - gap] > key:
                keys[j] = keys[j - gap]
                j -= gap
            keys[j] = key
    return 0


def pack(rows, const row_t[::1] picks, const id_t[::1] places, lists, work):
    """Fill lists with the rows picks, ids renamed by places: those below lists.width are dense, other zeros dropped.

    lists.bounds is given; lists.dense comes zeroed, the other arrays at least long enough. work holds a zeroed stamp
    for every feature, and for the largest segment: column starts, a cursor a candidate, (candidate, value) an entry.
    """
    # Longer than most, because a segment's arrays are filled in steps that share all of them.
    cdef const row_t[::1] row_bounds = rows.entry_bounds, bounds = lists.bounds
    cdef const id_t[::1] ids = rows.ids
    cdef const real[::1] row_values = rows.values
    cdef real[::1] dense = lists.dense, values = lists.values    # OUT
    cdef real[::1] column_values = work.values
    cdef id_t[::1] features = lists.features, entries = lists.entries    # OUT
    cdef id_t[::1] stamps = work.stamps, owners = work.owners
    cdef row_t[::1] feature_bounds = lists.feature_bounds, entry_bounds = lists.entry_bounds    # OUT
    cdef row_t[::1] starts = work.starts, cursors = work.cursors
    cdef row_t width = lists.width, s, i, j, e, f, start, end, size, first, last, place
    with nogil:
        feature_bounds[0] = 0
        entry_bounds[0] = 0
        for s in range(bounds.shape[0] - 1):
            start = bounds[s]
            end = bounds[s + 1]
            size = end - start
            # 1. the dense block, the lengths of candidates, and which sparse features there are
            first = last = feature_bounds[s]
            for i in range(start, end):
                cursors[i - start] = entry_bounds[i]
                entry_bounds[i + 1] = entry_bounds[i]
                for e in range(row_bounds[picks[i]], row_bounds[picks[i] + 1]):
                    f = places[ids[e]]
                    if f < width:
                        dense[start * width + f * size + i - start] = row_values[e]
                    elif row_values[e] != 0.0:
                        entry_bounds[i + 1] += 1
                        if stamps[f] == 0:
                            stamps[f] = 1
                            features[last] = f
                            last += 1
            # 2. the dictionary: features in order; a stamp is now the feature's number, from 1
            feature_bounds[s + 1] = last
            sort(features, first, last)
            for j in range(last - first):
                stamps[features[first + j]] = j + 1
                starts[j] = 0
            starts[last - first] = 0
            # 3. entries by column: counted, then placed
            for i in range(start, end):
                for e in range(row_bounds[picks[i]], row_bounds[picks[i] + 1]):
                    f = places[ids[e]]
                    if f >= width and row_values[e] != 0.0:
                        starts[stamps[f]] += 1
            for j in range(last - first):
                starts[j + 1] += starts[j]
            for i in range(start, end):
                for e in range(row_bounds[picks[i]], row_bounds[picks[i] + 1]):
                    f = places[ids[e]]
                    if f >= width and row_values[e] != 0.0:
                        place = starts[stamps[f] - 1]
                        starts[stamps[f] - 1] += 1
                        owners[place] = i - start
                        column_values[place] = row_values[e]
            # 4. entries by candidate, column after column, so that they rise; stamps are cleared
            place = 0
            for j in range(last - first):
                for e in range(place, starts[j]):
                    entries[cursors[owners[e]]] = j
                    values[cursors[owners[e]]] = column_values[e]
                    cursors[owners[e]] += 1
                place = starts[j]
                stamps[features[first + j]] = 0
