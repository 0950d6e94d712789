"""The n-grams of a sentence's references as an automaton that reads hypotheses word by word.

A node is an n-gram of up to four words that a reference holds; node 0 is the empty one. A hypothesis stands at its
context: the longest suffix of up to three words that is a node. One word more leads to the longest suffix of up to four
words that is a node. All n-grams that end in this word and stand in a reference are that node, its suffix, the suffix
of that, and so on.

Example: with the one reference "a b a c" the nodes are a, b, c; ab, ba, ac; aba, bac; abac. A hypothesis "b a" stands
at ba, whose suffix is a. The word c leads on to bac: it matches bac, ac and c. The word b has no node bab. The step is
that of the suffix, a: it leads to ab, and it matches ab and b.

Steps are looked up in a table of (node, letter), where letters number the words of the references from 1 on, and 0
stands for all other words. Twin: decoder/_reference/oracle.py
"""

from libc.stdint cimport int32_t

from rampion._core.types cimport id_t, row_t

cdef enum:
    ORDER = 4

cdef packed struct gram_t:  # GRAM of search/oracle.py
    id_t suffix     # the node without its first word
    id_t context    # where a hypothesis stands after it: itself, or its suffix if it has four words
    int32_t order   # its words
    int32_t first   # its bits are those from first to first + limit - 1
    int32_t limit   # how often it may match: as often as the reference that holds it most often
    int32_t count   # how often the reference `reader` holds it
    int32_t reader

cdef packed struct phrase_t:  # PHRASE of search/oracle.py
    int32_t first      # its words are letters[first:last]
    int32_t last
    int32_t shared[4]  # how many n-grams of each order inside it the references hold


cdef inline row_t number_words(const id_t[::1] words, row_t start, row_t end, id_t[::1] local) except -1 nogil:
    """Give the words of the references letters from 1 on; return how many letters there are, 0 included."""
    cdef row_t place, width = 1
    for place in range(start, end):
        if local[words[place]] == 0:
            local[words[place]] = <id_t>width
            width += 1
    return width


cdef inline row_t learn(
    const id_t[::1] words, const row_t[::1] bounds, row_t first, row_t last, const id_t[::1] local, row_t width,
    id_t[::1] at, gram_t[::1] grams, id_t[::1] moves,
) except -1 nogil:
    """Make a node of every n-gram of the references first to last - 1; return how many nodes there are.

    Order by order, at[place] being the node of the order before that begins at this place. Only steps that lead to a
    longer n-gram are entered, others are 0.
    """
    cdef row_t n, r, place, base = bounds[first], cell, letter, size = 1
    cdef id_t node
    grams[0].context, grams[0].order = 0, 0
    for letter in range(width):
        moves[letter] = 0
    for place in range(bounds[last] - base):
        at[place] = 0
    for n in range(1, ORDER + 1):
        for r in range(first, last):
            for place in range(bounds[r] - base, bounds[r + 1] - base - n + 1):
                cell = at[place] * width + local[words[base + place + n - 1]]
                node = moves[cell]
                if node == 0:
                    node = <id_t>size
                    size += 1
                    moves[cell] = node
                    grams[node].suffix = at[place + 1] if n > 1 else 0
                    grams[node].context = node if n < ORDER else grams[node].suffix
                    grams[node].order = <int32_t>n
                    grams[node].limit = 0
                    grams[node].reader = -1
                    for letter in range(width if n < ORDER else 0):
                        moves[node * width + letter] = 0
                if grams[node].reader != r:
                    grams[node].reader = <int32_t>r
                    grams[node].count = 0
                grams[node].count += 1
                grams[node].limit = max(grams[node].limit, grams[node].count)
                at[place] = node
    return size


cdef inline row_t complete(row_t size, row_t width, gram_t[::1] grams, id_t[::1] moves) except -1 nogil:
    """Give every n-gram its bits, and every node the steps of its suffix where it has none; return how many bits.

    Suffixes have smaller numbers, hence all their steps already.
    """
    cdef row_t node, letter, bits = 0
    for node in range(1, size):
        grams[node].first = <int32_t>bits
        bits += grams[node].limit
        for letter in range(1, width if grams[node].order < ORDER else 1):
            if moves[node * width + letter] == 0:
                moves[node * width + letter] = moves[grams[node].suffix * width + letter]
    return bits


cdef inline row_t read_phrase(
    const id_t[::1] words, row_t start, row_t end, const id_t[::1] local, row_t width, const gram_t[::1] grams,
    const id_t[::1] moves, row_t at, id_t[::1] letters, phrase_t[::1] phrases, row_t p,
) except -1 nogil:
    """Write phrase p, words[start:end], as letters from `at` on and count its n-grams; return where the letters end."""
    cdef row_t place, n
    cdef id_t node = 0
    phrases[p].first = <int32_t>at
    phrases[p].last = <int32_t>(at + end - start)
    for n in range(ORDER):
        phrases[p].shared[n] = 0
    for place in range(start, end):
        letters[at] = local[words[place]]
        node = moves[grams[node].context * width + letters[at]]
        for n in range(grams[node].order):
            phrases[p].shared[n] += 1
        at += 1
    return at
