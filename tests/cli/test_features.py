"""`rampion features` from the terminal: what it writes, shows and refuses."""

from __future__ import annotations

import json

import pytest
from command import good, rampion

from rampion import Candidates, References, Weights, load_nbest, load_references, save_nbest, save_weights
from rampion.features import MAKERS


def record(number, texts, ref):
    return {"id": str(number), "hyps": [{"text": text, "feats": {"LM": -len(text)}} for text in texts], "refs": [ref]}


RECORDS = [record(0, ["four #### 4", "#### 5", "so #### 4"], "4"), record(1, ["#### 7", "#### 9"], "7")]


@pytest.fixture(autouse=True)
def files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    save_nbest("lists.jsonl", Candidates.from_records(RECORDS), References.from_records(RECORDS))


def test_the_lists_get_features_and_keep_their_references():
    told = good(
        "features", "lists.jsonl", "--add", "vote", "--add", "length", "--answer", "####(.*)", "-o", "more.jsonl"
    )
    assert [line.split()[0] for line in told.splitlines()] == ["feature", "vote:answer", "length", "wrote"]
    more = load_nbest("more.jsonl")
    assert more[0][1].features == {"LM": -6.0, "vote:answer": pytest.approx(1 / 3), "length": 2.0}
    assert load_references("more.jsonl", more)[1] == ["7"]


def test_what_weights_or_lists_need_is_made_again():
    good("features", "lists.jsonl", "--add", "bins:length,3", "--add", "consensus:chrf*LM", "-o", "more.jsonl")
    wanted = load_nbest("more.jsonl").to_records()
    save_weights("weights", Weights.from_dict(dict.fromkeys(load_nbest("more.jsonl").features.names, 1.0)))
    for like in ("weights", "more.jsonl"):
        good("features", "lists.jsonl", "--like", like, "-o", "again.jsonl")
        assert load_nbest("again.jsonl").to_records() == wanted
    code, _, err = rampion("rerank", "lists.jsonl", "--weights", "weights", "-o", "picks")
    assert (code, "; rampion features LISTS --like weights adds what it had" in err) == (2, True)
    code, _, err = rampion("features", "more.jsonl", "--like", "weights", "-o", "again.jsonl")
    assert code == 2
    assert "the lists have all features that weights has" in err


def test_sources_are_taken_in_order_or_by_number():
    good("features", "lists.jsonl", "--add", "copied", "--source", write("four 4\n7\n"), "-o", "more.jsonl")
    first = [one.features["copied"] for one in load_nbest("more.jsonl")[0]]
    assert first == pytest.approx([2 / 3, 0, 1 / 3])
    good("features", "lists.jsonl", "--add", "copied", "--source", write("four 4\n7\nx\n"), "-o", "numbered.jsonl")
    assert load_nbest("numbered.jsonl").to_records() == load_nbest("more.jsonl").to_records()
    code, _, err = rampion("features", "lists.jsonl", "--add", "copied", "--source", write("x\n"), "-o", "no.jsonl")
    assert code == 2
    assert "has 1 lines for 2 segments" in err


def write(text):
    with open("source", "w") as file:
        file.write(text)
    return "source"


def test_machines_get_the_same_facts():
    facts = json.loads(good("features", "lists.jsonl", "--add", "length", "-o", "more.jsonl", "--json"))
    assert [one["feature"] for one in facts] == ["length"]
    assert facts[0]["mean"] == pytest.approx(2.4)


def test_without_lists_it_tells_what_there_is():
    told = good("features")
    assert all(f"\n{name} " in told for name in MAKERS)
    assert json.loads(good("features", "--json")).keys() >= MAKERS.keys()


def test_nothing_to_add_and_nowhere_to_write_are_refused():
    for arguments, message in (
        (["--add", "length"], "--out"),
        (["-o", "more.jsonl"], "--add or --like"),
        (["--add", "lenght", "-o", "more.jsonl"], "did you mean 'length'"),
    ):
        code, _, err = rampion("features", "lists.jsonl", *arguments)
        assert code == 2
        assert message in err
