"""The papers' tables and figures as data: the runs to make, the papers' numbers, and claims about our results.

A row is a run, or the same run with several seeds. A `Maker` turns a row into numbers; it is passed in, because
experiments do not import the decoder. The outcome of a run is stored, and read back when it is asked for again.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from importlib import import_module
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any, ClassVar, Literal, NamedTuple, Protocol, TypedDict

from rampion.errors import RecipeError
from rampion.experiments.claims import Claim, Close, Greater, Judged, NotLess, Verdict, powered, together
from rampion.experiments.samples import Outcome, Outcomes, measured, score
from rampion.timing import Clock

PAPERS = {"tillmann-zhang": "tillmann_zhang", "gimpel-smith": "gimpel_smith", "wuebker": "wuebker"}  # name -> module

PACED = 2  # runs after which it is known how long the others take
LONG = 60.0  # seconds of work from which on it is worth a line how many processors were busy

Kind = Literal["must", "should", "report"]


class Settings(Protocol):
    """The settings of a row: a frozen dataclass of values that JSON can hold."""

    __dataclass_fields__: ClassVar[dict[str, Any]]

    @property
    def seeded(self) -> bool:
        """Whether the numbers depend on the seed."""
        ...


@dataclass(frozen=True, slots=True)
class Row:
    """A run: its name in the table, its settings, and the paper's numbers by measure."""

    label: str
    settings: Settings
    paper: Mapping[str, float] = field(default_factory=dict)

    @property
    def folder(self) -> str:
        return "-".join("".join(c if c.isalnum() else " " for c in self.label.lower()).split())


@dataclass(frozen=True, slots=True)
class Relation:
    """A statement of the paper, as claims about our numbers."""

    id: str
    kind: Kind
    sentence: str
    claims: tuple[Claim, ...]


@dataclass(frozen=True, slots=True)
class Picture:
    """A chart of curves over iterations, each given as (label of the row, name of the curve)."""

    y: str
    lines: Mapping[str, tuple[str, str]]
    logarithmic: bool = False


@dataclass(frozen=True, slots=True)
class Scatter:
    """A scatter plot of one measure against another, with a point for every run of these rows."""

    x: str
    y: str
    rows: tuple[str, ...]

    def points(self, outcomes: Outcomes) -> dict[str, list[tuple[float, float]]]:
        """The points of each row."""
        return {row: [(score(run, self.x), score(run, self.y)) for run in outcomes[row]] for row in self.rows}


@dataclass(frozen=True, slots=True)
class Experiment:
    """A table or a figure. `columns` are the measures that the table shows, with their headings."""

    name: str
    title: str
    columns: Mapping[str, str]
    rows: tuple[Row, ...]
    relations: tuple[Relation, ...]
    note: str = ""
    picture: Picture | Scatter | None = None

    @property
    def file(self) -> str:
        """The name of its results file, without a suffix."""
        return self.name.replace("/", "-")


class Finding(NamedTuple):
    """The verdict on a relation, and on each of its claims."""

    relation: Relation
    judged: list[Judged]
    verdict: Verdict


class RowResult(TypedDict):
    """A row: its label and settings, the paper's numbers, ours with their intervals, and what each run left."""

    row: str
    settings: dict[str, object]
    paper: dict[str, float]
    measured: dict[str, dict[str, float]]
    curves: list[dict[str, list[float | None]]]
    runs: list[dict[str, object]]
    weights: list[dict[str, float]]


class ScatterResult(TypedDict):
    """The points of a scatter plot, by row, with the headings of its axes."""

    x: str
    y: str
    points: dict[str, list[tuple[float, float]]]


class RelationResult(TypedDict):
    """A statement of the paper, with the verdict on it and on each of its claims."""

    id: str
    kind: Kind
    sentence: str
    verdict: Verdict
    claims: list[dict[str, object]]


class Results(TypedDict):
    """All measurements and verdicts of an experiment, as its JSON file has them."""

    experiment: str
    title: str
    note: str
    columns: dict[str, str]
    rows: list[RowResult]
    tells: float | None
    scatter: ScatterResult | None
    relations: list[RelationResult]


class Maker(Protocol):
    """Makes the outcomes of rows."""

    def asked(self, row: Row) -> Mapping[str, object]:
        """Everything but the row and the seed that the numbers depend on."""
        ...

    def make(self, row: Row, seed: int, folder: Path) -> Outcome:
        """Make a run in its own folder. It may resume from what an interrupted run has left there."""
        ...


Watch = Callable[[str], None]


def experiments(name: str | None = None) -> list[Experiment]:
    """All experiments; or those of a paper, or one by its name."""
    known = [experiment for module in PAPERS.values() for experiment in _of(module)]
    chosen = [one for one in known if name in (None, one.name, one.name.partition("/")[0])]
    if not chosen:
        names = ", ".join([*PAPERS, *(one.name for one in known)])
        raise RecipeError(f"no experiment is called {name!r}; there are {names}")
    return chosen


def _of(module: str) -> tuple[Experiment, ...]:
    found: tuple[Experiment, ...] = import_module(f"rampion.experiments.papers.{module}").EXPERIMENTS
    return found


def run(
    experiment: Experiment,
    out: Path,
    seeds: Sequence[int],
    maker: Maker,
    watch: Watch = lambda _: None,
) -> dict[str, list[Outcome]]:
    """The outcomes of every row, which are made in order or read back from OUT/rows."""
    outcomes: dict[str, list[Outcome]] = {}
    runs = _runs(experiment, out, seeds)
    missing, took, clock = len(to_do(experiment, out, seeds)), list[float](), Clock()
    for number, (row, seed, path) in enumerate(runs, 1):
        question = {**maker.asked(row), **asdict(row.settings)}
        if path.exists():
            outcome = Outcome.read(path, question)
        else:
            left = _left(took, missing - len(took))
            watch(f"{experiment.name}: {row.label} (run {number} of {len(runs)}), seed {seed}{left}")
            begun = perf_counter()
            path.parent.mkdir(parents=True, exist_ok=True)
            outcome = maker.make(row, seed, path.parent)
            outcome.write(path, question)
            took.append(perf_counter() - begun)
        outcomes.setdefault(row.label, []).append(outcome)
    if sum(took) >= LONG:
        minutes = sum(took) / 60
        watch(f"{experiment.name}: {len(took)} runs in {minutes:.0f} min, {clock.cores:.2f} processors kept busy")
    return outcomes


def _runs(experiment: Experiment, out: Path, seeds: Sequence[int]) -> list[tuple[Row, int, Path]]:
    """Every run of an experiment: the row, the seed, and the file of its outcome."""
    return [
        (row, seed, out / "rows" / row.folder / f"seed-{seed}" / "outcome")
        for row in experiment.rows
        for seed in (seeds if row.settings.seeded else seeds[:1])
    ]


def to_do(experiment: Experiment, out: Path, seeds: Sequence[int]) -> list[Row]:
    """The rows of the runs that the folder does not have, once for every seed."""
    return [row for row, _, path in _runs(experiment, out, seeds) if not path.exists()]


def _left(took: Sequence[float], missing: int) -> str:
    """About how long the missing runs take, if they take as long as those before; the first one also makes the base."""
    if len(took) < PACED:
        return ""
    seconds = missing * sum(took[1:]) / len(took[1:])
    return f", about {seconds / 60:.0f} min left" if seconds >= 60 else f", about {seconds:.0f} s left"


def findings(experiment: Experiment, outcomes: Outcomes) -> list[Finding]:
    """The verdicts on all relations of an experiment."""
    found = []
    for relation in experiment.relations:
        judged = [powered(claim.judge(outcomes), printed(experiment, claim)) for claim in relation.claims]
        found.append(Finding(relation, judged, together(judged)))
    return found


def printed(experiment: Experiment, claim: Claim) -> float | None:
    """By how much the paper's own numbers are above the bound of a claim; None if it is not such a claim."""
    if not isinstance(claim, Greater):
        return None
    paper = {row.label: row.paper for row in experiment.rows}
    one, two = (paper[each.row].get(each.measure) for each in claim.quantities)
    return None if one is None or two is None else one - two - claim.by


def tells(found: Sequence[Finding]) -> float | None:
    """The difference in test BLEU that this size of test tells from 0: half of the median interval of a difference."""
    halves = [
        (judged.high - judged.low) / 2
        for finding in found
        for claim, judged in zip(finding.relation.claims, finding.judged, strict=True)
        if isinstance(claim, Greater | NotLess | Close) and {each.measure for each in claim.quantities} == {"test"}
    ]
    return median(halves) if halves else None


def results(experiment: Experiment, outcomes: Outcomes, found: Sequence[Finding]) -> Results:
    """All measurements and verdicts, as JSON data."""
    return {
        "experiment": experiment.name,
        "title": experiment.title,
        "note": experiment.note,
        "columns": dict(experiment.columns),
        "rows": [
            {
                "row": row.label,
                "settings": asdict(row.settings),
                "paper": dict(row.paper),
                "measured": dict(_measured(experiment, outcomes[row.label])),
                "curves": [
                    {
                        name: [point if math.isfinite(point) else None for point in points.tolist()]
                        for name, points in one.curves.items()
                    }
                    for one in outcomes[row.label]
                ],
                "runs": [dict(one.facts) for one in outcomes[row.label]],
                "weights": [dict(one.weights) for one in outcomes[row.label]],
            }
            for row in experiment.rows
        ],
        "tells": tells(found),
        "scatter": _scatter(experiment, outcomes),
        "relations": [
            {
                "id": relation.id,
                "kind": relation.kind,
                "sentence": relation.sentence,
                "verdict": verdict,
                "claims": [each._asdict() for each in judged],
            }
            for relation, judged, verdict in found
        ],
    }


def _scatter(experiment: Experiment, outcomes: Outcomes) -> ScatterResult | None:
    if not isinstance(picture := experiment.picture, Scatter):
        return None
    x, y = (experiment.columns[name] for name in (picture.x, picture.y))
    return {"x": x, "y": y, "points": picture.points(outcomes)}


def _measured(experiment: Experiment, runs: Sequence[Outcome]) -> Iterator[tuple[str, dict[str, float]]]:
    for name in experiment.columns:
        if (found := measured(runs, name)) is not None:
            yield name, found._asdict()
