"""Laws of the resampling tests: exact where small, calibrated where not, and sacrebleu's numbers within chance."""

from __future__ import annotations

from importlib import import_module
from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import kstest

from rampion.analysis.significance import _streams, bootstrap, paired_bootstrap, randomisation, spread
from rampion.errors import InputError, RecipeError
from rampion.metrics import Bleu, Column
from rampion.metrics import metric as named
from rampion.store.text import References, Texts

MEAN = Column("x")
BLEU = Bleu()


def both(function):
    return [getattr(import_module(f"rampion.{package}.resample"), function) for package in ("_core", "_reference")]


def column(values):
    """Statistics of the metric whose score is the mean of the values."""
    return np.stack([values, np.ones_like(values)], axis=-1)


def bleu_rows(random, shape, quality=0.5):
    """Statistics as BLEU has them, of segments that differ in length and in how hard they are."""
    lengths = np.broadcast_to(random.integers(8, 30, shape[-1]), shape)
    hard = np.broadcast_to(random.normal(0, 0.05, shape[-1]), shape)
    totals = [lengths - order for order in range(4)]
    matches, possible = [], totals[0]
    for total in totals:
        possible = random.binomial(np.minimum(possible, total), np.clip(quality + hard, 0.05, 0.95))
        matches.append(possible)
    return np.stack([lengths, lengths, *matches, *totals], axis=-1)


seeds = st.integers(0, 2**32).map(np.random.default_rng)


@given(seeds, st.integers(1, 7), st.integers(1, 9), st.integers(1, 9), st.integers(0, 9))
def test_draw_equals_its_twin(random, width, trials, count, picks):
    rows, streams = random.normal(size=(count, width)), random.integers(0, 2**64, trials, np.uint64)
    filled = [np.ones((trials, width)) for _ in range(2)]
    for kernel, totals in zip(both("draw"), filled, strict=True):
        kernel(rows, streams, np.empty(picks, np.int64), totals)
    assert filled[0].tobytes() == filled[1].tobytes()


@given(seeds, st.integers(1, 7), st.integers(1, 9), st.integers(0, 9), st.integers(1, 4))
def test_deal_equals_its_twin(random, width, trials, segments, runs):
    rows, streams = random.normal(size=(2 * runs * segments, width)), random.integers(0, 2**64, trials, np.uint64)
    filled = [np.ones((trials, width)) for _ in range(2)]
    for kernel, totals in zip(both("deal"), filled, strict=True):
        kernel(rows, streams, np.empty(2 * runs, np.int64), np.empty(runs * segments, np.int64), totals)
    assert filled[0].tobytes() == filled[1].tobytes()


@pytest.mark.parametrize("runs", [1, 2, 3])
def test_every_half_of_a_pool_is_dealt_equally_often(runs):
    """Chi-square over the C(2R, R) halves, and independence of two successive segments."""
    trials, ways = 40_000, len(list(combinations(range(2 * runs), runs)))
    place = np.tile(2.0 ** np.arange(2 * runs), 2)[:, np.newaxis]
    rows = np.where(np.arange(4 * runs)[:, np.newaxis] // (2 * runs) == [0, 1], place, 0)
    totals = np.zeros((trials, 2))
    streams = np.random.SeedSequence(5).generate_state(trials, np.uint64)
    both("deal")[0](rows, streams, np.empty(2 * runs, np.int64), np.empty(2 * runs, np.int64), totals)
    _, counts = np.unique(totals, axis=0, return_counts=True)
    expected = trials / ways**2
    assert len(counts) == ways**2
    freedom = ways**2 - 1
    assert ((counts - expected) ** 2 / expected).sum() < freedom + 4 * np.sqrt(2 * freedom)


def test_every_row_is_drawn_equally_often():
    count, trials = 7, 20_000
    totals = np.zeros((trials, count))
    streams = np.random.SeedSequence(5).generate_state(trials, np.uint64)
    both("draw")[0](np.eye(count), streams, np.empty(count, np.int64), totals)
    assert (totals.sum(axis=1) == count).all()
    counts = totals.sum(axis=0)
    assert ((counts - trials) ** 2 / trials).sum() < 6 + 4 * np.sqrt(12)
    # Of n draws with replacement, the covariance of two rows' counts is -1/n.
    covariance = np.cov(totals.T)
    np.testing.assert_allclose(covariance, np.eye(count) - 1 / count, atol=0.05)


def brute_force(metric, first, second):
    """p over all partitions: every segment chooses which R of its 2R rows are the first system's."""
    runs, segments, _ = first.shape
    pools = np.concatenate([first, second])
    observed = abs(metric.total_score(first.sum(axis=(0, 1))) - metric.total_score(second.sum(axis=(0, 1))))
    reached = []
    for choice in product(combinations(range(2 * runs), runs), repeat=segments):
        one = sum(pools[r, s] for s, rows in enumerate(choice) for r in rows)
        other = sum(pools[r, s] for s, rows in enumerate(choice) for r in range(2 * runs) if r not in rows)
        reached.append(abs(metric.total_score(one) - metric.total_score(other)) >= observed - 1e-9)
    return np.mean(reached), len(reached)


@pytest.mark.parametrize(("runs", "segments"), [(1, 6), (1, 1), (2, 4), (3, 3)])
@pytest.mark.parametrize("metric", [BLEU, MEAN])
@pytest.mark.parametrize("seed", range(3))
def test_exact_randomisation_equals_brute_force(metric, runs, segments, seed):
    random = np.random.default_rng(seed)
    if metric is MEAN:
        first, second = column(random.normal(size=(2, runs, segments)))
    else:
        first, second = bleu_rows(random, (runs, segments), 0.6), bleu_rows(random, (runs, segments), 0.7)
    p, deals = brute_force(metric, first, second)
    found = randomisation(metric, first, second, trials=deals)
    assert (found.p, found.exact) == (p, True)
    assert found.score == pytest.approx(
        metric.total_score(second.sum((0, 1))) - metric.total_score(first.sum((0, 1))), abs=1e-9
    )
    alike = (np.concatenate([first, second]) == first[:1]).all(axis=(0, 2))
    assert found.deals == deals if not alike.any() else found.deals < deals


def test_exact_randomisation_of_six_segments_and_two_runs():
    """46656 partitions; a difference as large by the mean of the six."""
    first = column(np.array([[0.0, 1, 2, 3, 4, 5], [1, 1, 2, 4, 4, 5]]))
    second = column(np.array([[1.0, 2, 2, 4, 4, 6], [1, 1, 3, 4, 5, 6]]))
    p, deals = brute_force(MEAN, first, second)
    found = randomisation(MEAN, first, second, trials=deals)
    assert (found.p, found.exact) == (p, True)
    sampled = randomisation(MEAN, first, second, trials=5000)
    assert not sampled.exact
    assert sampled.p == pytest.approx(p, abs=4 * np.sqrt(p * (1 - p) / 5000))


def test_segments_whose_rows_are_all_equal_leave_the_exact_p_alone():
    random = np.random.default_rng(3)
    first, second = column(random.integers(0, 5, (2, 2, 4)).astype(float))
    same = np.ones((2, 30, 2))
    few = randomisation(MEAN, first, second, trials=1296)
    assert few.exact
    long = randomisation(
        MEAN, np.concatenate([first, same], axis=1), np.concatenate([second, same], axis=1), trials=1296
    )
    assert (long.p, long.deals, long.exact) == (few.p, few.deals, True)


@pytest.mark.parametrize("runs", [1, 3, 20])
@pytest.mark.parametrize("test", [randomisation, paired_bootstrap])
def test_identical_systems_have_p_1(test, runs):
    rows = bleu_rows(np.random.default_rng(0), (runs, 50))
    found = test(BLEU, rows, rows, 200)
    assert (found.score, found.p) == (0, 1)
    # A system whose rows trade places between runs is the same system, and no deal is closer.
    assert test(BLEU, rows, rows[::-1], 200).p == 1


def test_p_falls_as_a_difference_grows():
    random = np.random.default_rng(0)
    first = bleu_rows(random, (2, 300))
    better = random.permutation(300)
    ps = {randomisation: [], paired_bootstrap: []}
    for much in range(0, 151, 15):
        second = first.copy()
        rows = better[:much]
        for order in range(4):  # a match more of every order, where there is room
            second[:, rows, 2 + order] = np.minimum(first[:, rows, 2 + order] + 1, first[:, rows, 6 + order])
        noisy = second.copy()
        noisy[:, better[150:], 2:6] = first[:, better[150:], 2:6][:, ::-1]  # other segments trade places
        for test, found in ps.items():
            found.append(test(BLEU, first, noisy, 2000).p)
    for found in ps.values():
        assert found == sorted(found, reverse=True)
        assert found[0] > 0.5
        assert found[-1] < 0.01


@pytest.mark.parametrize("runs", [1, 2, 3])
@pytest.mark.parametrize("test", [randomisation, paired_bootstrap])
def test_p_is_uniform_on_random_halves_of_one_system(test, runs):
    random = np.random.default_rng(runs)
    hard = random.normal(0, 3, 120)
    ps = []
    for trial in range(250):
        values = hard + random.normal(size=(2 * runs, 120)) * random.uniform(0.5, 2, 120)
        halves = random.permutation(2 * runs)
        ps.append(test(MEAN, column(values[halves[:runs]]), column(values[halves[runs:]]), 400, trial).p)
    assert kstest(ps, "uniform").pvalue > 0.01
    assert np.mean(np.array(ps) <= 0.05) == pytest.approx(0.05, abs=0.045)


def test_folded_p_is_half_of_p_for_a_clear_difference():
    """What Riezler & Maxwell's folding costs: tests at level 0.05 reject twice as often."""
    random = np.random.default_rng(0)
    first = random.normal(size=400)
    second = first + random.normal(0.1, 1.0, 400)
    found = paired_bootstrap(MEAN, column(first), column(second), 20_000)
    assert 0.01 < found.p < 0.2
    assert found.folded == pytest.approx(found.p / 2, rel=0.15)


def test_bootstrap_of_a_mean_is_the_analytic_interval():
    values = np.random.default_rng(0).gamma(2.0, size=2000)
    found = bootstrap(MEAN, column(values), 20_000)
    half = 1.959964 * values.std() / np.sqrt(len(values))
    assert found.score == pytest.approx(values.mean())
    np.testing.assert_allclose([found.low, found.high], [values.mean() - half, values.mean() + half], atol=0.06 * half)
    narrow = bootstrap(MEAN, column(values), 20_000, level=0.5)
    assert narrow.high - narrow.low == pytest.approx(0.674490 / 1.959964 * 2 * half, rel=0.05)


def test_pairing_narrows_the_interval_of_a_gain():
    """The same segments for both: what makes a segment hard does not count."""
    random = np.random.default_rng(0)
    first = random.normal(0, 10, 500)
    second = first + random.normal(0.5, 1, 500)
    found = paired_bootstrap(MEAN, column(first), column(second))
    gains = second - first
    assert found.high - found.low == pytest.approx(2 * 1.96 * gains.std() / np.sqrt(500), rel=0.1)


@pytest.mark.parametrize("name", ["bleu", "chrf", "ter"])
@pytest.mark.parametrize(("kind", "test"), [("bs", paired_bootstrap), ("ar", randomisation)])
def test_sacrebleu_agrees(name, kind, test, monkeypatch):
    from sacrebleu.metrics import BLEU as SacreBleu  # noqa: N811
    from sacrebleu.metrics import CHRF, TER
    from sacrebleu.significance import PairedTest

    monkeypatch.setenv("SACREBLEU_SEED", "12345")
    random = np.random.default_rng(1)
    words = np.array([f"w{i}" for i in range(60)])
    refs = [words[random.integers(0, 60, random.integers(4, 16))] for _ in range(150)]

    def output(quality):
        return [" ".join(np.where(random.random(len(ref)) < quality, ref, random.choice(words))) for ref in refs]

    first, second, truth = output(0.70), output(0.74), [" ".join(ref) for ref in refs]
    metric = {"bleu": SacreBleu(tokenize="none"), "chrf": CHRF(), "ter": TER()}[name]
    trials = 2000
    _, scores = PairedTest([("a", first), ("b", second)], {name: metric}, [truth], kind, trials)()
    theirs = scores[named(name).name][1]
    bounds, references = np.arange(151), References.from_lists([one] for one in truth)
    rows = [named(name).statistics(Texts.from_strings(texts), bounds, references) for texts in (first, second)]
    ours = test(named(name), *rows, trials)
    p = ours.folded if kind == "bs" else ours.p
    assert 0.02 < p < 0.98
    assert p == pytest.approx(theirs.p_value, abs=5 * np.sqrt(2 * p * (1 - p) / trials))
    assert ours.score + scores[named(name).name][0].score == pytest.approx(theirs.score, abs=1e-6)
    if kind == "bs":
        interval = bootstrap(named(name), rows[1], trials)
        assert (interval.high - interval.low) / 2 == pytest.approx(theirs.ci, rel=0.1)


@pytest.mark.parametrize("test", [randomisation, paired_bootstrap])
def test_a_seed_decides_everything(test):
    random = np.random.default_rng(0)
    first, second = bleu_rows(random, (2, 40)), bleu_rows(random, (2, 40))
    assert test(BLEU, first, second, 300, 1) == test(BLEU, first, second, 300, 1)
    assert test(BLEU, first, second, 300, 1) != test(BLEU, first, second, 300, 2)


def test_a_trial_is_the_same_whatever_the_number_of_trials():
    random = np.random.default_rng(0)
    first, second = column(random.normal(size=(2, 1, 40)))
    counts = [(trials + 1) * randomisation(MEAN, first, second, trials, 1).p for trials in range(1, 60)]
    assert set(np.diff(np.round(counts))) == {0, 1}
    for trials in (1, 7, 64):
        assert (_streams(trials, 3) == _streams(65, 3)[:trials]).all()
    assert len(np.unique(np.concatenate([_streams(5000, seed) for seed in range(4)]))) == 20_000


def test_spread_of_runs():
    rows = column(np.array([[1.0, 2, 3], [2, 3, 4], [6, 7, 8]]))
    found = spread(MEAN, rows)
    assert found == pytest.approx((4, np.std([2, 3, 7], ddof=1), 2, 7, 3))
    alone = spread(MEAN, rows[0])
    assert (alone.mean, alone.min, alone.max, alone.median) == (2, 2, 2, 2)
    assert np.isnan(alone.sd)


@pytest.mark.parametrize("spec", ["bleu", "bleu:moses,nobp", "bleu:nist", "chrf++", "ter", "wer", "wer:reverse"])
def test_scores_are_the_metric_s(spec):
    texts, references = (
        Texts.from_strings(["a b c d e", "b c a"]),
        References.from_lists([["a b c d f", "a b"], ["b c a d"]]),
    )
    metric = named(spec)
    rows = metric.statistics(texts, np.arange(3), references)
    assert bootstrap(metric, rows, 5).score == pytest.approx(metric.total_score(rows.sum(axis=0)), rel=1e-12)


def test_unequal_numbers_of_runs_are_compared_by_their_means():
    random = np.random.default_rng(0)
    three, two = random.integers(0, 9, (3, 12, 2)) + 1, random.integers(0, 9, (2, 12, 2)) + 1
    found = randomisation(MEAN, three, two, trials=500)
    means = randomisation(MEAN, three.mean(axis=0), two.mean(axis=0), trials=500)
    assert found == means
    pooled = [float(MEAN.scores(runs.sum(axis=(0, 1))[np.newaxis])[0]) for runs in (three, two)]
    assert found.score == pytest.approx(pooled[1] - pooled[0])
    assert randomisation(MEAN, three, np.concatenate([three, three]), trials=500).p == 1


def test_what_cannot_be_compared():
    rows = column(np.ones((2, 3)))
    with pytest.raises(InputError, match=r"\(3, 2\) and \(2, 2\) segments and columns; score both on the same"):
        randomisation(MEAN, rows, rows[:, :2])
    with pytest.raises(InputError, match=r"\(3, 2\) and \(2, 2\) segments and columns; score both on the same"):
        paired_bootstrap(MEAN, rows, rows[:, :2])
    with pytest.raises(InputError, match=r"shape \(0, 2\): expected \[segments, width\]"):
        bootstrap(MEAN, rows[0, :0])
    with pytest.raises(InputError, match=r"shape \(2,\): expected \[segments, width\]"):
        spread(MEAN, rows[0, 0])
    for trials, seed in ((0, 0), (10, -1)):
        with pytest.raises(RecipeError, match=f"{trials} trials with seed {seed}: expected at least 1 trial"):
            bootstrap(MEAN, rows, trials, seed)
