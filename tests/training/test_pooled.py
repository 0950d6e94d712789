"""Lists of several decoders: as one store of all of them would answer, and as differences say."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from strategies import random_store

from rampion.losses.expectation import ExpectedBleu, Risk
from rampion.metrics.judging import Batch
from rampion.optim.solvers import Descent
from rampion.optim.updates import Rprop
from rampion.store.candidates import Candidates
from rampion.store.features import Features
from rampion.store.text import Texts
from rampion.training.inputs import judge
from rampion.training.pooled import Part, Pool, Tied, volume

LOSS = ExpectedBleu()


def lists(seed, sparse, lengths=(4, 6, 1, 5)):
    """With a metric column, and names of their own for the sparse features: f3 of one may be s0 of the store."""
    random = np.random.default_rng(seed)
    store = random_store(random, list(lengths), 2, len(sparse), counts_only=True)
    store = replace(store, metrics={"x": random.random(store.size)})
    return replace(store, features=Features(Texts.from_strings(["D0", "D1", *sparse]), 2))


PARTS = [
    lists(1, ["f0", "f1", "f2", "f3"]),
    lists(2, ["f5", "f3", "f1"]),
    lists(3, ["f2", "f6", "f0", "f5"], (3, 7)),
]


def batches():
    return [judge(store, None, "metric:x", alpha=1.0).batch(store) for store in PARTS]


def bases():
    return [np.random.default_rng(seed).normal(size=store.size) for seed, store in enumerate(PARTS)]


def pool(least=1):
    return Pool.of([Part.of(batch, base) for batch, base in zip(batches(), bases(), strict=True)], least)


def together() -> tuple[Batch, np.ndarray]:
    """One store of all lists, from records."""
    records = [
        {**record, "id": f"{number}-{record['id']}"}
        for number, store in enumerate(PARTS)
        for record in store.to_records()
    ]
    store = Candidates.from_records(records)
    return judge(store, None, "metric:x", alpha=1.0).batch(store), np.concatenate(bases())


@pytest.mark.parametrize("loss", [ExpectedBleu(), ExpectedBleu(0.5), Risk(2.0, 0.7)])
def test_the_pool_answers_as_one_store_of_all_lists(loss):
    whole, base = together()
    ours = pool()
    names = list(ours.names)
    assert sorted(names) == ["f0", "f1", "f2", "f3", "f5", "f6"]
    weights = np.random.default_rng(5).normal(size=len(names))
    by_name = dict(zip(names, weights, strict=True))
    everything = np.array([by_name.get(name, 0.0) for name in whole.candidates.features])
    value, gradient = whole.upon(base).gradient(loss, everything)
    found, slopes = ours.gradient(loss, weights)
    assert found == pytest.approx(value, rel=1e-12)
    ids = whole.candidates.features.ids
    assert slopes == pytest.approx(gradient[[ids[name] for name in names]], abs=1e-12)


def test_the_gradient_is_a_central_difference():
    ours = pool()
    at = np.random.default_rng(7).normal(size=len(ours))
    _, gradient = ours.gradient(LOSS, at)
    for j in range(len(at)):
        shift = np.zeros(len(at))
        shift[j] = 1e-5
        above, below = (ours.gradient(LOSS, at + sign * shift)[0] for sign in (1, -1))
        assert gradient[j] == pytest.approx((above - below) / 2e-5, abs=1e-8)


def test_expected_gain_is_what_the_loss_has_the_logarithm_of():
    ours = pool()
    at = np.random.default_rng(9).normal(size=len(ours))
    assert np.log(ours.expected(LOSS, at) / 100) == pytest.approx(-ours.gradient(LOSS, at)[0])


def test_features_of_few_lists_do_not_learn():
    """Counted over all parts, by plain Python."""
    spread = {}
    for store in PARTS:
        for record in store.to_records():
            for name in {name for hyp in record["hyps"] for name in hyp["feats"]} - {"D0", "D1"}:
                spread[name] = spread.get(name, 0) + 1
    for least in range(1, 12):
        ours = pool(least)
        assert set(ours.names) == {name for name, count in spread.items() if count >= least}
        value, slopes = ours.gradient(LOSS, np.zeros(len(ours)))
        assert value == pool().gradient(LOSS, np.zeros(len(pool())))[0]
        assert len(slopes) == len(ours)


def test_some_parts_keep_the_features_of_all():
    ours = pool()
    weights = np.random.default_rng(3).normal(size=len(ours))
    rest, held = ours.only(0, 2), ours.only(2, 3)
    assert len(rest) == len(held) == len(ours)
    shares = [len(store) for store in PARTS]
    mean = (rest.expected(LOSS, weights) * sum(shares[:2]) + held.expected(LOSS, weights) * shares[2]) / sum(shares)
    assert ours.expected(LOSS, weights) == pytest.approx(mean)


def test_a_solver_raises_expected_gain():
    ours = pool()
    zero = np.zeros(len(ours))
    learnt = Descent(Rprop(), epochs=20, after="all").solve(LOSS, ours, zero, zero)
    assert ours.expected(LOSS, learnt) > ours.expected(LOSS, zero) + 1


def test_the_volume_spreads_p_over_as_many_candidates_as_asked():
    part = pool().parts[0]
    for wanted in (1.5, 2.0, 2.5):
        factor = volume(LOSS, part.stakes, part.base, wanted)
        assert LOSS.effective(part.stakes, factor * part.base) == pytest.approx(wanted, rel=1e-6)
    assert pool().scaled(2.0).parts[0].base == pytest.approx(2.0 * part.base)


class Halves:
    """Two groups: the first three features, and the others but the last; the first one is in both."""

    matrix = np.array([[1, 1, 1, 0, 0, 0], [1, 0, 0, 1, 1, 0]], np.float64)

    def __len__(self):
        return 2

    def spread(self, weights):
        return weights @ self.matrix

    def gather(self, slopes):
        return self.matrix @ slopes


def tied():
    ours = pool()
    return Tied(ours, ours.spread > np.median(ours.spread), Halves())


def test_features_in_few_lists_have_the_weights_of_their_groups_only():
    ours = tied()
    assert 0 < np.count_nonzero(ours.own) < 6
    assert len(ours) == len(ours.names) + 2
    weights = np.random.default_rng(3).normal(size=len(ours))
    own, shared = ours.split(weights)
    expected = shared @ Halves.matrix
    expected[ours.own] += own
    assert ours.whole(weights).tolist() == expected.tolist()
    assert ours.expected(LOSS, weights) == ours.pool.expected(LOSS, expected)
    assert ours.only(1, 3).expected(LOSS, weights) == ours.pool.only(1, 3).expected(LOSS, expected)


def test_the_gradient_of_shared_weights_is_a_central_difference():
    ours = tied()
    at = np.random.default_rng(8).normal(size=len(ours))
    _, gradient = ours.gradient(LOSS, at)
    for place in range(len(ours)):
        step = np.zeros(len(ours))
        step[place] = 1e-6
        rise = ours.gradient(LOSS, at + step)[0] - ours.gradient(LOSS, at - step)[0]
        assert gradient[place] == pytest.approx(rise / 2e-6, abs=1e-7)


def test_the_spread_of_a_pool_is_the_number_of_lists_that_have_a_feature():
    whole, _ = together()
    ours = pool(2)
    counted = {
        name: sum(any(name in candidate.features for candidate in segment) for segment in whole.candidates)
        for name in ours.names
    }
    assert dict(zip(ours.names, ours.spread.tolist(), strict=True)) == counted
    assert min(counted.values()) >= 2
