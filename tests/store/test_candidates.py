"""The store: what it keeps, what it refuses, and how lists are merged."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from facts import SMALL, built, told
from hypothesis import given
from hypothesis import strategies as st
from strategies import random_store, stores

from rampion.errors import InputError, StoreError
from rampion.formats import container
from rampion.formats import store as store_files
from rampion.store.candidates import Candidates
from rampion.store.features import Features
from rampion.store.names import Names
from rampion.store.text import Texts

seeds = st.integers(0, 2**32).map(np.random.default_rng)


def test_build_keeps_every_fact_and_calls_dense_what_all_candidates_have():
    store = built(SMALL)
    assert told(store) == SMALL
    assert list(store.features.names) == ["LM", "x", "y"]
    assert store.features.width == 1
    assert not len(store.lists.values), "small counts stand as repeated entries"
    np.testing.assert_array_equal(store.lists.dense, [-1.5, -2.0, -0.5])


@pytest.mark.parametrize("value", [0.5, -1.0, 65.0])
def test_what_is_not_a_small_count_keeps_its_value(value):
    facts = {"1": [("a", {"x": value}), ("b", {"y": 2.0})]}
    store = built(facts)
    assert len(store.lists.values)
    assert told(store) == facts


def test_explicit_zeros_of_sparse_features_are_absence():
    store = built({"1": [("a", {"D": 0.0, "x": 0.0}), ("b", {"D": -0.0})]})
    assert store.features.width == 1
    assert len(store.lists.entries) == 0
    assert np.signbit(store.lists.dense).tolist() == [False, True]


@given(stores())
def test_rows_and_build_are_inverse(store):
    again = store.take(np.arange(store.size), store.bounds, store.segments)
    for name, array in store.arrays().items():
        assert array.tobytes() == again.arrays()[name].tobytes(), name


@given(stores(), seeds)
def test_keeping_is_taking_those_marked(store, random):
    kept = random.random(store.size) < 0.5
    bounds = np.concatenate([[0], np.cumsum(kept)])[store.bounds]
    taken = store.take(np.flatnonzero(kept), bounds, store.segments)
    for name, array in store.keep(kept).arrays().items():
        assert array.dtype == taken.arrays()[name].dtype, name
        assert array.tobytes() == taken.arrays()[name].tobytes(), name


@given(stores(), seeds)
def test_sorting_is_taking_in_that_order(store, random):
    scores = random.integers(3, size=store.size).astype(float)
    order = sorted(range(store.size), key=lambda i: (np.searchsorted(store.bounds, i, "right"), -scores[i], i))
    taken = store.take(np.array(order, np.int64), store.bounds, store.segments)
    found = store.sorted_by(scores)
    assert found.scores.tolist() == scores[order].tolist()
    for name, array in found.arrays().items():
        if name != "scores":
            assert array.dtype == taken.arrays()[name].dtype, name
            assert array.tobytes() == taken.arrays()[name].tobytes(), name


@given(stores(), stores(), seeds)
def test_what_is_made_of_proved_stores_could_be_proved(store, other, random):
    """Only the constructor proves: no way from store to store may lead to arrays that it would refuse."""
    kept, half = random.random(store.size) < 0.5, np.flatnonzero(random.random(len(store)) < 0.5)
    made = [
        store.keep(kept), store.keep(kept).distinct(), store.at(3), store.narrowed(0), store[half], store[half].at(1),
        store.sorted_by(random.normal(size=store.size)), store.merge(store.at(2)), store.distinct().merge(other),
    ]  # fmt: skip
    for one in made:
        arrays = {name: array.tobytes() for name, array in one.arrays().items()}
        assert not any(array.flags.writeable for array in one.arrays().values())
        assert {name: array.tobytes() for name, array in replace(one).arrays().items()} == arrays


def test_every_door_refuses_numbers_that_are_not_finite(tmp_path):
    """The constructor, arrays, a reader's rows, and a file."""
    store = random_store(np.random.default_rng(1), [2, 3], 2, 3, False)
    dense = store.lists.dense.copy()
    dense[1] = np.nan
    arrays = store.arrays() | {"dense": dense}
    rows = store.rows()
    values = rows.values.copy()
    values[0] = np.nan
    container.write(tmp_path / "lists.store", "candidates", arrays, store.meta())
    for door in (
        lambda: replace(store, lists=store.lists._replace(dense=dense)),
        lambda: Candidates.from_arrays(arrays, store.meta()),
        lambda: Candidates.from_rows(names_of(store), [[rows._replace(values=values)]]),
        lambda: store_files.read(tmp_path / "lists.store"),
    ):
        with pytest.raises(StoreError, match="holds a number that is not finite"):
            door()


def names_of(store):
    names = Names()
    names.intern_all(store.features.names)
    return names


@given(stores(), seeds)
def test_slicing_takes_whole_segments(store, random):
    chosen = random.permutation(len(store.segments))[: random.integers(0, len(store.segments) + 1)]
    facts = told(store)
    assert list(told(store[chosen]).items()) == [(store.segments[s], facts[store.segments[s]]) for s in chosen]
    weights = random.normal(size=len(store.features))
    np.testing.assert_allclose(
        store[chosen].score(weights),
        np.concatenate([store.score(weights)[store.bounds[s] : store.bounds[s + 1]] for s in chosen] or [np.zeros(0)]),
        rtol=1e-12,
    )


@given(stores(), seeds)
def test_the_binary_form_is_whole(store, random):
    again = Candidates.from_arrays(store.arrays(), store.meta())
    weights = random.normal(size=len(store.features))
    assert again.score(weights).tobytes() == store.score(weights).tobytes()
    assert told(again) == told(store)


def test_same_tokens_and_features_are_one_candidate_and_other_features_make_two():
    store = built({
        "1": [("a b", {"D": 1.0, "x": 1.0}), ("a b", {"D": 1.0, "x": 2.0}), ("a  b", {"x": 1.0, "D": 1.0}),
              ("a", {"D": 1.0, "x": 1.0})],
        "2": [("a b", {"D": 1.0, "x": 1.0})],
    })  # fmt: skip
    distinct = store.distinct()
    assert [len(hyps) for hyps in told(distinct).values()] == [3, 1]
    assert distinct.distinct() is distinct


@given(stores(max_candidates=5), stores(max_candidates=5))
def test_merge_is_a_union_in_order_of_first_appearance(first, second):
    first, second = first.distinct(), second.distinct()
    merged = first.merge(second)
    mine, theirs, both = told(first), told(second), told(merged)
    assert list(both) == [*mine, *(segment for segment in theirs if segment not in mine)]
    for segment, hyps in both.items():
        expected = list(mine.get(segment, []))
        expected += [hyp for hyp in theirs.get(segment, []) if hyp not in expected]
        assert hyps == expected
    assert told(merged.merge(second)) == both
    assert told(first.merge(first)) == mine


def test_seen_is_the_latest_iteration_of_equals():
    merged = built(SMALL, 1).merge(built({"7": SMALL["7"][1:]}, 4))
    np.testing.assert_array_equal(merged.seen, [1, 4, 1])


def test_a_feature_dense_in_one_store_only_becomes_sparse():
    first, second = (
        built({"1": [("a", {"D": 1.0, "E": 2.0})]}),
        built({"1": [("b", {"D": 3.0}), ("c", {"D": 4.0, "E": 5.0})]}),
    )
    merged = first.merge(second)
    assert merged.features.width == 1
    assert told(merged) == {"1": [("a", {"D": 1.0, "E": 2.0}), ("b", {"D": 3.0}), ("c", {"D": 4.0, "E": 5.0})]}


def test_arrays_of_a_store_cannot_be_changed():
    with pytest.raises(ValueError, match="read-only"):
        built(SMALL).lists.dense[0] = 1.0


DAMAGE = {
    "does not rise": ("bounds", lambda a: a[::-1].copy()),
    "has 2 numbers": ("bounds", lambda a: a[:2]),
    "not finite": ("dense", lambda a: a * np.nan),
    "dense has 2 numbers, expected 3": ("dense", lambda a: a[:2]),
    "features holds the id 11, expected ids below 3": ("features", lambda a: a + np.uint32(9)),
    "features holds a dense feature": ("features", lambda a: a * np.uint32(0)),
    "features does not rise between its bounds": ("features", lambda a: a[::-1].copy()),
    "outside its segment's dictionary": ("entries", lambda a: a + np.uint32(5)),
    "entries are not in order": ("entries", lambda a: np.array([0, 0, 1, 0, 1, 0, 1], np.uint32)),
    "values for": ("values", lambda a: np.ones(2)),
    "is not of the type uint32": ("entries", lambda a: a.astype(np.int64)),
    "scores has 1 numbers": ("scores", lambda a: a[:1]),
    "array seen is missing": ("seen", None),
}


@pytest.mark.parametrize("message", DAMAGE)
def test_arrays_that_do_not_fit_are_refused(message):
    store = built(SMALL)
    arrays = {name: array.copy() for name, array in store.arrays().items()}
    name, spoil = DAMAGE[message]
    if spoil:
        arrays[name] = spoil(arrays[name])
    else:
        del arrays[name]
    with pytest.raises(StoreError, match=message):
        Candidates.from_arrays(arrays, store.meta())


def test_a_damaged_width_is_refused():
    with pytest.raises(StoreError, match="width is -1"):
        Candidates.from_arrays(built(SMALL).arrays(), {"width": -1})


def test_arrays_of_another_length_reach_no_kernel():
    lists = random_store(np.random.default_rng(0), [3, 4], 2, 5)
    with pytest.raises(InputError, match=r"weights of shape \(2,\); expected \d+, one for each of the features"):
        lists.score(np.zeros(2))
    with pytest.raises(InputError, match=r"slopes of shape \(2,\); expected 7, one for each of the candidates"):
        lists.gather(np.zeros(2))


def test_millions_of_features():
    random = np.random.default_rng(0)
    store = random_store(random, [3, 4], 2, 50)
    names = Texts.from_strings(f"f{j}" for j in range(2_000_000))
    lists = store.lists._replace(features=(store.lists.features + np.uint32(1_999_000)).astype(np.uint32))
    wide = replace(store, lists=lists, features=Features(names, store.features.width))
    slopes = random.normal(size=wide.size)
    gradient = wide.gather(slopes)
    assert np.flatnonzero(gradient).max() > 1_999_000
    np.testing.assert_array_equal(gradient[2 + 1_999_000 : 52 + 1_999_000], store.gather(slopes)[2:])
