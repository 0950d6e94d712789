"""Every kernel over a store equals its plain-Python twin bit for bit."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import arrays, random_store, stores
from twins import both, same_bits, seeds

from rampion.store.lists import Scratch
from rampion.store.packing import Work

SOFTNESSES = [-1.0, 0.0, 0.3, 1.0]


@given(stores(), seeds)
def test_score(store, random):
    weights = arrays(random, len(store.features))
    filled = [np.empty(store.size) for _ in range(2)]
    for kernel, scores in zip(both("score", "score"), filled, strict=True):
        kernel(store.lists, weights, np.empty(store.lists.local_size), scores)
    same_bits(*filled)


@given(stores(), seeds, st.booleans())
def test_gather(store, random, ties):
    slopes, start = arrays(random, store.size, ties), arrays(random, len(store.features))
    filled = [start.copy() for _ in range(2)]
    for kernel, gradient in zip(both("gather", "gather"), filled, strict=True):
        kernel(store.lists, slopes, np.empty(store.lists.local_size), gradient)
    same_bits(*filled)


def stances(draw_softness, random, n, ties):
    """A side of any kind: some candidates may not stand on it, some masses are zero; tilts are others."""
    handicap = arrays(random, n, ties)
    handicap[random.random(n) < 0.3] = 0.0 if draw_softness < 0 else -np.inf
    return handicap, draw_softness, arrays(random, n, ties)


@given(stores(), seeds, st.booleans(), st.sampled_from(SOFTNESSES), st.sampled_from(SOFTNESSES))
def test_contrast_and_side(store, random, ties, up_softness, down_softness):
    n, s = store.size, len(store.segments)
    scores = arrays(random, n, ties)
    up, down = stances(up_softness, random, n, ties), stances(down_softness, random, n, ties)
    filled = [(np.empty(s), np.empty(n), np.empty(s), np.empty(n)) for _ in range(2)]
    for contrast, side, out in zip(both("contrast", "contrast"), both("contrast", "side"), filled, strict=True):
        contrast(scores, up, down, store.bounds, np.empty(store.lists.longest), out[0], out[1])
        side(scores, up, store.bounds, np.empty(store.lists.longest), out[2], out[3])
    for left, right in zip(*filled, strict=True):
        same_bits(left, right)


@given(
    stores(), seeds, st.booleans(), st.sampled_from(SOFTNESSES), st.sampled_from(SOFTNESSES),
    st.sampled_from([(0.1, 0.0, 0.0), (0.1, 0.0, 0.01), (0.5, 1.0, 0.0), (1e-3, 0.0, 1 - 1e-60)]), st.booleans(),
)  # fmt: skip
def test_epoch(store, random, ties, up_softness, down_softness, step, averaged):
    n, lists = store.size, store.lists
    up, down = stances(up_softness, random, n, ties), stances(down_softness, random, n, ties)
    order = random.integers(0, len(store.segments), 12)
    origin, start = arrays(random, len(store.features), ties), arrays(random, len(store.features))
    results = []
    for kernel in both("epoch", "epoch"):
        movement, total = start.copy(), start[: len(start) * averaged].copy()
        work = Scratch.of(lists)
        violations = kernel(lists, order, up, down, step, origin, movement, total, work)
        results.append((movement, total, np.float64(violations)))
    for left, right in zip(*results, strict=True):
        same_bits(left, right)


@given(stores(), seeds)
def test_pack(store, random):
    rows = store.rows()
    picks = random.permutation(store.size)
    width = store.features.width
    sparse = width + random.permutation(len(store.features) - width)
    places = np.concatenate([np.arange(width), sparse]).astype(np.uint32)
    room = len(rows.ids)
    results = []
    for kernel in both("pack", "pack"):
        lists = store.lists._replace(
            dense=np.zeros(store.features.width * store.size), features=np.zeros(room, np.uint32),
            feature_bounds=np.zeros(len(store.bounds), np.int64), entries=np.zeros(room, np.uint32),
            entry_bounds=np.zeros(store.size + 1, np.int64), values=np.zeros(room),
        )  # fmt: skip
        work = Work(
            np.zeros(len(store.features), np.uint32), np.empty(room + 1, np.int64), np.empty(store.size, np.int64),
            np.empty(room, np.uint32), np.empty(room),
        )  # fmt: skip
        kernel(rows, picks, places, lists, work)
        assert not work.stamps.any()
        results.append(lists)
    for left, right in zip(*results, strict=True):
        same_bits(left, right)


@pytest.mark.parametrize("counts_only", [True, False])
def test_a_long_list_takes_every_path_of_the_kernels(counts_only):
    random = np.random.default_rng(1)
    store = random_store(random, [150, 0, 203], 14, 300, counts_only, fill=0.2)
    weights = random.normal(size=len(store.features))
    results = []
    for kernel in both("score", "score"):
        scores = np.empty(store.size)
        kernel(store.lists, weights, np.empty(store.lists.local_size), scores)
        results.append(scores)
    same_bits(*results)
    matrix = np.zeros((store.size, len(store.features)))
    rows = store.rows()
    owner = np.repeat(np.arange(store.size), np.diff(rows.entry_bounds))
    matrix[owner, rows.ids] = rows.values
    np.testing.assert_allclose(results[0], matrix @ weights, rtol=1e-12, atol=1e-12)
    slopes = random.normal(size=store.size)
    np.testing.assert_allclose(store.gather(slopes), matrix.T @ slopes, rtol=1e-12, atol=1e-12)
