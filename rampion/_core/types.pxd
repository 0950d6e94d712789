"""The house's C types: real numbers, rows (offsets), ids, places in a list, keys; small floats stay in files."""

from libc.stdint cimport int64_t, uint8_t, uint16_t, uint32_t, uint64_t

ctypedef double real
ctypedef float small_t
ctypedef int64_t row_t
ctypedef uint32_t id_t
ctypedef uint16_t place_t
ctypedef uint64_t key_t
ctypedef uint8_t byte_t
