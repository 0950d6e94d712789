"""K-best and rescoring of beam-like search graphs: python benchmarks/bench_kbest.py [SENTENCES [WORDS [BEAM]]].

Graphs as a beam of 100 leaves them for 24 words: some 10 000 edges a sentence. CPU milliseconds a sentence, all Python
around the kernel included; beside them those of the plain-Python twin, which is first seen to find the same bits.
Rescoring: 500 best with 200 unigrams, 1000 bigrams, 1000 trigrams, and 4000 triggers or none; n derivations a node.
Firing: the count features of 500 derivations.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from functools import partial
from importlib import import_module
from typing import Any

import numpy as np
from measure import Run, best
from numpy.typing import NDArray
from rampion.decoder import _kernels
from rampion.decoder.models.blocks import SPECIAL
from rampion.decoder.models.options import NOTHING, Derivations, Graph
from rampion.decoder.search.cube import NonLocal, rescored
from rampion.decoder.search.kbest import Said, kbest
from run import table

from rampion.store.names import Names
from rampion.store.text import Texts

WORDS, PHRASES = 3000, 3000
Told = tuple[NDArray[Any], ...]
Work = Callable[[Graph], Told]


def beam(random: np.random.Generator, sentences: int, steps: int, width: int, edges: int) -> Graph:
    """Graphs as a beam search leaves them: layers of nodes, edges from the few layers before."""
    bounds, edge_bounds, origins = [0], [0], list[int]()
    for _ in range(sentences):
        first = bounds[-1]
        edge_bounds.append(len(origins))
        layers = [[first]]
        for _ in range(steps):
            layer = list[int]()
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


def speech(random: np.random.Generator, options: int) -> Said:
    """Phrases of two words, the frequent ones frequent."""
    words = zipf(random, 2 * PHRASES)
    return Said(random.integers(0, PHRASES, options).astype(np.uint32), words, np.arange(0, len(words) + 1, 2),
                np.zeros(0, np.uint32))  # fmt: skip


def zipf(random: np.random.Generator, count: int) -> NDArray[np.uint32]:
    return (len(SPECIAL) + np.minimum(random.zipf(1.2, count), WORDS) - 1).astype(np.uint32)


def features(random: np.random.Generator, triggers: int) -> NonLocal:
    names = Names()
    names.intern_all(Texts.from_strings([*SPECIAL, *(f"w{rank}" for rank in range(WORDS))]))
    words = names.texts()

    def some(count: int, size: int) -> dict[tuple[str, ...], float]:
        return {tuple(words[word] for word in zipf(random, size)): float(random.normal()) for _ in range(count)}

    return NonLocal.of(some(200, 1) | some(1000, 2) | some(1000, 3), some(triggers, 2), names)


def contestants(random: np.random.Generator, graphs: Sequence[Graph]) -> dict[str, Work]:
    said = speech(random, max(len(graph.options) for graph in graphs))
    works: dict[str, Work] = {f"{k} best": partial(kbest, k=k) for k in (1, 10, 100, 1500)}
    works |= {f"{k} best, distinct": partial(kbest, k=k, distinct=said) for k in (100, 1500)}
    for kind, count in (("n-grams", 0), ("n-grams and triggers", 4000)):
        weights = features(random, count)
        works |= {
            f"rescored by {kind}, n = {n}": partial(rescored, said=said, features=weights, n=n) for n in (10, 100)
        }
    numbers = weights._replace(weights=np.arange(1.0, len(weights.keys) + 1))
    found = {len(graph.origins): kbest(graph, 500) for graph in graphs}
    return works | {"what 500 fire": partial(told, said, numbers, found)}


def told(said: Said, numbers: NonLocal, found: dict[int, Derivations], graph: Graph) -> Told:
    """What derivations fire; each phrase has three word pairs."""
    derivations = found[len(graph.origins)]
    options, count = len(said.phrases), len(derivations.scores)
    firsts = 3 * np.arange(options)
    pairs = np.arange(3 * options, dtype=np.uint32)
    text, ids = np.empty(4096, np.uint32), np.empty(256 * count, np.uint32)
    bounds = np.zeros(count + 1, np.int64)
    assert _kernels.count_features(derivations, said, numbers, firsts, firsts + 3, pairs, 0, text, bounds, ids) == count
    return ids[: bounds[-1]], bounds


def with_twins(work: Work, graph: Graph) -> Told:
    """The work on plain Python."""
    homes = {"kbest": "kbest", "cube": "cube", "count_features": "grams"}
    kernels = {name: getattr(_kernels, name) for name in homes}
    try:
        for name in kernels:
            setattr(_kernels, name, getattr(import_module(f"rampion.decoder._reference.{homes[name]}"), name))
        return work(graph)
    finally:
        for name, kernel in kernels.items():
            setattr(_kernels, name, kernel)


def main(sentences: int = 16, steps: int = 24, width: int = 100) -> None:
    random = np.random.default_rng(0)
    graph, one = (beam(random, count, steps, width, 8) for count in (sentences, 1))
    rows = []
    for name, work in contestants(random, (graph, one)).items():
        same = [array.tobytes() for array in work(one)] == [array.tobytes() for array in with_twins(work, one)]
        assert same, name
        kernel = best({name: Run(lambda: (graph,), work)})[name] / sentences
        twin = best({name: Run(lambda: (one,), partial(with_twins, work))})[name]
        rows.append([name, f"{1000 * kernel:.3f}", f"{1000 * twin:.0f}", f"{twin / kernel:.0f}"])
    print(f"{len(graph.options) / sentences:.0f} edges a sentence")
    print("\n".join(table(["what", "ms a sentence", "twin", "times"], rows)))


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
