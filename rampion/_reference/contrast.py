"""Values and slopes of one side, and of the contrast losses -(soft)max(score + up) + (soft)max(score + down).

A side is a pair (handicap of every candidate, softness); its law stands in pull.pxd.
Twin: rampion/_core/contrast.pyx
"""

from __future__ import annotations

from math import inf

from rampion._reference.pull import pull


def side(scores, stance, bounds, work, values, masses):
    """Fill each segment's (soft)max of score + handicap, and each candidate's mass; an empty side is worth -inf.

    work is room for the longest segment.
    """
    scores, bounds, handicaps = scores.tolist(), bounds.tolist(), stance[0].tolist()
    filled_values, filled_masses = [], []
    for start, end in zip(bounds, bounds[1:], strict=False):
        value, mass = pull(scores[start:end], handicaps[start:end], stance[1])
        filled_values.append(value)
        filled_masses += mass
    values[:] = filled_values
    masses[:] = filled_masses


def contrast(scores, up, down, bounds, work, values, slopes):
    """Fill each segment's value and each candidate's slope; a segment where a side is empty has none.

    work is room for the longest segment.
    """
    scores, bounds = scores.tolist(), bounds.tolist()
    up_handicaps, down_handicaps = up[0].tolist(), down[0].tolist()
    filled_values, filled_slopes = [], []
    for start, end in zip(bounds, bounds[1:], strict=False):
        raised, up_mass = pull(scores[start:end], up_handicaps[start:end], up[1])
        lowered, down_mass = pull(scores[start:end], down_handicaps[start:end], down[1])
        if raised == -inf or lowered == -inf:
            filled_values.append(0.0)
            filled_slopes += [0.0] * (end - start)
        else:
            filled_values.append(lowered - raised)
            filled_slopes += [down - up for up, down in zip(up_mass, down_mass, strict=True)]
    values[:] = filled_values
    slopes[:] = filled_slopes
