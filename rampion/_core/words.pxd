"""Where words end: at ASCII whitespace, as bytes.split() sees it. Shared by words.pyx and parse.pyx."""

from .types cimport byte_t


cdef inline bint is_blank(byte_t byte) except? -1 nogil:
    """Whether the byte is ASCII whitespace."""
    return byte == 32 or 9 <= byte <= 13
