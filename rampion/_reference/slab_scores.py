"""Scores of relevant sets by weights, and the gradient of weights by slopes (S10.5). Scores are those of slab.pxd.

Twin: rampion/_core/slab_scores.pyx
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from rampion._reference.slab import Segment

if TYPE_CHECKING:
    from rampion.arrays import Reals, Singles
    from rampion.sets.packed import Slabs


@np.errstate(over="ignore")
def slab_scores(slabs: Slabs, weights: Singles, own: Reals, scores: Reals) -> None:
    """Fill scores, one a candidate."""
    single, double = weights.tolist(), own.tolist()
    for s in range(len(slabs.bounds) - 1):
        segment = Segment(slabs, s)
        scores[segment.first : segment.end] = segment.scores(single, double, 1.0)


def slab_gradient(slabs: Slabs, slopes: Reals, gradient: Reals) -> None:
    """Add to gradient[place] every slope times the feature, of active places: sums over a chunk, in doubles."""
    found = gradient.tolist()
    for s in range(len(slabs.bounds) - 1):
        segment = Segment(slabs, s)
        along = slopes[segment.first : segment.end].tolist()
        for chunk in segment.chunks:
            total = 0.0
            for c, slope in enumerate(along):
                if chunk.mask >> c & 1:
                    total += slope
            for place in chunk.places:
                found[place] += total
    gradient[:] = found
