"""rampion compare: what it prints in every format, what it takes, and what it refuses."""

from __future__ import annotations

import json
import sys

import numpy as np
import pytest

from rampion.cli import main

WORDS = np.array([f"w{i}" for i in range(80)])
SEGMENTS = 60


@pytest.fixture(autouse=True)
def files(tmp_path, monkeypatch):
    """References, three runs of a baseline, and three of a system that is better."""
    monkeypatch.chdir(tmp_path)
    random = np.random.default_rng(0)
    truth = [random.choice(WORDS, random.integers(5, 15)) for _ in range(SEGMENTS)]

    def write(path, quality):
        lines = [np.where(random.random(len(text)) < quality, text, random.choice(WORDS, len(text))) for text in truth]
        (tmp_path / path).write_text("".join(" ".join(words) + "\n" for words in lines))

    write("ref", 1)
    for run in (1, 2, 3):
        write(f"base.{run}", 0.6)
        write(f"new_{run}.out", 0.7)
    return tmp_path


@pytest.fixture
def compare(monkeypatch, capsys):
    def run(*arguments, code=0):
        monkeypatch.setattr(sys, "argv", ["rampion", "compare", *arguments])
        with pytest.raises(SystemExit) as exit_:
            main()
        assert exit_.value.code == code
        printed = capsys.readouterr()
        return printed.err if code else printed.out

    return run


def facts(compare, *arguments):
    return json.loads(compare(*arguments, "--refs", "ref", "--format", "json"))


def test_one_run_has_an_interval(compare):
    lines = compare("base.1", "new_1.out", "--refs", "ref", "--metric", "bleu", "--metric", "ter").splitlines()
    assert lines[0].split() == ["BLEU", "score", "95%", "interval", "difference", "p"]
    assert lines[1].startswith("base.1 ")
    assert lines[2].startswith("new_1.out ")
    assert lines[2].endswith("*")
    assert "*: p < 0.05 against base.1, by approximate randomisation" in lines
    assert any(line.startswith("BLEU: nrefs:1|") and line.endswith("|ar:10000|seed:0") for line in lines)
    assert any(line.startswith("TER: nrefs:1|") for line in lines)


def test_several_runs_have_a_spread(compare):
    lines = compare(
        "base=base.1,base.2,base.3", "new=new_1.out,new_2.out,new_3.out", "--refs", "ref", "--trials", "500"
    ).splitlines()
    assert lines[0].split() == ["BLEU", "mean", "sd", "min", "max", "difference", "p"]
    assert [line.split()[0] for line in lines[1:3]] == ["base", "new"]
    assert lines[4].startswith("chrF2")


def test_json_holds_what_the_library_says(compare, files):
    from rampion.analysis.significance import bootstrap, paired_bootstrap, randomisation, spread
    from rampion.metrics import Bleu
    from rampion.store.text import References, Texts

    def rows(path):
        texts, references = (
            Texts.from_strings(files.joinpath(name).read_text().splitlines()) for name in (path, "ref")
        )
        return Bleu().statistics(texts, np.arange(SEGMENTS + 1), References.from_lists([one] for one in references))

    one, two = (np.stack([rows(name.format(run)) for run in (1, 2)]) for name in ("base.{}", "new_{}.out"))
    systems = ("base=base.1,base.2", "new=new_1.out,new_2.out", "--metric", "bleu", "--trials", "99", "--seed", "3")
    (found,) = facts(compare, *systems)
    base, new = found["systems"]
    assert found["metric"] == "BLEU"
    assert found["signature"].endswith("|ar:99|seed:3")
    assert base == {
        "system": "base", "outputs": ["base.1", "base.2"], "runs": spread(Bleu(), one)._asdict(),
    } | bootstrap(Bleu(), one, 99, 3)._asdict()  # fmt: skip
    assert new["difference"] == randomisation(Bleu(), one, two, 99, 3)._asdict()
    (found,) = facts(compare, *systems, "--test", "bs")
    assert found["signature"].endswith("|bs:99|seed:3")
    assert found["systems"][1]["difference"] == paired_bootstrap(Bleu(), one, two, 99, 3)._asdict()


def test_systems_are_named_in_several_ways(compare):
    given = facts(compare, "b=base.1,base.2,base.3", "n=new_1.out,new_2.out,new_3.out", "--trials", "50")
    wild = facts(compare, "b=base.*", "n=new_*.out", "--trials", "50")
    again = facts(compare, "b=base.1", "b=base.2", "n=new_1.out,new_2.out", "b=base.3", "n=new_3.out", "--trials", "50")
    assert given == wild == again
    bare = facts(compare, "base.1", "new_1.out", "--trials", "50")
    assert [one["system"] for one in bare[0]["systems"]] == ["base.1", "new_1.out"]


def test_a_file_name_may_look_like_a_name_and_its_runs(compare, files):
    files.joinpath("base.1").rename(files / "rate=1,cold.out")
    (_, found) = facts(compare, "base.2", "rate=1,cold.out", "--trials", "50")[0]["systems"]
    assert found["system"] == "rate=1,cold.out"
    assert found["outputs"] == ["rate=1,cold.out"]


def test_equal_systems_are_sure_to_be_equal(compare, files):
    files.joinpath("copy").write_bytes(files.joinpath("base.1").read_bytes())
    for one in facts(compare, "base.1", "copy"):
        assert one["systems"][1]["difference"] == {"score": 0, "p": 1, "deals": 1, "exact": True}


def test_markdown(compare):
    lines = compare("base.1", "new_1.out", "--refs", "ref", "--metric", "bleu", "--format", "markdown").splitlines()
    assert lines[:2] == ["| BLEU | score | 95% interval | difference | p |", "| :-- | --: | --: | --: | --: |"]
    assert {line.count("|") for line in lines[:4]} == {6}
    assert lines[4] == ""
    assert all(line.startswith("- ") for line in lines[5:])


def test_latex(compare):
    lines = compare("base.1", "new_1.out", "--refs", "ref", "--format", "latex").splitlines()
    assert lines[:4] == [
        r"\begin{tabular}{lrrrr}", r"\toprule", r"BLEU & score & 95\% interval & difference & p \\", r"\midrule",
    ]  # fmt: skip
    assert lines[5].startswith(r"new\_1.out & ")
    assert " & $+" in lines[5]
    assert lines.count(r"\midrule") == 3
    end = lines.index(r"\end{tabular}")
    assert lines[end - 1] == r"\bottomrule"
    assert all(line.startswith("% ") for line in lines[end + 1 :])


@pytest.mark.parametrize(
    ("systems", "sentence"),
    [
        (["base.1"], "there is one system, base.1; name a baseline and at least one system"),
        (["base.1", "short"], "short: has 2 lines, and base.1 has 60; outputs must have a line for every segment"),
        (["short", "shorter=short"], "ref: has 60 lines for 2 segments; expected a line for every segment"),
        (["empty", "base.1"], "empty: has no lines; outputs must have a line for every segment"),
        (["base.1", "missing"], "missing: "),
        (["base.1", "n=missing.*"], "missing.*: "),
    ],
)
def test_what_cannot_be_compared(compare, files, systems, sentence):
    files.joinpath("short").write_text("a\nb\n")
    files.joinpath("empty").write_text("")
    assert f"rampion: {sentence}" in compare(*systems, "--refs", "ref", code=2)


def test_help_has_an_example(compare):
    assert "rampion compare base=base.1,base.2,base.3" in compare("--help")
