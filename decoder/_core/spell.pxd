"""Bytes after bytes, as long as there is room; a place below 0 is the reason why there is nothing, and stays."""

from rampion._core.types cimport byte_t, id_t, row_t

cdef enum:
    NO_ROOM = -1
    NO_NAME = -3


cdef inline row_t put(const byte_t[::1] text, row_t start, row_t end, byte_t after, byte_t[::1] blob, row_t at) \
        except? -2 nogil:
    """Write text[start:end] and one byte more from blob[at] on; return where that ends."""
    cdef row_t i
    if at < 0:
        return at
    if at + end - start + 1 > blob.shape[0]:
        return NO_ROOM
    for i in range(start, end):
        blob[at] = text[i]
        at += 1
    blob[at] = after
    return at + 1


cdef inline row_t put_text(const byte_t[::1] text, const row_t[::1] bounds, row_t number, byte_t after,
                           byte_t[::1] blob, row_t at) except? -2 nogil:
    """The same for a numbered text."""
    if number < 0 or number + 1 >= bounds.shape[0]:
        return NO_NAME
    return put(text, bounds[number], bounds[number + 1], after, blob, at)


cdef inline row_t put_phrase(
    const id_t[::1] words, const row_t[::1] phrases, row_t phrase, const byte_t[::1] text, const row_t[::1] bounds,
    byte_t[::1] blob, row_t at,
) except? -2 nogil:
    """The texts of the words of a phrase, with _ between them and / behind."""
    cdef row_t w, end
    if phrase + 1 >= phrases.shape[0]:
        return NO_NAME
    end = phrases[phrase + 1]
    for w in range(phrases[phrase], end):
        at = put_text(text, bounds, words[w], 95 if w + 1 < end else 47, blob, at)
    return at
