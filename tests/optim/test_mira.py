"""MIRA: the step's law, background BLEU, averages and the choice of an epoch, against loops written out (S2.9, S7)."""

from __future__ import annotations

from dataclasses import replace
from importlib import import_module
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from speeds import examples
from strategies import arrays, random_store, stores

from rampion import _kernels
from rampion.errors import RecipeError
from rampion.losses.contrast import FEAR, HOPE, MODEL, ORACLE, Contrast
from rampion.losses.expectation import Risk
from rampion.losses.table import LOSSES
from rampion.metrics import Bleu, Column
from rampion.metrics import metric as named
from rampion.metrics.judging import Judge
from rampion.optim.mira import BatchMira
from rampion.optim.solvers import Best, Cccp, Descent
from rampion.optim.updates import Mira, Sgd
from rampion.store.candidates import Candidates
from rampion.store.lists import Scratch
from rampion.store.names import Names
from rampion.store.rows import Rows
from rampion.store.text import References
from rampion.training.recipes import RECIPES

seeds = st.integers(0, 2**32)


def bleu_task(seed, segments=6, most=7, width=2, sparse=6):
    """Random sentences judged with BLEU, their feature matrix, and a start."""
    random = np.random.default_rng(seed)
    lengths = random.integers(0, most + 1, segments).tolist()
    sentences = [" ".join(random.choice(list("abcd"), random.integers(1, 9))) for _ in range(sum(lengths) + segments)]
    store = random_store(random, lengths, width, sparse, texts=sentences[segments:] or None)
    references = References.from_lists([[sentence] for sentence in sentences[:segments]])
    batch = Judge(Bleu(), references, store.segments).batch(store)
    picks = np.arange(store.size)
    rows = store.rows()
    matrix = np.zeros((len(picks), len(store.features)))
    matrix[np.repeat(picks, np.diff(rows.entry_bounds)), rows.ids] = rows.values
    return batch, matrix, random.normal(size=len(store.features))


def gain(statistics, background):
    """S2.9 with logarithms."""
    c, r, *counts = statistics + background
    precision = np.exp(sum(np.log(m / t) for m, t in zip(counts[:4], counts[4:], strict=True)) / 4)
    return r * precision * min(1.0, np.exp(1 - r / c))


def kbmira(batch, matrix, start, solver):
    """S7.2 line by line: the averages after every epoch, and the background at the end."""
    theta, background, after, averages = start.copy(), np.ones(10), [], []
    shuffle = np.random.default_rng(solver.seed)
    for _ in range(solver.epochs):
        for s in shuffle.permutation(len(batch.stakes.bounds) - 1):
            span = np.arange(*batch.stakes.bounds[s : s + 2])
            if len(span):
                scores = matrix[span] @ theta
                gains = np.array([gain(batch.statistics[i], background) for i in span])
                hope, fear, model = np.argmax(scores + gains), np.argmax(scores - gains), np.argmax(scores)
                if hope != fear and gains[hope] > gains[fear]:
                    df = matrix[span[hope]] - matrix[span[fear]]
                    violation = gains[hope] - gains[fear] - theta @ df
                    if violation > 0 and df.any():
                        theta = theta + min(solver.cap, violation / (df @ df)) * df
                    heard = hope if solver.background == "hope" else model
                    background = solver.decay * background + batch.statistics[span[heard]]
            after.append(theta)
        averages.append(np.mean(after, axis=0))
    return averages


@given(
    stores(), seeds, st.booleans(), st.sampled_from([(1.0, -1.0, 1.0), (1.0, 0.0, 0.0), (2.0, -0.5, 1.0)]),
    st.sampled_from([(0.01, 0.999), (np.inf, 0.5)]),
)  # fmt: skip
def test_the_kernel_equals_its_twin(store, random, ties, tilts, step):
    random = np.random.default_rng(random)
    statistics = random.integers(0, 6, (store.size, 10)).astype(float)
    start, order = arrays(random, len(store.features), ties), random.integers(0, len(store.segments), 12)
    results = []
    for package in ("_core", "_reference"):
        background, weights, total = np.ones(10), start.copy(), start.copy()
        work = Scratch.of(store.lists)
        kernel = import_module(f"rampion.{package}.mira").mira
        kernel(store.lists, order, statistics, tilts, step, background, weights, total, work)
        results.append([array.tobytes() for array in (background, weights, total)])
    assert results[0] == results[1]


@given(seed=seeds, background=st.sampled_from(["hope", "model"]), cap=st.sampled_from([0.01, 1.0]))
def test_batch_mira_is_its_definition(seed, background, cap):
    batch, matrix, start = bleu_task(seed)
    solver = BatchMira(cap, epochs=4, decay=0.9, background=background, seed=seed)
    averages = []
    found = solver.solve(LOSSES["ramp3"], batch, start, start, lambda _, weights: averages.append(weights))
    np.testing.assert_allclose(averages, kbmira(batch, matrix, start, solver), rtol=1e-9, atol=1e-9)
    np.testing.assert_array_equal(found, averages[-1])
    assert solver.solve(LOSSES["ramp3"], batch, start, start).tobytes() == found.tobytes()


def visit(store, statistics, start, tilts=(1.0, -1.0, 1.0), cap=np.inf):
    """The weights and the background, at first 1, after one visit to the store's one segment."""
    background, weights, total = np.ones(10), start.copy(), np.zeros(len(start))
    work = Scratch.of(store.lists)
    _kernels.mira(store.lists, np.zeros(1, int), statistics, tilts, (cap, 0.5), background, weights, total, work)
    np.testing.assert_array_equal(total, weights if statistics.std(axis=0).any() else start)
    return weights, background


def one_list(seed):
    """A list of candidates with different features, the statistics of each, and a start."""
    random = np.random.default_rng(seed)
    store = random_store(random, [6], 2, 4)
    statistics = random.integers(0, 9, (6, 10)).astype(float)
    return store, statistics, random.normal(size=6), np.array([gain(row, np.ones(10)) for row in statistics])


@given(seed=seeds)
def test_an_uncapped_step_makes_the_loss_zero(seed):
    store, statistics, start, gains = one_list(seed)
    hope, fear = (int(np.argmax(store.score(start) + sign * gains)) for sign in (1, -1))
    weights, background = visit(store, statistics, start)
    if hope == fear:
        np.testing.assert_array_equal(weights, start)
        np.testing.assert_array_equal(background, 1.0)
    else:
        margins = store.score(weights) - gains
        assert margins[fear] - margins[hope] == pytest.approx(0.0, abs=1e-9)
        np.testing.assert_array_equal(background, 0.5 + statistics[hope])


@given(seed=seeds)
def test_a_capped_step_is_cap_times_the_difference(seed):
    store, statistics, start, gains = one_list(seed)
    hope, fear = (int(np.argmax(store.score(start) + sign * gains)) for sign in (1, -1))
    weights, _ = visit(store, statistics, start, cap=1e-9)
    slopes = np.zeros(6)
    slopes[hope] += 1e-9
    slopes[fear] -= 1e-9
    np.testing.assert_allclose(weights - start, store.gather(slopes), atol=1e-15)


def test_equal_gains_change_nothing_and_equal_features_only_the_background():
    store, statistics, start, gains = one_list(1)
    same = np.tile(statistics[0], (6, 1))
    for found, expected in zip(visit(store, same, start), (start, np.ones(10)), strict=True):
        np.testing.assert_array_equal(found, expected)
    alike = random_store(np.random.default_rng(0), [6], 0, 6, fill=0.0)
    weights, background = visit(alike, statistics, start)
    np.testing.assert_array_equal(weights, start)
    np.testing.assert_array_equal(background, 0.5 + statistics[np.argmax(gains)])


@given(seed=seeds)
def test_the_background_may_take_in_the_model_s_choice(seed):
    store, statistics, start, _ = one_list(seed)
    _, background = visit(store, statistics, start, tilts=(1.0, -1.0, 0.0))
    if (background != 1.0).any():
        np.testing.assert_array_equal(background, 0.5 + statistics[np.argmax(store.score(start))])


def test_gains_do_not_overflow_in_a_large_corpus():
    statistics = np.tile([3e5, 4e5, 2e5, 1e5, 5e4, 3e4, 3e5, 3e5, 3e5, 3e5], (2, 1))
    statistics[1, 2:6] = 0.0
    store = random_store(np.random.default_rng(0), [2], 1, 0)
    weights, _ = visit(store, statistics, np.zeros(1))
    difference = store.score(weights)[0] - store.score(weights)[1]
    assert difference == pytest.approx(gain(statistics[0], np.ones(10)) - gain(statistics[1], np.ones(10)), rel=1e-12)


def passes(batch, matrix, start, up, down, cap, epochs, seed=None):
    """S7.3 line by line: PA-I towards one rule's candidate and away from another's; all weights after each visit."""
    theta, costs, after = start.copy(), batch.stakes.costs, []
    shuffle, segments = np.random.default_rng(seed), len(batch.stakes.bounds) - 1
    for _ in range(epochs):
        for s in range(segments) if seed is None else shuffle.permutation(segments):
            span = np.arange(*batch.stakes.bounds[s : s + 2])
            if len(span):
                scores = matrix[span] @ theta
                good, bad = span[up(scores, costs[span])], span[down(scores, costs[span])]
                df = matrix[good] - matrix[bad]
                cost = 0.0 if down is model else costs[bad] - costs[good]
                violation = cost - theta @ df
                if violation > 0 and df.any():
                    theta = theta + min(cap, violation / (df @ df)) * df
            after.append(theta)
    return after


def best(scores, costs):
    return np.lexsort((np.arange(len(scores)), -scores, costs))[0]


def worst(scores, costs):
    return np.lexsort((np.arange(len(scores)), -scores, -costs))[0]


def model(scores, costs):
    return np.argmax(scores)


def hope(scores, costs):
    return np.argmax(scores - costs)


def fear(scores, costs):
    return np.argmax(scores + costs)


COSTLY_WORST = LOSSES["oracle-worst"].down


@pytest.mark.parametrize(("down", "bad"), [(FEAR, fear), (COSTLY_WORST, worst), (MODEL, model)])
@pytest.mark.parametrize(("up", "good"), [(HOPE, hope), (ORACLE, best), (MODEL, model)])
@examples(25)
@given(seed=seeds, cap=st.sampled_from([0.05, np.inf]))
def test_every_rule_of_online_mira(up, good, down, bad, seed, cap):
    batch, matrix, start = costly_task(seed)
    after = passes(batch, matrix, start, good, bad, cap, 3, seed)
    for averaged, expected in ((True, np.mean(after, axis=0)), (False, after[-1])):
        solver = Descent(Mira(cap), epochs=3, seed=seed, averaged=averaged)
        found = solver.solve(Contrast(up, down), batch, start, start)
        np.testing.assert_allclose(found, expected, rtol=1e-7, atol=1e-7)


def costly_task(seed):
    """Lists with costs of any size, none of them twice, and their feature matrix."""
    batch, matrix, start = bleu_task(seed)
    costs = np.random.default_rng(seed).random(len(matrix)) * 3
    return replace(batch, stakes=replace(batch.stakes, costs=costs)), matrix, start


@given(seed=seeds, rate=st.sampled_from([0.01, 0.3]), l2=st.sampled_from([0.0, 1.0, 15.0]))
def test_averages_include_the_pull_to_the_origin(seed, rate, l2):
    batch, matrix, start = costly_task(seed)
    theta, after, origin, n = start.copy(), [], np.zeros(len(start)), len(batch.stakes.bounds) - 1
    for _ in range(2):
        for span in (np.arange(*span) for span in pairwise(batch.stakes.bounds)):
            df = np.zeros(len(theta))
            if len(span):
                scores, costs = matrix[span] @ theta, batch.stakes.costs[span]
                df = matrix[span[np.argmax(scores - costs)]] - matrix[span[np.argmax(scores + costs)]]
            theta = theta - rate * l2 / n * (theta - origin) + rate * df
            after.append(theta)
    solver = Descent(Sgd(rate), epochs=2, l2=l2, averaged=True)
    found = solver.solve(LOSSES["ramp3"], batch, start, origin)
    np.testing.assert_allclose(found, np.mean(after, axis=0), rtol=1e-8, atol=1e-8)


def test_averages_survive_scales_that_vanish():
    batch, _, start = costly_task(2)
    still = Contrast(MODEL, MODEL)  # nothing but the pull, nearly all of the way back at every visit
    rate, n = 6 * (1 - 1e-9), len(batch.stakes.bounds) - 1
    found = Descent(Sgd(rate), epochs=9, l2=1.0, averaged=True).solve(still, batch, start, 0 * start)
    scales = (1 - rate / n) ** np.arange(1, 9 * n + 1)
    np.testing.assert_allclose(found, start * scales.mean(), rtol=1e-6)


class Listed:
    """A solver whose rounds are given."""

    def __init__(self, rounds):
        self.rounds = rounds

    form = "lists"

    def check(self, loss):
        if loss is None:
            raise RecipeError("no loss")

    def solve(self, loss, batch, weights, origin, watch=None):
        for round_, found in enumerate(self.rounds, 1):
            watch(round_, found)
        return self.rounds[-1] if self.rounds else weights


@given(seed=seeds, lower=st.booleans())
def test_best_returns_the_first_of_the_best_rounds(seed, lower):
    batch, matrix, start = bleu_task(seed, segments=8)
    assume(len(matrix))
    values = np.random.default_rng(seed).integers(0, 3, len(matrix)).astype(float)
    batch = replace(
        batch, metric=Column("x", higher_is_better=not lower), statistics=np.stack([values, np.ones_like(values)], 1)
    )
    rounds, told = [*np.random.default_rng(seed).normal(size=(6, len(start)))], []
    scores = []
    for weights in rounds:
        filled = [np.arange(*span) for span in pairwise(batch.stakes.bounds) if span[0] < span[1]]
        picks = [span[np.argmax((matrix @ weights)[span])] for span in filled]
        scores.append(values[picks].sum())
    found = Best(Listed(rounds)).solve(LOSSES["ramp3"], batch, start, start, lambda round_, _: told.append(round_))
    np.testing.assert_array_equal(found, rounds[int(np.argmin(scores) if lower else np.argmax(scores))])
    assert told == [1, 2, 3, 4, 5, 6]
    np.testing.assert_array_equal(Best(Listed([])).solve(LOSSES["ramp3"], batch, start, start), start)


def test_ramp3_by_descent_and_mira_agree_about_the_weights():
    """S7.4: Gimpel & Smith count MIRA for translation among the minimisers of ramp 3."""
    import cases

    names, rows = cases.rows("D", segments=120, candidates=40)
    table = Names()
    for name in names:
        table.intern(name)
    lists = Candidates.from_rows(table, [[Rows(**rows)]])[0]
    references = References.from_lists([[line] for line in cases.references("D", segments=120)])
    start = np.array([cases.INITIAL[name] for name in lists.features.names])
    batch = Judge(Bleu(), references, lists.segments).batch(lists)
    moves = []
    for solver in (Cccp(Descent(Sgd(1e-3)), rounds=10), RECIPES["mira"].solver, RECIPES["mira-sentence"].solver):
        moves.append(solver.solve(LOSSES["ramp3"], batch, start, start))
    scale = matrix_scale(batch)
    before, first, *others = (batch.corpus_score(MODEL.picks(batch.stakes, batch.scores(at))) for at in (start, *moves))
    assert min(first, *others) > before + 1
    for other in moves[1:]:
        assert np.corrcoef(moves[0] * scale, other * scale)[0, 1] > 0.8


def matrix_scale(batch):
    """The spread of every feature inside the lists, so that weights can be compared."""
    rows = batch.candidates.rows()
    dense = rows.values.reshape(batch.candidates.size, -1)
    sums = [dense[start:end].var(axis=0) for start, end in pairwise(batch.stakes.bounds)]
    return np.sqrt(np.mean(sums, axis=0))


TASK = bleu_task(1)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: BatchMira(decay=1.5), "the background's decay is 1.5; expected a share from 0 to 1"),
        (lambda: BatchMira(background="fear"), "background is 'fear'; expected 'hope' or 'model'"),
        (lambda: BatchMira().check(Risk()), "BatchMira needs a contrast of two sides; Risk is none"),
        (lambda: BatchMira().check(LOSSES["soft-ramp3"]), "BatchMira weighs scores against BLEU, with sides such as"),
        (lambda: Best(BatchMira()).check(LOSSES["oracle-worst"]), "use Descent"),
        (lambda: Best(Listed([])).check(None), "no loss"),
        (lambda: Descent(Mira(), after="all", averaged=True).check(LOSSES["ramp3"]), "only the weights after every"),
        (
            lambda: BatchMira().solve(LOSSES["ramp3"], replace(TASK[0], metric=named("ter")), TASK[2], TASK[2]),
            "made for BLEU, not for TER; use the recipe mira-sentence",
        ),
        (
            lambda: BatchMira().solve(LOSSES["ramp3"], replace(TASK[0], offset=np.ones(1)), TASK[2], TASK[2]),
            "takes no fixed part of the scores",
        ),
    ],
)
def test_parts_that_do_not_fit_are_refused(make, message):
    with pytest.raises(RecipeError, match=message):
        make()


def test_no_epochs_leave_the_start():
    batch, _, start = TASK
    np.testing.assert_array_equal(BatchMira(epochs=0).solve(LOSSES["ramp3"], batch, start, start), start)
