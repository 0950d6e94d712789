"""Texts split at ASCII whitespace, every token an id of a name table.

Twin: rampion/_reference/words.py
"""

from .spans cimport enter
from .types cimport byte_t, id_t, row_t


def words(const byte_t[::1] text, const row_t[::1] bounds, row_t start, table,
          id_t[::1] tokens, row_t[::1] token_bounds):  # OUT tokens, token_bounds
    """Tokens of every text from number `start` on; return how many texts are done: all, unless the table is full."""
    cdef id_t[::1] slots = table.slots
    cdef byte_t[::1] blob = table.blob
    cdef row_t[::1] places = table.bounds, counts = table.counts
    cdef row_t row = start, last = bounds.shape[0] - 1, at, end, first, found, token
    with nogil:
        while row < last:
            at, end, token, found = bounds[row], bounds[row + 1], token_bounds[row], 0
            while at < end:
                if is_blank(text[at]):
                    at += 1
                    continue
                first = at
                while at < end and not is_blank(text[at]):
                    at += 1
                found = enter(text, first, at - first, slots, blob, places, counts)
                if found < 0:
                    break
                tokens[token] = <id_t> found
                token += 1
            if found < 0:
                break
            row += 1
            token_bounds[row] = token
    return row
