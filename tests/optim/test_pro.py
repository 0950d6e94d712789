"""PRO: the sampler's laws, the loss by its definition, the optimum that scikit-learn finds, and the rounds (S6)."""

from __future__ import annotations

from dataclasses import replace
from importlib import import_module
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_matrix, diags_array
from sklearn.linear_model import LogisticRegression
from speeds import examples
from strategies import arrays, random_store

from rampion.errors import RecipeError
from rampion.losses.pairwise import Drawn, Pairs
from rampion.losses.table import LOSSES
from rampion.metrics import Column
from rampion.metrics import metric as named
from rampion.metrics.judging import Batch, Stakes
from rampion.optim.pro import Pro, differences
from rampion.optim.solvers import Descent, Lbfgs, objective
from rampion.optim.updates import Sgd
from rampion.training.recipes import RECIPES
from rampion.training.tuning import tune

seeds = st.integers(0, 2**32)


def stakes_of(costs, lengths):
    return Stakes(np.concatenate([[0], np.cumsum(lengths)]), np.asarray(costs, float), np.zeros(len(costs), bool))


def random_stakes(seed, ties=False):
    random = np.random.default_rng(seed)
    lengths = [0, 1, *random.integers(2, 9, 3)]
    return stakes_of(np.abs(arrays(random, sum(lengths), ties)), lengths)


def task(seed, segments=12, width=3, sparse=6, counts_only=False):
    """A batch whose costs are partly predicted by the features, and a start."""
    random = np.random.default_rng(seed)
    store = random_store(random, random.integers(1, 8, segments).tolist(), width, sparse, counts_only)
    costs = np.abs(store.score(random.normal(size=len(store.features))) + random.normal(size=store.size))
    stakes = Stakes(store.bounds, costs, np.zeros(store.size, bool))
    return Batch(store, np.zeros((store.size, 1)), stakes, Column("none")), random.normal(size=len(store.features))


def liblinear(pairs, candidates, l2):
    """The weights that minimise the loss of the pairs + (l2 / 2) |weights|^2.

    liblinear wants both classes, so every other pair stands as the bad example worse - better, of equal loss.
    """
    labels = np.where(np.arange(len(pairs.better)) % 2, -1.0, 1.0)
    differences = diags_array(labels) @ (matrix(candidates, pairs.better) - matrix(candidates, pairs.worse))
    differences.eliminate_zeros()
    wide = differences.shape[1] > differences.shape[0]
    classifier = LogisticRegression(
        C=2.0 / l2, fit_intercept=False, solver="liblinear", dual=wide, tol=1e-3 if wide else 1e-6, max_iter=2000,
        random_state=0,
    )  # fmt: skip
    return np.asarray(classifier.fit(differences, labels).coef_[0], np.float64)


def matrix(candidates, picks):
    """The features of the picked candidates, one a row."""
    lists, n, width = candidates.lists, len(picks), candidates.lists.width
    owner = np.searchsorted(lists.bounds, picks, side="right") - 1
    start, size = lists.bounds[owner], np.diff(lists.bounds)[owner]
    dense = lists.dense[(width * start + picks - start)[:, np.newaxis] + size[:, np.newaxis] * np.arange(width)]
    counts = np.diff(lists.entry_bounds)[picks]
    bounds = np.concatenate([[0], np.cumsum(counts)])
    entries = np.arange(bounds[-1]) + np.repeat(lists.entry_bounds[picks] - bounds[:-1], counts)
    ids, values = np.empty(n * width + len(entries), np.int32), np.empty(n * width + len(entries))
    places = np.ones(len(ids), bool)
    block = (bounds[:-1] + width * np.arange(n))[:, np.newaxis] + np.arange(width)
    places[block] = False
    ids[block], values[block] = np.arange(width), dense
    ids[places] = lists.features[np.repeat(lists.feature_bounds[owner], counts) + lists.entries[entries]]
    values[places] = lists.values[entries] if len(lists.values) else 1.0
    shape = (n, len(candidates.features))
    found = csr_matrix((values, ids, bounds + width * np.arange(n + 1)), shape=shape)
    found.sum_duplicates()
    return found


@given(seed=seeds, ties=st.booleans(), margin=st.sampled_from([0.0, 0.3, 1.0]), kept=st.integers(1, 20))
def test_the_sampler_equals_its_twin(seed, ties, margin, kept):
    stakes, key, results = random_stakes(seed, ties), np.array([seed * 2**31 + 1], np.uint64), []
    for package in ("_core", "_reference"):
        sample = import_module(f"rampion.{package}.pairs").pairs
        counts, (better, worse) = np.empty(5, np.int64), np.full((2, 5, kept), -1)
        sample(stakes.costs, stakes.bounds, key, 40, margin, np.empty(kept), counts, better, worse)
        results.append([counts.tobytes(), better.tobytes(), worse.tobytes()])
    assert results[0] == results[1]


@given(seed=seeds, ties=st.booleans(), margin=st.sampled_from([0.0, 0.3, 1.0]))
def test_kept_pairs_pass_the_margin_widest_first(seed, ties, margin):
    stakes = random_stakes(seed, ties)
    pairs = Pairs(draws=60, kept=7, margin=margin).drawn(stakes)
    owner = np.repeat(np.arange(5), np.diff(stakes.bounds))
    np.testing.assert_array_equal(owner[pairs.better], owner[pairs.worse])
    gaps = stakes.costs[pairs.worse] - stakes.costs[pairs.better]
    assert (gaps >= margin).all()
    assert (gaps > 0).all()
    for s in range(5):
        mine = gaps[owner[pairs.better] == s]
        assert len(mine) <= 7
        assert (np.diff(mine) <= 0).all()
        if np.diff(stakes.bounds)[s] < 2:
            assert len(mine) == 0


@given(seed=seeds)
def test_equals_stand_as_drawn(seed):
    """All pairs of two cost classes differ equally, so the first kept are the beginning of all that would be kept."""
    stakes = stakes_of(np.random.default_rng(seed).integers(0, 2, 9), [9])
    few, many = (Pairs(draws=50, kept=kept, seed=seed).drawn(stakes) for kept in (4, 50))
    np.testing.assert_array_equal(few.better, many.better[:4])
    np.testing.assert_array_equal(few.worse, many.worse[:4])


def test_draws_are_uniform_and_with_replacement():
    """Each of the 20 unordered pairs of unequal j, k out of 5 x 5 (two ways each) is drawn with p = 2/25."""
    draws = 20_000
    pairs = Pairs(draws=draws, kept=draws, margin=0.0).drawn(stakes_of(range(5), [5]))
    found = np.bincount(pairs.better * 5 + pairs.worse, minlength=25).reshape(5, 5)
    expected = np.triu(np.full((5, 5), draws * 2 / 25), 1)
    deviations = (found - expected)[expected > 0] / np.sqrt(draws * 2 / 25 * 23 / 25)
    assert found[expected == 0].sum() == 0
    assert np.abs(deviations).max() < 4


def test_segments_rounds_and_seeds_have_streams_of_their_own():
    stakes = stakes_of(np.tile(np.arange(50.0), 2), [50, 50])
    first = Pairs(draws=30, kept=30).drawn(stakes)
    halves = [first.better[first.better < 50], first.better[first.better >= 50] - 50]
    others = [
        halves[1],
        Pairs(draws=30, kept=30).drawn(stakes, 1).better,
        Pairs(draws=30, kept=30, seed=1).drawn(stakes).better,
    ]
    assert all(other.tolist() != halves[0].tolist() for other in others)
    alone = Pairs(draws=30, kept=30).drawn(stakes_of(np.arange(50.0), [50]))
    np.testing.assert_array_equal(alone.better, halves[0])


@given(seed=seeds)
def test_a_pair_is_worth_both_of_its_orientations(seed):
    """L(w) = sum over both examples (x, +1) and (-x, -1) of log(1 + exp(-l w.x)), written out."""
    batch, weights = task(seed)
    pairs = Pairs(draws=30, kept=5).drawn(batch.stakes)
    expected = 0.0
    for j, k in zip(pairs.better, pairs.worse, strict=True):
        x = matrix(batch.candidates, np.array([j])).toarray()[0] - matrix(batch.candidates, np.array([k])).toarray()[0]
        for label, example in ((1, x), (-1, -x)):
            expected += np.log1p(np.exp(-label * (weights @ example)))
    assert pairs.slopes(batch.stakes, batch.scores(weights))[0] == pytest.approx(expected, rel=1e-12)


@given(seed=seeds)
def test_the_gradient_is_the_central_difference(seed):
    batch, weights = task(seed)
    loss = Pairs(draws=50, kept=6)
    _, gradient = objective(loss, batch, weights, 0 * weights, 1.0)
    for j in range(len(weights)):
        shift = 1e-5 * np.eye(len(weights))[j]
        above, below = (objective(loss, batch, weights + sign * shift, 0 * weights, 1.0)[0] for sign in (1, -1))
        assert gradient[j] == pytest.approx((above - below) / 2e-5, abs=1e-6)


@pytest.mark.parametrize("counts_only", [False, True])
@given(seed=seeds)
def test_differences_are_those_of_the_features_and_equal_those_of_the_twin(counts_only, seed):
    batch, _ = task(seed, counts_only=counts_only)
    pairs = Pairs(draws=60, kept=9, seed=seed).drawn(batch.stakes)
    bounds, ids, values = differences(pairs, batch.candidates)
    assert values.all()
    found = csr_matrix((values, ids, bounds), shape=(len(pairs.better), len(batch.candidates.features)))
    expected = matrix(batch.candidates, pairs.better) - matrix(batch.candidates, pairs.worse)
    np.testing.assert_allclose(found.toarray(), expected.toarray(), rtol=1e-12, atol=1e-12)
    lists, sums = batch.candidates.lists, np.zeros(batch.candidates.lists.local_size)
    owners = np.searchsorted(lists.bounds, pairs.better, "right") - 1
    for package in ("_core", "_reference"):
        out = np.empty_like(bounds), np.empty(len(ids), np.uint32), np.empty(len(ids))
        import_module(f"rampion.{package}.apart").apart(lists, owners, pairs.better, pairs.worse, sums, *out)
        assert [one.tobytes() for one in out] == [one.tobytes() for one in (bounds, ids, values)]
        assert not sums.any()


@pytest.mark.parametrize("l2", [0.0, 0.3, 30.0])
def test_a_round_finds_the_least_loss_of_all_weights(l2):
    """Those of features in which no pair differs are 0, if there is an L2."""
    batch, start = task(7, segments=30, sparse=20)
    loss, origin = Pairs(draws=100, kept=3, margin=0.0), np.zeros(len(start))
    found = Pro(psi=1.0, rounds=1, l2=l2).solve(loss, batch, start, origin)
    best = Lbfgs(l2, steps=500).solve(loss, batch, start, origin)
    values = [objective(loss, batch, weights, origin, l2)[0] for weights in (found, best)]
    assert values[0] <= values[1] * (1 + 1e-6) + 1e-3


def test_slopes_stay_finite_far_away():
    pairs, stakes = Drawn(np.array([0]), np.array([1])), stakes_of([0, 1], [2])
    for scores, value, slope in (([1e4, 0.0], 0.0, 0.0), ([0.0, 1e4], 2e4, 2.0)):
        found, slopes = pairs.slopes(stakes, np.array(scores))
        assert found == value
        np.testing.assert_array_equal(slopes, [-slope, slope])


@pytest.mark.parametrize("counts_only", [False, True])
@given(seed=seeds)
def test_the_matrix_holds_the_features(counts_only, seed):
    batch, weights = task(seed, counts_only=counts_only)
    picks = np.random.default_rng(seed).integers(0, batch.candidates.size, 9)
    found = matrix(batch.candidates, picks)
    np.testing.assert_allclose(found @ weights, batch.candidates.score(weights)[picks], rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize(("segments", "kept"), [(12, 20), (3, 2)], ids=["more pairs", "more features"])
@pytest.mark.parametrize("l2", [0.3, 3.0])
def test_all_classifiers_and_starts_reach_one_optimum(segments, kept, l2):
    for seed in range(2):
        batch, _ = task(seed, segments, sparse=12)
        pairs = Pairs(draws=60, kept=kept).drawn(batch.stakes)
        random, origin = np.random.default_rng(seed), np.zeros(len(batch.candidates.features))
        starts = [3 * random.normal(size=len(origin)) for _ in range(3)]
        found = [Lbfgs(l2, steps=500).solve(pairs, batch, start, origin) for start in starts]
        found.append(liblinear(pairs, batch.candidates, l2))
        values = [objective(pairs, batch, weights, origin, l2)[0] for weights in found]
        assert max(values) - min(values) < 1e-4 * max(values)
        for weights in found[1:]:
            np.testing.assert_allclose(weights, found[0], atol=0.02)


def test_rounds_interpolate():
    batch, start = task(3)
    loss, steps = Pairs(draws=100, kept=10), []
    solver = Pro(psi=0.25, rounds=3)
    found = solver.solve(loss, batch, start, start, lambda round_, weights: steps.append(weights))
    weights = start
    for round_ in range(3):
        fit = Lbfgs(1.0, steps=500).solve(loss.drawn(batch.stakes, round_), batch, start, 0 * start)
        weights = 0.25 * fit + 0.75 * weights
        np.testing.assert_allclose(steps[round_], weights, atol=5e-3)
    np.testing.assert_array_equal(found, steps[-1])
    assert solver.solve(loss, batch, start, start).tobytes() == found.tobytes()


def test_a_fixed_part_of_the_scores_takes_part():
    batch, start = task(4)
    batch = replace(batch, offset=-50.0 * batch.stakes.costs)
    loss = Pairs(draws=100, kept=10)
    found = Pro(psi=1.0, rounds=1).solve(loss, batch, start, start)
    assert np.linalg.norm(found) < 0.1  # the offset orders every pair already


def test_nothing_to_learn_from_leaves_the_start():
    batch, start = task(5)
    found = Pro(rounds=2).solve(Pairs(margin=1e6), batch, start, start)
    np.testing.assert_array_equal(found, start)


def test_other_smooth_solvers_take_pairs():
    batch, start = task(6)
    loss, origin = Pairs(draws=100, kept=10), np.zeros(len(start))
    best = Lbfgs(1.0, steps=500).solve(loss, batch, start, origin)
    near = Descent(Sgd(2e-3), epochs=3000, after="all", l2=1.0).solve(loss, batch, start, origin)
    values = [objective(loss, batch, weights, origin, 1.0)[0] for weights in (best, near)]
    assert values[1] == pytest.approx(values[0], rel=1e-3)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Pro().check(LOSSES["ramp3"]), "Pro learns from pairs; Contrast is no Pairs"),
        (lambda: Descent(Sgd()).check(Pairs()), "Pairs is not a contrast of two sides"),
        (lambda: Pro(psi=0.0), "psi is 0.0; expected a share above 0"),
        (lambda: Pro(l2=-1.0), "the classifier's l2 is -1.0"),
        (lambda: Pairs(draws=0), "draws of the pairs is 0; expected at least 1"),
        (lambda: Pairs(kept=0), "kept of the pairs is 0"),
        (lambda: Pairs(margin=-0.1), "margin of the pairs is -0.1; expected at least 0"),
        (lambda: Pairs(seed=-1), "seed of the pairs is -1"),
    ],
)
def test_parts_that_do_not_fit_are_refused(make, message):
    with pytest.raises(RecipeError, match=message):
        make()


@examples(5)
@given(seed=seeds)
def test_the_metric_s_own_scale_decides_which_pairs_pass(seed):
    """With alpha = 1 a cost is 1 - metric, so 0.05 is in BLEU units 0..1 (S16, trap 19)."""
    assert RECIPES["pro"].alpha == 1.0
    random = np.random.default_rng(seed)
    texts = [" ".join(random.choice(list("abc"), 6)) for _ in range(20)]
    store = random_store(random, [10, 10], 2, 3, texts=texts)
    for spec in ("bleu:lin-och", "bleu:moses", "bleu:floor"):
        tuned = tune(store, [["a b c a b c"]] * 2, recipe="pro", metric=spec, rounds=2, draws=50)
        assert np.isfinite(tuned.weights.vector).all()
        metric = named(spec)
        assert tuned.recipe.metric == spec
        assert metric.smoothing == {"lin-och": "lin-och", "moses": "moses", "floor": "floor"}[spec[5:]]


def test_longer_lists_draw_from_all_of_them():
    found = Pairs(draws=5000, kept=5000, margin=0.0).drawn(stakes_of(range(300), [300]))
    assert len(np.unique(np.concatenate([found.better, found.worse]))) == 300
    assert all(a >= b for a, b in pairwise((found.worse - found.better).tolist()))
