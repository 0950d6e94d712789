"""Compare systems with a baseline: scores, differences, and the p-values of the differences."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from glob import glob
from os.path import exists
from typing import NamedTuple

import numpy as np

from rampion.analysis.significance import (
    Bootstrapped,
    Interval,
    Randomised,
    Spread,
    bootstrap,
    paired_bootstrap,
    randomisation,
    spread,
)
from rampion.apps import chosen
from rampion.apps.inputs import note_doubt
from rampion.arrays import Reals
from rampion.errors import InputError
from rampion.formats import references, texts
from rampion.metrics import Metric
from rampion.metrics import metric as named
from rampion.store.text import References, Texts

METRICS = "bleu", "chrf"


Judged = tuple[Metric, References, Sequence[Reals]]  # a metric, and by it the statistics of every system


@dataclass(frozen=True, slots=True, kw_only=True)
class CompareTask:
    """Systems, the baseline first, and the test: `ar` (approximate randomisation) or `bs` (paired bootstrap).

    With lists, a system is a way to choose from them.
    """

    systems: list[str]
    refs: list[str]
    metrics: list[str]
    lists: list[str] = field(default_factory=list)
    columns: list[str] = field(default_factory=list)
    lenient: bool = False
    test: str = "ar"
    trials: int = 10_000
    seed: int = 0


class Tested(NamedTuple):
    """A system by one metric: its score, the spread of several runs, and the difference from the baseline."""

    system: str
    outputs: list[str]
    score: Interval
    runs: Spread | None
    difference: Randomised | Bootstrapped | None

    def facts(self) -> dict[str, object]:
        """The same for machines."""
        found: dict[str, object] = {"system": self.system, "outputs": self.outputs, **self.score._asdict()}
        if self.runs:
            found["runs"] = self.runs._asdict()
        if self.difference:
            found["difference"] = self.difference._asdict()
        return found


class Compared(NamedTuple):
    """All systems by one metric."""

    metric: str
    signature: str
    systems: list[Tested]

    def facts(self) -> dict[str, object]:
        """The same for machines."""
        return {
            "metric": self.metric,
            "signature": self.signature,
            "systems": [one.facts() for one in self.systems],
        }


def compare(task: CompareTask) -> list[Compared]:
    """Every system beside the first, by every metric."""
    systems, found = _systems(task.systems), []
    for judge, truth, rows in (_chosen if task.lists else _outputs)(systems, task):
        note_doubt(judge, truth)
        signature = f"{judge.signature(truth)}|{task.test}:{task.trials}|seed:{task.seed}"
        found.append(Compared(judge.name, signature, _tested(judge, systems, rows, task)))
    return found


def _outputs(systems: dict[str, list[str]], task: CompareTask) -> Iterator[Judged]:
    """Every metric with its statistics of outputs."""
    metrics = [named(name) for name in task.metrics or METRICS]
    outputs, truth = _read(systems, task.refs)
    cuts = np.cumsum([len(runs) for runs in systems.values()])[:-1]
    for judge in metrics:
        yield judge, truth, np.split(_statistics(judge, outputs, truth), cuts)


def _chosen(systems: dict[str, list[str]], task: CompareTask) -> Iterator[Judged]:
    """Every metric with its statistics of what systems choose from the lists."""
    given = chosen.given(task.lists, task.refs, task.metrics or METRICS, task.columns, task.lenient)
    choices = {run: chosen.choice(run, given.lists, task.lenient) for runs in systems.values() for run in runs}
    for one in given.judged:
        rows = [
            np.stack([one.statistics(run, choices[run]) for run in runs]).astype(np.float64)
            for runs in systems.values()
        ]
        yield one.judge.metric, one.judge.references, rows


def _systems(given: Sequence[str]) -> dict[str, list[str]]:
    """The outputs of every system; a name given again adds runs."""
    systems: dict[str, list[str]] = {}
    for one in given:
        name, equals, outputs = one.partition("=")
        if not equals or exists(one):
            name, outputs = one, ""
        for output in outputs.split(",") if outputs else [one]:
            systems.setdefault(name, []).extend(sorted(glob(output)) or [output])
    if len(systems) < 2:
        raise InputError(
            f"there is one system, {next(iter(systems))}; name a baseline and at least one system to compare with it"
        )
    return systems


def _read(systems: dict[str, list[str]], refs: Sequence[str]) -> tuple[list[Texts], References]:
    if not refs:
        raise InputError("outputs need references: name them with --refs, or lists with --from")
    paths = [path for outputs in systems.values() for path in outputs]
    outputs = [texts.read(path) for path in paths]
    count = len(outputs[0])
    for path, output in zip(paths, outputs, strict=True):
        if len(output) != count or not count:
            found = f"{len(output)} lines, and {paths[0]} has {count}" if count else "no lines"
            raise InputError(f"{path}: has {found}; outputs must have a line for every segment")
    # Names that are no numbers, so that the references need exactly as many lines as the outputs.
    return outputs, references.read(refs, Texts.from_strings(f"line {n + 1}" for n in range(count)))


def _statistics(metric: Metric, outputs: Sequence[Texts], references: References) -> Reals:
    """[outputs, segments, width]; the outputs are the candidates of a segment, so that references count once."""
    count, segments = len(outputs), len(references)
    order = np.arange(count * segments).reshape(count, segments).T.ravel()
    rows = metric.statistics(Texts.join(outputs).take(order), count * np.arange(segments + 1), references)
    return rows.reshape(segments, count, -1).transpose(1, 0, 2).astype(np.float64)


def _tested(metric: Metric, systems: dict[str, list[str]], rows: Sequence[Reals], task: CompareTask) -> list[Tested]:
    """The results of every system, with the difference from the first one."""
    found: list[Tested] = []
    against = randomisation if task.test == "ar" else paired_bootstrap
    for (name, outputs), runs in zip(systems.items(), rows, strict=True):
        score = bootstrap(metric, runs, task.trials, task.seed)
        several = spread(metric, runs) if len(outputs) > 1 else None
        difference = against(metric, rows[0], runs, task.trials, task.seed) if found else None
        found.append(Tested(name, outputs, score, several, difference))
    return found
