"""The language model of decoder/models/lm.py: n-grams into the table, and the log-probabilities of texts.

Twin: decoder/_reference/lm.py
"""

from rampion._core.types cimport id_t, real, row_t, small_t

from .lm cimport ABSENT, Gram, Past, Word, copysign, fabs, forget, key_of, predict, slot_of

cdef enum:
    FULL = 1
    TWICE = 2
    NO_HISTORY = 3


cdef inline row_t node_of(const id_t[::1] rows, row_t start, row_t end,
                          row_t width, const Gram[::1] grams) except? -2 nogil:
    """The node of the n-gram rows[start:end], ABSENT if the model has none."""
    cdef row_t node = rows[end - 1], at, slot
    for at in range(end - 2, start - 1, -1):
        slot = slot_of(key_of(node, rows[at]), grams)
        if grams[slot].key == 0:
            return ABSENT
        node = width + slot
    return node


cdef inline row_t put(row_t parent, id_t word, small_t prob, small_t backoff,
                      Word[::1] unigrams, Gram[::1] grams, row_t[::1] state) except -1 nogil:
    """Give the parent a child; return its node, or the child that it has already."""
    cdef row_t slot = slot_of(key_of(parent, word), grams)
    if grams[slot].key == 0:
        grams[slot].key = key_of(parent, word)
        grams[slot].prob, grams[slot].backoff = <small_t>fabs(prob), backoff
        state[0] += 1
        if parent < unigrams.shape[0]:
            unigrams[parent].prob = <small_t>copysign(unigrams[parent].prob, -1.0)
        else:
            grams[parent - unigrams.shape[0]].prob = <small_t>copysign(grams[parent - unigrams.shape[0]].prob, -1.0)
    return unigrams.shape[0] + slot


cdef inline small_t implied(const id_t[::1] rows, row_t start, row_t end, row_t parent,
                            const Word[::1] unigrams, const Gram[::1] grams) except? 1 nogil:
    """Log-probability of an n-gram that was left out: its history's backoff times the shorter one's probability."""
    cdef row_t width = unigrams.shape[0], history = node_of(rows, start, end - 1, width, grams)
    cdef real prob = -fabs(unigrams[parent].prob if parent < width else grams[parent - width].prob)
    if history >= 0:
        prob += unigrams[history].backoff if history < width else grams[history - width].backoff
    return <small_t>prob


cdef inline row_t put_suffixes(const id_t[::1] rows, row_t first, row_t end, Word[::1] unigrams, Gram[::1] grams,
                               row_t[::1] state) except? -2 nogil:
    """Put the missing suffixes of an n-gram into the table, the shorter ones first; return the node of the longest."""
    cdef small_t implicit, nothing_follows = -0.0
    cdef row_t at, parent = rows[end - 1], slot
    for at in range(end - 2, first, -1):
        slot = slot_of(key_of(parent, rows[at]), grams)
        if grams[slot].key == 0:
            implicit = implied(rows, at, end, parent, unigrams, grams)
            put(parent, rows[at], implicit, nothing_follows, unigrams, grams, state)
        parent = unigrams.shape[0] + slot
    return parent


def graft(const id_t[::1] rows, row_t order, row_t start, const small_t[::1] probs, const small_t[::1] backoffs,
          Word[::1] unigrams, Gram[::1] grams, row_t[::1] state):  # OUT unigrams, grams, state
    """Put n-grams of one order, `order` words a row, into the table from row `start` on; return how many are done.

    Shorter n-grams must be there already; a suffix that none of them is gets the probability that the model implies.
    state[0] counts the slots in use; if not all are done state[1] is why: 1 the table is full, 2 the n-gram is there
    already, 3 its history is not. A node keeps the sign of its log-probability only if a longer n-gram ends with it,
    and the sign of a backoff of 0 distinguishes histories that nothing follows (-0) from the others.
    """
    cdef small_t nothing_follows = -0.0
    cdef row_t row = start, last = probs.shape[0], first, end, parent, used, history, width = unigrams.shape[0]
    with nogil:
        state[1] = 0
        while row < last:
            first, end = row * order, (row + 1) * order
            if state[0] + order > grams.shape[0] - grams.shape[0] // 8:
                state[1] = FULL
                break
            history = node_of(rows, first, end - 1, width, grams)
            if history == ABSENT:
                state[1] = NO_HISTORY
                break
            parent = put_suffixes(rows, first, end, unigrams, grams, state)
            used = state[0]
            put(parent, rows[first], probs[row], backoffs[row] if backoffs[row] != 0 else nothing_follows,
                unigrams, grams, state)
            if state[0] == used:
                state[1] = TWICE
                break
            if history < width:
                if unigrams[history].backoff == 0:
                    unigrams[history].backoff = 0
            elif grams[history - width].backoff == 0:
                grams[history - width].backoff = 0
            row += 1
    return row


def fluency(const id_t[::1] ids, const row_t[::1] bounds, row_t begin, row_t stop, table, Past[::1] states,
            real[::1] steps):  # OUT states, steps
    """Fill steps with the natural log-probability of every word of every sentence and of the mark `stop` after it.

    There is room for two states.
    """
    cdef const Word[::1] unigrams = table.unigrams
    cdef const Gram[::1] grams = table.grams
    cdef row_t reach = table.order - 1, sentence, at, old, step = 0
    cdef id_t word
    with nogil:
        for sentence in range(bounds.shape[0] - 1):
            forget(states, 0, reach)
            if reach > 0:
                states[0].word, states[0].backoff = <id_t>begin, unigrams[begin].backoff
            old = 0
            for at in range(bounds[sentence], bounds[sentence + 1] + 1):
                word = ids[at] if at < bounds[sentence + 1] else <id_t>stop
                steps[step] = predict(unigrams, grams, reach, word, states, old, states, reach - old)
                step += 1
                old = reach - old
