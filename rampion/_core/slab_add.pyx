"""The working form of relevant sets gains candidates: one pass, segment by segment, by partition refinement (S10.8).

How a segment does, with an example: slab_add.h
Twin: rampion/_reference/slab_add.py
"""

from rampion._core.types cimport byte_t, id_t, key_t, row_t

cdef extern from "slab_add.h" nogil:
    ctypedef struct groups_t:
        key_t* masks
        id_t* begin
        row_t count
    ctypedef struct run_t:
        key_t top
    ctypedef struct slot_t:
        id_t place
    ctypedef struct refine_t:
        groups_t groups, spare
        id_t* ids
        id_t* first
        id_t* second
        run_t* order
        slot_t* slots
        byte_t* filter
        row_t bits, words
    void foresee(const id_t* at, row_t count, const id_t* table)
    void open_segment(refine_t* work, const id_t* blob, row_t size, const id_t* renamed)
    void split(refine_t* work, row_t candidate, const id_t* ids, row_t count, const id_t* places)
    row_t close_segment(refine_t* work, row_t candidates, id_t awake, int common, id_t* blob, row_t room)


cdef refine_t arranged(room) except *:
    """The work arrays as the header has them."""
    cdef key_t[::1] masks = room.masks, spare_masks = room.spare_masks, order = room.order, slots = room.slots
    cdef id_t[::1] begin = room.begin, spare_begin = room.spare_begin, ids = room.ids
    cdef id_t[::1] first = room.first, second = room.second
    cdef byte_t[::1] filter = room.filter
    cdef refine_t work
    work.groups = groups_t(&masks[0], &begin[0], 0)
    work.spare = groups_t(&spare_masks[0], &spare_begin[0], 0)
    work.ids, work.first, work.second = &ids[0], &first[0], &second[0]
    work.order, work.slots, work.filter = <run_t*> &order[0], <slot_t*> &slots[0], &filter[0]
    work.bits, work.words = room.bits, 1
    return work


def slab_add(slabs, fresh, const id_t[::1] places, const id_t[::1] renamed, id_t awake, bint common, row_t first, room,
             row_t[::1] starts, id_t[::1] blob):
    """Write the segments from `first` on, old places renamed, fresh candidates added, till one does not fit blob.

    Return how many are done; segment s begins at starts[s], and the blob at starts[first].
    """
    cdef const row_t[::1] bounds = slabs.bounds, old_starts = slabs.starts
    cdef const row_t[::1] fresh_bounds = fresh.bounds, id_bounds = fresh.id_bounds
    cdef const id_t[::1] old = slabs.blob, ids = fresh.ids
    cdef row_t s = first, last = bounds.shape[0] - 1, i, had, has, size
    cdef const id_t* row = &ids[0] if ids.shape[0] > 0 else NULL
    cdef const id_t* place = &places[0] if places.shape[0] > 0 else NULL
    cdef refine_t work = arranged(room)
    with nogil:
        while s < last:
            i = id_bounds[fresh_bounds[s]]
            foresee(row + i, id_bounds[fresh_bounds[s + 1]] - i, place)
            had = bounds[s + 1] - bounds[s]
            has = had + fresh_bounds[s + 1] - fresh_bounds[s]
            work.words = (has + 63) // 64
            open_segment(&work, &old[old_starts[s]], old_starts[s + 1] - old_starts[s], &renamed[0])
            for i in range(fresh_bounds[s], fresh_bounds[s + 1]):
                split(&work, had, row + id_bounds[i], id_bounds[i + 1] - id_bounds[i], place)
                had += 1
            size = starts[s] - starts[first]
            size += close_segment(&work, has, awake, common, &blob[0] + size, blob.shape[0] - size)
            if size > blob.shape[0]:
                break
            s += 1
            starts[s] = starts[first] + size
    return s
