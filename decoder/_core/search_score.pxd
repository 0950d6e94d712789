"""What grids and cells score, and which cells are one node.

The source side of a grid is scored once for all its cells. A cell that was taken is scored for its join, the templates
that see its block and the one before; and for the first words of its block, to which the language model can now give a
history. Cells that no feature can distinguish from now on become one node with several edges.
"""

from libc.math cimport INFINITY

from rampion._core.keys cimport rampion_prefetch, slot_t
from rampion._core.types cimport byte_t, id_t, key_t, real, row_t, small_t

from .lm cimport Gram, NO_WORD, Past, Word, key_of, predict
from .lm cimport home as gram_home
from .moves cimport TURNS, between, kind_of
from .search cimport BATCH, FULL, START, edge_t, end_of, frame_t, grid_t, group_t, node_t, option_t, start_of
from .sieve cimport sieve, weight_of
from .templates cimport join_keys, jump_of, source_keys


cdef inline int score_sources(
    frame_t f, const small_t[:, ::1] out, const small_t[:, ::1] into, const slot_t[::1] slots,
    const byte_t[::1] sifter, const id_t[::1] words, const group_t[::1] groups, grid_t[::1] grids, row_t count,
    key_t[::1] keys, row_t[::1] homes, row_t[::1] marks,
) except -1 nogil:
    """Score the source side of the first grids: P4, W2, and the jump from the last block to the new one."""
    cdef row_t low = 0, g, at, start, end, first, last, word, jump, limit = out.shape[1] // 2
    cdef key_t state
    cdef int kind
    while low < count:
        marks[0] = 0
        for g in range(low, min(low + BATCH, count)):
            state, start, end = groups[grids[g].group].state, start_of(grids[g].state), end_of(grids[g].state)
            first, last, jump = start_of(state), end_of(state), start - end_of(state)
            word = words[f.word + last - 1] if last > 0 else START
            kind = kind_of(first, last, start, end, 0)
            marks[g - low + 1] = source_keys(f.mask, groups[grids[g].group].phrase, grids[g].phrase,
                                             jump_of(kind, between(first, last, start, end)), word,
                                             words[f.word + start], keys, marks[g - low])
            grids[g].source = -f.jump * (jump if jump > 0 else -jump)
            if out.shape[0] > 0:
                at = min(max(jump, -limit), limit) + limit
                grids[g].source += f.jump_out * out[word, at] + f.jump_in * into[words[f.word + start], at]
        sieve(slots, sifter, keys, homes, marks, min(BATCH, count - low))
        for g in range(low, min(low + BATCH, count)):
            grids[g].source += weight_of(slots, keys, homes, marks[g - low], marks[g - low + 1])
            grids[g].base = grids[g].source + grids[g].future
        low += BATCH
    return 0


cdef inline int score_leaving(const grid_t[::1] grids, const node_t[::1] nodes, const real[::1] leaving,
                              edge_t[::1] tries, row_t count) except -1 nogil:
    """Add to the first tries what the last blocks lack as the new ones turn."""
    cdef row_t e
    for e in range(count):
        tries[e].score += leaving[TURNS * <row_t> nodes[tries[e].origin].option + grids[tries[e].next].turn]
    return 0


cdef inline int score_joins(
    frame_t f, const slot_t[::1] slots, const byte_t[::1] sifter, const option_t[::1] options, const id_t[::1] tips,
    const node_t[::1] nodes, edge_t[::1] tries, row_t count, key_t[::1] keys, row_t[::1] homes, row_t[::1] marks,
) except -1 nogil:
    """Add to the first tries what the templates see of both blocks: P3, W3 across the join, W4."""
    cdef row_t low = 0, e, last, new
    while low < count:
        marks[0] = 0
        for e in range(low, min(low + BATCH, count)):
            last, new = nodes[tries[e].origin].option, tries[e].option
            marks[e - low + 1] = join_keys(
                f.mask, options[last].target, options[new].target, tips, 4 * last + 4 - <row_t> options[last].size,
                4 * last + 4, 4 * new, 4 * new + options[new].size, keys, marks[e - low])
        sieve(slots, sifter, keys, homes, marks, min(BATCH, count - low))
        for e in range(low, min(low + BATCH, count)):
            tries[e].score += weight_of(slots, keys, homes, marks[e - low], marks[e - low + 1])
        low += BATCH
    return 0


cdef inline real score_opening(
    frame_t f, const Word[::1] unigrams, const Gram[::1] grams, const id_t[::1] openings, const option_t[::1] options,
    const Past[::1] ends, const Past[::1] histories, row_t node, row_t option,
    Past[::1] states, Past[::1] fresh, row_t e,  # OUT
) except? 1 nogil:
    """The language model on the first words of an option after a node, weighted; and the history of try e.

    A block of at least f.past words ends in one history wherever it stands.
    """
    cdef row_t i, k, at = 0
    cdef real total = f.first * predict(unigrams, grams, f.past, openings[option * f.past], histories, node * f.past,
                                        states, 0)
    for i in range(1, options[option].lead):
        total += f.rest * predict(unigrams, grams, f.past, openings[option * f.past + i], states, at,
                                  states, f.past - at)
        at = f.past - at
    for k in range(f.past):
        if options[option].lead == f.past:
            fresh[e * f.past + k] = ends[options[option].block * f.past + k]
        else:
            fresh[e * f.past + k] = states[at + k]
    return total


cdef inline int score_openings(
    frame_t f, const Word[::1] unigrams, const Gram[::1] grams, const id_t[::1] openings, const option_t[::1] options,
    const Past[::1] ends, const Past[::1] histories, edge_t[::1] tries, row_t count,
    Past[::1] states, Past[::1] fresh,  # OUT
) except -1 nogil:
    """Add to the first tries what their histories change for the language model; fill in the histories after them."""
    cdef row_t low = 0, e, node, option
    while low < count:
        for e in range(low, min(low + BATCH, count)):
            node, option = tries[e].origin, tries[e].option
            if histories[node * f.past].word != NO_WORD:
                rampion_prefetch(&grams[gram_home(
                    key_of(openings[option * f.past], histories[node * f.past].word), grams)])
        for e in range(low, min(low + BATCH, count)):
            node, option = tries[e].origin, tries[e].option
            tries[e].score += score_opening(f, unigrams, grams, openings, options, ends, histories, node, option,
                                            states, fresh, e) - options[option].head
        low += BATCH
    return 0


cdef inline bint alike(
    const node_t[::1] fresh, row_t at, key_t state, key_t look, row_t past, const Past[::1] histories, row_t e,
) except? -1 nogil:
    """Whether nothing still to come distinguishes the node from one of this state and look with try e's history."""
    cdef row_t k
    if fresh[at].state != state or fresh[at].look != look:
        return False
    for k in range(past):
        if histories[at * past + k].word != histories[e * past + k].word:
            return False
    return True


cdef inline row_t merge(
    frame_t f, row_t e, const grid_t[::1] grids, const option_t[::1] options, edge_t[::1] tries, node_t[::1] fresh,
    row_t count, id_t[::1] table, Past[::1] histories,
) except? -1 nogil:
    """Lead try e into the fresh node that it reaches, a new one if need be; how many there are, or FULL.

    The histories of nodes take the room of those of tries: no node has a greater number than the try that makes it.
    """
    cdef key_t state = grids[tries[e].next].state, look = options[tries[e].option].look
    cdef key_t code = (state ^ look * <key_t> 0x9E3779B97F4A7C15) * <key_t> 0xD6E8FEB86659FD93
    cdef row_t slot, at, k
    for k in range(f.past):
        code = (code ^ histories[e * f.past + k].word ^ code >> 32) * <key_t> 0x9E3779B97F4A7C15
    slot = <row_t> (code >> 32) & (table.shape[0] - 1)
    while table[slot] != 0 and not alike(fresh, <row_t> table[slot] - 1, state, look, f.past, histories, e):
        slot = (slot + 1) & (table.shape[0] - 1)
    at = <row_t> table[slot] - 1
    if at < 0:
        if count == fresh.shape[0]:
            return FULL
        at = count
        count += 1
        table[slot] = <id_t> count
        fresh[at].state, fresh[at].look = state, look
        fresh[at].option, fresh[at].slot = tries[e].option, <id_t> slot
        fresh[at].edge, fresh[at].score = -1, -INFINITY
        for k in range(f.past):
            histories[at * f.past + k] = histories[e * f.past + k]
    if tries[e].total > fresh[at].score:
        fresh[at].score = tries[e].total
        fresh[at].rank = tries[e].total + grids[tries[e].next].future
    tries[e].next = fresh[at].edge
    fresh[at].edge = e
    return count


cdef inline row_t recombine(
    frame_t f, const grid_t[::1] grids, const option_t[::1] options, const node_t[::1] nodes, edge_t[::1] tries,
    row_t count, node_t[::1] fresh, id_t[::1] table, Past[::1] histories,
) except? -1 nogil:
    """Lead those of the first tries that are near the best into fresh nodes; how many nodes, or FULL."""
    cdef row_t e, made = 0
    cdef real top = -INFINITY
    for e in range(count):
        tries[e].total = nodes[tries[e].origin].score + tries[e].score
        top = max(top, tries[e].total + grids[tries[e].next].future)
    for e in range(count):
        if tries[e].total + grids[tries[e].next].future >= top - f.slack:
            made = merge(f, e, grids, options, tries, fresh, made, table, histories)
            if made == FULL:
                return FULL
    return made
