"""Outcomes of runs: statistics of units (segments, iterations, checks), which can be resampled."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import NDArray

from rampion.analysis.significance import Interval, Scored, bootstrap
from rampion.arrays import Reals
from rampion.errors import InputError
from rampion.formats import container
from rampion.metrics import Bleu, Meteor, Wer
from rampion.metrics.bleu import ORDER
from rampion.schema import Row, Schema

TRAINING = Bleu("raw", "nobp")  # one reference, no length penalty (S2.5)
NEAR = 0.5  # a curve has settled when it stays within this many points of its final BLEU
EARLY = 8  # the iteration up to which a curve may dip
FIRST = 10  # the number of steps that are the beginning of learning
MOST = 0.9  # the share of the gain that counts as most of it


@dataclass(frozen=True, slots=True)
class Mean:
    """The mean. A row is [value, 1], or the value and the number of things that it is shared by."""

    @staticmethod
    def rows(values: NDArray[Any], counts: NDArray[Any] | int = 1) -> Reals:
        return np.stack([values.astype(np.float64), np.broadcast_to(counts, len(values))], axis=1)

    def scores(self, totals: NDArray[Any]) -> Reals:
        means: Reals = totals[:, 0] / totals[:, 1]
        return means


@dataclass(frozen=True, slots=True)
class Settled:
    """The first iteration after which BLEU stays near its final value. Rows hold the statistics of all iterations."""

    @staticmethod
    def rows(iterations: Sequence[NDArray[np.int64]]) -> NDArray[np.int64]:
        return np.hstack(iterations)

    def scores(self, totals: NDArray[Any]) -> Reals:
        points = curves(totals)
        far = np.abs(points - points[:, -1:]) > NEAR
        last: Reals = 1.0 + (far * np.arange(1, far.shape[1] + 1)).max(axis=1)
        return last


@dataclass(frozen=True, slots=True)
class Course:
    """The shape of a curve of BLEU over iterations; rows are as for Settled.

    dip       from the first iteration down to the lowest up to EARLY
    recovery  from there up to the last one
    rough     the mean change, up or down
    """

    of: Literal["dip", "recovery", "rough"]

    def scores(self, totals: NDArray[Any]) -> Reals:
        points = curves(totals)
        if self.of == "rough":
            changes: Reals = np.abs(np.diff(points, axis=1)).sum(axis=1) / max(points.shape[1] - 1, 1)
            return changes
        lowest = points[:, min(1, points.shape[1] - 1) : EARLY].min(axis=1)
        found: Reals = points[:, 0] - lowest if self.of == "dip" else points[:, -1] - lowest
        return found


Way = Literal["bend", "early bend", "overshoot", "reached"]
RISES: tuple[Way, ...] = get_args(Way)


@dataclass(frozen=True, slots=True)
class Rise:
    """The shape of a mean over steps; a row has the value before the first step, the value after each, and 1.

    bend        how far the curve is above the straight line from its start to its end, on average, as a share of its
                gain: above 0 if it rises fast at first, below if it rises faster and faster; early bend: of FIRST steps
    overshoot   the most that one of the FIRST steps loses; below 0 if all of them gain
    reached     the first step after which MOST of the gain is there
    """

    of: Way

    @staticmethod
    def rows(values: NDArray[Any]) -> Reals:
        """The rows, from an array of values [step, unit]."""
        return np.ascontiguousarray(np.concatenate([values, np.ones_like(values[:1])]).T, np.float64)

    def scores(self, totals: NDArray[Any]) -> Reals:
        points: Reals = totals[:, :-1] / totals[:, -1:]
        if self.of == "early bend":
            points = points[:, : FIRST + 1]
        start, gain = points[:, :1], points[:, -1:] - points[:, :1]
        gone = np.divide(points - start, gain, out=np.zeros_like(points), where=gain != 0)
        found: Reals
        if self.of == "overshoot":
            found = -np.diff(points[:, : FIRST + 1], axis=1).min(axis=1, initial=np.inf)
        elif self.of == "reached":
            found = (gone >= MOST).argmax(axis=1).astype(np.float64)
        else:
            found = np.where(gain[:, 0] != 0, (gone - np.linspace(0, 1, points.shape[1])).mean(axis=1), 0.0)
        return found


def curves(totals: NDArray[Any]) -> Reals:
    """The BLEU of each iteration, from the total of such rows."""
    points: Reals = Bleu().scores(totals.reshape(-1, 2 + 2 * ORDER)).reshape(len(totals), -1)
    return points


class Measure(NamedTuple):
    """The score of a sum of rows, and the unit of a row. Measures of the same units are compared by paired tests."""

    score: Scored
    units: str


MEAN, BLEU, METEOR = Mean(), Bleu(), Meteor()
MEASURES: Mapping[str, Measure] = {
    "train": Measure(MEAN, "training segments"),  # 100 TRAINING, of the chosen iteration
    "train first": Measure(MEAN, "training segments"),  # of the first one
    "tune": Measure(BLEU, "tuning segments"),
    "test": Measure(BLEU, "test segments"),
    "test first": Measure(BLEU, "test segments"),
    "meteor": Measure(METEOR, "test segments"),
    "settled": Measure(Settled(), "test segments"),
    "dip": Measure(Course("dip"), "test segments"),
    "recovery": Measure(Course("recovery"), "test segments"),
    "rough": Measure(Course("rough"), "test segments"),
    "dev": Measure(MEAN, "dev segments"),  # BLEU of each in percent
    "dev mWER": Measure(Wer(), "dev segments"),
    "decoding": Measure(MEAN, "iterations"),  # seconds
    "online": Measure(MEAN, "iterations"),
    "learning": Measure(MEAN, "iterations"),  # seconds of all but the decoder
    "loop": Measure(MEAN, "iterations"),  # seconds of all
    "early pace": Measure(MEAN, "early iterations"),  # seconds online of a candidate
    "late pace": Measure(MEAN, "late iterations"),
    "violated": Measure(MEAN, "checks"),  # 0 or 1
    "expected": Measure(MEAN, "training segments"),  # expected BLEU of each list in percent
    **{name: Measure(Rise(name), "training segments") for name in RISES},
    "chosen": Measure(MEAN, "choices"),  # the step
    "step": Measure(MEAN, "steps"),  # seconds
    "memory": Measure(MEAN, "choices"),  # MB
    "updated": Measure(MEAN, "choices"),  # numbers that change
}


OUTCOME = Schema(
    "outcome",
    {"sample *": Row("<i8 <f8", ("*", "*")), "curve *": Row("<i8 <f8", ("*",))},
    {"asked": dict, "facts": dict},
    "make it again",
)


@dataclass(frozen=True, slots=True, eq=False)
class Outcome:
    """The outcome of a run: rows by measure, curves with a number an iteration, facts, and weights.

    Weights are the final ones, of the real-valued features only.
    """

    samples: Mapping[str, NDArray[Any]]
    curves: Mapping[str, Reals] = field(default_factory=dict)
    facts: Mapping[str, object] = field(default_factory=dict)
    weights: Mapping[str, float] = field(default_factory=dict)

    def write(self, path: Path, asked: Mapping[str, object]) -> None:
        arrays = {f"sample {name}": rows for name, rows in self.samples.items()}
        arrays |= {f"curve {name}": points for name, points in self.curves.items()}
        told = {"asked": dict(asked), "facts": dict(self.facts), "weights": dict(self.weights)}
        container.write(path, OUTCOME.kind, arrays, told)

    @classmethod
    def read(cls, path: Path, asked: Mapping[str, object]) -> Outcome:
        """Read an outcome. Raise InputError if it was made with other settings than `asked`."""
        arrays, meta = container.read(path, OUTCOME)
        for name in asked.keys() | meta["asked"].keys():
            before, now = meta["asked"].get(name), asked.get(name)
            if before != now:
                raise InputError(
                    f"{path.parent}: was run with {name} {before}, and {now} is asked for; "
                    "name another folder, or ask for the same"
                )
        parts: dict[str, dict[str, Any]] = {"sample": {}, "curve": {}}
        for name, array in arrays.items():
            kind, _, rest = name.partition(" ")
            parts[kind][rest] = array
        return cls(parts["sample"], parts["curve"], meta["facts"], meta.get("weights", {}))


Outcomes = Mapping[str, Sequence[Outcome]]  # the runs of every row, by its label


def rows(runs: Sequence[Outcome], name: str) -> NDArray[Any]:
    """The sample of a measure, [runs, units, width]. Runs with fewer iterations than others are padded with zeros."""
    samples = [run.samples[name] for run in runs]
    most = max(map(len, samples))
    return np.stack([np.pad(sample, ((0, most - len(sample)), (0, 0))) for sample in samples])


def score(run: Outcome, name: str) -> float:
    """The score of a measure in one run."""
    return float(MEASURES[name].score.scores(run.samples[name].sum(axis=0)[np.newaxis])[0])


def shared(curves: Sequence[Reals]) -> Reals:
    """The curves cut to the length of the shortest, [runs, iterations]."""
    return np.stack([curve[: min(map(len, curves))] for curve in curves])


def measured(runs: Sequence[Outcome], name: str) -> Interval | None:
    """The score of all runs together, with its interval; None if one of the runs has no such measure."""
    if not runs or any(name not in run.samples for run in runs):
        return None
    return bootstrap(MEASURES[name].score, rows(runs, name))
