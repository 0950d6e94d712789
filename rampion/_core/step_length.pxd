"""How far an online step goes: min(cap, violation / (curvature |df|^2)); curvature 0 is SGD, 1 the PA-I step (S7.1).

Twin: rampion/_reference/step_length.py
"""

from rampion._core.types cimport real, row_t


cdef inline real step_length(
    real cap, real curvature, real violation, const real[::1] gradient, row_t size,
) except? -1.0 nogil:
    """The step for the df in gradient[:size]."""
    cdef real square = 0.0
    cdef row_t j
    if curvature == 0.0:
        return cap
    for j in range(size):
        square += gradient[j] * gradient[j]
    if square == 0.0 or violation <= 0.0:
        return 0.0
    return min(cap, violation / (curvature * square))
