"""The benchmark of whole solvers: every task runs, and committed pages are those of their results."""

from __future__ import annotations

import json
from pathlib import Path

import bench_solvers
import pytest

RESULTS = sorted((Path(bench_solvers.__file__).parent / "results" / "solvers").glob("*.json"))


def test_every_task_runs():
    rows = bench_solvers.measure(8)["rows"]
    assert [(row["what"], row["on"]) for row in rows] == [(task.what, task.load) for task in bench_solvers.TASKS]
    assert all(0 < row["cpu"] < float("inf") for row in rows)


@pytest.mark.parametrize("path", RESULTS, ids=lambda path: path.name)
def test_committed_pages_are_those_of_their_results(path):
    assert path.with_suffix(".md").read_text() == bench_solvers.rendered(json.loads(path.read_text()))
