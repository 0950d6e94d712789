"""MERT against exact arithmetic, brute force and grids; its walks by their promises (S5)."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from importlib import import_module
from itertools import pairwise, product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from speeds import examples
from strategies import random_store

from rampion.errors import RecipeError, TuningError
from rampion.losses.contrast import MODEL
from rampion.losses.table import LOSSES
from rampion.metrics import Bleu, Chrf, Column, Meteor, Ter, Wer
from rampion.metrics.judging import Batch, Stakes
from rampion.optim import mert
from rampion.optim.mert import CorpusScore, LineSearch
from rampion.optim.solvers import Cccp, Descent, Lbfgs
from rampion.optim.updates import Sgd
from rampion.store.candidates import Candidates
from rampion.training.recipes import RECIPES
from rampion.training.tuning import tune

ENVELOPES = [import_module(f"rampion.{package}.envelope") for package in ("_core", "_reference")]
METRICS = [Bleu(), Wer(), Wer(reverse=True), Ter(), Chrf(), Meteor(), Column("x"), Column("x", higher_is_better=False)]
WIDTHS = {Bleu: 10, Wer: 2, Ter: 2, Chrf: 18, Meteor: 4, Column: 2}

seeds = st.integers(0, 2**32)


@st.composite
def bundles(draw, largest=9):
    """Intercepts, slopes and bounds of lists of lines: whole numbers, with ties and crossings in one point, or any."""
    sizes = draw(st.lists(st.integers(0, largest), min_size=1, max_size=4))
    span, n = draw(st.sampled_from([1, 2, 5, 30, 0])), sum(sizes)
    random = np.random.default_rng(draw(seeds))
    lines = random.integers(-span, span + 1, (2, n)).astype(float) if span else random.normal(size=(2, n))
    return *lines, np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64), random


def extremes(module, values, bounds):
    least, most = np.empty((2, len(bounds) - 1), np.int64)
    module.extremes(values, bounds, least, most)
    return least, most


def climbed(module, intercepts, slopes, bounds):
    """[(start, winner)] of all lists."""
    n = len(slopes)
    starts, winners = np.empty(n), np.empty(n, np.int64)
    known = *extremes(module, slopes, bounds), extremes(module, intercepts, bounds)[1]
    count = module.envelope(intercepts, slopes, *known, bounds, np.empty(n, np.int64), starts, winners)
    return starts[:count], winners[:count]


@given(bundles())
def test_extremes_are_the_first_of_the_least_and_of_the_greatest(bundle):
    values, _, bounds, _ = bundle
    for module in ENVELOPES:
        for s, (least, most) in enumerate(zip(*extremes(module, values, bounds), strict=True)):
            own = values[bounds[s] : bounds[s + 1]]
            wanted = (own.argmin(), own.argmax()) if len(own) else (0, 0)
            assert (least - bounds[s], most - bounds[s]) == wanted


@examples(500)
@given(bundles())
def test_envelope_and_sweep_equal_their_twins(bundle):
    intercepts, slopes, bounds, random = bundle
    statistics = random.normal(size=(len(slopes), 3))
    least, reach = random.choice([0.0, 1e-4, 0.5]), random.choice([0.3, 10.0, np.inf])
    results = []
    for module in ENVELOPES:
        starts, winners = climbed(module, intercepts, slopes, bounds)
        spots, totals = np.zeros(len(slopes)), np.zeros((3, len(slopes)))
        sorting = np.argsort(starts, kind="stable")
        count = module.sweep(starts, winners, sorting, statistics, least, reach, np.empty(3), spots, totals)
        results.append([array.tobytes() for array in (starts, winners, spots, totals)] + [count])
    assert results[0] == results[1]


@given(seed=seeds, scale=st.sampled_from([1.0, 1e-9, 1e300]))
def test_long_lists_take_every_path_of_the_envelope(seed, scale):
    random = np.random.default_rng(seed)
    bounds = np.array([0, 150, 150, 400])
    lines = scale * random.normal(size=400), np.round(random.normal(size=400), random.integers(0, 12))
    with np.errstate(over="ignore"):
        found = [climbed(module, *lines, bounds) for module in ENVELOPES]
    for starts, winners in found:
        assert (starts.tobytes(), winners.tobytes()) == (found[0][0].tobytes(), found[0][1].tobytes())


@examples(500)
@given(bundles())
def test_the_envelope_is_who_wins_in_exact_arithmetic(bundle):
    intercepts, slopes, bounds, _ = bundle
    starts, winners = climbed(ENVELOPES[0], intercepts, slopes, bounds)
    heights, rises = [[Fraction(value) for value in values.tolist()] for values in (intercepts, slopes)]
    reigns = {s: [] for s in range(len(bounds) - 1)}
    for start, winner in zip(starts.tolist(), winners.tolist(), strict=True):
        reigns[int(np.searchsorted(bounds, winner, side="right")) - 1].append((start, winner))
    whole = all(value.denominator == 1 for value in heights)
    for s, (begin, end) in enumerate(pairwise(bounds.tolist())):
        assert bool(reigns[s]) == (begin < end)
        edges = [start for start, _ in reigns[s]] + [np.inf]
        assert edges == sorted(set(edges))
        for (_, winner), left, right in zip(reigns[s], edges, edges[1:], strict=False):
            x = Fraction(middle(left, right))
            best = max(range(begin, end), key=lambda i: (heights[i] + x * rises[i], -i))
            if whole:
                assert winner == best
            else:
                assert heights[winner] + x * rises[winner] >= heights[best] + x * rises[best] - Fraction(1e-12)
        crossings = [(heights[i] - heights[k]) / (rises[k] - rises[i]) for (_, i), (_, k) in pairwise(reigns[s])]
        assert [float(x) for x in crossings] == pytest.approx(edges[1:-1])


def landscape(seed, metric, features=3, segments=5, largest=5, span=4):
    """A batch with whole features and random statistics of a metric's kind, empty lists and twins among them."""
    random = np.random.default_rng(seed)
    store = random_store(random, [*random.integers(0, largest + 1, segments).tolist(), 2], features, 0)
    store = replace(
        store, lists=store.lists._replace(dense=random.integers(-span, span + 1, len(store.lists.dense)) * 1.0)
    )
    n, width = store.size, WIDTHS[type(metric)]
    statistics = random.integers(1, 30, (n, width))
    if isinstance(metric, Bleu):
        statistics[:, 2:6] = np.minimum(statistics[:, 2:6], statistics[:, 6:])
    if isinstance(metric, Column):
        statistics = np.stack([random.normal(size=n), np.ones(n)], axis=1)
    stakes = Stakes(store.bounds, random.random(n), np.zeros(n, bool))
    return Batch(store, statistics, stakes, metric), random


def value(batch, weights):
    """What MERT maximises, from the definition."""
    score = batch.corpus_score(MODEL.picks(batch.stakes, batch.scores(weights)))
    return score if batch.metric.higher_is_better else -score


def walk(batch, weights, origin=None, l2=0.0, solver=None):
    origin = 0 * weights if origin is None else origin
    ground = mert._Ground(batch, np.arange(len(weights)), weights, origin, l2)
    return mert._Walk(solver or LineSearch(), ground, np.random.default_rng(0), weights)


def intervals(batch, weights, direction):
    """[(left, right, value)] where no list changes its winner, from every crossing of any two lines."""
    scores, slopes = batch.scores(weights), batch.candidates.score(direction)
    crossings = {-np.inf, np.inf}
    for begin, end in pairwise(batch.stakes.bounds):
        for i, k in product(range(begin, end), repeat=2):
            if slopes[i] < slopes[k]:
                crossings.add((scores[i] - scores[k]) / (slopes[k] - slopes[i]))
    found = []
    for left, right in pairwise(sorted(crossings)):
        picks = MODEL.picks(batch.stakes, scores + middle(left, right) * slopes).tolist()
        if found and found[-1][2] == picks:
            left = found.pop()[0]
        found.append((left, right, picks))
    sign = 1 if batch.metric.higher_is_better else -1
    return [(left, right, sign * batch.corpus_score(np.array(picks))) for left, right, picks in found]


def middle(left, right):
    """The point that stands for an interval."""
    if left < 0 < right:
        return 0.0
    return right - 1 if left == -np.inf else left + 1 if right == np.inf else (left + right) / 2


@examples(200)
@given(seeds, st.sampled_from(METRICS))
def test_a_look_along_a_line_finds_what_brute_force_finds(seed, metric):
    batch, random = landscape(seed, metric)
    weights, direction = random.integers(-4, 5, 3).astype(float), random.integers(-2, 3, 3).astype(float)
    here = walk(batch, weights)
    reach, line = here.ground.reach, here.ground.line(direction)
    spots = [
        (middle(left, right) if np.isinf([left, right]).any() else middle(max(left, -reach), min(right, reach)), high)
        for left, right, high in intervals(batch, weights, direction)
        if min(right, reach) - max(left, -reach) > mert.NARROWEST
    ]
    top = max(high for _, high in spots)
    height, spot = here.look(line)
    assert height == pytest.approx(top, abs=1e-9)
    if not isinstance(metric, Column):  # sums of whole numbers are exact, so that equal intervals are
        best = [x for x, high in spots if high == top]
        assert spot == pytest.approx(min(best, key=abs)) or abs(spot) == pytest.approx(min(map(abs, best)))
        assert (spot == 0.0) == (0.0 in best)


@examples(50)
@given(seeds, st.sampled_from([0.5, 30.0]))
def test_l2_counts_against_the_score(seed, l2):
    batch, random = landscape(seed, Bleu())
    weights, origin, direction = random.normal(size=(3, 3))
    here = walk(batch, weights, origin, l2)
    height, spot = here.look(here.ground.line(direction))

    def worth(x):
        away = weights + x * direction - origin
        return value(batch, weights + x * direction) - l2 / 2 * (away @ away)

    assert height == pytest.approx(worth(spot))
    assert all(
        worth(middle(left, right)) <= height + 1e-9
        for left, right, _ in intervals(batch, weights, direction)
        if right - left > mert.NARROWEST and abs(middle(left, right)) < here.ground.reach
    )


@examples(12)
@given(seeds, st.sampled_from([Bleu(), Wer()]), st.sampled_from([2, 3]), st.sampled_from(["powell", "sequential"]))
def test_no_point_of_a_dense_grid_is_better(seed, metric, features, search):
    batch, random = landscape(seed, metric, features, segments=3, largest=4)
    start = random.normal(size=features)
    found = LineSearch(search, restarts=30, directions=4, gain=0).solve(CorpusScore(), batch, start, start)
    ticks = np.linspace(-1, 1, 30 if features == 2 else 11) + 1e-3
    assert max(value(batch, np.array(point)) for point in product(ticks, repeat=features)) <= value(batch, found) + 1e-9


@pytest.mark.parametrize("metric", METRICS, ids=lambda metric: f"{metric.name}-{metric.higher_is_better}")
@pytest.mark.parametrize("search", ["powell", "sequential", "random"])
def test_a_search_never_ends_below_its_start_and_more_restarts_never_lose(metric, search):
    batch, random = landscape(7, metric, 4, segments=20, largest=9)
    start, heights, watched = random.normal(size=4), [], []
    for restarts in (0, 3, 12):
        solver = LineSearch(search, restarts=restarts, patience=10, around=restarts == 0)
        found = solver.solve(
            CorpusScore(), batch, start, start, lambda turn, at: watched.append((turn, value(batch, at)))
        )
        heights.append(value(batch, found))
        assert watched[-1][1] == heights[-1]
        assert watched == sorted(watched)
        watched.clear()
    assert value(batch, start) <= heights[0] <= heights[1] <= heights[2] > value(batch, start)


@pytest.mark.parametrize("search", ["powell", "sequential", "random"])
def test_any_number_of_threads_finds_the_same_weights(search):
    batch, random = landscape(3, Bleu(), 4, segments=20, largest=9)
    start, runs = random.normal(size=4), []
    for threads in (1, 2, 5, 0):
        seen = []
        solver = LineSearch(search, restarts=6, directions=2, patience=5, seed=4, threads=threads)
        found = solver.solve(
            CorpusScore(), batch, start, start, lambda turn, at, seen=seen: seen.append((turn, at.tobytes()))
        )
        runs.append((found.tobytes(), seen))
    assert all(run == runs[0] for run in runs)
    assert replace(solver, seed=5).solve(CorpusScore(), batch, start, start).tobytes() != runs[0][0]


def test_earlier_optima_are_starts_that_draw_no_random_numbers():
    batch, random = landscape(7, Bleu(), 4, segments=20, largest=9)
    start = random.normal(size=4)
    alone = LineSearch(restarts=6, seed=1)
    best = alone.solve(CorpusScore(), batch, start, start)
    later = replace(batch, history=(best,))
    plain = LineSearch(restarts=0).solve(CorpusScore(), later, start, start)
    helped = LineSearch(restarts=0, historic=True).solve(CorpusScore(), later, start, start)
    assert value(batch, helped) >= max(value(batch, best), value(batch, plain))
    both = replace(alone, historic=True)
    assert value(batch, both.solve(CorpusScore(), later, start, start)) >= value(batch, best)
    assert both.solve(CorpusScore(), batch, start, start).tobytes() == best.tobytes()


@given(seeds)
def test_lists_of_one_candidate_leave_the_start(seed):
    batch, random = landscape(seed, Bleu(), largest=1)
    single = np.diff(batch.stakes.bounds) < 2
    batch = Batch(
        batch.candidates.keep(np.repeat(single, np.diff(batch.stakes.bounds)) | (batch.candidates.rank() == 0)),
        batch.statistics[batch.candidates.rank() == 0],
        replace(batch.stakes, bounds=np.concatenate([[0], np.cumsum(np.diff(batch.stakes.bounds) > 0)])),
        batch.metric,
    )
    start = random.normal(size=3)
    np.testing.assert_array_equal(LineSearch(restarts=2).solve(CorpusScore(), batch, start, start), start)


def test_l2_keeps_the_weights_near_their_origin():
    batch, random = landscape(7, Bleu(), 4, segments=20, largest=9)
    start = random.normal(size=4)
    moved = [
        np.linalg.norm(LineSearch(l2=l2, seed=1).solve(CorpusScore(), batch, start, start) - start)
        for l2 in (0.0, 1.0, 1e6)
    ]
    assert moved[0] > moved[1] > moved[2] == 0


def test_no_step_goes_far():
    batch, _ = landscape(7, Bleu(), 4, segments=20, largest=9)
    start = np.zeros(4)
    found = LineSearch("random", restarts=0).solve(CorpusScore(), batch, start, start)
    assert 0 < np.abs(found).max() < 100 * mert.FARTHEST
    crowded = walk(batch, start)
    crowded.ground.reach = 1e-6
    assert crowded.look(crowded.ground.lines[0]) == (-np.inf, 0.0)
    assert not crowded.go(crowded.ground.lines[0], -np.inf, 0.0)


def test_a_gain_that_is_none_is_not_kept():
    batch, random = landscape(7, Bleu(), 4, segments=20, largest=9)
    here = walk(batch, random.normal(size=4))
    before = here.weights, here.value
    assert not here.go(here.ground.lines[0], here.value + 1, 0.0)
    assert (here.weights, here.value) == before


def test_the_axes_are_dense_features_all_of_few_sparse_ones_and_the_most_frequent_of_many():
    store = random_store(np.random.default_rng(0), [20, 0, 20], 2, 5, counts_only=True, fill=0.5)
    rows = store.rows()
    counts = np.bincount(rows.ids, rows.values, minlength=7)
    counts[:2] = 0
    order = sorted(range(2, 7), key=lambda j: (-counts[j], j))
    for sparse in (0, 1, 3, 5, 99):
        many = LineSearch(few=4, sparse=sparse)
        assert many.axes(store).tolist() == [0, 1, *order[:sparse]]
        assert many.unmoved(store) == max(0, 5 - sparse)
        assert LineSearch(few=5, sparse=sparse).axes(store).tolist() == [0, 1, *order]
    none = random_store(np.random.default_rng(0), [9], 0, 4)
    assert len(LineSearch(few=0, sparse=2).axes(none)) == 2
    with pytest.raises(TuningError, match=r"no dense features to search along, and \d sparse ones.*--set sparse=100"):
        LineSearch(few=1).axes(none)


def test_only_the_axes_move():
    batch, random = landscape(5, Bleu(), 2, segments=20)
    store = random_store(random, np.diff(batch.stakes.bounds).tolist(), 2, 6)
    start = random.normal(size=8)
    batch = replace(batch, candidates=store)
    for few, sparse in ((0, 0), (0, 2), (6, 0)):
        solver = LineSearch(restarts=3, few=few, sparse=sparse)
        found = solver.solve(CorpusScore(), batch, start, start)
        assert set(np.flatnonzero(found != start)) <= set(solver.axes(store).tolist())
        assert (found != start).any()


def test_an_indicator_is_learnt_sparse_as_if_it_were_dense():
    """Whether a feature that most candidates lack is written down as 0 or left out changes nothing."""
    random = np.random.default_rng(3)
    right, length = random.random((40, 4)) < 0.3, random.normal(size=(40, 4))
    records = {dense: [
        {"id": str(s), "hyps": [
            {"text": f"{s} {c}", "metrics": {"good": float(good)},
             "feats": {"length": away} | ({"sign": float(good)} if good or dense else {})}
            for c, (good, away) in enumerate(zip(*row, strict=True))]}
        for s, row in enumerate(zip(right.tolist(), length.tolist(), strict=True))]
        for dense in (False, True)}  # fmt: skip
    found = {dense: tune(Candidates.from_records(row), recipe="mert", metric="metric:good", folds=0)
             for dense, row in records.items()}  # fmt: skip
    assert found[False].weights.features.width == 1
    assert found[True].weights.features.width == 2
    for tuned in found.values():
        assert tuned.after.chosen == tuned.after.oracle


@given(seeds, st.sampled_from(METRICS))
def test_scores_of_many_sums_are_the_scores_of_each(seed, metric):
    batch, random = landscape(seed, metric)
    totals = batch.statistics[random.integers(0, len(batch.statistics), (9, 4))].sum(axis=1)
    if isinstance(metric, Bleu):
        totals[:4, 2 + random.integers(0, 4)] = 0
        totals[4] = 0
    for form in (totals, np.asfortranarray(totals), totals.astype(float)):
        np.testing.assert_array_equal(metric.scores(form), [metric.total_score(total) for total in totals])


def test_the_corpus_score_is_the_cost_of_the_choices_and_flat():
    batch, random = landscape(5, Bleu())
    scores = random.normal(size=batch.candidates.size)
    cost, slopes = CorpusScore().slopes(batch.stakes, scores)
    assert cost == batch.stakes.costs[MODEL.picks(batch.stakes, scores)].sum()
    assert not slopes.any()
    assert RECIPES["mert"].loss == CorpusScore()


@pytest.mark.parametrize(
    ("solver", "loss", "message"),
    [
        (LineSearch(), LOSSES["ramp3"], "the score of the whole corpus, which Contrast is not; use CorpusScore"),
        (Descent(Sgd()), CorpusScore(), "CorpusScore is flat between its jumps and has no slope to follow; use LineS"),
        (Descent(Sgd(), after="all"), CorpusScore(), "flat between its jumps"),
        (Lbfgs(), CorpusScore(), "flat between its jumps"),
        (Cccp(Lbfgs()), CorpusScore(), "needs a loss with an up side to pin; CorpusScore has none"),
    ],
)
def test_parts_that_do_not_fit_are_refused(solver, loss, message):
    with pytest.raises(RecipeError, match=message):
        solver.check(loss)


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ({"search": "gradient"}, "search is 'gradient'; expected 'powell', 'sequential' or 'random'"),
        ({"restarts": -1}, "restarts is -1; expected 0 or more"),
        ({"gain": -1.0}, "gain is -1.0; expected 0 or more"),
    ],
)
def test_senseless_settings_are_refused(setting, message):
    with pytest.raises(RecipeError, match=message):
        LineSearch(**setting)
