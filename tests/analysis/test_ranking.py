"""Ranks, MRR and NDCG against brute force and scikit-learn."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import ndcg_score

from rampion.analysis.ranking import discounted_gain, ranks, reciprocal_rank

LISTS = st.lists(
    st.lists(st.tuples(st.integers(-3, 3), st.integers(0, 3)), min_size=1, max_size=6), min_size=1, max_size=5
)


def arrays(lists):
    bounds = np.cumsum([0, *map(len, lists)])
    scores, gains = np.array([pair for pairs in lists for pair in pairs], float).T
    return bounds, scores, gains


@given(LISTS)
def test_ranks_and_the_first_right_one(lists):
    bounds, scores, gains = arrays(lists)
    found, first = ranks(bounds, scores).tolist(), []
    for pairs, start in zip(lists, bounds.tolist(), strict=False):
        order = sorted(range(len(pairs)), key=lambda i: -pairs[i][0])  # stable, as a choice is
        assert [found[start + i] for i in order] == list(range(1, len(pairs) + 1))
        first.append(next((1 / place for place, i in enumerate(order, 1) if pairs[i][1] == 3), 0.0))
    assert reciprocal_rank(bounds, scores, gains == 3) == pytest.approx(np.mean(first))


@given(LISTS)
def test_ndcg_is_that_of_scikit_learn(lists):
    bounds, scores, gains = arrays(lists)
    rows = [
        ndcg_score([gains[a:b] - gains[a:b].min()], [-ranks(bounds - a, scores)[a:b]])
        for a, b in zip(bounds[:-1].tolist(), bounds[1:].tolist(), strict=True)
        if gains[a:b].max() > gains[a:b].min()
    ]
    found = discounted_gain(bounds, scores, gains)
    assert found == pytest.approx(np.mean(rows)) if rows else math.isnan(found)


def test_the_best_order_has_gain_1_and_costs_may_be_its_negative():
    bounds, costs = np.array([0, 3, 5]), np.array([3.0, 1, 2, 5, 4])
    assert discounted_gain(bounds, -costs, -costs) == 1
    assert discounted_gain(bounds, costs, -costs) < 1
