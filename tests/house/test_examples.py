"""Every example runs as it stands, and what it learns is a gain on lists that it did not learn from."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

# the size to run at, the row before, the rows after, the column that counts (from the right, without p), more is better
EXAMPLES = {
    "rerank_samples": (240, "the most probable", ("rampion", "risk", "mert"), 1, True),
    "asr_wer": (120, "initial weights", ("rampion", "risk", "mert"), 1, False),
    "mt_sparse": (200, "initial weights", ("rampion", "mira", "pro-regularised"), 0, True),
}


def output(example: str, size: int) -> str:
    """What it prints, with `decoder` and `rampion` found where this process finds them."""
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path)), "OPENBLAS_NUM_THREADS": "1"}
    command = [sys.executable, "-W", "error", str(ROOT / "examples" / f"{example}.py"), str(size)]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def numbers(table: str, row: str) -> list[float]:
    (line,) = (line for line in table.splitlines() if line.startswith(f"{row} "))
    return [float(cell) for cell in line.removeprefix(row).split()]


def test_every_example_is_tested():
    assert {path.stem for path in (ROOT / "examples").glob("*.py")} == set(EXAMPLES)


@pytest.mark.slow
@pytest.mark.parametrize("example", EXAMPLES)
def test_learning_helps_on_held_out_lists(example):
    size, before, learnt, column, higher_is_better = EXAMPLES[example]
    table = output(example, size)
    start = numbers(table, before)[column]
    ends = [numbers(table, recipe)[column] for recipe in learnt]
    assert all(end > start if higher_is_better else end < start for end in ends), table
