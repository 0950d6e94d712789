"""References in every layout, and lists of any format read together."""

from __future__ import annotations

import gzip
import io
import json
import re
import sys
from pathlib import Path

import numpy as np
import pytest
from facts import plain

from rampion.errors import InputError
from rampion.formats import container, jsonl, nbest, read_lists, references, store, weights
from rampion.store.candidates import Candidates
from rampion.store.text import References, Texts

ROOT = Path(__file__).resolve().parents[2]
ZERO_TO_TWO = Texts.from_strings(["0", "1", "2"])


def save(tmp_path, **contents):
    for name, text in contents.items():
        (tmp_path / name).write_text(text)
    return [tmp_path / name for name in contents]


def as_lists(found):
    return [found[s] for s in range(len(found))]


@pytest.mark.parametrize(
    ("contents", "segments", "expected"),
    [
        ({"a": "x y\nz\nw\n"}, ["0", "1", "2"], [["x y"], ["z"], ["w"]]),
        ({"a": "x\r\nz\nw", "b": "X \n\nW\n"}, ["p", "q", "r"], [["x", "X"], ["z"], ["w", "W"]]),
        ({"a": "\ny\n", "b": "x\n\n"}, ["7", "8"], [["x"], ["y"]]),
        ({"a": "x\ny\nz\n"}, ["2", "0"], [["z"], ["x"]]),
        ({"a": "q ||| x ||| y\np ||| z\nq ||| w\nunused ||| v\n"}, ["p", "q"], [["z"], ["x ||| y", "w"]]),
        (
            {"a": '{"id": 1, "refs": ["x", " "]}\n\n{"id": "0", "hyps": [], "refs": ["y", "z"]}\n'},
            ["0", "1"],
            [["y", "z"], ["x"]],
        ),
    ],
)
def test_references_of_every_layout(tmp_path, contents, segments, expected):
    assert as_lists(references.read(save(tmp_path, **contents), Texts.from_strings(segments))) == expected


def test_packed_references(tmp_path):
    (tmp_path / "a").write_bytes(gzip.compress(b"x\ny\nz\n"))
    assert as_lists(references.read([tmp_path / "a"], ZERO_TO_TWO)) == [["x"], ["y"], ["z"]]


@pytest.mark.parametrize(
    ("contents", "segments", "sentence"),
    [
        ({"a": "x\ny\n"}, ["0", "1", "2"], "a: has 2 lines for 3 segments; expected a line for every segment, or"),
        ({"a": "x\ny\n"}, ["p"], "a: has 2 lines for 1 segments"),
        (
            {"a": "x\ny\n", "b": "x\n"},
            ["0", "1"],
            "b: has 1 lines, and .*a has 2; reference files must be line-aligned",
        ),
        ({"a": "x\n\n", "b": "y\n \n"}, ["0", "1"], "a:2: no reference in this line; every segment needs one"),
        ({"a": "0 ||| x\n"}, ["0", "1"], "a: has no reference of segment 1"),
        ({"a": "0 ||| x\ny\n"}, ["0"], "a:2: 'y' is no reference; expected 'id ||| text'"),
        ({"a": '{"id": 0, "refs": "x"}'}, ["0"], "a:1: refs is not a list of strings"),
        ({"a": '{"id": 0, "refs": [1]}'}, ["0"], "a:1: refs is not a string"),
        ({"a": '{"id": 0}'}, ["0"], "a: has no reference of segment 0"),
        ({"a": "{"}, ["0"], "a:1: is not JSON"),
        ({"a": "{}"}, ["0"], "a:1: is not a record like"),
    ],
)
def test_a_sentence_for_references_that_do_not_match(tmp_path, contents, segments, sentence):
    with pytest.raises(InputError, match=sentence):
        references.read(save(tmp_path, **contents), Texts.from_strings(segments))


def test_references_round_trip(tmp_path):
    texts = [["x", "y"], ["z"], ["ü w", "v"]]
    paths = [tmp_path / "a", tmp_path / "b"]
    references.write(paths, References.from_lists(texts))
    assert as_lists(references.read(paths, ZERO_TO_TWO)) == texts
    with pytest.raises(InputError, match="up to 2 references of a segment and 1 files; name 2 files"):
        references.write(paths[:1], References.from_lists(texts))
    with pytest.raises(InputError, match="cannot stand in a line; write JSONL"):
        references.write(paths[:1], References.from_lists([["x\ny"]]))


LIST = "0 ||| a ||| LM= 1 T= 2 3 ||| 1\n0 ||| b ||| LM= 2 T= 2 3 w= 1 ||| 1\n1 ||| c ||| LM= 3 T= 0 0\n"


def test_lists_of_every_format_read_alike(tmp_path):
    [path] = save(tmp_path, a=LIST)
    files = read_lists([path])
    names = files.names.texts()
    [candidates] = Candidates.from_rows(files.names, [list(files.runs[0])])
    jsonl.write(tmp_path / "b", files.runs[0], names)
    store.write(tmp_path / "c", candidates)
    nbest.write(tmp_path / "d.gz", files.runs[0], names)
    again = read_lists([tmp_path / name for name in ("c", "a", "b", "d.gz")])
    found = [plain(run, again.names.texts()) for run in again.runs]
    assert all(repr(run) == repr(found[1]) for run in found)
    assert len(again.names) == 4
    assert [skipped.count for skipped in again.skipped] == [0] * 4


def test_lenient_reading_counts_for_every_file(tmp_path):
    paths = save(tmp_path, a=LIST, b=LIST + "rubbish\n", c=json.dumps({"id": 0, "hyps": [{"text": "a"}]}) + "\n{\n")
    files = read_lists(paths, lenient=True)
    assert [skipped.count for skipped in files.skipped] == [0, 1, 1]
    assert files.skipped[1].first.startswith(f"{tmp_path}/b:4: found 1 fields")


@pytest.mark.parametrize(
    ("contents", "sentence"),
    [
        (
            {"a": LIST, "b": LIST.replace("LM=", "OTHER=")},
            "b: no candidate has the feature LM, which every candidate of .*a has",
        ),
        (
            {"a": LIST, "b": LIST.replace(" LM= 3", "").replace("LM= 1", "").replace("LM= 2", "")},
            "no candidate has the feature LM",
        ),
        ({"a": LIST, "b": LIST.replace("T= 2 3", "T= 2 3 4")}, "b:1: feature T has 3 values here and 2 elsewhere"),
        ({"a": LIST, "b": LIST.replace(" LM=", " metric:m= 1 LM=")}, r"b: has the metrics \['m'\], and .*a has \[\]"),
    ],
)
def test_files_of_different_systems(tmp_path, contents, sentence):
    with pytest.raises(InputError, match=sentence):
        read_lists(save(tmp_path, **contents))


def test_a_sparse_feature_of_one_short_list_is_no_dense_one(tmp_path):
    paths = save(tmp_path, a="0 ||| a ||| LM= 1 w= 1\n", b="0 ||| a ||| LM= 1\n1 ||| a ||| LM= 1\n")
    assert [len(run) for run in read_lists(paths).runs] == [1, 1]


def test_reading_stdin(tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(gzip.compress(LIST.encode()))))
    assert len(read_lists(["-"]).runs[0][0].texts) == 3
    assert np.array_equal(read_lists(save(tmp_path, a=LIST)).runs[0][0].bounds, [0, 2, 3])


def test_the_examples_of_the_documentation_are_read(tmp_path):
    page = (ROOT / "docs" / "formats.md").read_text("utf-8")
    sections = {section.split("\n", 1)[0]: section for section in page.split("\n## ")}
    blocks = {title: "".join(re.findall(r"^    (.*\n)", section, re.MULTILINE)) for title, section in sections.items()}
    paths = save(tmp_path, nbest=blocks["Moses n-best lists"], jsonl=blocks["JSONL lists"], weights=blocks["Weights"])
    [moses], [[records]] = read_lists(paths[:1]).runs, read_lists(paths[1:2]).runs
    assert moses[0].metrics["comet"].tolist() == records.metrics["comet"].tolist() == [0.81]
    assert as_lists(references.read(paths[1:2], records.segments)) == [["that 's it ,"]]
    assert dict(weights.read(paths[2]))["WT_هي~is"] == 0.031
    assert all(f"{dtype}" in page for dtype in container._DTYPES)
