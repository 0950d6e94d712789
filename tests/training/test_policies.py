"""What each policy keeps of successive decodings."""

from __future__ import annotations

import pytest
from facts import built, told
from hypothesis import given
from hypothesis import strategies as st
from strategies import stores

from rampion.errors import RecipeError, TuningError
from rampion.training.loop import absorbed
from rampion.training.policies import Fixed, Merge, Replace, Window, policy_named

A, B, C, D = [(text, {"LM": -1.0}) for text in "abcd"]
RUNS = [{"1": [A, B, A]}, {"1": [C, A]}, {"1": [D]}]
KEPT = {
    "replace": [D],
    "merge": [A, B, C, D],
    "fixed": [A, B],
    "window:1": [D],
    "window:2": [A, C, D],
    "window:3": [A, B, C, D],
}


@pytest.mark.parametrize("name", KEPT)
def test_what_is_kept_of_three_decodings(name):
    kept = absorbed(policy_named(name), [built(run) for run in RUNS])
    assert told(kept) == {"1": KEPT[name]}


def in_order(hyp):
    return hyp[0], sorted(hyp[1].items())


@given(st.lists(stores(max_segments=3), min_size=1, max_size=3))
def test_a_wide_window_is_a_merge_and_a_narrow_one_keeps_the_last(runs):
    assert told(absorbed(Window(len(runs)), runs)) == told(absorbed(Merge(), runs))
    last = told(absorbed(Replace(), runs))
    narrow = told(absorbed(Window(1), runs))
    for segment, hyps in last.items():
        assert sorted(narrow[segment], key=in_order) == sorted(hyps, key=in_order)
    assert told(absorbed(Fixed(), runs)) == told(absorbed(Replace(), runs[:1]))


def test_refusals():
    with pytest.raises(RecipeError, match="a window of 0 iterations"):
        Window(0)
    with pytest.raises(RecipeError, match="no policy 'keep'; there are replace, merge, fixed and window:N"):
        policy_named("keep")
    with pytest.raises(TuningError, match="no lists to learn from"):
        absorbed(Merge(), [])
