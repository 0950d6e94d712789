"""The differences between two runs, as figures."""

from __future__ import annotations

from dataclasses import asdict, dataclass

Value = str | int | float | bool | None


@dataclass(frozen=True, slots=True)
class Moved:
    """A feature and its weights in both runs."""

    feature: str
    one: float
    other: float


@dataclass(frozen=True, slots=True)
class Changed:
    """A segment of which the runs choose different texts, and each text by the metric."""

    segment: str
    one: str
    other: str
    score: float
    other_score: float


@dataclass(frozen=True, slots=True)
class Choices:
    """The numbers of segments with another choice, of better and worse ones, and the largest differences.

    The gain of the other run has a 95 % interval of a paired bootstrap, and p of approximate randomisation.
    """

    segments: int
    changed: int
    better: int
    worse: int
    score: float
    other_score: float
    gain: float
    low: float
    high: float
    p: float
    metric: str
    largest: list[Changed]


@dataclass(frozen=True, slots=True)
class Difference:
    """What differs between two runs."""

    runs: tuple[str, str]
    settings: dict[str, tuple[Value, Value]]
    inputs: list[str]
    likeness: dict[str, float]
    moved: list[Moved]
    choices: Choices | None
    why: str  # the reason if choices are not compared

    def facts(self) -> dict[str, object]:
        """The same for machines."""
        return asdict(self)
