"""Values beside the candidates of lists: by lines, by records, as COMET writes them; counts that do not fit."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from command import good, rampion

import rampion as library

TABLE = "id,text,LM\n1,a,1\n2,b,2\n1,c,3\n"
QE = [0.1, 0.2, 0.4]


@pytest.fixture(autouse=True)
def lists(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("x.csv").write_text(TABLE)


FORMS = {
    "lines": "".join(f"{value}\n" for value in QE),
    "records": "".join(json.dumps({"qe": value, "other": 1}) + "\n" for value in QE),
    "array": json.dumps(QE),
    "comet": "".join(f"out\tSegment {n}\tscore: {value}\n" for n, value in enumerate(QE)) + "out\tscore: 0.2333\n",
    "comet, json": json.dumps({"out": [{"src": "s", "mt": "m", "COMET": value} for value in QE]}, indent=1),
}


@pytest.mark.parametrize("form", FORMS)
def test_values_follow_the_rows_of_the_file(form):
    Path("qe").write_text(FORMS[form])
    good("attach", "x.csv", "qe=qe", "--out", "y.jsonl")
    found = library.load_nbest("y.jsonl")
    assert [[one["qe"] for one in segment.features] for segment in found] == [[0.1, 0.4], [0.2]]
    good("attach", "x.csv", "qe=qe", "--as", "metric", "--out", "z.store")
    assert library.load_nbest("z.store").metrics["qe"].tolist() == [0.1, 0.4, 0.2]
    facts = json.loads(good("attach", "z.store", "qe=qe", "--as", "field", "--out", "z.jsonl", "--json"))
    assert facts == [{"name": "qe", "kind": "field", "candidates": 3, "missing": 0}]


def test_a_blank_line_is_a_missing_value():
    Path("qe").write_text("0.1\n\n0.3\n")
    good("attach", "x.csv", "qe=qe", "--out", "y.jsonl")
    assert library.load_nbest("y.jsonl")[1][0].features == {"LM": 2.0, "qe": 0.2, "qe:missing": 1.0}


@pytest.mark.parametrize(
    ("content", "arguments", "sentence"),
    [
        (
            "1\n2\n",
            ["qe=qe"],
            "qe: has 2 values for 3 candidates; expected a line or a record for each, in their order",
        ),
        ("1\nx\n3\n", ["qe=qe"], "qe:2: qe is 'x'; a finite number is expected"),
        ("1\n2\n3\n", ["LM=qe"], "the lists have a feature 'LM' already"),
        ("1\n2\n3\n", ["qe"], "qe: expected NAME=FILE"),
        ("1\n2\n3\n", ["qe=qe", "--as", "x"], "--as x: expected feature, metric, field"),
        ("\n\n\n", ["qe=qe"], "qe: holds no number; expected one for every candidate"),
        ('{"a": 1}\n', ["qe=qe"], "qe:1: has no 'qe'; it has a"),
    ],
)
def test_what_cannot_be_attached(content, arguments, sentence):
    Path("qe").write_text(content)
    code, out, err = rampion("attach", "x.csv", *arguments, "--out", "y.jsonl")
    assert (code, out, Path("y.jsonl").exists()) == (2, "", False)
    assert sentence in err.splitlines()[-1]
