"""The fields of a store, the check that they fit together, and its binary form.

Kernels read only arrays of a store, and do not check them again. So the constructor checks that all arrays fit
together; stores that are derived from checked ones skip this. The arrays never change afterwards.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from rampion.arrays import Offsets, Reals, chained, ends
from rampion.errors import StoreError
from rampion.schema import Row, Schema, below, bounds, finite_if_any, strings
from rampion.store.coded import Coded, joined
from rampion.store.features import Features
from rampion.store.lists import LISTS, Lists, entries_fit
from rampion.store.rows import columns_joined
from rampion.store.text import Texts

SCHEMA = Schema(
    "candidates",
    {
        **strings("features", "names.blob", "names.bounds"),
        **strings("segments", "segments.blob", "segments.bounds"),
        **strings("candidates", "texts.blob", "texts.bounds"),
        **strings("candidates", "notes.blob", "notes.bounds"),
        "bounds": bounds("segments", "scores"),
        "scores": Row("<f8", ("candidates",), (finite_if_any,)),
        "seen": Row("<i4", ("candidates",)),
        "metric:*": Row("<f8", ("candidates",), (finite_if_any,)),
        **strings("strings", "fields.blob", "fields.bounds"),
        "field:*": Row("<u4", ("candidates",), (below("strings"),)),
        **LISTS,
    },
    {"width": int},
    "make it again from the lists",
    entries_fit,
)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Stored:
    """The fields of `Candidates`, which describes them."""

    lists: Lists
    features: Features
    segments: Texts
    texts: Texts
    scores: Reals
    notes: Texts
    metrics: dict[str, Reals]
    seen: NDArray[np.int32]
    fields: dict[str, Coded] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._prove(self.arrays(), self.meta())
        self._lock()

    def _lock(self) -> None:
        for array in self.arrays().values():
            array.flags.writeable = False

    @staticmethod
    def _prove(arrays: Mapping[str, NDArray[Any]], meta: Mapping[str, Any]) -> None:
        """Raise StoreError unless all arrays fit together, so that kernels need no checks."""
        try:
            SCHEMA.prove(arrays, meta)
        except StoreError as error:
            raise StoreError(f"the store is damaged: {error}") from error

    @classmethod
    def _trusted(cls, *parts: Any) -> Self:
        """A store whose fields follow from those of checked ones, so that nothing is checked again."""
        store = object.__new__(cls)
        for slot, part in zip(fields(cls), parts, strict=True):
            object.__setattr__(store, slot.name, part)
        store._lock()
        return store

    def _with(self, **changes: Any) -> Self:
        """The store with some fields replaced by others that fit, too."""
        return self._trusted(*(changes.pop(slot.name, getattr(self, slot.name)) for slot in fields(self)))

    @classmethod
    def _join(cls, parts: Sequence[Self], features: Features) -> Self:
        """The lists of all parts, one after another; all have these features."""
        if len(parts) == 1:
            return parts[0]
        lists = [part.lists for part in parts]
        if any(len(part.values) for part in lists):
            lists = [part.valued() for part in lists]
        return cls._trusted(
            Lists(
                chained([part.bounds for part in lists]),
                _end_to_end([part.dense for part in lists], np.float64),
                features.width,
                _end_to_end([part.features for part in lists], np.uint32),
                chained([part.feature_bounds for part in lists]),
                _end_to_end([part.entries for part in lists], np.uint32),
                chained([part.entry_bounds for part in lists]),
                _end_to_end([part.values for part in lists], np.float64),
            ),
            features,
            Texts.join([part.segments for part in parts]),
            Texts.join([part.texts for part in parts]),
            _end_to_end([part.scores for part in parts], np.float64),
            Texts.join([part.notes for part in parts]),
            columns_joined([part.metrics for part in parts], [part.size for part in parts]),
            _end_to_end([part.seen for part in parts], np.int32),
            joined([part.fields for part in parts], [part.size for part in parts]),
        )

    def __len__(self) -> int:
        return len(self.segments)

    @property
    def shape(self) -> tuple[int]:
        """The number of segments, as NumPy and scikit-learn ask for it."""
        return (len(self),)

    @property
    def size(self) -> int:
        """The number of candidates."""
        return len(self.texts)

    @property
    def bounds(self) -> Offsets:
        """The candidates of segment s are those from bounds[s] to bounds[s + 1] - 1."""
        return self.lists.bounds

    @property
    def segment_weights(self) -> Reals:
        """The weight of every segment: the field "weight", or 1."""
        weights = np.ones(len(self))
        if "weight" in self.fields:
            said, filled = self.fields["weight"], np.flatnonzero(np.diff(self.bounds))
            known = np.array([float(value or 1) for value in said.values])
            weights[filled] = known[said.codes[self.bounds[filled]]]
        return weights

    def of_segments(self, name: str) -> list[str]:
        """A field of the segments, such as "source" or "group"; the first candidate of each holds it.

        Parameters
        ----------
        name : str
            The name of the field.

        Returns
        -------
        list of str
            A string for every segment; it is empty without the field.

        Examples
        --------
        >>> prompts = rampion.Candidates.from_records([
        ...     {"id": "1", "source": "2 + 3 = ?", "hyps": [{"text": "5"}, {"text": "6"}]}])
        >>> prompts.of_segments("source"), prompts.of_segments("group")
        (['2 + 3 = ?'], [''])
        """
        found = [""] * len(self)
        if name in self.fields:
            strings, filled = self.fields[name], np.flatnonzero(np.diff(self.bounds))
            for s, string in zip(filled.tolist(), strings.take(self.bounds[filled]), strict=True):
                found[s] = string
        return found

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Every array of the store by name: what its binary form holds.

        Returns
        -------
        dict of str to numpy.ndarray
            The arrays, which `from_arrays` takes.

        Examples
        --------
        >>> lists.arrays()["bounds"].tolist()
        [0, 2, 4]
        """
        lists = {name: array for name, array in self.lists._asdict().items() if name != "width"}
        texts = {"names": self.features.names, "segments": self.segments, "texts": self.texts, "notes": self.notes}
        blobs = {f"{name}.{part}": getattr(text, part) for name, text in texts.items() for part in ("blob", "bounds")}
        metrics = {f"metric:{name}": column for name, column in self.metrics.items()}
        values = Texts.join([strings.values for strings in self.fields.values()])
        starts = ends(np.array([len(strings.values) for strings in self.fields.values()], np.int64))
        codes = {
            f"field:{name}": strings.codes + np.uint32(start)
            for (name, strings), start in zip(self.fields.items(), starts, strict=False)
        }
        fresh: list[NDArray[Any]] = [values.blob, values.bounds, *codes.values()]
        for array in fresh:
            array.flags.writeable = False
        blobs |= {"fields.blob": values.blob, "fields.bounds": values.bounds}
        return lists | blobs | metrics | codes | {"scores": self.scores, "seen": self.seen}

    def meta(self) -> dict[str, int]:
        """What the binary form holds besides arrays.

        Returns
        -------
        dict of str to int
            Numbers, which `from_arrays` takes.

        Examples
        --------
        >>> lists.meta()
        {'width': 2}
        """
        return {"width": self.lists.width}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]], meta: Mapping[str, Any], *, proved: bool = False) -> Self:
        """The lists that arrays hold; everything is checked.

        Parameters
        ----------
        arrays : mapping of str to numpy.ndarray
            What `arrays` gave.
        meta : mapping of str to int
            What `meta` gave.
        proved : bool
            Whether a reader of files has already checked that they fit together; then nothing is checked.

        Returns
        -------
        Candidates
            The lists.

        Raises
        ------
        StoreError
            If anything does not fit together.

        Examples
        --------
        >>> rampion.Candidates.from_arrays(lists.arrays(), lists.meta()).to_records() == lists.to_records()
        True
        """
        if not proved:
            cls._prove(arrays, meta)
        names, segments, texts, notes = (
            Texts(arrays[f"{name}.blob"], arrays[f"{name}.bounds"]) for name in ("names", "segments", "texts", "notes")
        )
        lists = Lists(**{name: arrays[name] for name in Lists._fields if name != "width"}, width=meta["width"])
        metrics = {name[7:]: array for name, array in arrays.items() if name.startswith("metric:")}
        features, values = Features(names, meta["width"]), Texts(arrays["fields.blob"], arrays["fields.bounds"])
        fields = {name[6:]: Coded(values, array) for name, array in arrays.items() if name.startswith("field:")}
        return cls._trusted(lists, features, segments, texts, arrays["scores"], notes, metrics, arrays["seen"], fields)


def _end_to_end(parts: Sequence[NDArray[Any]], dtype: type) -> NDArray[Any]:
    return np.concatenate([np.zeros(0, dtype), *parts])
