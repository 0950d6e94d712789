"""The house's protocols on one screen. Implementations are frozen dataclasses: hyper-parameters only, no state."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Protocol, TypeVar, runtime_checkable

from rampion.arrays import KeyRow, Reals

if TYPE_CHECKING:
    from rampion.metrics.judging import Stakes
    from rampion.sets.records import DecodedBatch, Keyed
    from rampion.store.candidates import Candidates
    from rampion.store.features import Weights
    from rampion.store.text import References, Texts

Form = Literal["lists", "sets"]  # the candidates that a solver works on: lists, or packed relevant sets
B = TypeVar("B", contravariant=True)
W = TypeVar("W")
Watcher = Callable[[int, W], None]  # receives the number of every round and the weights after it
Watch = Watcher[Reals]


class Decoder(Protocol):
    """A black box that lists candidates: the bundled decoder, a file, an external command, a Python function."""

    def decode(self, segments: Texts, weights: Weights, k: int) -> Candidates:
        """At most k candidates of every segment."""
        ...


class KeyedDecoder(Decoder, Protocol):
    """A decoder whose features are keys: tens of millions of them. It yields batch after batch, in order."""

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the decoder's real-valued features."""
        ...

    @property
    def fingerprint(self) -> str:
        """A hash of everything that determines the candidates."""
        ...

    def listed(self, segments: Texts, weights: Keyed, k: int) -> Iterator[DecodedBatch]:
        """The k best candidates of every segment, best first."""
        ...

    def truths(self, segments: Texts, references: References, best: int) -> Iterator[DecodedBatch]:
        """The candidates of highest BLEU that the decoder can produce (S10.4)."""
        ...

    def bags(self, segments: Texts, seed: int) -> Iterator[DecodedBatch]:
        """One candidate for each segment, made without weights: the features of random blocks (S10.7)."""
        ...

    def best(self, segments: Texts, weights: Keyed) -> Texts: ...

    def spelt(self, keys: KeyRow) -> Texts:
        """The names of features, by their keys."""
        ...


class Loss(Protocol):
    """Scores and costs in, value and slopes out; it never sees a feature or a weight."""

    scope: ClassVar[Literal["segment", "corpus"]] = "segment"  # a sum over segments, or not
    relative: ClassVar[bool] = True  # whether the loss is unchanged when one number is added to all scores of a list

    @property
    def smooth(self) -> bool:
        """Whether the loss has a gradient everywhere."""
        ...

    def slopes(self, stakes: Stakes, scores: Reals) -> tuple[float, Reals]: ...


@runtime_checkable
class Update(Protocol):
    """How to move the weights, given a (sub)gradient of the whole batch."""

    def start(self, size: int) -> Any: ...

    def step(self, weights: Reals, gradient: Reals, value: float, state: Any) -> None:
        """Move the weights in place."""
        ...


@runtime_checkable
class Pace(Protocol):
    """The length of an online step: min(cap, violation / (curvature |df|^2))."""

    @property
    def cap(self) -> float: ...

    @property
    def curvature(self) -> float: ...


class Solver(Protocol[B, W]):
    """Moves weights to where a loss over a batch is small; the pull of L2 is towards `origin`."""

    form: ClassVar[Form] = "lists"  # what its batches hold

    def check(self, loss: Loss) -> None:
        """Raise RecipeError if this solver cannot minimise this loss."""
        ...

    def solve(self, loss: Loss, batch: B, weights: W, origin: W, watch: Watcher[W] | None = None) -> W: ...


class Policy(Protocol):
    """Which candidates to learn from, when every decoding iteration lists new ones."""

    form: ClassVar[Form] = "lists"  # how the candidates are kept: as lists, or as relevant sets


class ListPolicy(Policy, Protocol):
    """A policy that keeps lists in memory."""

    def absorb(self, kept: Candidates | None, fresh: Candidates, iteration: int) -> Candidates: ...
