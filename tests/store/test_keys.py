"""Laws of the feature table: exact keys, ids by first appearance, counts, ranks; kernels equal their twins."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rampion._core import keys as core
from rampion._reference import keys as reference
from rampion.errors import InputError
from rampion.store.keys import ABSENT, SLOT, Keys

numbers = st.one_of(st.integers(1, 60), st.integers(1, 2**64 - 1), st.integers(1, 40).map(lambda word: word << 38))
rows = st.lists(numbers, max_size=120).map(lambda items: np.array(items, np.uint64))


def table_of(keys, capacity=1):
    table = Keys(capacity)
    return table, table.enter(keys)


@given(rows, st.integers(1, 200))
def test_ids_are_dense_in_order_of_first_appearance_and_uses_are_counted(keys, capacity):
    table, ids = table_of(keys, capacity)
    order = list(dict.fromkeys(keys.tolist()))
    assert ids.tolist() == [order.index(key) for key in keys.tolist()]
    assert table.listed().tolist() == order
    assert table.counts[: len(table)].tolist() == list(Counter(keys.tolist()).values())
    assert len(table) == len(order)


@given(rows, rows)
def test_weights_and_ids_are_found_by_key(keys, others):
    table, _ = table_of(keys)
    weights = np.arange(len(table)) + 0.5
    table.set_weights(weights)
    known = dict(zip(table.listed().tolist(), weights, strict=True))
    assert table.weigh(others).tolist() == [known.get(key, 0.0) for key in others.tolist()]
    found = [list(known).index(key) if key in known else ABSENT for key in others.tolist()]
    assert table.find(others).tolist() == found


@given(rows, st.integers(1, 6))
def test_settling_drops_the_rare_ranks_the_frequent_and_keeps_key_count_and_weight_together(keys, least):
    table, _ = table_of(keys)
    old, counts = table.listed(), table.counts[: len(table)].copy()
    table.set_weights(np.arange(len(table)))
    places = table.settle(least)
    kept = [i for i in range(len(old)) if counts[i] >= least]
    ranked = sorted((i for i in kept if counts[i] >= 4), key=lambda i: -int(counts[i]))
    order = ranked + [i for i in kept if counts[i] < 4]
    assert table.listed().tolist() == old[order].tolist()
    assert table.counts.tolist()[: len(order)] == counts[order].tolist()
    assert table.weigh(old[order]).tolist() == order
    assert places.tolist() == [order.index(i) if i in order else ABSENT for i in range(len(old))]


@given(rows)
def test_a_table_comes_back_from_its_keys_and_counts(keys):
    table, _ = table_of(keys)
    again = Keys.of(table.listed(), table.counts[: len(table)])
    assert again.listed().tolist() == table.listed().tolist()
    assert again.counts.tolist()[: len(again)] == table.counts.tolist()[: len(table)]


def test_a_full_table_takes_24_bytes_a_feature_and_stays_right():
    keys = np.arange(1, 20_001, dtype=np.uint64) << np.uint64(19)
    table = Keys(len(keys))
    assert table.enter(keys).tolist() == list(range(len(keys)))
    assert table.nbytes <= 24 * len(keys) + 24
    table.enter(keys[::2].copy())
    table.settle(least=2)
    assert table.nbytes <= 24 * len(table) + 24
    assert table.listed().tolist() == keys[::2].tolist()


def test_what_does_not_fit_the_table_is_refused():
    table, _ = table_of(np.array([5, 7], np.uint64))
    with pytest.raises(InputError, match=r"feature key 1 is 0, which marks a free slot"):
        table.enter(np.array([5, 0], np.uint64))
    with pytest.raises(InputError, match=r"3 weights for 2 features; expected one each"):
        table.set_weights(np.zeros(3))
    for bad in (np.nan, 1e39):
        with pytest.raises(InputError, match=r"the weight of feature 1 is .*; expected a finite"):
            table.set_weights(np.array([0.0, bad]))
    with pytest.raises(InputError, match=r"1 of 3 feature keys appear twice"):
        Keys.of(np.array([5, 7, 5], np.uint64), np.ones(3, np.uint32))


@given(rows, st.integers(1, 150), st.integers(1, 100), rows)
def test_kernels_and_twins_give_the_same_bits(keys, room, limit, others):
    def run(kernels):
        slots, counts = np.zeros(room + 1, SLOT), np.zeros(room, np.uint32)
        ids, size = np.zeros(len(keys), np.uint32), np.zeros(1, np.int64)
        done = kernels.enter(keys, 0, min(limit, room), slots, counts, size, ids)
        kernels.refresh(np.arange(room, dtype=np.float32) + 1, slots)
        found, weights = np.zeros(len(others), np.uint32), np.zeros(len(others), np.float32)
        kernels.locate(others, slots, ABSENT, found)
        kernels.weigh(others, slots, weights)
        places = np.where(np.arange(room) % 3, np.arange(room), ABSENT).astype(np.uint32)
        fresh, listed = np.zeros(2 * room + 1, SLOT), np.zeros(room, np.uint64)
        kernels.settle(slots, places, ABSENT, fresh)
        kernels.listed(fresh, listed)
        return [done, *(array.tolist() for array in (slots, counts, size, ids, found, weights, fresh, listed))]

    assert run(core) == run(reference)
