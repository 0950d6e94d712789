"""Blocks: pairs of a source and a target phrase, with their counts and what the real-valued features say of them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rampion.vocab import Names

Offsets = NDArray[np.int64]
Ids = NDArray[np.uint32]

# Fixed ids: words 0 to 2; phrases and blocks 0 (an unknown word, said as it is) and 1 (the boundary).
UNKNOWN, START, END = range(3)
SPECIAL = ("<unk>", "<s>", "</s>")
IDENTITY, BOUNDARY = range(2)

COLUMNS = (
    "PhraseST", "PhraseTS", "LexST", "LexTS", "ModelOne",
    "BackM", "BackS", "BackD", "ForeM", "ForeS", "ForeD",
)  # fmt: skip


class Blocks(NamedTuple):
    """What kernels see. Block b joins source phrase sources[b] and target phrase targets[b].

    The words of source phrase p are source_words[source_bounds[p]:source_bounds[p + 1]]; its blocks are firsts[p] to
    firsts[p + 1], the most frequent first. values[b] are log-probabilities, a column each of COLUMNS. slots is a
    table of source phrases with open addressing: 0 is empty, otherwise phrase + 1; IDENTITY and BOUNDARY are not there.
    """

    source_words: Ids
    source_bounds: Offsets
    target_words: Ids
    target_bounds: Offsets
    firsts: Offsets
    sources: Ids
    targets: Ids
    counts: Ids
    values: NDArray[np.float32]
    slots: Ids


class Vocabularies(NamedTuple):
    """The words of both sides; their first three are SPECIAL."""

    source: Names
    target: Names
