"""The features and the words of derivations: their binary features as keys, their real-valued ones, and their texts.

A derivation is walked block by block in target order. How a block moves follows from where it lies, where the last one
lay, and how many of the words between the two are covered (moves.pxd). The last block takes part until the next one is
known.

Twin: decoder/_reference/emit.py
"""

from rampion._core.types cimport byte_t, id_t, key_t, real, row_t, small_t

from .moves cimport backward_of, between, forward_of, kind_of
from .templates cimport USER, block_keys, join_keys, jump_of, leave_keys, move_keys, room, source_keys, user_keys
from .spell cimport put

cdef enum:
    IDENTITY = 0
    BOUNDARY = 1
    START = 1
    BLANK = 32

# The columns of decoder.dense.DENSE: first those of blocks, BACK and FORE by orientation.
cdef enum:
    RATES = 2  # those that an option may have of its own
    BACK = 5
    FORE = 8
    PHRASES = 11
    WORDS = 12
    JUMP = 13
    JUMP_OUT = 14
    JUMP_IN = 15
    LM = 16
    LM_FIRST = 17
    LM_REST = 18
    LEARNT = 19
    BEHIND = 8  # so much farther behind are learnt columns here than among those of blocks
    LEARNT_BACK = 23
    LEARNT_FORE = 26


cdef inline row_t covered_between(
    const id_t[::1] steps, const int[::1] starts, const int[::1] ends, row_t first, row_t step,
) except? -1 nogil:
    """How many words between the block of a step and the one before it are covered by steps from `first` on."""
    cdef row_t start, end, found = 0, i
    if step == first or starts[steps[step]] == ends[steps[step - 1]]:
        return 0
    start, end = ends[steps[step - 1]], starts[steps[step]]
    if end < start:
        start, end = ends[steps[step]], starts[steps[step - 1]]
    for i in range(first, step - 1):
        if starts[steps[i]] >= start and ends[steps[i]] <= end:
            found += ends[steps[i]] - starts[steps[i]]
    return found


def feature_keys(sentences, options, blocks, extras, key_t mask, derivations, row_t done, row_t[::1] bounds,
                 key_t[::1] keys):  # OUT bounds, keys
    """Write the keys of every derivation from `done` on, keys[bounds[d]:bounds[d + 1]]; return how many are done.

    All are, unless keys has no room. Block by block: H2 of the last one, P4, W2, P3, W3 across the join, W4, then what
    the block fires by itself, and P2, H1; H2 of the last block towards the end comes last.
    """
    # Longer than most, because a third of its lines unpack arrays.
    cdef const id_t[::1] words = sentences.words, option_blocks = options.blocks, steps = derivations.steps
    cdef const int[::1] starts = options.starts, ends = options.ends
    cdef const id_t[::1] sources = blocks.sources, targets = blocks.targets
    cdef const id_t[::1] source_words = blocks.source_words, target_words = blocks.target_words
    cdef const row_t[::1] source_bounds = blocks.source_bounds, target_bounds = blocks.target_bounds
    cdef const row_t[::1] sentence_bounds = sentences.bounds, step_bounds = derivations.step_bounds
    cdef const row_t[::1] derivation_bounds = derivations.bounds, firsts = extras.firsts, lasts = extras.lasts
    cdef const key_t[::1] fired = extras.keys
    cdef row_t s, d, i, at, first, length, start, end, last_start, last_end, covered, block, last, p, q, t, u, need
    cdef int kind
    cdef bint full = False
    with nogil:
        for s in range(sentence_bounds.shape[0] - 1):
            first, length = sentence_bounds[s], sentence_bounds[s + 1] - sentence_bounds[s]
            for d in range(max(done, derivation_bounds[s]), derivation_bounds[s + 1]):
                at = bounds[d]
                last_start, last_end, last = 0, 0, BOUNDARY
                for i in range(step_bounds[d], step_bounds[d + 1]):
                    start, end, block = starts[steps[i]], ends[steps[i]], option_blocks[steps[i]]
                    p, q, t, u = sources[last], sources[block], targets[last], targets[block]
                    need = room(source_bounds[q + 1] - source_bounds[q], target_bounds[u + 1] - target_bounds[u])
                    if mask >> USER & 1:
                        need += lasts[block] - firsts[block]
                    if at + need + 1 > keys.shape[0]:
                        full = True
                        break
                    covered = covered_between(steps, starts, ends, step_bounds[d], i)
                    kind = kind_of(last_start, last_end, start, end, covered)
                    if last != BOUNDARY:
                        at = leave_keys(mask, last, forward_of(last_end, start, covered), keys, at)
                    at = source_keys(mask, p, q, jump_of(kind, between(last_start, last_end, start, end)),
                                     words[first + last_end - 1] if last != BOUNDARY else START, words[first + start],
                                     keys, at)
                    at = join_keys(mask, t, u, target_words, target_bounds[t], target_bounds[t + 1], target_bounds[u],
                                   target_bounds[u + 1], keys, at)
                    at = block_keys(mask, block, u, source_words, source_bounds[q], source_bounds[q + 1],
                                    target_words, target_bounds[u], target_bounds[u + 1], keys, at)
                    at = user_keys(mask, block, firsts, lasts, fired, keys, at)
                    at = move_keys(mask, block, kind, keys, at)
                    last_start, last_end, last = start, end, block
                if full:
                    break
                if last != BOUNDARY:
                    at = leave_keys(mask, last, 0 if last_end == length else 2, keys, at)
                bounds[d + 1] = at
                done = d + 1
            if full:
                break
    return done


cdef inline int add_block(
    const small_t[:, ::1] columns, const small_t[:, ::1] rates, row_t option, row_t block, row_t last,
    int back, int fore, real[:, ::1] values, row_t d,  # OUT values
) except -1 nogil:
    """Add the columns of a block that comes so, and those of the last block as it turns so."""
    cdef row_t column
    for column in range(RATES):
        values[d, column] += rates[option, column] if rates.shape[0] else columns[block, column]
    for column in range(RATES, BACK):
        values[d, column] += columns[block, column]
    values[d, BACK + back] += columns[block, BACK + back]
    values[d, FORE + fore] += columns[last, FORE + fore]
    if columns.shape[1] > LEARNT - BEHIND:
        for column in range(LEARNT, LEARNT_BACK):
            values[d, column] += columns[block, column - BEHIND]
        values[d, LEARNT_BACK + back] += columns[block, LEARNT_BACK + back - BEHIND]
        values[d, LEARNT_FORE + fore] += columns[last, LEARNT_FORE + fore - BEHIND]
    values[d, PHRASES] += 1.0
    return 0


cdef inline int add_jump(
    const small_t[:, ::1] out, const small_t[:, ::1] into, row_t last_word, row_t first_word, row_t jump,
    real[:, ::1] values, row_t d,  # OUT
) except -1 nogil:
    """Add a jump from one source word to another."""
    cdef row_t reach = out.shape[1] // 2, at = min(max(jump, -reach), reach) + reach
    values[d, JUMP] -= jump if jump > 0 else -jump
    if out.shape[0]:
        values[d, JUMP_OUT] += out[last_word, at]
        values[d, JUMP_IN] += into[first_word, at]
    return 0


cdef inline row_t add_words(const real[::1] logs, row_t w, row_t count, real[:, ::1] values, row_t d) except -1 nogil:
    """Add the words of a block, whose logs begin at w; return where they end."""
    cdef row_t i
    for i in range(count):
        values[d, WORDS] += 1.0
        if logs.shape[0]:
            values[d, LM] += logs[w]
            values[d, LM_FIRST if i == 0 else LM_REST] += logs[w]
            w += 1
    return w


cdef inline int add_end(
    const small_t[:, ::1] columns, row_t last, int fore, real[:, ::1] values, row_t d,
) except -1 nogil:
    """Add what the last block brings as the end lies before it."""
    values[d, FORE + fore] += columns[last, FORE + fore]
    if columns.shape[1] > LEARNT - BEHIND:
        values[d, LEARNT_FORE + fore] += columns[last, LEARNT_FORE + fore - BEHIND]
    return 0


def dense_values(sentences, options, blocks, jumps, logs, derivations, real[:, ::1] values):
    """Add up the values of every derivation, in target order: a row each, a column each of decoder.dense.DENSE.

    logs holds log p of every word and of </s>, derivation by derivation; without logs or jumps their columns stay 0.
    """
    cdef const id_t[::1] words = sentences.words, option_blocks = options.blocks, steps = derivations.steps
    cdef const int[::1] starts = options.starts, ends = options.ends
    cdef const id_t[::1] targets = blocks.targets
    cdef const small_t[:, ::1] columns = blocks.values, rates = options.rates, out = jumps.out, into = jumps.into
    cdef const row_t[::1] sentence_bounds = sentences.bounds, step_bounds = derivations.step_bounds
    cdef const row_t[::1] derivation_bounds = derivations.bounds, target_bounds = blocks.target_bounds
    cdef const real[::1] given = logs
    cdef row_t s, d, i, w = 0, first, length, start, end, last_start, last_end, covered, block, last, target
    with nogil:
        for s in range(sentence_bounds.shape[0] - 1):
            first, length = sentence_bounds[s], sentence_bounds[s + 1] - sentence_bounds[s]
            for d in range(derivation_bounds[s], derivation_bounds[s + 1]):
                values[d, :] = 0.0
                last_start, last_end, last = 0, 0, BOUNDARY
                for i in range(step_bounds[d], step_bounds[d + 1]):
                    start, end, block = starts[steps[i]], ends[steps[i]], option_blocks[steps[i]]
                    target, covered = targets[block], covered_between(steps, starts, ends, step_bounds[d], i)
                    add_block(columns, rates, steps[i], block, last,
                              backward_of(kind_of(last_start, last_end, start, end, covered)),
                              forward_of(last_end, start, covered), values, d)
                    add_jump(out, into, words[first + last_end - 1] if last != BOUNDARY else START,
                             words[first + start], start - last_end, values, d)
                    w = add_words(given, w, target_bounds[target + 1] - target_bounds[target], values, d)
                    last_start, last_end, last = start, end, block
                if last != BOUNDARY:
                    add_end(columns, last, 0 if last_end == length else 2, values, d)
                if given.shape[0]:
                    values[d, LM] += given[w]
                    values[d, LM_REST] += given[w]
                    w += 1


def surface_texts(sentences, options, blocks, words, tokens, derivations, row_t done, row_t[::1] bounds,
                  byte_t[::1] blob):  # OUT bounds, blob
    """Write the words of every derivation from `done` on, blob[bounds[d]:bounds[d + 1]]; return how many are done.

    All are, unless blob has no room. An identity block stands for its source token, others for their target words.
    """
    cdef const id_t[::1] option_blocks = options.blocks, steps = derivations.steps
    cdef const int[::1] starts = options.starts
    cdef const id_t[::1] targets = blocks.targets, target_words = blocks.target_words
    cdef const row_t[::1] target_bounds = blocks.target_bounds, sentence_bounds = sentences.bounds
    cdef const row_t[::1] step_bounds = derivations.step_bounds, derivation_bounds = derivations.bounds
    cdef const byte_t[::1] spelt = words.blob, surface = tokens.blob
    cdef const row_t[::1] spelt_bounds = words.bounds, surface_bounds = tokens.bounds
    cdef row_t s, d, i, w, at, place, target
    with nogil:
        for s in range(sentence_bounds.shape[0] - 1):
            for d in range(max(done, derivation_bounds[s]), derivation_bounds[s + 1]):
                at = bounds[d]
                for i in range(step_bounds[d], step_bounds[d + 1]):
                    if option_blocks[steps[i]] == IDENTITY:
                        place = sentence_bounds[s] + starts[steps[i]]
                        at = put(surface, surface_bounds[place], surface_bounds[place + 1], BLANK, blob, at)
                    else:
                        target = targets[option_blocks[steps[i]]]
                        for w in range(target_bounds[target], target_bounds[target + 1]):
                            place = target_words[w]
                            at = put(spelt, spelt_bounds[place], spelt_bounds[place + 1], BLANK, blob, at)
                if at < 0:
                    break
                bounds[d + 1] = at - 1 if at > bounds[d] else at
                done = d + 1
            if done < derivation_bounds[s + 1]:
                break
    return done
