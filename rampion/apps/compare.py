"""Compare systems with a baseline: scores, differences, and how likely chance makes such differences."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from glob import glob
from os.path import exists
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

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
from rampion.errors import InputError
from rampion.formats import references, texts
from rampion.metrics import Metric
from rampion.metrics import metric as named
from rampion.store.text import References, Texts

METRICS = "bleu", "chrf"


@dataclass(frozen=True, slots=True, kw_only=True)
class CompareTask:
    """Systems, the baseline first, and the test: `ar` (approximate randomisation) or `bs` (paired bootstrap)."""

    systems: list[str]
    refs: list[str]
    metrics: list[str]
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
    metrics = [named(name) for name in task.metrics or METRICS]
    paths = _systems(task.systems)
    outputs, truth = _read(paths, task.refs)
    found = []
    for judge in metrics:
        rows = np.split(_statistics(judge, outputs, truth), len(paths))
        signature = f"{judge.signature(truth)}|{task.test}:{task.trials}|seed:{task.seed}"
        found.append(Compared(judge.name, signature, _tested(judge, paths, rows, task)))
    return found


def _systems(given: Sequence[str]) -> dict[str, list[str]]:
    """The outputs of every system; a name given again adds runs."""
    systems: dict[str, list[str]] = {}
    for one in given:
        name, equals, outputs = one.partition("=")
        if not equals or exists(one):
            name, outputs = one, ""
        for output in outputs.split(",") if outputs else [one]:
            systems.setdefault(name, []).extend(sorted(glob(output)) or [output])
    (base, runs), *others = systems.items()
    if not others:
        raise InputError(f"there is one system, {base}; name a baseline and at least one system to compare with it")
    for name, more in others:
        if len(more) != len(runs):
            found = f"{base} has {len(runs)} and {name} has {len(more)}"
            raise InputError(f"unequal numbers of runs: {found}; give as many outputs of every system")
    return systems


def _read(systems: dict[str, list[str]], refs: Sequence[str]) -> tuple[list[Texts], References]:
    paths = [path for outputs in systems.values() for path in outputs]
    outputs = [texts.read(path) for path in paths]
    count = len(outputs[0])
    for path, output in zip(paths, outputs, strict=True):
        if len(output) != count or not count:
            found = f"{len(output)} lines, and {paths[0]} has {count}" if count else "no lines"
            raise InputError(f"{path}: has {found}; outputs must have a line for every segment")
    # Names that are no numbers: the references must have as many lines, not at least as many.
    return outputs, references.read(refs, Texts.from_strings(f"line {n + 1}" for n in range(count)))


def _statistics(metric: Metric, outputs: Sequence[Texts], references: References) -> NDArray[np.int64]:
    """[outputs, segments, width]; the outputs are the candidates of a segment, so that references count once."""
    count, segments = len(outputs), len(references)
    order = np.arange(count * segments).reshape(count, segments).T.ravel()
    rows = metric.statistics(Texts.join(outputs).take(order), count * np.arange(segments + 1), references)
    return rows.reshape(segments, count, -1).transpose(1, 0, 2)


def _tested(
    metric: Metric, systems: dict[str, list[str]], rows: Sequence[NDArray[np.int64]], task: CompareTask
) -> list[Tested]:
    """What there is to report of every system; its difference is from the first."""
    found: list[Tested] = []
    against = randomisation if task.test == "ar" else paired_bootstrap
    for (name, outputs), runs in zip(systems.items(), rows, strict=True):
        score = bootstrap(metric, runs, task.trials, task.seed)
        several = spread(metric, runs) if len(outputs) > 1 else None
        difference = against(metric, rows[0], runs, task.trials, task.seed) if found else None
        found.append(Tested(name, outputs, score, several, difference))
    return found
