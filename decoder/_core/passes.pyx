"""Distances of all nodes of a graph from its start and to its goal.

Nodes are in topological order: a pass over them forwards meets every origin before the node, a pass backwards after it.
Twin: decoder/_reference/passes.py
"""

from libc.math cimport INFINITY, exp, log1p

from rampion._core.types cimport id_t, real, row_t


cdef inline real join(real one, real other, bint soft) except? -1.0 nogil:
    """The larger; or, soft, log(exp(one) + exp(other))."""
    cdef real least = other if one > other else one, most = one if one > other else other
    if not soft or least == -INFINITY:
        return most
    return most + log1p(exp(least - most))


def distances(graph, const real[::1] scores, bint soft, real[::1] forward, real[::1] backward):  # OUT forward, backward
    """Fill for every node the best score of all paths from the start and to the goal; soft: the log of their sum.

    -inf where there is no path.
    """
    cdef const row_t[::1] bounds = graph.bounds, edge_bounds = graph.edge_bounds
    cdef const id_t[::1] origins = graph.origins
    cdef row_t s, v, e, first, end
    with nogil:
        for s in range(bounds.shape[0] - 1):
            first, end = bounds[s], bounds[s + 1]
            for v in range(first, end):
                forward[v] = 0.0 if v == first else -INFINITY
                backward[v] = 0.0 if v == end - 1 else -INFINITY
                for e in range(edge_bounds[v], edge_bounds[v + 1]):
                    forward[v] = join(forward[v], forward[origins[e]] + scores[e], soft)
            for v in range(end - 1, first, -1):
                for e in range(edge_bounds[v], edge_bounds[v + 1]):
                    backward[origins[e]] = join(backward[origins[e]], backward[v] + scores[e], soft)
