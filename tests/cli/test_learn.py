"""rampion learn from end to end: a small corpus, every step in the table, a run that goes on, and what it refuses."""

from __future__ import annotations

import json
import shutil

import numpy as np
import pytest
from command import good, rampion
from rampion.decoder.models.blocks import BlockSet
from rampion.decoder.text.language import Language

from rampion.formats import weights as weight_files

SMALL = ["--beam", "5", "--parts", "3", "-k", "10", "--iterations", "2", "--order", "3", "--set", "epochs=6"]
SMALL += ["--set", "l2=2e-6", "--seeds", "1,2"]


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    folder = tmp_path_factory.mktemp("learn")
    Language.invent(1).corpus(300, 15, 2).write(folder / "corpus")
    return folder / "corpus"


@pytest.fixture(scope="module")
def done(corpus):
    told = json.loads(good("learn", corpus, "--out", corpus.parent / "done", *SMALL, "--threads", 1, "--json"))
    return corpus.parent / "done", told


def files(folder):
    kept = [
        *folder.glob("learnt.*"),
        *folder.glob("lists/*"),
        *folder.glob("*/seed-*/found.json"),
        folder / "weights.txt",
    ]
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(kept)}


@pytest.mark.slow
def test_every_step_is_scored_beside_dense_tuning(done):
    folder, told = done
    table = told["table"]
    assert list(table) == ["initial weights", "dense tuning", "features learnt", "and tuned again"]
    for name, scores in table.items():
        assert set(scores) == {"dev bleu", "test bleu", "test chrf", "test ter"}
        for score in scores.values():
            assert score["low"] <= score["score"] <= score["high"]
            assert ("p" in score) == (name in ("features learnt", "and tuned again"))
    gain = table["and tuned again"]["test bleu"]["gain"]
    assert gain == pytest.approx(
        table["and tuned again"]["test bleu"]["score"] - table["dense tuning"]["test bleu"]["score"]
    )
    assert json.loads((folder / "results.json").read_text())["table"] == table


@pytest.mark.slow
def test_what_is_learnt_raises_the_held_out_lists_or_is_nothing(done):
    folder, told = done
    course = told["course"]
    assert course["held_out"] >= course["before"]
    assert course["held_out"] == max([course["before"], *(one["held_out"] for one in course["trials"])])
    assert len(weight_files.read(folder / "learnt.bin")) == course["nonzero"] <= course["features"]


@pytest.mark.slow
def test_the_weights_are_columns_of_the_blocks(done):
    folder, _ = done
    plain, learnt = (BlockSet.read(folder / name).blocks for name in ("system/system.blocks", "learnt.blocks"))
    assert np.array_equal(learnt.values[:, : plain.values.shape[1]], plain.values)
    assert learnt.values[:, plain.values.shape[1] :].any()


@pytest.mark.slow
def test_the_page_shows_the_table(done):
    folder, told = done
    page = (folder / "report.html").read_text()
    for name, scores in told["table"].items():
        assert f">{name}<" in page
        assert all(f">{score['score']:.2f}<" in page for score in scores.values())
    assert "Expected BLEU of the held-out lists" in page
    events = map(json.loads, (folder / "events.jsonl").read_text().splitlines())
    stages = [event for event in events if event["event"] == "stage"]
    assert len(stages) == 6
    for stage in stages:
        assert 0 < stage["cores"] < 64
        assert f">{stage['cores']:.2f}<" in page
    (folder / "report.html").unlink()
    good("report", folder)
    assert (folder / "report.html").read_text() == page


@pytest.mark.slow
def test_a_stopped_run_goes_on_to_the_same_bytes(corpus, done, tmp_path):
    folder, told = done
    for name, lost in enumerate((["lists/01.store"], ["learnt.blocks", "tuned"], ["course.json", "results.json"])):
        copy = tmp_path / str(name)
        shutil.copytree(folder, copy)
        for one in lost:
            shutil.rmtree(copy / one) if (copy / one).is_dir() else (copy / one).unlink()
        again = json.loads(good("learn", corpus, "--out", copy, *SMALL, "--threads", 2, "--json"))
        assert again["table"] == told["table"]
        assert files(copy) == files(folder)


@pytest.mark.slow
def test_the_command_that_is_printed_translates_as_the_table_says(corpus, done, tmp_path):
    folder, _ = done
    code, out, _ = rampion("learn", corpus, "--out", folder, *SMALL)
    assert code == 0
    assert max(map(len, out.splitlines()[:6])) <= 160
    words = out.splitlines()[-1].split()
    assert words[:3] == ["rampion", "decode", "TEXT"]
    words[2], words[-1] = str(corpus / "test.src"), str(tmp_path / "out")
    good(*words[1:], "--beam", 5)
    scored = good("score", tmp_path / "out", "--refs", corpus / "test.tgt.0", "--refs", corpus / "test.tgt.1", "--json")
    assert "bleu" in scored.lower()


@pytest.mark.slow
def test_a_tuner_without_random_numbers_runs_once(corpus, tmp_path):
    told = json.loads(
        good("learn", corpus, "--out", tmp_path, *SMALL, "--tuner", "rampion", "--alone", "--threads", 1, "--json")
    )
    assert told["course"]["groups"] == 0
    assert [path.name for path in (tmp_path / "dense").iterdir()] == ["seed-1"]
    assert [path.name for path in (tmp_path / "tuned").iterdir()] == ["seed-1"]


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (["--features", "word"], "W2 cannot be condensed"),
        (["--features", "fourteen"], "fourteen cannot be condensed"),
        (["--recipe", "rampion"], "does not learn by expected BLEU"),
        (["--tuner", "xbleu-rprop"], "--tuner xbleu-rprop: learns from fixed lists; choose mert, rampion, pro"),
        (["--tuner", "nothing"], "no recipe 'nothing'"),
        (["--recipe", "nothing"], "no recipe 'nothing'"),
        (["--parts", "2", "--pairs", "1"], "1 sentence pairs of 300 cannot be cut into 2 parts"),
    ],
)
def test_refused(corpus, tmp_path, more, said):
    code, out, err = rampion("learn", corpus, "--out", tmp_path / "run", *SMALL[:2], *more)
    assert (code, out) == (2, "")
    assert said in err
    assert "Traceback" not in err
