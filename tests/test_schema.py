"""Schemas: each rule says what plain Python says, whatever the pieces; sizes are solved; no arithmetic overflows."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rampion import schema
from rampion.errors import StoreError
from rampion.schema import Found, Row, Schema

extreme = st.sampled_from([0, 1, 2, 3, -1, 2**63 - 1, -(2**63), 2**62])
numbers = st.lists(st.integers(0, 4) | extreme, max_size=8)
pieces = st.sampled_from([1, 2, 3, 1 << 17])


@pytest.fixture(autouse=True)
def whole_pieces(monkeypatch):
    monkeypatch.setattr(schema, "PIECE", schema.PIECE)


def found(**arrays):
    return Found({name: np.asarray(array) for name, array in arrays.items()})


@given(numbers, st.integers(0, 4), pieces)
def test_bounds_are_compared_and_never_subtracted(bounds, size, piece):
    schema.PIECE = piece
    told = schema.spans("of")(found(bounds=np.array(bounds, np.int64), of=np.zeros(size)), "bounds")
    held = bool(bounds) and bounds[0] == 0 and bounds[-1] == size and all(a <= b for a, b in pairwise(bounds))
    assert (told is None) == held


@given(st.lists(st.integers(0, 2**32 - 1) | st.integers(0, 5), max_size=8), st.integers(0, 6), pieces)
def test_ids_are_below_a_size(ids, size, piece):
    schema.PIECE = piece
    told = schema.below(size)(found(ids=np.array(ids, np.uint32)), "ids")
    assert (told is None) == all(number < size for number in ids)


reals = st.sampled_from([0.0, -0.0, 1.0, 1e308, -1e308, 5e-324, np.inf, -np.inf, np.nan])


@given(st.lists(reals, max_size=7), pieces)
def test_numbers_are_finite(row, piece):
    schema.PIECE = piece
    every = found(row=np.array(row))
    assert (schema.finite(every, "row") is None) == all(np.isfinite(number) for number in row)
    assert (schema.finite_if_any(every, "row") is None) == (not any(np.isinf(number) for number in row))
    assert (schema.not_negative(every, "row") is None) == all(number >= 0 for number in row)
    assert (schema.nonzero(every, "row") is None) == all(number != 0 for number in row)


@given(st.lists(st.lists(st.integers(0, 3), max_size=4), max_size=4), pieces, st.booleans())
def test_numbers_rise_inside_spans(spans, piece, strictly):
    schema.PIECE = piece
    edges = np.cumsum([0, *map(len, spans)])
    row = np.array([number for span in spans for number in span], np.uint32)
    told = schema.rising("edges", strictly)(found(row=row, edges=edges), "row")
    held = all(a < b if strictly else a <= b for span in spans for a, b in pairwise(span))
    assert (told is None) == held


BYTES = [b"a", b"\xc3", b"\xa9", "é".encode(), "𝄞".encode(), b""]


@given(st.lists(st.sampled_from(BYTES), max_size=6), pieces, st.data())
def test_strings_are_utf8_one_by_one(parts, piece, data):
    schema.PIECE = piece
    raw = b"".join(parts)
    inner = sorted(data.draw(st.lists(st.integers(0, len(raw)), max_size=4)))
    edges = [0, *inner, len(raw)]

    def decodes(part):
        try:
            return part.decode() is not None
        except UnicodeDecodeError:
            return False

    told = schema.utf8("blob")(found(blob=np.frombuffer(raw, np.uint8), edges=np.array(edges)), "edges")
    assert (told is None) == all(decodes(raw[a:b]) for a, b in pairwise(edges))


@given(st.integers(0, 5), st.integers(0, 5), st.integers(0, 5))
def test_sizes_are_solved_and_compared(a, b, length):
    sizes = Found({}, {"a": a})
    assert sizes.fits("2*b+1", 2 * b + 1)
    assert sizes.sizes["b"] == b
    assert sizes.fits("a*b", length) == (a * b == length)
    assert sizes.fits("a+b", length) == (a + b == length)
    assert sizes.fits("*", length)
    assert not sizes.fits("2*c+1", 2 * length)


TOY = Schema(
    "toy",
    {
        **schema.strings("words", "blob", "bounds"),
        "ids": schema.ids_of("tokens", "words"),
        "more *": schema.reals("width*tokens"),
        "odd": Row("<i8 <f8", ("odd",), optional=True),
    },
    {"width": int, "name": str},
    "make it again",
)
GOOD = {
    "blob": np.frombuffer(b"ab", np.uint8), "bounds": np.array([0, 1, 2]), "ids": np.array([1, 0, 1], np.uint32),
    "more x": np.zeros(6), "more y": np.ones(6),
}  # fmt: skip
META = {"width": 2, "name": "n"}


@pytest.mark.parametrize(
    ("changes", "meta", "sentence"),
    [
        ({}, {}, None),
        ({"odd": np.zeros(3)}, {}, None),
        ({"odd": np.zeros(3, np.float32)}, {}, "its array odd is not of the type int64 or float64"),
        ({"more z": np.zeros(5)}, {}, r"its array more z has 5 numbers, expected 6 \(width\*tokens\); make it again"),
        ({"more z": np.full(6, np.nan)}, {}, "its array more z holds a number that is not finite"),
        ({"other": np.zeros(5)}, {}, "it holds an array 'other', which a toy file does not have"),
        ({"more *": np.zeros(6)}, {}, None),
        ({"ids": None}, {}, "its array ids is missing"),
        ({"ids": [1, 0, 1]}, {}, "its array ids is not of the type uint32"),
        ({"ids": np.zeros(6, np.uint32)[::2]}, {}, "its array ids is not of the type uint32, in one piece"),
        ({"ids": np.zeros((3, 1), np.uint32)}, {}, "its array ids has 2 dimensions, expected 1"),
        ({"ids": np.array([1, 2, 0], np.uint32)}, {}, r"ids holds the id 2, expected ids below 2 \(words\)"),
        ({}, {"width": -1}, "its width is -1, expected a count"),
        ({}, {"width": True}, "its width is True, expected a count"),
        ({}, {"width": 2.0}, "its width is 2.0, expected a count"),
        ({}, {"width": 10**30}, "expected a count"),
        ({}, {"name": 7}, "its header lacks the name"),
    ],
)
def test_a_sentence_for_everything_that_does_not_fit(changes, meta, sentence):
    arrays = {name: array for name, array in (GOOD | changes).items() if array is not None}
    if sentence is None:
        TOY.prove(arrays, META | meta)
        return
    with pytest.raises(StoreError, match=sentence):
        TOY.prove(arrays, META | meta)


def test_what_is_trusted_still_has_its_types_and_sizes():
    TOY.prove(GOOD | {"ids": np.array([7, 7, 7], np.uint32)}, META, trusted=True)
    with pytest.raises(StoreError, match="has 5 numbers"):
        TOY.prove(GOOD | {"more x": np.zeros(5)}, META, trusted=True)
