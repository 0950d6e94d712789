"""The commands of the papers' rows: they name what there is, and their numbers make a page."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from rampion.experiments import experiments

sys.path.insert(0, str(Path(__file__).parent.parent / "papers"))
import at_size as run


def test_every_command_names_an_experiment_and_a_cut_that_exist():
    names = {one.name for one in experiments()}
    assert {one.experiment for one in run.RUNS} <= names
    assert {text for one in run.RUNS for text in one.texts} | set(run.LEARNT) <= run.TEXTS.keys()
    every = list(run.jobs(Path("data"), Path("out")))
    assert len({job.name for job in every}) == len({job.kept for job in every}) == len(every)
    assert all(str(job.found).startswith("out/") for job in every)


def test_headlines_are_relations():
    for experiment, relation, _, _ in run.HEADLINES:
        (found,) = experiments(experiment)
        assert relation in {one.id for one in found.relations}


def test_the_page_shows_what_is_kept_and_says_what_was_not_run(tmp_path, monkeypatch):
    monkeypatch.setattr(run, "KEPT", tmp_path)
    assert all(line.endswith("not run |") for line in list(run.page())[2:])
    claim = {"value": 0.81, "low": 0.4, "high": 1.2, "p": 0.0031}
    facts = {"relations": [{"id": "X20e", "claims": [claim], "verdict": "holds"}] * 2 + [
        {"id": "X20d", "claims": [claim | {"p": None}], "verdict": "within noise"}]}  # fmt: skip
    (tmp_path / "tatoeba-wuebker-table-2.json").write_text(json.dumps(facts))
    gain = {"gain": -0.1, "gain_low": -0.4, "gain_high": 0.2, "p": 0.5}
    table = {"and tuned again": {"test bleu": gain}}
    (tmp_path / "learn-fisher.json").write_text(json.dumps({"table": table}))
    shown = [line for line in run.page() if "not run" not in line][2:]
    assert [[cell.strip() for cell in line.split("|")[4:7]] for line in shown] == [
        ["+0.81 (0.40 to 1.20)", "0.0031", "holds"],
        ["+0.81 (0.40 to 1.20)", "", "within noise"],
        ["-0.10 (-0.40 to 0.20)", "0.5", "within noise"],
    ]


@pytest.mark.parametrize("code", [0, 1])
def test_numbers_are_kept_of_a_command_that_came_to_its_end(tmp_path, monkeypatch, code):
    monkeypatch.setattr(run, "KEPT", tmp_path / "kept")
    (tmp_path / "found.json").write_text(f'{{"corpus": "{tmp_path}/data/de-en, 3000 held out"}}')
    monkeypatch.setattr(run.subprocess, "run", lambda *_, **__: type("Done", (), {"returncode": code}))
    job = run.Job("learn/x", ["learn"], tmp_path / "data", tmp_path / "found.json", tmp_path / "kept" / "x.json")
    assert run.perform(job) == (code == 0)
    assert job.kept.exists() == (code == 0)
    if not code:
        assert json.loads(job.kept.read_text()) == {"corpus": "de-en, 3000 held out"}
