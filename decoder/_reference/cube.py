"""Derivations of a graph under features that see all words so far, by cube pruning (S9.4).

A node keeps n derivations, found by a heap over (edge, rank of what it continues) and sorted by their exact scores.
The text is <s>, the words, </s>. Each position after <s> scores the n-grams that end there, and its word with each
different word before it. Twin: decoder/_core/cube.pyx
"""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING

from rampion.decoder._reference.kbest import kept

if TYPE_CHECKING:
    from rampion.decoder.models.options import Derivations, Graph
    from rampion.decoder.search.cube import NonLocal, Work
    from rampion.decoder.search.kbest import Said

BITS, TRIGGER = 21, 1 << 63


def cube(
    graph: Graph,
    wording: Said,
    features: NonLocal,
    n: int,
    k: int,
    looks: int,
    start: int,
    work: Work,
    derivations: Derivations,
) -> int:
    """Fill the k best derivations of the sentences from `start` on; return how many are done: all, if the room lasts.

    Every node keeps n derivations, the goal `looks` if that is more; all, if there are no more: then this is exact.
    If work.seen has room, only the best of those with the same words are filled in.
    """
    from rampion.decoder.search.cube import searched

    weights = dict(zip(features.keys.tolist(), features.weights.tolist(), strict=True))
    triggered = features.triggered.tolist()

    def gain(history: tuple[int, ...], words: tuple[int, ...]) -> float:
        total, text = 0.0, history + words
        codes = [min(word + 1, (1 << BITS) - 1) for word in text]
        for j in range(len(history), len(text)):
            key = 0
            for back in range(min(3, j + 1)):
                key |= codes[j - back] << (back * BITS)
                total += weights.get(key, 0.0)
            if text[j] < len(triggered) and triggered[text[j]]:
                for code in dict.fromkeys(codes[:j]):
                    total += weights.get(TRIGGER | code << BITS | codes[j], 0.0)
        return total

    for s in range(start, len(graph.bounds) - 1):
        found = islice(searched(graph, s, wording, gain, n, looks), looks)
        if not kept(found, wording, k, len(work.seen) > 0, s, derivations):
            return s
    return len(graph.bounds) - 1
