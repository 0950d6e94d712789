"""What a cell of a record says: a number, a label, a text, a name; or the sentence that says what is wrong with it."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from typing import Any

MISSING = {"", "na", "n/a", "nan", "null", "none"}  # cells of a table that stand for a missing value
_NUMBER = re.compile(r"[+-]?(\d+(?:\.\d*)?|\.\d+)([eE][+-]?\d+)?|[+-]?(inf|infinity)", re.IGNORECASE)
ODD = re.compile(r"[+-]?\d+,\d+([eE][+-]?\d+)?|[+-]?\d+([.,]\d+)?\s*%")  # 0,5 and 50 %
_WORDS = {"true": 1.0, "false": 0.0}
_LABELS = _WORDS | {"yes": 1.0, "no": 0.0, "correct": 1.0, "incorrect": 0.0, "pass": 1.0, "fail": 0.0}  # of targets
_EXACT = 2.0**53  # above it floats leave out whole numbers
NUMBER, MISSED, OTHER = range(3)


class WrongError(Exception):
    """What is wrong with a record. The caller adds the place of the record, unless the error names an earlier one."""

    def __init__(self, sentence: str, at: int | None = None) -> None:
        super().__init__(sentence)
        self.at = at


def read(cell: Any) -> tuple[int, float]:
    """The number in a cell of a column without a role, if it is one."""
    if isinstance(cell, str):
        word = cell.strip().lower()
        if word in MISSING:
            return MISSED, math.nan
        if word in _WORDS:
            return NUMBER, _WORDS[word]
        return (NUMBER, float(word)) if _NUMBER.fullmatch(word) else (OTHER, math.nan)
    if cell is None:
        return MISSED, math.nan
    try:
        value = OTHER if isinstance(cell, Mapping | list | tuple) else float(cell)
    except (TypeError, ValueError, OverflowError):
        return OTHER, math.nan
    if isinstance(cell, Mapping | list | tuple):
        return OTHER, math.nan
    return (MISSED if math.isnan(value) else NUMBER), value


def number(value: Any, where: str, words: bool = False) -> float:
    """A number, NaN if it is missing (null, NaN), or negative infinity. Only cells of tables may be words."""
    found, number = read(value)
    if (
        found == OTHER
        or number == math.inf
        or (isinstance(value, str) and not words)
        or (isinstance(value, int) and not isinstance(value, bool) and math.isinf(number))
    ):
        raise WrongError(f"{where} is {str(value)[:60]!r}; a finite number is expected")
    return number


def finite(value: Any, where: str) -> float:
    """A finite number, true or false; NaN if it is missing."""
    found, number = read(value)
    if found == OTHER or math.isinf(number):
        raise WrongError(f"{where} is {str(value)[:60]!r}; a finite number is expected")
    return number


def label(cell: Any, where: str) -> float:
    """A finite number, 1 or 0 for a word such as yes or no; NaN if it is missing."""
    if isinstance(cell, str):
        word = cell.strip().lower()
        if word in _LABELS:
            return _LABELS[word]
        if read(cell)[0] == OTHER:
            raise WrongError(
                f"{where} is {cell[:60]!r}; a finite number is expected, or one of the words {', '.join(_LABELS)}"
            )
    return finite(cell, where)


def weight(cell: Any, where: str) -> str:
    weight = finite(cell, where)
    if not weight >= 0:
        raise WrongError(f"{where} is {str(cell)[:60]!r}; the weight of a segment is a number of 0 or more")
    return repr(weight)


def string(value: Any, where: str) -> str:
    """The value, which must be a string of Unicode characters."""
    try:
        value.encode()
    except (AttributeError, UnicodeEncodeError) as error:
        raise WrongError(f"{where} is not a string of Unicode characters") from error
    return str(value)


def plain_text(cell: Any, where: str) -> str:
    """A text. A number, such as an answer, becomes a text."""
    if isinstance(cell, int | float) and not isinstance(cell, bool) and cell == cell:
        return f"{cell:.15g}" if isinstance(cell, float) else str(cell)
    return string(cell, where)


def text(cell: Any, where: str) -> str:
    """The text of a candidate."""
    if cell is None or cell != cell:
        raise WrongError(f'{where} is missing; a text is expected ("" if it is empty), or leave the candidate out')
    return plain_text(cell, where)


def shown(cell: Any, where: str) -> str:
    """A cell to keep, as a string."""
    if isinstance(cell, str):
        return string(cell, where)
    return "" if cell is None else string(json.dumps(cell, ensure_ascii=False), where)


def identifier(cell: Any, where: str) -> str:
    """The name of a segment: a string, or a whole number, which data frames may keep as a float."""
    if isinstance(cell, float) and cell.is_integer():
        if abs(cell) > _EXACT:
            raise WrongError(f"{where} is {cell!r}: a float keeps 15 digits of a name; write names as strings")
        cell = int(cell)
    if isinstance(cell, bool) or not isinstance(cell, int | str) or not str(cell).strip():
        raise WrongError(f"{where} is {str(cell)[:60]!r}; the name of a segment is expected")
    return string(str(cell).strip(), where)


def mapping(value: Any, where: str) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise WrongError(f"{where} is not an object of names and numbers")
    return value


def holds_numbers(cell: Any) -> bool:
    """Whether an object or a list in a cell holds only numbers."""
    values = cell.values() if isinstance(cell, Mapping) else cell
    return bool(values) and all(not isinstance(value, str) and read(value)[0] != OTHER for value in values)
