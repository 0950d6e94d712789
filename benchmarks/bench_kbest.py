"""K-best and rescoring of beam-like search graphs: python benchmarks/bench_kbest.py [SENTENCES].

Graphs as a beam of 100 leaves them for 24 words: some 10 000 edges a sentence. Milliseconds a sentence of the kernel,
of all that stands around it, and how often the plain-Python twin takes as long. Rescoring: 1000 n-grams of each order,
4000 triggers, n derivations a node. That the twin finds the same bits is asserted first.
"""

from __future__ import annotations

import numpy as np

from decoder.options import NOTHING, Graph


def beam(random, sentences, steps, width, edges):
    """Graphs as a beam search leaves them: layers of nodes, edges from the few layers before."""
    bounds, edge_bounds, origins = [0], [0], []
    for _ in range(sentences):
        first = bounds[-1]
        edge_bounds.append(len(origins))
        layers = [[first]]
        for _ in range(steps):
            layer = []
            for _ in range(width):
                layer.append(layers[-1][-1] + 1 + len(layer))
                near = [node for before in layers[-3:] for node in before]
                origins += random.choice(near, min(len(near), int(random.integers(1, edges + 1))), False).tolist()
                edge_bounds.append(len(origins))
            layers.append(layer)
        origins += layers[-1]
        edge_bounds.append(len(origins))
        bounds.append(layers[-1][-1] + 2)
    options = np.arange(len(origins), dtype=np.uint32)
    options[np.array(edge_bounds)[np.array(bounds[1:])] - 1] = NOTHING
    scores = random.normal(0, 1, len(origins))
    return Graph(np.array(bounds), np.array(edge_bounds), np.array(origins, np.uint32), options, scores)
