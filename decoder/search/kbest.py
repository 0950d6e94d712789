"""The k best derivations of a search graph: exact, lazy, in the same order on every machine, distinct if wanted."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray
from rampion.decoder import _kernels
from rampion.decoder.models.blocks import IDENTITY, Blocks
from rampion.decoder.models.options import Derivations, Graph, Options

from rampion.arrays import Ids, Offsets, span_of_each
from rampion.errors import RecipeError

ITEM = np.dtype([("score", "<f8"), ("edge", "<u4"), ("item", "<u4")])
NODE = np.dtype([("size", "<i8"), ("best", "<u4"), ("last", "<u4"), ("waiting", "<u4"), ("asker", "<u4")])
LOOKS = 20
_Cell = TypeVar("_Cell", bound=np.generic)


class Said(NamedTuple):
    """The words of options: option o has the words[bounds[p]:bounds[p + 1]] of its phrase p = phrases[o].

    Phrases with higher ids than these are single words: the i-th of them is others[i].
    """

    phrases: Ids
    words: Ids
    bounds: Offsets
    others: Ids

    def says(self, option: int) -> tuple[int, ...]:
        """The words of one option."""
        phrase, count = int(self.phrases[option]), len(self.bounds) - 1
        if phrase >= count:
            return (int(self.others[phrase - count]),)
        return tuple(self.words[self.bounds[phrase] : self.bounds[phrase + 1]].tolist())


NOBODY = Said(np.zeros(0, np.uint32), np.zeros(0, np.uint32), np.zeros(1, np.int64), np.zeros(0, np.uint32))


def said(options: Options, blocks: Blocks, surfaces: Ids) -> Said:
    """The words of a batch's options. surfaces[w] is word w of the batch as a target id, which IDENTITY copies.

    Words that are spelt alike must have the same id, in both languages.
    """
    phrases = blocks.targets[options.blocks]
    spans = span_of_each(options.spans)
    unknown = options.blocks == IDENTITY
    phrases[unknown] = len(blocks.target_bounds) - 1 + spans[unknown] // options.longest
    return Said(phrases, blocks.target_words, blocks.target_bounds, surfaces)


class Work(NamedTuple):
    """Work arrays for one sentence: its derivations and the next of each, the heaps of its edges, its nodes, texts."""

    items: NDArray[np.void]
    nexts: Ids
    heap: NDArray[np.void]
    nodes: NDArray[np.void]
    words: Ids
    word_bounds: Offsets
    seen: Ids


def kbest(graph: Graph, k: int, distinct: Said | None = None, looks: int = LOOKS) -> Derivations:
    """The k best derivations of every sentence, or all if there are fewer.

    With `distinct`, only the best derivation of every text is returned. At most looks * k derivations are examined, so
    there may be fewer than k.
    """
    if k < 1 or looks < 1:
        raise RecipeError(f"the {k} best of {looks} * {k} derivations are none; k and looks must be 1 or more")
    nodes, edges = widest(graph)
    most = k if distinct is None else k * looks

    def attempt(scale: int, start: int, found: Derivations) -> int:
        room = scale * (4 * nodes + 64)
        work = Work(
            np.empty(room, ITEM),
            np.empty(room, np.uint32),
            np.empty(edges, ITEM),
            np.empty(nodes, NODE),
            *said_room(scale, distinct is not None),
        )
        return _kernels.kbest(graph, distinct or NOBODY, k, most, start, work, found)

    return filled(len(graph.bounds) - 1, k, attempt)


def widest(graph: Graph) -> tuple[int, int]:
    """The most nodes and the most edges that a sentence has."""
    nodes = np.diff(graph.bounds).max(initial=0)
    edges = np.diff(graph.edge_bounds[graph.bounds]).max(initial=0)
    return int(nodes), int(edges)


def said_room(scale: int, distinct: bool) -> tuple[Ids, Offsets, Ids]:
    """Work arrays to compare up to 256 * scale texts: words, word_bounds and seen."""
    size = 256 * scale if distinct else 0
    return np.empty(32 * size, np.uint32), np.zeros(size + 1, np.int64), np.empty(2 * size, np.uint32)


def filled(sentences: int, k: int, attempt: Callable[[int, int, Derivations], int]) -> Derivations:
    """Call `attempt(scale, start, found)`, which fills in sentences from `start` on and returns how many are done.

    While some are missing, an array was full: the scale and the size of `found` are doubled.
    """
    bounds, step_bounds = np.zeros(sentences + 1, np.int64), np.zeros(1, np.int64)
    steps, scores = np.zeros(0, np.uint32), np.zeros(0)
    scale, done = 1, 0
    while True:
        rows = scale * (sentences * min(k, 128) + 1)
        step_bounds, steps, scores = _grown(step_bounds, rows + 1), _grown(steps, 16 * rows), _grown(scores, rows)
        found = Derivations(bounds, step_bounds, steps, scores)
        done = attempt(scale, done, found)
        if done == sentences:
            count = bounds[-1]
            return Derivations(bounds, step_bounds[: count + 1], steps[: step_bounds[count]], scores[:count])
        scale *= 2


def _grown(cells: NDArray[_Cell], size: int) -> NDArray[_Cell]:
    """The cells, extended to `size`."""
    room = np.empty(size, cells.dtype)
    room[: len(cells)] = cells
    return room
