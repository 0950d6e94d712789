"""Whole lines of a Moses n-best list, taken apart: id, hypothesis, labelled values, total, the rest; and of weights.

Twin: rampion/_core/parse.pyx
"""

from __future__ import annotations

import math
import re
from itertools import pairwise
from typing import TYPE_CHECKING

from rampion._reference.intern import intern_one

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from rampion.store.names import Labels

_DONE, _FULL, _FIELDS, _NO_ID, _NUMBER, _TOTAL, _NO_VALUE, _TWICE, _SIZE = range(9)
_NUMERAL = re.compile(rb"[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?|-[iI][nN][fF]")
_FIRST_BAR = re.compile(rb"\|\|\|(?=\s)")
_BAR = re.compile(rb"(?<=\s)\|\|\|(?=\s)")
_TOKEN = re.compile(rb"\S+")
_WEIGHT = re.compile(rb"\s*([^\s#]\S*)(?<!=)\s+(" + _NUMERAL.pattern + rb")\s*")


class _Stop(Exception):  # noqa: N818
    """Not an error: (answer, place) ends the reading of a line."""


def parse(
    block: NDArray[np.uint8],
    end: int,
    table: Labels,
    seen: NDArray[np.int64],
    spans: NDArray[np.int64],
    scores: NDArray[np.float64],
    slots: NDArray[np.uint32],
    values: NDArray[np.float64],
    groups: NDArray[np.int64],
    state: NDArray[np.int64],
) -> int:
    """Read the lines of block[:end] from state[POSITION] on; say why it stopped, an error being at state[WHERE]."""
    whole, known = block.tobytes(), dict[bytes, int]()
    position, line = state[:2].tolist()
    before = spans[line - 1].tolist() if line else None
    entry = before[8] if before else 0
    segment_id = whole[before[1] : before[2]] if before else None
    try:
        while position < end:
            stop = whole.index(b"\n", position) + 1
            span, fields = _head(whole, position, stop)
            numbers, opened = _values(whole, *fields, table, known)
            score, note = _rest(whole, fields[1], stop)
            _accept(position, len(numbers), opened, table, seen, slots, entry)
            values[entry : entry + len(numbers)] = numbers
            scores[line] = score
            entry += len(numbers)
            identity = whole[span[1] : span[2]]
            segment = before[7] + (identity != segment_id) if before else 0
            before, segment_id = [*span, *note, segment, entry], identity
            spans[line] = before
            position, line = stop, line + 1
    except _Stop as reason:
        answer, state[2] = reason.args
    else:
        answer = _DONE
    state[:2] = position, line
    return int(answer)


def _trimmed(whole: bytes, start: int, end: int) -> tuple[int, int]:
    """whole[start:end] without the blanks around it; (end, end) if nothing is left."""
    text = whole[start:end]
    return end - len(text.lstrip()), start + len(text.rstrip()) if text.strip() else end


def _head(whole: bytes, place: int, stop: int) -> tuple[list[int], tuple[int, int]]:
    """Place, id and hypothesis of the line, and where its third field begins and ends."""
    first = _FIRST_BAR.search(whole, place, stop)
    second = first and _BAR.search(whole, first.end(), stop)
    if not first or not second:
        raise _Stop(_FIELDS, place)
    identity, text = _trimmed(whole, place, first.start()), _trimmed(whole, first.end(), second.start())
    if identity[0] >= identity[1]:
        raise _Stop(_NO_ID, place)
    third = _BAR.search(whole, second.end(), stop)
    return [place, *identity, *text], (second.end(), third.start() if third else stop - 1)


def _values(
    whole: bytes, start: int, end: int, table: Labels, known: dict[bytes, int]
) -> tuple[list[float], list[tuple[int, int, int]]]:
    """The numbers of the field, and its groups as (label, first entry, place); before any label it is label 0."""
    numbers: list[float] = []
    groups: list[tuple[int, int, int]] = []
    for match in _TOKEN.finditer(whole, start, end):
        token, place = match[0], match.start()
        if not _NUMERAL.fullmatch(token):
            name = token[:-1] if token.endswith(b":") else token[: token.rfind(b"=")] if b"=" in token else b""
            if not name:
                raise _Stop(_NUMBER, place)
            label = intern_one(name, table.names, known)
            if label < 0:
                raise _Stop(_FULL, place)
            groups.append((label, len(numbers), place))
            place += len(name) + 1
            token = token[len(name) + 1 :]
            if not token:
                continue
            if not _NUMERAL.fullmatch(token):
                raise _Stop(_NUMBER, place)
        elif not groups:
            groups.append((0, 0, place))
        number = float(token)
        if number == math.inf:
            raise _Stop(_NUMBER, place)
        numbers.append(number)
    return numbers, groups


def _accept(
    place: int,
    count: int,
    opened: list[tuple[int, int, int]],
    table: Labels,
    seen: NDArray[np.int64],
    slots: NDArray[np.uint32],
    entry: int,
) -> None:
    """Check the groups of the line at `place`, then number their values: those of a label follow each other."""
    edges = [first for _, first, _ in opened] + [count]
    sizes = [end - start for start, end in pairwise(edges)]
    for (label, _, where), size in zip(opened, sizes, strict=True):
        if size == 0:
            raise _Stop(_NO_VALUE, where)
        if seen[label] == place + 1:
            raise _Stop(_TWICE, where)
        if table.sizes[label] not in (0, size):
            raise _Stop(_SIZE, where)
        seen[label] = place + 1
    for (label, first, _), size in zip(opened, sizes, strict=True):
        if table.sizes[label] == 0:
            table.sizes[label], table.firsts[label] = size, table.total[0]
            table.total[0] += size
        start = int(table.firsts[label])
        slots[entry + first : entry + first + size] = range(start, start + size)


def _rest(whole: bytes, start: int, stop: int) -> tuple[float, tuple[int, int]]:
    """The total, and the span of whatever follows it."""
    if start == stop - 1:
        return math.nan, (start, start)
    bar = _BAR.search(whole, start + 3, stop)
    end = bar.start() if bar else stop - 1
    first, last = _trimmed(whole, start + 3, end)
    score = math.nan
    if first < last:
        total = whole[first:last]
        score = float(total) if _NUMERAL.fullmatch(total) else math.inf
        if not math.isfinite(score):
            raise _Stop(_TOTAL, first)
    if not bar:
        return score, (end, end)
    note = _trimmed(whole, bar.end(), stop - 1)
    if len(_BAR.findall(whole, note[0], stop)) > 1:
        raise _Stop(_FIELDS, note[0])
    return score, note


def cut(
    block: NDArray[np.uint8], spans: NDArray[np.int64], column: int, blob: NDArray[np.uint8], bounds: NDArray[np.int64]
) -> None:
    """Copy block[spans[i, column]:spans[i, column + 1]] of every row, row i to blob[bounds[i]:bounds[i + 1]]."""
    whole, edges = block.tobytes(), [0]
    pieces = [whole[span[column] : span[column + 1]] for span in spans.tolist()]
    for piece in pieces:
        edges.append(edges[-1] + len(piece))
    bounds[:] = edges
    blob[: edges[-1]] = list(b"".join(pieces))


def weigh_lines(
    block: NDArray[np.uint8], spans: NDArray[np.int64], values: NDArray[np.float64], state: NDArray[np.int64]
) -> int:
    """Read lines `name value` from state[0] on until one says something else; return how many weights there are.

    spans[i] are the start and the end of a name, and the number of its line, values[i] its weight. state goes in and
    out: where reading begins or has stopped, and the number of that line. Empty lines are passed over.
    """
    whole, (at, line), count = block.tobytes(), state.tolist(), 0
    while at < len(whole):
        stop = whole.index(b"\n", at) + 1
        if whole[at:stop].strip():
            found = _WEIGHT.fullmatch(whole, at, stop)
            if not found or not math.isfinite(float(found[2])):
                break
            spans[count], values[count] = (*found.span(1), line), float(found[2])
            count += 1
        at, line = stop, line + 1
    state[:] = at, line
    return count
