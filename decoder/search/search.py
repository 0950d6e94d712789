"""Beam search with cube pruning (S10.1): from sentences and their options to search graphs."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray
from rampion.decoder import _kernels
from rampion.decoder.models.lm import PAST
from rampion.decoder.models.options import Graph, Options, Sentences
from rampion.decoder.search.model import Model
from rampion.decoder.search.states import FARTHEST, TURNS, Reordering

from rampion.errors import InputError, RecipeError

_Item = TypeVar("_Item")
_Result = TypeVar("_Result")
CAP = 512  # the most words of a sentence; packed states could hold 1023
EVERYTHING = sys.maxsize
LEAST, MOST = 1 << 12, 1 << 16  # bounds of the initial number of nodes of a search's arrays

OPTION = np.dtype([
    ("look", "u8"), ("head", "f8"),
    ("block", "u4"), ("source", "u4"), ("target", "u4"), ("size", "u4"), ("lead", "u4"),
])  # fmt: skip
NODE = np.dtype([
    ("score", "f8"), ("rank", "f8"), ("state", "u8"), ("look", "u8"), ("edge", "i8"), ("option", "u4"), ("slot", "u4"),
])  # fmt: skip
EDGE = np.dtype([("total", "f8"), ("score", "f8"), ("next", "i8"), ("origin", "u4"), ("option", "u4")])
GROUP = np.dtype([("state", "u8"), ("first", "i8"), ("last", "i8"), ("phrase", "u4")])
GRID = np.dtype([
    ("source", "f8"), ("future", "f8"), ("base", "f8"), ("state", "u8"), ("first", "i8"), ("last", "i8"),
    ("choice", "i8"), ("end", "i8"), ("group", "i8"), ("phrase", "u4"), ("turn", "u4"),
])  # fmt: skip


@dataclass(frozen=True, slots=True)
class Search:
    """The settings of a search.

    Each stack scores about `pops` cells, and keeps the `beam` best. A cell whose estimate is more than `threshold`
    below the best is not scored, and a cell whose score is, is not kept.
    """

    beam: int = 100
    pops: int = 1000
    threshold: float = float("inf")
    reordering: Reordering = Reordering()  # noqa: RUF009 - a NamedTuple is immutable

    def __post_init__(self) -> None:
        for name in ("beam", "pops"):
            if getattr(self, name) < 1:
                raise RecipeError(f"{name} is {getattr(self, name)}; a search needs at least 1")
        if self.reordering.reach < 0:
            raise RecipeError(f"reach is {self.reordering.reach}; 0 is monotone, more lets blocks swap")
        if not 0 <= self.limit <= FARTHEST:
            raise RecipeError(f"the limit of distortion is {self.limit}; expected 1 to {FARTHEST} words, or 0 for none")
        if not self.threshold >= 0:
            raise RecipeError(f"threshold is {self.threshold}; a difference of scores is wanted, 0 or more")

    @classmethod
    def exact(cls, reordering: Reordering = Reordering()) -> Search:  # noqa: B008
        """A search without pruning, for small inputs."""
        return cls(EVERYTHING, EVERYTHING, reordering=reordering)

    @property
    def reach(self) -> int:
        return self.reordering.reach

    @property
    def adjacent_swaps(self) -> bool:
        return self.reordering.adjacent_swaps

    @property
    def limit(self) -> int:
        return self.reordering.limit


class Work(NamedTuple):
    """The work arrays of one thread."""

    options: NDArray[np.void]
    tips: NDArray[np.uint32]
    openings: NDArray[np.uint32]
    choices: NDArray[np.uint32]
    table: NDArray[np.uint32]
    seats: NDArray[np.uint32]
    row_nodes: NDArray[np.uint32]
    states: NDArray[np.void]
    histories: NDArray[np.void]
    fresh_histories: NDArray[np.void]
    keys: NDArray[np.uint64]
    looks: NDArray[np.uint64]
    gains: NDArray[np.float64]
    rest: NDArray[np.float64]
    fills: NDArray[np.float64]
    gaps: NDArray[np.float64]
    leaving: NDArray[np.float64]
    rows: NDArray[np.float64]
    ranks: NDArray[np.float64]
    bracket: NDArray[np.float64]
    homes: NDArray[np.int64]
    marks: NDArray[np.int64]
    stacks: NDArray[np.int64]
    order: NDArray[np.int64]
    spare: NDArray[np.int64]
    turns: NDArray[np.int64]
    nodes: NDArray[np.void]
    fresh: NDArray[np.void]
    edges: NDArray[np.void]
    tries: NDArray[np.void]
    groups: NDArray[np.void]
    grids: NDArray[np.void]

    @classmethod
    def of(cls, room: int, cells: int, words: int, longest: int, options: int, past: int, limit: int) -> Work:
        """Work arrays for sentences of up to `words` words and `options` options, and a language model of `past` words.

        `room` is the number of nodes that a search can keep, `cells` those of a stack; both are powers of two.
        """
        kinds, turns = len(TURNS) * (options + 1), 3 if limit else 1
        within = options + 1 if limit else 0  # options of a search within a limit

        def ids(size: int) -> NDArray[np.uint32]:
            return np.empty(size, np.uint32)

        def reals(size: int) -> NDArray[np.float64]:
            return np.empty(size, np.float64)

        def offsets(size: int) -> NDArray[np.int64]:
            return np.empty(size, np.int64)

        return cls(
            np.empty(options + 1, OPTION), ids(4 * options + 4), ids(options * past + past), ids(kinds),
            np.zeros(2 * cells, np.uint32), np.zeros(1 << (2 * within).bit_length(), np.uint32), ids(turns * room),
            np.empty(2 * past, PAST), np.empty(room * past, PAST), np.empty(room * past, PAST),
            np.empty(512, np.uint64), np.empty(within, np.uint64),
            reals(kinds), reals(words + 1), reals(words * longest), reals((words + 1) * limit), reals(3 * within),
            reals(turns * room), reals(room), reals(3),
            offsets(512), offsets(128), offsets(words + 2), offsets(room), offsets(room), offsets(room),
            np.empty(room, NODE), np.empty(cells, NODE), np.empty(2 * room, EDGE), np.empty(room, EDGE),
            np.empty(room, GROUP), np.empty(room, GRID),
        )  # fmt: skip


def search(sentences: Sentences, options: Options, model: Model, settings: Search) -> Graph:
    """The search graph of one batch."""
    lengths = np.diff(sentences.bounds)
    if len(lengths) and lengths.max() > CAP:
        s = int(np.argmax(lengths > CAP))
        raise InputError(f"sentence {s} has {lengths[s]} words; the search takes at most {CAP}: split it")
    if bool(settings.limit) != bool(len(model.leaves)):
        made = "a limit of distortion" if len(model.leaves) else "monotone and swap"
        raise InputError(f"the model was made for {made}, which the search is not; make it with within_limit")
    model.assess(options.blocks)
    words = int(lengths.max(initial=1))
    choices = int(np.diff(options.spans[sentences.bounds * options.longest]).max(initial=0))
    run = _kernels.search_plainly if model.pair else _kernels.search
    cells = 1 << (settings.pops - 1).bit_length()
    room = 1 << (min(max(settings.beam * (words + 2), settings.pops * words // 2, LEAST), MOST) - 1).bit_length()
    graph, done, count = _room(len(lengths), room), 0, len(lengths)
    while True:
        work = Work.of(room, min(room, cells), words, options.longest, choices, model.lm.order - 1, settings.limit)
        done, before = run(sentences, options, model.blocks, model, settings, work, graph, done), done
        nodes = int(graph.bounds[done])
        edges = int(graph.edge_bounds[nodes])
        if done == count:
            return _cut(graph, nodes, edges)
        room *= 1 if done > before else 2
        graph = _longer(_cut(graph, nodes, edges), max(2 * len(graph.origins), edges * (count + 2) // max(done, 1)))


def _room(sentences: int, room: int) -> Graph:
    bounds, edge_bounds = np.zeros(sentences + 1, np.int64), np.zeros(room + 1, np.int64)
    return Graph(bounds, edge_bounds, np.empty(room, np.uint32), np.empty(room, np.uint32), np.empty(room))


def _cut(graph: Graph, nodes: int, edges: int) -> Graph:
    return Graph(
        graph.bounds, graph.edge_bounds[: nodes + 1], graph.origins[:edges], graph.options[:edges], graph.scores[:edges]
    )


def _longer(graph: Graph, room: int) -> Graph:
    """The same graph in arrays for `room` nodes and edges."""
    longer = _room(len(graph.bounds) - 1, room)
    longer.bounds[:] = graph.bounds
    longer.edge_bounds[: len(graph.edge_bounds)] = graph.edge_bounds
    longer.origins[: len(graph.origins)] = graph.origins
    longer.options[: len(graph.options)] = graph.options
    longer.scores[: len(graph.scores)] = graph.scores
    return longer
