"""Derivations of nodes, heaps that bring the best of them up first, and the lists that are written in the end.

A derivation is an item: an edge into the node, and the item of the edge's origin that it continues. So all derivations
share their beginnings, and item 1 begins all of them. What an option writes is given by its phrase: the words
phrase_words[phrase_bounds[p]:phrase_bounds[p + 1]] of phrase p = phrases[option]; a phrase beyond those with bounds,
the i-th beyond, is the one word others[i].
"""

from rampion._core.spans cimport hash_of, slot_of
from rampion._core.types cimport id_t, real, row_t

cdef enum:
    NOTHING = 0xFFFFFFFF


cdef packed struct Item:
    real score
    id_t edge    # the last one of the derivation
    id_t item    # what it continues: a derivation of that edge's origin


cdef inline bint better(Item one, Item other) except -1 nogil:
    """Higher; of equals the earlier edge, then the earlier item."""
    if one.score != other.score:
        return one.score > other.score
    return one.edge < other.edge or (one.edge == other.edge and one.item < other.item)


cdef inline int sink(Item[::1] heap, row_t first, row_t size, row_t at, Item item) except -1 nogil:
    """Put the item at place `at` or below, where it belongs, in the heap of this size that begins at `first`."""
    cdef row_t child = 2 * at + 1
    while child < size:
        if child + 1 < size and better(heap[first + child + 1], heap[first + child]):
            child += 1
        if not better(heap[first + child], item):
            break
        heap[first + at] = heap[first + child]
        at = child
        child = 2 * at + 1
    heap[first + at] = item
    return 0


cdef inline int rise(Item[::1] heap, row_t first, row_t size, Item item) except -1 nogil:
    """Add the item to the heap of this size."""
    cdef row_t at = size, parent
    while at > 0:
        parent = (at - 1) // 2
        if not better(item, heap[first + parent]):
            break
        heap[first + at] = heap[first + parent]
        at = parent
    heap[first + at] = item
    return 0


cdef inline int pile(Item[::1] heap, row_t first, row_t size) except -1 nogil:
    """Make a heap of items in any order."""
    cdef row_t at
    for at in range(size // 2 - 1, -1, -1):
        sink(heap, first, size, at, heap[first + at])
    return 0


cdef inline int sort(Item[::1] items, row_t first, row_t size) except -1 nogil:
    """Put the better items first, by the heap unless they are in order already."""
    cdef row_t i
    cdef Item item
    for i in range(first + 1, first + size):
        if better(items[i], items[i - 1]):
            break
    else:
        return 0
    pile(items, first, size)
    for i in range(size - 1, 0, -1):
        item = items[first]
        sink(items, first, i, 0, items[first + i])
        items[first + i] = item
    for i in range(size // 2):
        item = items[first + i]
        items[first + i] = items[first + size - 1 - i]
        items[first + size - 1 - i] = item
    return 0


cdef inline row_t trace(
    const Item[::1] items, const id_t[::1] options, row_t item, id_t[::1] steps, row_t at,
) except -2 nogil:
    """Write the options of the derivation from steps[at] on; return where they end, -1 if there is no room.

    Item 1 is the start of every derivation.
    """
    cdef row_t end = at, i = item
    while i > 1:
        end += options[items[i].edge] != NOTHING
        i = items[i].item
    if end > steps.shape[0]:
        return -1
    at, i = end, item
    while i > 1:
        if options[items[i].edge] != NOTHING:
            at -= 1
            steps[at] = options[items[i].edge]
        i = items[i].item
    return end


cdef inline row_t write_words(
    id_t option, const id_t[::1] phrases, const id_t[::1] phrase_words, const row_t[::1] phrase_bounds,
    const id_t[::1] others, id_t[::1] words, row_t at,
) except -2 nogil:
    """Write the words of the option from words[at] on; return where it ends, -1 if there is no room."""
    cdef row_t phrase = phrases[option], count = phrase_bounds.shape[0] - 1, w
    if phrase >= count:
        if at >= words.shape[0]:
            return -1
        words[at] = others[phrase - count]
        return at + 1
    if at + phrase_bounds[phrase + 1] - phrase_bounds[phrase] > words.shape[0]:
        return -1
    for w in range(phrase_bounds[phrase], phrase_bounds[phrase + 1]):
        words[at] = phrase_words[w]
        at += 1
    return at


cdef inline int write(
    const Item[::1] items, const id_t[::1] options, row_t item, row_t d,
    row_t[::1] step_bounds, id_t[::1] steps, real[::1] totals,  # OUT
) except -2 nogil:
    """Write the item as derivation d; -1 if there is no room."""
    cdef row_t end
    if d == totals.shape[0]:
        return -1
    end = trace(items, options, item, steps, step_bounds[d])
    if end < 0:
        return -1
    step_bounds[d + 1] = end
    totals[d] = items[item].score
    return 0


cdef inline int is_new(
    const id_t[::1] steps, row_t first, row_t last, const id_t[::1] phrases, const id_t[::1] phrase_words,
    const row_t[::1] phrase_bounds, const id_t[::1] others, row_t rank, id_t[::1] words, row_t[::1] word_bounds,
    id_t[::1] seen,
) except -2 nogil:
    """Whether the words of steps[first:last] differ from those of all derivations 0 to rank - 1; -1 without room.

    They become text number `rank` of the table of spans (words, word_bounds, seen). A table without slots remembers
    nothing: every text is new.
    """
    cdef row_t i, size, slot, start, end
    if not seen.shape[0]:
        return 1
    if 2 * rank >= seen.shape[0]:
        return -1
    start = end = word_bounds[rank]
    for i in range(first, last):
        end = write_words(steps[i], phrases, phrase_words, phrase_bounds, others, words, end)
        if end < 0:
            return -1
    word_bounds[rank + 1], size = end, end - start
    slot = slot_of(hash_of(words, start, size), words, start, size, seen, words, word_bounds)
    if seen[slot] != 0:
        return 0
    seen[slot] = <id_t> (rank + 1)
    return 1
