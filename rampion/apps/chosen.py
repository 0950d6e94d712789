"""Systems that choose from lists: weights, baselines by name, or an output that was made elsewhere."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from rampion.apps.inputs import UNSCORED, labelled, read_runs, references_of, weighed
from rampion.arrays import Reals
from rampion.errors import InputError, meant
from rampion.features import column_of
from rampion.formats import texts
from rampion.losses.contrast import MODEL, ORACLE
from rampion.metrics.base import Statistics
from rampion.metrics.judging import Batch, Judge
from rampion.store.candidates import Candidates
from rampion.store.text import Texts
from rampion.training.inputs import judge

NAMED = "listed", "random", "oracle", "consensus"
SYSTEMS = (
    "listed, random, oracle, consensus, consensus:METRIC, feature:NAME (the most of it; feature:-NAME: the least), "
    "weights, a run, or an output"
)


class Choice(NamedTuple):
    """The choices of a system: by its scores, or texts of its own; without both the choices need costs."""

    scores: Reals | None = None
    output: Texts | None = None


class Judged(NamedTuple):
    """Lists by a metric."""

    judge: Judge
    batch: Batch

    def statistics(self, system: str, chosen: Choice) -> Statistics:
        """The statistics of what a system chooses, one row a segment."""
        batch, metric = self.batch, self.judge.metric
        if chosen.output is not None:
            return metric.statistics(chosen.output, np.arange(len(chosen.output) + 1), self.judge.references)
        if chosen.scores is not None:
            return batch.statistics[MODEL.picks(batch.stakes, chosen.scores)]
        if system == "oracle":
            return batch.statistics[ORACLE.picks(batch.stakes, np.zeros(batch.candidates.size))]
        sums = np.add.reduceat(batch.statistics, batch.stakes.bounds[:-1]).astype(np.float64)
        return sums / np.diff(batch.stakes.bounds)[:, np.newaxis]  # the mean of all choices


class Given(NamedTuple):
    """Lists with the references that they hold or that were named."""

    lists: Candidates
    judged: list[Judged]


def given(
    paths: Sequence[str],
    refs: Sequence[str],
    metrics: Sequence[str],
    columns: Sequence[str] | None = None,
    lenient: bool = False,
) -> Given:
    """The lists, judged by every metric; candidates without a label are left out."""
    runs = read_runs(paths, lenient, columns, metrics)
    lists = runs.merged
    for name in metrics:
        [lists] = labelled([lists], name, UNSCORED)
    if np.any(np.diff(lists.bounds) == 0):
        raise InputError("a segment of the lists has no candidates; leave it out")
    judges = [judge(lists, references_of(lists.segments, runs.records, refs, name), name) for name in metrics]
    return Given(lists, [Judged(one, one.batch(lists)) for one in judges])


def choice(system: str, lists: Candidates, lenient: bool = False) -> Choice:
    """The choices of the system of this name from the lists."""
    if system in ("random", "oracle"):
        return Choice()
    if system == "listed":
        return Choice(-lists.rank().astype(np.float64))
    name, colon, rest = system.partition(":")
    if name == "consensus":
        return Choice(column_of(lists, system))
    if name == "feature" and colon:
        least = rest.startswith("-") and rest not in lists.features.ids
        return Choice(-column_of(lists, rest[1:]) if least else column_of(lists, rest))
    if not Path(system).exists():
        raise InputError(f"{system}: is no file and no baseline; expected {SYSTEMS}{meant(system, NAMED)}")
    if not Path(system).is_dir() and (output := _output(system, len(lists))) is not None:
        return Choice(output=output)
    bent, weights = weighed(lists, system, lenient)
    return Choice(bent.score(weights.vector))


def _output(path: str, segments: int) -> Texts | None:
    """The lines of an output; None if it is a file of weights."""
    from rampion.formats import weights

    try:
        weights.read(path)
    except InputError:
        lines = texts.read(path)
        if len(lines) == segments:
            return lines
        raise
    return None
