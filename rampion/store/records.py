"""Candidates and references as records in memory, the shape that JSONL files have: {"id": "7", "hyps": [...]}."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np

from rampion.errors import InputError
from rampion.store.groups import grouped, groups_of
from rampion.store.lists import Rows
from rampion.store.names import Labels, Names
from rampion.store.text import Texts


def rows_of(records: Iterable[Mapping[str, Any]], names: Names) -> Rows:
    """The candidates of records of the same shape that are in memory; their feature names join `names`."""
    builder = Builder(Labels(names), "records")
    for index, record in enumerate(records):
        try:
            builder.add(record)
        except WrongError as wrong:
            raise InputError(f"record {index}: {wrong}") from wrong
    return builder.rows()


def records_of(rows: Rows, names: Texts) -> Iterator[dict[str, Any]]:
    """One record a segment; feature j is called names[j]."""
    groups = groups_of(names)
    metrics = [(name, column.tolist()) for name, column in rows.metrics.items()]
    hyps = []
    for i, candidate in enumerate(grouped(rows, groups)):
        feats = {label: cells if len(cells) > 1 else cells[0] for label, cells in candidate}
        hyp: dict[str, Any] = {"text": rows.texts[i], "feats": feats}
        if metrics:
            hyp["metrics"] = {name: column[i] for name, column in metrics}
        if not math.isnan(rows.scores[i]):
            hyp["score"] = float(rows.scores[i])
        if note := rows.notes[i]:
            hyp["note"] = note
        hyps.append(hyp)
    for segment, identity in enumerate(rows.segments):
        yield {"id": identity, "hyps": hyps[rows.bounds[segment] : rows.bounds[segment + 1]]}


def references_in(record: Mapping[str, Any]) -> list[str]:
    """The references that a record holds, without blank ones."""
    refs = record.get("refs", [])
    if not isinstance(refs, list):
        raise WrongError("refs is not a list of strings")
    return [ref for ref in (string(ref, "refs").strip() for ref in refs) if ref]


class WrongError(Exception):
    """What is wrong with a record; the caller adds where the record is."""


class Builder:
    """Rows in the making; a bad record leaves no trace in them."""

    def __init__(self, labels: Labels, where: str) -> None:
        self.labels, self.where = labels, where
        self.known: dict[str, tuple[int, int]] = {}
        self.seen: set[str] = set()
        self.metrics: list[str] | None = None
        self._clear()

    def _clear(self) -> None:
        self.segments, self.sizes = list[str](), list[int]()
        self.texts, self.notes, self.scores = list[str](), list[str](), list[float]()
        self.slots, self.values, self.counts = list[int](), list[float](), list[int]()
        self.columns: list[list[float]] = []

    def add(self, record: Any) -> None:
        """Append the segment's candidates."""
        identity, hyps = segment_id(record), record.get("hyps")
        if identity in self.seen:
            raise WrongError(f"segment {identity} stands in the list already; give every segment one record")
        if not isinstance(hyps, list) or not hyps:
            raise WrongError(f"segment {identity} has no hypotheses; hyps must be a list of at least one")
        metrics = self.metrics
        try:
            found = [self._candidate(hyp, f"hyps[{i}]") for i, hyp in enumerate(hyps)]
        except WrongError:
            self.metrics = metrics
            raise
        self.seen.add(identity)
        self.segments.append(identity)
        self.sizes.append(len(hyps))
        for text, note, score, slots, values, column in found:
            self.texts.append(text)
            self.notes.append(note)
            self.scores.append(score)
            self.slots += slots
            self.values += values
            self.counts.append(len(slots))
            self.columns.append(column)

    def _candidate(self, hyp: Any, where: str) -> tuple[str, str, float, list[int], list[float], list[float]]:
        if not isinstance(hyp, dict):
            raise WrongError(f"{where} is not an object with text, feats and metrics")
        text, note = string(hyp.get("text"), f"{where}.text"), string(hyp.get("note", ""), f"{where}.note")
        if not text.strip():
            raise WrongError(f"{where}.text is an empty hypothesis; mend the record or read leniently")
        score = _number(hyp["score"], f"{where}.score") if "score" in hyp else math.nan
        slots, values = list[int](), list[float]()
        for name, value in _object(hyp, "feats", where).items():
            numbers = value if isinstance(value, list) else (value,)
            values += [_number(item, f"{where}.feats[{name!r}]") for item in numbers]
            first = self._first(name, len(numbers), f"{where}.feats[{name!r}]")
            slots += range(first, first + len(numbers))
        columns = _object(hyp, "metrics", where)
        metrics = {name: _number(value, f"{where}.metrics[{name!r}]") for name, value in columns.items()}
        if self.metrics is None:
            self.metrics = [string(name, f"{where}.metrics") for name in metrics]
        if metrics.keys() != set(self.metrics):
            found, expected = ", ".join(sorted(metrics)) or "none", ", ".join(sorted(self.metrics)) or "none"
            raise WrongError(f"{where} has the metrics {found}, earlier ones {expected}; give all candidates the same")
        return text, note, score, slots, values, [metrics[name] for name in self.metrics]

    def _first(self, name: str, size: int, where: str) -> int:
        """The slot of the label's first value."""
        if name not in self.known:
            if not string(name, where) or name.startswith(Labels.METRIC) or size == 0:
                raise WrongError(f"{where} is no feature: a name (not metric:…) and at least one value are expected")
            self.known[name] = self.labels.meet(name, size)
        first, expected = self.known[name]
        if size != expected:
            raise WrongError(f"{where} has {size} values here and {expected} elsewhere; lists must be of one system")
        return first

    def rows(self) -> Rows:
        """The candidates since the last call."""
        self.labels.settle(self.where)
        columns = np.array(self.columns, np.float64).reshape(len(self.texts), -1)
        rows = Rows(
            segments=Texts.from_strings(self.segments),
            bounds=np.cumsum([0, *self.sizes]),
            texts=Texts.from_strings(self.texts),
            entry_bounds=np.cumsum([0, *self.counts]),
            ids=self.labels.slot_ids[np.array(self.slots, np.int64)].astype(np.uint32),
            values=np.array(self.values, np.float64),
            scores=np.array(self.scores, np.float64),
            notes=Texts.from_strings(self.notes),
            metrics={name: columns[:, place].copy() for place, name in enumerate(self.metrics or ())},
        )
        self._clear()
        return rows


def segment_id(record: Any) -> str:
    """The record's id as a string."""
    identity = record.get("id") if isinstance(record, Mapping) else None
    if isinstance(identity, bool) or not isinstance(identity, int | str) or identity == "":
        raise WrongError('is not a record like {"id": "7", "hyps": [{"text": "…", "feats": {"LM": -3.5}}]}')
    return string(str(identity), "id")


def string(value: Any, where: str) -> str:
    """The value, which must be a string of Unicode characters."""
    try:
        value.encode()
    except (AttributeError, UnicodeEncodeError) as error:
        raise WrongError(f"{where} is not a string of Unicode characters") from error
    return str(value)


def _number(value: Any, where: str) -> float:
    try:
        found = math.nan if isinstance(value, bool | str) else float(value)
    except (TypeError, ValueError, OverflowError):
        found = math.nan
    if not math.isfinite(found):
        raise WrongError(f"{where} is {str(value)[:60]!r}; a finite number is expected")
    return found


def _object(hyp: Mapping[str, Any], key: str, where: str) -> Mapping[str, Any]:
    value = hyp.get(key, {})
    if not isinstance(value, Mapping):
        raise WrongError(f"{where}.{key} is not an object of names and numbers")
    return value


def references_of(records: Iterable[Mapping[str, Any]]) -> Iterator[list[str]]:
    """The references of records in memory, which must have some."""
    for index, record in enumerate(records):
        try:
            segment_id(record)
            refs = references_in(record)
        except WrongError as wrong:
            raise InputError(f"record {index}: {wrong}") from wrong
        if not refs:
            raise InputError(f'record {index}: has no reference; give it "refs", a list of strings')
        yield refs
