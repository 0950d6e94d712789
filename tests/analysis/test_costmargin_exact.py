"""Table X, Lemma 1, Lemma 2 and Theorem 1, and the minimum that they stand on (S10.13)."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize
from speeds import examples

from rampion.analysis.costmargin_exact import SLACK, Problem, draw, rounds, theorem
from rampion.errors import InputError, RecipeError, TuningError
from rampion.losses.ranking import COSTMARGIN

STRENGTHS = (1e-2, 1e-1, 1.0, 5.0, 20.0, 100.0)
SEGMENTS, EACH = 6, 25


def problem(features, gains, l2=1.0, truths=2, each=EACH):
    return Problem.build(features, gains, np.arange(0, len(gains) + 1, each), truths, l2)


def tied(l2):
    """Gains of four values only: most gaps are 0 in some segment, and truths are found among equals."""
    rng = np.random.default_rng(4)
    return problem(rng.standard_normal((SEGMENTS * EACH, 5)), rng.integers(4, size=SEGMENTS * EACH) / 4, l2)


def doubled(l2):
    """Every candidate stands there twice."""
    rng = np.random.default_rng(5)
    features, gains = rng.standard_normal((SEGMENTS * 12, 5)), rng.uniform(size=SEGMENTS * 12)
    return problem(features.repeat(2, axis=0), gains.repeat(2), l2, each=24)


def equal(l2):
    """No gap at all."""
    return problem(np.random.default_rng(6).standard_normal((SEGMENTS * EACH, 5)), np.ones(SEGMENTS * EACH), l2)


KINDS = {
    "drawn": lambda l2: draw(1, l2),
    "drawn again": lambda l2: draw(2, l2),
    "smaller": lambda l2: draw(3, l2, scale=0.7),
    "smaller again": lambda l2: draw(4, l2, scale=0.7),
    "one truth": lambda l2: draw(5, l2, truths=1),
    "four truths": lambda l2: draw(6, l2, truths=4),
    "one feature": lambda l2: draw(7, l2, shape=(6, 25, 1)),
    "one alternative": lambda l2: draw(8, l2, shape=(6, 3, 5)),
    "tied": tied,
    "doubled": doubled,
    "equal": equal,
}
each_kind = pytest.mark.parametrize("kind", KINDS)
each_strength = pytest.mark.parametrize("l2", STRENGTHS)


def spelt(features, gains, bounds, truths, l2, weights):
    """Q by its definition, one candidate after the other."""
    total = 0.0
    for first, end in pairwise(bounds):
        order = sorted(range(first, end), key=lambda c: (-gains[c], c))
        for z in order[:truths]:
            losses = []
            for other in order[truths:]:
                margin = sum((x - y) * w for x, y, w in zip(features[z], features[other], weights, strict=True))
                losses.append((gains[z] - gains[other]) * max(0.0, 1 - margin) ** 2)
            total += max(losses) / truths
    return total / (len(bounds) - 1) + l2 * sum(w * w for w in weights)


# The objective


@given(st.integers(0, 2**32), st.sampled_from((1, 2, 3)), st.sampled_from(STRENGTHS))
@examples(25)
def test_the_objective_is_the_definition(seed, truths, l2):
    rng = np.random.default_rng(seed)
    bounds = np.cumsum([0, *rng.integers(truths + 1, 9, size=4)])
    features, gains = rng.standard_normal((bounds[-1], 3)), rng.integers(5, size=bounds[-1]) / 5
    weights = rng.standard_normal(3)
    ours = Problem.build(features, gains, bounds, truths, l2).objective(weights)
    assert ours == pytest.approx(spelt(features, gains, bounds.tolist(), truths, l2, weights), rel=1e-13)


def test_slopes_are_those_of_psi():
    one, step = draw(9, 1.0), 1e-6
    weights = np.random.default_rng(0).standard_normal(5)
    moved = [(one.psi(weights + step * e) - one.psi(weights - step * e)) / (2 * step) for e in np.eye(5)]
    np.testing.assert_allclose(one.slopes(weights), np.transpose(moved), atol=1e-6)


def test_no_alternatives_cost_nothing():
    one, none = draw(9, 1.0), np.zeros(SEGMENTS * EACH, np.bool_)
    assert one.objective(np.zeros(5), none) == 0
    assert one.objective(np.ones(5), none) == 5
    assert one.minimum(none).tolist() == [0] * 5


def test_psi_ranks_as_an_online_visit_does():
    one = draw(9, 1.0)
    weights = np.random.default_rng(0).standard_normal(5)
    slack = np.maximum(COSTMARGIN.margin - one.differences @ weights, 0)
    assert (COSTMARGIN.staked, COSTMARGIN.squared, COSTMARGIN.sense) == (True, True, 1)
    np.testing.assert_array_equal(one.psi(weights), one.gaps * slack**2)
    # The step of a visit is half the gradient downwards.
    visit = (one.gaps * slack)[:, np.newaxis] * one.differences
    np.testing.assert_allclose(visit, -one.slopes(weights) / 2, rtol=1e-15)


@each_strength
def test_an_online_visit_stays_at_the_minimum(l2):
    """One truth, one alternative: gap (1 - w.y)^2 + l2 w^2 is least at gap y / (l2 + gap y^2)."""
    features = np.array([[1.0, 2.0, 0.5], [0.25, 1.5, -1.0]])
    weights = problem(features, np.array([0.9, 0.3]), l2, truths=1, each=2).minimum()
    y, gap = features[0] - features[1], 0.9 - 0.3
    np.testing.assert_allclose(weights, gap * y / (l2 + gap * y @ y), rtol=1e-12)
    np.testing.assert_allclose(gap * (COSTMARGIN.margin - weights @ y) * y, l2 * weights, rtol=1e-12)


# The minimum


@each_kind
@each_strength
def test_the_objective_rises_from_its_minimum_as_the_regulariser_makes_it(kind, l2):
    """A minimum of what is convex without l2 ||w||^2: Q(w + v) >= Q(w) + l2 ||v||^2."""
    one = KINDS[kind](l2)
    weights = one.minimum()
    rng = np.random.default_rng(0)
    for length in (1e-6, 1e-4, 1e-2, 1.0):
        for step in length * rng.standard_normal((10, len(weights))):
            assert one.objective(weights + step) >= one.objective(weights) + l2 * step @ step - 1e-12


@pytest.mark.parametrize("seed", [0, 1])
@each_strength
def test_another_solver_finds_the_same_minimum(seed, l2):
    """The epigraph: the least mean of xi + l2 ||w||^2 where xi >= psi."""
    one = draw(seed, l2, shape=(3, 8, 4))
    heights = np.eye(one.pairs[-1] + 1)[one.pairs]
    share = 1 / heights.shape[1]
    found = minimize(
        lambda x: share * x[4:].sum() + l2 * x[:4] @ x[:4],
        np.append(np.zeros(4), one.greatest(np.zeros(4))),
        jac=lambda x: np.append(2 * l2 * x[:4], np.full(heights.shape[1], share)),
        method="SLSQP",
        constraints={
            "type": "ineq",
            "fun": lambda x: x[4 + one.pairs] - one.psi(x[:4]),
            "jac": lambda x: np.hstack([-one.slopes(x[:4]), heights]),
        },
        options={"ftol": 1e-14, "maxiter": 500},
    )
    weights = one.minimum()
    assert one.objective(weights) <= one.objective(found.x[:4]) + 1e-12
    assert one.objective(weights) == pytest.approx(one.objective(found.x[:4]), abs=1e-8)
    np.testing.assert_allclose(weights, found.x[:4], atol=2e-3 if l2 < 1 else 1e-4)


@each_strength
def test_no_point_of_a_grid_is_lower(l2):
    one = KINDS["one feature"](l2)
    weights = one.minimum()
    grid = weights + np.linspace(-2, 2, 4001)[:, np.newaxis]
    values = [one.objective(point) for point in grid]
    assert np.argmin(values) == 2000
    assert min(values) >= one.objective(weights) - 1e-12


# The laws


@each_kind
@each_strength
def test_no_law_is_violated(kind, l2):
    found = theorem(KINDS[kind](l2), 12)
    worst = {law: values.max() for law, values in found.excess.items() if values.max() > SLACK}
    assert not worst
    assert not found.violated.any()


@each_strength
def test_rounds_that_add_the_least_violating_alternatives_break_the_laws(l2, monkeypatch):
    def least(one, weights):
        losses = one.psi(weights)
        return np.array([min(np.flatnonzero(one.pairs == pair), key=losses.item) for pair in range(one.pairs[-1] + 1)])

    monkeypatch.setattr(Problem, "worst", least)
    excess = theorem(draw(1, l2), 12).excess
    assert excess["lemma 2"].max() > 0.05
    assert excess["lemma 2 as printed"].max() > 0.05
    assert excess["theorem 1"].max() > 0.05 or l2 < 0.1  # of little regularisation the theorem says little


def test_the_bound_bites_where_the_regulariser_is_strong():
    strong, weak = theorem(draw(1, 100.0, scale=0.7), 12), theorem(draw(1, 1e-2), 12)
    assert strong.bound[0] < 2
    assert weak.bound[0] > 1e3


def test_only_the_relevant_alternatives_may_not_be_lost():
    """Without the relevant alternatives the minimum is another."""
    one = draw(1, 1.0)
    best = one.minimum()
    kept = one.relevant(best)
    assert 0 < kept.sum() < len(kept) - 2 * SEGMENTS
    lost = one.minimum(~kept)
    assert np.linalg.norm(lost - best) > 1e-3
    assert one.objective(best) - one.objective(lost, ~kept) > 1e-3


@each_strength
def test_rounds_end_at_the_minimum_of_everything_with_few_alternatives(l2):
    one = draw(1, l2)
    last = rounds(one, 12)[-1]
    assert abs(last.delta) < 1e-12
    np.testing.assert_allclose(last.weights, one.minimum(), atol=1e-9)
    assert np.add.reduceat(last.relevant, one.bounds[:-1], dtype=np.int64).max() <= 10


def test_ties_go_to_the_first_candidate():
    one = doubled(1.0)
    chosen = one.candidates[one.worst(np.zeros(5))]
    assert (chosen % 2 == 0).all()
    first = problem(np.zeros((3, 1)), np.ones(3), truths=1, each=3)
    assert first.candidates[first.worst(np.zeros(1))].tolist() == [1]


# Bad input


@pytest.mark.parametrize("l2", [0.0, -1.0, np.inf, np.nan])
def test_a_problem_needs_a_regulariser(l2):
    with pytest.raises(RecipeError, match=r"l2 is \S+; without a regulariser .* give one above 0"):
        draw(0, l2)


@pytest.mark.parametrize("truths", [0, 3])
def test_a_segment_needs_truths_and_an_alternative(truths):
    with pytest.raises(
        RecipeError, match=f"segment 0 has 3 candidates for {truths} truths: expected one truth or more"
    ):
        draw(0, 1.0, truths=truths, shape=(2, 3, 2))


def test_a_problem_is_finite():
    with pytest.raises(InputError, match="candidate 1 has a feature or a gain that is not finite: leave it out"):
        problem(np.zeros((3, 1)), np.array([0, np.nan, 1]), truths=1, each=3)


def test_a_minimum_that_is_not_certain_is_not_given():
    with pytest.raises(TuningError, match=r"the objective may be \S+ above its minimum, expected 1e-12: l2 = 1e-12"):
        draw(1, 1e-12).minimum()
