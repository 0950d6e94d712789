"""JSONL lists: exact round trips, records from memory, and a sentence for every bad record."""

from __future__ import annotations

import json
from contextlib import suppress

import numpy as np
import pytest
from facts import plain
from hypothesis import given
from hypothesis import strategies as st
from speeds import examples
from strategies import lists

from rampion.errors import InputError
from rampion.formats import jsonl, reading
from rampion.formats.files import Skipped
from rampion.store.names import Labels, Names
from rampion.store.records import rows_of
from rampion.store.text import References, Texts

GOOD = {"id": 7, "hyps": [{"text": "a b", "feats": {"LM": -3.5, "TM": [1, 2]}, "metrics": {"comet": 0.5}, "extra": {}}]}


def load(path, skipped=None):
    labels = Labels(Names(), 2)
    return reading.collect(path, jsonl.records(path, skipped), labels, skipped).rows, labels.features.texts()


@examples(60)
@given(lists())
def test_reading_what_was_written_is_the_identity(tmp_path_factory, rows_and_names):
    rows, names = rows_and_names
    path = tmp_path_factory.mktemp("round") / "x.jsonl"
    references = References.from_lists([[f"r {s}", "ü"] for s in range(len(rows.segments))])
    jsonl.write(path, [rows], names, references)
    assert repr(plain(*load(path))) == repr(plain([rows], names))
    assert json.loads(path.read_text().splitlines()[0])["refs"] == ["r 0", "ü"]


@given(st.text(st.characters(codec="utf-8"), min_size=1).filter(str.strip))
def test_any_text_and_any_name_survive(tmp_path_factory, text):
    record = {"id": text, "hyps": [{"text": text, "feats": {text: 1.0}, "note": text, "score": 2}]}
    path = tmp_path_factory.mktemp("round") / "x.jsonl"
    names = Names()
    rows = rows_of([record] if not text.startswith("metric:") else [], names)
    jsonl.write(path, [rows], names.texts())
    if len(rows.texts):
        assert plain(*load(path)) == [(text, text, {text: 1.0}, 2.0, text, {})]


def test_records_from_memory():
    names = Names()
    rows = rows_of([GOOD, {"id": "x", "hyps": [{"text": "c", "metrics": {"comet": 1}}]}], names)
    assert plain([rows], names.texts())[0][:3] == ("7", "a b", {"LM": -3.5, "TM[0]": 1.0, "TM[1]": 2.0})
    assert rows.metrics["comet"].tolist() == [0.5, 1.0]
    assert np.isnan(rows.scores).all()
    with pytest.raises(InputError, match=r"record 1: segment 7 is in the list already"):
        rows_of([GOOD, GOOD], Names())


def changed(**hyp):
    return json.dumps({"id": 8, "hyps": [GOOD["hyps"][0] | hyp]})


@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        ("{", "is not JSON: "),
        ("[" * 100_000, "is nested too deeply|is not JSON"),
        ("[]", "is not a record like"),
        ('{"hyps": []}', "is not a record like"),
        ('{"id": true, "hyps": []}', "is not a record like"),
        ('{"id": "", "hyps": []}', "is not a record like"),
        ('{"id": "a", "id": "b"}', "an object holds the same key twice"),
        ('{"id": "\\ud800", "hyps": [1]}', "id is not a string of Unicode characters"),
        ('{"id": 8, "hyps": []}', "segment 8 has no hypotheses; hyps must be a list of at least one"),
        ('{"id": 8}', "has no text; it has id: say which column holds it: --columns text=COLUMN"),
        ('{"id": 7, "hyps": [{"text": "a"}]}', "segment 7 is in the list already"),
        ('{"id": 8, "hyps": ["a"]}', r"hyps\[0\] is not an object with text"),
        ('{"id": 8, "hyps": [{}]}', r"hyps\[0\].text is not a string"),
        (changed(text=None), r"hyps\[0\].text is missing; a text is expected"),
        (changed(text="\ud800"), r"hyps\[0\].text is not a string of Unicode characters"),
        (changed(note=3), r"hyps\[0\].note is not a string"),
        (changed(score="x"), r"hyps\[0\].score is 'x'; a finite number is expected"),
        (changed(feats=[1]), r"hyps\[0\].feats is not an object of names and numbers"),
        (changed(feats={"LM": "1"}), r"hyps\[0\].feats\['LM'\] is '1'; a finite number is expected"),
        (changed(feats={"LM": 10**400}), "a finite number is expected"),
        (changed(feats={"LM": float("inf")}), "is 'inf'; a finite number"),
        (changed(score=float("inf")), "is 'inf'; a finite number"),
        (changed(feats={"LM": [1, 2]}), r"hyps\[0\].feats\['LM'\] has 2 values here and 1 elsewhere"),
        (changed(feats={"": 1}), "is no feature: a name"),
        (changed(feats={"metric:x": 1}), "is no feature: a name"),
        (changed(feats={"X": []}), "is no feature: a name .* and at least one value"),
        (b"\xff", "byte 0xff is not UTF-8"),
    ],
)
def test_a_sentence_for_every_bad_record(tmp_path, line, sentence):
    path = tmp_path / "x.jsonl"
    path.write_bytes(json.dumps(GOOD).encode() + b"\n\n" + (line if isinstance(line, bytes) else line.encode()) + b"\n")
    with pytest.raises(InputError, match=f"x.jsonl:3: .*(?:{sentence})"):
        load(path)
    skipped = Skipped()
    assert len(load(path, skipped)[0]) == skipped.count == 1


def test_a_bad_first_record_does_not_decide_what_the_metrics_are(tmp_path):
    bad = {"id": 1, "hyps": [{"text": "a", "metrics": {"other": 1}}, {"text": None}]}
    (tmp_path / "x").write_text(json.dumps(bad) + "\n" + json.dumps(GOOD) + "\n")
    skipped = Skipped()
    [rows], _ = load(tmp_path / "x", skipped)
    assert (list(rows.metrics), skipped.count) == (["comet"], 1)


def test_a_file_without_records(tmp_path):
    (tmp_path / "x").write_text("\n")
    with pytest.raises(InputError, match="x: holds no candidates"):
        load(tmp_path / "x")


def test_runs_hold_whole_segments(tmp_path, monkeypatch):
    monkeypatch.setattr(reading, "_RUN", 3)
    path = tmp_path / "x"
    path.write_text(
        "".join(json.dumps({"id": s, "hyps": [{"text": "a", "feats": {f"w{s}": 1}}] * 2}) + "\n" for s in range(5))
    )
    runs, names = load(path)
    assert [len(rows.segments) for rows in runs] == [2, 2, 1]
    assert list(names) == [f"w{s}" for s in range(5)]


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=3),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["id", "text", "feats", "x"]), inner, max_size=3)
    ),
    max_leaves=6,
)


@examples(150)
@given(values, st.sampled_from(["id", "hyps", "text", "feats", "metrics", "score", "note"]))
def test_any_json_is_read_or_refused_in_a_sentence(tmp_path_factory, value, key):
    record = GOOD | {key: value} if key in ("id", "hyps") else {"id": 1, "hyps": [GOOD["hyps"][0] | {key: value}]}
    path = tmp_path_factory.mktemp("fuzz") / "x"
    path.write_text(json.dumps(record))
    with suppress(InputError):
        load(path)


@given(st.binary(max_size=60))
def test_any_bytes_are_refused_in_a_sentence(tmp_path_factory, noise):
    path = tmp_path_factory.mktemp("fuzz") / "x"
    path.write_bytes(b"{" + noise)
    with pytest.raises(InputError):
        load(path)


def test_a_name_that_is_taken(tmp_path):
    (tmp_path / "x").write_text(json.dumps({"id": 1, "hyps": [{"text": "a", "feats": {"T": [1, 2], "T[1]": 3}}]}))
    with pytest.raises(InputError, match=r"x: two labels lead to the feature T\[1\]; give one of them another name"):
        load(tmp_path / "x")


def test_a_feature_that_is_called_like_a_metric(tmp_path):
    rows = rows_of([GOOD], Names())
    with pytest.raises(InputError, match="no feature may be called metric:x"):
        jsonl.write(tmp_path / "x", [rows], Texts.from_strings(["metric:x", "b", "c"]))
