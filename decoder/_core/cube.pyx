"""Derivations of a graph under features that see all words so far, by cube pruning (S9.4).

An item is a derivation of a node: an edge into it and an item of the edge's origin. Every node keeps n items. They come
off a heap that holds each edge once, with the next item of its origin, and they are sorted by their exact scores.
The score of an item depends on words before its edge. They are written right to left in front of the middle of `text`,
as many as any feature can see, and the words of the edge behind the middle.

The text of a sentence is <s>, the words, </s>. Each position after <s> scores the n-grams that end there, and its word
with each different word before it. Twin: decoder/_reference/cube.py
"""

from rampion.decoder._core.derive cimport NOTHING, Item, is_new, rise, sink, sort, write_words, write
from rampion.decoder._core.grams cimport BITS, END, START, code, is_first, is_triggered, trigger, weight_of
from rampion._core.types cimport byte_t, id_t, key_t, real, row_t


cdef inline row_t recall(
    const Item[::1] items, row_t item, const id_t[::1] options, const id_t[::1] phrases, const id_t[::1] phrase_words,
    const row_t[::1] phrase_bounds, const id_t[::1] others, row_t need, id_t[::1] text, row_t at,
) except -2 nogil:
    """Write the last words of a derivation in front of text[at]: `need` of them, or all and <s>. Where they begin.

    -1 if there is no room.
    """
    cdef row_t stop = at - need, phrase, size
    while item > 1 and at > stop:
        if options[items[item].edge] != NOTHING:
            phrase = phrases[options[items[item].edge]]
            size = 1
            if phrase < phrase_bounds.shape[0] - 1:
                size = phrase_bounds[phrase + 1] - phrase_bounds[phrase]
            if size > at:
                return -1
            at -= size
            write_words(options[items[item].edge], phrases, phrase_words, phrase_bounds, others, text, at)
        item = items[item].item
    if item == 1:
        at -= 1
        if at >= 0:
            text[at] = START
    return at


cdef inline row_t utter(
    id_t option, bint last, const id_t[::1] phrases, const id_t[::1] phrase_words, const row_t[::1] phrase_bounds,
    const id_t[::1] others, id_t[::1] text, row_t at,
) except -2 nogil:
    """Write the words of an edge, of the last one also </s>, from text[at] on. Return where they end, -1 if full."""
    if option != NOTHING:
        at = write_words(option, phrases, phrase_words, phrase_bounds, others, text, at)
    if at < 0 or at == text.shape[0]:
        return -1
    if last:
        text[at] = END
        at += 1
    return at


cdef inline row_t reach_of(const byte_t[::1] triggered, const id_t[::1] text, row_t middle, row_t end) except -1 nogil:
    """How many words before text[middle:end] its features see: two, or for triggers all, as many as there is room."""
    cdef row_t j, reach = 2
    for j in range(middle, end):
        if is_triggered(triggered, text[j]):
            reach = middle + 1
    return reach


cdef inline real gain(
    const row_t[::1] buckets, const key_t[::1] keys, const real[::1] weights, int shift, const byte_t[::1] triggered,
    const id_t[::1] text, row_t low, row_t middle, row_t end,
) except? -1.0 nogil:
    """What the words text[middle:end] score after text[low:middle]."""
    cdef real total = 0.0, weight
    cdef key_t key
    cdef row_t j, i
    for j in range(middle, end):
        key = code(text[j])
        total += weight_of(buckets, keys, weights, shift, key)
        if j > low:
            key |= code(text[j - 1]) << BITS
            total += weight_of(buckets, keys, weights, shift, key)
        if j > low + 1:
            key |= code(text[j - 2]) << (2 * BITS)
            total += weight_of(buckets, keys, weights, shift, key)
        if is_triggered(triggered, text[j]):
            for i in range(low, j):
                weight = weight_of(buckets, keys, weights, shift, trigger(text[i], text[j]))
                if weight != 0.0 and is_first(text, low, i):
                    total += weight
    return total


def cube(graph, wording, features, row_t n, row_t k, row_t looks, row_t start, work, derivations):  # OUT both
    """Fill the k best derivations of the sentences from `start` on; return how many are done: all, if the room lasts.

    Every node keeps n derivations, the goal `looks` if that is more; all, if there are no more: then this is exact.
    If work.seen has room, only the best of those with the same words are filled in.
    """
    # Longer than most, because the search and what it scores are one loop, and a third of its lines unpack arrays.
    cdef const row_t[::1] bounds = graph.bounds, edge_bounds = graph.edge_bounds, phrase_bounds = wording.bounds
    cdef const id_t[::1] origins = graph.origins, options = graph.options
    cdef const id_t[::1] phrases = wording.phrases, phrase_words = wording.words, others = wording.others
    cdef const real[::1] scores = graph.scores, weights = features.weights
    cdef const row_t[::1] buckets = features.buckets
    cdef const key_t[::1] keys = features.keys
    cdef const byte_t[::1] triggered = features.triggered
    cdef int shift = features.shift
    cdef Item[::1] items = work.items, heap = work.heap
    cdef row_t[::1] firsts = work.firsts, word_bounds = work.word_bounds
    cdef id_t[::1] text = work.text, words = work.words, seen = work.seen
    cdef row_t[::1] ends = derivations.bounds, step_bounds = derivations.step_bounds
    cdef id_t[::1] steps = derivations.steps
    cdef real[::1] totals = derivations.scores
    cdef row_t s = start, last = bounds.shape[0] - 1, low, middle = text.shape[0] // 2, end
    cdef row_t first, nodes, v, e, size, limit, count, d, rank, looked, item
    cdef Item way
    cdef int new
    cdef bint filling
    with nogil:
        while s < last:
            first, nodes, count, rank, looked, item, new = bounds[s], bounds[s + 1] - bounds[s], 2, 0, 0, 0, 0
            items[1] = Item(0.0, NOTHING, 0)
            firsts[0], firsts[1] = 1, 2
            for v in range(1, nodes):
                e, size, limit = edge_bounds[first + v], 0, count + (max(n, looks) if v == nodes - 1 else n)
                while True:
                    filling = e < edge_bounds[first + v + 1]
                    if filling:
                        # Every edge begins with the best item of its origin;
                        way = Item(0.0, <id_t>e, <id_t>firsts[origins[e] - first])
                        e += 1
                    elif size == 0 or count == limit:
                        break
                    elif count == items.shape[0]:
                        new = -1
                        break
                    else:
                        # the edge whose item is the best of all hands it over, and goes on to the next one.
                        way = items[count] = heap[0]
                        count += 1
                        way.item += 1
                    if way.item < firsts[origins[way.edge] - first + 1]:
                        end = utter(options[way.edge], v == nodes - 1, phrases, phrase_words, phrase_bounds, others,
                                    text, middle)
                        low = -1 if end < 0 else recall(
                            items, way.item, options, phrases, phrase_words, phrase_bounds, others,
                            reach_of(triggered, text, middle, end), text, middle)
                        if low < 0:
                            new = -1
                            break
                        way.score = items[way.item].score + (scores[way.edge] + gain(
                            buckets, keys, weights, shift, triggered, text, low, middle, end))
                    elif filling:
                        continue
                    else:
                        size -= 1
                        way = heap[size]
                    if filling:
                        rise(heap, 0, size, way)
                        size += 1
                    else:
                        sink(heap, 0, size, 0, way)
                if new < 0:
                    break
                sort(items, firsts[v], count - firsts[v])
                firsts[v + 1] = count
            if seen.shape[0]:
                seen[:] = 0
            item = firsts[nodes - 1] if nodes > 1 else count
            while item < count and rank < k and looked < looks and new >= 0:
                d = ends[s] + rank
                new = write(items, options, item, d, step_bounds, steps, totals)
                if new >= 0:
                    new = is_new(steps, step_bounds[d], step_bounds[d + 1], phrases, phrase_words, phrase_bounds,
                                 others, rank, words, word_bounds, seen)
                rank += new
                looked += 1
                item += 1
            if new < 0:
                break
            s += 1
            ends[s] = ends[s - 1] + rank
    return s
