"""The language model of decoder/models/lm.py: n-grams into the table, and the log-probabilities of texts.

Twin: decoder/_core/lm.pyx (and lm.pxd)
"""

from __future__ import annotations

from itertools import pairwise
from math import copysign
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from rampion.decoder.models.lm import Table

    from rampion.arrays import Array

FULL, TWICE, NO_HISTORY = 1, 2, 3
NO_WORD, ABSENT, NOTHING_FOLLOWS, WHOLE = 0xFFFFFFFF, -1, -0.0, 0xFFFFFFFFFFFFFFFF


def slot_of(key: int, keys: Array) -> int:
    """The slot that holds the key, or the free one where it belongs."""
    mixed = (key ^ key >> 29) * 0x9E3779B97F4A7C15 & WHOLE
    mixed = (mixed ^ mixed >> 32) * 0xD6E8FEB86659FD93 & WHOLE
    slot = (mixed >> 32) * len(keys) >> 32
    while int(keys[slot]) not in (key, 0):
        slot = (slot + 1) % len(keys)
    return slot


def graft(
    rows: NDArray[np.uint32],
    order: int,
    start: int,
    probs: NDArray[np.float32],
    backoffs: NDArray[np.float32],
    unigrams: Array,
    grams: Array,
    state: NDArray[np.int64],
) -> int:
    """Put n-grams of one order, `order` words a row, into the table from row `start` on; return how many are done.

    Shorter n-grams must be there already; a suffix that none of them is gets the probability that the model implies.
    state[0] counts the slots in use; if not all are done state[1] is why: 1 the table is full, 2 the n-gram is there
    already, 3 its history is not. A node keeps the sign of its log-probability only if a longer n-gram ends with it,
    and the sign of a backoff of 0 distinguishes histories that nothing follows (-0) from the others.
    """
    keys, width = grams["key"], len(unigrams)

    def entry(node: int) -> Array:
        return unigrams[node : node + 1] if node < width else grams[node - width : node - width + 1]

    def node_of(words: list[int]) -> int:
        node = words[-1]
        for word in reversed(words[:-1]):
            key = node + 1 << 32 | word
            slot = slot_of(key, keys)
            if not keys[slot]:
                return ABSENT
            node = width + slot
        return node

    def put(parent: int, word: int, prob: float, backoff: float) -> None:
        key = parent + 1 << 32 | word
        grams[slot_of(key, keys)] = key, abs(prob), backoff
        state[0] += 1
        entry(parent)["prob"] = copysign(float(entry(parent)["prob"][0]), -1.0)

    state[1] = 0
    for row in range(start, len(probs)):
        words = rows[row * order : (row + 1) * order].tolist()
        if state[0] + order > len(grams) - len(grams) // 8:
            state[1] = FULL
            return row
        history = node_of(words[:-1])
        if history == ABSENT:
            state[1] = NO_HISTORY
            return row
        for first in range(order - 2, 0, -1):
            if node_of(words[first:]) == ABSENT:
                parent, before = node_of(words[first + 1 :]), node_of(words[first:-1])
                implied = -abs(float(entry(parent)["prob"][0]))
                if before != ABSENT:
                    implied += float(entry(before)["backoff"][0])
                put(parent, words[first], implied, NOTHING_FOLLOWS)
        if node_of(words) != ABSENT:
            state[1] = TWICE
            return row
        put(node_of(words[1:]), words[0], float(probs[row]), float(backoffs[row]) or NOTHING_FOLLOWS)
        entry(history)["backoff"] = float(entry(history)["backoff"][0]) or 0.0
    return len(probs)


def fluency(
    ids: NDArray[np.uint32],
    bounds: NDArray[np.int64],
    begin: int,
    stop: int,
    table: Table,
    states: NDArray[np.void],
    steps: NDArray[np.float64],
) -> None:
    """Fill steps with the natural log-probability of every word of every sentence and of the mark `stop` after it.

    There is room for two states.
    """
    width, reach, at = len(table.unigrams), table.order - 1, 0
    nodes = dict(
        enumerate(zip(range(width), *(table.unigrams[name].tolist() for name in ("prob", "backoff")), strict=True))
    )
    known = np.flatnonzero(table.grams["key"])
    cells = (table.grams[name][known].tolist() for name in ("prob", "backoff"))
    below = dict(
        zip(table.grams["key"][known].tolist(), zip((known + width).tolist(), *cells, strict=True), strict=True)
    )
    tokens = ids.tolist()
    for start, end in pairwise(bounds.tolist()):
        state = [(begin, nodes[begin][2])][:reach]
        for word in [*tokens[start:end], stop]:
            node, prob, backoff = nodes[word]
            past, depth, length = [(word, backoff)], 0, int(copysign(1, backoff) > 0 or backoff != 0)
            while depth < len(state) and copysign(1, prob) < 0:
                found = below.get(node + 1 << 32 | state[depth][0])
                if found is None:
                    break
                node, prob, backoff = found
                past.append((state[depth][0], backoff))
                depth += 1
                if depth < reach and (copysign(1, backoff) > 0 or backoff != 0):
                    length = depth + 1
            total = -abs(prob)
            for _, weight in state[depth:]:
                total += weight
            steps[at] = total * 2.302585092994045684
            at += 1
            state = past[: min(length, reach)]
