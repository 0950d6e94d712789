"""Keys of the feature templates of features/templates.py, written into a buffer by those who score and who list them.

Each function writes the keys that the templates in `mask` fire (bit t of mask: template t) from keys[at] on and
returns where it stopped; room() says how many keys a block can fire at most, with all that concerns its predecessor.
Twin: decoder/_reference/templates.py
"""

from rampion.decoder._core.moves cimport backward_of, orientation_of
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
    USER = 30


cdef inline key_t of_words(row_t template, row_t a, row_t b, row_t c) except? 0 nogil:
    return <key_t> (template + 1) << 59 | <key_t> a << 38 | <key_t> b << 19 | <key_t> c


cdef inline key_t of_phrases(row_t template, row_t a, row_t b) except? 0 nogil:
    return <key_t> (template + 1) << 59 | <key_t> a << 29 | <key_t> b


cdef inline key_t of_block(row_t template, row_t block, row_t code) except? 0 nogil:
    return <key_t> (template + 1) << 59 | <key_t> block << 8 | <key_t> code


cdef inline row_t jump_of(int kind, row_t gap) except? -1 nogil:
    """The bucket of a jump: R 0, L 1, N over a gap of 1, 2, 3 or 4, more words: 2, 3, 4, 5."""
    if orientation_of(kind) < 2:
        return orientation_of(kind)
    return gap + 1 if gap < 4 else 4 if gap == 4 else 5


cdef inline row_t room(row_t n, row_t m) except? -1 nogil:
    """No block of n source and m target words fires more keys than this, whatever the mask; user templates apart."""
    return 12 + n * m + 3 * m + n * m * (m - 1) // 2 + m * n * (n - 1) // 2


cdef inline row_t pair_keys(
    row_t template, const id_t[::1] words, row_t start, row_t end,
    const id_t[::1] others, row_t others_start, row_t others_end, key_t[::1] keys, row_t at,
) except -1 nogil:
    """T1, T2: each word of one side with each pair of words of the other."""
    cdef row_t j, i, k
    for j in range(start, end):
        for i in range(others_start, others_end):
            for k in range(i + 1, others_end):
                keys[at] = of_words(template, words[j], others[i], others[k])
                at += 1
    return at


cdef inline row_t block_keys(
    key_t mask, row_t block, row_t target,
    const id_t[::1] source_words, row_t source_start, row_t source_end,
    const id_t[::1] target_words, row_t target_start, row_t target_end, key_t[::1] keys, row_t at,
) except -1 nogil:
    """P1, P5, W1, W3 inside, T1, T2: what a block fires wherever it stands; target is its target phrase."""
    cdef row_t i, j
    if mask >> P1 & 1:
        keys[at] = of_block(P1, block, 0)
        at += 1
    if mask >> P5 & 1:
        keys[at] = of_phrases(P5, target, source_end - source_start)
        at += 1
    if mask >> W1 & 1:
        for j in range(source_start, source_end):
            for i in range(target_start, target_end):
                keys[at] = of_words(W1, source_words[j], target_words[i], 0)
                at += 1
    if mask >> W3 & 1:
        for i in range(target_start, target_end):
            keys[at] = of_words(W3, target_words[i] + 1, 0, 0)
            at += 1
            if i + 1 < target_end:
                keys[at] = of_words(W3, target_words[i] + 1, target_words[i + 1] + 1, 0)
                at += 1
            if i + 2 < target_end:
                keys[at] = of_words(W3, target_words[i] + 1, target_words[i + 1] + 1, target_words[i + 2] + 1)
                at += 1
    if mask >> T1 & 1:
        at = pair_keys(T1, source_words, source_start, source_end, target_words, target_start, target_end, keys, at)
    if mask >> T2 & 1:
        at = pair_keys(T2, target_words, target_start, target_end, source_words, source_start, source_end, keys, at)
    return at


cdef inline row_t move_keys(key_t mask, row_t block, int kind, key_t[::1] keys, row_t at) except -1 nogil:
    """P2, H1: how a block comes to its place."""
    if mask >> P2 & 1:
        keys[at] = of_block(P2, block, orientation_of(kind))
        at += 1
    if mask >> H1 & 1:
        keys[at] = of_block(H1, block, backward_of(kind))
        at += 1
    return at


cdef inline row_t leave_keys(key_t mask, row_t block, int forward, key_t[::1] keys, row_t at) except -1 nogil:
    """H2: where the next block lies, seen from this one."""
    if mask >> H2 & 1:
        keys[at] = of_block(H2, block, forward)
        at += 1
    return at


cdef inline row_t user_keys(
    key_t mask, row_t block, const row_t[::1] firsts, const row_t[::1] lasts, const key_t[::1] fired,
    key_t[::1] keys, row_t at,
) except -1 nogil:
    """What the user's templates fire for a block wherever it stands: fired[firsts[block]:lasts[block]]."""
    cdef row_t i
    if mask >> USER & 1:
        for i in range(firsts[block], lasts[block]):
            keys[at] = fired[i]
            at += 1
    return at


cdef inline row_t source_keys(
    key_t mask, row_t last_source, row_t source, row_t jump, row_t last_word, row_t first_word,
    key_t[::1] keys, row_t at,
) except -1 nogil:
    """P4, W2: the source phrases of the last and the new block, the jump between them and the words at its ends."""
    if mask >> P4 & 1:
        keys[at] = of_phrases(P4, last_source, source)
        at += 1
    if mask >> W2 & 1:
        keys[at] = of_words(W2, jump, last_word, first_word)
        at += 1
    return at


cdef inline row_t join_keys(
    key_t mask, row_t last_target, row_t target, const id_t[::1] words,
    row_t last_start, row_t last_end, row_t start, row_t end, key_t[::1] keys, row_t at,
) except -1 nogil:
    """P3, W3 across the join, W4: words[last_start:last_end] is the last target phrase, words[start:end] the next."""
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
