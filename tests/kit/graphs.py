"""Random search graphs, and lists as plain Python."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from rampion.decoder.models.options import NOTHING, Graph
from rampion.decoder.search.kbest import Said

WORDS = 4


def graphs(random, sentences=3, nodes=6, edges=3, ties=False):
    """A batch of random graphs; some nodes cannot be reached, some sentences have no derivation."""
    bounds, degrees, origins = [0], [], []
    for _ in range(sentences):
        size = int(random.integers(2, nodes + 1))
        for v in range(size):
            degree = int(random.integers(0 if random.random() < 0.2 else 1, edges + 1)) if v else 0
            degrees.append(degree)
            origins += (bounds[-1] + np.sort(random.integers(0, v, degree))).tolist() if v else []
        bounds.append(bounds[-1] + size)
    edge_bounds = np.concatenate([[0], np.cumsum(degrees)]).astype(np.int64)
    options = random.integers(0, 12, len(origins)).astype(np.uint32)
    options[random.random(len(options)) < 0.2] = NOTHING
    scores = random.integers(-2, 3, len(origins)) / 1.0 if ties else random.normal(0, 1, len(origins))
    return Graph(np.array(bounds), edge_bounds, np.array(origins, np.uint32), options, scores)


def speech(random):
    """What twelve options say: up to two words, or one that only they know."""
    sizes = random.integers(0, 3, 6)
    words = random.integers(0, WORDS, sizes.sum()).astype(np.uint32)
    bounds = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    return Said(random.integers(0, 8, 12).astype(np.uint32), words, bounds, np.array([2, 9], np.uint32))


def listed(derivations):
    """Score and options of the derivations, sentence by sentence."""
    paths = [tuple(derivations.steps[a:b].tolist()) for a, b in pairwise(derivations.step_bounds.tolist())]
    rows = list(zip(derivations.scores.tolist(), paths, strict=True))
    return [rows[a:b] for a, b in pairwise(derivations.bounds.tolist())]


def same_bits(left, right):
    for one, other in zip(left, right, strict=True):
        assert one.dtype == other.dtype
        assert one.tobytes() == other.tobytes()


def everything(graph, sentence):
    """All paths of a sentence in order: score and edges. By definition, one node after the other."""
    first, last = graph.bounds[sentence : sentence + 2].tolist()
    found = {first: [(0.0, ())]}
    for v in range(first + 1, last):
        edges = range(graph.edge_bounds[v], graph.edge_bounds[v + 1])
        paths = [
            (score + graph.scores[e], e, rank, (*path, e))
            for e in edges
            for rank, (score, path) in enumerate(found[graph.origins[e]])
        ]
        paths.sort(key=lambda path: (-path[0], path[1], path[2]))
        found[v] = [(score, path) for score, _, _, path in paths]
    return found[last - 1] if last - first > 1 else []
