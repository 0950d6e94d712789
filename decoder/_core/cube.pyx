"""Derivations of a graph under features that see all words so far, by cube pruning (S9.4).

A node keeps n derivations, found by a heap over (edge, rank of what it continues) and sorted by their exact scores.
The text is <s>, the words, </s>. Each position after <s> scores the n-grams that end there, and its word with each
different word before it. A long kernel: the search and what it scores are one loop. Twin: decoder/_reference/cube.py
"""

from decoder._core.derive cimport NOTHING, Item, offer, pile, sink, sort, speak
from decoder._core.grams cimport BITS, END, START, code, is_first, is_triggered, trigger, weight_of
from rampion._core.types cimport byte_t, id_t, key_t, real, row_t


cdef inline row_t recall(
    const Item[::1] items, row_t item, const id_t[::1] options, const id_t[::1] phrases, const id_t[::1] said,
    const row_t[::1] said_bounds, const id_t[::1] others, row_t need, id_t[::1] text, row_t at,
) except -2 nogil:
    """Write the last words of a derivation in front of text[at]: `need` of them, or all and <s>. Where they begin.

    -1 if there is no room.
    """
    cdef row_t stop = at - need, phrase, size
    while item > 1 and at > stop:
        if options[items[item].edge] != NOTHING:
            phrase = phrases[options[items[item].edge]]
            size = 1
            if phrase < said_bounds.shape[0] - 1:
                size = said_bounds[phrase + 1] - said_bounds[phrase]
            if size > at:
                return -1
            at -= size
            speak(options[items[item].edge], phrases, said, said_bounds, others, text, at)
        item = items[item].item
    if item == 1:
        at -= 1
        if at >= 0:
            text[at] = START
    return at


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


cdef inline int weigh(
    const Item[::1] items, row_t item, row_t e, bint last, const real[::1] scores, const id_t[::1] options,
    const id_t[::1] phrases, const id_t[::1] said, const row_t[::1] said_bounds, const id_t[::1] others,
    const row_t[::1] buckets, const key_t[::1] keys, const real[::1] weights, int shift, const byte_t[::1] triggered,
    id_t[::1] text, Item[::1] heap, row_t at,
) except -2 nogil:
    """Write the item continued by edge e, with its exact score, to heap[at]. -1 if there is no room for its text."""
    cdef row_t middle = text.shape[0] // 2, end = middle, need = 2, low, j
    if options[e] != NOTHING:
        end = speak(options[e], phrases, said, said_bounds, others, text, end)
    if end < 0 or end == text.shape[0]:
        return -1
    if last:
        text[end] = END
        end += 1
    for j in range(middle, end):
        if is_triggered(triggered, text[j]):
            need = middle + 1
    low = recall(items, item, options, phrases, said, said_bounds, others, need, text, middle)
    if low < 0:
        return -1
    heap[at] = Item(items[item].score + (scores[e] + gain(
        buckets, keys, weights, shift, triggered, text, low, middle, end,
    )), <id_t>e, <id_t>item)
    return 0


def cube(graph, said, features, row_t n, row_t k, row_t looks, row_t start, work, derivations):  # OUT work, derivations
    """Fill the k best derivations of the sentences from `start` on; return how many are done: all, if the room lasts.

    Every node keeps n derivations, the goal `looks` if that is more; all, if there are no more: then this is exact.
    If work.seen has room, only the best of those that say the same words are filled in.
    """
    cdef const row_t[::1] bounds = graph.bounds, edge_bounds = graph.edge_bounds, said_bounds = said.bounds
    cdef const id_t[::1] origins = graph.origins, options = graph.options
    cdef const id_t[::1] phrases = said.phrases, spoken = said.words, others = said.others
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
    cdef row_t s = start, last = bounds.shape[0] - 1
    cdef row_t first, nodes, v, e, u, size, limit, count, rank, looked, item
    cdef int new
    with nogil:
        while s < last:
            first, nodes, count, rank, looked, item, new = bounds[s], bounds[s + 1] - bounds[s], 2, 0, 0, 0, 0
            items[1] = Item(0.0, NOTHING, 0)
            firsts[0], firsts[1] = 1, 2
            for v in range(1, nodes):
                size = 0
                for e in range(edge_bounds[first + v], edge_bounds[first + v + 1]):
                    u = origins[e] - first
                    if firsts[u] < firsts[u + 1] and new >= 0:
                        new = weigh(items, firsts[u], e, v == nodes - 1, scores, options, phrases, spoken, said_bounds,
                                    others, buckets, keys, weights, shift, triggered, text, heap, size)
                        size += 1
                pile(heap, 0, size)
                limit = count + (max(n, looks) if v == nodes - 1 else n)
                while size and count < limit and new >= 0:
                    if count == items.shape[0]:
                        new = -1
                        break
                    items[count] = heap[0]
                    e, item = heap[0].edge, heap[0].item + 1
                    count += 1
                    if item < firsts[origins[e] - first + 1]:
                        new = weigh(items, item, e, v == nodes - 1, scores, options, phrases, spoken, said_bounds,
                                    others, buckets, keys, weights, shift, triggered, text, heap, 0)
                    else:
                        size -= 1
                        heap[0] = heap[size]
                    sink(heap, 0, size, 0, heap[0])
                if new < 0:
                    break
                sort(items, firsts[v], count - firsts[v])
                firsts[v + 1] = count
            if seen.shape[0]:
                seen[:] = 0
            item = firsts[nodes - 1] if nodes > 1 else count
            while item < count and rank < k and looked < looks and new >= 0:
                new = offer(items, options, item, phrases, spoken, said_bounds, others, words, word_bounds, seen,
                            rank, ends[s] + rank, step_bounds, steps, totals)
                rank += new
                looked += 1
                item += 1
            if new < 0:
                break
            s += 1
            ends[s] = ends[s - 1] + rank
    return s
