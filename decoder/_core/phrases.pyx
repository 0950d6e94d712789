"""Phrases to ids, as rampion's intern.pyx does it for strings.

Twin: decoder/_reference/phrases.py
"""

from rampion._core.spans cimport enter, hash_of, slot_of
from rampion._core.types cimport byte_t, id_t, row_t


def number(const id_t[::1] tokens, const row_t[::1] starts, const byte_t[::1] sizes, row_t done, table,
           id_t[::1] ids):  # OUT ids
    """Ids of phrases tokens[start:start + size] from number `done` on; return how many are done: all unless full."""
    cdef id_t[::1] slots = table.slots, words = table.words
    cdef row_t[::1] bounds = table.bounds, counts = table.counts
    cdef row_t row = done, found
    with nogil:
        while row < starts.shape[0]:
            # Occurrences that grow from one core on the other side repeat the phrase of the row before.
            if row > done and starts[row] == starts[row - 1] and sizes[row] == sizes[row - 1]:
                ids[row] = ids[row - 1]
            else:
                found = enter(tokens, starts[row], sizes[row], slots, words, bounds, counts)
                if found < 0:
                    break
                ids[row] = <id_t> found
            row += 1
    return row


def index(const id_t[::1] words, const row_t[::1] bounds, row_t first, id_t[::1] slots):  # OUT slots
    """Enter the phrases from number `first` on, all of them different."""
    cdef row_t phrase, start, size
    with nogil:
        for phrase in range(first, bounds.shape[0] - 1):
            start, size = bounds[phrase], bounds[phrase + 1] - bounds[phrase]
            slots[slot_of(hash_of(words, start, size), words, start, size, slots, words, bounds)] = <id_t> (phrase + 1)
