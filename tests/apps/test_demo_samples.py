"""The invented samples: their labels are right, equal seeds are equal files, and reading gives them back."""

from __future__ import annotations

import json
import re

import pytest
from command import good

import rampion
from rampion.apps.demo_samples import EACH, MODELS, samples
from rampion.errors import InputWarning


def answer(question):
    """The answer to a question, computed from its words alone."""
    first, *steps = re.findall(r"\d+[^.?]*", question)
    value = int(first.split()[0])
    for step in steps:
        number = int(step.split()[0])
        if "times" in step:
            value += value * number
        elif "more" in step or "drawer" in step:
            value += number
        else:
            value -= number
    return value


def test_a_sample_is_right_if_its_answer_is():
    rows = list(samples(60, seed=3))
    assert len(rows) == 60 * EACH * len(MODELS)
    for row in rows:
        said = int(row.solution.rsplit("A: ")[-1])
        assert row.is_correct == (said == answer(row.question)), row
        for line in row.solution.splitlines()[:-1]:
            assert re.search(r"-?\d+ [+*-] \d+ = -?\d+$", line)
    assert 0.3 < sum(row.is_correct for row in rows) / len(rows) < 0.7


def test_equal_seeds_are_equal_files_that_rampion_reads(tmp_path):
    for name in ("one", "other"):
        good("demo", "samples", "--out", tmp_path / name, "--problems", 20)
    train = tmp_path / "one" / "train.jsonl"
    assert train.read_bytes() == (tmp_path / "other" / "train.jsonl").read_bytes()
    assert train.read_bytes() != train.with_name("test.jsonl").read_bytes()
    with pytest.warns(InputWarning) as told:
        lists = rampion.load_nbest(train)
    assert any("features: logprob" in str(one.message) for one in told)
    rows = [json.loads(line) for line in train.read_text().splitlines()]
    assert list(lists.texts) == [row["solution"] for row in rows]
    assert lists.metrics["is_correct"].tolist() == [float(row["is_correct"]) for row in rows]
