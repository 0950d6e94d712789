"""The store: every segment's candidates as a small matrix with its own feature dictionary.

Order is part of the data: candidates have the decoder's order, merged ones the order of first appearance.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from os import PathLike
from types import EllipsisType
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from rampion import _kernels
from rampion.arrays import Index, Offsets, Reals, Selection, ends, place, places_of, rank_in_span, span_of_each, taken
from rampion.errors import InputError, InputWarning
from rampion.store.coded import Coded
from rampion.store.columns import Columns
from rampion.store.doubles import first_of_equals
from rampion.store.features import Features
from rampion.store.frames import rows_of_frame
from rampion.store.lists import Lists
from rampion.store.names import Names
from rampion.store.packing import dense_first, pack
from rampion.store.records import read, records_of
from rampion.store.rows import Rows, flattened, rows_joined, widened
from rampion.store.segment import Segment
from rampion.store.stored import Stored
from rampion.store.text import References, Texts
from rampion.threads import each

_WRITTEN = 1 << 19  # values that are written at a time


class Candidates(Stored, Sequence[Segment]):
    """Candidates of many segments: what everything else works on.

    Make them by `from_records`, `from_frame` or `load_nbest`. They are a sequence of `Segment`: len is the number of
    segments, an index gives one of them, and slices, places and masks give `Candidates` of whole segments.

    Parameters
    ----------
    lists : Lists
        The features of all candidates, as arrays.
    features : Features
        The names of the features.
    segments : Texts
        The name of every segment.
    texts : Texts
        The text of every candidate.
    scores : numpy.ndarray of float64
        The score that came with every candidate, NaN without one.
    notes : Texts
        Other text that came with every candidate.
    metrics : dict of str to numpy.ndarray
        The metric columns, a number for every candidate.
    seen : numpy.ndarray of int32
        The decoding iteration that last produced a candidate.
    fields : dict of str to Coded
        Strings that came with the candidates: "source" and "group" of the segment, its "weight", and fields to keep.

    Examples
    --------
    >>> lists
    Candidates(2 segments, 4 candidates, 2 dense + 1 sparse features)
    >>> len(lists), lists.size, lists[1], lists[:1]
    (2, 4, Segment('2', 2 candidates), Candidates(1 segments, 2 candidates, 2 dense + 1 sparse features))
    >>> [segment.texts[0] for segment in lists]
    ['a cat sits', 'the dog']
    """

    __slots__ = ()

    def with_lists(self, lists: Lists) -> Candidates:
        """The same candidates with other values of their features.

        Parameters
        ----------
        lists : Lists
            Arrays of the same sizes.

        Returns
        -------
        Candidates
            The candidates with these values.

        Examples
        --------
        >>> double = lists.with_lists(lists.lists._replace(dense=2 * lists.lists.dense))
        >>> double[0].features[0]["LM"] == 2 * lists[0].features[0]["LM"]
        True
        """
        return self._with(lists=lists)

    @classmethod
    def from_rows(cls, names: Names, runs: Sequence[list[Rows]]) -> list[Candidates]:
        """Lists from flat rows, as readers of files give them.

        Features of all candidates of all runs are dense. The rows are consumed, so that a large file is never in memory
        in both forms.

        Parameters
        ----------
        names : Names
            The table of feature names that the ids in the rows come from.
        runs : sequence of list of Rows
            The rows of every run.

        Returns
        -------
        list of Candidates
            One for every run, all with the same features.

        Examples
        --------
        >>> from rampion.store.names import Names
        >>> names = Names()
        >>> _ = names.intern_all(lists.features.names)
        >>> rampion.Candidates.from_rows(names, [[lists.rows()]])
        [Candidates(2 segments, 4 candidates, 2 dense + 1 sparse features)]
        """
        counts = np.zeros(len(names), np.int64)
        total = 0
        for rows in (rows for run in runs for rows in run):
            counts += np.bincount(rows.ids, minlength=len(names))
            total += len(rows.texts)
        order, width = dense_first(counts, total)
        places = np.empty(len(names), np.uint32)
        places[order] = np.arange(len(names), dtype=np.uint32)
        features = Features(names.texts().take(order), width)
        stores = []
        for run in runs:
            parts = []
            while run:
                rows = run.pop(0)
                every = np.arange(len(rows.texts))
                parts.append(cls(*pack(rows, every, rows.bounds, rows.segments, places, features)))
            stores.append(cls._join(parts, features))
        return stores

    @classmethod
    def from_records(
        cls, records: Iterable[Mapping[str, Any]], columns: str | Sequence[str] | None = None
    ) -> Candidates:
        """Lists from records in memory, of any shape that JSON files may have (docs/formats.md).

        Parameters
        ----------
        records : iterable of dict
            One a segment: ``{"id": "7", "hyps": [{"text": "...", "feats": {"LM": -3.5}}, ...]}``. A candidate may have
            a "score", a "note", and "metrics" such as ``{"is_correct": 1}``. What "refs" hold is for
            `References.from_records`. Or one a candidate: ``{"id": "7", "text": "...", "LM": -3.5}``.
        columns : str or sequence of str, optional
            The roles of columns, as in "id=question_id,text=solution,target=is_correct". By default
            columns are recognised by common names, and a warning shows how.

        Returns
        -------
        Candidates
            The lists, in the order of the records.

        Raises
        ------
        InputError
            If a record has another shape; the message says which one.

        Examples
        --------
        >>> rampion.Candidates.from_records(records)
        Candidates(2 segments, 4 candidates, 2 dense + 1 sparse features)
        """
        if isinstance(records, str | bytes | PathLike | Mapping):
            raise InputError(
                "records are a list of dicts, one a segment or one a candidate; to read a file use load_nbest"
            )
        names = Names()
        rows, notices = read(records, names, Columns.parse(columns))
        for notice in notices:
            warnings.warn(notice, InputWarning, stacklevel=2)
        return cls.from_rows(names, [[rows]])[0]

    @classmethod
    def from_frame(
        cls,
        frame: Any,
        *,
        segment: str = "id",
        text: str = "text",
        features: Sequence[str] | None = None,
        metrics: Sequence[str] = (),
        score: str | None = None,
        source: str | None = None,
        group: str | None = None,
        weight: str | None = None,
        keep: Sequence[str] = (),
    ) -> Candidates:
        """Lists from a data frame that has a candidate a row.

        Parameters
        ----------
        frame : data frame
            Of pandas, Polars or PyArrow, or a dict of columns.
        segment : str
            The column that names the segment. Rows of a segment need not stand together.
        text : str
            The column of texts.
        features : sequence of str, optional
            The columns that are features. By default all columns of numbers that no other parameter names, without
            those that are labels by their names, such as `is_correct` or `reward`, which a warning tells.
        metrics : sequence of str
            The columns to tune towards: labels, rewards, human judgements. They are never features.
        score : str, optional
            The column of the scores that came with the candidates.
        source, group, weight : str, optional
            The columns of the source or prompt, of the group of the segment, and of its weight.
        keep : sequence of str
            Other columns to keep with the candidates, as strings.

        Returns
        -------
        Candidates
            The lists, in the order in which the segments appear.

        Raises
        ------
        InputError
            If a column is missing, or holds something else. A missing value of a feature is not an error: the mean of
            the list takes its place, with a warning.

        Examples
        --------
        >>> import pandas
        >>> frame = pandas.DataFrame({
        ...     "id": ["1", "1"], "text": ["4", "5"], "logprob": [-1.5, -0.5], "is_correct": [True, False]})
        >>> samples = rampion.Candidates.from_frame(frame, metrics=["is_correct"])
        >>> samples
        Candidates(1 segments, 2 candidates, 1 dense + 0 sparse features, metrics: is_correct)
        >>> samples[0][0].features, samples[0][0].metrics
        ({'logprob': -1.5}, {'is_correct': 1.0})
        """
        names = Names()
        roles = {"source": source, "group": group, "weight": weight} | {name: name for name in keep}
        fields = {role: column for role, column in roles.items() if column is not None}
        rows, notices = rows_of_frame(frame, names, segment, text, features, metrics, score, fields)
        for notice in notices:
            warnings.warn(notice, InputWarning, stacklevel=2)
        return cls.from_rows(names, [[rows]])[0]

    def to_records(self, references: References | None = None) -> list[dict[str, Any]]:
        """The lists as records in memory, such as `from_records` takes.

        Parameters
        ----------
        references : References, optional
            References to add to the records under "refs".

        Returns
        -------
        list of dict
            One record a segment.

        Examples
        --------
        >>> lists.to_records()[0]["hyps"][0]
        {'text': 'a cat sits', 'feats': {'LM': -1.0, 'TM': -2.0}}
        >>> rampion.Candidates.from_records(lists.to_records()).to_records() == lists.to_records()
        True
        """
        found = list(records_of(self.rows(), self.features.names))
        if references is not None:
            for record, refs in zip(found, references, strict=True):
                record["refs"] = refs
        return found

    def __repr__(self) -> str:
        dense = self.features.width
        features = f"{dense} dense + {len(self.features) - dense} sparse features"
        metrics = f", metrics: {', '.join(self.metrics)}" if self.metrics else ""
        return f"Candidates({len(self)} segments, {self.size} candidates, {features}{metrics})"

    def narrowed(self, width: int) -> Candidates:
        """The lists without the values of the dense features from there on; all features keep their ids.

        Parameters
        ----------
        width : int
            How many dense features are left.

        Returns
        -------
        Candidates
            Lists with the same features, so many of them dense; others are as sparse ones that no candidate has.

        Examples
        --------
        >>> lists.narrowed(0)
        Candidates(2 segments, 4 candidates, 0 dense + 3 sparse features)
        """
        lists, lengths = self.lists, np.diff(self.bounds)
        kept = np.tile(np.arange(lists.width) < width, len(lengths))
        dense = lists.dense[np.repeat(kept, np.repeat(lengths, lists.width))] if width else np.zeros(0)
        features = Features(self.features.names, width)
        return self._with(lists=lists._replace(width=width, dense=dense), features=features)

    def parts(self) -> Iterator[Candidates]:
        """The lists in parts of consecutive segments, over the same arrays, each small enough to be written out.

        Returns
        -------
        iterator of Candidates
            The next segments.

        Examples
        --------
        >>> sum(len(part) for part in lists.parts())
        2
        """
        for first, last in pairwise(self.lists.cuts(_WRITTEN).tolist()):
            start, end = self.bounds[[first, last]].tolist()
            rows = slice(start, end)
            yield self._with(
                lists=self.lists.part(first, last),
                segments=self.segments.part(first, last),
                texts=self.texts.part(start, end),
                scores=self.scores[rows],
                notes=self.notes.part(start, end),
                metrics={name: column[rows] for name, column in self.metrics.items()},
                seen=self.seen[rows],
                fields={name: Coded(strings.values, strings.codes[rows]) for name, strings in self.fields.items()},
            )

    @classmethod
    def joined(cls, parts: Sequence[Candidates]) -> Candidates:
        """Lists with the same features, one after another.

        Parameters
        ----------
        parts : sequence of Candidates
            At least one, such as `parts` gives.

        Returns
        -------
        Candidates
            The lists of all parts.

        Examples
        --------
        >>> rampion.Candidates.joined([lists[:1], lists[1:]]).to_records() == lists.to_records()
        True
        """
        return cls._join(list(parts), parts[0].features)

    def rank(self) -> Offsets:
        """The place of every candidate in its list.

        Returns
        -------
        numpy.ndarray of int64
            0 for the first candidate of a segment.

        Examples
        --------
        >>> lists.rank().tolist()
        [0, 1, 0, 1]
        """
        return rank_in_span(self.bounds)

    # Only the next two functions combine weights and features.

    def score(self, weights: Reals) -> Reals:
        """The score of every candidate: the sum of weight times feature.

        Parameters
        ----------
        weights : numpy.ndarray of float64
            The weight of every feature, as `Weights.onto` gives them.

        Returns
        -------
        numpy.ndarray of float64
            A score for every candidate.

        Raises
        ------
        InputError
            If the number of weights is not the number of features.

        Examples
        --------
        >>> lists.score(np.array([1.0, 1.0, 0.5])).tolist()
        [-3.0, -2.0, -1.5, -0.5]
        """
        _require_count("weights", weights, "features", len(self.features))
        scores = np.empty(self.size)

        def fill(span: tuple[int, int]) -> None:
            part = self.lists.part(*span)
            _kernels.score(part, weights, np.empty(part.local_size), scores[slice(*self.bounds[list(span)])])

        each(fill, pairwise(self.lists.cuts().tolist()))
        return scores

    def gather(self, slopes: Reals) -> Reals:
        """The gradient for these slopes: the sum of slope times feature over all candidates.

        Parameters
        ----------
        slopes : numpy.ndarray of float64
            A number for every candidate.

        Returns
        -------
        numpy.ndarray of float64
            A number for every feature.

        Raises
        ------
        InputError
            If the number of slopes is not the number of candidates.

        Examples
        --------
        >>> lists.gather(np.array([1.0, -1.0, 0.0, 0.0])).tolist()
        [0.5, -1.0, -1.0]
        """
        _require_count("slopes", slopes, "candidates", self.size)
        gradient = np.zeros(len(self.features))
        _kernels.gather(self.lists, slopes, np.empty(self.lists.local_size), gradient)
        return gradient

    def rows(self) -> Rows:
        """The candidates as flat rows.

        Returns
        -------
        Rows
            Arrays of all candidates; the ids are those of `features`.

        Examples
        --------
        >>> rows = lists.rows()
        >>> rows.entry_bounds.tolist(), rows.values[:2].tolist()
        ([0, 2, 5, 7, 9], [-1.0, -2.0])
        """
        return Rows(
            self.segments,
            self.bounds,
            self.texts,
            *flattened(self.lists),
            self.scores,
            self.notes,
            dict(self.metrics),
            self.fields,
        )

    def with_features(self, columns: Mapping[str, Reals]) -> Candidates:
        """The lists with more dense features.

        Parameters
        ----------
        columns : mapping of str to numpy.ndarray
            New features by name, a number for every candidate.

        Returns
        -------
        Candidates
            The same candidates with these features too.

        Raises
        ------
        InputError
            If the lists have a feature of that name, or if there is not one finite number for each candidate.

        Examples
        --------
        >>> longer = lists.with_features({"words": [len(text.split()) for text in lists.texts]})
        >>> longer, longer[0][0].features
        (Candidates(2 segments, 4 candidates, 3 dense + 1 sparse features), {'LM': -1.0, 'TM': -2.0, 'words': 3.0})
        """
        cells = np.zeros((self.size, len(columns)))
        for nth, (name, column) in enumerate(columns.items()):
            numbers = np.asarray(column, np.float64)
            if name in self.features.ids:
                raise InputError(f"the lists have a feature {name!r} already; leave it out, or give it another name")
            _require_count(f"numbers of the feature {name!r}", numbers, "candidates", self.size)
            if not np.isfinite(numbers).all():
                raise InputError(f"the feature {name!r} is not finite for every candidate; give it finite numbers")
            cells[:, nth] = numbers
        names, known, width, more = self.features.names, len(self.features), self.features.width, len(columns)
        places = np.concatenate([np.arange(width), np.arange(width, known) + more, np.arange(more) + width])
        parts = [names.part(0, width), Texts.from_strings(columns), names.part(width, known)]
        rows, features = widened(self.rows(), cells, known), Features(Texts.join(parts), width + more)
        made = pack(rows, np.arange(self.size), self.bounds, self.segments, places.astype(np.uint32), features)
        return self._trusted(*made._replace(seen=self.seen))

    def take(self, picks: Offsets, bounds: Offsets, segments: Texts) -> Candidates:
        """Some candidates, in other segments.

        Parameters
        ----------
        picks : numpy.ndarray of int64
            The places of the candidates among all candidates.
        bounds : numpy.ndarray of int64
            The bounds of the new segments.
        segments : Texts
            The names of the new segments.

        Returns
        -------
        Candidates
            The candidates at `picks`, in that order.

        Examples
        --------
        >>> lists.take(np.array([1, 3]), np.array([0, 2]), rampion.Texts.from_strings(["both"]))[0].texts
        ['the cat sat', 'a dog']
        """
        same = np.arange(len(self.features), dtype=np.uint32)
        taken = pack(self.rows(), picks, bounds, segments, same, self.features)
        return self._trusted(*taken._replace(seen=self.seen[picks]))

    def sorted_by(self, scores: Reals) -> Candidates:
        """The lists sorted by scores, best first; equals keep their order.

        Parameters
        ----------
        scores : numpy.ndarray of float64
            A score for every candidate, which becomes its score.

        Returns
        -------
        Candidates
            The sorted lists.

        Examples
        --------
        >>> lists.sorted_by(np.array([0.0, 1.0, 1.0, 0.0]))[0].texts
        ['the cat sat', 'a cat sits']
        """
        owner = span_of_each(self.bounds)
        order = np.lexsort((np.arange(self.size), -scores, owner))
        return self._with(
            lists=self.lists.reordered(order),
            texts=self.texts.take(order),
            scores=scores[order],
            notes=self.notes.take(order),
            metrics={name: column[order] for name, column in self.metrics.items()},
            seen=self.seen[order],
            fields={name: strings.take(order) for name, strings in self.fields.items()},
        )

    def labelled(self, column: str) -> Candidates:
        """The lists without the candidates that lack a value of a metric column, and without lists that become empty.

        Parameters
        ----------
        column : str
            The name of the metric column.

        Returns
        -------
        Candidates
            The labelled part of the lists.

        Examples
        --------
        >>> samples = rampion.Candidates.from_records([{"id": "1", "hyps": [
        ...     {"text": "5", "metrics": {"correct": 1}}, {"text": "6", "metrics": {"correct": None}}]}])
        >>> samples.labelled("correct").size
        1
        """
        kept = ~np.isnan(self.metrics[column]) if column in self.metrics else np.ones(self.size, np.bool_)
        if kept.all():
            return self
        some = self.keep(kept)
        return some[np.flatnonzero(np.diff(some.bounds)).tolist()]

    def keep(self, kept: NDArray[np.bool_]) -> Candidates:
        """Some candidates; segments stay, even empty ones.

        Parameters
        ----------
        kept : numpy.ndarray of bool
            A mark for every candidate.

        Returns
        -------
        Candidates
            The marked candidates.

        Examples
        --------
        >>> lists.keep(lists.rank() == 0)
        Candidates(2 segments, 2 candidates, 2 dense + 1 sparse features)
        """
        rows = np.flatnonzero(kept)
        return self._with(
            lists=self.lists.keep(kept),
            texts=self.texts.take(rows),
            scores=self.scores[kept],
            notes=self.notes.take(rows),
            metrics={name: column[kept] for name, column in self.metrics.items()},
            seen=self.seen[kept],
            fields={name: strings.take(kept) for name, strings in self.fields.items()},
        )

    @overload
    def __getitem__(self, segments: Index) -> Segment: ...

    @overload
    def __getitem__(self, segments: Selection | tuple[Selection, EllipsisType]) -> Candidates: ...

    def __getitem__(self, segments: Index | Selection | tuple[Selection, EllipsisType]) -> Segment | Candidates:
        if isinstance(segments, int | np.integer):
            return Segment(self, place(segments, len(self)))
        chosen = places_of(segments[0] if isinstance(segments, tuple) else segments, len(self))
        return self.take(*taken(self.bounds, chosen), self.segments.take(chosen))

    def __iter__(self) -> Iterator[Segment]:
        return (Segment(self, s) for s in range(len(self)))

    def at(self, iteration: int) -> Candidates:
        """The same candidates, as produced by a decoding iteration.

        Parameters
        ----------
        iteration : int
            The number of the iteration.

        Returns
        -------
        Candidates
            The same candidates, with `seen` set.

        Examples
        --------
        >>> lists.at(3).seen.tolist()
        [3, 3, 3, 3]
        """
        return self._with(seen=np.full(self.size, iteration, np.int32))

    def distinct(self) -> Candidates:
        """The lists without duplicates: of candidates with the same tokens and features the first one stays (S1, C2).

        Returns
        -------
        Candidates
            The distinct candidates.

        Examples
        --------
        >>> lists[[0, 0]].distinct().size
        4
        """
        scores = self.score(np.random.default_rng(0).standard_normal(len(self.features)))
        kept, seen = np.empty(self.size, bool), np.empty(self.size, np.int32)
        for first, last in pairwise(self.lists.cuts().tolist()):
            rows = slice(*self.bounds[[first, last]])
            part = self.lists.part(first, last), self.texts.part(rows.start, rows.stop), scores[rows]
            kept[rows], seen[rows] = first_of_equals(*part, self.seen[rows])
        return self if kept.all() else self._with(seen=seen).keep(kept)

    def merge(self, fresh: Candidates) -> Candidates:
        """The union of two lists, segment by segment, without duplicates.

        Parameters
        ----------
        fresh : Candidates
            What to add; segments are matched by name.

        Returns
        -------
        Candidates
            These candidates first, then the new ones. Of equal candidates the latest iteration is kept in `seen`.

        Examples
        --------
        >>> lists[:1].merge(lists)
        Candidates(2 segments, 4 candidates, 2 dense + 1 sparse features)
        """
        features, mine, theirs = self.features.union(fresh.features)
        ours, others = self.rows(), fresh.rows()
        names = {name: s for s, name in enumerate(self.segments)}
        additional = [s for s, name in enumerate(fresh.segments) if name not in names]
        partner = {names[name]: s for s, name in enumerate(fresh.segments) if name in names}
        picks, lengths = [], []
        for s in range(len(self.segments)):
            span = [np.arange(self.bounds[s], self.bounds[s + 1])]
            if s in partner:
                span.append(np.arange(fresh.bounds[partner[s]], fresh.bounds[partner[s] + 1]) + self.size)
            picks += span
            lengths.append(sum(map(len, span)))
        for s in additional:
            picks.append(np.arange(fresh.bounds[s], fresh.bounds[s + 1]) + self.size)
            lengths.append(len(picks[-1]))
        both = rows_joined(ours, others, len(self.features))
        segments = Texts.join([self.segments, fresh.segments.take(np.array(additional, np.int64))])
        order = np.concatenate([np.zeros(0, np.int64), *picks])
        bounds = ends(np.array(lengths, np.int64))
        places = np.concatenate([mine, theirs])
        merged = pack(both, order, bounds, segments, places, features)
        return self._trusted(*merged._replace(seen=np.concatenate([self.seen, fresh.seen])[order])).distinct()


def _require_count(what: str, numbers: Reals, of: str, count: int) -> None:
    """Raise InputError on arrays that kernels would read beyond their ends."""
    if numbers.shape != (count,):
        raise InputError(f"{what} of shape {numbers.shape}; expected {count:,}, one for each of the {of}")
