"""The door for JSON: what fits is let in, and what does not is told."""

from __future__ import annotations

import json
import tomllib
from dataclasses import dataclass
from typing import Any, NamedTuple, NotRequired, TypedDict

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rampion.formats import toml
from rampion.typed import misfit


class Told(TypedDict):
    name: str
    more: NotRequired[list[int]]


@dataclass
class Row:
    score: float
    dev: float | None = None


class Pair(NamedTuple):
    place: int
    seconds: dict[str, float]


@pytest.mark.parametrize(
    ("hint", "value", "wrong"),
    [
        (int, 3, ""), (int, True, "it is True, expected a whole number"), (int, 3.0, "it is 3.0, expected a whole"),
        (int, 2**70, "it is 1180591620717411303424, expected a whole number"), (float, 3, ""), (float, 0.5, ""),
        (float, float("nan"), "it is nan, expected a number"), (float, 10**400, "expected a number"),
        (str, "a", ""), (str, "a\0", "expected a text"), (str, 1, "it is 1, expected a text"), (bool, True, ""),
        (bool, 1, "it is 1, expected true or false"), (float | None, None, ""), (float | None, "x", "it is 'x'"),
        (list[int], [1, "x"], "it[1] is 'x', expected a whole number"), (list[int], {}, "it is {}, expected a list"),
        (dict[str, int], {"a": []}, "a is [], expected a whole number"), (Any, object(), ""),
        (Told, {"name": "x", "other": 1}, ""), (Told, {"more": [1]}, "name is missing"),
        (Told, {"name": "x", "more": [None]}, "more[0] is None, expected a whole number"),
        (Row, {"score": 1}, ""), (Row, {"score": 1, "more": 2}, "more is no field"), (Row, {}, "score is missing"),
        (Row, {"score": 1, "dev": "x"}, "dev is 'x', expected"), (Row, [], "it is [], expected an object"),
        (Pair, {"place": 1, "seconds": {"a": "b"}}, "seconds.a is 'b', expected a number"),
        (Pair, {"place": 1}, "seconds is missing"), (list[Row], [{"score": 1}, {}], "it[1].score is missing"),
        (Row | Pair, {"place": 1, "seconds": {}}, ""), (Row | Pair, {"place": "x"}, "is"),
    ],
)  # fmt: skip
def test_what_fits(hint, value, wrong):
    found = misfit(value, hint)
    assert wrong in found
    assert bool(found) == bool(wrong)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
)


@given(json_values)
def test_nothing_that_json_holds_is_a_traceback(value):
    again = json.loads(json.dumps(value))
    for hint in (Told, Row, Pair, list[Row], dict[str, Pair | None], int, float, str, bool):
        assert isinstance(misfit(again, hint), str)


texts = st.text(st.characters(exclude_categories=("Cs",)))
settings = st.recursive(
    st.booleans() | st.integers(-(2**63), 2**63 - 1) | st.floats(allow_nan=False) | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
)


@given(st.dictionaries(texts, settings | st.none()))
def test_toml_is_read_back(given):
    assert tomllib.loads(toml.written(given)) == {name: value for name, value in given.items() if value is not None}


@given(st.text())
def test_what_is_no_unicode_does_not_break_toml(text):
    found = tomllib.loads(toml.written({"x": text}))["x"]
    assert found == text.encode(errors="replace").decode()


def test_infinity_and_nan_are_toml():
    found = tomllib.loads(toml.written({"a": float("inf"), "b": -float("inf"), "c": float("nan")}))
    assert (found["a"], found["b"]) == (float("inf"), -float("inf"))
    assert found["c"] != found["c"]
