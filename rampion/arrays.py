"""Spans of an array, one after another: span i is bounds[i] to bounds[i + 1], and bounds begin with 0."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from hashlib import sha256
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
Reals = NDArray[np.float64]
Singles = NDArray[np.float32]
Integers = NDArray[np.int64]
Offsets = NDArray[np.int64]  # bounds of spans, or where something stands
Places = NDArray[np.int32]
Ids = NDArray[np.uint32]
KeyRow = NDArray[np.uint64]
Mask = NDArray[np.bool_]


def ends(lengths: Sequence[int] | Array) -> Offsets:
    """The bounds of spans of these lengths."""
    bounds = np.zeros(len(lengths) + 1, np.int64)
    np.cumsum(lengths, out=bounds[1:])
    return bounds


def fingerprint(*arrays: NDArray[Any]) -> str:
    """A hash of the arrays. It depends on every bit, and on where each array ends."""
    digest = sha256()
    for array in arrays:
        digest.update(len(array).to_bytes(8, "little"))
        digest.update(np.ascontiguousarray(array).reshape(-1).view(np.uint8).data)
    return digest.hexdigest()[:16]


def chained(parts: Iterable[Offsets]) -> Offsets:
    """The bounds of the spans of all parts, laid end to end."""
    return ends(np.concatenate([np.zeros(0, np.int64), *map(np.diff, parts)]))


def span_of_each(bounds: Offsets) -> Offsets:
    """The number of the span that each element is in."""
    return np.repeat(np.arange(len(bounds) - 1), np.diff(bounds))


def rank_in_span(bounds: Offsets) -> Offsets:
    """The place of each element in its span, counted from 0."""
    return np.arange(bounds[-1]) - np.repeat(bounds[:-1], np.diff(bounds))


def taken(bounds: Offsets, spans: NDArray[Any]) -> tuple[Offsets, Offsets]:
    """The places of the elements of some spans, one span after another, and the bounds of these spans there."""
    lengths = np.diff(bounds)[spans]
    laid = ends(lengths)
    return np.arange(laid[-1]) + np.repeat(bounds[:-1][spans] - laid[:-1], lengths), laid


def covers(bounds: Offsets, size: int) -> bool:
    """Whether these are bounds of spans that cover `size` elements."""
    return len(bounds) > 0 and bounds[0] == 0 and bounds[-1] == size and bool((bounds[1:] >= bounds[:-1]).all())


_RUN = 512


def crowded(slots: NDArray[np.uint32]) -> bool:
    """Whether a hash table, at most half full, has a run of used slots so long that its names were made to collide.

    It is true whenever a kernel has refused a name because it would stand 1,024 slots from where its search begins.
    By chance the largest tables have runs of about 100 slots.
    """
    return len(slots) >= _RUN and bool(slots[: len(slots) // _RUN * _RUN].reshape(-1, _RUN).all(axis=1).any())


Index = int | np.integer[Any]
# What chooses several elements of a sequence: a slice, places, or a mark for every element.
Selection = slice | Sequence[int] | Sequence[bool] | NDArray[np.integer[Any]] | NDArray[np.bool_]


def place(index: Index, size: int) -> int:
    """The place of one element, counted from 0; negative indices count from the end."""
    at = int(index)
    if not -size <= at < size:
        raise IndexError(f"index {at} is out of range: there are {size}")
    return at % size


def places_of(index: Any, size: int) -> Offsets:
    """The places of several elements, chosen as in NumPy: by a slice, by places, or by a mark for every element."""
    if isinstance(index, str | bytes) or not isinstance(index, slice | Sequence | np.ndarray):
        raise TypeError(f"an index is a number, a slice, or a list of numbers or of True and False; not {index!r}")
    chosen = np.arange(size)[index if isinstance(index, slice) or len(index) else slice(0)]
    return np.asarray(chosen, np.int64)
