"""What tune and train are given: references in any form, and sentences about what is none."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from problems import toy

import rampion
from rampion.errors import InputError, RecipeError
from rampion.training.decoders import FixedLists


def test_references_are_taken_alike():
    lists, references = toy()
    by_id = dict(zip(lists.segments, references, strict=True))
    shuffled = dict(sorted(by_id.items(), reverse=True))
    expected = rampion.tune(lists, references, recipe="risk").weights
    for given in (list(references), iter(references), by_id, shuffled):
        assert rampion.tune(lists, given, recipe="risk").weights == expected
    start = dict.fromkeys(lists.features, 0.1)
    segments, names = list(lists.segments), {"recipe": "risk", "start": start, "iterations": 2}
    expected = rampion.train(FixedLists(lists), segments, by_id, **names)
    assert rampion.train(FixedLists(lists), segments, shuffled, **names) == expected


def test_one_reference_of_a_dict_may_be_a_string():
    lists, references = toy()
    first = references.take(np.arange(len(lists)))
    singles = {name: refs[0] for name, refs in zip(lists.segments, first, strict=True)}
    expected = rampion.tune(lists, [[text] for text in singles.values()], recipe="risk").weights
    assert rampion.tune(lists, singles, recipe="risk").weights == expected


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (lambda lists, _: ("dev.nbest", None), "lists are the name 'dev.nbest'; read the file by rampion.load_nbest"),
        (lambda lists, _: (Path("dev.nbest"), None), "read the file by rampion.load_nbest"),
        (lambda lists, _: ([{"id": "1", "hyps": []}], None), "a dict in it; make Candidates of it by .*from_records"),
        (lambda lists, _: (7, None), "lists are a int with a int in it"),
        (lambda lists, _: (lists, ["one"] * len(lists)), "references of segment 0 .* are 'one'; give a list"),
        (lambda lists, _: (lists, "dev.ref"), "references are the string 'dev.ref'; .*use load_references"),
        (lambda lists, _: (lists, b"dev"), "references are a bytes; give a list of strings"),
        (lambda lists, _: (lists, 5), r"references are a int; give a list of strings for every segment"),
        (lambda lists, _: (lists, {"x": ["one"]}), "segment .* of the lists has no references"),
        (lambda lists, refs: (lists, refs[:3]), "60 segments of candidates but 3 of references"),
        (lambda lists, _: (lists, None), "BLEU needs references; .*metric='metric:NAME'"),
    ],
)
def test_what_would_be_read_letter_by_letter_is_refused(arguments, sentence):
    lists, references = toy()
    with pytest.raises(InputError, match=sentence):
        rampion.tune(*arguments(lists, references))


def test_a_decoder_decodes_and_its_segments_are_strings():
    for segments, found in (("a b", "the string 'a b'"), (Path("a.txt"), "the string 'a.txt'"), (5, "a int")):
        with pytest.raises(InputError, match=f"segments are {found}; give a list of strings"):
            rampion.train(FixedLists(toy()[0]), segments, [["x"]], start={"LM": 1.0})
    with pytest.raises(InputError, match=r"the decoder is a str; give an object with decode\(segments, weights, k\)"):
        rampion.train("decoder", ["a b"], [["x"]], start={"LM": 1.0})


def test_weights_to_choose_by_may_be_a_dict():
    lists, _ = toy()
    weights = rampion.Weights.from_dict(dict.fromkeys(lists.features, 0.5))
    assert rampion.pick(lists, dict(weights)).tolist() == rampion.pick(lists, weights).tolist()
    assert rampion.rerank(lists, dict(weights)).to_records() == rampion.rerank(lists, weights).to_records()
    for choose in (rampion.pick, rampion.rerank):
        with pytest.raises(InputError, match="weights by name are a list; give a dict"):
            choose(lists, [1.0])
        with pytest.raises(InputError, match=r"lists are a str; give Candidates, as rampion\.load_nbest reads them"):
            choose("dev.nbest", weights)


def test_a_metric_scores_strings():
    for metric in map(rampion.metric, ("bleu", "chrf", "ter", "wer")):
        one = metric.score(["a b c d", "e f"], ["a b c x", "e f"])
        assert one == metric.score(("a b c d", "e f"), [["a b c x"], ["e f"]])
        assert one == metric.score(rampion.Texts.from_strings(["a b c d", "e f"]), [["a b c x"], ["e f"]])
    for hypotheses, references, sentence in (
        ("a b", ["a b"], "the hypotheses are a str; give a list with one string for each segment"),
        (["a b"], "a b", "the references are a str; give a list"),
        ({"a": 1}, ["a"], "the hypotheses are a dict; give a list"),
        (["a"], None, "the references are a NoneType; give a list"),
        ([["a"]], [["a"]], "hypothesis 0 .* is .*; expected a string"),
        (["a", "b"], ["a"], "2 segments of candidates but 1 of references"),
    ):
        with pytest.raises(InputError, match=sentence):
            rampion.metric("bleu").score(hypotheses, references)
    with pytest.raises(RecipeError, match=r"the metric is 3; give its name, one of bleu, chrf"):
        rampion.metric(3)
    with pytest.raises(InputError, match="the metric column 'comet' comes with candidates"):
        rampion.metric("metric:comet").score(["a"], ["a"])


def test_what_tuning_found_prints_as_a_table_and_is_saved(tmp_path):
    lists, references = toy()
    found = rampion.tune(lists[:40], references[:40], recipe="risk", dev=lists[40:], dev_references=references[40:])
    rows = [line.split()[-2:] for line in found.summary().splitlines()[1:]]
    assert [[float(cell) for cell in row] for row in rows] == [
        [pytest.approx(getattr(stand, name), abs=0.005) for stand in pair]
        for pair, name in (
            ((found.after, found.dev.after), "listed"),
            ((found.before, found.dev.before), "chosen"),
            ((found.after, found.dev.after), "chosen"),
            ((found.after, found.dev.after), "oracle"),
        )
    ]
    assert f"{found.dev.after.chosen:.2f}" in repr(found)
    found.save(tmp_path / "weights")
    assert rampion.load_weights(tmp_path / "weights").to_dict() == found.weights.to_dict()
