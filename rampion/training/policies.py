"""Which candidates to learn from, when every decoding iteration lists new ones (S1, C3)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from rampion.errors import RecipeError
from rampion.protocols import ListPolicy, Policy
from rampion.store.candidates import Candidates


@dataclass(frozen=True, slots=True)
class Replace(ListPolicy):
    """This iteration's lists only (Algorithm 1 of Gimpel & Smith as printed)."""

    def absorb(self, kept: Candidates | None, fresh: Candidates, iteration: int) -> Candidates:
        return fresh.at(iteration).distinct()


@dataclass(frozen=True, slots=True)
class Merge(ListPolicy):
    """The union over all iterations."""

    def absorb(self, kept: Candidates | None, fresh: Candidates, iteration: int) -> Candidates:
        fresh = fresh.at(iteration).distinct()
        return fresh if kept is None else kept.merge(fresh)


@dataclass(frozen=True, slots=True)
class Window(ListPolicy):
    """The union of the last `iterations` iterations."""

    iterations: int = 3

    def __post_init__(self) -> None:
        if self.iterations < 1:
            raise RecipeError(f"a window of {self.iterations} iterations holds no lists; expected at least 1")

    def absorb(self, kept: Candidates | None, fresh: Candidates, iteration: int) -> Candidates:
        merged = Merge().absorb(kept, fresh, iteration)
        recent = merged.seen > iteration - self.iterations
        return merged if recent.all() else merged.keep(recent)


@dataclass(frozen=True, slots=True)
class Fixed(ListPolicy):
    """Always the lists of the first iteration."""

    def absorb(self, kept: Candidates | None, fresh: Candidates, iteration: int) -> Candidates:
        return fresh.at(iteration).distinct() if kept is None else kept


@dataclass(frozen=True, slots=True)
class RelevantSets(Policy):
    """All candidates of all iterations, and truths to rank above them: stored on disk, packed for learning (S10)."""

    form = "sets"

    start: Literal["bag", "seeds"] = "bag"  # the first candidates: of random blocks (S10.7), or decoded (S10.9)
    truths: int = 5  # the number of best candidates found for each segment; 0: the best in the set is the truth
    restart: bool = True  # every iteration begins at the first weights again, not at the last ones
    learn: Literal["binary", "real", "both"] = "binary"
    text: Literal["train", "dev"] = "train"  # the part of the corpus to learn from
    flat: float = 0.1  # the weight of learnt real-valued features in the first decoding
    initial: float = 0.1  # the weight at which their learning begins
    least: int = 2  # the minimum count of a binary feature that is learnt (S10.2)

    def __post_init__(self) -> None:
        if self.truths < 0:
            raise RecipeError(f"truths is {self.truths}; expected 0 or more")
        if self.least < 1:
            raise RecipeError(f"least is {self.least}; expected 1 or more")
        refuse_unknown(self, {"start": ("bag", "seeds"), "learn": ("binary", "real", "both"), "text": ("train", "dev")})


def refuse_unknown(part: Any, choices: Mapping[str, Sequence[str]]) -> None:
    """Raise RecipeError if a setting is none of the known values."""
    for name, known in choices.items():
        if (given := getattr(part, name)) not in known:
            raise RecipeError(f"{name} is {given!r}; expected {' or '.join(map(repr, known))}")


def policy_named(name: str) -> ListPolicy:
    """The policy of this name: replace, merge, fixed, or window:N."""
    kind, _, size = name.partition(":")
    if kind == "window" and size.isdigit():
        return Window(int(size))
    policies: dict[str, ListPolicy] = {"replace": Replace(), "merge": Merge(), "fixed": Fixed()}
    if name not in policies:
        raise RecipeError(f"no policy {name!r}; there are {', '.join(policies)} and window:N")
    return policies[name]
