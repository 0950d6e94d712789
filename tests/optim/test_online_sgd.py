"""Laws of the online passes over relevant sets: kernels equal their twins in both bodies, and do as the formulas."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rampion._core import rank as core_rank
from rampion._core import slab_scores as core_scores
from rampion._reference import rank as reference_rank
from rampion._reference import slab_scores as reference_scores
from rampion.errors import InputError, RecipeError, TuningError
from rampion.losses.expectation import Risk
from rampion.losses.ranking import COSTMARGIN, FIXED, LITERAL, PERCEPTRON, Ranking, Regression
from rampion.optim.online_sgd import Here, OnlineSgd, SetWeights, WorkArrays
from rampion.optim.solvers import Best


class Packed(NamedTuple):
    """A working form by its layout, written from lists: independent of what the library packs."""

    bounds: np.ndarray
    truths: np.ndarray
    gains: np.ndarray
    offsets: np.ndarray
    values: np.ndarray
    starts: np.ndarray
    blob: np.ndarray
    width: int
    awake: int


def blob_of(candidates, awake, common):
    """The words of one segment: candidates are lists of places, one that counts 2 twice."""
    owners = defaultdict(int)
    for c, places in enumerate(candidates):
        for place in set(places):
            for level in range(places.count(place)):
                owners[place, level] |= 1 << c
    groups, everyone = defaultdict(list), (1 << len(candidates)) - 1
    for (place, _), mask in sorted(owners.items()):
        asleep = place > awake or (mask == everyone and not common)
        groups[asleep, mask].append(place)
    chunks = [
        (-len(places[i : i + 16]), mask, i, places[i : i + 16])
        for (asleep, mask), places in groups.items()
        for i in range(0, len(places), 16)
        if not asleep
    ]
    chunks.sort()
    count, slabs, words = len(chunks), -(-len(chunks) // 16), -(-len(candidates) // 64)
    chunks += [(0, 0, 0, [])] * (16 * slabs - count)
    sizes = bytes(len(places) for *_, places in chunks)
    blob = [count, slabs, words, 0, 0, 0, *np.frombuffer(sizes, "<u4").tolist()]
    halves = lambda mask: [mask >> 32 * i & 0xFFFFFFFF for i in range(2 * words)]  # noqa: E731
    blob += [half for _, mask, _, _ in chunks for half in halves(mask)]
    for first in range(0, len(chunks), 16):
        slab = [places for *_, places in chunks[first : first + 16]]
        blob += [places[row] if row < len(places) else 0 for row in range(len(slab[0])) for places in slab]
    dormant = sorted((mask, places) for (asleep, mask), places in groups.items() if asleep)
    blob[3], blob[4] = len(dormant), len(blob)
    for mask, places in dormant:
        blob += [*halves(mask), len(places), 0, *places, *[0] * (len(places) % 2)]
    return blob


def packed(segments, truths, gains, width=0, awake=None, common=False, random=None):
    """Segments are lists of candidates; offsets and values are drawn if there is a generator, else 0."""
    if awake is None:
        awake = max((place for candidates in segments for candidate in candidates for place in candidate), default=0)
    blobs = [blob_of(candidates, awake, common) if candidates else [] for candidates in segments]
    n = sum(map(len, segments))
    draw = random.normal if random else lambda size: np.zeros(size)
    return Packed(
        np.cumsum([0, *map(len, segments)]), np.array(truths, np.int32), np.array(gains, np.float64),
        draw(size=n), draw(size=n * width), np.cumsum([0, *map(len, blobs)]),
        np.array([word for blob in blobs for word in blob], np.uint32), width, awake,
    )  # fmt: skip


def drawn(random, segments, most, places, width=0, ties=False, common=False):
    """Sets whose candidates share most of their features, as those of a decoder do; some segments are empty."""
    lists = []
    for _ in range(segments):
        base = random.integers(1, places + 1, random.integers(0, 40))
        size = random.integers(0, most + 1) if random.random() < 0.8 else random.integers(0, 3)
        lists.append([
            sorted([*base[random.random(len(base)) < 0.7].tolist(), *random.integers(1, places + 1, 4).tolist()])
            for _ in range(size)
        ])  # fmt: skip
    truths = [random.integers(0, min(5, len(candidates)) + 1) for candidates in lists]
    n = sum(map(len, lists))
    gains = random.integers(0, 4, n) / 4 if ties else random.random(n)
    return packed(lists, truths, gains, width, int(0.9 * places), common, None if ties else random), lists


def start_of(random, places, width, ties=False):
    weights = random.integers(-2, 3, places + 1) / 2 if ties else random.normal(size=places + 1)
    weights[0] = 0.0
    return weights.astype(np.float32), random.normal(size=width)


LOSSES = [
    *(COSTMARGIN, FIXED, LITERAL, PERCEPTRON), replace(COSTMARGIN, every=True), replace(FIXED, every=True),
    replace(PERCEPTRON, every=True), Ranking(margin=0.5, staked=False), Ranking(margin=0.3, sense=-1),
]  # fmt: skip
seeds = st.integers(0, 2**32).map(np.random.default_rng)


def same_bits(*results):
    for result in results[1:]:
        for left, right in zip(results[0], result, strict=True):
            assert np.asarray(left).tobytes() == np.asarray(right).tobytes()


@given(
    seeds, st.sampled_from(LOSSES), st.sampled_from([3, 12, 40, 64, 70, 150]), st.integers(0, 3), st.booleans(),
    st.sampled_from([0.0, 0.01, 1 - 1e-4]), st.booleans(),
)  # fmt: skip
def test_bodies_and_twins_give_the_same_bits(random, loss, most, width, ties, decay, common):
    places = 200
    slabs, _ = drawn(random, 6, most, places, width, ties, common)
    order = random.integers(0, 6, 10)
    start = start_of(random, places, width, ties)
    results = []
    for ranks, slab_scores, portable in (
        (reference_rank, reference_scores, False), (core_rank, core_scores, False), (core_rank, core_scores, True),
    ):  # fmt: skip
        weights, own, room = start[0].copy(), start[1].copy(), WorkArrays.of(slabs)
        told = ranks.rank(slabs, order, loss.packed, (0.1, decay), weights, own, portable, room)
        told += ranks.rank(slabs, order, Regression().packed, (0.01, decay), weights, own, portable, room)
        scores, gradient = np.zeros(len(slabs.gains)), np.zeros(places + 1)
        slab_scores.slab_scores(slabs, weights, own, scores)
        slab_scores.slab_gradient(slabs, scores, gradient)
        results.append((*told, weights, own, scores, gradient))
    same_bits(*results)
    assert not np.isnan(results[0][4]).any()


@pytest.mark.parametrize("portable", [True, False])
def test_bodies_and_twins_agree_on_weights_beyond_all_bounds(portable):
    slabs = packed([[[1, 2], [2, 3], [3]]], [1], [1.0, 0.5, 0.0])
    results, order, step = [], np.zeros(9, np.int64), (1e39, 0.0)
    for ranks in (reference_rank, core_rank):
        weights = np.zeros(4, np.float32)
        told = ranks.rank(slabs, order, COSTMARGIN.packed, step, weights, np.zeros(0), portable, WorkArrays.of(slabs))
        results.append([np.isnan(told[0]), told[1], np.isnan(weights)])
    same_bits(*results)


def dense(lists, places, awake):
    """The features as a matrix, from the candidates themselves."""
    matrix = np.zeros((sum(map(len, lists)), places + 1))
    for row, candidate in enumerate(candidate for candidates in lists for candidate in candidates):
        np.add.at(matrix[row], candidate, 1.0)
    matrix[:, awake + 1 :] = 0.0
    return matrix


def scores_of(slabs, weights, own):
    scores = np.zeros(len(slabs.gains))
    core_scores.slab_scores(slabs, np.asarray(weights, np.float32), own, scores)
    return scores


@pytest.mark.parametrize("most", [5, 40, 130])
def test_differences_of_scores_are_those_of_dot_products(most):
    random = np.random.default_rng(most)
    slabs, lists = drawn(random, 8, most, 100, 2)
    weights, own = start_of(random, 100, 2)
    found = scores_of(slabs, weights, own)
    matrix = dense(lists, 100, 90)
    expected = slabs.offsets + slabs.values.reshape(-1, 2) @ own + matrix @ weights
    for start, end in pairwise(slabs.bounds.tolist()):
        np.testing.assert_allclose(
            found[start:end] - found[start:end][:1], expected[start:end] - expected[start:end][:1], atol=1e-4
        )


def test_what_is_collected_is_slopes_times_features():
    random = np.random.default_rng(3)
    slabs, lists = drawn(random, 8, 70, 100, common=True)
    slopes, gradient = random.normal(size=len(slabs.gains)), np.zeros(101)
    core_scores.slab_gradient(slabs, slopes, gradient)
    np.testing.assert_allclose(gradient, dense(lists, 100, 90).T @ slopes, atol=1e-12)


def test_scores_know_no_numbering():
    """Places that keep their order are summed in the same order; others are if their sums need no rounding."""
    random = np.random.default_rng(4)
    _, lists = drawn(random, 6, 40, 100)
    slabs, none = packed(lists, [1] * 6, np.zeros(sum(map(len, lists)))), np.zeros(0)
    weights, _ = start_of(random, 100, 0)
    for places, loads in (
        (3 * np.arange(101), weights),
        (np.r_[0, 1 + random.permutation(100)], np.round(16 * weights) / 16),
    ):
        other = packed([[places[c].tolist() for c in candidates] for candidates in lists], slabs.truths, slabs.gains)
        renamed = np.zeros(301)
        renamed[places] = loads
        same_bits([scores_of(slabs, loads, none)], [scores_of(other, renamed, none)])


def one_step(slabs, loss, weights, own):
    """The loss that a visit to the only segment meets, and what it adds to the weights at rate 1."""
    single, double, order = weights.astype(np.float32), own.copy(), np.zeros(1, np.int64)
    value, _ = core_rank.rank(slabs, order, loss.packed, (1.0, 0.0), single, double, False, WorkArrays.of(slabs))
    return value, np.concatenate([single - weights.astype(np.float32), double - own])


@pytest.mark.parametrize("every", [False, True])
@pytest.mark.parametrize("seed", range(5))
def test_a_step_of_costmargin_is_half_the_negative_gradient(seed, every):
    random = np.random.default_rng(seed)
    lists = [[sorted(random.integers(1, 21, 12).tolist()) for _ in range(12)]]
    slabs = packed(lists, [4], np.r_[0.6 + 0.4 * random.random(4), 0.6 * random.random(8)], 2, random=random)
    gains, features = slabs.gains, np.hstack([dense(lists, 20, 20), slabs.values.reshape(-1, 2)])

    def value(theta):
        scores = slabs.offsets + features @ theta
        truths = range(4) if every else [int(np.argmax(gains[:4]))]
        slacks = [np.maximum(0, 1 - (scores[s] - scores[4:])) for s in truths]
        return np.mean([np.max((gains[s] - gains[4:]) * slack**2) for s, slack in zip(truths, slacks, strict=True)])

    theta, h = np.concatenate([*start_of(random, 20, 2)]), 1e-6
    told, moved = one_step(slabs, replace(COSTMARGIN, every=every), theta[:21], theta[21:])
    gradient = np.array([(value(theta + h * unit) - value(theta - h * unit)) / (2 * h) for unit in np.eye(23)])
    assert told == pytest.approx(value(theta), rel=1e-5)
    np.testing.assert_allclose(moved, -gradient / 2, atol=1e-4)


def test_a_step_of_regression_is_the_negative_gradient():
    random = np.random.default_rng(2)
    lists = [[sorted(random.integers(1, 21, 12).tolist()) for _ in range(6)]]
    slabs = packed(lists, [0], random.random(6), 2, common=True, random=random)
    theta = np.concatenate([*start_of(random, 20, 2)])
    single, double, order = theta[:21].astype(np.float32), theta[21:].copy(), np.zeros(1, np.int64)
    loss, work = Regression().packed, WorkArrays.of(slabs)
    told, moved = core_rank.rank(slabs, order, loss, (0.5, 0.0), single, double, False, work)
    features = np.hstack([dense(lists, 20, 20), slabs.values.reshape(-1, 2)])
    lack = slabs.gains - slabs.offsets - features @ theta
    assert (told, moved) == (pytest.approx(np.mean(lack**2) / 2, rel=1e-5), 1)
    expected = theta + 0.5 * features.T @ lack / 6
    np.testing.assert_allclose(np.concatenate([single, double]), expected, atol=1e-4)


# One truth and two alternatives, whose scores are their values: with margin 1 they are rated 0.5 * 2, 0.25 * 3 (* 3).
THREE = packed([[[1], [2], [3]]], [1], [1.0, 0.5, 0.75], 1)._replace(values=np.array([0.0, 1.0, 2.0]))


@pytest.mark.parametrize(
    ("loss", "worst", "step"), [(COSTMARGIN, 2, 0.75), (FIXED, 1, 0.5), (LITERAL, 2, 0.25), (PERCEPTRON, 2, 1.0)]
)
def test_the_losses_choose_and_step_as_the_paper_says(loss, worst, step):
    _, moved = one_step(THREE, loss, np.zeros(4), np.ones(1))
    expected = np.zeros(4)
    expected[1], expected[1 + worst] = step, -step
    assert moved[:4].tolist() == expected.tolist()


def test_ties_go_to_the_earlier_and_equals_of_the_truth_are_passed_over():
    tied = THREE._replace(gains=np.array([1.0, 0.5, 0.5]), values=np.array([0.0, 1.0, 1.0]))
    assert one_step(tied, COSTMARGIN, np.zeros(4), np.ones(1))[1][:4].tolist() == [0.0, 1.0, -1.0, 0.0]
    passed = THREE._replace(gains=np.array([0.5, 0.5, 0.75]))
    assert not one_step(passed, COSTMARGIN, np.zeros(4), np.ones(1))[1].any()


def test_a_perceptron_whose_truth_scores_best_moves_nothing():
    best = THREE._replace(truths=np.zeros(1, np.int32), values=np.array([3.0, 1.0, 2.0]))
    value, moved = one_step(best, PERCEPTRON, np.zeros(4), np.ones(1))
    assert (value, moved.any()) == (0.0, False)
    assert one_step(best, PERCEPTRON, np.zeros(4), -np.ones(1))[1][:4].tolist() == [0.0, 1.0, -1.0, 0.0]


@pytest.mark.parametrize("loss", [*LOSSES, Regression()])
def test_segments_without_alternatives_move_nothing(loss):
    alone = packed([[], [[1, 2]], [[1], [2]]], [0, 1, 2], [0.0, 1.0, 1.0])
    told = []
    weights, *_ = OnlineSgd(rate=0.5, epochs=2).solve(
        loss, Here(alone), SetWeights(np.zeros(3, np.float32), np.zeros(0)), None,
        lambda epoch, found: told.append((epoch, *found[2:])),
    )  # fmt: skip
    if isinstance(loss, Ranking):
        assert not weights.any()
        assert told == [(1, 0.0, 0), (2, 0.0, 0)]
    else:
        assert weights.any()


def toy(seed):
    """S10.7's check: 100 sentences of 40 candidates with 30 features, whose gains are a noisy function of them."""
    random = np.random.default_rng(seed)
    hidden, features = random.normal(size=30), random.normal(size=(200, 40, 30))
    gains = 1 / (1 + np.exp(-features @ hidden / 5.5 - 0.6 * random.normal(size=(200, 40))))
    best_first = np.argsort(-gains[:100], axis=1)[..., None]
    learnt = np.take_along_axis(features[:100], best_first, 1), np.take_along_axis(gains[:100], best_first[..., 0], 1)
    slabs = packed([[[]] * 40] * 100, [1] * 100, learnt[1].ravel(), 30)._replace(values=learnt[0].ravel())

    def metric(own):
        return np.take_along_axis(gains[100:], (features[100:] @ own).argmax(axis=1)[:, None], 1).mean()

    return slabs, metric


@pytest.mark.parametrize("seed", range(3))
def test_table_two_as_printed_learns_less_and_its_weights_grow(seed):
    slabs, metric = toy(seed)

    def learnt(loss, rate):
        return OnlineSgd(rate=rate).solve(loss, Here(slabs), SetWeights(np.zeros(1, np.float32), np.zeros(30))).own

    slow = {loss: metric(learnt(loss, 1e-3)) for loss in (COSTMARGIN, FIXED, LITERAL)}
    assert slow[FIXED] == pytest.approx(slow[COSTMARGIN], abs=0.005)
    assert slow[LITERAL] < slow[COSTMARGIN] - 0.015
    assert np.linalg.norm(learnt(COSTMARGIN, 1e-2)) <= 1.0
    assert np.linalg.norm(learnt(LITERAL, 1e-2)) > 100


def trained(threads=None, slabs=None, **settings):
    random = np.random.default_rng(8)
    slabs = slabs or drawn(random, 30, 12, 60, 1)[0]
    start = SetWeights(*start_of(random, slabs.awake, 1))
    return OnlineSgd(rate=0.1, epochs=3, **settings).solve(COSTMARGIN, Here(slabs, 2, threads), start)[:2]


def test_shards_mix_and_threads_change_no_bit():
    same_bits(*(trained(threads, shards=4) for threads in (1, 2, 4, None)))
    assert (trained(shards=4)[0] != trained()[0]).any()
    assert (trained(seed=1)[0] != trained()[0]).any()


def test_a_shard_is_a_training_of_its_own_and_weights_become_the_mean():
    random = np.random.default_rng(9)
    slabs, _ = drawn(random, 10, 8, 50, 1)
    weights, own = start_of(random, slabs.awake, 1)
    mixed = OnlineSgd(rate=0.1, epochs=1, shards=2).solve(COSTMARGIN, Here(slabs), SetWeights(weights, own))[:2]
    draw, parts = np.random.default_rng((0, 0, 0)), []
    for start in (0, 5):
        single, double = weights.copy(), own.copy()
        order = start + draw.permutation(5)
        reference_rank.rank(slabs, order, COSTMARGIN.packed, (0.1, 0.0), single, double, False, WorkArrays.of(slabs))
        parts.append((single, double))
    same_bits(mixed, [(one + other) / 2 for one, other in zip(*parts, strict=True)])


@pytest.mark.parametrize(("window", "shards"), [(0, 1), (4, 1), (4, 3), (100, 1)])
def test_every_epoch_visits_every_segment_once_in_windows(window, shards):
    passes, random = OnlineSgd(window=window), np.random.default_rng(0)
    cuts = np.linspace(0, 30, shards + 1).astype(int)
    for start, end in pairwise(cuts.tolist()):
        order = passes._order(random, start, end)
        assert sorted(order.tolist()) == list(range(start, end))
        blocks = (order - start) // (window or 100)
        assert np.count_nonzero(np.diff(blocks)) == len(set(blocks.tolist())) - 1
    assert passes._order(random, 0, 30).tolist() != list(range(30))


def test_the_pull_of_l2_is_that_of_the_formula():
    """Nothing to rank: what is left is (1 - rate * l2) a visit."""
    alone = packed([[[1]]], [1], [1.0])
    start = np.array([0.0, 1.0], np.float32)
    weights = OnlineSgd(rate=0.5, l2=0.5, epochs=100).solve(COSTMARGIN, Here(alone), SetWeights(start, np.zeros(0)))[0]
    assert weights[1] == pytest.approx(0.75**100, rel=1e-4)
    assert start.tolist() == [0.0, 1.0]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"epochs": 0}, r"epochs is 0; expected 1 or more"),
        ({"shards": 0}, r"shards is 0; expected 1 or more"),
        ({"window": -1}, r"window is -1; expected 0 or more"),
        ({"seed": -1}, r"seed is -1; expected 0 or more"),
        ({"rate": 0.0}, r"rate is 0; expected a finite number above 0"),
        ({"rate": np.nan}, r"rate is nan; expected a finite number above 0"),
        ({"rate": 0.5, "l2": 2.0}, r"rate \* l2 is 1; expected 0 or more and less than 1.*choose a smaller l2"),
        ({"l2": -1.0}, r"rate \* l2 is -0.0001; expected 0 or more"),
    ],
)
def test_settings_out_of_range_are_refused(settings, message):
    with pytest.raises(RecipeError, match=message):
        OnlineSgd(**settings)


@pytest.mark.parametrize("epochs", [1, 40])
def test_weights_beyond_all_bounds_end_the_training(epochs):
    slabs = packed([[[1, 2], [2, 3], [3]]], [1], [1.0, 0.5, 0.0])
    start = SetWeights(np.zeros(4, np.float32), np.zeros(0))
    with pytest.raises(TuningError, match=r"weights grew beyond all bounds in epoch \d+; use a rate below 1e\+39"):
        OnlineSgd(rate=1e39, epochs=epochs).solve(COSTMARGIN, Here(slabs), start)


@pytest.mark.parametrize(
    ("weights", "own", "message"),
    [
        (np.zeros(3), np.zeros(1), r"3 weights of places and 1 of real.*; expected 4, the first for place 0, and 1"),
        (np.zeros(4), np.zeros(0), r"4 weights of places and 0 of real.*; expected 4, the first for place 0, and 1"),
        (np.array([0, 0, np.inf, 0]), np.zeros(1), r"not finite.*start from finite weights"),
        (np.array([1, 0, 0, 0]), np.zeros(1), r"that of place 0 is not 0"),
        (np.zeros(4), np.full(1, np.nan), r"not finite"),
    ],
)
def test_weights_that_do_not_fit_are_refused(weights, own, message):
    with pytest.raises(InputError, match=message):
        OnlineSgd().solve(COSTMARGIN, Here(THREE), SetWeights(weights.astype(np.float32), own))


def test_other_losses_and_origins_are_refused():
    with pytest.raises(RecipeError, match=r"needs a loss in numbers.*Risk has none: use another solver"):
        OnlineSgd().check(Risk())
    away = SetWeights(np.ones(4, np.float32), np.ones(1))
    with pytest.raises(RecipeError, match="pulls weights to 0, and cannot pull them elsewhere"):
        OnlineSgd().solve(COSTMARGIN, Here(THREE), away, away)
    with pytest.raises(RecipeError, match="Best scores lists, and OnlineSgd has none: use OnlineSgd alone"):
        Best(OnlineSgd()).check(COSTMARGIN)
