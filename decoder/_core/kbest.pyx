"""Exact lazy k-best of acyclic graphs (Huang and Chiang 2005, algorithm 3), a batch at a time.

An edge stands in its node's heap once, with the best derivation of its origin that it has not used; the next one of
the origin is looked for when somebody asks. Twin: decoder/_reference/kbest.py
"""

from decoder._core.derive cimport NOTHING, Item, offer, pile, rise, sink
from rampion._core.types cimport id_t, real, row_t


cdef inline row_t seed(
    const row_t[::1] edge_bounds, const id_t[::1] origins, const real[::1] scores, row_t first, row_t nodes,
    Item[::1] items, id_t[::1] nexts, id_t[::1] tops, id_t[::1] lasts, id_t[::1] waiting, row_t[::1] sizes,
) except -1 nogil:
    """The best derivation of each node: its first item, 0 if there is none. Return where the items end."""
    cdef row_t v, e, count = 2
    cdef id_t top
    cdef real score
    cdef Item best
    items[1] = Item(0.0, NOTHING, 0)
    nexts[1] = waiting[0] = 0
    sizes[0] = 0
    tops[0] = lasts[0] = 1
    for v in range(1, nodes):
        best = Item(0.0, NOTHING, 0)
        for e in range(edge_bounds[first + v], edge_bounds[first + v + 1]):
            top = tops[origins[e] - first]
            if top:
                score = items[top].score + scores[e]
                if not best.item or score > best.score:
                    best = Item(score, <id_t>e, top)
        sizes[v] = -1 if best.item else 0
        tops[v] = lasts[v] = waiting[v] = <id_t>count if best.item else 0
        if best.item:
            items[count] = best
            nexts[count] = 0
            count += 1
    return count


cdef inline row_t gather(
    const id_t[::1] origins, const real[::1] scores, row_t first, row_t start, row_t end, row_t base, id_t used,
    const Item[::1] items, const id_t[::1] tops, Item[::1] heap,
) except -1 nogil:
    """Fill the heap with the edges start to end but the one used, each with the best derivation of its origin."""
    cdef row_t e, size = 0
    cdef id_t top
    for e in range(start, end):
        top = tops[origins[e] - first]
        if top and <id_t>e != used:
            heap[start - base + size] = Item(items[top].score + scores[e], <id_t>e, top)
            size += 1
    pile(heap, start - base, size)
    return size


cdef inline row_t extend(
    const row_t[::1] edge_bounds, const id_t[::1] origins, const real[::1] scores, row_t first, row_t v,
    Item[::1] items, id_t[::1] nexts, const id_t[::1] tops, id_t[::1] lasts, id_t[::1] waiting, row_t[::1] sizes,
    Item[::1] heap, id_t[::1] chain, row_t count,
) except -1 nogil:
    """Find one more derivation of node v, if there is one, and before it those it waits for; where the items end.

    waiting[v] is the last item of v while its edge has not come back with the next derivation of its origin. sizes[v]
    is that of the heap, -1 before there is one. A node is done if it waits for nothing and its heap is empty.
    """
    cdef row_t depth = 0, base = edge_bounds[first], start, u
    cdef Item item
    cdef id_t after
    chain[0] = <id_t>v
    while depth >= 0:
        v = chain[depth]
        start = edge_bounds[first + v]
        if sizes[v] < 0:
            sizes[v] = gather(origins, scores, first, start, edge_bounds[first + v + 1], base,
                              items[lasts[v]].edge, items, tops, heap)
        if waiting[v]:
            item = items[waiting[v]]
            u = origins[item.edge] - first
            after = nexts[item.item]
            if not after and (waiting[u] or sizes[u]):
                depth += 1
                chain[depth] = <id_t>u
                continue
            waiting[v] = 0
            if after:
                rise(heap, start - base, sizes[v], Item(items[after].score + scores[item.edge], item.edge, after))
                sizes[v] += 1
        if sizes[v]:
            items[count] = heap[start - base]
            sizes[v] -= 1
            sink(heap, start - base, sizes[v], 0, heap[start - base + sizes[v]])
            nexts[count] = 0
            nexts[lasts[v]] = lasts[v] = waiting[v] = <id_t>count
            count += 1
        depth -= 1
    return count


def kbest(graph, said, row_t k, row_t looks, row_t start, work, derivations):  # OUT work, derivations
    """Fill the k best derivations of the sentences from `start` on; return how many are done: all, if the room lasts.

    Higher scores come first; of equals the earlier last edge, then what comes first in its origin. Only `looks` of them
    are looked at; if work.seen has room, only the best of those that say the same words are kept.
    """
    cdef const row_t[::1] bounds = graph.bounds, edge_bounds = graph.edge_bounds, said_bounds = said.bounds
    cdef const id_t[::1] origins = graph.origins, options = graph.options
    cdef const id_t[::1] phrases = said.phrases, spoken = said.words, others = said.others
    cdef const real[::1] scores = graph.scores
    cdef Item[::1] items = work.items, heap = work.heap
    cdef id_t[::1] nexts = work.nexts, tops = work.tops, lasts = work.lasts, waiting = work.waiting, chain = work.chain
    cdef id_t[::1] words = work.words, seen = work.seen
    cdef row_t[::1] sizes = work.sizes, word_bounds = work.word_bounds
    cdef row_t[::1] ends = derivations.bounds, step_bounds = derivations.step_bounds
    cdef id_t[::1] steps = derivations.steps
    cdef real[::1] totals = derivations.scores
    cdef row_t s = start, last = bounds.shape[0] - 1, first, size, count, rank, looked, item
    cdef int new
    with nogil:
        while s < last:
            first, size, count, rank, looked, item, new = bounds[s], bounds[s + 1] - bounds[s], 2, 0, 0, 0, 0
            if items.shape[0] < size + 2:
                break
            if size > 1:
                count = seed(edge_bounds, origins, scores, first, size, items, nexts, tops, lasts, waiting, sizes)
                item = tops[size - 1]
            if seen.shape[0]:
                seen[:] = 0
            while item and rank < k and looked < looks:
                new = offer(items, options, item, phrases, spoken, said_bounds, others, words, word_bounds, seen,
                            rank, ends[s] + rank, step_bounds, steps, totals)
                if new >= 0 and count + size > items.shape[0]:
                    new = -1
                if new < 0:
                    break
                rank += new
                looked += 1
                if rank < k and looked < looks and not nexts[item]:
                    count = extend(edge_bounds, origins, scores, first, size - 1, items, nexts, tops, lasts, waiting,
                                   sizes, heap, chain, count)
                item = nexts[item]
            if new < 0:
                break
            s += 1
            ends[s] = ends[s - 1] + rank
    return s
