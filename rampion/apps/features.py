"""Add features that are computed from the lists alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from rampion.apps.inputs import read_runs, weights_file
from rampion.errors import InputError
from rampion.features import add_features, is_made
from rampion.formats import load_nbest, references, save_nbest, texts
from rampion.formats import weights as weight_files
from rampion.formats.files import head, shown
from rampion.store.candidates import Candidates
from rampion.store.text import References


@dataclass(frozen=True, slots=True, kw_only=True)
class FeaturesTask:
    """Lists, and the names of features to add, or weights or lists (`like`) whose features to compute."""

    lists: list[str]
    add: list[str] = field(default_factory=list)
    out: str
    like: str | None = None
    source: str | None = None
    lm: str | None = None
    answer: str | None = None
    columns: list[str] = field(default_factory=list)
    lenient: bool = False


class Added(NamedTuple):
    """A new feature: its mean, and the mean over lists of its standard deviation within them."""

    feature: str
    mean: float
    sd: float


def add(task: FeaturesTask) -> list[Added]:
    """Write the lists with more features."""
    runs = read_runs(task.lists, task.lenient, task.columns)
    lists = runs.merged
    names = [*task.add, *_missing(lists, task.like)]
    if not names:
        raise InputError(
            f"the lists have all features that {task.like} has" if task.like else "name features with --add or --like"
        )
    source = None if task.source is None else _source(task.source, lists)  # otherwise the sources in the lists
    made = add_features(lists, names, source=source, lm=task.lm, answer=task.answer)
    save_nbest(task.out, made, _references(runs.records, made, task.out))
    return [_added(made, name) for name in made.features.names if name not in lists.features.ids]


def _missing(lists: Candidates, like: str | None) -> list[str]:
    """The features of weights, a run or other lists that these lists lack and that can be computed."""
    if like is None:
        return []
    path = weights_file(like)
    wanted = load_nbest(path).features.names if _holds_lists(path) else weight_files.read(path)
    return [name for name in wanted if name not in lists.features.ids and is_made(name)]


def _holds_lists(path: str) -> bool:
    start = head(path)
    return start.lstrip().startswith(b"{") or b"|||" in start.split(b"\n", 1)[0]


def _source(path: str, lists: Candidates) -> Sequence[str]:
    """A line for every segment, in order or by number."""
    lines, numbers = list(texts.read(path)), list(lists.segments)
    if len(lines) == len(lists):
        return lines
    if all(number.isdecimal() and int(number) < len(lines) for number in numbers):
        return [lines[int(number)] for number in numbers]
    raise InputError(
        f"{shown(path)}: has {len(lines)} lines for {len(lists)} segments; expected a line for every segment, or "
        "segments numbered by line from 0"
    )


def _references(records: references.Records | None, lists: Candidates, out: str) -> References | None:
    """The references in the records, which JSONL lists keep."""
    if records is None or not out.removesuffix(".gz").removesuffix(".zst").endswith(".jsonl"):
        return None
    try:
        return records.references(lists.segments)
    except InputError:  # no segment needs to have one
        return None


def _added(lists: Candidates, name: str) -> Added:
    weights = np.zeros(len(lists.features))
    weights[lists.features.ids[name]] = 1.0
    column, counts = lists.score(weights), np.diff(lists.bounds)
    owner = np.repeat(np.arange(len(lists)), counts)
    means = np.bincount(owner, column, len(lists)) / np.maximum(counts, 1)
    spreads = np.sqrt(np.bincount(owner, (column - means[owner]) ** 2, len(lists)) / np.maximum(counts, 1))
    spread = float(spreads.mean())
    return Added(name, float(column.mean()), spread if spread > 1e-12 * float(np.abs(column).max()) else 0.0)
