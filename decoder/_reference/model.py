"""What blocks score by themselves.

Twin: decoder/_core/model.pyx
"""

from __future__ import annotations

from typing import Any

from decoder._reference import templates

KINDS = 4
ORIENTATION = (0, 2, 1, 2)  # STEP, OPEN, FILL, CLOSE
BACKWARD = (0, 2, 1, 0)
FORWARD = (0, 1, 2, 0)  # where the next block must lie, seen from one that comes so


def weights_of(slots: Any) -> dict[int, float]:
    """Key to weight."""
    return dict(zip(slots["key"].tolist(), slots["weight"].tolist(), strict=True))


def summed(weights: dict[int, float], keys: list[int]) -> float:
    total = 0.0
    for key in keys:
        total += weights.get(key, 0.0)
    return total


def sift(slots: Any, sifter: Any) -> None:
    """Set the bit of every key of the table; `sieve` of search.pxd says which."""
    for key in slots["key"].tolist():
        if key:
            key = key * 0x9E3779B97F4A7C15 & (1 << 64) - 1
            key = (key ^ key >> 32) * 0xD6E8FEB86659FD93 & (1 << 64) - 1
            sifter[key * len(sifter) >> 64] |= 1 << (key & 7)


def assess(asked: Any, start: int, blocks: Any, model: Any, work: Any, local: Any) -> int:
    """Fill local[b] for the blocks from `start` on that lack it; return how many are done: all, or room is short.

    local[b, k] is what block b brings when it comes by move k, whatever stands beside it: P1, P5, W1, W3, T1, T2
    inside, its columns, one block, its words; P2, H1 and orientation by the move; H2 by the move that must follow.
    """
    weights, columns = weights_of(model.slots), model.columns.tolist()
    for b in asked[start:].tolist():
        if local[b, 0] == local[b, 0]:
            continue
        source, target = int(blocks.sources[b]), int(blocks.targets[b])
        heard = blocks.source_words[blocks.source_bounds[source] : blocks.source_bounds[source + 1]].tolist()
        said = blocks.target_words[blocks.target_bounds[target] : blocks.target_bounds[target + 1]].tolist()
        values = blocks.values[b].tolist()
        total = summed(weights, templates.block_keys(model.mask, b, target, heard, said))
        total += model.phrases + model.words * len(said)
        for column in range(5):
            total += columns[column] * values[column]
        for kind in range(KINDS):
            keys = templates.move_keys(model.mask, b, ORIENTATION[kind], BACKWARD[kind])
            keys += templates.leave_keys(model.mask, b, FORWARD[kind])
            back, fore = 5 + BACKWARD[kind], 8 + FORWARD[kind]
            local[b, kind] = total + (summed(weights, keys) + columns[back] * values[back] + columns[fore] * values[fore])
    return len(asked)
