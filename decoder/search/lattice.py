"""Search graphs as lattices: files, scores of paths, posteriors, and pruning.

In a text file, a sentence begins with a line `sentence NODES EDGES`. A line for each edge follows, sorted by the node
that it leads to: ORIGIN TARGET SCORE WORDS, where WORDS may be empty. Node 0 is the start, the last node the goal.
A file whose name ends in .lattice is binary, and mapped into memory.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import inf, isfinite
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rampion.decoder import _kernels
from rampion.decoder.models.options import NOTHING, Derivations, Graph
from rampion.decoder.search.kbest import Said, kbest

from rampion.arrays import Reals, ends, span_of_each
from rampion.errors import FormatError, InputError, RecipeError
from rampion.formats import container
from rampion.formats.files import FilePath, head, line_blocks, not_utf8, replacing, shown
from rampion.schema import Found, Row, Schema, bounds, reals, spans, strings
from rampion.store.names import Names
from rampion.store.text import Texts

ENDING = ".lattice"

NONE: NDArray[np.uint32] = np.zeros(0, np.uint32)


@dataclass(frozen=True, slots=True, eq=False)
class Lattice:
    """Graphs with phrases on their edges: option o has the text phrases[o]."""

    graph: Graph
    phrases: Texts

    def __len__(self) -> int:
        return len(self.graph.bounds) - 1

    @classmethod
    def of(cls, graph: Graph, said: Said, names: Names) -> Lattice:
        """A search graph with texts in place of options and blocks. `names` are those of its words."""
        speaks = graph.options != NOTHING
        used, places = np.unique(said.phrases[graph.options[speaks]], return_index=True)
        words = names.texts()
        phrases = [" ".join(words[w] for w in said.says(int(o))) for o in graph.options[speaks][places]]
        options = graph.options.copy()
        options[speaks] = np.searchsorted(used, said.phrases[graph.options[speaks]])
        return cls(graph._replace(options=options), Texts.from_strings(phrases))

    @classmethod
    def join(cls, parts: Sequence[Lattice]) -> Lattice:
        """The lattices of all parts, in order."""
        graphs = [part.graph for part in parts]
        nodes = np.cumsum([0, *(len(graph.edge_bounds) - 1 for graph in graphs)])
        edges = np.cumsum([0, *(len(graph.origins) for graph in graphs)])
        phrases = np.cumsum([0, *(len(part.phrases) for part in parts)])
        first = np.zeros(1, np.int64)
        shifted = [graph.options + np.uint32(phrases[n]) for n, graph in enumerate(graphs)]
        speaks = [graph.options != NOTHING for graph in graphs]
        whole = Graph(
            np.concatenate([first, *(graph.bounds[1:] + nodes[n] for n, graph in enumerate(graphs))]),
            np.concatenate([first, *(graph.edge_bounds[1:] + edges[n] for n, graph in enumerate(graphs))]),
            np.concatenate([NONE, *(graph.origins + np.uint32(nodes[n]) for n, graph in enumerate(graphs))]),
            np.concatenate([NONE, *map(np.where, speaks, shifted, [np.uint32(NOTHING)] * len(graphs))]),
            np.concatenate([np.zeros(0), *(graph.scores for graph in graphs)]),
        )
        return cls(whole, Texts.join([part.phrases for part in parts]))

    def said(self, names: Names) -> Said:
        """The words of the edges as ids of `names`. New words are added to `names`."""
        words, bounds = names.tokens(self.phrases)
        return Said(np.arange(len(self.phrases), dtype=np.uint32), words, bounds, np.zeros(0, np.uint32))

    def texts(self, derivations: Derivations) -> Texts:
        """The texts of the derivations."""
        phrases = list(self.phrases)
        steps = derivations.steps.tolist()
        rows = pairwise(derivations.step_bounds.tolist())
        return Texts.from_strings(" ".join(filter(None, (phrases[step] for step in steps[a:b]))) for a, b in rows)


def write(path: FilePath, lattice: Lattice) -> None:
    """Write a file: binary if the name ends in .lattice, else text."""
    graph, phrases = lattice.graph, lattice.phrases
    if str(path).endswith(ENDING):
        arrays: dict[str, NDArray[Any]] = {"blob": phrases.blob, "text_bounds": phrases.bounds}
        container.write(path, SCHEMA.kind, graph._asdict() | arrays, {})
        return
    words = list(phrases)
    origins, options, scores = graph.origins.tolist(), graph.options.tolist(), graph.scores.tolist()
    edges = [range(start, end) for start, end in pairwise(graph.edge_bounds.tolist())]
    with replacing(path) as file:
        for first, last in pairwise(graph.bounds.tolist()):
            count = int(graph.edge_bounds[last] - graph.edge_bounds[first])
            if last - first > 2 * count + 2:
                raise InputError(f"{path}: {count} edges cannot join {last - first} nodes; prune the lattice first")
            lines = [f"sentence {last - first} {count}"]
            for v in range(first, last):
                for e in edges[v]:
                    text = words[options[e]] if options[e] != NOTHING else ""
                    lines.append(f"{origins[e] - first} {v - first} {scores[e]!r} {text}".rstrip(" "))
            file.write("".join(f"{line}\n" for line in lines).encode())


def read(path: FilePath) -> Lattice:
    """Read a file, which may be text (also compressed) or binary."""
    if not head(path).startswith(container.NAME):
        return _Reader(path).lattice()
    arrays, _ = container.read(path, SCHEMA)
    graph = Graph(*(arrays[name] for name in Graph._fields))
    return Lattice(graph, Texts(arrays["blob"], arrays["text_bounds"]))


def _edges_fit(found: Found) -> str | None:
    """What is wrong with the edges, once their bounds are proved."""
    graph, phrases = Graph(*(found.arrays[name] for name in Graph._fields)), found.sizes["phrases"]
    if ((graph.origins < _starts(graph)) | (graph.origins >= targets(graph))).any():
        return "it has an edge that does not lead forward"
    if ((graph.options >= phrases) & (graph.options != NOTHING)).any():
        return "it has an edge with a phrase that it does not have"
    return None


SCHEMA = Schema(
    "lattice",
    {
        "edge_bounds": bounds("nodes", "origins"),
        "bounds": Row("<i8", ("sentences+1",), (spans("nodes"),)),
        "origins": Row("<u4", ("edges",)),
        "options": Row("<u4", ("edges",)),
        "scores": reals("edges"),
        **strings("phrases", "blob", "text_bounds"),
    },
    also=_edges_fit,
)


class _Reader:
    """The sentences of a text file."""

    def __init__(self, path: FilePath) -> None:
        self.path, self.line = path, 0
        self.nodes = self.missing = self.last = 0  # of this sentence: nodes, edges to come, node of the last edge
        self.bounds = [0]
        self.origins, self.targets, self.options, self.scores = list[int](), list[int](), list[int](), list[float]()
        self.phrases: dict[str, int] = {}

    def lattice(self) -> Lattice:
        for first, block in line_blocks(self.path):
            for self.line, line in enumerate(block[:-1].split(b"\n"), first):
                fields = line.split(None, 3)
                if fields[:1] == [b"sentence"]:
                    self._open(line, fields)
                elif fields:
                    self._add(line, fields)
        self._close("the file ends")
        edge_bounds = np.searchsorted(self.targets, np.arange(self.bounds[-1] + 1))
        graph = Graph(
            np.array(self.bounds, np.int64),
            edge_bounds.astype(np.int64),
            np.array(self.origins, np.uint32),
            np.array(self.options, np.uint32),
            np.array(self.scores, np.float64),
        )
        return Lattice(graph, Texts.from_strings(self.phrases))

    def _error(self, message: str) -> FormatError:
        return FormatError.at(shown(self.path), self.line, message)

    def _close(self, event: str) -> None:
        if self.missing:
            raise self._error(f"{event}, and {self.missing} edges of the sentence before are missing; get it again")

    def _open(self, line: bytes, fields: list[bytes]) -> None:
        self._close("a sentence begins")
        if len(fields) != 3 or not all(count.isdigit() and len(count) < 19 for count in fields[1:]):
            raise self._error(f"found {_quoted(line)}; expected 'sentence NODES EDGES', two counts")
        self.nodes, self.missing, self.last = int(fields[1]), int(fields[2]), 0
        if self.nodes > 2 * self.missing + 2:
            raise self._error(f"{self.missing} edges cannot join {self.nodes} nodes; expected counts that fit")
        self.bounds.append(self.bounds[-1] + self.nodes)

    def _add(self, line: bytes, fields: list[bytes]) -> None:
        try:
            origin, target, score = int(fields[0]), int(fields[1]), float(fields[2])
            fit = isfinite(score) and b"_" not in fields[0] + fields[1] + fields[2]
        except (IndexError, ValueError):
            fit = False
        if not fit:
            raise self._error(f"found {_quoted(line)}; expected an edge, 'ORIGIN TARGET SCORE WORDS'")
        if not self.missing:
            raise self._error("an edge more than its sentence was said to have; expected 'sentence NODES EDGES'")
        if not (0 <= origin < target < self.nodes and self.last <= target):
            raise self._error(
                f"an edge leads from node {origin} to node {target}; expected one that leads forward in a sentence of "
                f"{self.nodes} nodes, to node {self.last} or one after it"
            )
        try:
            words = b" ".join(b"".join(fields[3:]).split()).decode()
        except UnicodeDecodeError as mistake:
            raise not_utf8(self.path, self.line, mistake) from mistake
        first = self.bounds[-2]
        self.origins.append(first + origin)
        self.targets.append(first + target)
        self.scores.append(score)
        self.options.append(self.phrases.setdefault(words, len(self.phrases)) if words else NOTHING)
        self.missing, self.last = self.missing - 1, target


def _quoted(line: bytes) -> str:
    return repr(line[:60].decode("utf-8", "replace"))


def targets(graph: Graph) -> NDArray[np.int64]:
    """The node that each edge leads to."""
    return span_of_each(graph.edge_bounds)


def paths(graph: Graph) -> list[int]:
    """How many derivations each sentence has."""
    origins, counts = graph.origins.tolist(), list[int]()
    edges = list(pairwise(graph.edge_bounds.tolist()))
    for first, last in pairwise(graph.bounds.tolist()):
        counts += [1] * (last > first)
        for start, end in edges[first + 1 : last]:
            counts.append(sum(counts[u] for u in origins[start:end]))
    return [counts[end - 1] if end - start > 1 else 0 for start, end in pairwise(graph.bounds.tolist())]


def distances(graph: Graph, soft: bool = False) -> tuple[Reals, Reals]:
    """The best scores of paths from the start to each node, and from it to the goal; if soft, the logs of sums."""
    return _distances(graph, graph.scores, soft)


def _distances(graph: Graph, scores: Reals, soft: bool) -> tuple[Reals, Reals]:
    forward, backward = (np.empty(len(graph.edge_bounds) - 1) for _ in range(2))
    _kernels.distances(graph, scores, soft, forward, backward)
    return forward, backward


def _gaps(graph: Graph, soft: bool) -> Reals:
    """The score of the paths over each edge minus the score of all paths of its sentence; -inf if there are none."""
    forward, backward = distances(graph, soft)
    whole = backward[_starts(graph)]
    whole[np.isneginf(whole)] = 0.0
    return forward[graph.origins] + graph.scores + backward[targets(graph)] - whole


def _starts(graph: Graph) -> NDArray[np.int64]:
    """The first node of each edge's sentence."""
    return np.repeat(graph.bounds[:-1], np.diff(graph.edge_bounds[graph.bounds]))


def posteriors(graph: Graph) -> Reals:
    """The posterior of each edge: the sum of exp(score) of the paths over it, divided by that of all paths."""
    return np.exp(_gaps(graph, True))


def pruned(graph: Graph, margin: float = inf, posterior: float = 0.0) -> Graph:
    """Remove edges whose best path is more than `margin` below the best one, or whose posterior is below `posterior`.

    The best path stays. Edges that are on no path from the start to the goal are removed, too.
    """
    if not (margin >= 0.0 and 0.0 <= posterior <= 1.0):
        raise RecipeError(f"margin {margin} and posterior {posterior}: expected 0 or more, and 0 to 1")
    wanted = (_gaps(graph, False) >= -margin) & (posteriors(graph) >= posterior)
    numbered = graph._replace(options=np.arange(len(graph.options), dtype=np.uint32))
    wanted[kbest(numbered, 1).steps] = True
    forward, backward = _distances(graph, np.where(wanted, graph.scores, -inf), False)
    alive = np.isfinite(forward) & np.isfinite(backward)
    stays = wanted & alive[graph.origins] & alive[targets(graph)]
    filled = graph.bounds[:-1][np.diff(graph.bounds) > 0]
    alive[filled] = alive[graph.bounds[1:][np.diff(graph.bounds) > 0] - 1] = True
    nodes, edges = (ends(mask) for mask in (alive, stays))
    return Graph(
        nodes[graph.bounds],
        np.append(edges[graph.edge_bounds[:-1]][alive], edges[-1]),
        nodes[graph.origins[stays]].astype(np.uint32),
        graph.options[stays],
        graph.scores[stays],
    )


def sampled(graph: Graph, n: int, seed: int = 0) -> Derivations:
    """Draw n derivations for each sentence that has any, each with a probability in proportion to exp(score)."""
    graph = pruned(graph)
    forward, _ = distances(graph, True)
    shares = np.exp(forward[graph.origins] + graph.scores - forward[targets(graph)])
    sums = np.concatenate([[0.0], np.cumsum(shares)])
    some = np.flatnonzero(np.diff(graph.edge_bounds[graph.bounds]))
    at, start = (np.repeat(nodes[some], n) for nodes in (graph.bounds[1:] - 1, graph.bounds[:-1]))
    columns, random = [np.zeros(len(at), np.int64) - 1], np.random.default_rng(seed)
    while (moving := at > start).any():
        low, high = graph.edge_bounds[at], graph.edge_bounds[at + 1]
        places = sums[low] + random.random(len(at)) * (sums[high] - sums[low])
        edges = np.clip(np.searchsorted(sums, places, side="right") - 1, low, high - 1)
        columns.append(np.where(moving, edges, -1))
        at = np.where(moving, graph.origins[edges], at)
    scores = np.zeros(len(at))
    for column in columns[:0:-1]:
        scores[column >= 0] += graph.scores[column[column >= 0]]
    order = np.lexsort((-scores, start))
    path = np.stack(columns[::-1], axis=1)[order]
    steps = np.append(graph.options, np.uint32(NOTHING))[path]
    bounds = n * ends(np.diff(graph.edge_bounds[graph.bounds]) > 0)
    step_bounds = ends((steps != NOTHING).sum(axis=1))
    return Derivations(bounds, step_bounds, steps[steps != NOTHING], scores[order])
