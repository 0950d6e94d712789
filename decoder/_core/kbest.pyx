"""Exact lazy k-best of acyclic graphs (Huang and Chiang 2005, algorithm 3), a batch at a time.

A derivation of a node is an edge into the node and a derivation of the edge's origin: an item. The items of a node form
a list, best first, which grows only when somebody asks for one more. What comes next is at the top of the node's heap:
it holds every edge once, with the best derivation of its origin that the edge has not used. The edge of the item taken
last is missing there, until the next derivation of its origin is known; that one is looked for when somebody asks.
Twin: decoder/_reference/kbest.py
"""

from rampion.decoder._core.derive cimport NOTHING, Item, is_new, pile, rise, sink, write
from rampion._core.types cimport id_t, real, row_t

cdef enum:
    START = 1  # the item that all derivations begin with; 0 stands for none

cdef packed struct node_t:  # NODE of search/kbest.py
    row_t size    # of its heap, -1 before there is one
    id_t best     # its first item
    id_t last     # the item found last
    id_t waiting  # that item, while its edge has not come back with the next derivation of its origin
    id_t asker    # the node that waits for one more derivation of this one


cdef inline row_t seed(
    const row_t[::1] edge_bounds, const id_t[::1] origins, const real[::1] scores, row_t first, row_t size,
    Item[::1] items, id_t[::1] nexts, node_t[::1] nodes,
) except -1 nogil:
    """The best derivation of each node: its first item, 0 if there is none. Return where the items end."""
    cdef row_t v, e, count = START + 1
    cdef id_t top
    cdef real score
    cdef Item best
    items[START] = Item(0.0, NOTHING, 0)
    nexts[START] = 0
    nodes[0].size, nodes[0].waiting = 0, 0
    nodes[0].best = nodes[0].last = START
    for v in range(1, size):
        best = Item(0.0, NOTHING, 0)
        for e in range(edge_bounds[first + v], edge_bounds[first + v + 1]):
            top = nodes[origins[e] - first].best
            if top:
                score = items[top].score + scores[e]
                if not best.item or score > best.score:
                    best = Item(score, <id_t>e, top)
        nodes[v].size = -1 if best.item else 0
        nodes[v].best = nodes[v].last = nodes[v].waiting = <id_t>count if best.item else 0
        if best.item:
            items[count] = best
            nexts[count] = 0
            count += 1
    return count


cdef inline row_t gather(
    const id_t[::1] origins, const real[::1] scores, row_t first, row_t start, row_t end, row_t base, id_t used,
    const Item[::1] items, const node_t[::1] nodes, Item[::1] heap,
) except -1 nogil:
    """Fill the heap with the edges start to end but the one used, each with the best derivation of its origin."""
    cdef row_t e, size = 0
    cdef id_t top
    for e in range(start, end):
        top = nodes[origins[e] - first].best
        if top and <id_t>e != used:
            heap[start - base + size] = Item(items[top].score + scores[e], <id_t>e, top)
            size += 1
    pile(heap, start - base, size)
    return size


cdef inline row_t extend(
    const row_t[::1] edge_bounds, const id_t[::1] origins, const real[::1] scores, row_t first, row_t goal,
    Item[::1] items, id_t[::1] nexts, node_t[::1] nodes, Item[::1] heap, row_t count,
) except -1 nogil:
    """Find one more derivation of the goal, if there is one, and before it those it waits for; where the items end.

    A node has no more derivations if it waits for nothing and its heap is empty.
    """
    cdef row_t v = goal, base = edge_bounds[first], start, u
    cdef Item item
    cdef id_t after
    while True:
        start = edge_bounds[first + v]
        if nodes[v].size < 0:
            nodes[v].size = gather(origins, scores, first, start, edge_bounds[first + v + 1], base,
                                   items[nodes[v].last].edge, items, nodes, heap)
        if nodes[v].waiting:
            # The edge used last comes back with the next derivation of its origin, which may have to be found first.
            item = items[nodes[v].waiting]
            u = origins[item.edge] - first
            after = nexts[item.item]
            if not after and (nodes[u].waiting or nodes[u].size):
                nodes[u].asker = <id_t>v
                v = u
                continue
            nodes[v].waiting = 0
            if after:
                rise(heap, start - base, nodes[v].size, Item(items[after].score + scores[item.edge], item.edge, after))
                nodes[v].size += 1
        if nodes[v].size:
            # The top of the heap is the next item.
            items[count] = heap[start - base]
            nodes[v].size -= 1
            sink(heap, start - base, nodes[v].size, 0, heap[start - base + nodes[v].size])
            nexts[count] = 0
            nexts[nodes[v].last] = nodes[v].last = nodes[v].waiting = <id_t>count
            count += 1
        if v == goal:
            return count
        v = nodes[v].asker


def kbest(graph, wording, row_t k, row_t looks, row_t start, work, derivations):  # OUT work, derivations
    """Fill the k best derivations of the sentences from `start` on; return how many are done: all, if the room lasts.

    Higher scores come first; of equals the earlier last edge, then what comes first in its origin. Only `looks` of them
    are looked at; if work.seen has room, only the best of those with the same words are kept.
    """
    # Longer than most, because a third of its lines unpack arrays.
    cdef const row_t[::1] bounds = graph.bounds, edge_bounds = graph.edge_bounds, phrase_bounds = wording.bounds
    cdef const id_t[::1] origins = graph.origins, options = graph.options
    cdef const id_t[::1] phrases = wording.phrases, phrase_words = wording.words, others = wording.others
    cdef const real[::1] scores = graph.scores
    cdef Item[::1] items = work.items, heap = work.heap
    cdef node_t[::1] nodes = work.nodes
    cdef id_t[::1] nexts = work.nexts, words = work.words, seen = work.seen
    cdef row_t[::1] word_bounds = work.word_bounds, ends = derivations.bounds, step_bounds = derivations.step_bounds
    cdef id_t[::1] steps = derivations.steps
    cdef real[::1] totals = derivations.scores
    cdef row_t s = start, last = bounds.shape[0] - 1, first, size, count, d, rank, looked, item
    cdef int new
    with nogil:
        while s < last:
            first, size, count, rank, looked, item, new = bounds[s], bounds[s + 1] - bounds[s], 2, 0, 0, 0, 0
            if items.shape[0] < size + 2:
                break
            if size > 1:
                count = seed(edge_bounds, origins, scores, first, size, items, nexts, nodes)
                item = nodes[size - 1].best
            if seen.shape[0]:
                seen[:] = 0
            while item and rank < k and looked < looks:
                d = ends[s] + rank
                new = write(items, options, item, d, step_bounds, steps, totals)
                if new >= 0:
                    new = is_new(steps, step_bounds[d], step_bounds[d + 1], phrases, phrase_words, phrase_bounds,
                                 others, rank, words, word_bounds, seen)
                if new >= 0 and count + size > items.shape[0]:
                    new = -1
                if new < 0:
                    break
                rank += new
                looked += 1
                if rank < k and looked < looks and not nexts[item]:
                    count = extend(edge_bounds, origins, scores, first, size - 1, items, nexts, nodes, heap, count)
                item = nexts[item]
            if new < 0:
                break
            s += 1
            ends[s] = ends[s - 1] + rank
    return s
