"""Clipped n-gram matches of every candidate with the references of its segment.

The n-grams of a segment's references are a trie in an open-addressing table: node is slot, key is (parent, token).
The counters of a text begin at turn << 32 and every text of a segment has a later turn, so that none is ever cleared.
Twin: rampion/_reference/ngrams.py
"""

from libc.stdint cimport uint64_t

from rampion._core.types cimport id_t, row_t

cdef enum:
    FREE = -1
    KEYS = 0
    USED = 1
    LIMITS = 2

cdef uint64_t MIX = 0x9E3779B97F4A7C15  # 2^64 / golden ratio: Fibonacci hashing


cdef inline row_t _find(const row_t[:, ::1] table, int bits, row_t parent, id_t token) except? -1 nogil:
    """The slot of the n-gram that adds token to parent, or the free slot where it belongs."""
    cdef row_t key = parent << 32 | token
    cdef row_t slot = <row_t>((<uint64_t>key * MIX) >> (64 - bits))
    while table[KEYS, slot] != key and table[KEYS, slot] != FREE:
        slot = (slot + 1) & ((<row_t>1 << bits) - 1)
    return slot


cdef row_t _learn(const id_t[::1] ids, row_t start, row_t end, row_t turn, int bits, row_t order,
                  row_t[:, ::1] table) except? -1 nogil:
    """Raise the limit of every n-gram to its count in this reference."""
    cdef row_t base = turn << 32
    cdef row_t place, length, node, slot
    for place in range(start, end):
        node = 0
        for length in range(min(order, end - place)):
            slot = _find(table, bits, node, ids[place + length])
            if table[KEYS, slot] == FREE:
                table[KEYS, slot] = node << 32 | ids[place + length]
                table[USED, slot] = 0
                table[LIMITS, slot] = 0
            table[USED, slot] = max(table[USED, slot], base) + 1
            table[LIMITS, slot] = max(table[LIMITS, slot], table[USED, slot] - base)
            node = slot + 1
    return 0


cdef row_t _match(const id_t[::1] ids, row_t start, row_t end, row_t turn, int bits, row_t[:, ::1] table,
                  row_t[:, ::1] matches, row_t i) except? -1 nogil:
    """Count what candidate i shares with the references; an n-gram is looked up only where its prefix was found."""
    cdef row_t base = turn << 32
    cdef row_t place, length, node, slot, used, hit
    for length in range(matches.shape[1]):
        matches[i, length] = 0
    for place in range(start, end):
        node = 0
        for length in range(min(matches.shape[1], end - place)):
            slot = _find(table, bits, node, ids[place + length])
            if table[KEYS, slot] == FREE:
                break
            used = max(table[USED, slot], base)
            hit = used < base + table[LIMITS, slot]
            table[USED, slot] = used + hit
            matches[i, length] += hit
            node = slot + 1
    return 0


def ngrams(candidates, references, row_t[:, ::1] table, row_t[:, ::1] matches):  # OUT matches
    """Fill matches[i, n - 1] with candidate i's n-grams in its references, each at most as often as in one of them."""
    cdef const id_t[::1] ids = candidates.ids, reference_ids = references.ids
    cdef const row_t[::1] bounds = candidates.bounds, reference_bounds = references.bounds
    cdef const row_t[::1] segments = candidates.segments, reference_segments = references.segments
    cdef row_t order = matches.shape[1]
    cdef row_t s, i, r, slot, first, last, grams
    cdef int bits
    with nogil:
        for s in range(segments.shape[0] - 1):
            first, last = reference_segments[s], reference_segments[s + 1]
            grams = order * (reference_bounds[last] - reference_bounds[first])
            bits = 1
            while (<row_t>1 << bits) < 4 * grams:
                bits += 1
            for slot in range(<row_t>1 << bits):
                table[KEYS, slot] = FREE
            for r in range(first, last):
                _learn(reference_ids, reference_bounds[r], reference_bounds[r + 1], r - first, bits, order, table)
            for i in range(segments[s], segments[s + 1]):
                _match(ids, bounds[i], bounds[i + 1], last - first + i - segments[s], bits, table, matches, i)
