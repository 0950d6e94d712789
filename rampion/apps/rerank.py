"""Rerank lists with weights: the best candidates of each, and the lists in a new order."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rampion.apps.inputs import (
    UNSCORED,
    Runs,
    labelled,
    learnt_by,
    note_doubt,
    read_runs,
    references_of,
    weighed,
)
from rampion.arrays import Reals, span_of_each
from rampion.errors import InputError
from rampion.formats import save_lists
from rampion.formats.files import replacing
from rampion.metrics import Metric
from rampion.store.candidates import Candidates
from rampion.store.features import Weights
from rampion.training.inputs import judge
from rampion.training.loop import Standing, standing
from rampion.training.reranking import scores_of


@dataclass(frozen=True, slots=True, kw_only=True)
class RerankTask:
    """Lists and weights; `out` takes the `top` best candidates, `reordered` whole lists."""

    lists: list[str]
    weights: str
    out: str = "-"
    reordered: str | None = None
    top: int = 1
    jsonl: bool = False
    listed: bool = False
    refs: list[str] = field(default_factory=list)
    metric: str | None = None
    columns: list[str] = field(default_factory=list)
    lenient: bool = False

    @property
    def records(self) -> bool:
        """Whether picks are written as JSON lines."""
        return self.jsonl or self.out.removesuffix(".gz").removesuffix(".zst").endswith(".jsonl")


class Scored(NamedTuple):
    """The score of the best candidates, if they can be judged."""

    metric: Metric
    signature: str
    standing: Standing


class Reranked(NamedTuple):
    """The number of lists, of changed choices (not the first candidate), the mean margin, and the score."""

    segments: int
    candidates: int
    changed: int
    margin: float | None
    scored: Scored | None


def rerank(task: RerankTask) -> Reranked:
    """Choose the best candidates of every list."""
    if task.out == task.reordered == "-":
        raise InputError("the best candidates and --lists cannot both go to stdout; name a file with --out")
    if task.top > 1 and not task.records:
        raise InputError(f"--top {task.top}: plain text has a line for each list; add --jsonl, or name a .jsonl file")
    goals = [task.metric] if task.metric else learnt_by(task.weights)
    runs = read_runs(task.lists, task.lenient, task.columns, goals)
    merged = runs.merged
    bent, learnt = weighed(merged, task.weights, task.lenient)
    scored = _scored(task, runs, bent, learnt) if task.refs or task.metric else None
    scores = scores_of(bent, learnt, listed=task.listed)
    ranked = _Ranked.of(merged, scores)
    with replacing(task.out) as file:
        file.writelines(line.encode() for line in (_records(ranked, task.top) if task.records else _texts(ranked)))
    if task.reordered:
        at = iter(np.cumsum([0, *(part.size for part in merged.parts())]).tolist())
        sorted_parts = (
            part.sorted_by(scores[start : start + part.size]) for part, start in zip(merged.parts(), at, strict=False)
        )
        save_lists(task.reordered, merged, sorted_parts)
    return ranked.summary(scored)


def _scored(task: RerankTask, runs: Runs, merged: Candidates, learnt: Weights) -> Scored:
    """The score of the best candidates that can be judged."""
    metric = task.metric or "bleu"
    [lists] = labelled([merged], metric, UNSCORED)
    arbiter = judge(lists, references_of(lists.segments, runs.records, task.refs, metric), metric, listed=task.listed)
    note_doubt(arbiter.metric, arbiter.references)
    found = standing(arbiter.batch(lists), learnt.vector)
    return Scored(arbiter.metric, arbiter.metric.signature(arbiter.references), found)


class _Ranked(NamedTuple):
    """Lists with scores, and the places of their candidates, best first; of equals the first listed comes first."""

    lists: Candidates
    scores: Reals
    order: NDArray[np.int64]

    @classmethod
    def of(cls, lists: Candidates, scores: Reals) -> _Ranked:
        owner = span_of_each(lists.bounds)
        return cls(lists, scores, np.lexsort((-scores, owner)))

    @property
    def filled(self) -> NDArray[np.int64]:
        """The segments that have candidates."""
        return np.flatnonzero(np.diff(self.lists.bounds))

    def margins(self) -> Reals:
        """The score of the best candidate minus that of the second; NaN in lists of one."""
        bounds = self.lists.bounds
        several = np.flatnonzero(np.diff(bounds) > 1)
        margins = np.full(len(self.lists), np.nan)
        first = self.order[bounds[several]]
        margins[several] = self.scores[first] - self.scores[self.order[bounds[several] + 1]]
        return margins

    def summary(self, scored: Scored | None) -> Reranked:
        margins, starts = self.margins(), self.lists.bounds[self.filled]
        margin = float(np.nanmean(margins)) if np.isfinite(margins).any() else None
        changed = int((self.order[starts] != starts).sum())
        return Reranked(len(self.lists), self.lists.size, changed, margin, scored)


def _texts(ranked: _Ranked) -> Iterator[str]:
    """The best candidate of every list, a line each."""
    lists = ranked.lists
    best = lists.texts.take(ranked.order[lists.bounds[ranked.filled]])
    if ((best.blob == 10) | (best.blob == 13)).any():
        s = next(s for s, text in enumerate(best) if "\n" in text or "\r" in text)
        raise InputError(
            f"the best candidate of segment {lists.segments[ranked.filled[s]]} has several lines, which plain text "
            "cannot hold; add --jsonl, or name a .jsonl file with --out"
        )
    return (f"{text}\n" for text in best)


def _records(ranked: _Ranked, top: int) -> Iterator[str]:
    """The best candidates of every list, a JSON object each, with what came with them."""
    lists, margins = ranked.lists, ranked.margins().tolist()
    segments, fields = list(lists.segments), {name: list(strings) for name, strings in lists.fields.items()}
    for s in ranked.filled.tolist():
        start, end = lists.bounds[s : s + 2].tolist()
        for rank, i in enumerate(ranked.order[start : min(end, start + top)].tolist(), 1):
            record: dict[str, object] = {
                "id": segments[s], "rank": rank, "text": lists.texts[i], "score": float(ranked.scores[i]),
            }  # fmt: skip
            if rank == 1 and end - start > 1:
                record["margin"] = margins[s]
            record |= {name: strings[i] for name, strings in fields.items() if strings[i] and name not in record}
            labels = {name: float(column[i]) for name, column in lists.metrics.items() if not np.isnan(column[i])}
            yield json.dumps(record | ({"metrics": labels} if labels else {}), ensure_ascii=False) + "\n"
