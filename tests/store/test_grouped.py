"""Grouped features against their twins, the store they come from, and themselves on any number of threads (S11.2)."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from command import ENVIRONMENT
from hypothesis import given
from hypothesis import strategies as st
from strategies import arrays, random_store, stores
from twins import both, same_bits

import rampion.losses.expectation
import rampion.optim.updates
import rampion.store.grouped
import rampion.store.lists
import rampion.threads
from rampion.arrays import ends
from rampion.errors import InputError
from rampion.formats import store as stored
from rampion.losses.expectation import ExpectedBleu, Risk
from rampion.losses.pairwise import Pairs
from rampion.losses.table import LOSSES
from rampion.metrics.column import Column
from rampion.metrics.judging import Batch, Forms, Stakes
from rampion.optim.solvers import Descent, objective
from rampion.optim.updates import Rprop
from rampion.store.candidates import Candidates
from rampion.store.features import Features
from rampion.store.grouped import WORK, Grouped
from rampion.store.lists import Lists
from rampion.store.text import Texts
from rampion.threads import each

seeds = st.integers(0, 2**32).map(np.random.default_rng)


def centred(random, bounds):
    """Slopes whose sum over a list is 0, but for rounding."""
    slopes = random.normal(size=bounds[-1])
    for start, end in pairwise(bounds):
        slopes[start:end] -= slopes[start:end].mean() if end > start else 0.0
    return slopes


@given(stores(counts_only=True))
def test_the_kernel_of_groups_is_its_twin(store):
    lists = store.lists
    known, held = len(lists.features), len(lists.entries)
    found = []
    for kernel in both("group", "group"):
        bounds = (np.empty_like(lists.feature_bounds), np.empty_like(lists.feature_bounds))
        out = [np.zeros(known, np.uint32), np.zeros(known, np.uint16), *(np.zeros(held, np.uint16) for _ in range(2))]
        ends = np.empty_like(lists.bounds)
        kernel(lists, np.empty((WORK, known + 1), np.int64), out[0], bounds[0], out[1], bounds[1], *out[2:], ends)
        kept, filled = bounds[0][-1], ends[-1]
        found.append([*bounds, ends, out[0][:kept], out[1][:kept], out[2][:filled], out[3][:filled]])
    for left, right in zip(*found, strict=True):
        same_bits(left, right)


@given(stores(counts_only=True), seeds, st.booleans())
def test_the_kernels_of_sums_are_their_twins(store, random, ties):
    grouped = Grouped.of(store)
    (part,) = grouped.parts
    weights, slopes = arrays(random, len(store.features), ties), arrays(random, store.size, ties)
    scores = [np.empty(store.size) for _ in range(2)]
    for kernel, out in zip(both("pool", "tally"), scores, strict=True):
        kernel(part, weights, np.empty(part.room), out)
    same_bits(*scores)
    pooled = [np.empty(part.size) for _ in range(2)]
    for kernel, out in zip(both("pool", "pool"), pooled, strict=True):
        kernel(part, slopes, np.empty(part.room), out)
    same_bits(*pooled)
    low, high = sorted(random.integers(0, len(store.features) + 1, 2).tolist())
    gradients = [arrays(np.random.default_rng(1), len(store.features)) for _ in range(2)]
    for kernel, out in zip(both("pool", "scatter"), gradients, strict=True):
        kernel(part, pooled[0], low, high, out)
    same_bits(*gradients)


@given(stores(counts_only=True), seeds)
def test_scores_and_gradients_are_those_of_the_store(store, random):
    """But for what all candidates of a list have alike: a number of its own, and slopes that sum to 0."""
    grouped = Grouped.of(store)
    weights, slopes = random.normal(size=len(store.features)), centred(random, store.bounds)
    apart = store.score(weights) - grouped.score(weights)
    for start, end in pairwise(store.bounds):
        np.testing.assert_allclose(apart[start:end], apart[start] if end > start else 0.0, atol=1e-12)
    np.testing.assert_allclose(grouped.gather(slopes), store.gather(slopes), atol=1e-12)


@pytest.mark.parametrize("threads", [2, 3, 7])
def test_neither_threads_nor_parts_change_a_bit(monkeypatch, tmp_path, threads):
    random = np.random.default_rng(threads)
    store = random_store(random, [4, 0, 6, 1, 9, 5, 5, 0, 8, 7], 2, 20, True)
    weights, slopes = random.normal(size=len(store.features)), random.normal(size=store.size)
    whole = Grouped.of(store, threads=1)
    monkeypatch.setattr(rampion.store.lists, "PIECE", 25)
    monkeypatch.setattr(rampion.store.grouped, "WAVE", 2)
    monkeypatch.setattr(rampion.store.grouped, "processors", lambda: threads)
    for folder in (None, tmp_path):
        parts = Grouped.of(store, folder, threads)
        assert len(parts.parts) > 3
        assert len(parts.edges) == threads + 1
        same_bits(parts.score(weights, threads), whole.score(weights, 1))
        same_bits(parts.gather(slopes, threads), whole.gather(slopes, 1))
    assert not list(tmp_path.iterdir())


def test_what_no_candidate_tells_apart_has_no_gradient_at_all():
    """Not even one of rounding, whose sign Rprop would follow."""
    random = np.random.default_rng(0)
    store = random_store(random, [30] * 5, 0, 8, True)
    entries = [[0, 1, 1, *row[row > 1]] for row in np.split(store.lists.entries, store.lists.entry_bounds[1:-1])]
    lengths = [0, *map(len, entries)]
    lists = store.lists._replace(entries=np.concatenate(entries).astype(np.uint32), entry_bounds=np.cumsum(lengths))
    store = replace(store, lists=lists)
    slopes = centred(random, store.bounds)
    assert store.gather(slopes)[:2].any()
    found = Grouped.of(store).gather(slopes)
    assert not found[:2].any()
    assert found[2:].all()


@pytest.mark.parametrize(("lengths", "sparse"), [([3, 9, 2], 3), ([2, 4, 1], 8)], ids=["candidates", "features"])
def test_lists_too_large_to_number_stay_a_store(monkeypatch, lengths, sparse):
    monkeypatch.setattr(rampion.store.grouped, "MOST", 8)
    batch = batch_of(np.random.default_rng(3), lengths, sparse=sparse)
    assert batch.form is batch.candidates
    weights = np.random.default_rng(4).normal(size=1 + sparse)
    value, gradient = objective(ExpectedBleu(), batch, weights, weights, 0.0)
    monkeypatch.setattr(rampion.store.grouped, "MOST", 16)
    batch = replace(batch, forms=Forms())
    assert isinstance(batch.form, Grouped)
    again, same = objective(ExpectedBleu(), batch, weights, weights, 0.0)
    assert again == pytest.approx(value, abs=1e-12)
    np.testing.assert_allclose(same, gradient, atol=1e-12)


def test_each_keeps_the_order():
    for threads in (1, 2, 5):
        assert each(lambda item: item * item, range(20), threads) == [item * item for item in range(20)]
    assert each(str, [], 2) == []


def batch_of(random, lengths, width=1, sparse=15):
    store = random_store(random, lengths, width, sparse, True)
    stakes = Stakes(store.bounds, random.random(store.size), random.random(store.size) < 0.3)
    return Batch(store, np.zeros((store.size, 1)), stakes, Column("none"), random.normal(size=store.size))


@given(seeds)
def test_the_objective_s_gradient_is_a_central_difference(random):
    batch = batch_of(random, [3, 0, 6, 1, 5])
    weights, origin = random.normal(size=(2, 16))
    assert isinstance(batch.form, Grouped)
    _, gradient = objective(ExpectedBleu(), batch, weights, origin, 0.1)
    for j, slope in enumerate(gradient):
        step = 1e-5 * (np.arange(16) == j)
        above, below = (objective(ExpectedBleu(), batch, weights + sign * step, origin, 0.1)[0] for sign in (1, -1))
        assert slope == pytest.approx((above - below) / 2e-5, abs=1e-7)


RELATIVE = [loss for loss in LOSSES.values() if loss.relative]


@pytest.mark.parametrize("loss", [*RELATIVE, Risk(), Risk(0.5, 0.2), ExpectedBleu(), Pairs()], ids=repr)
@given(seeds)
def test_losses_see_only_differences_inside_a_list(loss, random):
    """So the working form may shift the scores of a list alike. Numbers are such that sums are exact."""
    stakes = batch_of(random, [3, 0, 6, 1, 5]).stakes
    stakes = replace(stakes, costs=np.round(stakes.costs * 64) / 64)
    scores = np.round(random.normal(size=15) * 64) / 64
    shifts = np.repeat(random.integers(-8, 9, 5), np.diff(stakes.bounds))
    value, slopes = loss.slopes(stakes, scores)
    shifted, same = loss.slopes(stakes, scores + shifts)
    assert shifted == pytest.approx(value, abs=1e-12)
    np.testing.assert_allclose(same, slopes, atol=1e-12)


def test_training_is_the_same_on_any_number_of_threads(monkeypatch, tmp_path):
    batch = batch_of(np.random.default_rng(2), [4, 0, 6, 1, 9, 5, 5, 0, 8, 7])
    start, answers = np.zeros(16), []
    solver = Descent(Rprop(0.05), 20, "all", l2=1e-3)
    for threads in (1, 2, 5):
        for module, name, value in (
            (rampion.store.lists, "PIECE", 25), (rampion.losses.expectation, "SEGMENTS", 2),
            (rampion.optim.updates, "PIECE", 3),
            (rampion.threads, "processors", lambda threads=threads: threads), (rampion.store.grouped, "WAVE", threads),
            (rampion.store.grouped, "processors", lambda threads=threads: threads),
        ):  # fmt: skip
            monkeypatch.setattr(module, name, value)
        for folder in (None, str(tmp_path)):
            answers.append(solver.solve(ExpectedBleu(), replace(batch, forms=Forms(folder)), start, start))
    for answer in answers:
        same_bits(answer, answers[0])
    assert answers[0].any()


LIMITED = """
import resource, sys
import numpy as np
import rampion.store.lists
from rampion import tune
from rampion.formats import store
rampion.store.lists.PIECE = 1 << 18
path, folder, limit, out = sys.argv[1:]
free = int(limit) << 20
if free:
    used = int(next(line for line in open("/proc/self/status") if line.startswith("VmData")).split()[1]) << 10
    resource.setrlimit(resource.RLIMIT_DATA, (used + free, used + free))
lists = store.read(path)
if free:
    assert lists.lists.entries.nbytes > 2 * free
tuned = tune(lists, recipe="xbleu-rprop", metric="metric:gain", epochs=3, folder=folder or None)
np.save(out, tuned.weights.vector)
"""


@pytest.mark.slow
@pytest.mark.skipif("RAMPION_SANITIZE" in os.environ, reason="a sanitizer needs memory of its own, without a limit")
def test_lists_larger_than_memory_train_from_their_file(tmp_path):
    """Both the store and its working form are too large; with a folder the weights are those without a limit."""
    random = np.random.default_rng(0)
    segments, size, known = 600, 50, 1500
    held = [np.flatnonzero(random.random(known) < 0.67).astype(np.uint32) for _ in range(400)]
    rows = random.integers(0, len(held), segments * size)
    lists = Lists(
        np.arange(segments + 1) * size, np.zeros(0), 0, np.tile(np.arange(known, dtype=np.uint32), segments),
        np.arange(segments + 1) * known, np.concatenate([held[row] for row in rows]),
        ends(np.array([len(held[row]) for row in rows])), np.zeros(0),
    )  # fmt: skip
    nothing = Texts.from_strings([""] * len(rows))
    names, labels = (Texts.from_strings(map(str, range(count))) for count in (known, segments))
    stored.write(
        tmp_path / "lists.store",
        Candidates(
            lists, Features(names, 0), labels, Texts.from_strings(map(str, range(len(rows)))), np.zeros(len(rows)),
            nothing,
            {"gain": random.random(len(rows))}, np.zeros(len(rows), np.int32),
        ),
    )  # fmt: skip

    def run(folder, limit):
        command = [sys.executable, "-Pc", LIMITED, tmp_path / "lists.store", folder, str(limit), tmp_path / "out.npy"]
        return subprocess.run(command, capture_output=True, text=True, check=False, env=ENVIRONMENT)

    answers = []
    for limit in (56, 0):
        told = run(tmp_path, limit)
        assert told.returncode == 0, told.stderr
        answers.append(np.load(tmp_path / "out.npy"))
    same_bits(*answers)
    assert answers[0].any()
    assert "MemoryError" in run("", 56).stderr


def test_a_folder_that_cannot_hold_the_working_form(tmp_path):
    store = random_store(np.random.default_rng(0), [4, 3], 0, 8, True)
    with pytest.raises(InputError, match="cannot hold the working form: No such file or directory; free some space or"):
        Grouped.of(store, tmp_path / "missing")
