"""Beam search over block sequences (S10.1), a batch of sentences a call.

Stacks hold nodes by the number of words covered. Before the first of them, all is written down that is known of the
options (search_options.pxd). Then, stack by stack:

1. Grids are proposed: the nodes of one state times the options of one span (`propose`, within a limit `propose_open`).
2. What lies between the two spans is the same for all cells of a grid; it is scored once (search_score.pxd).
3. Of all cells those about `pops` are taken that promise most, their joins left aside (search_threshold.pxd).
4. They are scored. What is worse than the best by more than `threshold` is left out, as promised and as scored.
5. Cells that no feature can distinguish from now on become one node.
6. The `beam` best nodes are kept, with all their edges (search_graph.pxd).

Within a limit of distortion a block does not know how the next one will turn. Its score has the best of what may come
(model.pyx), and the next move takes away what it lacks of that; so the rows of a group have an order for each turn.

At last all nodes that cover the sentence lead to the goal, and what leads there is the graph.
The records of all that stand in search.pxd. Twin: decoder/_reference/search.py
"""

from libc.math cimport INFINITY

from rampion._core.keys cimport slot_t
from rampion._core.types cimport byte_t, id_t, key_t, real, row_t, small_t

from .lm cimport Gram, Past, Word, forget, predict
from .moves cimport CLOSE, FILL, KINDS, NO_GAP, OPEN, STEP, TURNS, forward_of, kind_of
from .search cimport (BOUNDARY, END, FULL, START, edge_t, end_of, frame_t, free_of, gap_of, grid_t, group_t, node_t,
                      open_of, option_t, packed, packed_window, start_of, words_of)
from .search_graph cimport add_edges, add_nodes, add_rows, finish, keep, made_t
from .search_options cimport describe, measure_gaps, rank_options, tell_apart
from .search_score cimport recombine, score_joins, score_leaving, score_openings, score_sources
from .search_threshold cimport seek_bracket, take


cdef inline int begin(
    frame_t f, const option_t[::1] options, const Word[::1] unigrams,
    node_t[::1] nodes, Past[::1] histories, group_t[::1] groups, row_t[::1] stacks, made_t* made,  # OUT
) except -1 nogil:
    """The node before the first word, a group and a stack by itself."""
    nodes[0].score, nodes[0].rank, nodes[0].state, nodes[0].look = 0.0, 0.0, 0, options[0].look
    nodes[0].edge, nodes[0].option = 0, 0
    forget(histories, 0, f.past)
    if f.past > 0:
        histories[0].word, histories[0].backoff = START, unigrams[START].backoff
    groups[0].state, groups[0].first, groups[0].last, groups[0].phrase = nodes[0].state, 0, 1, BOUNDARY
    stacks[0], stacks[1] = 0, 1
    made.nodes, made.edges, made.groups = 1, 0, 1
    return 0


cdef inline row_t offer(
    frame_t f, grid_t[::1] grids, row_t count, const option_t[::1] options, const row_t[::1] spans,
    const group_t[::1] groups, row_t group, row_t base, row_t kind, key_t state, real future,
) except? -1 nogil:
    """One more grid: a group, whose rows begin at `base`, times the options of the state's last span.

    How many grids there are then, or FULL.
    """
    cdef row_t span = (f.word + start_of(state)) * f.longest + end_of(state) - start_of(state) - 1
    if spans[span] == spans[span + 1] or future == -INFINITY:
        return count
    if count == grids.shape[0]:
        return FULL
    grids[count].state, grids[count].future, grids[count].group = state, future, group
    grids[count].first, grids[count].last, grids[count].turn = base + groups[group].first, base + groups[group].last, 0
    grids[count].choice = kind * f.options + spans[span] - f.option
    grids[count].end = kind * f.options + spans[span + 1] - f.option
    grids[count].phrase = options[spans[span] - f.option + 1].source
    return count + 1


cdef inline row_t propose(
    frame_t f, row_t covered, const option_t[::1] options, const row_t[::1] spans, const real[::1] rest,
    const real[::1] fills, const group_t[::1] groups, const row_t[::1] stacks, grid_t[::1] grids,
) except? -1 nogil:
    """The grids that lead into the stack of `covered` words; how many, or FULL."""
    cdef row_t count = 0, size, group, free, gap, last, end, start
    cdef key_t state
    cdef bint swapped
    for size in range(1, min(f.longest, covered) + 1):
        for group in range(stacks[covered - size], stacks[covered - size + 1]):
            state = groups[group].state
            free, gap, last, end = free_of(state), gap_of(state), start_of(state), end_of(state)
            # An open gap must be filled, by one block.
            if gap != NO_GAP:
                if last - gap == size:
                    count = offer(f, grids, count, options, spans, groups, group, 0, FILL,
                                  packed(free, NO_GAP, gap, last), rest[free])
                continue
            # Otherwise the next words may follow, or those behind a gap that one block can fill.
            swapped = end < free
            if count != FULL and free + size <= f.words:
                count = offer(f, grids, count, options, spans, groups, group, 0, CLOSE if swapped else STEP,
                              packed(free + size, NO_GAP, free, free + size), rest[free + size])
            if swapped and not f.adjacent:
                continue
            for start in range(free + 1, min(free + f.reach, f.words - size) + 1):
                if count != FULL:
                    count = offer(f, grids, count, options, spans, groups, group, 0, OPEN,
                                  packed(start + size, free, start, start + size),
                                  fills[free * f.longest + start - free - 1] + rest[start + size])
            if count == FULL:
                return FULL
    return count


cdef inline key_t bits_of(row_t words) except? 0 nogil:
    """A bit for each of so many words."""
    return (<key_t> 1 << words) - 1 if words < 64 else ~<key_t> 0


cdef inline row_t covered_in(row_t free, key_t words, row_t first, row_t last) except? -1 nogil:
    """How many of the words first to last - 1 are covered in this state."""
    cdef row_t found = 0, word
    for word in range(first, last):
        if word < free or words >> (word - free) & 1:
            found += 1
    return found


cdef inline real hope(
    frame_t f, row_t free, key_t words, row_t end, const real[::1] rest, const real[::1] gaps,
) except? 1 nogil:
    """What is still to come brings at best: the gaps, the words behind them, and the jumps if it comes in order."""
    cdef row_t place = free, gap, jumped = free - end if free > end else end - free
    cdef real total = 0.0
    if free == f.words:
        return 0.0
    while words:
        gap = 0
        while not words & 1:
            gap += 1
            words >>= 1
        total += gaps[place * f.limit + gap]
        place += gap
        while words & 1:
            place += 1
            jumped += 1
            words >>= 1
    return (total + rest[place]) - f.jump * jumped


cdef inline row_t propose_open(
    frame_t f, row_t covered, const option_t[::1] options, const row_t[::1] spans, const real[::1] rest,
    const real[::1] gaps, const group_t[::1] groups, row_t room, const row_t[::1] stacks, grid_t[::1] grids,
) except? -1 nogil:
    """The grids that lead into the stack of `covered` words within a limit; how many, or FULL. `room` is for nodes."""
    cdef row_t count = 0, made, size, group, free, start, end, first, last, place, between
    cdef key_t state, words, after
    cdef int turn
    for size in range(1, min(f.longest, covered) + 1):
        for group in range(stacks[covered - size], stacks[covered - size + 1]):
            state = groups[group].state
            free, words, first, last = open_of(state), words_of(state), start_of(state), end_of(state)
            for start in range(free, min(free + max(f.limit - size, 0), f.words - size) + 1):
                end = start + size
                if words & bits_of(size) << (start - free) or start - last > f.limit or last - start > f.limit:
                    continue
                # The state after the block.
                place, after = free, words | bits_of(size) << (start - free)
                if start == free:
                    place, after = end, words >> size if size < 64 else 0
                while after & 1:
                    place += 1
                    after >>= 1
                between = covered_in(free, words, last if start >= last else end, start if start >= last else first)
                turn = forward_of(last, start, between)
                made = offer(f, grids, count, options, spans, groups, group, turn * room,
                             kind_of(first, last, start, end, between), packed_window(place, after, start, end),
                             hope(f, place, after, end, rest, gaps))
                if made == FULL:
                    return FULL
                if made > count:
                    grids[count].turn = <id_t> turn
                count = made
    return count


cdef inline bint reach_goal(
    frame_t f, row_t first, const Word[::1] unigrams, const Gram[::1] grams, const Past[::1] histories,
    const real[::1] leaving, Past[::1] states, node_t[::1] nodes, edge_t[::1] tries, row_t goal,
) except? -1 nogil:
    """Lead the nodes first to goal - 1 to the goal, whose tries these are; whether there is room."""
    cdef row_t v, e = 0
    for v in range(first, goal):
        if e == tries.shape[0]:
            return False
        tries[e].origin, tries[e].option, tries[e].score = <id_t> v, 0, 0.0
        if f.limit > 0:
            tries[e].score = leaving[TURNS * <row_t> nodes[v].option + (0 if end_of(nodes[v].state) == f.words else 2)]
        if f.fluent:
            tries[e].score += f.rest * predict(unigrams, grams, f.past, END, histories, v * f.past, states, 0)
        tries[e].total, tries[e].next = nodes[v].score + tries[e].score, e - 1
        e += 1
    nodes[goal].edge = e - 1
    return True


def search(sentences, options, blocks, model, limits, work, graph, row_t done):  # OUT graph
    """Fill the graph from sentence `done` on; return how many sentences are done: all, or room is short."""
    # Longer than most, because it is the whole algorithm in its order, and half of its lines unpack arrays.
    cdef const row_t[::1] bounds = sentences.bounds, spans = options.spans, target_bounds = blocks.target_bounds
    cdef const id_t[::1] source_words = sentences.words, option_blocks = options.blocks
    cdef const id_t[::1] sources = blocks.sources, targets = blocks.targets, target_words = blocks.target_words
    cdef const small_t[:, ::1] values = blocks.values, rates = options.rates
    cdef const small_t[:, ::1] out = model.jumps.out, into = model.jumps.into
    cdef const real[:, ::1] local = model.local, leaves = model.leaves
    cdef const real[::1] columns = model.columns, heads = model.heads
    cdef const slot_t[::1] slots = model.slots
    cdef const byte_t[::1] sifter = model.sifter
    cdef const Word[::1] unigrams = model.lm.unigrams
    cdef const Gram[::1] grams = model.lm.grams
    cdef const Past[::1] ends = model.ends
    cdef const id_t[::1] spoken = model.spoken
    cdef option_t[::1] known = work.options
    cdef id_t[::1] tips = work.tips, openings = work.openings, choices = work.choices, table = work.table
    cdef id_t[::1] seats = work.seats, row_nodes = work.row_nodes
    cdef Past[::1] states = work.states, histories = work.histories, fresh_histories = work.fresh_histories
    cdef key_t[::1] keys = work.keys, looks = work.looks
    cdef real[::1] gains = work.gains, rest = work.rest, fills = work.fills, ranks = work.ranks
    cdef real[::1] bracket = work.bracket, gaps = work.gaps, leaving = work.leaving, rows = work.rows
    cdef row_t[::1] homes = work.homes, marks = work.marks, stacks = work.stacks, order = work.order
    cdef row_t[::1] spare = work.spare, turns = work.turns
    cdef node_t[::1] nodes = work.nodes, fresh = work.fresh
    cdef edge_t[::1] edges = work.edges, tries = work.tries
    cdef group_t[::1] groups = work.groups
    cdef grid_t[::1] grids = work.grids
    cdef row_t[::1] graph_bounds = graph.bounds, edge_bounds = graph.edge_bounds
    cdef id_t[::1] origins = graph.origins, graph_options = graph.options
    cdef real[::1] scores = graph.scores
    cdef row_t covered, count, found, first
    cdef frame_t f
    cdef made_t made
    f.longest, f.mask, f.past, f.fluent = options.longest, model.mask, model.lm.order - 1, spoken.shape[0] > 0
    f.jump, f.jump_out, f.jump_in = model.jump, model.jump_out, model.jump_in
    f.first, f.rest = model.lm_first, model.lm_rest
    f.beam, f.pops, f.slack, f.adjacent = limits.beam, limits.pops, limits.threshold, limits.adjacent_swaps
    f.limit, f.reach = limits.limit, min(<row_t> limits.reach, f.longest)
    f.kinds = KINDS if f.limit > 0 else 4 if f.reach > 0 else 1
    f.turns = TURNS if f.limit > 0 else 1
    with nogil:
        while done < bounds.shape[0] - 1:
            f.word, f.words = bounds[done], bounds[done + 1] - bounds[done]
            f.option = spans[f.word * f.longest]
            f.options = spans[(f.word + f.words) * f.longest] - f.option
            describe(f, option_blocks, sources, targets, target_words, target_bounds, heads, spoken, known, tips,
                     openings)
            rank_options(f, spans, option_blocks, local, columns, values, rates, gains, choices, rest, fills)
            if f.limit > 0:
                measure_gaps(f, fills, gaps)
                tell_apart(f, leaves, known, leaving, seats, looks)
            begin(f, known, unigrams, nodes, histories, groups, stacks, &made)
            add_rows(f, 0, &made, groups, nodes, leaving, rows, row_nodes)
            bracket[2] = 1.0
            for covered in range(1, f.words + 1):
                # 1.
                if f.limit > 0:
                    count = propose_open(f, covered, known, spans, rest, gaps, groups, nodes.shape[0], stacks, grids)
                else:
                    count = propose(f, covered, known, spans, rest, fills, groups, stacks, grids)
                if count == FULL:
                    break
                # 2.
                score_sources(f, out, into, slots, sifter, source_words, groups, grids, count, keys, homes, marks)
                # 3.
                seek_bracket(f.pops, f.slack, grids, count, rows, gains, bracket)
                found = take(bracket[1], INFINITY, f.pops, grids, count, rows, row_nodes, gains, choices, tries, 0)
                if found != FULL and bracket[0] < bracket[1]:
                    found = take(bracket[0], bracket[1], f.pops, grids, count, rows, row_nodes, gains, choices, tries,
                                 found)
                if found == FULL:
                    break
                # 4.
                if f.limit > 0:
                    score_leaving(grids, nodes, leaving, tries, found)
                score_joins(f, slots, sifter, known, tips, nodes, tries, found, keys, homes, marks)
                if f.past > 0:
                    score_openings(f, unigrams, grams, openings, known, ends, histories, tries, found, states,
                                   fresh_histories)
                # 5.
                count = recombine(f, grids, known, nodes, tries, found, fresh, table, fresh_histories)
                if count == FULL:
                    break
                # 6.
                count, first = keep(f.beam, fresh, count, table, ranks, order, spare), made.nodes
                if not (add_nodes(f, order, count, known, fresh, fresh_histories, nodes, histories, groups, &made)
                        and add_edges(first, made.nodes, tries, nodes, edges, turns, spare, &made)):
                    break
                add_rows(f, stacks[covered], &made, groups, nodes, leaving, rows, row_nodes)
                stacks[covered + 1] = made.groups
            else:
                first = made.nodes
                if stacks[f.words] < stacks[f.words + 1]:
                    first = groups[stacks[f.words]].first
                if (reach_goal(f, first, unigrams, grams, histories, leaving, states, nodes, tries, made.nodes)
                        and add_edges(made.nodes, made.nodes + 1, tries, nodes, edges, turns, spare, &made)):
                    nodes[made.nodes + 1].edge = made.edges
                    count = finish(f.option, made.nodes + 1, nodes, edges, spare, graph_bounds[done], edge_bounds,
                                   origins, graph_options, scores)
                    if count != FULL:
                        done += 1
                        graph_bounds[done] = count
                        continue
            break
    return done
