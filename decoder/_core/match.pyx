"""All blocks of all spans of source sentences.

The spans that begin at one word are looked up in the order of their sizes, so that each hash extends the one before.
Twin: decoder/_reference/match.py
"""

from libc.stdint cimport int32_t

from rampion._core.spans cimport extended, seed, slot_of
from rampion._core.types cimport id_t, key_t, row_t

cdef struct sentence_t:
    row_t first, end  # its words in the batch
    row_t longest     # words of a span
    row_t top         # blocks of a span


def match(sentences, blocks, row_t longest, row_t top, row_t done, row_t[::1] spans, int32_t[::1] starts,
          int32_t[::1] ends, id_t[::1] found):  # OUT spans, starts, ends, found
    """Options of the sentences from number `done` on; return how many are done: all, unless found is full.

    At most the first `top` blocks of a span; the identity block 0 where a word has none.
    """
    cdef const id_t[::1] words = sentences.words, slots = blocks.slots, source_words = blocks.source_words
    cdef const row_t[::1] bounds = sentences.bounds, source_bounds = blocks.source_bounds, firsts = blocks.firsts
    cdef row_t start
    cdef sentence_t s
    s.longest, s.top = longest, top
    with nogil:
        spans[0] = 0
        while done < bounds.shape[0] - 1:
            s.first, s.end = bounds[done], bounds[done + 1]
            start = s.first
            while start < s.end and match_from(s, start, words, slots, source_words, source_bounds, firsts, spans,
                                               starts, ends, found):
                start += 1
            if start < s.end:
                break
            done += 1
    return done


cdef inline bint match_from(
    sentence_t s, row_t start, const id_t[::1] words, const id_t[::1] slots, const id_t[::1] source_words,
    const row_t[::1] source_bounds, const row_t[::1] firsts,
    row_t[::1] spans, int32_t[::1] starts, int32_t[::1] ends, id_t[::1] found,  # OUT
) except -1 nogil:
    """Write the options of the spans that begin at word `start`; false if found is full."""
    cdef row_t at = spans[start * s.longest], size, phrase, block, count, i
    cdef key_t key = seed()
    for size in range(1, s.longest + 1):
        block, count = 0, 0
        if start + size <= s.end:
            key = extended(key, words[start + size - 1])
            phrase = slots[slot_of(key, words, start, size, slots, source_words, source_bounds)]
            if phrase != 0:
                block = firsts[phrase - 1]
                count = min(s.top, firsts[phrase] - block)
        if size == 1 and count == 0:
            count = 1
        if at + count > found.shape[0]:
            return False
        for i in range(at, at + count):
            starts[i] = <int32_t> (start - s.first)
            ends[i] = <int32_t> (start - s.first + size)
            found[i] = <id_t> (block + i - at)
        at += count
        spans[start * s.longest + size] = at
    return True
