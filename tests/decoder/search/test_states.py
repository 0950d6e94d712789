"""The search space: decoder/search/states.py walks exactly the V(S) that tests/kit/exhaustive.py reads out of S10.1."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from derivations import backward, forward
from exhaustive import fills_its_gaps, options_of, orientation, sequences, space
from hypothesis import given
from hypothesis import strategies as st
from rampion.decoder.models.options import Sentences
from rampion.decoder.search.states import (
    BACKWARD,
    CLOSE,
    DISCONTINUOUS,
    FILL,
    FORWARD,
    LEFT,
    MON,
    MONOTONE,
    NEUTRAL,
    OPEN,
    ORIENTATION,
    REOPEN,
    RIGHT,
    STEP,
    SWAP,
    TURNS,
    Reordering,
    State,
    Window,
)

REORDERINGS = [Reordering(reach, twice) for reach in (0, 1, 2, 8) for twice in (False, True)]
LIMITS = [Reordering(limit=limit) for limit in (1, 2, 3, 6)]
FIGURE = ((3, 3), (1, 2), (4, 4), (5, 6))  # the pattern N L N R of S17


def walk(length, spans, reordering, state=None):
    """Every sequence of spans, counted from 0, that the states allow, with its moves."""
    state = state or (Window() if reordering.limit else State())
    if state.final(length):
        yield (), ()
    for start, end in spans:
        move = state.move(start, end, reordering)
        if move is not None:
            for taken, moves in walk(length, spans, reordering, state.after(start, end)):
                yield ((start, end), *taken), (move, *moves)


def all_spans(length, longest):
    return [(i, j) for i in range(length) for j in range(i + 1, min(length, i + longest) + 1)]


@st.composite
def cases(draw):
    """A sentence of up to six words, some of its spans, and how far blocks may leave their order."""
    length = draw(st.integers(0, 6))
    every = all_spans(length, draw(st.integers(1, 4)))
    spans = draw(st.lists(st.sampled_from(every), unique=True)) if every else []
    return length, sorted({*spans, *((i, i + 1) for i in range(length) if draw(st.booleans()))})


@pytest.mark.parametrize("reordering", [*REORDERINGS, *LIMITS], ids=str)
@given(case=cases())
def test_states_walk_the_space_of_the_definition(reordering, case):
    length, spans = case
    defined = list(sequences(length, [(start + 1, end) for start, end in spans], reordering))
    walked = [tuple((start + 1, end) for start, end in taken) for taken, _ in walk(length, spans, reordering)]
    assert len(set(defined)) == len(defined)
    assert sorted(walked) == sorted(defined)


@pytest.mark.parametrize("reordering", REORDERINGS, ids=str)
def test_every_move_has_the_orientation_of_the_definition(reordering):
    for taken, moves in walk(6, all_spans(6, 3), reordering):
        spans = [(0, 0), *((start + 1, end) for start, end in taken)]
        assert [ORIENTATION[move] for move in moves] == [orientation(b, a) for a, b in pairwise(spans)]


def test_hierarchical_orientations():
    """S11.6: towards the top of a shift-reduce stack of the spans before (backward), or of those after (forward)."""
    for taken, moves in walk(6, all_spans(6, 3), Reordering(8, True)):
        past, future = [(-1, 0)], [(6, 7)]  # the boundaries
        for span, move in zip(taken, moves, strict=True):
            assert BACKWARD[move] == side(past[-1], span)
            shift(past, span)
        for last, span, move in reversed(list(zip(taken, taken[1:], moves[1:], strict=False))):
            shift(future, span)
            assert FORWARD[move] == side(last, future[-1])


@pytest.mark.parametrize("reordering", [Reordering(8, True), *LIMITS], ids=str)
def test_orientations_are_those_of_the_words_covered(reordering):
    """The table of moves, and `turned` within a limit, against the definitions in sets of words."""
    for taken, moves in walk(5, all_spans(5, 3), reordering):
        placed = [(0, 0), *((start + 1, end) for start, end in taken)]
        plain = [orientation(b, a) for a, b in pairwise(placed)]
        turns = moves if reordering.limit else [(ORIENTATION[m], BACKWARD[m], FORWARD[m]) for m in moves]
        for turn, letter, back in zip(turns, plain, backward(taken), strict=True):
            assert turn[:2] == (NEUTRAL if letter is None else letter, "MSD".index(back))
            assert turn[:2] in TURNS
        assert "".join("MSD"[turn[2]] for turn in turns[1:]) == "".join(forward(taken, 5)[:-1])


def test_whoever_keeps_the_limit_can_go_on():
    """Rule 2 of the limit is there for this: words behind the first open one never become too far to go back from."""
    for reordering in LIMITS:
        seen, waiting = {Window()}, [Window()]
        while waiting:
            state = waiting.pop()
            assert state.final(9) or state.move(state.free, state.free + 1, reordering) is not None
            for start, end in all_spans(9, 4):
                if state.move(start, end, reordering) is not None and (after := state.after(start, end)) not in seen:
                    seen.add(after)
                    waiting.append(after)


def side(before, after):
    """M, S or D of two spans in target order."""
    return MONOTONE if before[1] == after[0] else SWAP if after[1] == before[0] else DISCONTINUOUS


def shift(stack, span):
    """Put the span on top, then merge the two topmost while they are neighbours."""
    stack.append(span)
    while len(stack) > 1 and side(*stack[-2:]) != DISCONTINUOUS:
        (start, end), (first, last) = stack.pop(), stack.pop()
        stack.append((min(start, first), max(end, last)))


@pytest.mark.parametrize(
    ("reordering", "counts"),
    [
        (MON, [1, 1, 2, 4, 8, 16]),  # 2 ** (n - 1) segmentations
        (Reordering(), [1, 1, 3, 8, 20]),  # by hand: of 1 2 3 4 all but 2 1 4 3
        (Reordering(adjacent_swaps=True), [1, 1, 3, 8, 21, 55]),  # every other Fibonacci number
        (Reordering(1), [1, 1, 3, 7, 16]),  # the block left behind has one word
        (Reordering(limit=9), [1, 1, 3, 11, 49]),  # every order of every segmentation: the sum of C(n - 1, k - 1) k!
    ],
    ids=str,
)
def test_numbers_of_sequences_when_every_span_is_a_block(reordering, counts):
    for length, count in enumerate(counts):
        spans = all_spans(length, length)
        assert len(list(sequences(length, [(start + 1, end) for start, end in spans], reordering))) == count
        assert len(list(walk(length, spans, reordering))) == count


def test_pattern_of_the_figure():
    """S17: spans 3 | 1-2 | 4 | 5-6 are N L N R; the second N closes, its gap being the block said two before."""
    assert fills_its_gaps(FIGURE, Reordering())
    spans = [(start - 1, end) for start, end in FIGURE]
    found = dict(walk(6, spans, Reordering()))
    moves = found[tuple(spans)]
    assert moves == (OPEN, FILL, CLOSE, STEP)
    assert [ORIENTATION[move] for move in moves] == [NEUTRAL, LEFT, NEUTRAL, RIGHT]


def test_adjacent_swaps_only_with_their_flag():
    spans = [(1, 2), (0, 1), (3, 4), (2, 3)]
    assert tuple(spans) not in dict(walk(4, spans, Reordering()))
    assert dict(walk(4, spans, Reordering(adjacent_swaps=True)))[tuple(spans)] == (OPEN, FILL, REOPEN, FILL)


def test_monotone_is_right_only():
    assert {moves for _, moves in walk(3, all_spans(3, 3), MON)} == {(STEP,), (STEP, STEP), (STEP, STEP, STEP)}
    assert {move for _, moves in walk(4, all_spans(4, 4), Reordering()) for move in moves} == {STEP, OPEN, FILL, CLOSE}


def test_space_says_options():
    """Two sentences in one batch; the second has a span with two blocks and one word that nothing says."""
    sentences = Sentences(np.array([5, 6, 7, 8], np.uint32), np.array([0, 2, 4], np.int64))
    options = options_of([2, 2], 2, [{(0, 1): [9], (1, 2): [8], (0, 2): [7]}, {(0, 2): [7, 6], (0, 1): [5]}])
    assert options.starts.tolist() == [0, 0, 1, 0, 0, 0]
    assert options.ends.tolist() == [1, 2, 2, 1, 2, 2]
    assert options.blocks.tolist() == [9, 7, 8, 5, 7, 6]
    first = sorted(space(sentences, options, 0, Reordering()))
    assert first == [((0, 2), (RIGHT, RIGHT)), ((1,), (RIGHT,)), ((2, 0), (NEUTRAL, LEFT))]
    assert sorted(space(sentences, options, 1, Reordering())) == [((4,), (RIGHT,)), ((5,), (RIGHT,))]
    assert sorted(space(sentences, options, 0, MON)) == [((0, 2), (RIGHT, RIGHT)), ((1,), (RIGHT,))]
