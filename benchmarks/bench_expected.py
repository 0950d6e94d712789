"""Expected BLEU on fixed lists (S11): python benchmarks/bench_expected.py [SENTENCES] [--features N] [--folder DIR].

A gradient of ours races SciPy, NumPy and plain Python over the same generated lists (expected_lists.py); then come 40
steps of Rprop. With a folder, the lists are a store, mapped from a file there, and there are no races; with --paged the
working form stands there too, and a gradient whose pages the system has forgotten races the disk itself.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from itertools import pairwise
from math import exp
from pathlib import Path
from tempfile import NamedTemporaryFile, TemporaryDirectory
from time import perf_counter, process_time
from unittest.mock import patch

import expected_lists
import numpy as np
import scipy.sparse
from run import table

from rampion.formats.container import release
from rampion.losses.expectation import ExpectedBleu
from rampion.metrics.judging import Batch
from rampion.optim.solvers import objective
from rampion.training.recipes import RECIPES

RUNS = 5
SHARE = 50  # sentences for plain Python


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sentences", type=int, nargs="?", default=5000)
    parser.add_argument("--features", type=float, default=1e6)
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--paged", action="store_true", help="the working form stands in files of the folder too")
    given = parser.parse_args()
    shape = expected_lists.Shape(given.sentences, features=int(given.features))
    if given.folder is None:
        batch = expected_lists.batch(shape)
        show_working_form(batch)
        race(batch)
        solve(batch)
        return
    with TemporaryDirectory(dir=given.folder) as folder:
        batch = expected_lists.batch(shape, Path(folder), folder if given.paged else None)
        show_working_form(batch)
        show_passes(batch)
        if given.paged:
            show_disk(batch, Path(folder))
        if given.features < 1e7:  # the vectors of Rprop
            solve(batch)


def show_working_form(batch: Batch) -> None:
    lists = batch.candidates.lists
    (wall, cpu), parts = seconds(lambda: batch.form)[0], batch.form.parts
    segments, entries = len(lists.bounds) - 1, len(lists.entries)
    n, groups = batch.candidates.size, sum(int(part.group_bounds[-1]) for part in parts)
    held = sum(array.nbytes for part in parts for array in part if isinstance(array, np.ndarray))
    show(
        "The working form",
        ["", ""],
        [
            ["feature values", f"{entries:,}"],
            ["features of a list, groups", f"{len(lists.features) / segments:.0f}, {groups / segments:.0f}"],
            ["active features of a candidate, groups by which it differs",
             f"{entries / n:.1f}, {sum(len(part.entries) for part in parts) / n:.1f}"],
            ["bytes a value: as entries of the store, in the working form", f"4, {held / entries:.2f}"],
            ["made in", f"{wall:.2f} s, {cpu:.2f} s of CPU"],
        ],
    )  # fmt: skip


def show_passes(batch: Batch) -> None:
    """The gradient alone."""
    weights = np.zeros(len(batch.candidates.features))
    wall, cpu = map(
        min, zip(*seconds(lambda: objective(ExpectedBleu(), batch, weights, weights, 0.0), RUNS), strict=True)
    )
    entries = len(batch.candidates.lists.entries)
    show(
        "A gradient, ns a feature value",
        ["wall", "CPU"],
        [[f"{1e9 * wall / entries:.3f}", f"{1e9 * cpu / entries:.3f}"]],
    )


def show_disk(batch: Batch, folder: Path) -> None:
    """A gradient that finds nothing in memory, and the same files read from one end to the other."""
    weights = np.zeros(len(batch.candidates.features))
    batch = replace(batch)
    named = partial(NamedTemporaryFile, prefix="part", delete=False)
    with patch("rampion.store.grouped.tempfile.TemporaryFile", named):
        parts = batch.form.parts
    files = sorted(folder.glob("part*"))
    size = sum(file.stat().st_size for file in files)

    def forget() -> None:
        for part in parts:
            release(part.features)
        for file in files:
            with file.open("rb+") as opened:
                os.fsync(opened.fileno())
                os.posix_fadvise(opened.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)

    def read() -> None:
        room = bytearray(1 << 22)
        for file in files:
            with file.open("rb", buffering=0) as opened:
                while opened.readinto(room):
                    pass

    rows = []
    for name, work in {
        "the disk, read": read,
        "the gradient": lambda: objective(ExpectedBleu(), batch, weights, weights, 0.0),
    }.items():
        found = []
        for _ in range(3):
            forget()
            found += seconds(work)
        wall, cpu = map(min, zip(*found, strict=True))
        warm = min(wall for wall, _ in seconds(work, 3))
        rows.append([name, f"{wall:.3f} s", f"{cpu:.3f} s", f"{size / wall / 1e6:,.0f} MB/s", f"{warm:.3f} s"])
    show(f"From the disk, {size / 1e6:,.0f} MB", ["", "wall", "CPU", "speed", "wall, from memory"], rows)


def race(batch: Batch) -> None:
    """The gradient at the same weights, by everyone."""
    lists, loss = batch.candidates.lists, ExpectedBleu()
    weights = 0.01 * np.random.default_rng(0).normal(size=len(batch.candidates.features))
    entries = len(lists.entries)
    starts = lists.feature_bounds[:-1].repeat(np.diff(lists.entry_bounds[lists.bounds]))
    ids = lists.features[starts + lists.entries].astype(np.int32)
    matrix = scipy.sparse.csr_matrix(
        (np.ones(entries), ids, lists.entry_bounds.astype(np.int32)), shape=(batch.candidates.size, len(weights))
    )
    turned = matrix.T
    counts = np.diff(lists.entry_bounds)

    def ours(threads: int | None = None) -> np.ndarray:
        scores = batch.form.score(weights, threads) + batch.offset
        return batch.form.gather(loss.slopes(batch.stakes, scores)[1], threads)

    def store() -> np.ndarray:
        return batch.candidates.gather(loss.slopes(batch.stakes, batch.scores(weights))[1])

    def scipy_s() -> np.ndarray:
        return turned @ softly(batch, matrix @ weights)

    def numpy_s() -> np.ndarray:
        slopes = softly(batch, np.add.reduceat(weights[ids], lists.entry_bounds[:-1]))
        return np.bincount(ids, slopes.repeat(counts), len(weights))

    contestants = {
        "Rampion": ours, "the same, one thread": lambda: ours(1), "the store, without groups": store,
        "SciPy, CSR": scipy_s, "NumPy": numpy_s,
    }  # fmt: skip
    truth, rows, first = ours(), [], 0.0
    for name, work in contestants.items():
        assert np.abs(work() - truth).max() < 1e-12, name
        wall, cpu = map(min, zip(*seconds(work, RUNS), strict=True))
        first = first or wall
        rows.append([name, f"{1e9 * wall / entries:.3f}", f"{1e9 * cpu / entries:.3f}", f"{wall / first:.1f}"])
    wall, share = plain(batch, weights, ids)
    rows.append(
        [f"plain Python, {SHARE} sentences", f"{1e9 * wall / share:.1f}", "", f"{wall / share / first * entries:.0f}"]
    )
    show("A gradient, ns a feature value", ["", "wall", "CPU", "times Rampion's"], rows)


def softly(batch: Batch, scores: np.ndarray) -> np.ndarray:
    """The slopes of expected BLEU by NumPy."""
    scores, starts, sizes = scores + batch.offset, batch.stakes.bounds[:-1], np.diff(batch.stakes.bounds)
    powers = np.exp(scores - np.maximum.reduceat(scores, starts).repeat(sizes))
    powers /= np.add.reduceat(powers, starts).repeat(sizes)
    gains = 1 - batch.stakes.costs
    means = np.add.reduceat(powers * gains, starts)
    return powers * (means.repeat(sizes) - gains) / means.sum()


def plain(batch: Batch, weights: np.ndarray, ids: np.ndarray) -> tuple[float, int]:
    """Seconds of a gradient over lists of ids, and for how many values."""
    n = int(batch.stakes.bounds[SHARE])
    bounds = batch.candidates.lists.entry_bounds
    rows = [ids[bounds[i] : bounds[i + 1]].tolist() for i in range(n)]
    known, base, gains = weights.tolist(), batch.offset[:n].tolist(), (1 - batch.stakes.costs[:n]).tolist()
    ends, gradient = batch.stakes.bounds[: SHARE + 1].tolist(), [0.0] * len(weights)

    def work() -> None:
        for start, end in pairwise(ends):
            scores = [sum(known[j] for j in rows[i]) + base[i] for i in range(start, end)]
            top = max(scores)
            powers = [exp(score - top) for score in scores]
            total = sum(powers)
            mean = sum(power * gain for power, gain in zip(powers, gains[start:end], strict=True)) / total
            for i, power in zip(range(start, end), powers, strict=True):
                slope = power / total * (gains[i] - mean)
                for j in rows[i]:
                    gradient[j] += slope

    return min(wall for wall, _ in seconds(work, 3)), int(bounds[n])


def solve(batch: Batch) -> None:
    """40 steps, and the memory that is no file's."""
    recipe, start, peak = RECIPES["xbleu-rprop"], np.zeros(len(batch.candidates.features)), [anonymous()]
    recipe.solver.check(recipe.loss)
    ((wall, cpu),) = seconds(
        lambda: recipe.solver.solve(recipe.loss, batch, start, start, lambda _, __: peak.append(anonymous())), 1
    )
    show(
        "40 steps of Rprop",
        ["", ""],
        [
            ["wall, CPU", f"{wall:.1f} s, {cpu:.1f} s"],
            ["ns a feature value and step", f"{1e9 * wall / 40 / len(batch.candidates.lists.entries):.3f}"],
            ["memory beside mapped files", f"{max(peak) / 2**20:,.0f} MiB"],
        ],
    )


def anonymous() -> int:
    """Bytes in memory that no file holds."""
    line = next(line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("RssAnon"))
    return 1024 * int(line.split()[1])


def seconds(work: Callable[[], object], runs: int = 1) -> list[tuple[float, float]]:
    """(wall, CPU) of each run."""
    found = []
    for _ in range(runs):
        wall, cpu = perf_counter(), process_time()
        work()
        found.append((perf_counter() - wall, process_time() - cpu))
    return found


def show(title: str, head: list[str], rows: list[list[str]]) -> None:
    print(f"\n{title}\n")
    print("\n".join(table(head, rows)))


if __name__ == "__main__":
    main()
