"""Looking up one value of a decoder.align.Lexicon.

Twin: decoder/_reference/lexicon.py
"""

from rampion._core.types cimport id_t, row_t, small_t


cdef inline small_t chance(
    const row_t[::1] bounds, const id_t[::1] words, const small_t[::1] values, row_t given, id_t word, small_t other,
) except? -1 nogil:
    """The value of the word in the row of `given`, `other` if it is not there; the words of a row ascend."""
    cdef row_t low, high, middle
    if given + 1 >= bounds.shape[0]:
        return other
    low, high = bounds[given], bounds[given + 1]
    while low < high:
        middle = (low + high) >> 1
        if words[middle] < word:
            low = middle + 1
        else:
            high = middle
    return values[low] if low < bounds[given + 1] and words[low] == word else other
