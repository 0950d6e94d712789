"""Online passes of a contrast loss: visit segments in a given order, step after each (S4, Algorithm 1; S4.3).

Weights are origin + scale * movement, so that pulling all of them towards the origin costs one product.
swept is the sum of the scales since the last fold: what total has yet to get of a movement made before them.
Twin: rampion/_reference/epoch.py
"""

from libc.math cimport INFINITY

from rampion._core.segment cimport add_few, fill_scores
from rampion._core.side cimport add_side
from rampion._core.step_length cimport step_length
from rampion._core.types cimport id_t, real, row_t


cdef inline int fold(real[::1] movement, real scale, real[::1] total, real swept) except -1 nogil:
    """Bring total up to date, and multiply by the scale what is stored."""
    cdef row_t j
    for j in range(total.shape[0]):
        total[j] += swept * movement[j]
    if scale != 1.0:
        for j in range(movement.shape[0]):
            movement[j] *= scale
    return 0


def epoch(
    lists, const row_t[::1] order, up, down, step, const real[::1] origin, real[::1] movement, real[::1] total, work,
):
    """Take movement through the segments of order, return the summed violations; step is (cap, curvature, decay).

    total, unless empty, gains the movement as it is after each segment.
    """
    # Longer than most, because it is one loop, a visit, with the steps of Algorithm 1 (S4) in their order.
    cdef const row_t[::1] bounds = lists.bounds, feature_bounds = lists.feature_bounds
    cdef const row_t[::1] entry_bounds = lists.entry_bounds
    cdef const real[::1] dense = lists.dense, values = lists.values, up_handicap = up[0], down_handicap = down[0]
    cdef const real[::1] down_tilt = down[2]
    cdef const id_t[::1] features = lists.features, entries = lists.entries
    cdef real[::1] local = work.local, gradient = work.gradient
    cdef real[::1] scores = work.scores, slopes = work.slopes, powers = work.spare
    cdef real up_softness = up[1], down_softness = down[1], cap = step[0], curvature = step[1], decay = step[2]
    cdef real scale = 1.0, swept = 0.0, before, violations = 0.0, raised, lowered, length
    cdef row_t width = lists.width, visit, s, i, j, start, end, size, first, f
    with nogil:
        for visit in range(order.shape[0]):
            s = order[visit]
            start = bounds[s]
            end = bounds[s + 1]
            first = feature_bounds[s]
            size = feature_bounds[s + 1] - first
            # the scores of the segment at the current weights
            for j in range(width):
                local[j] = origin[j] + scale * movement[j]
            for j in range(size):
                f = features[first + j]
                local[width + j] = origin[f] + scale * movement[f]
            fill_scores(dense, width, entries, entry_bounds, values, start, end, local, scores, 0)
            # the up side, its value measured as the down side measures (S4.3)
            for i in range(end - start):
                slopes[i] = 0.0
            raised = add_side(scores, 0, up_handicap, start, end, up_softness, 1.0, slopes, 0, powers)
            if raised != -INFINITY and down_softness >= 0.0:
                raised = 0.0
                for i in range(end - start):
                    if slopes[i] != 0.0:
                        raised += slopes[i] * (scores[i] + down_tilt[start + i])
            # the down side: dn = argmax s + c
            lowered = add_side(scores, 0, down_handicap, start, end, down_softness, -1.0, slopes, 0, powers)
            # L2 second, after the search: what it pulls towards the origin is a share of the whole movement
            scale *= 1.0 - decay
            if scale < 1e-100:
                fold(movement, scale, total, swept)
                scale = 1.0
                swept = 0.0
            before = swept
            swept += scale
            if raised == -INFINITY or lowered == -INFINITY:
                continue
            violations += lowered - raised
            # the step last: df = f(up) - f(dn), as far as the update says (S4.3)
            for j in range(width + size):
                gradient[j] = 0.0
            add_few(dense, width, entries, entry_bounds, values, start, end, slopes, 0, gradient)
            length = step_length(cap, curvature, lowered - raised, gradient, width + size) / scale
            for j in range(width + size):
                if gradient[j] != 0.0:
                    f = j if j < width else features[first + j - width]
                    movement[f] += length * gradient[j]
                    if total.shape[0]:
                        total[f] -= before * (length * gradient[j])
        fold(movement, scale, total, swept)
    return violations
