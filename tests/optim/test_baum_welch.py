"""Growth transformations: the formula written out, finite differences, and what must hold of tables (S11.4)."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from math import exp, log

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import random_store

import rampion.optim.baum_welch
from rampion.errors import InputError, RecipeError
from rampion.losses.expectation import ExpectedBleu
from rampion.losses.table import LOSSES
from rampion.metrics.column import Column
from rampion.metrics.judging import Batch, Stakes
from rampion.optim.baum_welch import UNUSED, Growth, Table

seeds = st.integers(0, 2**32)
LOSS = ExpectedBleu()


def task(seed, tau=0.01, **settings):
    """Lists that use 12 pairs, and two tables over them: rows of one are columns of the other; a base."""
    random = np.random.default_rng(seed)
    store = random_store(random, [5, 0, 7, 3, 6, 1], 1, 12, True)
    stakes = Stakes(store.bounds, random.random(store.size), np.zeros(store.size, bool))
    batch = Batch(store, np.zeros((store.size, 1)), stakes, Column("none"), random.normal(size=store.size))
    pairs = np.arange(12)
    tables = tuple(table(random, order, weight) for order, weight in ((pairs // 3, 0.7), (pairs % 3, 1.8)))
    return batch, Growth(tables, tau, **settings)


def table(random, row_of, weight):
    """Pair j is in row_of[j]; every row has an entry more that no list uses, and one row has no other."""
    rows = [[*(1 + np.flatnonzero(row_of == row)), UNUSED] for row in range(row_of.max() + 2)]
    parts = [random.dirichlet(np.ones(len(row))) for row in rows]
    bounds = np.cumsum([0, *map(len, rows)])
    return Table(bounds, np.concatenate(parts) / np.repeat([part.sum() for part in parts], np.diff(bounds)),
                 np.concatenate(rows).astype(np.int64), weight)  # fmt: skip


def count(batch, i, feature):
    s = int(np.searchsorted(batch.candidates.bounds, i, "right")) - 1
    lists = batch.candidates.lists
    known = lists.features[lists.feature_bounds[s] : lists.feature_bounds[s + 1]]
    return int((known[lists.entries[lists.entry_bounds[i] : lists.entry_bounds[i + 1]]] == feature).sum())


def written_out(batch, growth, tables):
    """One step of S11.4, sentence by sentence and entry by entry; the count model is part of the base."""
    bounds, costs = batch.candidates.bounds.tolist(), batch.stakes.costs
    total, spread = 0.0, []
    for start, end in pairwise(bounds):
        scores = [
            batch.offset[i]
            + sum(
                t.weight * log(p[e] / t.start[e]) * count(batch, i, t.features[e])
                for t, p in zip(growth.tables, tables, strict=True)
                for e in range(len(p))
            )
            for i in range(start, end)
        ]
        powers = [exp(score) for score in scores]
        gains = [1 - costs[i] for i in range(start, end)]
        mean = sum(p * gain for p, gain in zip(powers, gains, strict=True)) / sum(powers) if powers else 0.0
        total += mean
        spread += [power / sum(powers) * (gain - mean) for power, gain in zip(powers, gains, strict=True)]
    new = []
    for t, p in zip(growth.tables, tables, strict=True):
        uses = [[count(batch, i, f) for i in range(len(spread))] for f in t.features]
        gamma = [sum(a * b for a, b in zip(spread, use, strict=True)) for use in uses]
        falls = [sum(max(0.0, -a * b) for a, b in zip(spread, use, strict=True)) for use in uses]
        grown = []
        for start, end in pairwise(t.bounds):
            damping, row = sum(falls[start:end]), range(start, end)
            if not damping:
                grown += p[start:end].tolist()
                continue
            pull = total * growth.tau / t.weight
            while min(gamma[e] + pull * t.start[e] + damping * p[e] for e in row) <= 0:
                damping *= 2
            below = sum(gamma[start:end]) + pull + damping
            grown += [(gamma[e] + pull * t.start[e] + damping * p[e]) / below for e in row]
        new.append(np.array(grown))
    return new


@given(seeds, st.sampled_from([0.0, 0.01, 1.0]))
def test_a_step_is_the_formula(seed, tau):
    batch, growth = task(seed, tau, steps=2, monotone=False)
    at = [t.start for t in growth.tables]
    for grown in growth.grow(LOSS, batch):
        at = written_out(batch, growth, at)
        for found, expected in zip(grown.tables, at, strict=True):
            np.testing.assert_allclose(found, expected, rtol=1e-7, atol=1e-12)


@pytest.mark.parametrize("monotone", [True, False])
@given(seeds, st.sampled_from([0.0, 0.01, 0.3]))
def test_rows_stay_distributions_and_what_is_not_used_stays(monotone, seed, tau):
    batch, growth = task(seed, tau, steps=6, monotone=monotone)
    value = growth.value(LOSS, batch, tuple(t.start for t in growth.tables))[0]
    for grown in growth.grow(LOSS, batch):
        for t, p in zip(growth.tables, grown.tables, strict=True):
            np.testing.assert_allclose(t.sums(p), 1.0, atol=1e-12)
            assert (p > 0).all()
            assert p[-1] == t.start[-1]  # the row that has no feature
        assert grown.value == growth.value(LOSS, batch, grown.tables)[0]
        if monotone:
            assert grown.value <= value
        value = grown.value


def test_the_monotone_steps_arrive_where_no_small_change_helps():
    batch, growth = task(3, 0.05, steps=2000)
    *_, last = growth.grow(LOSS, batch)
    random = np.random.default_rng(0)
    for _ in range(50):
        moved = []
        for t, p in zip(growth.tables, last.tables, strict=True):
            changed = p * np.exp(0.01 * random.normal(size=len(p)))
            moved.append(changed / t.sums(changed)[t.rows])
        assert growth.value(LOSS, batch, tuple(moved))[0] >= last.value - 1e-7


@given(seeds)
def test_uses_are_the_derivatives_by_probabilities(seed):
    """d loss / d log p = - weight * use, by central differences."""
    batch, growth = task(seed, 0.0)
    start = tuple(t.start for t in growth.tables)
    use = -batch.form.gather(growth.value(LOSS, batch, start)[1])
    for place, t in enumerate(growth.tables):
        for e in range(len(t.start)):
            around = []
            for step in (1e-5, -1e-5):
                moved = t.start.copy()
                moved[e] *= exp(step)
                around.append(growth.value(LOSS, batch, (*start[:place], moved, *start[place + 1 :]))[0])
            expected = -t.weight * use[t.features[e]] if t.features[e] != UNUSED else 0.0
            assert (around[0] - around[1]) / 2e-5 == pytest.approx(expected, abs=1e-7)


def test_the_solver_adds_to_the_weights_and_tells_every_step():
    batch, growth = task(1, steps=5)
    weights, seen = np.arange(13) / 13, []
    answer = growth.solve(LOSS, batch, weights, weights, lambda step, at: seen.append((step, at)))
    grown = list(growth.grow(LOSS, batch.upon(batch.candidates.score(weights))))
    assert [step for step, _ in seen] == list(range(1, len(grown) + 1))
    for (_, at), one in zip(seen, grown, strict=True):
        np.testing.assert_allclose(at, weights + one.weights)
    np.testing.assert_array_equal(answer, seen[-1][1])
    assert grown[0].moved == sum(len(t.start) - 1 for t in growth.tables)
    assert replace(growth, steps=0).solve(LOSS, batch, weights, weights) is weights


@given(seed=seeds)
def test_rows_that_no_list_uses_may_be_left_out(seed):
    batch, growth = task(seed, steps=3)
    assert not all(one.used.all() for one in growth.tables)
    fewer = replace(growth, tables=tuple(one.only(one.used) for one in growth.tables))
    for whole, part in zip(growth.grow(LOSS, batch), fewer.grow(LOSS, batch), strict=True):
        assert part.weights == pytest.approx(whole.weights, abs=1e-9)
        assert part.moved == whole.moved
        for one, kept, left in zip(growth.tables, part.tables, whole.tables, strict=True):
            assert kept == pytest.approx(left[one.used[one.rows]], abs=1e-9)
            assert np.array_equal(left[~one.used[one.rows]], one.start[~one.used[one.rows]])


def test_when_no_step_helps_the_steps_end(monkeypatch):
    batch, growth = task(5)
    monkeypatch.setattr(rampion.optim.baum_welch, "MOST_DOUBLINGS", 0)
    assert list(growth.grow(LOSS, batch)) == []
    weights = np.ones(13)
    assert growth.solve(LOSS, batch, weights, weights) is weights


def test_tables_by_name():
    batch, _ = task(0)
    found = Table.of({"a": {"s1": 0.25, "s2": 0.75}, "b": {"s1": 0.5, "new": 0.5}}, batch.candidates.features, 0.3)
    assert found.bounds.tolist() == [0, 2, 4]
    assert found.features.tolist() == [2, 3, 2, UNUSED]
    assert found.start.tolist() == [0.25, 0.75, 0.5, 0.5]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"start": np.array([0.5, 0.4, 1.0])}, r"row 0 of a table has probabilities that sum to 0\.9"),
        ({"start": np.array([0.5, 0.5, 0.0])}, "row 1 of a table .* are not above 0"),
        ({"bounds": np.array([0, 2])}, "rows of a table do not cover its 3 probabilities and 3 features"),
        ({"weight": 0.0}, "weight of a table is 0.0; expected a positive number"),
    ],
)
def test_tables_that_cannot_be_are_refused(change, message):
    plain = {"bounds": np.array([0, 2, 3]), "start": np.array([0.5, 0.5, 1.0]), "features": np.array([0, 1, 2])}
    with pytest.raises(InputError, match=message):
        Table(**plain | change)


def test_losses_without_a_gradient_are_refused():
    growth = task(0)[1]
    with pytest.raises(RecipeError, match="Growth needs a smooth loss; Contrast has no gradient"):
        growth.check(LOSSES["ramp3"])
    growth.check(ExpectedBleu())
