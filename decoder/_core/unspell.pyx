"""Readable names of features as keys: the way back from spell.pyx.

Twin: decoder/_reference/unspell.py
"""

from rampion._core.spans cimport hash_of, slot_of
from rampion._core.types cimport byte_t, id_t, key_t, row_t

from .spell cimport JOINT, JUMPS, LENGTHS, SLASH, SWINGS, TURNS
from .templates cimport H1, H2, P1, P2, P3, P4, P5, T1, T2, W1, W2, W3, W4, of_block, of_phrases, of_words

cdef enum:
    MISSING = -1
    PARTS = 5  # the most parts of a name: label and four arguments


cdef inline row_t code_of(const byte_t[::1] text, row_t start, row_t end, const byte_t[::1] label,
                          const row_t[::1] label_at, row_t first, row_t count) except? -2 nogil:
    """Which of `count` labels the text is, or MISSING."""
    cdef row_t code, at
    for code in range(count):
        at = label_at[first + code]
        if label_at[first + code + 1] - at != end - start:
            continue
        while at < label_at[first + code + 1] and label[at] == text[start + at - label_at[first + code]]:
            at += 1
        if at == label_at[first + code + 1]:
            return code
    return MISSING


cdef inline row_t word_of(const byte_t[::1] text, row_t start, row_t end, const id_t[::1] slots,
                          const byte_t[::1] words, const row_t[::1] bounds) except? -2 nogil:
    """The id of a word, or MISSING."""
    return <row_t> slots[slot_of(hash_of(text, start, end - start), text, start, end - start, slots, words, bounds)] - 1


cdef inline row_t tokens_of(const byte_t[::1] text, row_t start, row_t end, const id_t[::1] slots,
                            const byte_t[::1] words, const row_t[::1] bounds, id_t[::1] tokens) except? -2 nogil:
    """Fill in the words of a phrase; how many there are, or MISSING if it has one that is unknown, or too many."""
    cdef row_t at = start, stop, word, count = 0
    while True:
        stop = at
        while stop < end and text[stop] != JOINT:
            stop += 1
        word = word_of(text, at, stop, slots, words, bounds)
        if word < 0 or count == tokens.shape[0]:
            return MISSING
        tokens[count] = <id_t> word
        count += 1
        if stop == end:
            return count
        at = stop + 1


cdef inline row_t phrase_of(const id_t[::1] tokens, row_t count, const id_t[::1] slots, const id_t[::1] words,
                            const row_t[::1] bounds) except? -2 nogil:
    """The phrase of these words, or MISSING. The two fixed ones, of one fixed word each, are not in the table."""
    if count < 0:
        return MISSING
    if count == 1 and tokens[0] < 2:
        return tokens[0]
    return <row_t> slots[slot_of(hash_of(tokens, 0, count), tokens, 0, count, slots, words, bounds)] - 1


cdef inline row_t block_of(row_t source, const id_t[::1] tokens, row_t count, const row_t[::1] firsts,
                           const id_t[::1] targets, const id_t[::1] words, const row_t[::1] bounds) except? -2 nogil:
    """The block of a source phrase with these target words, or MISSING. Those that lists use stand near the front."""
    cdef row_t block, at, start
    if source < 0 or count < 0:
        return MISSING
    for block in range(firsts[source], firsts[source + 1]):
        start = bounds[targets[block]]
        if bounds[targets[block] + 1] - start != count:
            continue
        at = 0
        while at < count and words[start + at] == tokens[at]:
            at += 1
        if at == count:
            return block
    return MISSING


cdef inline bint repeats(const byte_t[::1] text, row_t start, row_t other, row_t size) except? -1 nogil:
    """Whether both places begin with the same bytes."""
    cdef row_t at = 0
    while at < size and text[start + at] == text[other + at]:
        at += 1
    return at == size


def name_keys(const byte_t[::1] text, const row_t[::1] bounds, blocks, labels, sources, targets,
              const id_t[::1] target_slots, id_t[::1] tokens, key_t[::1] keys):  # OUT keys; tokens is room
    """Fill keys with the key of every name text[bounds[i]:bounds[i + 1]], 0 for one that is no name of this block set.

    sources and targets are tables of the words of both sides as names spell them, target_slots one of target phrases.
    """
    # Longer than most, because each template has a case.
    cdef const id_t[::1] source_words = blocks.source_words, target_words = blocks.target_words, slots = blocks.slots
    cdef const row_t[::1] source_phrases = blocks.source_bounds, target_phrases = blocks.target_bounds
    cdef const row_t[::1] firsts = blocks.firsts
    cdef const id_t[::1] block_targets = blocks.targets
    cdef const byte_t[::1] label = labels.blob, source = sources.blob, target = targets.blob
    cdef const row_t[::1] label_at = labels.bounds, source_at = sources.bounds, target_at = targets.bounds
    cdef const id_t[::1] source_slots = sources.slots, target_word_slots = targets.slots
    cdef row_t row, at, count, t, a, b, c, i, seen = 0, size = 0, block = MISSING  # the block named last, and where
    cdef row_t[PARTS + 1] part
    cdef row_t[3] found
    with nogil:
        for row in range(bounds.shape[0] - 1):
            keys[row] = 0
            # 1. Where its parts begin; one behind the last.
            part[0], count = bounds[row], 1
            for at in range(bounds[row], bounds[row + 1]):
                if text[at] == SLASH:
                    if count == PARTS:
                        count = 0
                        break
                    part[count] = at + 1
                    count += 1
            if count < 2:
                continue
            part[count] = bounds[row + 1] + 1
            # 2. Its template, and the arguments as that has them.
            t = code_of(text, part[0], part[1] - 1, label, label_at, 0, TURNS)
            if t == P1 or t == P2 or t == H1 or t == H2:
                if count != (3 if t == P1 else 4):
                    continue
                if part[3] - part[1] != size or not repeats(text, part[1], seen, size - 1):
                    a = tokens_of(text, part[1], part[2] - 1, source_slots, source, source_at, tokens)
                    b = phrase_of(tokens, a, slots, source_words, source_phrases)
                    a = tokens_of(text, part[2], part[3] - 1, target_word_slots, target, target_at, tokens)
                    block = block_of(b, tokens, a, firsts, block_targets, target_words, target_phrases)
                    seen, size = part[1], part[3] - part[1]
                c = 0
                if t != P1:
                    c = code_of(text, part[3], part[4] - 1, label, label_at, TURNS if t == P2 else SWINGS, 3)
                if block >= 0 and c >= 0:
                    keys[row] = of_block(t, block, c)
            elif (t == P3 or t == P4 or t == P5) and count == 3:
                if t == P4:
                    a = tokens_of(text, part[1], part[2] - 1, source_slots, source, source_at, tokens)
                    a = phrase_of(tokens, a, slots, source_words, source_phrases)
                    b = tokens_of(text, part[2], part[3] - 1, source_slots, source, source_at, tokens)
                    b = phrase_of(tokens, b, slots, source_words, source_phrases)
                else:
                    a = tokens_of(text, part[1], part[2] - 1, target_word_slots, target, target_at, tokens)
                    a = phrase_of(tokens, a, target_slots, target_words, target_phrases)
                    if t == P3:
                        b = tokens_of(text, part[2], part[3] - 1, target_word_slots, target, target_at, tokens)
                        b = phrase_of(tokens, b, target_slots, target_words, target_phrases)
                    else:
                        b = code_of(text, part[2], part[3] - 1, label, label_at, LENGTHS, 256)
                if a >= 0 and b >= 0:
                    keys[row] = of_phrases(t, a, b)
            elif t == W3:
                if count > 4:
                    continue
                found[0] = found[1] = found[2] = 0
                for i in range(1, count):
                    found[i - 1] = 1 + word_of(text, part[i], part[i + 1] - 1, target_word_slots, target, target_at)
                    if found[i - 1] == 0:
                        break
                else:
                    keys[row] = of_words(t, found[0], found[1], found[2])
            elif (t == W1 or t == W4) and count == 3:
                if t == W1:
                    a = word_of(text, part[1], part[2] - 1, source_slots, source, source_at)
                else:
                    a = word_of(text, part[1], part[2] - 1, target_word_slots, target, target_at)
                b = word_of(text, part[2], part[3] - 1, target_word_slots, target, target_at)
                if a >= 0 and b >= 0:
                    keys[row] = of_words(t, a, b, 0)
            elif (t == W2 or t == T1 or t == T2) and count == 4:
                if t == W2:
                    a = code_of(text, part[1], part[2] - 1, label, label_at, JUMPS, 6)
                elif t == T1:
                    a = word_of(text, part[1], part[2] - 1, source_slots, source, source_at)
                else:
                    a = word_of(text, part[1], part[2] - 1, target_word_slots, target, target_at)
                if t == T1:
                    b = word_of(text, part[2], part[3] - 1, target_word_slots, target, target_at)
                    c = word_of(text, part[3], part[4] - 1, target_word_slots, target, target_at)
                else:
                    b = word_of(text, part[2], part[3] - 1, source_slots, source, source_at)
                    c = word_of(text, part[3], part[4] - 1, source_slots, source, source_at)
                if a >= 0 and b >= 0 and c >= 0:
                    keys[row] = of_words(t, a, b, c)
