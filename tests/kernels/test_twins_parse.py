"""The parser and its twin agree on every bit, on good lines, on bad lines, and on where they stop."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from speeds import examples

from rampion._core import parse as core
from rampion._reference import parse as reference
from rampion.formats.nbest import Answer
from rampion.store.names import Labels, Names

number = st.one_of(
    st.floats(allow_nan=False, allow_infinity=False).map(repr),
    st.from_regex(r"[+-]?[0-9]{1,25}(\.[0-9]{0,25})?([eE][+-]?[0-9]{1,4})?", fullmatch=True),
    st.sampled_from(["0", "-0", "-0.000", ".5", "5.", "+3", "1e22", "1e23", "9007199254740993", "1e999"]),
    st.sampled_from(["nan", "inf", "1_0", "0x1", "1e", "1e+", "-", "."]),
)
token = st.one_of(
    number,
    st.sampled_from(["LM=", "TM=", "F=", "d:", "a=b=", "WT_ف+~they=", "PL_1,2=", "metric:x="]),
    st.sampled_from(["=", ":", "==", "|||", "a|||", "\x00"]),
    st.sampled_from("\t\x0b\x0c\r"),
    st.builds("{}={}".format, st.sampled_from(["w", "p", "a=b"]), number),
)
field = st.lists(token, max_size=6).map(" ".join)
line = st.one_of(
    st.builds(
        "{} ||| {} ||| LM= {} {}{}".format,
        st.integers(0, 2),
        st.sampled_from(["a b", "語 ", "a|||b", ""]),
        number,
        field,
        st.sampled_from(["", " ||| 1.5", " ||| -3 ||| 0-0 1-1 ", " ||| 2 ||| ||| 0=0", " ||| ||| x", " ||| x"])
        | st.sampled_from([" ||| 1 2", " ||| 1 ||| a ||| b ||| c", " |||\r"]),
    ),
    st.lists(field, max_size=6).map(" ||| ".join),
    st.lists(field, max_size=6).map("||| ".join),
    st.text(st.sampled_from("0ab|= :.\t\r-"), max_size=40),
)


def story(module: Any, block: bytes, capacity: int) -> list[object]:
    """Everything the parser says about a block, bad lines passed over and a full table grown."""
    data, count, room = np.frombuffer(block, np.uint8), block.count(b"\n"), len(block) // 2 + 2
    labels, state = Labels(Names(), capacity), np.zeros(4, np.int64)
    spans, scores, groups = np.zeros((count, 9), np.int64), np.zeros(count), np.zeros((room, 3), np.int64)
    slots, values, stops = np.zeros(room, np.uint32), np.zeros(room), []
    seen = np.zeros(len(labels.sizes), np.int64)
    while state[0] < len(block):
        answer = module.parse(data, len(block), labels, seen, spans, scores, slots, values, groups, state)
        if answer == Answer.FULL:
            labels.names.grow()
            labels.fit()
            seen = np.zeros(len(labels.sizes), np.int64)
        elif answer != Answer.DONE:
            stops.append((answer, int(state[2])))
            state[0] = block.index(b"\n", int(state[2])) + 1
    lines = int(state[1])
    entries = int(spans[lines - 1, 8]) if lines else 0
    pieces = []
    for column in (1, 3, 5):
        blob, bounds = np.zeros(len(block), np.uint8), np.zeros(lines + 1, np.int64)
        module.cut(data, spans[:lines], column, blob, bounds)
        pieces.append((blob[: bounds[-1]].tobytes(), bounds.tolist()))
    return [
        *(stops, lines, pieces, spans[:lines].tolist(), scores[:lines].tobytes(), values[:entries].tobytes()),
        *(slots[:entries].tolist(), labels.total[0], labels.sizes.tolist(), labels.firsts.tolist()),
        *(labels.names.texts().blob.tobytes(), labels.names.slots.tolist()),
    ]


@examples(300)
@given(st.lists(line, max_size=8), st.sampled_from([1, 2, 64]))
def test_twins_agree_on_every_bit(lines: list[str], capacity: int) -> None:
    block = "".join(text.replace("\n", " ") + "\n" for text in lines).encode()
    assert story(core, block, capacity) == story(reference, block, capacity)


@given(st.binary(max_size=200))
def test_twins_agree_on_any_bytes(noise: bytes) -> None:
    assert story(core, noise + b"\n", 2) == story(reference, noise + b"\n", 2)


@given(number)
def test_numbers_are_those_of_python(text: str) -> None:
    _, lines, _, _, _, values, *_ = story(core, f"0 ||| a ||| LM= {text}\n".encode(), 64)
    if "_" not in text and lines:
        assert np.frombuffer(values)[0].tobytes() == np.float64(text).tobytes()


def weighed(module: Any, block: bytes) -> list[object]:
    """Everything that is read of weights, other lines passed over."""
    state, found = np.array([0, 7]), list[object]()
    while state[0] < len(block):
        spans, values = np.zeros((block.count(b"\n"), 3), np.int64), np.zeros(block.count(b"\n"))
        count = module.weigh_lines(np.frombuffer(block, np.uint8), spans, values, state)
        found += [spans[:count].tolist(), values[:count].tobytes(), state.tolist()]
        if state[0] < len(block):
            state[:] = block.index(b"\n", int(state[0])) + 1, state[1] + 1
    return found


weight = st.builds("{}{}{}{}{}".format, st.sampled_from(["", " ", "\t"]), token, st.sampled_from([" ", "\x0c", ""]),
                   number, st.sampled_from(["", "", " ", "\r", " x", " 1"]))  # fmt: skip


@examples(300)
@given(st.lists(weight | field | st.sampled_from(["", " ", "# a 1", "a= 1", "b\xa0c 2"]), max_size=8))
def test_twins_agree_on_weights(lines: list[str]) -> None:
    block = "".join(text.replace("\n", " ") + "\n" for text in lines).encode()
    assert weighed(core, block) == weighed(reference, block)


@given(st.binary(max_size=200))
def test_twins_agree_on_weights_of_any_bytes(noise: bytes) -> None:
    assert weighed(core, noise + b"\n") == weighed(reference, noise + b"\n")


@pytest.mark.parametrize("name", ["parse", "cut", "weigh_lines"])
def test_twins_promise_the_same(name: str) -> None:
    assert getattr(core, name).__doc__ == getattr(reference, name).__doc__
