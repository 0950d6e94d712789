"""Many strings as one block of UTF-8 bytes with bounds: cheap to slice, to map from disk, and to pass to a kernel."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from os import PathLike
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from rampion import _kernels
from rampion.arrays import Index, Selection, chained, ends, place, places_of, taken
from rampion.errors import InputError


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Texts(Sequence[str]):
    """A sequence of strings, stored as one block of UTF-8 bytes.

    Parameters
    ----------
    blob : numpy.ndarray of uint8
        The bytes of all strings, one after another.
    bounds : numpy.ndarray of int64
        String i is blob[bounds[i]:bounds[i + 1]].

    Examples
    --------
    >>> texts = rampion.Texts.from_strings(["a b", "c", ""])
    >>> texts
    Texts(3 strings, 4 bytes)
    >>> len(texts), texts[0], texts[-1], "c" in texts
    (3, 'a b', '', True)
    >>> list(texts[:2])
    ['a b', 'c']
    """

    blob: NDArray[np.uint8]
    bounds: NDArray[np.int64]

    @classmethod
    def from_strings(cls, strings: Iterable[str]) -> Texts:
        """Store strings.

        Parameters
        ----------
        strings : iterable of str
            The strings, in order.

        Returns
        -------
        Texts
            The same strings.

        Examples
        --------
        >>> list(rampion.Texts.from_strings(["a", "b c"]))
        ['a', 'b c']
        """
        encoded = [string.encode() for string in strings]
        return cls(np.frombuffer(b"".join(encoded), np.uint8), ends([len(piece) for piece in encoded]))

    @property
    def arrays(self) -> tuple[NDArray[np.int64], NDArray[np.uint8]]:
        """The bounds and the bytes."""
        return self.bounds, self.blob

    def __len__(self) -> int:
        return len(self.bounds) - 1

    @overload
    def __getitem__(self, index: Index) -> str: ...

    @overload
    def __getitem__(self, index: Selection) -> Texts: ...

    def __getitem__(self, index: Index | Selection) -> str | Texts:
        if isinstance(index, int | np.integer):
            return self.raw(place(index, len(self))).decode()
        return self.take(places_of(index, len(self)))

    def raw(self, index: int) -> bytes:
        """The UTF-8 bytes of one string.

        Parameters
        ----------
        index : int
            The place of the string, from 0.

        Returns
        -------
        bytes
            The string, encoded.

        Examples
        --------
        >>> rampion.Texts.from_strings(["é"]).raw(0)
        b'\\xc3\\xa9'
        """
        return self.blob[self.bounds[index] : self.bounds[index + 1]].tobytes()

    def __iter__(self) -> Iterator[str]:
        whole = self.blob.tobytes()
        return (whole[start:end].decode() for start, end in pairwise(self.bounds.tolist()))

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Texts)
            and np.array_equal(self.bounds, other.bounds)
            and np.array_equal(self.blob, other.blob)
        )

    def __repr__(self) -> str:
        return f"Texts({len(self)} strings, {int(self.bounds[-1] - self.bounds[0])} bytes)"

    def take(self, rows: NDArray[np.int64]) -> Texts:
        """The strings at some places, in any order and any number of times.

        Parameters
        ----------
        rows : numpy.ndarray of int64
            The places of the strings, from 0.

        Returns
        -------
        Texts
            The strings, in the order of `rows`.

        Examples
        --------
        >>> list(rampion.Texts.from_strings(["a", "b", "c"]).take(np.array([2, 0])))
        ['c', 'a']
        """
        spans = np.stack([self.bounds[:-1][rows], self.bounds[1:][rows]], axis=1)
        bounds = np.empty(len(rows) + 1, np.int64)
        blob = np.empty(int((spans[:, 1] - spans[:, 0]).sum()), np.uint8)
        _kernels.cut(self.blob, spans, 0, blob, bounds)
        return Texts(blob, bounds)

    def part(self, first: int, last: int) -> Texts:
        """The strings from `first` to `last` - 1, over the same bytes: nothing is copied.

        Parameters
        ----------
        first, last : int
            The place of the first string, and the place after the last one.

        Returns
        -------
        Texts
            The strings between.

        Examples
        --------
        >>> list(rampion.Texts.from_strings(["a", "b", "c"]).part(1, 3))
        ['b', 'c']
        """
        start, end = self.bounds[[first, last]]
        return Texts(self.blob[start:end], self.bounds[first : last + 1] - start)

    @classmethod
    def join(cls, parts: Sequence[Texts]) -> Texts:
        """All strings of all parts, in order.

        Parameters
        ----------
        parts : sequence of Texts
            What to join.

        Returns
        -------
        Texts
            The strings of the first part, then those of the second, and so on.

        Examples
        --------
        >>> one, two = rampion.Texts.from_strings(["a"]), rampion.Texts.from_strings(["b", "c"])
        >>> list(rampion.Texts.join([one, two]))
        ['a', 'b', 'c']
        """
        blobs = [part.blob[part.bounds[0] : part.bounds[-1]] for part in parts]
        return cls(np.concatenate([np.zeros(0, np.uint8), *blobs]), chained(part.bounds for part in parts))


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class References(Sequence[list[str]]):
    """The references of every segment, a list of strings each.

    Parameters
    ----------
    texts : Texts
        The references of all segments, one after another.
    bounds : numpy.ndarray of int64
        The references of segment s are texts[bounds[s]:bounds[s + 1]].

    Examples
    --------
    >>> references = rampion.References.from_lists([["a b"], ["c", "c d"]])
    >>> references
    References(2 segments, 3 references)
    >>> references[1], len(references), ["a b"] in references
    (['c', 'c d'], 2, True)
    """

    texts: Texts
    bounds: NDArray[np.int64]

    @classmethod
    def from_lists(cls, segments: Iterable[Sequence[str]]) -> References:
        """References from a list of strings for every segment.

        Parameters
        ----------
        segments : iterable of list of str
            The references of the first segment, of the second, and so on.

        Returns
        -------
        References
            The same references.

        Raises
        ------
        InputError
            If a string, or something else, stands where a list of strings is expected.

        Examples
        --------
        >>> rampion.References.from_lists([["one reference"], ["this segment", "has two"]])
        References(2 segments, 3 references)
        """
        given: Any = segments
        if isinstance(given, str | PathLike):
            raise InputError(f"references are the string {str(given)[:60]!r}; {_LISTS}, or use load_references")
        if isinstance(given, bytes) or not isinstance(given, Iterable):
            raise InputError(f"references are a {type(given).__name__}; {_LISTS}")
        lists = [_strings(segment, s) for s, segment in enumerate(segments)]
        texts = Texts.from_strings(string for strings in lists for string in strings)
        return cls(texts, ends([len(strings) for strings in lists]))

    @classmethod
    def from_records(cls, records: Iterable[Mapping[str, Any]]) -> References:
        """The references that records hold under "refs".

        Parameters
        ----------
        records : iterable of dict
            Records as `Candidates.from_records` takes them, or of the form ``{"id": "7", "refs": ["..."]}``.

        Returns
        -------
        References
            The references of every record, in order.

        Raises
        ------
        InputError
            If a record has no references, or something else than strings.

        Examples
        --------
        >>> rampion.References.from_records(records)[0]
        ['the cat sat']
        """
        from rampion.store.records import references_of

        return cls.from_lists(references_of(records))

    def __len__(self) -> int:
        return len(self.bounds) - 1

    def take(self, segments: NDArray[np.int64]) -> References:
        """The references of some segments.

        Parameters
        ----------
        segments : numpy.ndarray of int64
            The places of the segments, from 0.

        Returns
        -------
        References
            The references of these segments, in that order.

        Examples
        --------
        >>> list(rampion.References.from_lists([["a"], ["b"], ["c"]]).take(np.array([2, 0])))
        [['c'], ['a']]
        """
        rows, bounds = taken(self.bounds, segments)
        return References(self.texts.take(rows), bounds)

    @overload
    def __getitem__(self, index: Index) -> list[str]: ...

    @overload
    def __getitem__(self, index: Selection) -> References: ...

    def __getitem__(self, index: Index | Selection) -> list[str] | References:
        if isinstance(index, int | np.integer):
            s = place(index, len(self))
            return list(self.texts.part(self.bounds[s], self.bounds[s + 1]))
        return self.take(places_of(index, len(self)))

    def __iter__(self) -> Iterator[list[str]]:
        strings = list(self.texts)
        return (strings[start:end] for start, end in pairwise(self.bounds.tolist()))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, References) and np.array_equal(self.bounds, other.bounds) and self.texts == other.texts

    def __repr__(self) -> str:
        return f"References({len(self)} segments, {len(self.texts)} references)"


_LISTS = "give a list of strings for every segment, such as [['the reference'], ...]"


def blank(count: int) -> Texts:
    """So many empty texts."""
    return Texts(np.zeros(0, np.uint8), np.zeros(count + 1, np.int64))


def _strings(segment: Sequence[str], s: int) -> list[str]:
    """The references of segment s. A string is refused, because each of its letters would be a reference."""
    if isinstance(segment, str | bytes) or not isinstance(segment, Iterable):
        raise InputError(f"the references of segment {s} (counted from 0) are {str(segment)[:60]!r}; {_LISTS}")
    strings = list(segment)
    for string in strings:
        if not isinstance(string, str):
            raise InputError(f"a reference of segment {s} (counted from 0) is {str(string)[:60]!r}; {_LISTS}")
    return strings
