"""`rampion score` and `rampion compare` of what weights and baselines choose from lists."""

from __future__ import annotations

import json

import numpy as np
import pytest
from command import good, rampion

import rampion as library
from rampion.metrics import metric
from rampion.metrics.consensus import consensus

SYSTEMS = "listed", "random", "oracle", "consensus:chrf", "feature:LM", "feature:-LM", "weights"


@pytest.fixture
def lists(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    random, records, words = np.random.default_rng(0), [], np.array([*"abcdefgh"])
    for s in range(30):
        hyps = [
            {
                "text": " ".join(random.choice(words, 6)),
                "feats": {"LM": random.normal(), "TM": random.normal()},
                "metrics": {"good": int(random.random() < 0.4), "errors": int(random.integers(4)), "words": 4},
            }
            for _ in range(5)
        ]
        records.append({"id": str(s), "hyps": hyps, "refs": [" ".join(random.choice(words, 6))]})
    found = library.Candidates.from_records(records)
    library.save_nbest("lists.jsonl", found, library.References.from_records(records))
    library.save_weights("weights", library.Weights.from_dict({"LM": -1.0, "TM": 2.0}))
    return found


def test_every_system_scores_what_it_chooses(lists):
    asked = ["--from", "lists.jsonl", "--target", "good", "--target", "errors/words"]
    found = json.loads(
        good("score", *SYSTEMS, *asked[:2], "--metric", "metric:good", "--metric", "errors/words", "--json")
    )
    scores = {one["output"]: one["scores"] for one in found}
    labels, errors = (lists.metrics[name].reshape(30, 5) for name in ("good", "errors"))
    values = {
        "listed": np.tile([5, 4, 3, 2, 1], (30, 1)),
        "consensus:chrf": consensus(lists, metric("chrf")).reshape(30, 5),
        "feature:LM": lists.score(np.array([1.0, 0])).reshape(30, 5),
        "feature:-LM": lists.score(np.array([-1.0, 0])).reshape(30, 5),
        "weights": lists.score(np.array([-1.0, 2.0])).reshape(30, 5),
    }
    for system, by in values.items():
        picks = np.arange(30), by.argmax(axis=1)
        assert scores[system]["good"] == pytest.approx(labels[picks].mean())
        assert scores[system]["errors/words"] == pytest.approx(errors[picks].mean() / 4)
        assert 0 < scores[system]["MRR"] < 1
    assert scores["random"] == {"good": pytest.approx(labels.mean()), "errors/words": pytest.approx(errors.mean() / 4)}
    assert scores["oracle"]["good"] == labels.max(axis=1).mean()
    assert scores["oracle"]["NDCG"] == 1


def test_labels_are_compared_as_outputs_are(lists):
    good("rerank", "lists.jsonl", "--weights", "weights", "--out", "chosen.out")
    by_lists = json.loads(
        good("compare", "listed", "new=weights", "--from", "lists.jsonl", "--metric", "bleu", "--format", "json")
    )
    by_text = json.loads(
        good("compare", "listed", "new=chosen.out", "--from", "lists.jsonl", "--metric", "bleu", "--format", "json")
    )
    assert [one["score"] for one in by_lists[0]["systems"]] == [one["score"] for one in by_text[0]["systems"]]
    shown = good("compare", "listed", "new=weights", "best=oracle", "--from", "lists.jsonl", "--target", "good")
    assert shown.splitlines()[0].split()[:2] == ["good", "score"]
    assert shown.splitlines()[3].endswith("*")


def test_references_may_be_more_than_segments(lists):
    some = lists[np.arange(10, 20)]
    library.save_nbest("some.jsonl", some)
    with open("refs", "w") as file:
        file.write("".join(f"{text}\n" for text in lists.texts[:30]))
    found = json.loads(good("score", "listed", "--from", "some.jsonl", "--refs", "refs", "--metric", "wer", "--json"))
    expected = metric("wer").score([segment.texts[0] for segment in some], list(lists.texts[:30])[10:20])
    assert found[0]["scores"]["WER"] == pytest.approx(expected)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["lsted", "--from", "lists.jsonl", "--target", "good"], "did you mean 'listed'?"),
        (["feature:LMM", "--from", "lists.jsonl", "--target", "good"], "did you mean 'LM'?"),
        (["listed", "--from", "lists.jsonl", "--target", "goood"], "did you mean 'good'?"),
        (["listed", "--from", "lists.jsonl", "--target", "errors"], "write metric:errors,lower"),
        (["weights"], "outputs need references"),
    ],
)
def test_what_cannot_be_scored_is_said(lists, arguments, sentence):
    code, _, err = rampion("score", *arguments)
    assert code == 2
    assert sentence in err


def test_bleu_of_text_that_is_not_tokenised_is_doubted(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with open("text", "w") as file:
        file.write("He said, it rains.\nShe knew: it snows!\n" * 8)
    code, _, err = rampion("score", "text", "--refs", "text", "--metric", "bleu")
    assert code == 0
    assert "the references are not tokenised, and BLEU counts words: --metric bleu:13a" in err
    for better in ("bleu:13a", "chrf"):
        assert "tokenised" not in rampion("score", "text", "--refs", "text", "--metric", better).err


def test_labels_may_be_missing_and_columns_named(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rows = [("1", "a", 1, 0.5), ("1", "b", 0, 0.1), ("2", "c", None, 0.9), ("2", "d", 1, 0.2), ("3", "e", None, 1.0)]
    with open("rows.jsonl", "w") as file:
        for prompt, said, right, sure in rows:
            file.write(json.dumps({"p": prompt, "said": said, "right": right, "sure": sure}) + "\n")
    asked = ["--from", "rows.jsonl", "--columns", "id=p,text=said,target=right", "--target", "right", "--json"]
    found = json.loads(good("score", "feature:sure", "feature:-sure", *asked))
    assert [one["scores"]["right"] for one in found] == [1.0, 0.5]
