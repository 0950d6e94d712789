"""Expectation of the HMM of word alignment, one direction at a time; sides and places are those of align.py.

Sums run in the kernel's order, which is part of the definition. Twin: decoder/_core/hmm.pyx
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from rampion.decoder._reference.emissions import sentences

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
    from rampion.decoder.alignment.align import Pairs


def hmm(
    pairs: Pairs,
    words: NDArray[np.uint32],
    flipped: bool,
    probs: NDArray[np.float32],
    null: NDArray[np.float32],
    transition: tuple[NDArray[np.float64], float],
    first: int,
    last: int,
    work: NDArray[np.float64],
    posteriors: NDArray[np.float32],
    nulls: NDArray[np.float32],
    tallies: NDArray[np.float64],
) -> float:
    """Fill in the posteriors of the HMM; return log p(observed | states) of all the sentences.

    transition is (jumps, rest), `rest` being the chance of the null word. tallies gains the expected moves of every
    jump, and behind them what each jump's weight was expected to add up to per unit of weight: moves / that is a better
    weight (an MM step).
    """
    jumps, rest = transition
    *near, far = jumps.tolist()
    window, likelihood, sums = len(near) // 2, 0.0, tallies.tolist()
    above = [weight - far for weight in near]
    steps = list(zip(range(-window, window + 1), above, strict=True))
    for seen, n, m, place, rows in sentences(pairs, flipped, first, last, probs):
        emissions = [[0.0, *row] for row in rows]
        blanks = [rest * value for value in null[words[seen : seen + m]].tolist()]
        norms = []
        for p in range(n + 1):
            norm = far * n
            for d, weight in steps:
                if 1 <= p + d <= n:
                    norm += weight
            norms.append(norm)
        held, starts, reals, scales, own = [1.0] + [0.0] * n, [], [], [], 0.0
        for blank, row in zip(blanks, emissions, strict=True):
            before = [have / norm for have, norm in zip(held, norms, strict=True)]
            moves = _spread(before, far, [(-d, weight) for d, weight in steps])
            real = [(1.0 - rest) * move * weight for move, weight in zip(moves, row, strict=True)]
            held = [here + blank * have for here, have in zip(real, held, strict=True)]
            scale = 0.0
            for here in held:
                scale += here
            own += math.log(scale)
            held, real = [here / scale for here in held], [here / scale for here in real]
            starts.append(before)
            reals.append(real)
            scales.append(scale)
        likelihood += own
        betas, left, crossings = [1.0] * (n + 1), [0.0] * (n + 1), [[0.0] * (n + 1) for _ in steps]
        for j in range(m - 1, -1, -1):
            blank, stay, before, idle = blanks[j] / scales[j], (1.0 - rest) / scales[j], starts[j], 0.0
            posteriors[place[j]] = [here * beta for here, beta in zip(reals[j][1:], betas[1:], strict=True)]
            for have, norm, beta in zip(before, norms, betas, strict=True):
                idle += have * norm * beta
            nulls[seen + j] = blank * idle
            gains = [stay * weight * beta for weight, beta in zip(emissions[j], betas, strict=True)]
            moves = _spread(gains, far, steps)
            for (d, _), crossing in zip(steps, crossings, strict=True):
                for p in range(max(0, -d), min(n, n - d) + 1):
                    crossing[p] += before[p] * gains[p + d]
            left = [gone + have * move for gone, have, move in zip(left, before, moves, strict=True)]
            betas = [blank * beta + move / norm for beta, move, norm in zip(betas, moves, norms, strict=True)]
        total = 0.0
        for gone in left:
            total += gone
        for k, crossing in enumerate(crossings):
            moved = 0.0
            for share in crossing:
                moved += share
            moved *= near[k]
            sums[k] += moved
            total -= moved
        sums[len(near)] += max(total, 0.0)
        for p in range(n + 1):
            moved, reached = left[p] / norms[p], 0
            for k, (d, _) in enumerate(steps):
                if 1 <= p + d <= n:
                    sums[len(near) + 1 + k] += moved
                    reached += 1
            sums[-1] += moved * (n - reached)
    tallies[:] = sums
    return likelihood


def _spread(values: list[float], far: float, steps: list[tuple[int, float]]) -> list[float]:
    """Of each place p: far times all values, and what the value at p + d weighs more than that."""
    total, size = 0.0, len(values)
    for value in values:
        total += value
    spread = [far * total] * size
    for d, weight in steps:
        for p in range(max(0, -d), min(size, size - d)):
            spread[p] += weight * values[p + d]
    return spread
