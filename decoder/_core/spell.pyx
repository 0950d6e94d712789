"""Feature keys as readable names.

A name is the template's label and then its parts, / behind each, the last / cut off: P1/the_house/das_Haus.
Twin: decoder/_reference/spell.py
"""

from rampion._core.types cimport byte_t, id_t, key_t, row_t

from .templates cimport H1, H2, P1, P2, P3, P4, P5, T1, T2, USER, W1, W2, W3

cdef enum:
    WORD = 0x7FFFF
    PHRASE = 0x1FFFFFFF
    BLOCK = 0xFFFFFFFF


cdef inline row_t put_code(const byte_t[::1] label, const row_t[::1] label_at, row_t first, row_t code, row_t count,
                           byte_t[::1] blob, row_t at) except? -2 nogil:
    """The label of one of `count` codes."""
    return put_text(label, label_at, first + code if code < count else -1, SLASH, blob, at)


def feature_names(const key_t[::1] keys, blocks, labels, sources, targets, users, row_t done, row_t[::1] bounds,
                  byte_t[::1] blob):  # OUT bounds, blob
    """Write the name of every key from `done` on, blob[bounds[i]:bounds[i + 1]]; return how many are done.

    All are, unless blob has no room, or a key has no name: bounds[i + 1] is -3 then.
    """
    # Longer than most, because each template has a case.
    cdef const id_t[::1] block_sources = blocks.sources, block_targets = blocks.targets
    cdef const id_t[::1] source_words = blocks.source_words, target_words = blocks.target_words
    cdef const row_t[::1] source_phrases = blocks.source_bounds, target_phrases = blocks.target_bounds
    cdef const byte_t[::1] label = labels.blob, source = sources.blob, target = targets.blob, user = users.blob
    cdef const row_t[::1] label_at = labels.bounds, source_at = sources.bounds, target_at = targets.bounds
    cdef const row_t[::1] user_at = users.bounds
    cdef row_t at, t, a, b, c, p, q
    cdef key_t key
    with nogil:
        for done in range(done, keys.shape[0]):
            at, key = bounds[done], keys[done]
            t = <row_t> (key >> 59) - 1
            a, b, c = key >> 38 & WORD, key >> 19 & WORD, key & WORD
            p, q = key >> 29 & PHRASE, key & PHRASE
            if t == USER:
                at = put_text(user, user_at, key & PHRASE, SLASH, blob, at)
            elif not 0 <= t < TURNS:
                at = NO_NAME
            else:
                at = put_text(label, label_at, t, SLASH, blob, at)
            if t == P1 or t == P2 or t == H1 or t == H2:
                a = key >> 8 & BLOCK
                if a >= block_sources.shape[0]:
                    at = NO_NAME
                else:
                    at = put_phrase(source_words, source_phrases, block_sources[a], source, source_at, blob, at)
                    at = put_phrase(target_words, target_phrases, block_targets[a], target, target_at, blob, at)
                if t != P1:
                    at = put_code(label, label_at, TURNS if t == P2 else SWINGS, key & 0xFF, 3, blob, at)
            elif t == P3 or t == P5:
                at = put_phrase(target_words, target_phrases, p, target, target_at, blob, at)
                if t == P3:
                    at = put_phrase(target_words, target_phrases, q, target, target_at, blob, at)
                else:
                    at = put_code(label, label_at, LENGTHS, q, 256, blob, at)
            elif t == P4:
                at = put_phrase(source_words, source_phrases, p, source, source_at, blob, at)
                at = put_phrase(source_words, source_phrases, q, source, source_at, blob, at)
            elif t == W2:
                at = put_code(label, label_at, JUMPS, a, 6, blob, at)
                at = put_text(source, source_at, b, SLASH, blob, at)
                at = put_text(source, source_at, c, SLASH, blob, at)
            elif t == W3:
                at = put_text(target, target_at, a - 1, SLASH, blob, at)
                if b:
                    at = put_text(target, target_at, b - 1, SLASH, blob, at)
                if c:
                    at = put_text(target, target_at, c - 1, SLASH, blob, at)
            elif 0 <= t < TURNS:
                if t == W1 or t == T1:
                    at = put_text(source, source_at, a, SLASH, blob, at)
                else:
                    at = put_text(target, target_at, a, SLASH, blob, at)
                if t == T2:
                    at = put_text(source, source_at, b, SLASH, blob, at)
                    at = put_text(source, source_at, c, SLASH, blob, at)
                else:
                    at = put_text(target, target_at, b, SLASH, blob, at)
                    if t == T1:
                        at = put_text(target, target_at, c, SLASH, blob, at)
            if at < 0:
                bounds[done + 1] = at
                break
            bounds[done + 1] = at - 1
        else:
            done = keys.shape[0]
    return done
