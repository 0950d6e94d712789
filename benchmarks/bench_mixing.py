"""Shards that learn here and on workers: python benchmarks/bench_mixing.py [SENTENCES] [FOLDER]

Makes records of every sentence (relevant_sets.py), and trains on two shards: on threads, on threads of an executor, and
on workers of a Dask cluster of this machine. Seconds of packing and of an epoch after the first, and the memory of the
process that asks and of the largest worker. All must end in the same bits.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from time import perf_counter

import numpy as np
from relevant_sets import PAPER, TRUTHS, RelevantSets

from rampion.executors import Coordinator, Workspace
from rampion.executors.dask import Cluster
from rampion.executors.local import Local
from rampion.formats import container
from rampion.losses.ranking import COSTMARGIN
from rampion.optim.online_sgd import OnlineSgd, SetWeights
from rampion.sets.files import SCHEMA, Sets
from rampion.sets.packed import numbering
from rampion.sets.selection import Numbers, Packing
from rampion.training.mixing import Here, Learner, Mixing

CUTS = [0, TRUTHS, 12, 19, 20]  # candidates of the truths, of 000, and so on
SOLVER = OnlineSgd(rate=0.01, epochs=6, shards=2)
PACKING = Packing(COSTMARGIN.packed, (), {}, True)


def written(folder: Path, sentences: int) -> tuple[Sets, Numbers]:
    """Records as a run has them, and the numbers of all features."""
    shape = replace(PAPER, sentences=sentences, candidates=CUTS[-1], features=150 * sentences)
    counts, keys = np.zeros(shape.features, np.uint32), np.arange(1, shape.features + 1, dtype=np.uint64)
    for name, made in zip(["oracle", "000", "001", "002"], RelevantSets(shape).steps(CUTS), strict=True):
        counts += np.bincount(made.ids, minlength=shape.features).astype(np.uint32)
        arrays = made._asdict() | {"keys": keys}
        first, keys = shape.features - len(keys), keys[:0]
        container.write(folder / f"{name}.records", SCHEMA.kind, arrays, {"first": first, "corpus": "made"})
    return Sets.open(folder), Numbers(*numbering(counts), np.zeros(0, np.float32))


def kilobytes(process: int | str = "self") -> int:
    """Of its own memory, without what is mapped from files."""
    lines = Path(f"/proc/{process}/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("RssAnon"))


def timed(name: str, learner: Learner, sets: Sets, numbers: Numbers, workers: Cluster | None) -> bytes:
    """Train; the weights."""
    told, before = [perf_counter()], kilobytes()
    learner.pack(sets, PACKING.ordered(sets.parts), numbers)
    packed, start = perf_counter() - told[0], SetWeights(np.zeros(numbers.awake + 1, np.float32), np.zeros(0))
    told.append(perf_counter())
    batch = learner.batch(1)
    weights, *_ = SOLVER.solve(COSTMARGIN, batch, start, None, lambda *_: told.append(perf_counter()))
    first, *epochs = np.diff(told[1:])
    here = (kilobytes() - before) / 2**10
    pids = [nanny.pid for nanny in workers.own.workers.values()] if workers else []
    there = max((kilobytes(pid) for pid in pids), default=0) / 2**10
    print(f"{name:22}{packed:11.2f}{first:17.2f}{np.median(epochs):13.3f}{here:14.0f}{there:16.0f}", flush=True)
    return weights.tobytes()


@contextmanager
def folder() -> Iterator[Path]:
    path = Path(tempfile.mkdtemp(dir=sys.argv[2] if len(sys.argv) > 2 else None))
    yield path
    shutil.rmtree(path)


def main() -> None:
    sentences = int(sys.argv[1]) if len(sys.argv) > 1 else 8000
    with folder() as path:
        sets, numbers = written(path, sentences)
        found = sum(len(part.records.gains) for part in sets.parts.values())
        print(f"{sentences:,} sentences, {found:,} candidates, {numbers.awake:,} features that learn\n")
        print(
            f"{'':22}{'packing, s':>11}{'first epoch, s':>17}{'an epoch, s':>13}{'here, MiB':>14}{'a worker, MiB':>16}"
        )
        results = {}
        for name, executor in (
            ("threads", None), ("executor's threads", Local(2)), ("Dask, 1 worker", Cluster(workers=1)),
            ("Dask, 2 workers", Cluster(workers=2)),
        ):  # fmt: skip
            if executor is None:
                results[name] = timed(name, Here(PACKING, sentences, None, 2), sets, numbers, None)
                continue
            with Coordinator(executor, Workspace(path / name)) as coordinator:
                learner = Mixing(coordinator, PACKING, sentences)
                results[name] = timed(name, learner, sets, numbers, executor if isinstance(executor, Cluster) else None)
        if len(set(results.values())) != 1:
            raise SystemExit("the weights differ")


if __name__ == "__main__":
    main()
