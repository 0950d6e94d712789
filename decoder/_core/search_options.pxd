"""What is known of a sentence's options before the search.

Of each option, what its neighbours will see of it (`describe`); and for each span and move its options by what they
bring, the best first, hence also the best that the words from any place on can bring (`rank_options`). Within a limit
also the best that gaps can bring (`measure_gaps`), and which options differ by what they leave (`tell_apart`).
"""

from libc.math cimport INFINITY

from rampion._core.types cimport id_t, key_t, real, row_t, small_t

from .moves cimport FILL, TURNS
from .search cimport BOUNDARY, frame_t, option_t
from .templates cimport P3, W3, W4


cdef inline int describe(
    frame_t f, const id_t[::1] blocks, const id_t[::1] sources, const id_t[::1] targets, const id_t[::1] words,
    const row_t[::1] bounds, const real[::1] heads, const id_t[::1] spoken,
    option_t[::1] options, id_t[::1] tips, id_t[::1] openings,  # OUT
) except -1 nogil:
    """Fill in the options, 0 being the boundary; target phrase p is words[bounds[p]:bounds[p + 1]].

    tips[4 * at:4 * at + 4] are the two first and the two last words of option `at`, its only word twice if it has no
    other; openings[f.past * at:] are its first words as the language model knows them.
    """
    cdef row_t at, k, start, end, size
    for at in range(f.options + 1):
        options[at].block = BOUNDARY if at == 0 else blocks[f.option + at - 1]
        options[at].source = options[at].target = BOUNDARY
        if at > 0:
            options[at].source, options[at].target = sources[options[at].block], targets[options[at].block]
        start, end = bounds[options[at].target], bounds[options[at].target + 1]
        # What templates see: words at both ends, and what distinguishes the option once it is the last block.
        size = min(end - start, 2)
        options[at].size = <id_t> size
        tips[4 * at], tips[4 * at + 1] = words[start], words[start + size - 1]
        tips[4 * at + 2], tips[4 * at + 3] = words[end - size], words[end - 1]
        if f.mask >> P3 & 1:
            options[at].look = options[at].target
        elif f.mask >> W3 & 1:
            options[at].look = (<key_t> (words[end - 2] + 1) << 32 if size > 1 else 0) | words[end - 1]
        else:
            options[at].look = words[end - 1] if f.mask >> W4 & 1 else 0
        # What the language model sees.
        options[at].lead, options[at].head = 0, 0.0
        if at > 0 and f.past > 0:
            options[at].lead, options[at].head = <id_t> min(f.past, end - start), heads[options[at].block]
        for k in range(options[at].lead):
            openings[at * f.past + k] = spoken[words[start + k]]
    return 0


cdef inline int rank_span(
    frame_t f, const real[:, ::1] local, const real[::1] columns, const small_t[:, ::1] values,
    const small_t[:, ::1] rates, const id_t[::1] blocks, row_t low, row_t high, row_t kind,
    real[::1] gains, id_t[::1] choices,  # OUT
) except -1 nogil:
    """Sort the sentence's options low to high - 1 by what they bring when they come by a move of this kind."""
    cdef row_t at, place, block, base = kind * f.options
    cdef real gain
    for at in range(low, high):
        block = blocks[f.option + at]
        gain = local[block, kind]
        if rates.shape[0]:
            gain += (columns[0] * (<real> rates[f.option + at, 0] - values[block, 0])
                     + columns[1] * (<real> rates[f.option + at, 1] - values[block, 1]))
        place = base + at
        while place > base + low and gains[place - 1] < gain:
            gains[place] = gains[place - 1]
            choices[place] = choices[place - 1]
            place -= 1
        gains[place] = gain
        choices[place] = <id_t> (at + 1)
    return 0


cdef inline int rank_options(
    frame_t f, const row_t[::1] spans, const id_t[::1] blocks, const real[:, ::1] local, const real[::1] columns,
    const small_t[:, ::1] values, const small_t[:, ::1] rates,
    real[::1] gains, id_t[::1] choices, real[::1] rest, real[::1] fills,  # OUT
) except -1 nogil:
    """Fill in gains and choices, span by span for each kind of move; what the words from a place on can bring at best.

    fills holds what the options of a span bring at best when they fill a gap, within a limit however they come; -inf
    where there are none.
    """
    cdef row_t start, size, span, low, high, kind
    cdef real best
    rest[f.words] = 0.0
    for start in range(f.words - 1, -1, -1):
        rest[start] = -INFINITY
        for size in range(1, min(f.longest, f.words - start) + 1):
            span = start * f.longest + size - 1
            low = spans[f.word * f.longest + span] - f.option
            high = spans[f.word * f.longest + span + 1] - f.option
            fills[span] = -INFINITY
            if low == high:
                continue
            best = -INFINITY
            for kind in range(f.kinds):
                rank_span(f, local, columns, values, rates, blocks, low, high, kind, gains, choices)
                best = max(best, gains[kind * f.options + low])
            fills[span] = best if f.limit > 0 or f.kinds == 1 else gains[<row_t> FILL * f.options + low]
            rest[start] = max(rest[start], best + rest[start + size])
    return 0


cdef inline int measure_gaps(frame_t f, const real[::1] fills, real[::1] gaps) except -1 nogil:
    """Fill in what gaps bring at best: gaps[start * limit + n] is that of the n words from `start` on."""
    cdef row_t start, size, first
    for start in range(f.words, -1, -1):
        gaps[start * f.limit] = 0.0
        for size in range(1, min(f.limit - 1, f.words - start) + 1):
            gaps[start * f.limit + size] = -INFINITY
            for first in range(1, min(size, f.longest) + 1):
                gaps[start * f.limit + size] = max(
                    gaps[start * f.limit + size],
                    fills[start * f.longest + first - 1] + gaps[(start + first) * f.limit + size - first])
    return 0


cdef inline bint leave_alike(const real[::1] leaving, row_t a, row_t b) except? -1 nogil:
    """Whether the next block will find no difference between leaving either option."""
    cdef row_t turn
    for turn in range(TURNS):
        if leaving[TURNS * a + turn] != leaving[TURNS * b + turn]:
            return False
    return True


cdef inline int tell_apart(
    frame_t f, const real[:, ::1] leaves, option_t[::1] options, real[::1] leaving, id_t[::1] seats, key_t[::1] looks,
) except -1 nogil:
    """Fill in what options leave; the look of each becomes the first option that looks the same and leaves the same.

    seats is a table of options, empty before and after.
    """
    cdef row_t at, turn, seat, mask = 1
    while mask < 2 * (f.options + 1):
        mask *= 2
    mask -= 1
    for at in range(f.options + 1):
        looks[at] = options[at].look
        for turn in range(TURNS):
            leaving[TURNS * at + turn] = leaves[options[at].block, turn] if at > 0 else 0.0
    for at in range(f.options + 1):
        seat = <row_t> (looks[at] * <key_t> 0x9E3779B97F4A7C15 >> 32) & mask
        while seats[seat] != 0 and not (looks[seats[seat] - 1] == looks[at]
                                        and leave_alike(leaving, <row_t> seats[seat] - 1, at)):
            seat = (seat + 1) & mask
        if seats[seat] == 0:
            seats[seat] = <id_t> (at + 1)
        options[at].look = seats[seat] - 1
    for seat in range(mask + 1):
        seats[seat] = 0
    return 0
