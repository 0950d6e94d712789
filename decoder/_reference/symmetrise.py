"""Two alignments into one.

Twin: decoder/_core/symmetrise.pyx
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
    from rampion.decoder.alignment.links import Alignment


def symmetrise(
    first: Alignment,
    second: Alignment,
    steps: int,
    width: int,
    grid: NDArray[np.uint8],
    rows: NDArray[np.uint8],
    columns: NDArray[np.uint8],
    bounds: NDArray[np.int64],
    sources: NDArray[np.int32],
    targets: NDArray[np.int32],
) -> None:
    """Fill in the points of both alignments (steps 0), of either (1), or those of both and what grows from them (2).

    Growth (steps 2): round by round, every point of either that touches one that is in, and whose source or target word
    had no point at the beginning of the round; steps 3: at last every point both of whose words have none so far.
    The grid has `width` cells a source word, with a border of one cell; work arrays hold zeros, also afterwards.
    """
    bounds[0] = 0
    for s in range(len(bounds) - 1):
        one, other = set(first[s]), set(second[s])
        kept, either = one | other if steps == 1 else one & other, one | other
        while steps >= 2 and (grown := {point for point in either - kept if _free(point, kept) and _near(point, kept)}):
            kept |= grown
        if steps == 3:
            kept |= {(i, j) for i, j in either if all(i != a and j != b for a, b in kept)}
        start = int(bounds[s])
        bounds[s + 1] = start + len(kept)
        for place, (i, j) in enumerate(sorted(kept), start):
            sources[place], targets[place] = i, j


def _free(point: tuple[int, int], kept: set[tuple[int, int]]) -> bool:
    """Whether one of its words has no point."""
    return all(point[0] != i for i, _ in kept) or all(point[1] != j for _, j in kept)


def _near(point: tuple[int, int], kept: set[tuple[int, int]]) -> bool:
    return any((point[0] + di, point[1] + dj) in kept for di in (-1, 0, 1) for dj in (-1, 0, 1))
