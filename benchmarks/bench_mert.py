"""MERT to convergence from the initial weights and 20 random points: CPU and wall seconds, and where it ends.

python benchmarks/bench_mert.py [CASE [SEGMENTS]]; with OPENBLAS_NUM_THREADS=1 NumPy's idle threads take no CPU.
"""

from __future__ import annotations

import json
import sys
from time import perf_counter, process_time
from typing import Any

import cases
from bench_kernels import Load
from measure import machine

from rampion.features import Weights
from rampion.losses import MODEL
from rampion.mert import CorpusScore, LineSearch
from rampion.tuning import judge


def mert(load: Load, threads: int = 1, **settings: Any) -> dict[str, Any]:
    """One search on a workload; the weights must be those of any number of threads."""
    batch = judge(load.store, load.references, "bleu").batch(load.store)
    start = Weights.of(cases.INITIAL).onto(load.store.features, lenient=True)
    turns: list[int] = []
    solver = LineSearch(threads=threads, **settings)
    cpu, wall = process_time(), perf_counter()
    found = solver.solve(CorpusScore(), batch, start, start, lambda turn, _: turns.append(turn))
    cpu, wall = process_time() - cpu, perf_counter() - wall
    return {
        "load": load.case,
        "threads": threads,
        "cpu": cpu,
        "wall": wall,
        "score": batch.corpus_score(MODEL.picks(batch.stakes, batch.scores(found))),
        "best from": turns[-1],
        "weights": found.tolist(),
    }


def main(case: str = "D", segments: str = "0") -> None:
    load = Load(case, int(segments) or None)
    rows = [mert(load, threads) for threads in (1, 2)]
    if rows[0]["weights"] != rows[1]["weights"]:
        raise SystemExit("two threads found other weights than one; their times are worth nothing")
    print(json.dumps({"machine": machine(), "mert": rows}))


if __name__ == "__main__":
    main(*sys.argv[1:])
