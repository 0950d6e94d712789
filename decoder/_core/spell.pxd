"""Bytes after bytes, as long as there is room; a place below 0 is the reason why there is nothing, and stays."""

from rampion._core.types cimport byte_t, id_t, row_t

cdef enum:
    TURNS = 13  # labels: those of the templates, then R L N, M S D, the jumps, the lengths from 0 on
    SWINGS = 16
    JUMPS = 19
    LENGTHS = 25

    SLASH = 47  # between the parts of a name
    JOINT = 95  # between the words of a phrase

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
        at = put_text(text, bounds, words[w], JOINT if w + 1 < end else SLASH, blob, at)
    return at
