"""Keys of the feature templates of decoder/templates.py, written into a buffer by those who score and who list them.

Each function writes the keys that the templates in `mask` fire (bit t of mask: template t) from keys[at] on and
returns where it stopped. Twin: decoder/_reference/templates.py
"""

from rampion._core.types cimport id_t, key_t, row_t

cdef enum:
    P1 = 0
    P2 = 1
    P3 = 2
    P4 = 3
    P5 = 4
    W1 = 5
    W2 = 6
    W3 = 7
    W4 = 8
    T1 = 9
    T2 = 10
    H1 = 11
    H2 = 12


cdef inline key_t of_words(row_t template, row_t a, row_t b, row_t c) except? 0 nogil:
    return <key_t>template << 59 | <key_t>a << 38 | <key_t>b << 19 | <key_t>c


cdef inline key_t of_phrases(row_t template, row_t a, row_t b) except? 0 nogil:
    return <key_t>template << 59 | <key_t>a << 29 | <key_t>b


cdef inline key_t of_block(row_t template, row_t block, row_t code) except? 0 nogil:
    return <key_t>template << 59 | <key_t>block << 8 | <key_t>code


cdef inline row_t join_keys(
    key_t mask, id_t last_target, id_t target, const id_t[::1] words,
    row_t last_start, row_t last_end, row_t start, row_t end, key_t[::1] keys, row_t at,
) except -1 nogil:
    """P3, W3 across the join, W4: words[last_start:last_end] is the last target phrase, words[start:end] the new one."""
    cdef row_t last = words[last_end - 1], first = words[start]
    if mask >> P3 & 1:
        keys[at] = of_phrases(P3, last_target, target)
        at += 1
    if mask >> W3 & 1:
        keys[at] = of_words(W3, last + 1, first + 1, 0)
        at += 1
        if last_end - last_start > 1:
            keys[at] = of_words(W3, words[last_end - 2] + 1, last + 1, first + 1)
            at += 1
        if end - start > 1:
            keys[at] = of_words(W3, last + 1, first + 1, words[start + 1] + 1)
            at += 1
    if mask >> W4 & 1:
        keys[at] = of_words(W4, last, first, 0)
        at += 1
    return at
