"""The benchmarks cover every kernel and measure what they say; how fast anything is, no test asks."""

from __future__ import annotations

import json
from pathlib import Path

import bench_kernels
import bench_tune
import numpy as np
import pytest
import run
from measure import Run, best, machine

from rampion._kernels import MODULES

ROOT = Path(__file__).resolve().parents[2]
RESULTS = sorted((ROOT / "benchmarks" / "results").glob("*.json"))


@pytest.fixture(scope="module")
def load():
    return bench_kernels.Load("tiny")


def test_every_kernel_is_in_a_race(load):
    raced = {race(load).kernel for race in bench_kernels.RACES.values()}
    assert raced == {name for functions in MODULES.values() for name in functions}


@pytest.mark.parametrize("work", bench_kernels.RACES)
def test_kernel_twin_and_rivals_do_the_same_work(work, load):
    bench_kernels.check(bench_kernels.RACES[work](load))


def test_a_kernel_that_differs_from_its_twin_is_not_timed(load):
    race = bench_kernels.score(load)
    answers = iter([np.zeros(3), np.array([0.0, 0.0, -0.0])])
    with pytest.raises(SystemExit, match="differs from its twin"):
        bench_kernels.check(race._replace(answer=lambda arguments: [next(answers)]))


def test_a_rival_that_computes_something_else_is_not_timed(load):
    race = bench_kernels.score(load)
    with pytest.raises(SystemExit, match="SciPy computes something else"):
        bench_kernels.check(race._replace(rivals={"SciPy": lambda: load.scores + 1}))


def test_everyone_runs_and_only_the_work_is_timed():
    calls = []
    runs = {name: Run(lambda: (calls.append("prepare"),), lambda _, name=name: calls.append(name)) for name in "ab"}
    assert best(runs).keys() == set("ab")
    assert calls.count("a") == calls.count("prepare") - calls.count("b") > 0


def test_the_command_and_its_steps(monkeypatch):
    monkeypatch.setattr(bench_tune, "TIMES", 1)
    monkeypatch.delenv("RAMPION_KERNELS", raising=False)
    found = bench_tune.tuning("D", segments=20)
    assert [step["step"] for step in found["steps"]] == [
        *("start of Python", "imports", "read", "pack", "statistics", "10 rounds of 5 passes", "write")
    ]
    assert found["seconds"] > 0
    assert found["peak"] > 1e6


def test_a_command_that_fails_is_not_timed():
    with pytest.raises(SystemExit, match="no such file"):
        bench_tune.python(*bench_tune.RAMPION, "tune", "absent", "--refs", "absent")


def test_the_machine_is_described_without_its_name_or_paths():
    described = machine()
    assert set(described) == {"processor", "memory", "system", "compiler", "python", "packages", "commit"}
    assert str(ROOT) not in json.dumps(described)


@pytest.mark.parametrize("path", RESULTS, ids=lambda path: path.name)
def test_committed_tables_are_those_of_their_results(path):
    results = json.loads(path.read_text())
    assert path.with_suffix(".md").read_text() == run.rendered(results)
    assert {row["work"] for row in results["kernels"]} <= set(bench_kernels.RACES)
