"""Containers agree with themselves; records and data frames come back as they were."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pandas
import pytest
from hypothesis import given
from hypothesis import strategies as st

import rampion
from rampion import Candidates, References, Texts, Weights
from rampion.errors import InputError, InputWarning

# Features of a few candidates look like values that are missing.
pytestmark = pytest.mark.filterwarnings("ignore::rampion.errors.InputWarning")

WORDS = st.text(st.characters(exclude_categories=["Cs", "Z", "C"]), min_size=1, max_size=3)
NUMBERS = st.floats(-1e6, 1e6, allow_nan=False)


@st.composite
def records(draw) -> list[dict[str, Any]]:
    """Records with dense and sparse features, scores, notes and metrics here and there."""
    scored, metrics = draw(st.booleans()), draw(st.lists(st.sampled_from(["comet", "label"]), unique=True))
    found: list[dict[str, Any]] = []
    for identity in draw(st.lists(WORDS, min_size=1, max_size=4, unique=True)):
        hyps = []
        for _ in range(draw(st.integers(1, 4))):
            feats = {"LM": draw(NUMBERS)} | draw(st.dictionaries(st.sampled_from("abc"), NUMBERS.filter(bool)))
            hyp: dict[str, Any] = {"text": draw(WORDS), "feats": feats}
            if metrics:
                hyp["metrics"] = {name: draw(NUMBERS) for name in metrics}
            if scored:
                hyp["score"] = draw(NUMBERS)
            if note := draw(st.sampled_from(["", "a note"])):
                hyp["note"] = note
            hyps.append(hyp)
        refs = draw(st.lists(WORDS, min_size=1, max_size=3))
        found.append({"id": identity, "hyps": hyps, "refs": refs})
    return found


@given(records())
def test_records_come_back_as_they_were(given_records):
    lists, references = Candidates.from_records(given_records), References.from_records(given_records)
    assert lists.to_records(references) == given_records
    assert Candidates.from_records(lists.to_records()).to_records() == lists.to_records()


@given(records(), st.data())
def test_containers_agree_with_themselves(given_records, data):
    lists, references = Candidates.from_records(given_records), References.from_records(given_records)
    weights = Weights.from_dict({"LM": 1.0, "TM": 0.5})
    for whole in (lists, references, lists.texts, lists.segments, lists.features, weights.features, *lists):
        found = list(whole)
        assert len(found) == len(whole)
        assert all(whole[i] == one == whole[i - len(whole)] for i, one in enumerate(found))
        assert all(one in whole for one in found)
        assert "nothing that is there" not in whole
        for wrong in (len(whole), -len(whole) - 1):
            with pytest.raises(IndexError):
                whole[wrong]
        for wrong in ("1", 1.0, None):
            with pytest.raises(TypeError, match="an index is a number, a slice, or a list of numbers"):
                whole[wrong]
        chosen = data.draw(st.lists(st.integers(0, len(whole) - 1), max_size=3))
        marks = np.isin(np.arange(len(whole)), chosen)
        for index, expected in (
            (slice(1, None), found[1:]),
            (chosen, [found[i] for i in chosen]),
            (np.array(chosen, np.int64), [found[i] for i in chosen]),
            (marks, [one for one, mark in zip(found, marks, strict=True) if mark]),
        ):
            assert list(whole[index]) == expected
    assert list(weights) == list(weights.keys()) == ["LM", "TM"]
    assert all(name in weights and weights[name] == value for name, value in weights.items())
    assert len(weights) == 2
    assert "Cat" not in weights
    assert Weights.from_dict(weights.to_dict()) == weights


@given(records())
def test_a_segment_shows_what_the_record_holds(given_records):
    lists = Candidates.from_records(given_records)
    assert lists.size == sum(len(record["hyps"]) for record in given_records)
    for segment, record in zip(lists, given_records, strict=True):
        assert segment.id == record["id"]
        assert segment.texts == [hyp["text"] for hyp in record["hyps"]]
        assert segment.features == [hyp["feats"] for hyp in record["hyps"]]
        for candidate, hyp in zip(segment, record["hyps"], strict=True):
            assert candidate.score == hyp.get("score")
            assert candidate.metrics == hyp.get("metrics", {})
            assert candidate.note == hyp.get("note", "")
        assert all(map(math.isnan, segment.scores)) or [one.score for one in segment] == segment.scores.tolist()


@given(records(), st.randoms(use_true_random=False))
def test_a_frame_gives_the_lists_of_its_rows(given_records, random):
    """Rows of a segment need not stand together; the order of its candidates is that of the rows."""
    lists = Candidates.from_records(given_records)
    rows = [
        {"segment": segment.id, "text": one.text, "LM": one.features["LM"], "n": i, "up": i % 2 == 0, "gold": i * 0.5}
        for segment in lists
        for i, one in enumerate(segment)
    ]
    random.shuffle(rows)
    frame = pandas.DataFrame(rows)
    found = Candidates.from_frame(frame, segment="segment", metrics=["gold"])
    assert list(found.features) == ["LM", "n", "up"]
    assert found.features.width == 3
    assert list(found.segments) == list(dict.fromkeys(row["segment"] for row in rows))
    for segment in found:
        expected = [row for row in rows if row["segment"] == segment.id]
        assert segment.texts == [row["text"] for row in expected]
        assert segment.features == [{name: float(row[name]) for name in ("LM", "n", "up")} for row in expected]
        assert segment.metrics["gold"].tolist() == [row["gold"] for row in expected]


class Table:
    """A data frame as PyArrow has them: names apart from columns, which are arrays once NumPy asks."""

    def __init__(self, columns):
        self.column_names, self.columns, self._columns = list(columns), list(columns.values()), columns

    def __getitem__(self, name):
        class Column:
            __array__ = staticmethod(lambda dtype=None, copy=None: np.asarray(self._columns[name], dtype))

        return Column()


FRAME = pandas.DataFrame({"id": [7, 7, 8], "text": ["a", "b", "c"], "LM": [1.0, 2.0, 3.0], "lang": ["x", "y", "z"]})


def test_ids_of_a_frame_may_be_numbers_or_categories():
    for column in (FRAME["id"], FRAME["id"].astype(str), FRAME["id"].astype(str).astype("category")):
        found = Candidates.from_frame(FRAME.assign(id=column), features=["LM"], score="LM")
        assert list(found.segments) == ["7", "8"]
        assert found.scores.tolist() == [1, 2, 3]
    assert Candidates.from_frame(FRAME[1:])[0].texts == ["b"]
    columns = {name: FRAME[name].tolist() for name in FRAME}
    for frame in (columns, Table(columns)):
        assert Candidates.from_frame(frame).to_records() == Candidates.from_frame(FRAME).to_records()


@pytest.mark.parametrize(
    ("frame", "options", "sentence"),
    [
        ([1, 2], {}, "a list is no data frame; give one of pandas"),
        (FRAME, {"text": "hyp"}, "has no column 'hyp'; it has 'id', 'text', 'LM', 'lang'"),
        (FRAME, {"features": ["lang"]}, "the column 'lang' holds no numbers"),
        (FRAME, {"text": "LM"}, "row 0 of the column 'LM' is 1.0; expected a string"),
        (FRAME.assign(LM=[1, math.inf, 2]), {}, "row 1 of the column 'LM' is not finite"),
        (FRAME.assign(text=["a", "b", None]), {}, "row 2 of the column 'text' is .*; expected a string"),
    ],
)
def test_frames_that_cannot_be_lists(frame, options, sentence):
    with pytest.raises(InputError, match=sentence):
        Candidates.from_frame(frame, **options)


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: References.from_lists(["one", "two"]), "the references of segment 0 .* are 'one'; give a list of"),
        (lambda: References.from_lists([["one"], [2]]), "a reference of segment 1 .* is '2'; give a list of strings"),
        (lambda: References.from_lists(Path("dev.ref")), "references are the string 'dev.ref'.* use load_references"),
        (lambda: References.from_lists("dev.ref"), "references are the string 'dev.ref'.* use load_references"),
        (lambda: References.from_records([{"id": "7"}]), 'record 0: has no reference; give it "refs"'),
        (lambda: References.from_records([{"id": "7", "refs": "one"}]), "record 0: refs is not a list of strings"),
        (lambda: Candidates.from_records("dev.jsonl"), "records are a list of dicts.*use load_nbest"),
        (lambda: Weights.from_dict({"LM": math.nan}), "the weight of 'LM' is nan; expected a finite number"),
        (lambda: Weights.from_dict({"LM": "much"}), "the weight of 'LM' is 'much'; expected a finite number"),
        (lambda: Weights.from_dict({"LM": None}), "the weight of 'LM' is None; expected a finite number"),
        (lambda: Weights.from_dict({1: 2.0}), "the name of a feature is 1; expected a string"),
        (lambda: Weights.from_dict([1.0]), "weights by name are a list; give a dict, such as"),
    ],
)
def test_what_would_be_read_letter_by_letter_is_refused(make, sentence):
    with pytest.raises(InputError, match=sentence):
        make()


def test_containers_say_their_sizes_in_a_line():
    lists = Candidates.from_records([{"id": "1", "hyps": [{"text": "a b", "feats": {"LM": 1}}]}])
    assert repr(lists) == "Candidates(1 segments, 1 candidates, 1 dense + 0 sparse features)"
    assert repr(lists[0]) == "Segment('1', 1 candidates)"
    assert repr(lists.texts) == "Texts(1 strings, 3 bytes)"
    assert repr(lists.features) == "Features(1 dense + 0 sparse)"
    assert repr(References.from_lists([["a"], ["b", "c"]])) == "References(2 segments, 3 references)"
    assert repr(Texts.from_strings([])) == "Texts(0 strings, 0 bytes)"
    wide = Weights.from_dict(dict.fromkeys("abcdefg", 1.0))
    assert repr(wide) == "Weights({'a': 1, 'b': 1, 'c': 1, 'd': 1, 'e': 1, ...}, 7 dense + 0 sparse)"
    assert rampion.Weights.from_dict({"a": 0.25}).__repr__() == "Weights({'a': 0.25})"


def test_labels_and_the_index_of_a_frame_are_no_features_unless_named():
    frame = FRAME.assign(**{"Unnamed: 0": [0, 1, 2], "is_correct": [True, False, True]})
    with pytest.warns(InputWarning, match="no features, since they look like .*: Unnamed: 0, is_correct"):
        assert list(Candidates.from_frame(frame).features.names) == ["LM"]
    found = Candidates.from_frame(frame, features=["LM", "Unnamed: 0"], metrics=["is_correct"])
    assert (list(found.features.names), list(found.metrics)) == (["LM", "Unnamed: 0"], ["is_correct"])


@pytest.mark.parametrize("gap", [[1.0, math.nan, 3.0], pandas.array([1, None, 3], "Int64"), [1.0, None, 3.0]])
def test_missing_values_of_a_frame_are_the_mean_of_the_list(gap):
    frame = FRAME.assign(LM=gap, prompt=["p", "p", "q"], share=[2.0, 2.0, 1.0])
    with pytest.warns(InputWarning, match="the feature LM is missing in 1 of 3 candidates"):
        found = Candidates.from_frame(frame, source="prompt", weight="share", keep=["lang"])
    assert found[0].features[1] == {"LM": 1.0, "LM:missing": 1.0}
    assert (found.of_segments("source"), found.segment_weights.tolist()) == (["p", "q"], [2.0, 1.0])
    assert list(found.fields["lang"]) == ["x", "y", "z"]
