"""What can be said about a batch of sentences, and what has been said: flat arrays that the kernels pass on."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Reals = NDArray[np.float64]
Offsets = NDArray[np.int64]
Ids = NDArray[np.uint32]
Places = NDArray[np.int32]


class Sentences(NamedTuple):
    """Source sentences as word ids: those of sentence s are words[bounds[s]:bounds[s + 1]]; unknown words are 0."""

    words: Ids
    bounds: Offsets


class Options(NamedTuple):
    """Blocks that match the spans of a batch, sentence by sentence, numbered through.

    Those of the span of n words that begins at word w of the batch are spans[w * longest + n - 1] to the next bound;
    within a span they keep the order of the block set. Places count from the beginning of the sentence.
    """

    longest: int
    spans: Offsets
    starts: Places
    ends: Places
    blocks: Ids


class Graph(NamedTuple):
    """What a search kept: nodes[bounds[s]] is where sentence s starts, nodes[bounds[s + 1] - 1] its goal.

    Nodes stand in an order in which every edge leads forward. The edges into node v are edge_bounds[v] to
    edge_bounds[v + 1], best derivation first; those into a goal say nothing: their option is NOTHING.
    A sentence without any derivation has a goal without edges.
    """

    bounds: Offsets
    edge_bounds: Offsets
    origins: Ids
    options: Ids
    scores: Reals


NOTHING = 0xFFFFFFFF


class Derivations(NamedTuple):
    """Block sequences: the derivations of sentence s are bounds[s] to bounds[s + 1], best first.

    Derivation d says the options steps[step_bounds[d]:step_bounds[d + 1]], in target order.
    """

    bounds: Offsets
    step_bounds: Offsets
    steps: Ids
    scores: Reals
