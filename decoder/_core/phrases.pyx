"""Phrases to ids, as rampion's intern.pyx does it for strings.

Twin: decoder/_reference/phrases.py
"""

from rampion._core.types cimport byte_t, id_t, key_t, row_t


def number(const id_t[::1] tokens, const row_t[::1] starts, const byte_t[::1] sizes, row_t done, table,
           id_t[::1] ids):  # OUT ids
    """Ids of phrases tokens[start:start + size] from number `done` on; return how many are done: all unless full."""
    cdef id_t[::1] slots = table.slots, words = table.words
    cdef row_t[::1] bounds = table.bounds, counts = table.counts
    cdef row_t row = done, last = starts.shape[0], start, size, slot, count, at
    cdef key_t key
    with nogil:
        while row < last:
            start, size = starts[row], sizes[row]
            if row > done and start == starts[row - 1] and size == sizes[row - 1]:
                ids[row] = ids[row - 1]
                row += 1
                continue
            key = seed()
            for at in range(start, start + size):
                key = extended(key, tokens[at])
            slot = slot_of(key, tokens, start, size, slots, words, bounds)
            if slots[slot] == 0:
                count = counts[0]
                if count == bounds.shape[0] - 1 or bounds[count] + size > words.shape[0]:
                    break
                for at in range(size):
                    words[bounds[count] + at] = tokens[start + at]
                bounds[count + 1] = bounds[count] + size
                counts[0] = count + 1
                slots[slot] = <id_t> (count + 1)
            ids[row] = slots[slot] - 1
            row += 1
    return row


def index(const id_t[::1] words, const row_t[::1] bounds, row_t first, id_t[::1] slots):  # OUT slots
    """Enter the phrases from number `first` on, all of them different."""
    cdef row_t phrase, at, slot
    cdef key_t key
    with nogil:
        for phrase in range(first, bounds.shape[0] - 1):
            key = seed()
            for at in range(bounds[phrase], bounds[phrase + 1]):
                key = extended(key, words[at])
            slot = slot_of(key, words, bounds[phrase], bounds[phrase + 1] - bounds[phrase], slots, words, bounds)
            slots[slot] = <id_t> (phrase + 1)
