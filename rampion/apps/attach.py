"""Attach values from files to the candidates of lists: features, metric columns, fields."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rampion.console import note
from rampion.errors import InputError
from rampion.formats import is_store, read_lists, references, save_nbest, scores, store
from rampion.formats.files import shown
from rampion.store.candidates import Candidates
from rampion.store.coded import Coded
from rampion.store.columns import Columns
from rampion.store.gaps import MARK, imputed
from rampion.store.text import References

KINDS = "feature", "metric", "field"


class Attached(NamedTuple):
    """The attached values, and the number of candidates that lack one."""

    name: str
    kind: str
    candidates: int
    missing: int


def attach(
    path: str, named: Sequence[str], out: str, kind: str = "feature", columns: Sequence[str] | None = None
) -> list[Attached]:
    """Write the lists with another value for every candidate from each NAME=FILE."""
    if kind not in KINDS:
        raise InputError(f"--as {kind}: expected {', '.join(KINDS)}")
    for said in named:
        if not all(said.partition("=")):
            raise InputError(f"{said}: expected NAME=FILE, the name of the {kind} and the file of its values")
        if os.path.realpath(said.partition("=")[2]) == os.path.realpath(out):
            raise InputError(f"--out {out}: would overwrite the values of {said}; name another")
    lists, order, records = _read(path, columns)
    facts = []
    for said in named:
        name, _, file = said.partition("=")
        lists, missing = _with(lists, name, file, kind, order)
        facts.append(Attached(name, kind, lists.size, missing))
    jsonl = out.removesuffix(".gz").removesuffix(".zst").endswith(".jsonl")
    save_nbest(out, lists, _references(records, lists) if jsonl else None)
    return facts


def _read(
    path: str, columns: Sequence[str] | None
) -> tuple[Candidates, NDArray[np.int64], Sequence[references.Records]]:
    """The lists, the line of each candidate's values, and the references in the lists."""
    if is_store([path]):
        lists = store.read(path)
        return lists, np.arange(lists.size), []
    files = read_lists([path], columns=Columns.parse(columns))
    for notice in files.notices:
        note(notice)
    lists, order = Candidates.from_rows(files.names, files.runs)[0], files.orders[0]
    return lists, np.arange(lists.size) if order is None else order, files.records


def _with(lists: Candidates, name: str, path: str, kind: str, order: NDArray[np.int64]) -> tuple[Candidates, int]:
    """The lists with the values of a file, and how many are missing."""
    if kind == "field":
        strings = scores.strings(path, name)
        _require_count(path, len(strings), lists)
        return replace(lists, fields={**lists.fields, name: Coded.from_strings(strings).take(order)}), strings.count("")
    numbers = np.array(scores.read(path, name), np.float64)
    _require_count(path, len(numbers), lists)
    numbers = numbers[order]
    missing = int(np.isnan(numbers).sum())
    if kind == "metric":
        if name in lists.metrics:
            raise InputError(f"the lists have a metric {name!r} already; give this one another name")
        return replace(lists, metrics={**lists.metrics, name: numbers}), missing
    if missing == lists.size:
        raise InputError(f"{shown(path)}: holds no number; expected one for every candidate")
    whole, holes = imputed(lists.bounds, numbers)
    marks = {name + MARK: holes.astype(np.float64)} if missing else {}
    return lists.with_features({name: whole, **marks}), missing


def _require_count(path: str, count: int, lists: Candidates) -> None:
    if count != lists.size:
        raise InputError(
            f"{shown(path)}: has {count} values for {lists.size} candidates; expected a line or a record for each, in "
            "their order"
        )


def _references(records: Sequence[references.Records], lists: Candidates) -> References | None:
    """The references in the lists, if every segment has some."""
    try:
        return records[0].references(lists.segments) if records else None
    except InputError:
        return None
