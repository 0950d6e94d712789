"""Candidates and references as records in memory: a segment each, or a candidate each (docs/formats.md)."""

from __future__ import annotations

import math
from array import array
from collections.abc import Iterable, Iterator, Mapping
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rampion.arrays import ends, span_of_each, taken
from rampion.errors import InputError, meant
from rampion.store import gaps, readings, shapes
from rampion.store.coded import Coded
from rampion.store.columns import GUESSED, INDEX, OPTIONAL, Columns
from rampion.store.groups import grouped, groups_of
from rampion.store.names import Labels, Names
from rampion.store.readings import WrongError
from rampion.store.rows import Rows
from rampion.store.text import Texts


class Read(NamedTuple):
    """Candidates of records, and notices about them."""

    rows: Rows
    notices: list[str]


def rows_of(records: Iterable[Mapping[str, Any]], names: Names) -> Rows:
    """The candidates of records that are in memory, of any shape; their feature names join `names`."""
    return read(records, names).rows


def read(records: Iterable[Mapping[str, Any]], names: Names, columns: Columns | None = None) -> Read:
    """The same, with notices."""
    builder = Builder(Labels(names), "records", columns)
    for index, record in enumerate(records):
        try:
            builder.take(record, index)
        except WrongError as wrong:
            raise InputError(f"record {index}: {wrong}") from wrong
    try:
        rows = builder.rows()
        builder.prove()
    except WrongError as wrong:
        raise InputError(f"records: {wrong}" if wrong.at is None else f"record {wrong.at}: {wrong}") from wrong
    [rows], notices = gaps.filled([rows], names, builder.whole)
    return Read(rows, [*builder.notices(), *notices])


def records_of(rows: Rows, names: Texts) -> Iterator[dict[str, Any]]:
    """One record a segment; feature j is called names[j]."""
    metrics = [(name, column.tolist()) for name, column in rows.metrics.items()]
    fields = {name: list(strings) for name, strings in rows.fields.items()}
    candidates = enumerate(grouped(rows, groups_of(names)))
    for identity, (first, last) in zip(rows.segments, pairwise(rows.bounds.tolist()), strict=True):
        record: dict[str, Any] = {"id": identity}
        for name in shapes.OF_SEGMENT & fields.keys():
            if first < last and (value := fields[name][first]):
                record[name] = float(value) if name == "weight" else value
        hyps = []
        for i, candidate in (next(candidates) for _ in range(first, last)):
            feats = {label: cells if len(cells) > 1 else cells[0] for label, cells in candidate}
            hyp: dict[str, Any] = {"text": rows.texts[i], "feats": feats}
            if labels := {name: column[i] for name, column in metrics if not math.isnan(column[i])}:
                hyp["metrics"] = labels
            if not math.isnan(rows.scores[i]):
                hyp["score"] = float(rows.scores[i])
            if note := rows.notes[i]:
                hyp["note"] = note
            if kept := {name: cells[i] for name, cells in fields.items() if name not in shapes.OF_SEGMENT and cells[i]}:
                hyp["fields"] = kept
            hyps.append(hyp)
        yield record | {"hyps": hyps}


def references_in(record: Mapping[str, Any]) -> list[str]:
    """The references that a record holds, without blank ones."""
    refs = record.get("refs", [])
    if not isinstance(refs, list):
        raise WrongError("refs is not a list of strings")
    return [ref for ref in (readings.string(ref, "refs").strip() for ref in refs) if ref]


class Builder:
    """Collects rows from records of segments or of single candidates; a bad record leaves no trace."""

    def __init__(self, labels: Labels, where: str, columns: Columns | None = None) -> None:
        self.labels, self.where, self.columns = labels, where, Columns() if columns is None else columns
        self.given, self.guesses = self.columns.roles(), dict[str, str]()
        self.plain = set[str]()  # columns of plain names
        self.seen: set[str] = set()
        self.whole: set[str] = set()  # features that are missing where they are absent
        self.refs: dict[str, list[str]] = {}
        self.referred = set[tuple[str, str]]()  # segments and references of rows
        self.kinds: dict[str, _Kind] = {}  # of columns without a role
        self.met: set[str] = set()  # columns that the user has named and that occur
        self.labelled: set[str] = set()  # columns beside feats that are labels by their names
        self.known: dict[str, tuple[int, int]] = {}
        self.local = list[tuple[str, int]]()  # labels and sizes by the number of their first value
        self.flat = self.program = False
        self.count = self.at = 0
        self.told: list[str] = []  # of the last rows' weights
        self.order = np.zeros(0, np.int64)  # of the last rows: the candidates' places in the records
        self._clear()

    def _clear(self) -> None:
        self.numbers: dict[str, int] = {}
        self.texts, self.notes, self.scores, self.owners = list[str](), list[str](), array("d"), array("q")
        self.slots, self.values, self.counts = array("q"), array("d"), array("q")
        self.metrics: dict[str, array[float]] = {}
        self.fields: dict[str, tuple[dict[str, int], array[int]]] = {}

    # What comes in

    def take(self, record: Any, at: int = 0) -> None:
        """Append the segment or the candidate that the record is; `line` is its line."""
        self.at = at
        if isinstance(record, list) and record and all(isinstance(one, Mapping) for one in record):
            record = {"candidates": record}
        if not isinstance(record, Mapping):
            raise WrongError('is not a record like {"id": "7", "hyps": [{"text": "…", "feats": {"LM": -3.5}}]}')
        rows = shapes.rows(record)
        try:
            segments = None if rows else shapes.segments(record, len(self.seen))
        except shapes.ShapeError as wrong:
            raise WrongError(str(wrong)) from wrong
        self.program = shapes.of_program(record) is not None
        if segments is None:
            for row in rows or [record]:
                self.row(row)
        for segment in segments or ():
            self.add(segment)

    def add(self, record: Mapping[str, Any]) -> None:
        """Append a segment's candidates."""
        identity, hyps = segment_id(record), record.get("hyps")
        if identity in self.seen:
            of = f" (filter {record['filter']})" if isinstance(record.get("filter"), str) else ""
            raise WrongError(f"segment {identity}{of} is in the list already; give every segment one record")
        if not isinstance(hyps, list) or not hyps:
            raise WrongError(f"segment {identity} has no hypotheses; hyps must be a list of at least one")
        refs = references_in(record)
        above = {name: cell for name, cell in record.items() if name not in ("id", "hyps", "refs", "fields")}
        used = {*shapes.OF_SEGMENT, *self.given, self.columns.grouping}
        unused = {name for name in above if name not in used}
        for name in unused:
            del above[name]
        found = [self._candidate(hyp, above, f"hyps[{i}]") for i, hyp in enumerate(hyps)]
        for name in unused:
            self._kind(name).add(record[name], self.at)
        self.seen.add(identity)
        if "refs" in record:
            self.refs[identity] = refs
        for one in found:
            self._append(identity, one)

    def row(self, cells: Mapping[str, Any]) -> None:
        """Append a candidate of a table; rows of a segment need not stand together."""
        self.flat = True
        if not self.count:
            _refuse_columns(cells)
        if any(name not in self.guesses for name in cells):
            self._guess(cells)
        one = _Candidate()
        for name, cell in cells.items():
            self._cell(one, name, cell, name)
        identity = one.identity
        if identity is None and self.columns.size:
            identity = str(self.count // self.columns.size)
        if identity is None:
            identity = one.fields.get("source")
        for role in ("id", "text"):
            self._refuse_unmet(role)
        if not identity:
            if one.text is not None and not self.columns:
                raise WrongError(
                    f"has no segment; it has {_listed(cells)}: say which column names it (--columns id=COLUMN), or, if "
                    "all lists are equally long, how many rows a list has (--columns size=N)"
                )
            raise WrongError(
                f"has no segment; it has {_listed(cells)}: say which column names the segment and which holds "
                "the text, as in --columns id=COLUMN,text=COLUMN"
            )
        if one.text is None:
            held = next((name for name, role in (self.guesses | self.given).items() if role == "text"), None)
            if held in self.met:
                raise WrongError(f"has no {held!r}, the column of the text; add it, or leave the candidate out")
            raise WrongError(f"has no text; it has {_listed(cells)}: say which column holds it: --columns text=COLUMN")
        self.seen.add(identity)
        if one.refs:
            known = self.refs.setdefault(identity, [])
            for ref in one.refs:
                if (identity, ref) not in self.referred:
                    self.referred.add((identity, ref))
                    known.append(ref)
        self._append(identity, one)

    def _guess(self, cells: Mapping[str, Any]) -> None:
        """Give roles to columns with common names that are met for the first time."""
        fresh = [name for name in cells if name not in self.guesses]
        self.plain |= GUESSED.keys() & fresh
        found = self.columns.guessed(self.plain).roles()
        for name in fresh:
            self.guesses[name] = found.get(name, "drop" if INDEX.fullmatch(name) else "")

    def _candidate(self, hyp: Any, above: Mapping[str, Any], where: str) -> _Candidate:
        if not isinstance(hyp, dict):
            raise WrongError(f"{where} is not an object with text, feats and metrics")
        one = _Candidate()
        for name, cell in above.items():
            self.met.add(name)
            self._group(one, name, cell, name)
            if role := self.given.get(name, name if name in shapes.OF_SEGMENT else ""):
                self._put(one, role, name, cell, name)
        for name, cell in hyp.items():
            self._cell(one, name, cell, f"{where}.{name}")
        if one.text is None:
            raise WrongError(f"{where}.text is not a string of Unicode characters; it has {_listed(hyp)}")
        return one

    def _cell(self, one: _Candidate, name: str, cell: Any, where: str) -> None:
        """Add a cell according to the role of its column."""
        self._group(one, name, cell, where)
        role = self.given.get(name) or self.guesses.get(name) or self._label_beside(name)
        if role:
            self.met.add(name)
            self._put(one, role, name, cell, where)
        elif not self.flat and name in ("text", "score", "note"):
            self._put(one, name, name, cell, where)
        elif self.flat and isinstance(cell, list) and name in ("feats", "features"):
            self._nested(one, name, cell, where)
        elif name in ("feats", "features") and not (isinstance(cell, str) and self.flat):
            for label, value in readings.mapping(cell, where).items():
                self._nested(one, label, value, f"{where}[{label!r}]")
        elif name == "metrics" and isinstance(cell, Mapping):
            for label, value in cell.items():
                self.met.add(label)
                one.metrics[readings.string(label, where)] = readings.label(value, f"{where}[{label!r}]")
        elif name == "fields" and isinstance(cell, Mapping):
            one.fields |= {
                readings.string(label, where): readings.string(value, where) for label, value in cell.items()
            }
        else:
            if name in ("metrics", "fields") and not self.flat:
                readings.mapping(cell, where)
            self._open(one, name, cell, where)

    def _label_beside(self, name: str) -> str:
        """The role of a column in a list's candidates by its common name: a label is never a feature."""
        if self.flat or GUESSED.get(name) != "target":
            return ""
        self.labelled.add(name)
        return "target"

    def _group(self, one: _Candidate, name: str, cell: Any, where: str) -> None:
        """Keep the cell if it names the group of the segment."""
        if name == self.columns.grouping:
            one.fields[name] = readings.shown(cell, where)

    def _nested(self, one: _Candidate, label: str, value: Any, where: str) -> None:
        """Add a feature, which may have several values, unless its name has another role."""
        if label in self.given:
            self.met.add(label)
            if self.given[label] != "features":
                self._put(one, self.given[label], label, value, where)
                return
        numbers = value if isinstance(value, list) else (value,)
        first = self._first(label, len(numbers), where)
        one.slots += range(first, first + len(numbers))
        one.values += [readings.number(item, where) for item in numbers]

    def _open(self, one: _Candidate, name: str, cell: Any, where: str) -> None:
        """Add a cell of a column without a role: a feature if the column holds numbers."""
        kind, (found, value) = self._kind(name), readings.read(cell)
        if found == readings.OTHER or (isinstance(cell, str) and not self.flat):
            kind.add(cell, self.at)
            return
        kind.numbers += found == readings.NUMBER
        if self.columns.features and name not in self.columns.features:
            return
        if math.isinf(value) and value > 0:
            raise WrongError(f"{where} is {cell!r}; a finite number is expected")
        one.slots.append(self._first(name, 1, where))
        one.values.append(value)

    def _kind(self, name: str) -> _Kind:
        return self.kinds.setdefault(name, _Kind())

    def _put(self, one: _Candidate, role: str, name: str, cell: Any, where: str) -> None:
        """Add a cell of a column with a role."""
        match role:
            case "id":
                one.identity = readings.identifier(cell, where)
            case "text":
                one.text = readings.text(cell, where)
                if not one.text.strip():
                    one.text = ""
            case "source" if isinstance(cell, list) and all(isinstance(one, str) for one in cell):
                raise WrongError(
                    f"{where} is a list of {len(cell)} texts; a source or prompt is one (candidates stand under a name "
                    "such as candidates, and right answers under refs)"
                )
            case "source" | "group" | "keep":
                one.fields[name if role == "keep" else role] = readings.shown(cell, where)
            case "weight":
                one.fields["weight"] = readings.weight(cell, where)
            case "score":
                one.score = readings.finite(cell, where)
            case "note":
                one.note = readings.string(cell, where)
            case "target":
                one.metrics[name] = readings.label(cell, where)
            case "refs":
                refs = cell if isinstance(cell, list) else [] if cell is None else [cell]
                one.refs += [ref for ref in (readings.plain_text(ref, where).strip() for ref in refs) if ref]
            case "indicators":
                if shown := readings.shown(cell, where):
                    one.slots.append(self._first(f"{name}={shown}", 1, where, indicator=True))
                    one.values.append(1.0)
                    one.fields[name] = shown
            case "features" if isinstance(cell, Mapping):
                for label, value in cell.items():
                    self._nested(one, f"{name}.{readings.string(label, where)}", value, f"{where}[{label!r}]")
            case "features" if isinstance(cell, list):
                self._nested(one, name, cell, where)
            case "features":
                one.slots.append(self._first(name, 1, where))
                one.values.append(readings.number(cell, where, words=True))

    def _first(self, name: str, size: int, where: str, indicator: bool = False) -> int:
        """The id of the label's first value."""
        if name not in self.known:
            if not readings.string(name, where) or name.startswith(Labels.METRIC) or size == 0:
                raise WrongError(f"{where} is no feature: a name (not metric:…) and at least one value are expected")
            self.known[name] = len(self.local), size
            self.local += [(name, place) for place in range(size)]
            if self.program or (self.flat and not indicator and "[" not in where):
                self.whole.add(name)
        first, expected = self.known[name]
        if size != expected:
            raise WrongError(f"{where} has {size} values here and {expected} elsewhere; lists must be of one system")
        return first

    def _append(self, identity: str, one: _Candidate) -> None:
        if len(set(one.slots)) < len(one.slots):
            raise WrongError("a feature appears twice in one candidate; give one of them another name")
        at = len(self.texts)
        self.owners.append(self.numbers.setdefault(identity, len(self.numbers)))
        self.texts.append(one.text or "")
        self.notes.append(one.note)
        self.scores.append(one.score)
        self.slots.extend(one.slots)
        self.values.extend(one.values)
        self.counts.append(len(one.slots))
        for name, number in one.metrics.items():
            column = self.metrics.setdefault(name, array("d"))
            column.extend([math.nan] * (at - len(column)))
            column.append(number)
        for name, string in one.fields.items():
            known, codes = self.fields.setdefault(name, ({"": 0}, array("I")))
            codes.extend([0] * (at - len(codes)))
            codes.append(known.setdefault(string, len(known)))
        self.count += 1

    # What goes out

    def rows(self) -> Rows:
        """The candidates since the last call."""
        texts = self._texts_not_numbers()
        slots = np.frombuffer(self.slots, np.int64) if self.slots else np.zeros(0, np.int64)
        values, counts = np.array(self.values, np.float64), np.array(self.counts, np.int64)
        if texts:
            numbers = [first for name in texts for first, _ in [self.known[name]]]
            kept = ~np.isin(slots, numbers)
            owners = np.repeat(np.arange(len(counts)), counts)[kept]
            slots, values, counts = slots[kept], values[kept], np.bincount(owners, minlength=len(counts))
        n = len(self.texts)
        columns = {name: np.append(column, np.full(n - len(column), np.nan)) for name, column in self.metrics.items()}
        fields = {
            name: Coded(Texts.from_strings(known), np.append(codes, np.zeros(n - len(codes))).astype(np.uint32))
            for name, (known, codes) in self.fields.items()
        }
        rows = Rows(
            segments=Texts.from_strings(self.numbers),
            bounds=ends(np.bincount(np.array(self.owners, np.int64), minlength=len(self.numbers))),
            texts=Texts.from_strings(self.texts),
            entry_bounds=ends(counts),
            ids=self._ids(texts)[slots].astype(np.uint32),
            values=values,
            scores=np.array(self.scores, np.float64),
            notes=Texts.from_strings(self.notes),
            metrics=columns,
            fields=fields,
        )
        owners = np.array(self.owners, np.int64)
        self.order = np.argsort(owners, kind="stable")
        rows = _in_order(rows, owners, self.order)
        for role in {"weight", "group"} & rows.fields.keys():
            codes, owners = rows.fields[role].codes, span_of_each(rows.bounds)
            for i in np.flatnonzero(codes != codes[rows.bounds[owners]])[:1].tolist():
                column = next((name for name, one in (self.guesses | self.given).items() if one == role), role)
                other = f", or keep the column as it is: --columns keep={column}" if role == "group" else ""
                raise WrongError(
                    f"segment {rows.segments[owners[i]]} has two {role}s; give all its candidates the same{other}"
                )
        self.told = gaps.weights_told(rows)
        self._clear()
        return rows

    def _ids(self, texts: set[str]) -> NDArray[np.int64]:
        """The feature of every value, -1 for columns that hold no numbers."""
        sizes = {name: size for name, (_, size) in self.known.items() if name not in texts}
        firsts = {name: self.labels.meet(name, size) for name, size in sizes.items()}
        self.labels.settle(self.where)
        for name, (_, size) in firsts.items():
            if size != sizes[name]:
                raise WrongError(
                    f"{name} has {sizes[name]} values here and {size} elsewhere; lists must be of one system"
                )
        slots = [firsts[name][0] + place if name in firsts else -1 for name, place in self.local]
        return np.append(self.labels.slot_ids, -1)[np.array(slots, np.int64)]

    def _texts_not_numbers(self) -> set[str]:
        """Columns without a role of which at least half of the cells are no numbers; fewer such cells are an error."""
        found = set()
        for name, kind in self.kinds.items():
            if self.flat and name in self.known and not kind.numbers and not kind.others:
                found.add(name)
            elif kind.others and name in self.known:
                if not self.flat or 2 * kind.others < kind.numbers:
                    raise WrongError(
                        f"{str(kind.first)[:60]!r} stands in the column {name!r}, which holds numbers in "
                        f"{kind.numbers} others; mend it, leave it empty, or add --columns drop={name}",
                        kind.at,
                    )
                found.add(name)
            if kind.odd and kind.odd == kind.others and (self.flat or not kind.numbers):
                raise WrongError(
                    f"{kind.first!r} is a number with a comma or a percent sign, as are others of the column {name!r}; "
                    f"write plain numbers such as 0.5, or add --columns drop={name}",
                    kind.at,
                )
        return found

    def prove(self) -> None:
        """Raise WrongError if a column that the user has named is missing; new lists may lack labels and references."""
        for role, name in self.columns.missing(self.met):
            if role not in OPTIONAL:
                raise WrongError(self._nowhere(role, name))

    def _refuse_unmet(self, role: str) -> None:
        named = getattr(self.columns, role)
        if named is not None and named not in self.met:
            raise WrongError(self._nowhere(role, named))

    def _nowhere(self, role: str, name: str) -> str:
        there = [*dict.fromkeys([*self.guesses, *self.met, *self.kinds, *self.known])]
        return f"--columns {role}={name}: there is no such column; it has {_some(there)}{meant(name, there)}"

    def notices(self) -> list[str]:
        """Notices of how records were read and what was not used, a sentence each."""
        found, texts = (
            list(self.told),
            {name for name, kind in self.kinds.items() if kind.others >= max(kind.numbers, 1)},
        )
        empty = {name for name, kind in self.kinds.items() if not kind.numbers and not kind.others}
        if self.flat:
            roles = {name: role for name, role in (self.guesses | self.given).items() if role and role != "drop"}
            roles = {name: role for name, role in roles.items() if name in self.met or role not in OPTIONAL}
            feats = [name for name in self.known if name not in texts]
            if any(name not in self.given for name in roles) or not self.given:
                said = " ".join(f"{role}={name}" for name, role in roles.items())
                found.append(f"one candidate a row: {said}; features: {_some(feats)}")
            if self.count > 1 and len(self.seen) == self.count:
                found.append(
                    "every list has one candidate; if some belong together, name their segment: --columns id=COLUMN"
                )
        found += [self._nowhere(role, name) for role, name in self.columns.missing(self.met)]
        if self.labelled:
            names = sorted(self.labelled)
            found.append(
                f"labels, not features: {_some(names)} (as a feature: --columns features={'+'.join(names[:8])})"
            )
        odd = dict(self._odd(texts))
        found += odd.values()
        left = {name for name, role in self.guesses.items() if role == "drop" and name not in self.given}
        if unused := sorted((texts | empty | left | self._not_features()) - odd.keys() - {self.columns.grouping}):
            found.append(
                f"not used: {_some(unused)} (to keep a column: --columns keep=NAME; as features: indicators=NAME)"
            )
        return found

    def _odd(self, texts: set[str]) -> Iterator[tuple[str, str]]:
        """Unused columns that a user might expect to be used, with the reason."""
        for name in sorted(texts - self._not_features()):
            kind = self.kinds[name]
            if kind.numbers:
                cells = kind.numbers + kind.others
                yield name, f"not used: {name}, since {kind.others} of {cells} cells are no numbers ({kind.shown})"
            elif isinstance(kind.first, Mapping | list) and self.flat and readings.holds_numbers(kind.first):
                held = f"not used: {name}, which holds {str(kind.first)[:40]!r}"
                yield name, f"{held} (as features: --columns features={name})"

    def _not_features(self) -> set[str]:
        only = self.columns.features
        return {name for name in self.kinds if only and name not in only}


def _refuse_columns(cells: Mapping[str, Any]) -> None:
    """Raise WrongError if a whole table is turned on its side, as data frames write it by default."""
    sizes = {len(cell) if isinstance(cell, Mapping | list) else 0 for cell in cells.values()}
    if len(cells) > 1 and len(sizes) == 1 and min(sizes) > 1:
        raise WrongError(
            f"has {min(sizes)} cells under each key; write a record for each candidate or each segment (pandas: "
            "orient='records', lines=True)"
        )


class _Kind:
    """The cells of a column without a role: how many are numbers, and the first that is none."""

    __slots__ = ("at", "first", "numbers", "odd", "others")

    def __init__(self) -> None:
        self.numbers = self.others = self.odd = self.at = 0
        self.first: Any = None

    def add(self, cell: Any, at: int) -> None:
        """Count a cell that is no number."""
        if not self.others:
            self.first, self.at = cell, at
        self.others += 1
        self.odd += isinstance(cell, str) and readings.ODD.fullmatch(cell.strip()) is not None

    @property
    def shown(self) -> str:
        """The first cell that is no number, as an example."""
        return f"such as {str(self.first)[:40]!r}"


class _Candidate:
    """The parts of a candidate, collected before the whole record has been checked."""

    __slots__ = ("fields", "identity", "metrics", "note", "refs", "score", "slots", "text", "values")

    def __init__(self) -> None:
        self.identity: str | None = None
        self.text: str | None = None
        self.note, self.score = "", math.nan
        self.slots, self.values = list[int](), list[float]()
        self.metrics, self.fields, self.refs = dict[str, float](), dict[str, str](), list[str]()


def _in_order(rows: Rows, owners: NDArray[np.int64], order: NDArray[np.int64]) -> Rows:
    """The candidates of every segment together, in the order in which the segments appeared."""
    if (owners[1:] >= owners[:-1]).all():
        return rows
    places, entry_bounds = taken(rows.entry_bounds, order)
    return rows._replace(
        texts=rows.texts.take(order),
        entry_bounds=entry_bounds,
        ids=rows.ids[places],
        values=rows.values[places],
        scores=rows.scores[order],
        notes=rows.notes.take(order),
        metrics={name: column[order] for name, column in rows.metrics.items()},
        fields={name: strings.take(order) for name, strings in rows.fields.items()},
    )


def segment_id(record: Any) -> str:
    """The record's id as a string."""
    identity = record.get("id") if isinstance(record, Mapping) else None
    if isinstance(identity, bool) or not isinstance(identity, int | str) or identity == "":
        raise WrongError('is not a record like {"id": "7", "hyps": [{"text": "…", "feats": {"LM": -3.5}}]}')
    return readings.string(str(identity), "id")


def _listed(cells: Mapping[str, Any]) -> str:
    return _some(map(str, cells))


def _some(names: Iterable[str], most: int = 8) -> str:
    names = list(names)
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return (", ".join(names[:most]) or "none") + more


def references_of(records: Iterable[Mapping[str, Any]]) -> Iterator[list[str]]:
    """The references of records in memory; raise InputError if a record has none."""
    for index, record in enumerate(records):
        try:
            segment_id(record)
            refs = references_in(record)
        except WrongError as wrong:
            raise InputError(f"record {index}: {wrong}") from wrong
        if not refs:
            raise InputError(f'record {index}: has no reference; give it "refs", a list of strings')
        yield refs
