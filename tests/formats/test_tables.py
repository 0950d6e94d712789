"""Tables with a candidate a row: columns with given or common names, gaps, a sentence for every mistake."""

from __future__ import annotations

import csv
import io
import json
import math
import warnings
from contextlib import suppress

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from speeds import examples

import rampion
from rampion.errors import InputError, InputWarning
from rampion.formats import read_lists
from rampion.store.candidates import Candidates
from rampion.store.columns import Columns

ROWS = [
    {"question_id": 7, "prompt": "2 + 3", "output": "5", "logprob": -1.5, "is_correct": True, "model": "a"},
    {"question_id": 8, "prompt": "2 + 2", "output": "4", "logprob": -0.5, "is_correct": True, "model": "b"},
    {"question_id": 7, "prompt": "2 + 3", "output": "6,\n\"no\"", "logprob": -2.5, "is_correct": False, "model": "b"},
]  # fmt: skip


def as_jsonl(rows):
    return "".join(json.dumps(row) + "\n" for row in rows)


def as_csv(rows, delimiter=","):
    out = io.StringIO()
    writer = csv.DictWriter(out, rows[0], delimiter=delimiter, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return out.getvalue()


WRITERS = {
    "jsonl": as_jsonl,
    "array": lambda rows: json.dumps(rows, indent=1),
    "csv": as_csv,
    "tsv": lambda rows: as_csv(rows, "\t"),
    "semicolons": lambda rows: as_csv(rows, ";"),
}


def read(path, columns=None, lenient=False):
    files = read_lists([path], lenient=lenient, columns=Columns.parse(columns))
    return Candidates.from_rows(files.names, files.runs)[0], files


@pytest.mark.parametrize("kind", WRITERS)
def test_plain_names_are_understood_and_told(tmp_path, kind):
    (tmp_path / "x").write_text(WRITERS[kind](ROWS))
    lists, files = read(tmp_path / "x")
    assert [(segment.id, segment.texts) for segment in lists] == [("7", ["5", '6,\n"no"']), ("8", ["4"])]
    assert [candidate.features for segment in lists for candidate in segment] == [
        {"logprob": -1.5}, {"logprob": -2.5}, {"logprob": -0.5},
    ]  # fmt: skip
    assert lists.metrics["is_correct"].tolist() == [1.0, 0.0, 1.0]
    assert lists.of_segments("source") == ["2 + 3", "2 + 2"]
    told = f"{tmp_path / 'x'}: one candidate a row: id=question_id source=prompt text=output target=is_correct; "
    assert files.notices[0] == f"{told}features: logprob"
    assert files.notices[1].startswith(f"{tmp_path / 'x'}: not used: model (")


@pytest.mark.parametrize("kind", WRITERS)
def test_columns_that_are_named(tmp_path, kind):
    (tmp_path / "x").write_text(WRITERS[kind](ROWS))
    said = "id=question_id,text=output,target=logprob,group=prompt,drop=is_correct+model"
    lists, files = read(tmp_path / "x", said)
    assert (list(lists.metrics), len(lists.features), files.notices) == (["logprob"], 0, [])
    assert lists.of_segments("group") == ["2 + 3", "2 + 2"]
    lists, _ = read(tmp_path / "x", ["indicators=model", "features=logprob", "target=is_correct"])
    assert lists[0][1].features == {"logprob": -2.5, "model=b": 1.0}


@pytest.mark.parametrize("kind", WRITERS)
@pytest.mark.parametrize(
    ("good", "bad"), [("yes", "no"), ("True", "FALSE"), ("Correct", "incorrect"), (" PASS", "Fail ")]
)
def test_words_are_labels_where_they_are_the_target(tmp_path, kind, good, bad):
    rows = [{**row, "is_correct": good if row["is_correct"] else bad, "judged": bad} for row in ROWS]
    (tmp_path / "x").write_text(WRITERS[kind](rows))
    lists, _ = read(tmp_path / "x")
    assert lists.metrics["is_correct"].tolist() == [1.0, 0.0, 1.0]
    assert "judged" not in lists.metrics
    lists, _ = read(tmp_path / "x", "target=judged")
    assert lists.metrics["judged"].tolist() == [0.0] * 3


def test_words_are_labels_in_nested_records_and_tables_inside_objects(tmp_path):
    (tmp_path / "x").write_text(json.dumps({"id": "1", "hyps": [
        {"text": "a", "metrics": {"good": "Yes"}}, {"text": "b", "metrics": {"good": "no"}}, {"text": "c"},
    ]}))  # fmt: skip
    assert read(tmp_path / "x")[0].metrics["good"].tolist()[:2] == [1.0, 0.0]
    hyps = [{"text": "a", "verdict": "incorrect"}, {"text": "b", "verdict": "PASS"}]
    for record in ({"id": "1", "hyps": hyps}, {"data": [{"id": "1"} | hyp for hyp in hyps]}):
        (tmp_path / "y").write_text(json.dumps(record))
        assert read(tmp_path / "y", "target=verdict")[0].metrics["verdict"].tolist() == [0.0, 1.0]


def test_parquet(tmp_path):
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    parquet.write_table(pyarrow.Table.from_pylist(ROWS), tmp_path / "x")
    (tmp_path / "y").write_text(as_jsonl(ROWS))
    assert read(tmp_path / "x")[0].to_records() == read(tmp_path / "y")[0].to_records()
    (tmp_path / "z").write_bytes(b"PAR1 and no more")
    with pytest.raises(InputError, match="z: is no Parquet file that pyarrow can read: "):
        read(tmp_path / "z")


def test_rows_from_memory_and_from_a_file_are_the_same(tmp_path):
    (tmp_path / "x").write_text(as_jsonl(ROWS))
    with pytest.warns(InputWarning) as told:
        lists = rampion.Candidates.from_records(ROWS)
    assert str(told[0].message).startswith("one candidate a row: id=question_id")
    with pytest.warns(InputWarning):
        assert rampion.load_nbest(tmp_path / "x").to_records() == lists.to_records()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        named = "id=question_id,text=output,source=prompt,target=is_correct,keep=model"
        assert rampion.load_nbest(tmp_path / "x", named)[0][1].metrics == {"is_correct": 0.0}


cell = st.floats(-1e6, 1e6, allow_nan=False)


@examples(60)
@given(st.lists(st.lists(cell | st.none(), min_size=1, max_size=4), min_size=1, max_size=5))
def test_missing_cells_are_the_mean_of_the_list_and_marked(tmp_path_factory, segments):
    path = tmp_path_factory.mktemp("gaps") / "x.csv"
    rows = [{"id": s, "text": "t", "LM": value} for s, values in enumerate(segments) for value in values]
    path.write_text(as_csv([{**row, "LM": "" if row["LM"] is None else repr(row["LM"])} for row in rows]))
    every = [row["LM"] for row in rows if row["LM"] is not None]
    lists, files = read(path)
    assert any("not used: LM" in notice for notice in files.notices) == (not every)
    for segment, values in zip(lists, segments, strict=True):
        known = [value for value in values if value is not None] or every
        for candidate, value in zip(segment, values, strict=True):
            if every:
                assert math.isclose(candidate.features["LM"], np.mean(known) if value is None else value, abs_tol=1e-6)
            assert ("LM:missing" in candidate.features) == (value is None and bool(every))


def test_null_in_lists_is_missing_and_absence_is_told(tmp_path):
    hyps = [{"text": "a", "feats": {"LM": value, "TM": -1.5}} for value in (-1.0, None, -3.0)]
    del hyps[0]["feats"]["TM"]
    (tmp_path / "x").write_text(json.dumps({"id": 1, "hyps": hyps}) + "\n")
    lists, files = read(tmp_path / "x")
    assert lists[0].features[1] == {"LM": -2.0, "TM": -1.5, "LM:missing": 1.0}
    assert "some of 3 candidates lack a feature that most have; it counts 0 there: TM in 1" in files.notices[0]
    assert "the feature LM is missing in 1 of 3 candidates; the mean of the list takes its place" in files.notices[1]


@pytest.mark.parametrize(
    "text",
    ["id,text,LM\n1,a,-inf\n1,b,-3\n2,c,-9\n", "1 ||| a ||| LM= -inf\n1 ||| b ||| LM= -3\n2 ||| c ||| LM= -9\n"],
)
def test_negative_infinity_has_a_floor_that_is_told(tmp_path, text):
    (tmp_path / "x").write_text(text)
    lists, files = read(tmp_path / "x")
    assert lists[0][0].features == {"LM": -9.0}
    assert files.notices[-1].endswith("the feature LM is -inf in 1 candidates; -9 takes its place")


def test_features_beside_feats_are_used_and_texts_are_told(tmp_path):
    hyps = [
        {"text": "a", "feats": {"LM": -1}, "rm": 0.5, "ok": True, "model": "x"},
        {"text": "b", "rm": 1, "ok": False},
    ]
    (tmp_path / "x").write_text(json.dumps({"id": 1, "weight": 2, "source": "s", "lang": "de", "hyps": hyps}) + "\n")
    lists, files = read(tmp_path / "x")
    assert lists[0][0].features == {"LM": -1.0, "rm": 0.5, "ok": 1.0}
    assert lists.segment_weights.tolist() == [2.0]
    assert "not used: lang, model (" in files.notices[0]
    rampion.save_nbest(tmp_path / "y.jsonl", lists)
    again, _ = read(tmp_path / "y.jsonl")
    assert again.to_records() == lists.to_records()
    assert again.to_records()[0]["weight"] == 2.0
    rampion.save_nbest(tmp_path / "y.store", lists)
    assert rampion.load_nbest(tmp_path / "y.store").to_records() == lists.to_records()


def test_candidates_without_a_label_are_read_and_not_learnt_from(tmp_path):
    rows = [{**row, "is_correct": None} if row["question_id"] == 8 else row for row in ROWS]
    (tmp_path / "x").write_text(as_jsonl(rows))
    lists, _ = read(tmp_path / "x")
    assert np.isnan(lists.metrics["is_correct"][2])
    assert list(lists.labelled("is_correct").segments) == ["7"]


def test_lists_of_a_fixed_length_need_no_names(tmp_path):
    (tmp_path / "x").write_text("the cat\t-1.5\nthe hat\t-2\na dog\t-1\n\t-7\n")
    with pytest.raises(InputError, match="x:1: has no segment; it has text, beam_score: say which column"):
        read(tmp_path / "x")
    lists, _ = read(tmp_path / "x", "size=2")
    assert [segment.texts for segment in lists] == [["the cat", "the hat"], ["a dog", ""]]


@pytest.mark.parametrize(
    ("text", "columns", "sentence"),
    [
        ("id,text\n1,a\n1\n", None, "x:3: has 1 cells, and the first line names 2 columns"),
        ("id,text\n1,\"a\n", None, "x:2: is no row of a table: unexpected end of data"),
        ("id,text,text\n1,a,b\n", None, "x:1: several columns have the name text; give each"),
        ("id,text\n,a\n", None, "x:2: id is ''; the name of a segment is expected"),
        ("id,text,LM\n1,a,1\n1,b,2\n1,c,3\n1,d,4\n1,e,5x\n", None, "x:6: '5x' stands in the column 'LM', which"),
        ("id,text,LM\n1,a,inf\n", None, "x:2: LM is 'inf'; a finite number is expected"),
        ("id,text,weight\n1,a,1\n1,b,2\n", None, "x: segment 1 has two weights"),
        ("id,text,weight\n1,a,-1\n", None, "x:2: weight is '-1'; the weight of a segment is a number of 0 or more"),
        ("id,text,label\n1,a,maybe\n", None, "x:2: label is 'maybe'; a finite number is expected, or one of the words "
         "true, false, yes, no, correct, incorrect, pass, fail$"),
        ("q,t\n1,a\n", "id=q", "x:2: has no text; it has q, t: say which column holds it"),
        ("q,t\n1,a\n", "text=t", "x:2: has no segment; it has q, t: say which column"),
        ("id,text\n1,a\n", "text=id,id=id", "the column 'id' is id and text; give it one role"),
        ("id,text\n1,a\n", "txt=id", "--columns txt=id: expected .*; did you mean text"),
        ("id,text\n1,a\n", "text", "--columns text: expected text=COLUMN"),
        ("id,text\n1,a\n", "id=a,id=b", "--columns id=b: id is 'a' already"),
        ("id,text\n1,a\n", "size=0", "--columns size=0: expected the number of candidates"),
        ("id,text\n", None, "x: holds no candidates"),
        ("q,t\n1,a\n", None, r"x:1: is no n-best list .*; if it is a table with the columns q, t, say what they hold"),
        ('{"id": 1, "text": null}\n', None, 'x:1: text is missing; a text is expected'),
        ('{"id": 1, "text": "a", "feats": 3}\n', None, "x:1: feats is not an object of names and numbers"),
        ('[{"id": 1, "text": "a"},\n {"id": 2}]', None, "x:2: has no 'text', the column of the text; add it"),
        ('[{"id": 1, "text": "a"},\n {"id": ]', None, "x:2: is not JSON: "),
        ('[{"id": 1, "text": "a"}', None, "x:1: is not JSON: the array breaks off"),
        ('[{"id": 1, "text": "a"}] 3', None, "x:1: is not JSON: the array goes on with '3'"),
        ("[1, 2]", None, "x:1: is not a record"),
        ("1 ||| a ||| LM= 1\n", "id=x", "x: --columns is for tables and records"),
    ],
)  # fmt: skip
def test_a_sentence_for_every_mistake(tmp_path, text, columns, sentence):
    (tmp_path / "x").write_text(text)
    with pytest.raises(InputError, match=sentence):
        read(tmp_path / "x", columns)


@examples(150)
@given(st.text(st.sampled_from('id,text\t"\n1a-.;{}[]:'), max_size=40), st.sampled_from(["id,text\n", '[{"id": 1', ""]))
def test_anything_is_read_or_refused_in_a_sentence(tmp_path_factory, noise, start):
    path = tmp_path_factory.mktemp("fuzz") / "x"
    path.write_text(start + noise)
    for lenient in (False, True):
        with suppress(InputError):
            read(path, lenient=lenient)
