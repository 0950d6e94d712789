"""What blocks score by themselves.

Twin: decoder/_reference/model.py
"""

from rampion._core.keys cimport mixed, rampion_high, slot_t
from rampion._core.types cimport byte_t, id_t, key_t, real, row_t, small_t

from .lm cimport Gram, NO_WORD, Word, predict
from .moves cimport CLOSE, OPEN, STEP
from .search cimport sieve, weight_of
from .templates cimport block_keys, leave_keys, move_keys, room

cdef enum:
    KINDS = 4
    LEARNT = 11  # the first column that condensing adds
    AGAIN = 10  # how far behind BackM, … ForeD the same stand once more, learnt
    RUNS = 5  # of keys, a block: what it fires however it comes, and what it does by each kind of move


cdef inline row_t backward_column(row_t kind) except? -1 nogil:
    """BackM, BackS or BackD of the columns."""
    return 5 if kind == STEP or kind == CLOSE else 7 if kind == OPEN else 6


cdef inline int forward_by(row_t kind) except? -1 nogil:
    """Where the next block must lie, seen from one that comes by this move: M 0, S 1, D 2."""
    return 0 if kind == STEP or kind == CLOSE else 1 if kind == OPEN else 2


def sift(const slot_t[::1] slots, byte_t[::1] sifter):  # OUT sifter
    """Set the bit of every key of the table; `sieve` of search.pxd says which."""
    cdef row_t at
    cdef key_t code
    with nogil:
        for at in range(slots.shape[0]):
            if slots[at].key != 0:
                code = mixed(slots[at].key)
                sifter[<row_t> rampion_high(code, <key_t> sifter.shape[0])] |= <byte_t> (1 << (code & 7))


cdef inline real speak(
    const Word[::1] unigrams, const Gram[::1] grams, row_t past, real first, real rest, const id_t[::1] spoken,
    const id_t[::1] words, row_t start, row_t end, id_t[::1] said, small_t[::1] backoffs, real[::1] heads,
    id_t[::1] end_words, small_t[::1] end_backoffs, row_t b,
) except? 1 nogil:
    """What the language model says of a block's words by themselves, of its first `past` in heads; the state after."""
    cdef row_t i, k, at = 0
    cdef real total = 0.0, weighed
    heads[b] = 0.0
    for k in range(past):
        said[k], backoffs[k] = NO_WORD, 0
    for i in range(end - start):
        weighed = (rest if i > 0 else first) * predict(unigrams, grams, past, spoken[words[start + i]],
                                                       said, backoffs, at, said, backoffs, past - at)
        at = past - at
        total += weighed
        if i < past:
            heads[b] += weighed
    for k in range(past):
        end_words[b * past + k], end_backoffs[b * past + k] = said[at + k], backoffs[at + k]
    return total


def assess(const id_t[::1] asked, row_t start, blocks, model, work, real[:, ::1] local):  # OUT local
    """Fill local[b] for the blocks from `start` on that lack it; return how many are done: all, or room is short.

    local[b, k] is what block b brings when it comes by move k, whatever stands beside it: P1, P5, W1, W3, T1, T2
    inside, its columns, one block, its words, and what the language model says of them by themselves; P2, H1 and
    orientation by the move; H2 by the move that must follow. Columns of a condensed set count like what they sum up.
    """
    # Keys of many blocks are made before the first is looked up.
    cdef const id_t[::1] sources = blocks.sources, targets = blocks.targets
    cdef const id_t[::1] source_words = blocks.source_words, target_words = blocks.target_words
    cdef const row_t[::1] source_bounds = blocks.source_bounds, target_bounds = blocks.target_bounds
    cdef const small_t[:, ::1] values = blocks.values
    cdef const slot_t[::1] slots = model.slots
    cdef const byte_t[::1] sifter = model.sifter
    cdef const real[::1] columns = model.columns
    cdef real phrases = model.phrases, words = model.words, first = model.lm_first, rest = model.lm_rest
    cdef const Word[::1] unigrams = model.lm.unigrams
    cdef const Gram[::1] grams = model.lm.grams
    cdef const id_t[::1] spoken = model.spoken
    cdef id_t[::1] end_words = model.end_words, said = work.said
    cdef small_t[::1] end_backoffs = model.end_backoffs, backoffs = work.backoffs
    cdef real[::1] heads = model.heads
    cdef key_t mask = model.mask
    cdef key_t[::1] keys = work.keys
    cdef row_t[::1] homes = work.homes, marks = work.marks
    cdef id_t[::1] batch = work.batch
    cdef row_t past = model.lm.order - 1, place = start, next = start, b, at, kind, source, target, column
    cdef row_t count, runs, i, need, back, fore
    cdef bint learnt = columns.shape[0] > LEARNT
    cdef real total
    with nogil:
        while place < asked.shape[0]:
            count = runs = marks[0] = 0
            while next < asked.shape[0] and runs < RUNS * batch.shape[0]:
                b = asked[next]
                if local[b, 0] != local[b, 0]:
                    source, target = sources[b], targets[b]
                    need = room(source_bounds[source + 1] - source_bounds[source],
                                target_bounds[target + 1] - target_bounds[target]) + 3 * KINDS
                    if count + need > keys.shape[0]:
                        break
                    batch[runs // RUNS] = <id_t> b
                    count = block_keys(mask, b, target, source_words, source_bounds[source], source_bounds[source + 1],
                                       target_words, target_bounds[target], target_bounds[target + 1], keys, count)
                    marks[runs + 1] = count
                    for kind in range(KINDS):
                        count = move_keys(mask, b, <int> kind, keys, count)
                        count = leave_keys(mask, b, forward_by(kind), keys, count)
                        marks[runs + 2 + kind] = count
                    runs += RUNS
                next += 1
            if runs == 0 and next < asked.shape[0]:
                break
            sieve(slots, sifter, keys, homes, marks, runs)
            for i in range(runs // RUNS):
                b, at = batch[i], RUNS * i
                target = targets[b]
                total = weight_of(slots, keys, homes, marks[at], marks[at + 1])
                total += phrases + words * (target_bounds[target + 1] - target_bounds[target])
                for column in range(5):
                    total += columns[column] * values[b, column]
                if learnt:
                    for column in range(LEARNT, LEARNT + 4):
                        total += columns[column] * values[b, column]
                if spoken.shape[0] > 0:
                    total += speak(unigrams, grams, past, first, rest, spoken, target_words, target_bounds[target],
                                   target_bounds[target + 1], said, backoffs, heads, end_words, end_backoffs, b)
                for kind in range(KINDS):
                    back, fore = backward_column(kind), 8 + forward_by(kind)
                    local[b, kind] = total + (
                        weight_of(slots, keys, homes, marks[at + 1 + kind], marks[at + 2 + kind])
                        + columns[back] * values[b, back] + columns[fore] * values[b, fore])
                    if learnt:
                        local[b, kind] += (columns[back + AGAIN] * values[b, back + AGAIN]
                                           + columns[fore + AGAIN] * values[b, fore + AGAIN])
            place = next
    return place
