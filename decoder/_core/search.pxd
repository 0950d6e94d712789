"""What the search writes in its work arrays; decoder/search/search.py holds the same types for numpy.

Options are numbered within their sentence from 1 on; 0 is the boundary.
"""

from rampion._core.keys cimport fetch, home, mixed, rampion_high, seek_from, slot_t
from rampion._core.types cimport byte_t, id_t, key_t, real, row_t

cdef extern from *:
    """
    #define rampion_await(byte) __builtin_prefetch(&(byte))
    """
    void rampion_await(const byte_t& byte) nogil

cdef packed struct node_t:
    real score   # of the best derivation that leads here; what its state makes certain of the next move is in it
    real rank    # score and an estimate of what the rest will bring
    key_t state  # as `packed` has it
    key_t look   # what the templates can see of the last block
    row_t edge   # the edge met last while the stack is filled, the best one afterwards
    id_t said    # an option that looks so
    id_t slot    # where the table of fresh nodes has it

cdef packed struct edge_t:
    real total   # of the best derivation over this edge
    real score
    row_t next   # the grid it comes from, then the edge into the same node that was met before
    id_t origin
    id_t said

cdef packed struct group_t:
    key_t state
    row_t first  # nodes, best first
    row_t last
    id_t source  # the phrase of the last block

cdef packed struct grid_t:
    real source  # P4, W2 and the jump
    real future
    real base    # both
    key_t state
    row_t first  # nodes of a group
    row_t last
    row_t choice  # options of a span by what they bring, best first
    row_t end
    row_t group


cdef inline key_t packed(row_t free, row_t gap, row_t start, row_t end) except? 0 nogil:
    """A state in 40 bits: sentences have less than 1024 words."""
    return <key_t> free << 30 | <key_t> (gap + 1) << 20 | <key_t> start << 10 | <key_t> end


cdef inline row_t free_of(key_t state) except? -1 nogil:
    return <row_t> (state >> 30)


cdef inline row_t gap_of(key_t state) except? -9 nogil:
    return <row_t> (state >> 20 & 1023) - 1


cdef inline row_t start_of(key_t state) except? -1 nogil:
    return <row_t> (state >> 10 & 1023)


cdef inline row_t end_of(key_t state) except? -1 nogil:
    return <row_t> (state & 1023)


cdef inline real nth(real[::1] values, row_t count, row_t n) except? -1 nogil:
    """The n-th largest (from 0) of the first values, which are moved about."""
    cdef row_t low = 0, high = count - 1, i, j
    cdef real pivot, swap
    while low < high:
        pivot = values[(low + high) // 2]
        i, j = low, high
        while i <= j:
            while values[i] > pivot:
                i += 1
            while values[j] < pivot:
                j -= 1
            if i <= j:
                swap = values[i]
                values[i] = values[j]
                values[j] = swap
                i += 1
                j -= 1
        if n <= j:
            high = j
        elif n >= i:
            low = i
        else:
            break
    return values[n]


cdef enum:
    RUN = 16  # sorted by insertion before any are merged


ctypedef fused scored_t:
    node_t
    edge_t


cdef inline bint before(const scored_t[::1] items, row_t a, row_t b) except? -1 nogil:
    """Nodes by state, then best first; edges best first."""
    if scored_t is edge_t:
        return items[a].total > items[b].total
    elif items[a].state != items[b].state:
        return items[a].state < items[b].state
    else:
        return items[a].score > items[b].score


cdef inline int arrange(const scored_t[::1] items, row_t[::1] order, row_t[::1] spare, row_t count) except -1 nogil:
    """Sort the first indices of `order`, keeping their order where items do not differ."""
    cdef row_t width = RUN, low, middle, high, a, b, at
    for at in range(count):
        a, b = order[at], at
        while b % RUN > 0 and before(items, a, order[b - 1]):
            order[b] = order[b - 1]
            b -= 1
        order[b] = a
    while width < count:
        low = 0
        while low < count:
            middle, high = min(low + width, count), min(low + 2 * width, count)
            a, b = low, middle
            for at in range(low, high):
                if a < middle and (b == high or not before(items, order[b], order[a])):
                    spare[at] = order[a]
                    a += 1
                else:
                    spare[at] = order[b]
                    b += 1
            low = high
        for at in range(count):
            order[at] = spare[at]
        width *= 2
    return 0


cdef inline row_t sieve(const slot_t[::1] slots, const byte_t[::1] sifter, key_t[::1] keys, row_t[::1] homes,
                        row_t[::1] marks, row_t runs) except -1 nogil:
    """Drop the keys that are in no table, nearly all of them; what is left of run r is keys[marks[r]:marks[r + 1]].

    Bit `mixed & 7` of byte `home` of the sifter is set for every key of the table. It is small enough for a cache.
    """
    cdef row_t r, at = 0, end, kept = 0
    cdef key_t code
    for at in range(marks[runs]):
        homes[at] = <row_t> mixed(keys[at])
        rampion_await(sifter[<row_t> rampion_high(<key_t> homes[at], <key_t> sifter.shape[0])])
    at = 0
    for r in range(runs):
        end = marks[r + 1]
        marks[r] = kept
        while at < end:
            code = <key_t> homes[at]
            keys[kept], homes[kept] = keys[at], homes[at]
            kept += sifter[<row_t> rampion_high(code, <key_t> sifter.shape[0])] >> (code & 7) & 1
            at += 1
    for at in range(kept):
        homes[at] = <row_t> rampion_high(<key_t> homes[at], <key_t> slots.shape[0])
        fetch(slots, homes[at])
    marks[runs] = kept
    return kept


cdef inline real weight_of(const slot_t[::1] slots, const key_t[::1] keys, const row_t[::1] homes,
                           row_t start, row_t end) except? -1 nogil:
    """The sum of the weights of keys[start:end], in their order."""
    cdef real total = 0.0
    cdef row_t at
    for at in range(start, end):
        total += slots[seek_from(slots, homes[at], keys[at])].weight
    return total
