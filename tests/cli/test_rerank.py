"""Picks that people can use: JSON lines, several a list, texts of several lines, facts without a metric."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from command import good, rampion

ROWS = [
    {"id": "p1", "answer": "one\ntwo", "prompt": "count", "LM": -1.0, "is_correct": True, "model": "a"},
    {"id": "p1", "answer": "one", "prompt": "count", "LM": -2.0, "is_correct": False, "model": "b"},
    {"id": "p2", "answer": "6", "prompt": "add", "LM": -3.0, "is_correct": False, "model": "a"},
    {"id": "p2", "answer": "5", "prompt": "add", "LM": -2.5, "is_correct": True, "model": "b"},
    {"id": "p2", "answer": "4", "prompt": "add", "LM": -2.5, "is_correct": None, "model": "b"},
]
RERANK = ["rerank", "x.jsonl", "-w", "w", "--columns", "text=answer,keep=model"]


@pytest.fixture(autouse=True)
def samples(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("x.jsonl").write_text("".join(json.dumps(row) + "\n" for row in ROWS))
    Path("w").write_text("LM= 1\n")


def records(text):
    return [json.loads(line) for line in text.splitlines()]


@pytest.mark.parametrize("top", [1, 2, 9])
def test_picks_as_json_lines_hold_what_came_in(top):
    good(*RERANK, "--out", "y.jsonl", "--top", str(top))
    found = records(Path("y.jsonl").read_text())
    order = [[0, 1], [3, 4, 2]]
    expected = [(rank, i) for places in order for rank, i in enumerate(places[:top], 1)]
    assert [(one["rank"], one["text"], one["score"], one["model"], one["source"], one["id"]) for one in found] == [
        (rank, *(ROWS[i][name] for name in ("answer", "LM", "model", "prompt", "id"))) for rank, i in expected
    ]
    assert [one["margin"] for one in found if one["rank"] == 1] == [1.0, 0.0]
    assert [one.get("metrics") for one in found if one["rank"] == 1] == [{"is_correct": 1.0}] * 2
    assert "metrics" not in next((one for one in found if one["text"] == "4"), {})


def test_plain_text_refuses_what_a_line_cannot_hold():
    code, out, err = rampion(*RERANK, "--out", "y")
    assert (code, out, Path("y").exists()) == (2, "", False)
    assert err.splitlines()[-1] == (
        "rampion: the best candidate of segment p1 has several lines, which plain text cannot hold; add --jsonl, or "
        "name a .jsonl file with --out"
    )
    code, _, err = rampion(*RERANK, "--top", "2")
    assert (code, "--top 2: plain text has a line for each list; add --jsonl" in err) == (2, True)
    assert [one["text"] for one in records(good(*RERANK, "--jsonl"))] == ["one\ntwo", "5"]


def test_facts_without_a_metric():
    facts = json.loads(good(*RERANK, "--out", "y.jsonl", "--json"))
    assert facts == {"segments": 2, "candidates": 5, "changed": 1, "margin": 0.5}


@pytest.mark.parametrize("name", ["z.jsonl", "z.store"])
def test_whole_lists_keep_texts_of_several_lines_and_fields(name):
    good(*RERANK, "--out", "y.jsonl", "--lists", name)
    good("rerank", name, "-w", "w", "--out", "again.jsonl")
    assert Path("again.jsonl").read_text() == Path("y.jsonl").read_text()


def test_parts_of_any_size_are_written_the_same(monkeypatch):
    random, size = np.random.default_rng(0), 200
    rows = [f"{i // 5} ||| t {i} ||| A= {random.normal()!r} -0 w{i % 7}= {i % 3 + 1} ||| {i}\n" for i in range(size)]
    Path("x.nbest").write_text("".join(rows))
    Path("v").write_text("A= 1 0\n")
    whole = []
    for written in (1 << 19, 50):
        monkeypatch.setattr("rampion.store.candidates._WRITTEN", written)
        good("rerank", "x.nbest", "-w", "v", "--out", "y", "--lists", "y.nbest")
        whole.append(Path("y.nbest").read_text())
    assert whole[0] == whole[1]
    assert sorted(line.rpartition(" ||| ")[0] for line in whole[0].splitlines()) == sorted(
        row.rpartition(" ||| ")[0] for row in rows
    )
