"""Laws of the online passes over relevant sets: kernels equal their twins in both bodies, and the twins the formulas."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import astuple, replace
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rampion._core import rank as core_rank
from rampion._core import respond as core_respond
from rampion._reference import rank as reference_rank
from rampion._reference import respond as reference_respond
from rampion.errors import RecipeError, TuningError
from rampion.passes import Passes, Room
from rampion.ranking import COSTMARGIN, FIXED, LITERAL, PERCEPTRON, Ranking, Regression


class Packed(NamedTuple):
    """A working form by its layout, written from lists: independent of what the library packs."""

    bounds: np.ndarray
    truths: np.ndarray
    gains: np.ndarray
    offsets: np.ndarray
    values: np.ndarray
    starts: np.ndarray
    blob: np.ndarray


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


def packed(segments, truths, gains, width=0, awake=10**9, common=False, random=None):
    """Segments are lists of candidates; offsets and values are drawn if there is a generator, else 0."""
    blobs = [blob_of(candidates, awake, common) if candidates else [] for candidates in segments]
    n = sum(map(len, segments))
    draw = random.normal if random else lambda size: np.zeros(size)
    return Packed(
        np.cumsum([0, *map(len, segments)]), np.array(truths, np.int32), np.array(gains, np.float64),
        draw(size=n), draw(size=n * width), np.cumsum([0, *map(len, blobs)]),
        np.array([word for blob in blobs for word in blob], np.uint32),
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
    results, scored = [], []
    for ranks, responds, portable in (
        (reference_rank, reference_respond, False), (core_rank, core_respond, False), (core_rank, core_respond, True),
    ):  # fmt: skip
        weights, own, room = start[0].copy(), start[1].copy(), Room.of(slabs)
        told = ranks.rank(slabs, order, astuple(loss), (0.1, decay), weights, own, portable, room)
        told += ranks.regress(slabs, order, (0.01, decay), weights, own, portable, room)
        scores, gradient = np.zeros(len(slabs.gains)), np.zeros(places + 1)
        responds.respond(slabs, np.arange(6), weights, own, portable, room, scores)
        responds.collect(slabs, scores, gradient)
        results.append((*told, weights, own, scores, gradient))
    same_bits(*results)
    assert not np.isnan(results[0][4]).any()
    del scored


@pytest.mark.parametrize("portable", [True, False])
def test_bodies_and_twins_agree_on_weights_beyond_all_bounds(portable):
    slabs = packed([[[1, 2], [2, 3], [3]]], [1], [1.0, 0.5, 0.0])
    results = []
    for ranks in (reference_rank, core_rank):
        weights = np.zeros(4, np.float32)
        order = np.zeros(9, np.int64)
        told = ranks.rank(slabs, order, astuple(COSTMARGIN), (1e25, 0.0), weights, np.zeros(0), portable, Room.of(slabs))
        results.append([np.isnan(told[0]), told[1], np.isnan(weights)])
    same_bits(*results)


def dense(slabs, lists, places):
    """The features as a matrix, from the candidates themselves."""
    matrix = np.zeros((len(slabs.gains), places + 1))
    for row, candidate in enumerate(candidate for candidates in lists for candidate in candidates):
        np.add.at(matrix[row], candidate, 1.0)
    matrix[:, int(0.9 * places) + 1 :] = 0.0
    return matrix


def scores_of(slabs, weights, own):
    scores = np.zeros(len(slabs.gains))
    core_respond.respond(
        slabs, np.arange(len(slabs.bounds) - 1), np.asarray(weights, np.float32), own, False, Room.of(slabs), scores
    )
    return scores


@pytest.mark.parametrize("most", [5, 40, 130])
def test_differences_of_scores_are_those_of_dot_products(most):
    random = np.random.default_rng(most)
    slabs, lists = drawn(random, 8, most, 100, 2)
    weights, own = start_of(random, 100, 2)
    found = scores_of(slabs, weights, own)
    matrix = dense(slabs, lists, 100)
    expected = slabs.offsets + slabs.values.reshape(-1, 2) @ own + matrix @ weights
    for start, end in pairwise(slabs.bounds.tolist()):
        np.testing.assert_allclose(
            found[start:end] - found[start:end][:1], expected[start:end] - expected[start:end][:1], atol=1e-4
        )


def test_what_is_collected_is_slopes_times_features():
    random = np.random.default_rng(3)
    slabs, lists = drawn(random, 8, 70, 100, common=True)
    slopes, gradient = random.normal(size=len(slabs.gains)), np.zeros(101)
    core_respond.collect(slabs, slopes, gradient)
    np.testing.assert_allclose(gradient, dense(slabs, lists, 100).T @ slopes, atol=1e-12)
