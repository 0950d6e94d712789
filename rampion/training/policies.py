"""Which candidates to learn from, when every decoding iteration lists new ones (S1, C3)."""

from __future__ import annotations

from dataclasses import dataclass

from rampion.errors import RecipeError
from rampion.store.candidates import Candidates


@dataclass(frozen=True, slots=True)
class Replace:
    """This iteration's lists only (Algorithm 1 of Gimpel & Smith as printed)."""

    def absorb(self, kept: Candidates | None, fresh: Candidates, iteration: int) -> Candidates:
        return fresh.at(iteration).distinct()


@dataclass(frozen=True, slots=True)
class Merge:
    """The union over all iterations."""

    def absorb(self, kept: Candidates | None, fresh: Candidates, iteration: int) -> Candidates:
        fresh = fresh.at(iteration).distinct()
        return fresh if kept is None else kept.merge(fresh)


@dataclass(frozen=True, slots=True)
class Window:
    """The union of the last `iterations`."""

    iterations: int = 3

    def __post_init__(self) -> None:
        if self.iterations < 1:
            raise RecipeError(f"a window of {self.iterations} iterations holds no lists; expected at least 1")

    def absorb(self, kept: Candidates | None, fresh: Candidates, iteration: int) -> Candidates:
        merged = Merge().absorb(kept, fresh, iteration)
        recent = merged.seen > iteration - self.iterations
        return merged if recent.all() else merged.keep(recent)


@dataclass(frozen=True, slots=True)
class Fixed:
    """The first lists, for ever."""

    def absorb(self, kept: Candidates | None, fresh: Candidates, iteration: int) -> Candidates:
        return fresh.at(iteration).distinct() if kept is None else kept
