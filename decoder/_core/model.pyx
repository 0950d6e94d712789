"""What blocks score by themselves.

The keys of many blocks are made before any of them is looked up (sieve.pxd). A block has several runs of keys: what it
fires however it comes, and what it fires by each kind of move.
Twin: decoder/_reference/model.py
"""

from libc.math cimport INFINITY

from rampion._core.keys cimport mixed, rampion_high, slot_t
from rampion._core.types cimport byte_t, id_t, key_t, real, row_t, small_t

from .lm cimport Gram, Past, Word, forget, predict
from .moves cimport CLOSE, KINDS, OPEN, STEP, TURNS, backward_of
from .sieve cimport sieve, weight_of
from .templates cimport block_keys, leave_keys, move_keys, room

cdef enum:
    MOVES = 4  # kinds of moves that know what must follow
    BACK = 5  # the first columns of BackM, … and ForeM, …
    FORE = 8
    LEARNT = 11  # the first column that condensing adds
    AGAIN = 10  # how far behind BackM, … ForeD the same stand once more, learnt
    RUNS = 9  # of keys, a block: what it fires however it comes, by each kind of move, and as the next block turns
    LEAVE = 6  # the first of the latter

cdef struct model_t:
    key_t mask
    real phrases, words  # weights of a block, and of a word
    real first, rest     # weights of the language model: of the first word of a block, and of others
    row_t past           # words of its state
    bint learnt          # whether the blocks have the columns that condensing adds


cdef inline int forward_by(row_t kind) except? -1 nogil:
    """Where the next block must lie, seen from one that comes by this move: M 0, S 1, D 2."""
    return 0 if kind == STEP or kind == CLOSE else 1 if kind == OPEN else 2


def sift(const slot_t[::1] slots, byte_t[::1] sifter):  # OUT sifter
    """Set the bit of every key of the table; see sieve.pxd."""
    cdef row_t at
    cdef key_t code
    with nogil:
        for at in range(slots.shape[0]):
            if slots[at].key != 0:
                code = mixed(slots[at].key)
                sifter[<row_t> rampion_high(code, <key_t> sifter.shape[0])] |= <byte_t> (1 << (code & 7))


cdef inline bint add_keys(
    key_t mask, row_t b, row_t run, const id_t[::1] sources, const id_t[::1] targets, const id_t[::1] source_words,
    const row_t[::1] source_bounds, const id_t[::1] target_words, const row_t[::1] target_bounds,
    key_t[::1] keys, row_t[::1] marks,  # OUT
) except -1 nogil:
    """Write RUNS of keys of block b, from marks[run] to each of the next marks; whether there is room."""
    cdef row_t s = sources[b], t = targets[b], kind, at = marks[run]
    if at + room(source_bounds[s + 1] - source_bounds[s],
                 target_bounds[t + 1] - target_bounds[t]) + 2 * KINDS + TURNS > keys.shape[0]:
        return False
    at = block_keys(mask, b, t, source_words, source_bounds[s], source_bounds[s + 1],
                    target_words, target_bounds[t], target_bounds[t + 1], keys, at)
    marks[run + 1] = at
    for kind in range(KINDS):
        at = move_keys(mask, b, <int> kind, keys, at)
        marks[run + 2 + kind] = at
    for kind in range(TURNS):
        at = leave_keys(mask, b, <int> kind, keys, at)
        marks[run + LEAVE + 1 + kind] = at
    return True


cdef inline real score_alone(
    model_t m, row_t b, row_t run, row_t words, const slot_t[::1] slots, const key_t[::1] keys,
    const row_t[::1] homes, const row_t[::1] marks, const real[::1] columns, const small_t[:, ::1] values,
) except? 1 nogil:
    """What a block of so many target words brings however it comes, the language model apart."""
    cdef real total = weight_of(slots, keys, homes, marks[run], marks[run + 1])
    cdef row_t column
    total += m.phrases + m.words * words
    for column in range(BACK):
        total += columns[column] * values[b, column]
    if m.learnt:
        for column in range(LEARNT, LEARNT + 4):
            total += columns[column] * values[b, column]
    return total


cdef inline real score_words(
    model_t m, row_t b, const Word[::1] unigrams, const Gram[::1] grams, const id_t[::1] spoken,
    const id_t[::1] words, row_t start, row_t end,
    Past[::1] states, real[::1] heads, Past[::1] ends,  # OUT
) except? 1 nogil:
    """The language model on a block's words by themselves, weighted; on its first m.past also in heads."""
    cdef row_t i, k, at = 0
    cdef real total = 0.0, weighed
    heads[b] = 0.0
    forget(states, 0, m.past)
    for i in range(end - start):
        weighed = (m.rest if i > 0 else m.first) * predict(unigrams, grams, m.past, spoken[words[start + i]],
                                                           states, at, states, m.past - at)
        at = m.past - at
        total += weighed
        if i < m.past:
            heads[b] += weighed
    for k in range(m.past):
        ends[b * m.past + k] = states[at + k]
    return total


cdef inline int score_moves(
    model_t m, row_t b, row_t run, real total, const slot_t[::1] slots, const key_t[::1] keys,
    const row_t[::1] homes, const row_t[::1] marks, const real[::1] columns, const small_t[:, ::1] values,
    real[:, ::1] local,  # OUT
) except -1 nogil:
    """What a block brings by each kind of move: the total however it comes, and what the move adds."""
    cdef row_t kind, back, fore, leave
    for kind in range(MOVES):
        back, fore, leave = BACK + backward_of(<int> kind), FORE + forward_by(kind), run + LEAVE + forward_by(kind)
        local[b, kind] = total + (
            weight_of(slots, keys, homes, marks[run + 1 + kind], marks[run + 2 + kind])
            + weight_of(slots, keys, homes, marks[leave], marks[leave + 1])
            + columns[back] * values[b, back] + columns[fore] * values[b, fore])
        if m.learnt:
            local[b, kind] += (columns[back + AGAIN] * values[b, back + AGAIN]
                               + columns[fore + AGAIN] * values[b, fore + AGAIN])
    return 0


cdef inline int score_turns(
    model_t m, row_t b, row_t run, real total, const slot_t[::1] slots, const key_t[::1] keys,
    const row_t[::1] homes, const row_t[::1] marks, const real[::1] columns, const small_t[:, ::1] values,
    real[:, ::1] local, real[:, ::1] leaves,  # OUT
) except -1 nogil:
    """The same where a block does not know what must follow: it brings the best that may, and leaves what others lack.
    """
    cdef row_t kind, turn, back, fore
    cdef real ahead = -INFINITY
    for turn in range(TURNS):
        fore = FORE + turn
        leaves[b, turn] = (weight_of(slots, keys, homes, marks[run + LEAVE + turn], marks[run + LEAVE + 1 + turn])
                           + columns[fore] * values[b, fore])
        if m.learnt:
            leaves[b, turn] += columns[fore + AGAIN] * values[b, fore + AGAIN]
        ahead = max(ahead, leaves[b, turn])
    for turn in range(TURNS):
        leaves[b, turn] -= ahead
    for kind in range(KINDS):
        back = BACK + backward_of(<int> kind)
        local[b, kind] = total + (
            weight_of(slots, keys, homes, marks[run + 1 + kind], marks[run + 2 + kind])
            + columns[back] * values[b, back] + ahead)
        if m.learnt:
            local[b, kind] += columns[back + AGAIN] * values[b, back + AGAIN]
    return 0


def assess(const id_t[::1] asked, row_t start, blocks, model, work, real[:, ::1] local):  # OUT local
    """Fill local[b] for the blocks from `start` on that lack it; return how many are done: all, or room is short.

    local[b, k] is what block b brings when it comes by move k, whatever stands beside it: P1, P5, W1, W3, T1, T2
    inside, its columns, one block, its words, and the language model on them by themselves; P2, H1 and
    orientation by the move; H2 by the move that must follow. Columns of a condensed set count like what they sum up.

    A model with leaves does not know that move: local has the best one in it, leaves[b, t] what turn t lacks of it.
    """
    # Longer than most, because half of its lines unpack arrays.
    cdef const id_t[::1] sources = blocks.sources, targets = blocks.targets
    cdef const id_t[::1] source_words = blocks.source_words, target_words = blocks.target_words
    cdef const row_t[::1] source_bounds = blocks.source_bounds, target_bounds = blocks.target_bounds
    cdef const small_t[:, ::1] values = blocks.values
    cdef const slot_t[::1] slots = model.slots
    cdef const byte_t[::1] sifter = model.sifter
    cdef const real[::1] columns = model.columns
    cdef const Word[::1] unigrams = model.lm.unigrams
    cdef const Gram[::1] grams = model.lm.grams
    cdef const id_t[::1] spoken = model.spoken
    cdef Past[::1] ends = model.ends, states = work.states
    cdef real[::1] heads = model.heads
    cdef real[:, ::1] leaves = model.leaves
    cdef key_t[::1] keys = work.keys
    cdef row_t[::1] homes = work.homes, marks = work.marks
    cdef id_t[::1] batch = work.batch
    cdef row_t next, count, i, b, low, high
    cdef real total
    cdef model_t m
    m.mask, m.phrases, m.words, m.learnt = model.mask, model.phrases, model.words, columns.shape[0] > LEARNT
    m.first, m.rest, m.past = model.lm_first, model.lm_rest, model.lm.order - 1
    with nogil:
        while start < asked.shape[0]:
            # 1. Keys of as many blocks as there is room for.
            next, count, marks[0] = start, 0, 0
            while next < asked.shape[0] and count < batch.shape[0]:
                b = asked[next]
                if local[b, 0] != local[b, 0]:
                    if not add_keys(m.mask, b, RUNS * count, sources, targets, source_words, source_bounds,
                                    target_words, target_bounds, keys, marks):
                        break
                    batch[count] = <id_t> b
                    count += 1
                next += 1
            if count == 0 and next < asked.shape[0]:
                break
            # 2. Their slots.
            sieve(slots, sifter, keys, homes, marks, RUNS * count)
            # 3. Their weights, and all else.
            for i in range(count):
                b, low, high = batch[i], target_bounds[targets[batch[i]]], target_bounds[targets[batch[i]] + 1]
                total = score_alone(m, b, RUNS * i, high - low, slots, keys, homes, marks, columns, values)
                if spoken.shape[0] > 0:
                    total += score_words(m, b, unigrams, grams, spoken, target_words, low, high, states, heads, ends)
                if leaves.shape[0] > 0:
                    score_turns(m, b, RUNS * i, total, slots, keys, homes, marks, columns, values, local, leaves)
                else:
                    score_moves(m, b, RUNS * i, total, slots, keys, homes, marks, columns, values, local)
            start = next
    return start
