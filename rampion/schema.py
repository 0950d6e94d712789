"""Checks of binary files before anything reads their arrays: a table of types, shapes and rules for every kind of file.

A shape names sizes. The first array with the size `words` defines it, and all others must agree: a row of bounds has
the shape ("words+1",). A side can be a sum of products of sizes and numbers ("2*slots", "width*candidates").

Rules look at the numbers themselves, piece by piece, so that they take no memory. They are tried in the order of the
table, and each may rely on those before it: bounds are proved first, then what they bound. No rule computes a
difference, which could overflow; neighbours are compared.
"""

from __future__ import annotations

import codecs
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from math import prod
from typing import Any, NamedTuple

import numpy as np

from rampion.arrays import Array
from rampion.errors import StoreError

PIECE = 1 << 17  # numbers that are checked together, few enough for the cache

Side = int | str
Rule = Callable[["Found", str], str | None]  # from the name of an array to what is wrong with it


class Row(NamedTuple):
    """An array: its type, its shape, and what must hold of its numbers."""

    dtype: str  # or several, with blanks between
    shape: tuple[Side, ...]
    rules: tuple[Rule, ...] = ()
    optional: bool = False


@dataclass(slots=True)
class Found:
    """What a file holds: its arrays, and the sizes by name, as far as they are known."""

    arrays: Mapping[str, Array]
    sizes: dict[str, int] = field(default_factory=dict)

    def size(self, side: Side) -> int:
        """The length of a side whose sizes are known."""
        if isinstance(side, int):
            return side
        return sum(
            prod(int(part) if part.isdigit() else self.sizes[part] for part in term.split("*"))
            for term in side.split("+")
        )

    def fits(self, side: Side, length: int) -> bool:
        """Whether a side has the declared length; * is any length. A size met for the first time gets its value."""
        if side == "*":
            return True
        if isinstance(side, str):
            named = [part for term in side.split("+") for part in term.split("*") if not part.isdigit()]
            for name in named:
                if name not in self.sizes:
                    self.sizes[name] = 0
                    least = self.size(side)
                    self.sizes[name] = 1
                    step = self.size(side) - least
                    if step == 0:  # 0 of them, whatever the size: another array defines the size
                        del self.sizes[name]
                        return length == least
                    self.sizes[name] = max(0, length - least) // step
        return self.size(side) == length


@dataclass(frozen=True, slots=True)
class Schema:
    """A kind of file.

    kind    as its header says
    rows    the arrays by name; a name that ends in * stands for all that begin so
    meta    what else the header holds: `count` is a size by this name, else a type
    advice  what to do about a file that is wrong
    also    what must hold of all arrays together
    """

    kind: str
    rows: Mapping[str, Row]
    meta: Mapping[str, type] = field(default_factory=dict)
    advice: str = "write it again"
    also: Callable[[Found], str | None] = lambda found: None

    def prove(self, arrays: Mapping[str, Array], meta: Mapping[str, Any], trusted: bool = False) -> None:
        """Raise StoreError unless the arrays are what this says. If they are trusted, only types and shapes count."""
        found = Found(arrays)
        fault = next((fault for fault in self._faults(found, meta, trusted) if fault), None)
        if fault:
            raise StoreError(f"{fault}; {self.advice}")

    def _faults(self, found: Found, meta: Mapping[str, Any], trusted: bool) -> Iterator[str | None]:
        """What is wrong; what comes after a fault relies on there being none before."""
        for name, kind in self.meta.items():
            yield _fault_of_fact(found, name, kind, meta.get(name))
        held: dict[str, list[str]] = {key: [] for key in self.rows}
        for name in found.arrays:
            if (key := self._key(name)) is None:
                yield f"it holds an array {name[:60]!r}, which a {self.kind} file does not have"
            else:
                held[key].append(name)
        for key, row in self.rows.items():
            for name in held[key]:
                yield _fault_of_form(found, name, row)
            if not (held[key] or row.optional or key[-1] == "*"):
                yield f"its array {key} is missing"
        for key, row in () if trusted else self.rows.items():
            for name in held[key]:
                for rule in row.rules:
                    if fault := rule(found, name):
                        yield f"its array {name[:60]} {fault}"
        if not trusted:
            yield self.also(found)

    def _key(self, name: str) -> str | None:
        """The name of an array's row in the table."""
        if name in self.rows and name[-1:] != "*":
            return name
        return next((key for key in self.rows if key[-1] == "*" and name.startswith(key[:-1])), None)


def count(value: Any) -> bool:
    """Whether the value is a whole number from 0 up that could be the size of an array."""
    return type(value) is int and 0 <= value < 1 << 62


def _fault_of_fact(found: Found, name: str, kind: type, value: Any) -> str | None:
    if kind is int:
        if not count(value):
            return f"its {name} is {str(value)[:60]}, expected a count"
        found.sizes[name] = value
        return None
    return None if isinstance(value, kind) else f"its header lacks the {name}"


def _fault_of_form(found: Found, name: str, row: Row) -> str | None:
    array = found.arrays[name]
    kinds = [np.dtype(kind) for kind in row.dtype.split()]
    if not isinstance(array, np.ndarray) or array.dtype not in kinds or not array.flags.c_contiguous:
        return f"its array {name[:60]} is not of the type {' or '.join(kind.name for kind in kinds)}, in one piece"
    if array.ndim != len(row.shape):
        return f"its array {name[:60]} has {array.ndim} dimensions, expected {len(row.shape)}"
    for side, length in zip(row.shape, array.shape, strict=True):
        if not found.fits(side, length):
            return f"its array {name[:60]} has {length:,} numbers, expected {found.size(side):,} ({side})"
    return None


# Rows of many kinds of files


def bounds(things: str, of: str) -> Row:
    """Bounds of one span for each of the `things`; together the spans cover the array `of`."""
    return Row("<i8", (f"{things}+1",), (spans(of),))


def reals(*shape: Side) -> Row:
    return Row("<f8", shape, (finite,))


def singles(*shape: Side) -> Row:
    return Row("<f4", shape, (finite,))


def ids_of(size: Side, of: Side) -> Row:
    """An array of `size` ids, all below the size `of`."""
    return Row("<u4", (size,), (below(of),))


def strings(things: str, blob: str, limits: str, form: str = "utf8") -> dict[str, Row]:
    """Two rows for strings: their bytes in UTF-8, and their bounds."""
    return {
        limits: Row("<i8", (f"{things}+1",), (spans(blob), utf8(blob))),
        blob: Row("|u1", (f"{blob} bytes",)),
    }


# Rules


def pieces(array: Array, more: int = 0) -> Iterator[Array]:
    """The numbers in pieces that overlap by `more`."""
    flat = array.reshape(-1)
    for start in range(0, len(flat) - more, PIECE):
        yield flat[start : start + PIECE + more]


def finite(found: Found, name: str) -> str | None:
    """Every number is finite."""
    held = all(np.isfinite(piece).all() for piece in pieces(found.arrays[name]))
    return None if held else "holds a number that is not finite"


def finite_if_any(found: Found, name: str) -> str | None:
    """Every number is finite, or NaN for a missing one."""
    held = not any(np.isinf(piece).any() for piece in pieces(found.arrays[name]))
    return None if held else "holds a number that is infinite"


def not_negative(found: Found, name: str) -> str | None:
    held = all(piece.min() >= 0 for piece in pieces(found.arrays[name]))
    return None if held else "holds a negative number"


def nonzero(found: Found, name: str) -> str | None:
    return None if all(piece.all() for piece in pieces(found.arrays[name])) else "holds a 0"


def rises(array: Array) -> bool:
    """Whether no number is less than the one before it."""
    return all(bool((piece[1:] >= piece[:-1]).all()) for piece in pieces(array, 1))


def spans(of: str) -> Rule:
    """Bounds rise from 0 to the length of another array, or to a size."""

    def rule(found: Found, name: str) -> str | None:
        array, end = found.arrays[name], len(found.arrays[of]) if of in found.arrays else found.size(of)
        held = len(array) > 0 and array[0] == 0 and array[-1] == end and rises(array)
        return None if held else f"does not rise from 0 to {end:,} ({of})"

    return rule


def below(size: Side) -> Rule:
    """Ids are below a size."""

    def rule(found: Found, name: str) -> str | None:
        limit = found.size(size)
        for piece in pieces(found.arrays[name]):
            if (most := int(piece.max())) >= limit or int(piece.min()) < 0:
                return f"holds the id {most:,}, expected ids below {limit:,} ({size})"
        return None

    return rule


def rising(limits: str, strictly: bool = True) -> Rule:
    """Numbers rise inside each span. The bounds have been checked before."""

    def rule(found: Found, name: str) -> str | None:
        array, edges, start = found.arrays[name], found.arrays[limits], 1
        for piece in pieces(array, 1):
            falls = start + np.flatnonzero(piece[1:] <= piece[:-1] if strictly else piece[1:] < piece[:-1])
            if (edges[np.searchsorted(edges, falls)] != falls).any():
                return f"does not rise between its bounds, {limits}"
            start += PIECE
        return None

    return rule


def utf8(blob: str) -> Rule:
    """Every string between these bounds is UTF-8. The bounds have been checked before."""

    def rule(found: Found, name: str) -> str | None:
        raw, fault, plain = found.arrays[blob], f"holds a string of {blob} that is not UTF-8", True
        decoder = codecs.getincrementaldecoder("utf-8")()
        try:
            for piece in pieces(raw):
                if not plain or piece.max() >= 128:
                    plain = False
                    decoder.decode(piece.data)
            decoder.decode(b"", final=True)
        except UnicodeDecodeError:
            return fault
        if not plain:
            for piece in pieces(found.arrays[name]):
                if (raw[piece[piece < len(raw)]] & 0xC0 == 0x80).any():  # the string begins inside a letter
                    return fault
        return None

    return rule
