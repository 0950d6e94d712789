"""Oracles: the block sequences of highest BLEU in the search space (S10.4), and bags of blocks (S10.7)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from rampion.decoder import _kernels
from rampion.decoder.models.blocks import IDENTITY, Blocks
from rampion.decoder.models.options import Derivations, Options, Sentences
from rampion.decoder.search.states import Reordering

from rampion.arrays import Ids, Offsets, chained, ends, span_of_each, taken
from rampion.errors import InputError, RecipeError
from rampion.metrics.bleu import ORDER, Bleu
from rampion.store.names import Names
from rampion.store.text import References, Texts
from rampion.threads import in_order

SHARD = 64  # sentences of one call of the kernel, for any number of threads
BAG = ("P1", "W1")  # the templates that a bag of blocks fires
BREVITIES = ("clipped", "unclipped", "bp+1", "nobp")  # the kernel's codes

GRAM = np.dtype(
    [("suffix", "u4"), ("context", "u4"), *((name, "i4") for name in ["order", "first", "limit", "count", "reader"])]
)
PHRASE = np.dtype([("first", "i4"), ("last", "i4"), ("shared", "i4", (ORDER,))])
HYPOTHESIS = np.dtype(
    [
        *((name, "i4") for name in ["free", "gap", "start", "end", "length", "paths"]),
        ("matches", "i4", (ORDER,)),
        *((name, "u4") for name in ["context", "origin", "option", "other"]),
    ]
)
ENTRY = np.dtype([("key", "f8"), ("slot", "i8")])
STACK = np.dtype([("threshold", "f8"), ("size", "i8"), ("settled", "i8")])


class Truth(NamedTuple):
    """The references of a batch in target word ids; words that the vocabulary lacks follow it, all below `size`.

    The references of sentence s are segments[s] to segments[s + 1], reference r is words[bounds[r]:bounds[r + 1]].
    surfaces[w] is source word w of the batch as a target word, which IDENTITY copies.
    """

    words: Ids
    bounds: Offsets
    segments: Offsets
    surfaces: Ids
    size: int


class Limits(NamedTuple):
    """The settings of an Oracle for the kernel."""

    beam: int
    best: int
    reach: int
    adjacent: bool
    brevity: int


class Work(NamedTuple):
    """Work arrays for the largest sentence of a shard."""

    local: Ids
    at: Ids
    moves: Ids
    letters: Ids
    grams: NDArray[Any]
    phrases: NDArray[Any]
    scales: NDArray[np.float64]
    stacks: NDArray[Any]
    entries: NDArray[Any]
    hypotheses: NDArray[Any]
    bits: NDArray[np.uint64]


class Found(NamedTuple):
    """Derivations of a shard, and their rows of rampion.metrics.bleu."""

    bounds: Offsets
    step_bounds: Offsets
    steps: Ids
    statistics: NDArray[np.int64]


def truth(sources: Texts, references: References, target: Names) -> Truth:
    """Source sentences and references as ids, split at whitespace. Equal words have equal ids."""
    if len(references) != len(sources):
        raise InputError(
            f"{len(sources)} source sentences, but references of {len(references)}; give each sentence its references"
        )
    empty = np.flatnonzero(np.diff(references.bounds) == 0)
    if len(empty):
        raise InputError(f"segment {empty[0]} has no reference; give it one, or leave the sentence out")
    batch = Names()
    surfaces, _ = batch.tokens(sources)
    words, bounds = batch.tokens(references.texts)
    known = target.find_all(batch.texts())
    ids = np.where(known < 0, len(target) + np.arange(len(batch)), known).astype(np.uint32)
    return Truth(ids[words], bounds, references.bounds, ids[surfaces], len(target) + len(batch))


@dataclass(frozen=True, slots=True)
class Oracle:
    """A search for the `best` sequences of highest BLEU+1. Prefixes are compared with scaled reference lengths."""

    beam: int = 100
    best: int = 5
    reordering: Reordering = field(default_factory=Reordering)
    brevity: Literal["clipped", "unclipped", "bp+1", "nobp"] = "clipped"

    def __post_init__(self) -> None:
        for name in ("beam", "best"):
            if getattr(self, name) < 1:
                raise InputError(f"the oracle's {name} is {getattr(self, name)}; at least 1 is needed")
        if self.reordering.limit:
            raise RecipeError("the oracle searches mon and swap, but no distortion; choose one of them (--reordering)")

    def __call__(
        self,
        sentences: Sentences,
        options: Options,
        blocks: Blocks,
        truth: Truth,
        threads: int = 1,
        progress: Callable[[int], None] | None = None,
    ) -> Derivations:
        """V_K of every sentence with its BLEU, ties in the order of the search; `progress` counts sentences."""
        count = len(sentences.bounds) - 1
        if len(truth.surfaces) != len(sentences.words) or len(truth.segments) != count + 1:
            raise InputError(
                f"{count} sentences of {len(sentences.words)} words, but the truth is of {len(truth.segments) - 1} "
                f"with {len(truth.surfaces)}; build it from the same source text, split at whitespace"
            )
        reach, adjacent, _ = self.reordering
        limits = Limits(self.beam, self.best, reach, adjacent, BREVITIES.index(self.brevity))
        targets = blocks.targets[options.blocks].astype(np.int64)
        lengths = blocks.target_bounds[targets + 1] - blocks.target_bounds[targets]
        letters = ends(np.where(options.blocks == IDENTITY, 1, lengths))

        def shard(first: int) -> Found:
            last = min(first + SHARD, count)
            work, found = self._room(first, last, sentences, options, truth, letters)
            _kernels.oracle(sentences, options, blocks, truth, limits, first, last, work, found)
            return found

        parts = []
        for part in in_order(shard, range(0, count, SHARD), threads):
            parts.append(part)
            if progress:
                progress(min(len(parts) * SHARD, count))
        return self._joined(parts)

    def _room(
        self, first: int, last: int, sentences: Sentences, options: Options, truth: Truth, letters: Offsets
    ) -> tuple[Work, Found]:
        """Arrays for the sentences from first to last - 1."""
        bounds = sentences.bounds[first : last + 1]
        ends = options.spans[bounds * options.longest]
        words = truth.bounds[truth.segments[first : last + 1]]
        reference = int(np.diff(words).max())
        longest = int(np.diff(truth.bounds[truth.segments[first] : truth.segments[last] + 1]).max())
        stacks = int(np.diff(bounds).max()) + 1
        room = self.beam * (self.best + 1) + 1
        slots = stacks * room
        work = Work(
            np.zeros(truth.size, np.uint32),
            np.empty(reference, np.uint32),
            np.empty((3 * reference + 1) * (reference + 1), np.uint32),
            np.empty(int(np.diff(letters[ends]).max()), np.uint32),
            np.empty(ORDER * reference + 1, GRAM),
            np.empty(int(np.diff(ends).max()), PHRASE),
            np.empty(stacks * (2 * longest + 16)),
            np.empty(stacks, STACK),
            np.empty(slots + room, ENTRY),  # with space to sort in
            np.empty(slots, HYPOTHESIS),
            np.empty((slots, ORDER * reference // 64 + 1), np.uint64),
        )
        kept = self.best * (last - first)
        steps = self.best * int(bounds[-1] - bounds[0])
        return work, Found(
            np.zeros(last - first + 1, np.int64),
            np.empty(kept + 1, np.int64),
            np.empty(steps, np.uint32),
            np.empty((kept, 2 + 2 * ORDER), np.int64),
        )

    def _joined(self, parts: list[Found]) -> Derivations:
        """The parts in order. Sequences are scored by the metric, and the best of each sentence comes first."""
        bounds = chained(part.bounds for part in parts)
        kept = [int(part.bounds[-1]) for part in parts]
        step_bounds = chained(part.step_bounds[: n + 1] for part, n in zip(parts, kept, strict=True))
        none = np.empty((0, 2 + 2 * ORDER), np.int64)
        rows = np.concatenate([none, *(part.statistics[:n] for part, n in zip(parts, kept, strict=True))])
        scores = Bleu(brevity=self.brevity).segments(rows)
        segments = span_of_each(bounds)
        order = np.lexsort((-scores, segments))
        steps = [part.steps[: part.step_bounds[n]] for part, n in zip(parts, kept, strict=True)]
        places, moved = taken(step_bounds, order)
        return Derivations(bounds, moved, np.concatenate([np.empty(0, np.uint32), *steps])[places], scores[order])


def bag(sentences: Sentences, options: Options, seed: int, first: int = 0) -> Derivations:
    """A bag for each sentence: a random block of every span that any block matches (S10.7), as a derivation of score 0.

    Only the templates of BAG make sense for a bag, because spans overlap. `first` is the number of the first sentence
    among all, so that the random choices do not depend on the batches.
    """
    cells = np.flatnonzero(np.diff(options.spans))
    sizes = np.diff(options.spans)[cells].astype(np.uint64)
    owners = np.searchsorted(sentences.bounds, cells // options.longest, "right") - 1
    places = cells - sentences.bounds[owners] * options.longest
    drawn = _mixed(_mixed(_mixed(np.uint64(seed)) + (owners + first).astype(np.uint64)) + places.astype(np.uint64))
    steps = options.spans[cells] + ((drawn >> np.uint64(32)) * sizes >> np.uint64(32)).astype(np.int64)
    count = len(sentences.bounds) - 1
    bounds = np.searchsorted(owners, np.arange(count + 1))
    return Derivations(np.arange(count + 1), bounds, steps.astype(np.uint32), np.zeros(count))


def _mixed(state: Any) -> NDArray[np.uint64]:
    """SplitMix64: every bit of the state affects every bit of the result (Steele, Lea and Flood 2014)."""
    z = np.atleast_1d(state) + np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    mixed: NDArray[np.uint64] = z ^ (z >> np.uint64(31))
    return mixed
