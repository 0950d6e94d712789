"""Moses lists: every shape that real files have, exact round trips, and a sentence for every bad line."""

from __future__ import annotations

import gzip
import math
import tracemalloc
from contextlib import suppress

import numpy as np
import pytest
from facts import plain
from hypothesis import given
from hypothesis import strategies as st
from speeds import examples
from strategies import lists

from rampion.errors import FormatError, InputError
from rampion.formats import files, nbest
from rampion.formats.files import Skipped
from rampion.store.names import Labels, Names
from rampion.store.rows import Rows
from rampion.store.text import Texts


def load(path, skipped=None):
    labels = Labels(Names(), 2)
    return list(nbest.read(path, labels, skipped)), labels.features.texts()


def parsed(tmp_path, text, skipped=None):
    path = tmp_path / "list.nbest"
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return plain(*load(path, skipped))


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("0 ||| a b ||| LM= -3.5 ||| -1.25", ("0", "a b", {"LM": -3.5}, -1.25, "", {})),
        (
            "0||| a b  ||| d: -2 lm: -3.5 -4 ||| -1",
            ("0", "a b", {"d": -2.0, "lm[0]": -3.5, "lm[1]": -4.0}, -1.0, "", {}),
        ),
        ("0 ||| a b ||| d= 0 lm= -3", ("0", "a b", {"d": 0.0, "lm": -3.0}, math.nan, "", {})),
        (
            "0 ||| a ||| TM= 1 2 3 D= 4 ||| 5 ||| 0-0 1-1 ",
            ("0", "a", {"TM[0]": 1.0, "TM[1]": 2.0, "TM[2]": 3.0, "D": 4.0}, 5.0, "0-0 1-1", {}),
        ),
        ("0 ||| a ||| L= 1 ||| 5 ||| 0=0 2-3=1-2", ("0", "a", {"L": 1.0}, 5.0, "0=0 2-3=1-2", {})),
        ("0 ||| a ||| L= 1 ||| 5 ||| ||| 0-0", ("0", "a", {"L": 1.0}, 5.0, "||| 0-0", {})),
        ("0 ||| a ||| L= 1 ||| ||| 0-0", ("0", "a", {"L": 1.0}, math.nan, "0-0", {})),
        ("0 ||| a ||| L= 1 ||| 5 |||", ("0", "a", {"L": 1.0}, 5.0, "", {})),
        ("0 ||| a ||| lm_0=-3.5 tm=1e-05 ||| 5  \t", ("0", "a", {"lm_0": -3.5, "tm": 1e-05}, 5.0, "", {})),
        ("0 ||| a ||| -1 2.5 .5 ||| 5", ("0", "a", {"F[0]": -1.0, "F[1]": 2.5, "F[2]": 0.5}, 5.0, "", {})),
        ("0 ||| a ||| 7 L= 1 2", ("0", "a", {"F": 7.0, "L[0]": 1.0, "L[1]": 2.0}, math.nan, "", {})),
        (
            "0 ||| a ||| WT_ف+~they= 1 PL_1,2= 3 a=b= 0 x==4",
            ("0", "a", {"WT_ف+~they": 1.0, "PL_1,2": 3.0, "a=b": 0.0, "x=": 4.0}, math.nan, "", {}),
        ),
        ("sent-ä 1 ||| a|||b ||||c ||| 3gram= 2", ("sent-ä 1", "a|||b ||||c", {"3gram": 2.0}, math.nan, "", {})),
        ("0 ||| a ||| L= 1 metric:comet= 0.75", ("0", "a", {"L": 1.0}, math.nan, "", {"comet": 0.75})),
        ("0 ||| a ||| ||| 5", ("0", "a", {}, 5.0, "", {})),
        ("0 ||| a ||| L= 1 ||| 5\r", ("0", "a", {"L": 1.0}, 5.0, "", {})),
    ],
)
@pytest.mark.parametrize("end", ["\n", ""])
def test_every_shape_of_line(tmp_path, line, expected, end):
    assert repr(parsed(tmp_path, line + end)) == repr([expected])


def test_minus_zero_stays(tmp_path):
    [(*_, feats, total, _, _)] = parsed(tmp_path, "0 ||| a ||| L= -0.000 0.000 ||| -0\n")
    assert [math.copysign(1, value) for value in (*feats.values(), total)] == [-1, 1, -1]


def test_sparse_names_in_any_order_and_derivations_with_equal_text(tmp_path):
    found = parsed(tmp_path, "0 ||| a ||| x= 1 y= 2\n0 ||| a ||| y= 2 x= 0\n0 ||| b ||| z= 1\n")
    assert [feats for _, _, feats, *_ in found] == [{"x": 1.0, "y": 2.0}, {"y": 2.0, "x": 0.0}, {"z": 1.0}]


def test_a_byte_order_mark_is_no_part_of_the_first_id(tmp_path):
    assert parsed(tmp_path, "\ufeff0 ||| a ||| L= 1\n")[0][0] == "0"


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("0 ||| a\n", "list.nbest:1: found 2 fields, expected 3 to 6"),
        ("0 ||| a ||| L= 1\n\n", "list.nbest:2: found 1 fields"),
        ("0 ||| a ||| L= 1 ||| 2 ||| b ||| c ||| d\n", "list.nbest:1: found 7 fields"),
        (" ||| a ||| L= 1\n", "list.nbest:1: the segment id is empty"),
        ("0 ||| a ||| L= x\n", "list.nbest:1: 'x' is not a finite number"),
        ("0 ||| a ||| L= nan\n", "list.nbest:1: 'nan' is not a finite number"),
        ("0 ||| a ||| L=inf\n", "list.nbest:1: 'inf' is not a finite number"),
        ("0 ||| a ||| L= 1e999\n", "list.nbest:1: '1e999' is not a finite number"),
        ("0 ||| a ||| = 1\n", "list.nbest:1: '=' is not a finite number"),
        ("0 ||| a ||| L= 1 ||| x\n", "list.nbest:1: the total 'x' is not one finite number"),
        ("0 ||| a ||| L= 1 ||| 1 2\n", "list.nbest:1: the total '1 2' is not one finite number"),
        ("0 ||| a ||| L= M= 1\n", "list.nbest:1: feature L has no value"),
        ("0 ||| a ||| L= 1 L= 2\n", "list.nbest:1: feature L appears twice in one candidate"),
        ("0 ||| a ||| L= 1 2\n0 ||| b ||| L= 1\n", "list.nbest:2: feature L has 1 values here and 2 elsewhere"),
        (
            "0 ||| a ||| 1 2\n0 ||| b ||| 1 2 3 L= 1 ||| 5\n",
            "list.nbest:2: feature F has 3 values here and 2 elsewhere",
        ),
        ("0 ||| a ||| L= 1\n2 ||| b ||| L= 1\n", "list.nbest:2: segment 2 follows segment 0, but numbers go up by one"),
        ("9 ||| a ||| L= 1\n7 ||| b ||| L= 1\n", "list.nbest:2: segment 7 follows segment 9"),
        (
            "x ||| a ||| L= 1\ny ||| b ||| L= 1\nx ||| c ||| L= 1\n",
            "list.nbest:3: segment x follows segment y, but it is in",
        ),
        ("0 ||| a ||| L= 1 metric:m= 1 2\n", "list.nbest: metric:m has 2 values in one candidate"),
        ("0 ||| a ||| T= 1 2 T[1]= 3\n", "list.nbest: two labels lead to the feature T\\[1\\]"),
        (b"0 ||| a ||| L= 1\n0 ||| \xff ||| L= 1\n", "list.nbest:2: byte 0xff is not UTF-8"),
        ("", "list.nbest: holds no candidates"),
    ],
)
def test_a_sentence_for_every_bad_line(tmp_path, text, sentence):
    with pytest.raises(InputError, match=sentence):
        parsed(tmp_path, text)


def test_ids_may_start_anywhere_and_be_any_string(tmp_path):
    assert [row[0] for row in parsed(tmp_path, "41 ||| a ||| L= 1\n42 ||| a ||| L= 1\n")] == ["41", "42"]
    assert [row[0] for row in parsed(tmp_path, "b ||| a ||| L= 1\n7 ||| a ||| L= 1\n3 ||| a ||| L= 1\n")] == [
        "b",
        "7",
        "3",
    ]


def test_lenient_reading_leaves_bad_lines_out_and_counts_them(tmp_path):
    skipped = Skipped()
    lines = [
        b"0 ||| a ||| L= 1", b"0 ||| b ||| L= x", b"0 ||| \xff ||| L= 1", b"", b"0 |||  ||| L= 3", b"0 ||| c ||| L= 2",
        b"5 ||| d ||| L= 1", b"0 ||| e ||| L= 1", b"0 ||| f ||| L= 1", b"6 ||| g ||| L= 1 2",
    ]  # fmt: skip
    found = parsed(tmp_path, b"\n".join(lines), skipped)
    assert [(segment, text) for segment, text, *_ in found] == [("0", "a"), ("0", ""), ("0", "c"), ("5", "d")]
    assert skipped.count == 6
    assert skipped.first.endswith("list.nbest:2: 'x' is not a finite number; features are written Name= value value")


def test_a_lenient_reader_that_finds_nothing_says_so(tmp_path):
    with pytest.raises(FormatError, match="holds no candidates"):
        parsed(tmp_path, "rubbish\n", Skipped())


@pytest.mark.parametrize("block", [1, 7, 64, 1000])
def test_blocks_of_any_size_give_the_same(tmp_path, monkeypatch, block):
    text = "".join(f"{s} ||| hyp {i} ||| L= {i} w{i % 7}= {s} ||| 1 ||| n\n" for s in range(9) for i in range(s + 1))
    whole = parsed(tmp_path, text)
    monkeypatch.setattr(files, "BLOCK", block)
    runs, names = load(tmp_path / "list.nbest")
    assert plain(runs, names) == whole
    segments = [segment for rows in runs for segment in rows.segments]
    assert segments == [str(s) for s in range(9)]
    skipped = Skipped()
    (tmp_path / "list.nbest").write_text(text.replace("hyp 2 |||", "hyp 2"))
    assert len(plain(*load(tmp_path / "list.nbest", skipped))) == len(whole) - skipped.count
    assert skipped.count == 7


@examples(60)
@given(lists(), st.sampled_from(["x.nbest", "x.nbest.gz"]))
def test_reading_what_was_written_is_the_identity(tmp_path_factory, rows_and_names, file):
    rows, names = rows_and_names
    path = tmp_path_factory.mktemp("round") / file
    nbest.write(path, [rows], names)
    assert path.read_bytes().startswith(b"\x1f\x8b") == (path.suffix == ".gz")
    assert repr(plain(*load(path))) == repr(plain([rows], names))


def test_an_empty_hypothesis_and_a_missing_label_come_back(tmp_path):
    text = "0 |||  ||| L= 1\n0 ||| a ||| L= 2 metric:m= 1\n"
    found = parsed(tmp_path, text)
    assert [(row[1], row[5]["m"]) for row in found][1] == ("a", 1.0)
    assert found[0][1] == ""
    assert math.isnan(found[0][5]["m"])
    runs, names = load(tmp_path / "list.nbest")
    nbest.write(tmp_path / "again", runs, names)
    assert (tmp_path / "again").read_text() == text


def test_a_group_with_a_hole_is_filled_with_zero(tmp_path):
    rows = rows_with([1], [5.0])
    nbest.write(tmp_path / "x", [rows], Texts.from_strings(["T[0]", "T[1]"]))
    assert (tmp_path / "x").read_text() == "0 ||| a ||| T= 0 5\n"


def rows_with(ids, values, text="a", note=""):
    return Rows(
        Texts.from_strings(["0"]), np.array([0, 1]), Texts.from_strings([text]), np.array([0, len(ids)]),
        np.array(ids, np.uint32),
        np.array(values, np.float64), np.full(1, np.nan), Texts.from_strings([note]), {},
    )  # fmt: skip


@pytest.mark.parametrize("text", [" a", "a ", "a\nb", "a ||| b"])
def test_what_the_format_cannot_hold_is_refused_and_the_old_file_stays(tmp_path, text):
    (tmp_path / "x").write_text("old")
    with pytest.raises(InputError, match=r".*: segment 0: the hypothesis .* cannot be in n-best text; write JSONL"):
        nbest.write(tmp_path / "x", [rows_with([0], [1.0], text)], Texts.from_strings(["L"]))
    assert (tmp_path / "x").read_text() == "old"
    assert [path.name for path in tmp_path.iterdir()] == ["x"]


@pytest.mark.parametrize(
    ("name", "sentence"), [("a b", "the feature name 'a b' cannot"), ("metric:x", "no feature may be called metric:x")]
)
def test_names_the_format_cannot_hold(tmp_path, name, sentence):
    with pytest.raises(InputError, match=sentence):
        nbest.write(tmp_path / "x", [rows_with([0], [1.0])], Texts.from_strings([name]))


valid = b"0 ||| a b ||| LM= -3.5 TM= 1 2 w= 1 ||| -1.25 ||| 0-0\n0 ||| c ||| LM= 1 TM= 3 4 ||| 2\n1 ||| d ||| LM= 1\n"


@examples(150)
@given(
    st.lists(st.tuples(st.integers(0, len(valid) - 1), st.binary(max_size=2)), max_size=4),
    st.binary(max_size=40),
    st.booleans(),
)
def test_any_bytes_are_read_or_refused_in_a_sentence(tmp_path_factory, edits, noise, lenient):
    content = bytearray(valid)
    for place, piece in edits:
        content[place : place + 1] = piece
    path = tmp_path_factory.mktemp("fuzz") / "x"
    for bytes_ in (bytes(content), noise, gzip.compress(bytes(content))[: len(noise) + 30]):
        path.write_bytes(bytes_)
        with suppress(InputError):
            load(path, Skipped() if lenient else None)


@pytest.mark.parametrize("line", [b"\n", b"\xff\n", b"a=\n", b"0\n"])
def test_a_block_of_the_shortest_lines_takes_little_memory(tmp_path, line):
    """A packed file of a few kilobytes unpacks to a block of millions of lines, of which none is a candidate."""
    path, size = tmp_path / "list.nbest.gz", 5 << 20
    path.write_bytes(gzip.compress(line * (size // len(line)), 1))
    tracemalloc.start()
    try:
        with suppress(FormatError):
            next(nbest.read(path, Labels(Names(), 2)))
        assert tracemalloc.get_traced_memory()[1] < 24 * size  # a line of three bytes takes eight integers
    finally:
        tracemalloc.stop()
