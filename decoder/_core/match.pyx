"""Source sentences to word ids, and all blocks of all their spans.

Twin: decoder/_reference/match.py
"""

from libc.stdint cimport int32_t

from decoder._core.phrases cimport extended, seed, slot_of
from rampion._core.intern cimport is_blank
from rampion._core.intern cimport slot_of as slot_of_word
from rampion._core.types cimport byte_t, id_t, key_t, row_t


def lookup(const byte_t[::1] text, const row_t[::1] bounds, table, id_t[::1] words, row_t[::1] word_bounds):  # OUT
    """The ids of the words between ASCII whitespace, 0 for those not in the table; OUT words, word_bounds."""
    cdef const id_t[::1] slots = table.slots
    cdef const byte_t[::1] blob = table.blob
    cdef const row_t[::1] places = table.bounds
    cdef row_t row, at, end, first, word = 0
    cdef id_t found
    with nogil:
        word_bounds[0] = 0
        for row in range(bounds.shape[0] - 1):
            at, end = bounds[row], bounds[row + 1]
            while at < end:
                if is_blank(text[at]):
                    at += 1
                    continue
                first = at
                while at < end and not is_blank(text[at]):
                    at += 1
                found = slots[slot_of_word(text, first, at, slots, blob, places)]
                words[word] = found - 1 if found else 0
                word += 1
            word_bounds[row + 1] = word


def match(sentences, blocks, row_t longest, row_t top, row_t done, row_t[::1] spans, int32_t[::1] starts,
          int32_t[::1] ends, id_t[::1] found):  # OUT spans, starts, ends, found
    """Options of the sentences from number `done` on; return how many are done: all, unless found is full.

    At most the first `top` blocks of a span; the identity block 0 where a word has none.
    """
    cdef const id_t[::1] words = sentences.words, slots = blocks.slots, source_words = blocks.source_words
    cdef const row_t[::1] bounds = sentences.bounds, source_bounds = blocks.source_bounds, firsts = blocks.firsts
    cdef row_t sentence = done, last = bounds.shape[0] - 1, start, end
    with nogil:
        spans[0] = 0
        while sentence < last:
            start, end = bounds[sentence], bounds[sentence + 1]
            while start < end and begin(words, bounds[sentence], start, end, slots, source_words, source_bounds, firsts,
                                        longest, top, spans, starts, ends, found):
                start += 1
            if start < end:
                break
            sentence += 1
    return sentence


cdef inline bint begin(
    const id_t[::1] words, row_t first, row_t start, row_t end, const id_t[::1] slots, const id_t[::1] source_words,
    const row_t[::1] source_bounds, const row_t[::1] firsts, row_t longest, row_t top,
    row_t[::1] spans, int32_t[::1] starts, int32_t[::1] ends, id_t[::1] found,
) except -1 nogil:
    """Options of the spans that begin at word `start` of the sentence words[first:end]; false if found is full."""
    cdef row_t at = spans[start * longest], size, phrase, block, count, i
    cdef key_t key = seed()
    for size in range(1, longest + 1):
        block, count = 0, 0
        if start + size <= end:
            key = extended(key, words[start + size - 1])
            phrase = slots[slot_of(key, words, start, size, slots, source_words, source_bounds)]
            if phrase != 0:
                block = firsts[phrase - 1]
                count = min(top, firsts[phrase] - block)
        if size == 1 and count == 0:
            count = 1
        if at + count > found.shape[0]:
            return False
        for i in range(at, at + count):
            starts[i] = <int32_t> (start - first)
            ends[i] = <int32_t> (start - first + size)
            found[i] = <id_t> (block + i - at)
        at += count
        spans[start * longest + size] = at
    return True
