"""The door for JSON and TOML: what was parsed is held against types before anyone counts on it.

A hint is what Python's annotations know: int, float, str, bool, None, list[...], dict[str, ...], A | B, a TypedDict, a
dataclass or a NamedTuple. A float is finite, a whole number has 63 bits, a text holds no NUL, an object of a dataclass
has no other fields.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import MISSING, fields, is_dataclass
from functools import cache
from types import NoneType, UnionType
from typing import Any, NamedTuple, NotRequired, Union, get_args, get_origin, get_type_hints, is_typeddict

WORDS = {int: "a whole number", float: "a number", str: "a text", bool: "true or false", NoneType: "nothing"}


class Fields(NamedTuple):
    """The fields of an object by name, those that must be there, and whether there may be others."""

    hints: Mapping[str, Any]
    needed: frozenset[str]
    open: bool


def misfit(value: object, hint: Any, place: str = "it") -> str:
    """What is wrong with the value, such as `seconds is 3, expected an object`; nothing if it fits."""
    origin, parts = get_origin(hint), get_args(hint)
    if hint is Any:
        return ""
    if origin in (Union, UnionType):
        found = [misfit(value, part, place) for part in parts]
        return "" if "" in found else max(found, key=len)  # the one that came farthest
    if origin is list:
        if not isinstance(value, list):
            return _unlike(place, value, "a list")
        return next(filter(None, (misfit(one, parts[0], f"{place}[{n}]") for n, one in enumerate(value))), "")
    if origin is dict:
        if not isinstance(value, dict):
            return _unlike(place, value, "an object")
        return next(filter(None, (misfit(one, parts[1], _within(place, name)) for name, one in value.items())), "")
    if hint in WORDS:
        return "" if _plain(value, hint) else _unlike(place, value, WORDS[hint])
    return _object(value, fields_of(hint), place)


def _object(value: object, wanted: Fields, place: str) -> str:
    if not isinstance(value, dict):
        return _unlike(place, value, "an object")
    if missing := wanted.needed - value.keys():
        return f"{_within(place, min(missing))} is missing"
    if not wanted.open and (strange := value.keys() - wanted.hints.keys()):
        return f"{_within(place, min(strange))} is no field"
    return next(
        filter(None, (misfit(value[name], hint, _within(place, name)) for name, hint in wanted.hints.items()
                      if name in value)), "",
    )  # fmt: skip


@cache
def fields_of(hint: Any) -> Fields:
    """The fields that a TypedDict, a dataclass or a NamedTuple asks for."""
    hints = get_type_hints(hint, include_extras=True)
    if is_typeddict(hint):
        free = {name for name, one in hints.items() if get_origin(one) is NotRequired or not hint.__total__}
        bare = {name: get_args(one)[0] if get_origin(one) is NotRequired else one for name, one in hints.items()}
        return Fields(bare, frozenset(bare.keys() - free), open=True)
    if is_dataclass(hint):
        needed = {one.name for one in fields(hint) if one.default is MISSING and one.default_factory is MISSING}
    else:
        needed = hints.keys() - hint._field_defaults.keys()
    return Fields(hints, frozenset(needed), open=False)


def _plain(value: object, hint: Any) -> bool:
    if isinstance(value, bool) or hint is bool:
        return isinstance(value, bool) and hint is bool
    if hint is float:
        return isinstance(value, (int, float)) and abs(value) < 1 << 1023 and math.isfinite(value)
    if hint is int:
        return isinstance(value, int) and abs(value) < 1 << 63
    return isinstance(value, hint) and not (isinstance(value, str) and "\0" in value)


def _within(place: str, name: object) -> str:
    return str(name)[:60] if place == "it" else f"{place}.{name}"[:120]


def _unlike(place: str, value: object, wanted: str) -> str:
    return f"{place} is {repr(value)[:60]}, expected {wanted}"
