"""Rescoring of search graphs by cube pruning (S9.4), with features that depend on all earlier words."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from heapq import heapify, heappop, heapreplace
from itertools import islice
from math import isfinite
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from rampion.decoder import _kernels
from rampion.decoder.models.blocks import END, START
from rampion.decoder.models.options import NOTHING, Derivations, Graph
from rampion.decoder.search.kbest import ITEM, LOOKS, Said, filled, said_room, widest

from rampion.arrays import Ids, Offsets, Reals
from rampion.errors import InputError, RecipeError
from rampion.store.names import Names
from rampion.store.text import Texts

Gain = Callable[[tuple[int, ...], tuple[int, ...]], float]
BITS, TRIGGER = 21, 1 << 63
MIX = np.uint64(0x9E3779B97F4A7C15)


class NonLocal(NamedTuple):
    """Weights of n-grams, and of triggers, which are pairs of an earlier word and a word.

    A key is 21 bits a word, each its id + 1, the last word lowest; that of a trigger has TRIGGER set. The bucket of a
    key is the upper 64 - shift bits of its product with MIX; those of bucket h are keys[buckets[h]:buckets[h + 1]].
    triggered[w]: whether word w ends any trigger.
    """

    shift: int
    buckets: Offsets
    keys: NDArray[np.uint64]
    weights: Reals
    triggered: NDArray[np.uint8]

    @classmethod
    def of(
        cls, ngrams: Mapping[tuple[str, ...], float], triggers: Mapping[tuple[str, ...], float], names: Names
    ) -> NonLocal:
        """A table of weights of n-grams (one to three words) and of (earlier word, word). `names` are target words.

        A text begins with <s> and ends with </s>. Features with a word that is not in `names` never fire.
        """
        for features, sizes in ((ngrams, (1, 2, 3)), (triggers, (2,))):
            for words, weight in features.items():
                if len(words) not in sizes or not isfinite(weight):
                    kind = "trigger" if features is triggers else "n-gram"
                    raise InputError(
                        f"the {kind} {' '.join(words)!r} has {len(words)} words and the weight {weight}; "
                        f"expected {' or '.join(map(str, sizes))} words and a finite number"
                    )
        found = [*_found(ngrams, names, 0), *_found(triggers, names, TRIGGER)]
        keys = np.array([key for key, _ in found], np.uint64)
        bits = max(1, (2 * len(keys)).bit_length())
        homes = (keys * MIX) >> np.uint64(64 - bits)
        order = np.argsort(homes, kind="stable")
        buckets = np.searchsorted(homes[order], np.arange((1 << bits) + 1, dtype=np.uint64))
        triggered = np.zeros(len(names), np.uint8)
        triggered[[(key & ((1 << BITS) - 1)) - 1 for key, _ in found if key & TRIGGER]] = 1
        weights = np.array([weight for _, weight in found], np.float64)
        return cls(64 - bits, buckets, keys[order], weights[order], triggered)


def _found(features: Mapping[tuple[str, ...], float], names: Names, mark: int) -> Iterator[tuple[int, float]]:
    """The keys and weights of the features whose words are all in `names`."""
    ids = names.find_all(Texts.from_strings(word for words in features for word in words))
    if ids.max(initial=-1) >= (1 << BITS) - 2:
        raise InputError(f"a feature has a word of number {ids.max()}; keys have room for the first {(1 << BITS) - 2}")
    rest = iter((ids + 1).tolist())
    for words, weight in features.items():
        codes = list(islice(rest, len(words)))
        if all(codes):
            yield mark | sum(code << BITS * back for back, code in enumerate(reversed(codes))), weight


class Work(NamedTuple):
    """Work arrays for one sentence: its derivations, where those of each node begin, one heap, one text."""

    items: NDArray[np.void]
    heap: NDArray[np.void]
    firsts: Offsets
    text: Ids
    words: Ids
    word_bounds: Offsets
    seen: Ids


def rescored(
    graph: Graph,
    said: Said,
    features: NonLocal | Gain,
    k: int = 500,
    n: int = 100,
    distinct: bool = False,
    looks: int = LOOKS,
) -> Derivations:
    """The k best derivations by the scores of edges and features; every node keeps the n best that reach it (S9.4).

    The result is exact if n is at least the number of paths. `features` may be a function of two sequences: the words
    before an edge (<s> first) and the words of the edge (</s> last at the goal). It is called for each edge and each
    derivation before it. That is plain Python, and a hundred times slower.
    """
    if min(k, n, looks) < 1:
        raise RecipeError(f"k = {k}, n = {n} and looks = {looks} must be 1 or more")
    most = k * looks if distinct else k
    if not isinstance(features, NonLocal):
        return _by_hand(graph, said, features, k, n, distinct, most)
    nodes, _ = widest(graph)
    degree = int(np.diff(graph.edge_bounds).max(initial=0))

    def attempt(scale: int, start: int, found: Derivations) -> int:
        work = Work(
            np.empty(scale * 16 * (nodes + 64), ITEM),
            np.empty(degree, ITEM),
            np.empty(nodes + 2, np.int64),
            np.empty(scale * 256, np.uint32),
            *said_room(scale, distinct),
        )
        return _kernels.cube(graph, said, features, n, k, most, start, work, found)

    return filled(len(graph.bounds) - 1, k, attempt)


def searched(
    graph: Graph, sentence: int, said: Said, gain: Gain, n: int, most: int
) -> Iterator[tuple[float, list[int]]]:
    """The derivations that the goal keeps, best first, as (score, options). The goal keeps max(n, most)."""
    first, last = graph.bounds[sentence : sentence + 2].tolist()
    bounds = graph.edge_bounds[first : last + 1].tolist()
    edges = slice(bounds[0], bounds[-1])
    options, scores = graph.options[edges].tolist(), graph.scores[edges].tolist()
    origins = [origin - first for origin in graph.origins[edges].tolist()]
    says = [said.says(option) if option != NOTHING else () for option in options]
    found: list[list[tuple[float, int, int]]] = [[(0.0, -1, 0)]]
    texts: list[list[tuple[int, ...]]] = [[(START,)]]
    for v in range(1, last - first):
        final = v == last - first - 1
        mine = range(bounds[v] - edges.start, bounds[v + 1] - edges.start)
        spoken = {e: says[e] + (END,) * final for e in mine}

        def item(e: int, rank: int, spoken: dict[int, tuple[int, ...]] = spoken) -> tuple[float, int, int]:
            before = origins[e]
            added = scores[e] + gain(texts[before][rank], spoken[e])
            return found[before][rank][0] - added, e, rank

        heap = [item(e, 0) for e in mine if found[origins[e]]]
        heapify(heap)
        popped: list[tuple[float, int, int]] = []
        while heap and len(popped) < (max(n, most) if final else n):
            popped.append(heap[0])
            _, e, rank = heap[0]
            if rank + 1 < len(found[origins[e]]):
                heapreplace(heap, item(e, rank + 1))
            else:
                heappop(heap)
        found.append(sorted(popped))
        texts.append([texts[origins[e]][rank] + spoken[e] for _, e, rank in found[-1]])
    for score, edge, rank in found[-1] if last - first > 1 else []:
        path, e, before = [], edge, rank
        while e >= 0:
            path.append(options[e])
            _, e, before = found[origins[e]][before]
        yield 0.0 - score, path[::-1]


def _by_hand(graph: Graph, said: Said, gain: Gain, k: int, n: int, distinct: bool, most: int) -> Derivations:
    """The search of the kernel, with features that are a function."""
    bounds, step_bounds, steps, scores = [0], [0], list[int](), list[float]()
    for s in range(len(graph.bounds) - 1):
        texts = set[tuple[int, ...]]()
        for score, path in islice(searched(graph, s, said, gain, n, most), most):
            spoken = [option for option in path if option != NOTHING]
            text = tuple(word for option in spoken for word in said.says(option)) if distinct else (len(scores),)
            if text not in texts and len(texts) < k:
                texts.add(text)
                steps += spoken
                step_bounds.append(len(steps))
                scores.append(score)
        bounds.append(len(scores))
    return Derivations(
        np.array(bounds), np.array(step_bounds), np.array(steps, np.uint32), np.array(scores, np.float64)
    )
