"""Beam search over block sequences (S10.1), a batch of sentences a call.

Stacks hold nodes by the number of words covered. A grid is the nodes of one state, best first, times the options of
one span, best first; what lies between the two spans is the same all over it. Of all the cells of all the grids that
lead into a stack those are scored that promise most, their joins left aside: a threshold is sought that about `pops`
of them reach, and the cells above it are walked row by row. That is cube pruning without a queue. What is worse than
the best by more than `threshold` is left out, as promised and as scored. Keys are made for a batch of cells before any
of them is looked up, so that memory answers meanwhile.

One algorithm, hence one file, longer than a kernel should be. Twin: decoder/_reference/search.py
"""

from libc.math cimport INFINITY

from rampion._core.keys cimport slot_t
from rampion._core.types cimport byte_t, id_t, key_t, real, row_t, small_t

from .lm cimport Gram, NO_WORD, Word, key_of, predict
from .lm cimport home as gram_home
from .moves cimport CLOSE, FILL, NO_GAP, OPEN, STEP
from .search cimport (arrange, edge_t, end_of, free_of, gap_of, grid_t, group_t, node_t, nth, packed,
                      sieve, start_of, weight_of)
from .templates cimport P3, W3, W4, join_keys, jump_of, source_keys

cdef extern from *:
    """
    #define rampion_expect(gram) __builtin_prefetch(&(gram))
    """
    void rampion_expect(const Gram& gram) nogil

cdef enum:
    BATCH = 64   # cells or grids whose keys are made before the first is looked up
    FULL = -2
    BOUNDARY = 1
    START = 1  # <s>, also of the language model
    END = 2
    NOTHING = 0xFFFFFFFF
    HALVINGS = 40

cdef real SMALL = 1e-9


cdef inline int look_at(key_t mask, row_t at, row_t target, const id_t[::1] words, row_t start, row_t end,
                        id_t[::1] targets, id_t[::1] tips, id_t[::1] sizes, key_t[::1] looks) except -1 nogil:
    """Bring what neighbours may see of an option together: two first and two last words, and what tells it apart."""
    cdef row_t size = min(end - start, 2)
    targets[at], sizes[at] = <id_t> target, <id_t> size
    tips[4 * at] = words[start]
    tips[4 * at + 1] = words[start + size - 1]
    tips[4 * at + 2] = words[end - size]
    tips[4 * at + 3] = words[end - 1]
    if mask >> P3 & 1:
        looks[at] = <key_t> target
    elif mask >> W3 & 1:
        looks[at] = (<key_t> (words[end - 2] + 1) << 32 if size > 1 else 0) | words[end - 1]
    else:
        looks[at] = words[end - 1] if mask >> W4 & 1 else 0
    return 0


cdef inline int choose(const real[:, ::1] local, const real[::1] columns, const small_t[:, ::1] values,
                       const small_t[:, ::1] rates, const id_t[::1] blocks, row_t first, row_t low, row_t high,
                       row_t kind, row_t base, real[::1] gains, id_t[::1] says) except -1 nogil:
    """The options first + low to first + high by what they bring when they come by a move of this kind, best first."""
    cdef row_t at, place, block
    cdef real gain
    for at in range(low, high):
        block = blocks[first + at]
        gain = local[block, kind]
        if rates.shape[0]:
            gain += (columns[0] * (<real> rates[first + at, 0] - values[block, 0])
                     + columns[1] * (<real> rates[first + at, 1] - values[block, 1]))
        place = base + at
        while place > base + low and gains[place - 1] < gain:
            gains[place] = gains[place - 1]
            says[place] = says[place - 1]
            place -= 1
        gains[place] = gain
        says[place] = <id_t> (at + 1)
    return 0


cdef inline row_t prepare(
    key_t mask, row_t kinds, row_t longest, row_t word, row_t n, const row_t[::1] spans, const id_t[::1] option_blocks,
    const id_t[::1] targets_of, const id_t[::1] words, const row_t[::1] bounds, const real[:, ::1] local,
    const real[::1] columns, const small_t[:, ::1] values, const small_t[:, ::1] rates, id_t[::1] targets,
    id_t[::1] tips, id_t[::1] sizes, key_t[::1] looks, real[::1] gains, id_t[::1] says, real[::1] rest,
    real[::1] fills, row_t past, const id_t[::1] spoken, id_t[::1] openings, id_t[::1] leads,
) except? -1 nogil:
    """All that is known of the options before the search; how many there are."""
    cdef row_t first = spans[word * longest], count = spans[(word + n) * longest] - first, at, target
    cdef row_t start, size, low, high, kind, span
    cdef real best
    look_at(mask, 0, BOUNDARY, words, bounds[BOUNDARY], bounds[BOUNDARY + 1], targets, tips, sizes, looks)
    for at in range(count):
        target = targets_of[option_blocks[first + at]]
        look_at(mask, at + 1, target, words, bounds[target], bounds[target + 1], targets, tips, sizes, looks)
        leads[at + 1] = <id_t> min(past, bounds[target + 1] - bounds[target])
        for start in range(leads[at + 1]):
            openings[(at + 1) * past + start] = spoken[words[bounds[target] + start]]
    rest[n] = 0.0
    for start in range(n - 1, -1, -1):
        rest[start] = -INFINITY
        for size in range(1, min(longest, n - start) + 1):
            span = start * longest + size - 1
            low, high = spans[word * longest + span] - first, spans[word * longest + span + 1] - first
            fills[span] = -INFINITY
            if low == high:
                continue
            best = -INFINITY
            for kind in range(kinds):
                choose(local, columns, values, rates, option_blocks, first, low, high, kind, kind * count, gains, says)
                best = max(best, gains[kind * count + low])
            fills[span] = gains[(kinds - 1 if kinds == 1 else <row_t> FILL) * count + low]
            rest[start] = max(rest[start], best + rest[start + size])
    return count


cdef inline row_t offer(
    grid_t[::1] grids, row_t count, row_t options, row_t kind, row_t longest, row_t word, const row_t[::1] spans,
    const group_t[::1] groups, row_t group, key_t state, row_t start, row_t end, real future,
) except? -1 nogil:
    """One more grid: the nodes of a group times the options of a span; the number of grids, or FULL."""
    cdef row_t first = spans[word * longest], span = (word + start) * longest + end - start - 1
    if spans[span] == spans[span + 1] or future == -INFINITY:
        return count
    if count == grids.shape[0]:
        return FULL
    grids[count].state, grids[count].future, grids[count].group = state, future, group
    grids[count].first, grids[count].last = groups[group].first, groups[group].last
    grids[count].choice = kind * options + spans[span] - first
    grids[count].end = kind * options + spans[span + 1] - first
    return count + 1


cdef inline row_t propose(
    row_t covered, row_t n, row_t reach, bint adjacent, row_t options, row_t longest, row_t word,
    const row_t[::1] spans, const real[::1] rest, const real[::1] fills, const group_t[::1] groups,
    const row_t[::1] stacks, grid_t[::1] grids,
) except? -1 nogil:
    """The grids that lead into the stack of `covered` words; how many, or FULL."""
    cdef row_t count = 0, size, group, free, gap, last, end, start
    cdef key_t state
    cdef bint swapped
    for size in range(1, min(longest, covered) + 1):
        for group in range(stacks[covered - size], stacks[covered - size + 1]):
            state = groups[group].state
            free, gap, last, end = free_of(state), gap_of(state), start_of(state), end_of(state)
            if gap != NO_GAP:
                if last - gap == size:
                    count = offer(grids, count, options, FILL, longest, word, spans, groups, group,
                                  packed(free, NO_GAP, gap, last), gap, last, rest[free])
                continue
            swapped = end < free
            if count != FULL and free + size <= n:
                count = offer(grids, count, options, CLOSE if swapped else STEP, longest, word, spans, groups, group,
                              packed(free + size, NO_GAP, free, free + size), free, free + size, rest[free + size])
            if swapped and not adjacent:
                continue
            for start in range(free + 1, min(free + reach, n - size) + 1):
                if count != FULL:
                    count = offer(grids, count, options, OPEN, longest, word, spans, groups, group,
                                  packed(start + size, free, start, start + size), start, start + size,
                                  fills[free * longest + start - free - 1] + rest[start + size])
            if count == FULL:
                return FULL
    return count


cdef inline int weigh(
    key_t mask, real jump, real jump_out, real jump_in, const small_t[:, ::1] out, const small_t[:, ::1] into,
    const slot_t[::1] slots, const byte_t[::1] sifter, const id_t[::1] source_words, row_t word, const row_t[::1] spans,
    row_t longest, const id_t[::1] option_blocks, const id_t[::1] sources, const group_t[::1] groups,
    grid_t[::1] grids, row_t count, key_t[::1] keys, row_t[::1] homes, row_t[::1] marks,
) except -1 nogil:
    """The source side of every grid."""
    cdef row_t low = 0, g, at, start, end, last, free, limit = out.shape[1] // 2
    cdef key_t state
    cdef id_t source
    cdef int move
    while low < count:
        marks[0] = 0
        for g in range(low, min(low + BATCH, count)):
            start, end = start_of(grids[g].state), end_of(grids[g].state)
            state = groups[grids[g].group].state
            last, free = end_of(state), free_of(state)
            source = sources[option_blocks[spans[(word + start) * longest + end - start - 1]]]
            move = FILL if gap_of(state) != NO_GAP else STEP if start == last else OPEN
            at = source_keys(mask, groups[grids[g].group].source, source, jump_of(move, start - last),
                             source_words[word + last - 1] if free > 0 else START, source_words[word + start],
                             keys, marks[g - low])
            marks[g - low + 1] = at
            grids[g].source = -jump * (start - last if start > last else last - start)
            if out.shape[0] > 0:
                at = min(max(start - last, -limit), limit) + limit
                grids[g].source += (jump_out * out[source_words[word + last - 1] if free > 0 else START, at]
                                    + jump_in * into[source_words[word + start], at])
        sieve(slots, sifter, keys, homes, marks, min(BATCH, count - low))
        for g in range(low, min(low + BATCH, count)):
            grids[g].source += weight_of(slots, keys, homes, marks[g - low], marks[g - low + 1])
            grids[g].base = grids[g].source + grids[g].future
        low += BATCH
    return 0


cdef inline row_t reaching(real least, row_t most, const grid_t[::1] grids, row_t count, const node_t[::1] nodes,
                           const real[::1] gains) except? -1 nogil:
    """How many cells promise at least so much; counting stops above `most`."""
    cdef row_t found = 0, g, i, end
    cdef real sofar
    for g in range(count):
        end = grids[g].end
        for i in range(grids[g].first, grids[g].last):
            sofar = grids[g].base + nodes[i].score
            while end > grids[g].choice and sofar + gains[end - 1] < least:
                end -= 1
            if end == grids[g].choice:
                break
            found += end - grids[g].choice
        if found > most:
            break
    return found


cdef inline int seek_bracket(row_t pops, real slack, const grid_t[::1] grids, row_t count, const node_t[::1] nodes,
                             const real[::1] gains, real[::1] bracket) except -1 nogil:
    """Find bracket[1], which about and at most `pops` cells reach, and bracket[0] below it, which as many or more do.

    Both are `slack` below the most promising cell if no more cells reach that. The search begins bracket[2] below that
    cell and leaves there how far below it ended.
    """
    cdef real top = -INFINITY, middle
    cdef row_t g, total = 0, found
    for g in range(count):
        total += (grids[g].last - grids[g].first) * (grids[g].end - grids[g].choice)
        top = max(top, (grids[g].base + nodes[grids[g].first].score) + gains[grids[g].choice])
    if total <= pops:
        bracket[0] = bracket[1] = -INFINITY
        return 0
    if slack < INFINITY and reaching(top - slack, pops, grids, count, nodes, gains) <= pops:
        bracket[0] = bracket[1] = top - slack
        return 0
    bracket[0], bracket[1] = top - bracket[2], top
    for _ in range(HALVINGS):
        found = reaching(bracket[0], pops, grids, count, nodes, gains)
        if found > pops:
            break
        bracket[1] = bracket[0]
        if 8 * found >= 7 * pops:
            break
        bracket[0] = top - 1.5 * (top - bracket[0])
    for _ in range(HALVINGS):
        if bracket[0] == bracket[1]:
            break
        middle = 0.5 * bracket[0] + 0.5 * bracket[1]
        found = reaching(middle, pops, grids, count, nodes, gains)
        if found > pops:
            bracket[0] = middle
        else:
            bracket[1] = middle
            if 8 * found >= 7 * pops:
                bracket[0] = middle
    bracket[2] = max(top - bracket[1], SMALL)
    return 0


cdef inline row_t take(real least, real below, row_t most, const grid_t[::1] grids, row_t count,
                       const node_t[::1] nodes, const real[::1] gains, const id_t[::1] says, edge_t[::1] tries,
                       row_t found) except? -1 nogil:
    """List the cells that promise from `least` to less than `below`, row by row, until there are `most`; or FULL."""
    cdef row_t g, i, j, end
    cdef real sofar
    for g in range(count):
        end = grids[g].end
        for i in range(grids[g].first, grids[g].last):
            sofar = grids[g].base + nodes[i].score
            while end > grids[g].choice and sofar + gains[end - 1] < least:
                end -= 1
            if end == grids[g].choice:
                break
            for j in range(grids[g].choice, end):
                if sofar + gains[j] >= below:
                    continue
                if found == most:
                    return found
                if found == tries.shape[0]:
                    return FULL
                tries[found].score = grids[g].source + gains[j]
                tries[found].next = g
                tries[found].origin, tries[found].said = <id_t> i, says[j]
                found += 1
    return found


cdef inline real hear(
    row_t past, real first, real rest, const Word[::1] unigrams, const Gram[::1] grams, const id_t[::1] openings,
    const id_t[::1] leads, row_t said, row_t block, const id_t[::1] end_words, const small_t[::1] end_backoffs,
    const id_t[::1] node_words, const small_t[::1] node_backoffs, row_t node, id_t[::1] words, small_t[::1] backoffs,
    id_t[::1] fresh_words, small_t[::1] fresh_backoffs, row_t e,
) except? 1 nogil:
    """What the language model says of the first words of an option after a node; its state then is that of try e."""
    cdef row_t i, k, at = 0
    cdef real total = first * predict(unigrams, grams, past, openings[said * past], node_words, node_backoffs,
                                      node * past, words, backoffs, 0)
    for i in range(1, leads[said]):
        total += rest * predict(unigrams, grams, past, openings[said * past + i], words, backoffs, at,
                                words, backoffs, past - at)
        at = past - at
    for k in range(past):
        if leads[said] == past:
            fresh_words[e * past + k] = end_words[block * past + k]
            fresh_backoffs[e * past + k] = end_backoffs[block * past + k]
        else:
            fresh_words[e * past + k], fresh_backoffs[e * past + k] = words[at + k], backoffs[at + k]
    return total


cdef inline bint alike(const node_t[::1] fresh, row_t at, key_t state, key_t look, row_t past,
                       const id_t[::1] fresh_words, row_t e) except? -1 nogil:
    """Whether nothing that is still to come can tell the node from one of this state and look and try e's history."""
    cdef row_t k
    if fresh[at].state != state or fresh[at].look != look:
        return False
    for k in range(past):
        if fresh_words[at * past + k] != fresh_words[e * past + k]:
            return False
    return True


cdef inline row_t merge(
    row_t e, const grid_t[::1] grids, const key_t[::1] looks, edge_t[::1] tries, node_t[::1] fresh, row_t count,
    id_t[::1] table, row_t past, id_t[::1] fresh_words, small_t[::1] fresh_backoffs,
) except? -1 nogil:
    """Lead an edge into the fresh node it reaches, a new one if need be; how many there are, or FULL.

    Histories of tries make room for those of nodes, which are never more.
    """
    cdef key_t state = grids[tries[e].next].state, look = looks[tries[e].said]
    cdef key_t code = (state ^ look * <key_t> 0x9E3779B97F4A7C15) * <key_t> 0xD6E8FEB86659FD93
    cdef row_t slot, at, k
    for k in range(past):
        code = (code ^ fresh_words[e * past + k] ^ code >> 32) * <key_t> 0x9E3779B97F4A7C15
    slot = <row_t> (code >> 32) & (table.shape[0] - 1)
    while table[slot] != 0 and not alike(fresh, <row_t> table[slot] - 1, state, look, past, fresh_words, e):
        slot = (slot + 1) & (table.shape[0] - 1)
    at = <row_t> table[slot] - 1
    if at < 0:
        if count == fresh.shape[0]:
            return FULL
        at = count
        count += 1
        table[slot] = <id_t> count
        fresh[at].state, fresh[at].look = state, look
        fresh[at].said, fresh[at].slot = tries[e].said, <id_t> slot
        fresh[at].edge, fresh[at].score = -1, -INFINITY
        for k in range(past):
            fresh_words[at * past + k] = fresh_words[e * past + k]
            fresh_backoffs[at * past + k] = fresh_backoffs[e * past + k]
    if tries[e].total > fresh[at].score:
        fresh[at].score = tries[e].total
        fresh[at].rank = tries[e].total + grids[tries[e].next].future
    tries[e].next = fresh[at].edge
    fresh[at].edge = e
    return count


cdef inline row_t extend(
    key_t mask, const slot_t[::1] slots, const byte_t[::1] sifter, const id_t[::1] targets, const id_t[::1] tips,
    const id_t[::1] sizes, const key_t[::1] looks, const grid_t[::1] grids, const node_t[::1] nodes,
    edge_t[::1] tries, row_t count, key_t[::1] keys, row_t[::1] homes, row_t[::1] marks, node_t[::1] fresh,
    id_t[::1] table, row_t past, real first, real rest, const Word[::1] unigrams, const Gram[::1] grams,
    const id_t[::1] openings, const id_t[::1] leads, const id_t[::1] option_blocks, row_t option,
    const real[::1] heads, const id_t[::1] end_words, const small_t[::1] end_backoffs, const id_t[::1] node_words,
    const small_t[::1] node_backoffs, id_t[::1] fresh_words, small_t[::1] fresh_backoffs, id_t[::1] words,
    small_t[::1] backoffs, real slack,
) except? -1 nogil:
    """Score the joins of the cells taken and lead those near the best into fresh nodes; how many nodes, or FULL."""
    cdef row_t low = 0, e, last, said, block, made = 0
    cdef real top = -INFINITY
    while low < count:
        marks[0] = 0
        for e in range(low, min(low + BATCH, count)):
            last, said = nodes[tries[e].origin].said, tries[e].said
            marks[e - low + 1] = join_keys(
                mask, targets[last], targets[said], tips, 4 * last + 4 - <row_t> sizes[last], 4 * last + 4,
                4 * said, 4 * said + sizes[said], keys, marks[e - low])
            if past > 0 and node_words[tries[e].origin * past] != NO_WORD:
                rampion_expect(grams[gram_home(
                    key_of(openings[said * past], node_words[tries[e].origin * past]), grams)])
        sieve(slots, sifter, keys, homes, marks, min(BATCH, count - low))
        for e in range(low, min(low + BATCH, count)):
            tries[e].score += weight_of(slots, keys, homes, marks[e - low], marks[e - low + 1])
            if past > 0:
                said = tries[e].said
                block = option_blocks[option + said - 1]
                tries[e].score += hear(
                    past, first, rest, unigrams, grams, openings, leads, said, block, end_words, end_backoffs,
                    node_words, node_backoffs, tries[e].origin, words, backoffs, fresh_words, fresh_backoffs,
                    e) - heads[block]
            tries[e].total = nodes[tries[e].origin].score + tries[e].score
            top = max(top, tries[e].total + grids[tries[e].next].future)
        low += BATCH
    for e in range(count):
        if tries[e].total + grids[tries[e].next].future >= top - slack:
            made = merge(e, grids, looks, tries, fresh, made, table, past, fresh_words, fresh_backoffs)
            if made == FULL:
                return FULL
    return made


cdef inline row_t keep(
    row_t beam, node_t[::1] fresh, row_t count, id_t[::1] table, real[::1] ranks, row_t[::1] order,
    row_t[::1] spare,
) except? -1 nogil:
    """The best nodes by rank, the earlier of equals; their number, themselves in `order`, by state and best first."""
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


cdef inline row_t finish(
    row_t first, row_t count, const node_t[::1] nodes, const edge_t[::1] edges, row_t[::1] spare,
    row_t node, row_t edge, row_t[::1] edge_bounds, id_t[::1] origins, id_t[::1] says, real[::1] scores,
) except? -1 nogil:
    """Write the nodes from which the goal is reached, the goal last, from `node` on; where they end, or FULL."""
    cdef row_t v, e, made = 0
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
            says[edge] = <id_t> (first + edges[e].said - 1) if v < count - 1 else <id_t> NOTHING
            scores[edge] = edges[e].score
            edge += 1
        made += 1
        edge_bounds[node + made] = edge
    return node + made


def search(sentences, options, blocks, model, limits, work, graph, row_t done):  # OUT graph
    """Fill the graph from sentence `done` on; return how many sentences are done: all, or room is short."""
    cdef const row_t[::1] bounds = sentences.bounds, spans = options.spans
    cdef const id_t[::1] source_words = sentences.words, option_blocks = options.blocks
    cdef const id_t[::1] sources = blocks.sources, targets_of = blocks.targets, words = blocks.target_words
    cdef const row_t[::1] target_bounds = blocks.target_bounds
    cdef const real[:, ::1] local = model.local
    cdef const real[::1] columns = model.columns
    cdef const small_t[:, ::1] values = blocks.values, rates = options.rates
    cdef const slot_t[::1] slots = model.slots
    cdef const byte_t[::1] sifter = model.sifter
    cdef const Word[::1] unigrams = model.lm.unigrams
    cdef const Gram[::1] grams = model.lm.grams
    cdef const id_t[::1] spoken = model.spoken, end_words = model.end_words
    cdef const small_t[::1] end_backoffs = model.end_backoffs
    cdef const real[::1] heads = model.heads
    cdef const small_t[:, ::1] out = model.jumps.out, into = model.jumps.into
    cdef real jump_out = model.jump_out, jump_in = model.jump_in
    cdef real jump = model.jump, slack = limits.threshold, first = model.lm_first, rest_of = model.lm_rest
    cdef key_t mask = model.mask
    cdef row_t past = model.lm.order - 1
    cdef row_t longest = options.longest, reach = min(<row_t> limits.reach, longest)
    cdef row_t beam = limits.beam, pops = limits.pops
    cdef bint adjacent = limits.adjacent_swaps
    cdef id_t[::1] targets = work.targets, tips = work.tips, sizes = work.sizes, says = work.says, table = work.table
    cdef id_t[::1] openings = work.openings, leads = work.leads, said_words = work.said
    cdef id_t[::1] node_words = work.node_words, fresh_words = work.fresh_words
    cdef small_t[::1] node_backoffs = work.node_backoffs, fresh_backoffs = work.fresh_backoffs
    cdef small_t[::1] backoffs = work.backoffs
    cdef key_t[::1] looks = work.looks, keys = work.keys
    cdef real[::1] gains = work.gains, rest = work.rest, fills = work.fills, ranks = work.ranks
    cdef real[::1] bracket = work.bracket
    cdef row_t[::1] homes = work.homes, marks = work.marks, stacks = work.stacks, order = work.order
    cdef row_t[::1] spare = work.spare, turns = work.turns
    cdef node_t[::1] nodes = work.nodes, fresh = work.fresh
    cdef edge_t[::1] edges = work.edges, tries = work.tries
    cdef group_t[::1] groups = work.groups
    cdef grid_t[::1] grids = work.grids
    cdef row_t[::1] graph_bounds = graph.bounds, edge_bounds = graph.edge_bounds
    cdef id_t[::1] origins = graph.origins, said = graph.options
    cdef real[::1] scores = graph.scores
    cdef row_t s, n, word, covered, k, count, made, kept, at, node, edge, made_groups, total
    cdef row_t kinds = 4 if reach > 0 else 1
    with nogil:
        for s in range(done, bounds.shape[0] - 1):
            word, n = bounds[s], bounds[s + 1] - bounds[s]
            total = prepare(mask, kinds, longest, word, n, spans, option_blocks, targets_of, words, target_bounds,
                            local, columns, values, rates, targets, tips, sizes, looks, gains, says, rest, fills,
                            past, spoken, openings, leads)
            nodes[0].score, nodes[0].rank, nodes[0].state, nodes[0].look = 0.0, 0.0, packed(0, NO_GAP, 0, 0), looks[0]
            nodes[0].edge, nodes[0].said = 0, 0
            for k in range(past):
                node_words[k] = NO_WORD if k > 0 else START
                node_backoffs[k] = 0 if k > 0 else unigrams[START].backoff
            groups[0].state, groups[0].first, groups[0].last, groups[0].source = nodes[0].state, 0, 1, BOUNDARY
            stacks[0], stacks[1], node, edge, made_groups, bracket[2] = 0, 1, 1, 0, 1, 1.0
            for covered in range(1, n + 1):
                count = propose(covered, n, reach, adjacent, total, longest, word, spans, rest, fills, groups, stacks,
                                grids)
                if count == FULL:
                    break
                weigh(mask, jump, jump_out, jump_in, out, into, slots, sifter, source_words, word, spans, longest,
                      option_blocks, sources, groups, grids, count, keys, homes, marks)
                seek_bracket(pops, slack, grids, count, nodes, gains, bracket)
                made = take(bracket[1], INFINITY, pops, grids, count, nodes, gains, says, tries, 0)
                if made != FULL and bracket[0] < bracket[1]:
                    made = take(bracket[0], bracket[1], pops, grids, count, nodes, gains, says, tries, made)
                if made == FULL:
                    break
                made = extend(mask, slots, sifter, targets, tips, sizes, looks, grids, nodes, tries, made, keys, homes,
                              marks, fresh, table, past, first, rest_of, unigrams, grams, openings, leads,
                              option_blocks, spans[word * longest], heads, end_words, end_backoffs, node_words,
                              node_backoffs, fresh_words, fresh_backoffs, said_words, backoffs, slack)
                if made == FULL:
                    break
                kept = keep(beam, fresh, made, table, ranks, order, spare)
                if node + kept + 2 > nodes.shape[0]:
                    break
                for at in range(kept):
                    nodes[node] = fresh[order[at]]
                    nodes[node].edge = edge
                    for k in range(past):
                        node_words[node * past + k] = fresh_words[order[at] * past + k]
                        node_backoffs[node * past + k] = fresh_backoffs[order[at] * past + k]
                    edge = insert(fresh[order[at]].edge, tries, edges, edge, turns, spare)
                    if edge == FULL:
                        break
                    if at == 0 or nodes[node].state != nodes[node - 1].state:
                        groups[made_groups].state, groups[made_groups].first = nodes[node].state, node
                        groups[made_groups].source = sources[option_blocks[
                            spans[word * longest] + <row_t> nodes[node].said - 1]]
                        made_groups += 1
                    node += 1
                    groups[made_groups - 1].last = node
                if edge == FULL:
                    break
                stacks[covered + 1] = made_groups
            else:
                made = 0
                for at in range(groups[stacks[n]].first if stacks[n] < stacks[n + 1] else node, node):
                    if made == tries.shape[0]:
                        break
                    tries[made].origin, tries[made].said, tries[made].score = <id_t> at, 0, 0.0
                    if spoken.shape[0] > 0:
                        tries[made].score = rest_of * predict(unigrams, grams, past, END, node_words, node_backoffs,
                                                              at * past, said_words, backoffs, 0)
                    tries[made].total, tries[made].next = nodes[at].score + tries[made].score, made - 1
                    made += 1
                else:
                    nodes[node].edge = edge
                    edge = insert(made - 1, tries, edges, edge, turns, spare)
                    if edge != FULL:
                        nodes[node + 1].edge = edge
                        at = finish(spans[word * longest], node + 1, nodes, edges, spare, graph_bounds[s],
                                    edge_bounds[graph_bounds[s]], edge_bounds, origins, said, scores)
                        if at != FULL:
                            graph_bounds[s + 1] = at
                            done = s + 1
                            continue
            break
    return done
