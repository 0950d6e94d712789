"""Expectation losses against sums over all candidates, their limits, and a grid; scores to build on (S3.1, S8, S11)."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from math import exp, log

import numpy as np
import pytest
from facts import built
from hypothesis import given
from hypothesis import strategies as st
from problems import task
from strategies import arrays, random_store, stores
from twins import both, same_bits

from rampion.errors import InputError, RecipeError, TuningError
from rampion.losses.contrast import MODEL
from rampion.losses.expectation import ExpectedBleu, Risk
from rampion.losses.table import LOSSES
from rampion.metrics import Column
from rampion.metrics.judging import Batch, Stakes, totals
from rampion.optim.solvers import Annealed, Cccp, Descent, Lbfgs, objective
from rampion.optim.updates import AdaGrad, Mira, Rprop, Sgd
from rampion.store.features import Weights
from rampion.training.estimator import Reranker
from rampion.training.policies import Fixed
from rampion.training.recipes import RECIPES, Recipe
from rampion.training.reranking import pick, rerank
from rampion.training.tuning import tune

seeds = st.integers(0, 2**32)
temperatures = st.sampled_from([0.2, 1.0, 3.0])
warmths = st.sampled_from([0.0, 0.5, 2.0])


def lists(seed):
    """Scores and stakes of a few lists, an empty one among them; some metrics exceed 1, so some costs are below 0."""
    random = np.random.default_rng(seed)
    lengths = [0, *random.integers(1, 8, 4)]
    n = sum(lengths)
    costs = random.random(n) * 1.3 - 0.3
    return random.normal(size=n) * 2, Stakes(np.concatenate([[0], np.cumsum(lengths)]), costs, np.zeros(n, bool))


def distributions(stakes, scores, temperature):
    """(span, p) of every list that has candidates, by the definition."""
    for start, end in pairwise(stakes.bounds.tolist()):
        if end > start:
            powers = [exp(score / temperature) for score in scores[start:end]]
            yield slice(start, end), np.array(powers) / sum(powers)


@given(stores(), st.integers(0, 2**32).map(np.random.default_rng), st.booleans(), temperatures, warmths)
def test_the_kernel_is_its_twin(store, random, ties, temperature, warmth):
    scores, values = arrays(random, store.size, ties), arrays(random, store.size, ties)
    filled = [(np.empty(len(store.segments)), np.empty(len(store.segments)), np.empty(store.size)) for _ in range(2)]
    for kernel, out in zip(both("expect", "expect"), filled, strict=True):
        kernel(scores, values, store.bounds, temperature, warmth, *out)
    for left, right in zip(*filled, strict=True):
        same_bits(left, right)


@given(seeds, temperatures, warmths)
def test_risk_is_the_expected_cost_less_the_entropy(seed, temperature, warmth):
    scores, stakes = lists(seed)
    value = Risk(temperature, warmth).slopes(stakes, scores)[0]
    spread = list(distributions(stakes, scores, temperature))
    expected = sum(p @ stakes.costs[span] + warmth * p @ np.log(p) for span, p in spread)
    assert value == pytest.approx(expected, abs=1e-9)
    entropy = np.mean([-p @ np.log(p) for _, p in spread])
    assert Risk(temperature).effective(stakes, scores) == pytest.approx(exp(entropy))


@given(seeds)
def test_expected_bleu_is_a_mean_over_all_segments_the_empty_too(seed):
    scores, stakes = lists(seed)
    gains = [p @ (1 - stakes.costs[span]) for span, p in distributions(stakes, scores, 1.0)]
    assert ExpectedBleu().slopes(stakes, scores)[0] == pytest.approx(-log(sum(gains) / 5), abs=1e-9)


@pytest.mark.parametrize("loss", [Risk(), Risk(0.3), Risk(2.0, 0.7), ExpectedBleu(), ExpectedBleu(0.5)])
@given(seeds)
def test_slopes_are_central_differences_and_sum_to_zero(loss, seed):
    scores, stakes = lists(seed)
    value, slopes = loss.slopes(stakes, scores)
    for i in range(len(scores)):
        shift = np.zeros(len(scores))
        shift[i] = 1e-5
        above, below = (loss.slopes(stakes, scores + sign * shift)[0] for sign in (1, -1))
        assert slopes[i] == pytest.approx((above - below) / 2e-5, abs=1e-6)
    for span in pairwise(stakes.bounds):
        assert slopes[slice(*span)].sum() == pytest.approx(0, abs=1e-12)
    assert loss.slopes(stakes, scores + 1000.0)[0] == pytest.approx(value, abs=1e-9)


@given(seeds)
def test_the_gradient_of_expected_bleu_takes_two_passes(seed):
    """S11.2 written out: the softmax and the mean of a list, then every firing of a feature."""
    batch, matrix, start = task(seed)
    costs = batch.stakes.costs / (1 + batch.stakes.costs.max())
    batch = replace(batch, stakes=replace(batch.stakes, costs=costs))
    total, gradient = 0.0, np.zeros(len(start))
    for span, p in distributions(batch.stakes, matrix @ start, 1.0):
        beta = 1 - costs[span]
        mean = p @ beta
        total += mean
        for row, weight, gain in zip(matrix[span], p, beta, strict=True):
            gradient += row * weight * (gain - mean)
    tau = 0.3
    found = objective(ExpectedBleu(), batch, start, 0 * start, 2 * tau)[1]
    np.testing.assert_allclose(-found, gradient / total - 2 * tau * start, atol=1e-9)


@given(seeds)
def test_cold_risk_is_the_cost_of_the_model_s_choice_and_hot_risk_the_mean(seed):
    scores, stakes = lists(seed)
    value, slopes = Risk(1e-4).slopes(stakes, scores)
    best = MODEL.picks(stakes, scores)
    if min(np.diff(np.sort(scores[slice(*span)]))[-1:].min(initial=1) for span in pairwise(stakes.bounds)) > 0.01:
        assert value == pytest.approx(stakes.costs[best].sum(), abs=1e-9)
        assert Risk(1e-4).effective(stakes, scores) == pytest.approx(1)
        np.testing.assert_allclose(slopes, 0, atol=1e-9)
    means = [stakes.costs[slice(*span)].mean() for span in pairwise(stakes.bounds) if span[0] < span[1]]
    assert Risk(1e9).slopes(stakes, scores)[0] == pytest.approx(sum(means), abs=1e-6)


@given(seeds, temperatures, st.sampled_from([0.1, 1.0]))
def test_warm_risk_is_least_at_boltzmann_s_distribution(seed, temperature, warmth):
    scores, stakes = lists(seed)
    loss, boltzmann = Risk(temperature, warmth), -stakes.costs * temperature / warmth
    value, slopes = loss.slopes(stakes, boltzmann)
    np.testing.assert_allclose(slopes, 0, atol=1e-12)
    assert value <= loss.slopes(stakes, scores)[0] + 1e-9


def test_what_has_no_logarithm_is_refused():
    scores, stakes = lists(0)
    with pytest.raises(TuningError, match=r"expected score of a segment is -.*needs alpha=1 and a metric"):
        ExpectedBleu().slopes(replace(stakes, costs=stakes.costs + 5), scores)
    with pytest.raises(TuningError, match="segment is 0, which has no logarithm"):
        ExpectedBleu().slopes(Stakes(np.zeros(3, np.int64), np.zeros(0), np.zeros(0, bool)), np.zeros(0))
    for loss in (Risk, ExpectedBleu):
        with pytest.raises(RecipeError, match="the temperature is 0; expected a positive number"):
            loss(0)


def test_the_grid_of_temperatures_ends_at_the_loss_itself():
    assert Annealed(Lbfgs(), hot=1.0, cooling=0.5, rounds=4).levels(0.0) == [1.0, 0.5, 0.25, 0.0]
    assert Annealed(Lbfgs(), hot=4.0, cooling=0.5, rounds=3).levels(1.0) == [5.0, 3.0, 1.0]
    batch, _, start = task(3)
    once = Annealed(Lbfgs(), rounds=1).solve(Risk(), batch, start, start)
    np.testing.assert_array_equal(once, Lbfgs().solve(Risk(), batch, start, start))
    seen = []
    annealed = Annealed(Lbfgs(), "temperature", hot=3.0)
    last = annealed.solve(Risk(), batch, start, start, lambda round_, weights: seen.append((round_, weights)))
    assert [round_ for round_, _ in seen] == [1, 2, 3, 4, 5]
    np.testing.assert_array_equal(last, seen[-1][1])


@pytest.mark.parametrize(
    ("solver", "loss", "message"),
    [
        (Annealed(Lbfgs()), LOSSES["soft-ramp3"], "Annealed lowers the warmth of a loss; Contrast has none: use Risk"),
        (Annealed(Lbfgs()), ExpectedBleu(), "lowers the warmth of a loss; ExpectedBleu has none"),
        (Annealed(Lbfgs(), cooling=1.0), Risk(), "cooling 1.0; expected hot >= 0 and 0 < cooling < 1"),
        (Annealed(Cccp(Lbfgs())), Risk(), "Cccp needs a loss with an up side"),
    ],
)
def test_schedules_that_do_not_fit_are_refused(solver, loss, message):
    with pytest.raises(RecipeError, match=message):
        solver.check(loss)


def small(seed, segments=12):
    """Two features and four candidates a segment; one of each list reaches a reference, costs are all different."""
    random = np.random.default_rng(seed)
    store = random_store(random, [4] * segments, 2, 0)
    matrix = store.lists.dense.reshape(segments, 2, 4).transpose(0, 2, 1).reshape(-1, 2)
    costs = 1 / (1 + np.exp(matrix @ [1.0, -0.5] + random.normal(size=store.size)))
    reached = np.tile([True, False, False, False], segments)
    return Batch(store, np.zeros((store.size, 1)), Stakes(store.bounds, costs, reached), Column("none"))


GRID = np.stack(np.meshgrid(*[np.linspace(-4, 4, 81)] * 2), -1).reshape(-1, 2)


QUASI_NEWTON = Lbfgs(l2=0.2, steps=500)
ROWS = {  # loss, solver, whether all starts must agree: with one reference a list and no equal costs these are convex
    "och-ney": (LOSSES["och-ney"], Cccp(QUASI_NEWTON), True),
    "log": (LOSSES["log"], Cccp(QUASI_NEWTON), True),
    "latent-log": (LOSSES["latent-log"], QUASI_NEWTON, True),
    "softmax-margin": (LOSSES["softmax-margin"], Cccp(QUASI_NEWTON), True),
    "risk": (Risk(), QUASI_NEWTON, False),
    "warm-risk": (Risk(warmth=0.1), QUASI_NEWTON, False),
    "risk-annealed": (Risk(), Annealed(QUASI_NEWTON), False),
    "xbleu-lbfgs": (ExpectedBleu(), Lbfgs(l2=0.02, steps=500), False),
    "xbleu-rprop": (ExpectedBleu(), Descent(Rprop(0.1), 300, "all", l2=0.02), False),
    "xbleu-adagrad": (ExpectedBleu(), Descent(AdaGrad(0.5), 600, "all", l2=0.02), False),
    "xbleu-sgd": (ExpectedBleu(), Descent(Sgd(3.0), 600, "all", l2=0.02), False),
}


@pytest.mark.parametrize("name", ROWS)
def test_no_point_of_a_grid_is_better(name):
    """The best of three starts; every one of them where the row is convex."""
    loss, solver, convex = ROWS[name]
    batch, origin = small(4), np.zeros(2)
    l2 = 0.02 if name.startswith("xbleu") else 0.2
    least = min(objective(loss, batch, at, origin, l2)[0] for at in GRID)
    values = [
        objective(loss, batch, solver.solve(loss, batch, np.array(start), origin), origin, l2)[0]
        for start in ((0.0, 0.0), (3.0, 3.0), (-3.0, 1.0))
    ]
    assert min(values) <= least + 1e-6
    assert max(values) - min(values) < (1e-6 if convex else np.inf)


def judged(seed=7):
    """Lists whose decoder scored by known weights, and a column to learn from."""
    random = np.random.default_rng(seed)
    decoder, truth = {"LM": 1.0, "TM": 0.5}, {"LM": 1.0, "TM": 0.5, "x": 2.0, "y": -2.0}
    segments = {}
    for s in range(30):
        rows = []
        for i in range(6):
            features = {"LM": random.normal(), "TM": random.normal()}
            features |= {name: 1.0 for name in ("x", "y", "z") if random.random() < 0.4}
            rows.append((f"{s} {i}", features))
        segments[str(s)] = rows
    store = built(segments)
    scores = store.score(Weights.from_dict(decoder).onto(store.features))
    values = store.score(Weights.from_dict(truth).onto(store.features))
    column = 1 / (1 + np.exp(-values - random.normal(size=store.size) * 0.1))
    return replace(store, scores=scores, metrics={"q": column}), Weights.from_dict(decoder)


def xbleu(update, **fields):
    return Recipe(ExpectedBleu(), Descent(update, epochs=15, after="all"), Fixed(), "metric:q", 1.0, **fields)


SHIFTED = {
    **{repr(update): (ExpectedBleu(), Descent(update, 15, "all", 0.01)) for update in (Sgd(1.0), AdaGrad(), Rprop())},
    "cccp": (LOSSES["ramp3"], Cccp(Descent(Sgd(0.01), l2=0.1), rounds=3)),
    "mira": (LOSSES["ramp3"], Descent(Mira(0.1))),
    "soft": (LOSSES["soft-ramp3"], Descent(Sgd(0.01), seed=1, averaged=True)),
    "oracle": (LOSSES["och-ney"], Descent(Mira(0.1))),
}


@pytest.mark.parametrize("name", SHIFTED)
def test_the_initial_weights_as_base_are_the_initial_weights(name):
    """Without L1, adding to frozen weights is moving them; L2 pulls what is added to 0."""
    lists, start = judged()
    loss, solver = SHIFTED[name]
    plain, based = (
        tune(lists, recipe=Recipe(loss, solver, Fixed(), "metric:q", 1.0, base=base), start=start)
        for base in ("none", "start")
    )
    np.testing.assert_allclose(plain.weights.vector, based.weights.vector, rtol=1e-6, atol=1e-9)
    assert plain.after == based.after
    assert [row.loss for row in plain.rounds] == pytest.approx([row.loss for row in based.rounds])


def test_l1_on_a_base_shrinks_what_is_added():
    lists, start = judged()
    tuned = tune(lists, recipe=xbleu(AdaGrad(0.1, l1=1e3), base="start"), start=start)
    np.testing.assert_array_equal(tuned.weights.vector, start.onto(lists.features))


@pytest.mark.parametrize("free", ["all", "sparse"])
def test_listed_totals_are_as_good_a_base_as_the_weights_behind_them(free):
    lists, start = judged()
    listed = tune(lists, recipe=xbleu(Rprop(0.05), base="listed", free=free))
    based = tune(lists, recipe=xbleu(Rprop(0.05), base="start", free=free), start=start)
    added = based.weights.vector - start.onto(lists.features)
    np.testing.assert_allclose(listed.weights.vector, added, atol=1e-9)
    assert (added[: lists.features.width] != 0).all() == (free == "all")
    assert listed.after == based.after
    assert listed.before.chosen == based.before.chosen < listed.after.chosen
    assert pick(lists, listed.weights, listed=True).tolist() == pick(lists, based.weights).tolist()
    best = rerank(lists, listed.weights, listed=True)
    np.testing.assert_allclose(best.scores, rerank(lists, based.weights).scores)


def test_an_estimator_adds_to_the_base_it_was_tuned_on():
    lists, _ = judged()
    model = Reranker("xbleu-rprop", metric="metric:q", base="listed").fit(lists)
    np.testing.assert_allclose(model.decision_function(lists), lists.score(model.weights_.vector) + lists.scores)
    assert model.score(lists) == pytest.approx(model.tuned_.after.chosen)
    assert model.predict(lists) == [model.rerank(lists).texts[i] for i in lists.bounds[:-1]]


def test_bases_that_cannot_be_are_refused():
    lists, start = judged()
    with pytest.raises(RecipeError, match="free='sparse' leaves dense features without weights"):
        xbleu(Rprop(), free="sparse")
    with pytest.raises(RecipeError, match="base is 'model'; expected 'none' or 'listed' or 'start'"):
        xbleu(Rprop(), base="model")
    with pytest.raises(RecipeError, match="adds to the decoder's own totals, and to initial weights too"):
        tune(lists, recipe=xbleu(Rprop(), base="listed"), start=start)
    scores = lists.scores.copy()
    scores[8] = np.nan
    with pytest.raises(InputError, match="candidate 3 of segment '1' has no score of the decoder to build on"):
        totals(replace(lists, scores=scores))


def test_expected_scores_rise_with_every_update():
    lists, start = judged()
    slow = {"xbleu-rprop": {}, "xbleu-adagrad": {"rate": 0.003}, "xbleu-sgd": {}, "xbleu-fobos": {}}
    for name, more in slow.items():  # the default of AdaGrad suits lists of a whole text, and leaps over such a hill
        rounds = tune(lists, recipe=RECIPES[name].set(metric="metric:q", scale="none", **more), start=start).rounds
        assert all(after.loss < before.loss for before, after in pairwise(rounds[:20])), name
        assert all(1 <= row.effective <= 6 for row in rounds)
