"""The graph of a sentence: the nodes of a stack that are kept, their edges, and what of it all leads to the goal."""

from libc.math cimport INFINITY

from rampion._core.types cimport id_t, real, row_t

from .lm cimport Past
from .moves cimport TURNS
from .search cimport FULL, NOTHING, edge_t, frame_t, group_t, node_t, option_t

cdef enum:
    RUN = 16  # sorted by insertion before any are merged

ctypedef fused scored_t:
    node_t
    edge_t

cdef struct made_t:  # how far a sentence's graph has come
    row_t nodes
    row_t edges
    row_t groups


cdef inline real nth(real[::1] values, row_t count, row_t n) except? -1 nogil:
    """The n-th largest (from 0) of the first values, which are moved about."""
    cdef row_t low = 0, high = count - 1, i, j
    cdef real pivot, swap
    while low < high:
        pivot = values[(low + high) // 2]
        i, j = low, high
        while i <= j:
            while values[i] > pivot:
                i += 1
            while values[j] < pivot:
                j -= 1
            if i <= j:
                swap = values[i]
                values[i] = values[j]
                values[j] = swap
                i += 1
                j -= 1
        if n <= j:
            high = j
        elif n >= i:
            low = i
        else:
            break
    return values[n]


cdef inline bint before(const scored_t[::1] items, row_t a, row_t b) except? -1 nogil:
    """Nodes by state, then best first; edges best first."""
    if scored_t is edge_t:
        return items[a].total > items[b].total
    elif items[a].state != items[b].state:
        return items[a].state < items[b].state
    else:
        return items[a].score > items[b].score


cdef inline int arrange(const scored_t[::1] items, row_t[::1] order, row_t[::1] spare, row_t count) except -1 nogil:
    """Sort the first indices of `order`, keeping their order where items do not differ."""
    cdef row_t width = RUN, low, middle, high, a, b, at
    for at in range(count):
        a, b = order[at], at
        while b % RUN > 0 and before(items, a, order[b - 1]):
            order[b] = order[b - 1]
            b -= 1
        order[b] = a
    while width < count:
        low = 0
        while low < count:
            middle, high = min(low + width, count), min(low + 2 * width, count)
            a, b = low, middle
            for at in range(low, high):
                if a < middle and (b == high or not before(items, order[b], order[a])):
                    spare[at] = order[a]
                    a += 1
                else:
                    spare[at] = order[b]
                    b += 1
            low = high
        for at in range(count):
            order[at] = spare[at]
        width *= 2
    return 0


cdef inline row_t keep(
    row_t beam, node_t[::1] fresh, row_t count, id_t[::1] table, real[::1] ranks, row_t[::1] order,
    row_t[::1] spare,
) except? -1 nogil:
    """List the best fresh nodes by rank, the earlier of equals, in `order`: by state, best first; how many they are.

    The table of fresh nodes is emptied.
    """
    cdef row_t at, kept = 0, above = 0
    cdef real least = -INFINITY
    for at in range(count):
        table[fresh[at].slot] = 0
        ranks[at] = fresh[at].rank
    if count > beam:
        least = nth(ranks, count, beam - 1)
    for at in range(count):
        above += fresh[at].rank > least
    for at in range(count):
        if fresh[at].rank < least or (fresh[at].rank == least and above >= beam):
            continue
        above += fresh[at].rank == least
        order[kept] = at
        kept += 1
    arrange(fresh, order, spare, kept)
    return kept


cdef inline bint add_nodes(
    frame_t f, const row_t[::1] order, row_t kept, const option_t[::1] options, const node_t[::1] fresh,
    const Past[::1] fresh_histories, node_t[::1] nodes, Past[::1] histories, group_t[::1] groups, made_t* made,
) except? -1 nogil:
    """Add the fresh nodes order[:kept] to the graph, those of one state as a group; whether there is room.

    They keep their tries: `add_edges` makes edges of them.
    """
    cdef row_t at, k, node
    if made.nodes + kept + 2 > nodes.shape[0]:
        return False
    for at in range(kept):
        node = made.nodes + at
        nodes[node] = fresh[order[at]]
        for k in range(f.past):
            histories[node * f.past + k] = fresh_histories[order[at] * f.past + k]
        if at == 0 or nodes[node].state != nodes[node - 1].state:
            groups[made.groups].state, groups[made.groups].first = nodes[node].state, node
            groups[made.groups].phrase = options[nodes[node].option].source
            made.groups += 1
        groups[made.groups - 1].last = node + 1
    made.nodes += kept
    return True


cdef inline int add_rows(
    frame_t f, row_t first, const made_t* made, const group_t[::1] groups, const node_t[::1] nodes,
    const real[::1] leaving, real[::1] rows, id_t[::1] row_nodes,  # OUT
) except -1 nogil:
    """The rows of the groups from `first` on, for each turn; best first, the earlier node of equals."""
    cdef row_t group, turn, at, place, base
    cdef real score
    for group in range(first, made.groups):
        for turn in range(f.turns):
            base = turn * nodes.shape[0]
            for at in range(groups[group].first, groups[group].last):
                score, place = nodes[at].score, base + at
                if f.limit > 0:
                    score += leaving[TURNS * <row_t> nodes[at].option + turn]
                    while place > base + groups[group].first and rows[place - 1] < score:
                        rows[place] = rows[place - 1]
                        row_nodes[place] = row_nodes[place - 1]
                        place -= 1
                rows[place] = score
                row_nodes[place] = <id_t> at
    return 0


cdef inline row_t insert(row_t newest, const edge_t[::1] tries, edge_t[::1] edges, row_t first, row_t[::1] turns,
                         row_t[::1] spare) except? -1 nogil:
    """Write the edges of a node from `first` on, best derivation first, the earlier of equals; where they end."""
    cdef row_t e = newest, count = 0, at
    while e >= 0:
        count += 1
        e = tries[e].next
    if first + count > edges.shape[0]:
        return FULL
    e = newest
    for at in range(count - 1, -1, -1):
        turns[at] = e
        e = tries[e].next
    arrange(tries, turns, spare, count)
    for at in range(count):
        edges[first + at] = tries[turns[at]]
    return first + count


cdef inline bint add_edges(
    row_t first, row_t last, const edge_t[::1] tries, node_t[::1] nodes, edge_t[::1] edges, row_t[::1] turns,
    row_t[::1] spare, made_t* made,
) except? -1 nogil:
    """Make edges of the tries that lead to the nodes first to last - 1; whether there is room."""
    cdef row_t v, newest, edge = made.edges
    for v in range(first, last):
        newest, nodes[v].edge = nodes[v].edge, edge
        edge = insert(newest, tries, edges, edge, turns, spare)
        if edge == FULL:
            return False
    made.edges = edge
    return True


cdef inline row_t finish(
    row_t first, row_t count, const node_t[::1] nodes, const edge_t[::1] edges, row_t[::1] spare, row_t node,
    row_t[::1] edge_bounds, id_t[::1] origins, id_t[::1] options, real[::1] scores,  # OUT
) except? -1 nogil:
    """Write the nodes from which the goal is reached, the goal last, from `node` on; where they end, or FULL.

    `first` is the first option of the sentence. spare[v] is first whether node v is wanted, then its place.
    """
    cdef row_t v, e, made = 0, edge = edge_bounds[node]
    for v in range(count):
        spare[v] = 0
    spare[0] = spare[count - 1] = 1
    for v in range(count - 1, 0, -1):
        if spare[v]:
            for e in range(nodes[v].edge, nodes[v + 1].edge):
                spare[edges[e].origin] = 1
    for v in range(count):
        if not spare[v]:
            continue
        spare[v] = made
        if node + made + 2 > edge_bounds.shape[0] or edge + nodes[v + 1].edge - nodes[v].edge > origins.shape[0]:
            return FULL
        for e in range(nodes[v].edge, nodes[v + 1].edge):
            origins[edge] = <id_t> (node + spare[edges[e].origin])
            options[edge] = <id_t> (first + edges[e].option - 1) if v < count - 1 else <id_t> NOTHING
            scores[edge] = edges[e].score
            edge += 1
        made += 1
        edge_bounds[node + made] = edge
    return node + made
