"""The probabilities of the observed words of a pair of sentences from its states, out of a sparse table.

Twin: decoder/_reference/emissions.py
"""

from rampion._core.types cimport id_t, real, row_t, small_t


cdef inline int fill_weights(
    const id_t[::1] cells, row_t at, row_t n, row_t m, row_t state_stride, row_t stride, const small_t[::1] probs,
    real[::1] weights, row_t width, row_t pad,
) except -1 nogil:
    """weights[j * width + pad + i] = probability of observed word j from state i of n"""
    cdef row_t i, j
    for j in range(m):
        for i in range(n):
            weights[j * width + pad + i] = probs[cells[at + i * state_stride + j * stride]]
    return 0
