"""Solvers against Algorithm 1 written out, against SciPy-grade optima, and by their invariants (S4)."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from problems import task
from speeds import examples
from threadpoolctl import threadpool_info, threadpool_limits

from rampion.errors import RecipeError
from rampion.losses.contrast import FEAR, HOPE, Contrast
from rampion.losses.expectation import Risk
from rampion.losses.table import LOSSES
from rampion.optim.solvers import Cccp, Descent, Lbfgs, objective
from rampion.optim.updates import Mira, Sgd

seeds = st.integers(0, 2**32)


def algorithm_1(batch, matrix, start, rounds, epochs, eta, l2):
    """Gimpel & Smith 2012, Algorithm 1, line by line with dense vectors."""
    theta, costs, n = start.copy(), batch.stakes.costs, len(batch.stakes.bounds) - 1
    lists = [np.arange(*span) for span in pairwise(batch.stakes.bounds)]
    for _ in range(rounds):
        hopes = [span[np.argmax(matrix[span] @ theta - costs[span])] for span in lists]
        for _ in range(epochs):
            for span, hope in zip(lists, hopes, strict=True):
                fear = span[np.argmax(matrix[span] @ theta + costs[span])]
                theta = theta - eta * l2 * (theta - start) / n
                theta = theta + eta * (matrix[hope] - matrix[fear])
    return theta


@given(seed=seeds, l2=st.sampled_from([0.0, 1.0, 30.0]))
def test_rampion_is_algorithm_1(seed, l2):
    batch, matrix, start = task(seed)
    solver = Cccp(Descent(Sgd(0.01), epochs=3, l2=l2), rounds=4)
    found = solver.solve(LOSSES["ramp3"], batch, start, start)
    np.testing.assert_allclose(found, algorithm_1(batch, matrix, start, 4, 3, 0.01, l2), rtol=1e-9, atol=1e-9)


@given(seed=seeds)
def test_no_epochs_leave_the_start_and_reruns_are_bit_identical(seed):
    batch, _, start = task(seed)
    np.testing.assert_array_equal(Cccp(Descent(Sgd(), epochs=0)).solve(LOSSES["ramp3"], batch, start, start), start)
    solver = Cccp(Descent(Sgd(0.1), l2=1.0, seed=3))
    runs = [solver.solve(LOSSES["ramp3"], batch, start, start) for _ in range(2)]
    assert runs[0].tobytes() == runs[1].tobytes()


@given(seed=seeds)
def test_features_that_never_move_are_pulled_to_the_origin(seed):
    batch, _, start = task(seed)
    origin = np.zeros(len(start))
    tied = replace(batch, stakes=replace(batch.stakes, costs=0 * batch.stakes.costs))
    steps, segments = 5, len(batch.stakes.bounds) - 1
    found = Descent(Sgd(0.1), epochs=steps, l2=2.0).solve(LOSSES["ramp3"], tied, start, origin)
    np.testing.assert_allclose(found, start * (1 - 0.1 * 2.0 / segments) ** (steps * segments), rtol=1e-12)


@given(seed=seeds, loss=st.sampled_from(["ramp3", "ramp2", "kbest-perceptron"]))
def test_an_uncapped_passive_aggressive_step_satisfies_its_segment(seed, loss):
    batch, matrix, start = task(seed, segments=1)
    pinned = LOSSES[loss].pinned(batch.stakes, batch.candidates.score(start))
    moved = Descent(Mira(np.inf), epochs=1).solve(pinned, batch, start, start)
    costs = batch.stakes.costs * pinned.down.tilt
    up = int(np.argmax(pinned.mass))
    before, after = matrix @ start + costs, matrix @ moved + costs
    down = int(np.argmax(before))
    assert before[down] - before[up] >= 0
    if (matrix[up] != matrix[down]).any():
        assert after[down] - after[up] == pytest.approx(0, abs=1e-9)
    else:
        np.testing.assert_array_equal(moved, start)


@pytest.mark.parametrize("loss", ["och-ney", "soft-fear-ramp3", "softmax-margin", "hope-log", "log"])
@examples(10)
@given(seed=seeds)
def test_cccp_with_an_exact_inner_minimiser_never_rises(loss, seed):
    batch, _, start = task(seed)
    values = [objective(LOSSES[loss], batch, start, start, 0.5)[0]]
    Cccp(Lbfgs(l2=0.5, steps=500), rounds=6).solve(
        LOSSES[loss],
        batch,
        start,
        start,
        lambda _, weights: values.append(objective(LOSSES[loss], batch, weights, start, 0.5)[0]),
    )
    assert all(after <= before + 1e-6 * (1 + abs(before)) for before, after in pairwise(values))


@pytest.mark.parametrize("loss", [*(name for name in LOSSES if LOSSES[name].smooth), "risk"])
@given(seed=seeds)
def test_the_gradient_is_the_central_difference(loss, seed):
    batch, _, start = task(seed)
    loss = LOSSES.get(loss, Risk())
    _, gradient = objective(loss, batch, start, 0 * start, 0.7)
    for j in range(len(start)):
        shift = np.zeros(len(start))
        shift[j] = 1e-5
        values = [objective(loss, batch, start + sign * shift, 0 * start, 0.7)[0] for sign in (1, -1)]
        assert gradient[j] == pytest.approx((values[0] - values[1]) / 2e-5, abs=1e-6)


def test_convex_losses_reach_one_optimum_from_any_start():
    batch, _, _ = task(5, segments=20)
    pinned = LOSSES["och-ney"].pinned(batch.stakes, np.zeros(batch.candidates.size))
    random = np.random.default_rng(0)
    optima = []
    for _ in range(3):
        start = 3 * random.normal(size=len(batch.candidates.features))
        found = Lbfgs(l2=1.0, steps=500).solve(pinned, batch, start, 0 * start)
        optima.append(objective(pinned, batch, found, 0 * start, 1.0)[0])
    assert max(optima) - min(optima) < 1e-4


@pytest.mark.parametrize("update", [Sgd(1e-3), Mira(0.01)])
@pytest.mark.parametrize("after", ["segment", "all"])
@pytest.mark.parametrize("loss", [name for name in LOSSES if isinstance(LOSSES[name], Contrast)])
def test_every_contrast_runs_with_every_update(loss, after, update):
    batch, _, start = task(1, segments=20)
    rounds = []
    solver = Descent(update, epochs=3, after=after, seed=0)
    found = solver.solve(LOSSES[loss], batch, start, start, lambda round_, weights: rounds.append((round_, weights)))
    assert [round_ for round_, _ in rounds] == [1, 2, 3]
    np.testing.assert_array_equal(rounds[-1][1], found)
    assert np.isfinite(found).all()
    assert (found != start).any()


def test_a_batch_step_is_the_gradient():
    batch, _, start = task(2)
    _, gradient = objective(LOSSES["ramp3"], batch, start, 0 * start, 2.0)
    np.testing.assert_allclose(
        Descent(Sgd(0.1), epochs=1, after="all", l2=2.0).solve(LOSSES["ramp3"], batch, start, 0 * start),
        start - 0.1 * gradient,
    )


class Anagrad:
    """An update without a pace."""

    def start(self, size):
        return None

    def step(self, weights, gradient, value, state):
        weights -= gradient


@pytest.mark.parametrize(
    ("solver", "loss", "message"),
    [
        (Lbfgs(), LOSSES["ramp3"], "needs a smooth loss; Contrast picks single"),
        (Lbfgs(), LOSSES["log"], "needs a smooth loss"),
        (Cccp(Lbfgs()), LOSSES["ramp3"], "needs a smooth loss; Pinned"),
        (Cccp(Descent(Sgd())), Risk(), "Cccp needs a loss with an up side to pin; Risk has none"),
        (Descent(Sgd()), Risk(), "Risk is not a contrast of two sides; use Descent"),
        (Descent(Mira(), l2=1.0), LOSSES["ramp3"], "Mira has no L2"),
        (Descent(Anagrad()), LOSSES["ramp3"], "Anagrad cannot step after every segment"),
    ],
)
def test_parts_that_do_not_fit_are_refused(solver, loss, message):
    with pytest.raises(RecipeError, match=message):
        solver.check(loss)


def test_a_pull_beyond_the_origin_is_refused():
    batch, _, start = task(1)
    with pytest.raises(RecipeError, match="L2 pull of one step is"):
        Descent(Sgd(1.0), l2=100.0).solve(Contrast(HOPE, FEAR), batch, start, start)


def test_lbfgs_holds_blas_to_one_thread():
    """Two would sum in another order, and so end in other bits."""
    batch, _, start = task(1)
    seen = set()

    class Spy:
        smooth, scope, relative = True, "segment", True

        def slopes(self, stakes, scores):
            seen.update(one["num_threads"] for one in threadpool_info() if one["user_api"] == "blas")
            return LOSSES["soft-ramp3"].slopes(stakes, scores)

    with threadpool_limits(2, user_api="blas"):
        Lbfgs().solve(Spy(), batch, start, start)
    assert seen == {1}
