"""Rerank lists with weights: the best candidate of each, and the lists in a new order."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

from rampion.apps.inputs import read_runs, references_of, weights_for
from rampion.errors import InputError
from rampion.formats import save_nbest
from rampion.formats.files import replacing
from rampion.metrics import Metric
from rampion.training.loop import Standing, standing
from rampion.training.tuning import judge, pick
from rampion.training.tuning import rerank as reordered


@dataclass(frozen=True, slots=True, kw_only=True)
class RerankTask:
    """Lists and weights; `out` takes the best candidates, `reordered` whole lists."""

    lists: list[str]
    weights: str
    out: str = "-"
    reordered: str | None = None
    listed: bool = False
    refs: list[str] = field(default_factory=list)
    metric: str | None = None
    lenient: bool = False


class Scored(NamedTuple):
    """What the best candidates score, if there is something to judge them by."""

    metric: Metric
    signature: str
    standing: Standing


def rerank(task: RerankTask) -> Scored | None:
    """Choose the best candidate of every list."""
    if task.out == task.reordered == "-":
        raise InputError("the best candidates and --lists cannot both go to stdout; name a file with --out")
    runs = read_runs(task.lists, task.lenient)
    merged = runs.merged
    learnt = weights_for(merged.features, task.weights, task.lenient)
    scored = None
    if task.refs or task.metric:
        metric = task.metric or "bleu"
        references = references_of(merged.segments, runs.records, task.refs, metric)
        arbiter = judge(merged, references, metric, listed=task.listed)
        found = standing(arbiter.batch(merged), learnt.vector)
        scored = Scored(arbiter.metric, arbiter.metric.signature(arbiter.references), found)
    best = merged.texts.take(pick(merged, learnt, listed=task.listed))
    with replacing(task.out) as file:
        file.write("".join(f"{text}\n" for text in best).encode())
    if task.reordered:
        save_nbest(task.reordered, reordered(merged, learnt, listed=task.listed))
    return scored
