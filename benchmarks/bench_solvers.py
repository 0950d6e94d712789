"""Whole solvers and tests on D and S: python benchmarks/bench_solvers.py [--segments N] [--out FILE.json].

CPU seconds, the best of a few runs, and what is wanted; MERT on one thread and on two, with wall time beside it.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from pathlib import Path
from time import perf_counter, process_time
from typing import Any, NamedTuple

import cases
import numpy as np
import scipy.optimize  # noqa: F401  # not on the clock
from bench_kernels import Load
from measure import machine
from run import table

from rampion.analysis.significance import paired_bootstrap, randomisation
from rampion.metrics import Bleu
from rampion.metrics import metric as named
from rampion.metrics.judging import Batch
from rampion.optim.solvers import objective
from rampion.store.features import Weights
from rampion.training.inputs import judge
from rampion.training.recipes import RECIPES, Recipe

RUNS = 3


class Task(NamedTuple):
    """Work on a workload that shall take so many seconds of CPU at most."""

    what: str
    load: str
    most: float
    prepare: Callable[[Load], Callable[[], object]]


def solving(recipe: Recipe) -> Callable[[Load], Callable[[], object]]:
    """A recipe's solver from the initial weights; judging the lists is not timed."""

    def prepare(load: Load) -> Callable[[], object]:
        batch, start = judged(load, recipe)
        return lambda: recipe.solver.solve(recipe.loss, batch, start, start)

    return prepare


def judged(load: Load, recipe: Recipe) -> tuple[Batch, Any]:
    batch = judge(load.store, load.references, named(recipe.metric), recipe.alpha).batch(load.store)
    return batch, Weights.from_dict(cases.INITIAL).onto(load.store.features, lenient=True)


def gradient(load: Load) -> Callable[[], object]:
    recipe = RECIPES["xbleu-sgd"]
    batch, start = judged(load, recipe)
    return lambda: objective(recipe.loss, batch, start, start, 0.0)


def resampling(test: Callable[..., object]) -> Callable[[Load], Callable[[], object]]:
    """1000 trials on the statistics of two systems, twice the workload's segments."""

    def prepare(load: Load) -> Callable[[], object]:
        batch, _ = judged(load, RECIPES["rampion"])
        starts = batch.stakes.bounds[:-1]
        one, other = (np.tile(batch.statistics[starts + place], (2, 1)) for place in (0, 1))
        return lambda: test(Bleu(), one, other, 1000)

    return prepare


MERT = RECIPES["mert"]
TASKS = (
    Task("MERT, 20 restarts, one thread", "D", 6.0, solving(MERT.set(threads=1))),
    Task("MERT, 20 restarts, two threads", "D", 6.6, solving(MERT.set(threads=2))),
    Task("batch MIRA, 60 epochs", "D", 0.5, solving(RECIPES["mira"])),
    Task("batch MIRA, 60 epochs", "S", 3.0, solving(RECIPES["mira"])),
    Task("PRO, a round: 5000 draws a segment and the fit", "D", 1.0, solving(RECIPES["pro"].set(rounds=1))),
    Task("risk, 35 steps of L-BFGS", "D", 0.5, solving(RECIPES["risk"].set(steps=35))),
    Task("expected BLEU, a gradient", "S", 0.12, gradient),
    Task("bootstrap, 1000 trials", "D", 0.07, resampling(paired_bootstrap)),
    Task("randomisation, 1000 trials", "D", 0.04, resampling(randomisation)),
)


def measure(segments: int | None) -> dict[str, Any]:
    loads = {case: Load(case, segments) for case in ("D", "S")}
    rows = []
    for task in TASKS:
        work, best = task.prepare(loads[task.load]), (float("inf"), float("inf"))
        for _ in range(RUNS):
            cpu, wall = process_time(), perf_counter()
            work()
            best = tuple(map(min, best, (process_time() - cpu, perf_counter() - wall)))
        rows.append({"what": task.what, "on": task.load, "cpu": best[0], "wall": best[1], "wanted": task.most})
    return {"machine": machine(), "rows": rows}


def rendered(results: dict[str, Any]) -> str:
    head = ["what", "on", "CPU, s", "wall, s", "wanted, CPU s", "met"]
    rows = [
        [row["what"], row["on"], f"{row['cpu']:.3g}", f"{row['wall']:.3g}", f"≤ {row['wanted']:g}",
         "yes" if row["cpu"] <= row["wanted"] else "NO"]
        for row in results["rows"]
    ]  # fmt: skip
    facts = "\n".join(f"- {name}: {value}" for name, value in results["machine"].items())
    return "\n\n".join(["# Solvers", facts, "\n".join(table(head, rows))]) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--segments", type=int, help="default: all 1000")
    parser.add_argument("--out", type=Path, default=Path("build/solvers.json"), help="default: %(default)s")
    given = parser.parse_args()
    given.out.parent.mkdir(parents=True, exist_ok=True)
    results = measure(given.segments)
    given.out.write_text(json.dumps(results, indent=1, ensure_ascii=False) + "\n")
    given.out.with_suffix(".md").write_text(rendered(results))
    print(rendered(results))


if __name__ == "__main__":
    main()
