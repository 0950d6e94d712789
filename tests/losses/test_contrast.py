"""Laws of the ramp family: facts F1-F6 of the specification, derivatives, ties, and what a loss may not depend on."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rampion import _kernels
from rampion.errors import RecipeError
from rampion.losses.contrast import FEAR, HOPE, MODEL, ORACLE, REFERENCE, WORST, Contrast, Side
from rampion.losses.expectation import Risk
from rampion.losses.table import LOSSES
from rampion.metrics.judging import Stakes

CONTRASTS = {name: loss for name, loss in LOSSES.items() if isinstance(loss, Contrast)}
ALL = {**LOSSES, "risk": Risk(), "cold-risk": Risk(0.3)}
RELATIVE = [name for name in ALL if ALL[name].relative]
seeds = st.integers(0, 2**32)


def lists(seed, ties=False, reach=0.4):
    """Scores and stakes of a few lists; half of the time with ties, always with an empty list."""
    random = np.random.default_rng(seed)
    lengths = [0, *random.integers(1, 8, 4)]
    n = sum(lengths)
    scores = random.integers(-2, 3, n).astype(float) if ties else random.normal(size=n) * 2
    costs = random.integers(0, 4, n).astype(float) if ties else random.random(n) * 3
    return scores, Stakes(np.concatenate([[0], np.cumsum(lengths)]), costs, random.random(n) < reach)


def value(loss, stakes, scores):
    return loss.slopes(stakes, scores)[0]


def per_list(side, scores, stakes):
    """The value of a side by its definition, a list at a time."""
    answer = []
    for start, end in zip(stakes.bounds[:-1], stakes.bounds[1:], strict=True):
        cost = stakes.costs[start:end]
        if side.where == "reference":
            stand = stakes.reached[start:end]
        elif side.where == "oracle":
            stand = cost == cost.min(initial=np.inf)
        elif side.where == "worst":
            stand = cost == cost.max(initial=-np.inf)
        else:
            stand = np.ones(end - start, bool)
        v = (scores[start:end] + side.tilt * cost)[stand]
        if not len(v):
            answer.append(None)
        elif side.softness:
            answer.append(side.softness * np.log(np.exp(v / side.softness).sum()))
        else:
            answer.append(v.max())
    return answer


@pytest.mark.parametrize("name", CONTRASTS)
@given(seed=seeds)
def test_value_is_the_definition(name, seed):
    scores, stakes = lists(seed)
    loss = LOSSES[name]
    sides = zip(per_list(loss.up, scores, stakes), per_list(loss.down, scores, stakes), strict=True)
    expected = sum(down - up for up, down in sides if up is not None and down is not None)
    assert value(loss, stakes, scores) == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("name", ALL)
@given(seed=seeds)
def test_slopes_are_the_derivative(name, seed):
    scores, stakes = lists(seed)
    loss, step = ALL[name], 1e-6
    _, slopes = loss.slopes(stakes, scores)
    for i in range(len(scores)):
        shift = np.zeros(len(scores))
        shift[i] = step
        central = (value(loss, stakes, scores + shift) - value(loss, stakes, scores - shift)) / (2 * step)
        # A kink inside the step: the slope is then one of the subgradients, between the one-sided differences.
        left = (value(loss, stakes, scores) - value(loss, stakes, scores - shift)) / step
        right = (value(loss, stakes, scores + shift) - value(loss, stakes, scores)) / step
        if abs(left - right) < 1e-3:
            assert slopes[i] == pytest.approx(central, abs=2e-6)
        else:
            assert min(left, right) - 1e-6 <= slopes[i] <= max(left, right) + 1e-6


@pytest.mark.parametrize("name", RELATIVE)
@given(seed=seeds, ties=st.booleans())
def test_slopes_sum_to_zero_and_a_constant_changes_nothing(name, seed, ties):
    scores, stakes = lists(seed, ties)
    total, slopes = ALL[name].slopes(stakes, scores)
    for start, end in zip(stakes.bounds[:-1], stakes.bounds[1:], strict=True):
        assert slopes[start:end].sum() == pytest.approx(0, abs=1e-12)
    shifted, same = ALL[name].slopes(stakes, scores + 8.0)
    assert shifted == pytest.approx(total, abs=1e-9)
    np.testing.assert_allclose(slopes, same, atol=1e-9)


def softened(loss):
    return Contrast(loss.up.soft(), loss.down.soft())


@given(seed=seeds, ties=st.booleans())
def test_f1_ramp3_is_ramp1_plus_ramp2(seed, ties):
    scores, stakes = lists(seed, ties)
    one, two, three = (LOSSES[f"ramp{n}"] for n in (1, 2, 3))
    assert value(three, stakes, scores) == pytest.approx(
        value(one, stakes, scores) + value(two, stakes, scores), abs=1e-9
    )
    soft = [value(softened(loss), stakes, scores) for loss in (one, two, three)]
    assert soft[2] == pytest.approx(soft[0] + soft[1], abs=1e-9)


@given(seed=seeds, ties=st.booleans())
def test_f2_f6_ramps_bound_the_cost_of_the_prediction(seed, ties):
    scores, stakes = lists(seed, ties)
    chosen = stakes.costs[MODEL.picks(stakes, scores)].sum()
    one, two, three = (value(LOSSES[f"ramp{n}"], stakes, scores) for n in (1, 2, 3))
    slack = 1e-9
    assert -slack <= two <= chosen + slack
    assert chosen <= one + slack <= three + 2 * slack


@given(seed=seeds, ties=st.booleans())
def test_f3_soft_ramps_enclose_the_risk(seed, ties):
    scores, stakes = lists(seed, ties)
    risk = value(Risk(), stakes, scores)
    assert (
        value(LOSSES["soft-ramp2"], stakes, scores) - 1e-9 <= risk <= value(LOSSES["soft-ramp1"], stakes, scores) + 1e-9
    )


@given(seed=seeds, alpha=st.sampled_from([0.5, 5.0, 10.0]))
def test_f4_scaling_costs_is_scaling_scores_back(seed, alpha):
    scores, stakes = lists(seed)
    scaled = Stakes(stakes.bounds, alpha * stakes.costs, stakes.reached)
    assert value(LOSSES["ramp3"], scaled, scores) == pytest.approx(
        alpha * value(LOSSES["ramp3"], stakes, scores / alpha)
    )


@given(seed=seeds, ties=st.booleans())
def test_f5_a_large_gamma_makes_the_kbest_perceptron(seed, ties):
    scores, stakes = lists(seed, ties)
    gamma = Contrast(up=Side(tilt=-1e6), down=MODEL)
    chosen, oracle = gamma.up.picks(stakes, scores), ORACLE.picks(stakes, scores)
    distinct = np.diff(np.sort(stakes.costs))
    if distinct[distinct > 0].min(initial=1) > 1e-4:
        np.testing.assert_array_equal(stakes.costs[chosen], stakes.costs[oracle])
        np.testing.assert_array_equal(scores[chosen], scores[oracle])


@pytest.mark.parametrize("side", [HOPE, MODEL, FEAR, ORACLE])
@given(seed=seeds)
def test_softness_to_zero_is_the_hard_side(side, seed):
    scores, stakes = lists(seed)
    values, work = np.empty((2, len(stakes.bounds) - 1)), np.empty(stakes.longest)
    for row, softness in zip(values, (0.0, 1e-3), strict=True):
        stance = replace(side, softness=softness).stance(stakes)
        _kernels.side(scores, stance, stakes.bounds, work, row, np.empty(len(scores)))
    np.testing.assert_allclose(*values, atol=3e-3)


def test_ties_go_to_lower_cost_for_hope_higher_for_fear_and_else_to_the_first():
    stakes = Stakes(np.array([0, 3]), np.array([1.0, 2.0, 3.0]), np.zeros(3, bool))
    assert HOPE.picks(stakes, np.array([1.0, 2.0, 3.0])) == [0]
    assert FEAR.picks(stakes, np.array([3.0, 2.0, 1.0])) == [2]
    assert MODEL.picks(stakes, np.zeros(3)) == [0]
    assert WORST.picks(stakes, np.zeros(3)) == [2]
    tied = Stakes(stakes.bounds, np.zeros(3), stakes.reached)
    assert ORACLE.picks(tied, np.array([0.0, 1.0, 1.0])) == [1]


def test_lists_that_reach_no_reference_take_no_part():
    scores, stakes = lists(3)
    nowhere = Stakes(stakes.bounds, stakes.costs, np.zeros(len(scores), bool))
    for name, loss in CONTRASTS.items():
        if REFERENCE.where == loss.up.where:
            total, slopes = loss.slopes(nowhere, scores)
            assert (total, slopes.any()) == (0.0, False), name


def test_pinning_is_tangent_and_lies_above():
    for seed in range(30):
        scores, stakes = lists(seed)
        other = np.random.default_rng(seed + 1000).normal(size=len(scores)) * 2
        for name, loss in CONTRASTS.items():
            pinned = loss.pinned(stakes, scores)
            if not loss.up.softness:
                assert value(pinned, stakes, scores) == pytest.approx(
                    value(loss, stakes, scores) + handicap_of(loss.up, stakes, pinned), abs=1e-9
                ), name
            _, slopes = loss.slopes(stakes, scores)
            _, tangent = pinned.slopes(stakes, scores)
            np.testing.assert_allclose(tangent, slopes, atol=1e-12, err_msg=name)
            here, there = (value(pinned, stakes, at) - value(loss, stakes, at) for at in (scores, other))
            assert there >= here - 1e-9, name


def handicap_of(side, stakes, pinned):
    """A pinned side has the scores of its mass, not the handicap: the values differ by that constant."""
    taking_part = pinned.mass > 0
    return float((side.tilt * stakes.costs[taking_part]).sum())


def test_a_negative_softness_is_refused():
    with pytest.raises(RecipeError, match="softness is -1"):
        MODEL.soft(-1.0)
