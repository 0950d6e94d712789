"""Online passes over relevant sets: visit segments in a given order, step after each (S10.5, S10.7).

Weights are scale * what is stored, so that the pull of L2 costs one product. Scores are those of slab.pxd.
Twin: rampion/_reference/rank.py
"""

from rampion._core.slab cimport (
    fetch_ahead, fill_scores, fold, open_next, slab_is_wide, slab_move, slab_part, visit_t,
)
from rampion._core.types cimport id_t, key_t, real, row_t, small_t

cdef enum:
    NOBODY = -1
    SEVERAL = -2


cdef struct loss_t:
    real margin, sense
    bint staked, squared, every


cdef inline row_t best(const real[::1] gains, row_t first, row_t size) except -2 nogil:
    cdef row_t c, found = 0
    for c in range(1, size):
        if gains[first + c] > gains[first + found]:
            found = c
    return found


cdef inline row_t rival(
    const real[::1] gains, const visit_t* visit, row_t truth, row_t start, const real[::1] scores, const loss_t* loss,
    real* stake, real* slack,  # OUT
) except -2 nogil:
    """The alternative that ranks first, ties to the earlier, or NOBODY; what it stakes, and its slack."""
    cdef row_t first = visit.first, c, found = NOBODY
    cdef real margin = loss.margin, sense = loss.sense, gap = 1.0, lack, rank, top = 0.0
    cdef bint staked = loss.staked, squared = loss.squared
    for c in range(start, visit.size):
        if staked:
            gap = gains[first + truth] - gains[first + c]
            if gap <= 0.0:
                continue
        lack = margin - (scores[truth] - scores[c])
        if squared and lack < 0.0:
            lack = 0.0
        rank = sense * (gap * (lack * lack if squared else lack))
        if found == NOBODY or rank > top:
            found = c
            top = rank
            stake[0] = gap
            slack[0] = lack
    return found


cdef inline real outrank(
    const real[::1] gains, const visit_t* visit, row_t start, const real[::1] scores, const loss_t* loss, real rate,
    real scale, real[::1] steps,  # OUT steps
) except? -1.0 nogil:
    """Fill steps and return the loss; the first start candidates are truths, or if none, the best of all."""
    cdef row_t size = visit.size, c, k = 0, t, last = start, count
    cdef real stake = 0.0, slack = 0.0, total = 0.0, step
    for c in range(size):
        steps[c] = 0.0
    if start == 0 or not loss.every:
        k = best(gains, visit.first, start if start > 0 else size)
        last = k + 1
    count = last - k
    for k in range(k, last):
        t = rival(gains, visit, k, start, scores, loss, &stake, &slack)
        step = stake * slack if loss.squared else stake
        if t != NOBODY and t != k and step != 0.0:
            total += 0.0 if slack <= 0.0 else step * slack
            step = rate * step / count / scale
            steps[k] += step
            steps[t] -= step
    return total / count


cdef inline real approach(
    const real[::1] gains, const visit_t* visit, const real[::1] scores, real rate, real scale,
    real[::1] steps,  # OUT
) except? -1.0 nogil:
    """Fill steps and return the loss: every candidate moves towards its gain."""
    cdef row_t first = visit.first, size = visit.size, c
    cdef real lack, total = 0.0
    for c in range(size):
        lack = gains[first + c] - scores[c]
        total += lack * lack / 2.0
        steps[c] = rate * lack / size / scale
    return total / size


cdef inline int move(
    const visit_t* visit, const real[::1] values, const real[::1] steps, key_t[::1] touched, small_t[::1] totals,
    small_t[::1] weights, real[::1] own,
) except -1 nogil:
    """Add steps[c] times the features of candidate c for all c, their sums in single floats; whether any is not 0."""
    cdef row_t first = visit.first, size = visit.size, c, j, up = NOBODY, down = NOBODY
    cdef real total
    for c in range(size):
        if steps[c] > 0.0:
            up = c if up == NOBODY else SEVERAL
        elif steps[c] != 0.0:
            down = c if down == NOBODY else SEVERAL
    if up == NOBODY and down == NOBODY:
        return 0
    for j in range(own.shape[0]):
        total = 0.0
        for c in range(size):
            if steps[c] != 0.0:
                total += steps[c] * values[(first + c) * own.shape[0] + j]
        own[j] += total
    if up >= 0 and down >= 0 and steps[up] == -steps[down] and <small_t>steps[up] - <small_t>steps[up] == 0.0:
        if <small_t>steps[up] != 0.0:
            slab_part(visit.wide, &visit.slab, up, down, <small_t>steps[up], &weights[0])
        return 1
    for c in range(visit.slab.words):
        touched[c] = 0
    for c in range(size):
        totals[c] = <small_t>steps[c]
        if steps[c] != 0.0:
            touched[c >> 6] |= <key_t>1 << (c & 63)
    slab_move(&visit.slab, &touched[0], &totals[0], &weights[0])
    return 1


def rank(
    slabs, const row_t[::1] order, loss, step, small_t[::1] weights, real[::1] own, bint portable, work,
):
    """Take the weights through the segments of order; return the summed losses met, and how many visits moved.

    loss is (margin, staked, squared, sense, every). If sense is 0 there are no truths: the loss is the mean over all
    candidates of (gain - score)^2 / 2. step is (rate, decay). portable: do without AVX-512.
    """
    # Longer than most, because it is one loop over arrays that all have to be unpacked.
    cdef const row_t[::1] bounds = slabs.bounds, starts = slabs.starts
    cdef const int[::1] truths = slabs.truths
    cdef const real[::1] gains = slabs.gains, offsets = slabs.offsets, values = slabs.values
    cdef const id_t[::1] blob = slabs.blob
    cdef small_t[::1] found = work.found, sums = work.sums, totals = work.totals
    cdef key_t[::1] touched = work.touched
    cdef real[::1] scores = work.scores, steps = work.steps
    cdef loss_t wanted = loss_t(loss[0], loss[3], loss[1], loss[2], loss[4])
    cdef real rate = step[0], decay = step[1], scale = 1.0, objective = 0.0
    cdef row_t turn, s, moved = 0
    cdef visit_t visit
    visit.wide = not portable and slab_is_wide()
    with nogil:
        open_next(bounds, starts, blob, order, 0, &visit.following)
        for turn in range(order.shape[0]):
            visit.slab = visit.following
            fetch_ahead(bounds, gains, offsets, values, starts, blob, order, turn, own.shape[0], &visit.slab)
            open_next(bounds, starts, blob, order, turn + 1, &visit.following)
            s = order[turn]
            visit.first = bounds[s]
            visit.size = bounds[s + 1] - visit.first
            if visit.size > 0:
                fill_scores(&visit, offsets, values, weights, own, scale, found, sums, totals, scores)
            scale *= 1.0 - decay    # the pull of L2
            if scale < 1e-6:
                fold(weights, own, scale)
                scale = 1.0
            if visit.size == 0:
                continue
            if wanted.sense == 0.0:
                objective += approach(gains, &visit, scores, rate, scale, steps)
            else:
                objective += outrank(gains, &visit, truths[s], scores, &wanted, rate, scale, steps)
            moved += move(&visit, values, steps, touched, totals, weights, own)
        if scale != 1.0:
            fold(weights, own, scale)
    return objective, moved
