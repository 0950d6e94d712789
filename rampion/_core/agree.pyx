"""What every text of a list scores on average if each text of the list, by its weight, were the reference.

The n-grams of a list become sets of bits, as overlap.h says, one text after another; then every two texts meet once.
An element is an n-gram, or a further occurrence of one in a text. Those that one text alone has, and those that all
have, need no bit. Elements are found by (element that they extend, token) in a table of slots, 0 for a free one.
Twin: rampion/_reference/agree.py
"""

from libc.math cimport exp, sqrt
from libc.stdint cimport uint64_t

from rampion._core.types cimport id_t, key_t, real, row_t

cdef extern from "overlap.h" nogil:
    ctypedef struct overlap_t:
        const uint64_t* bits
        const row_t* cuts
        row_t texts, orders
    void overlap(const overlap_t* lists, row_t i, row_t* counts)

cdef enum:
    ORDER = 0    # fields of an element: the order of its n-gram, from 0
    HELD = 1     # how many texts of the list have it
    LAST = 2     # the last of them
    TAIL = 3     # the element of the n-gram's last occurrence in that text
    AGAIN = 4    # the element of one more occurrence, 0 if there is none
    PLACE = 5    # its bit among those of its order

    COUNT = 0    # what is counted while a list is read: elements, roots among them
    FILLED = 1   # cells of the stream
    BITS = 2     # the table has 2 ** BITS slots in use

    FIRST_BITS = 8
    ROOTS = 2    # elements 0 and 1: the empty n-gram of each of two kinds of tokens

cdef key_t MIX = 0x9E3779B97F4A7C15  # 2^64 / golden ratio: Fibonacci hashing


cdef inline row_t slot_of(row_t key, const id_t[::1] slots, const row_t[::1] keys, row_t bits) except? -1 nogil:
    """The slot of the element with this key, or the free one where it belongs."""
    cdef row_t slot = <row_t>((<key_t>key * MIX) >> (64 - bits))
    while slots[slot] != 0 and keys[slots[slot]] != key:
        slot = (slot + 1) & ((<row_t>1 << bits) - 1)
    return slot


cdef inline row_t made(id_t[:, ::1] fields, row_t order, row_t[::1] counted) except? -1 nogil:
    """A new element, which no text has yet."""
    cdef row_t element = counted[COUNT]
    fields[element, ORDER] = <id_t>order
    fields[element, HELD] = fields[element, AGAIN] = 0
    counted[COUNT] = element + 1
    return element


cdef row_t widen(row_t coming, id_t[::1] slots, const row_t[::1] keys, row_t[::1] counted) except? -1 nogil:
    """Double the slots until half of them stay free with so many elements more."""
    cdef row_t element, bits = counted[BITS]
    if 2 * (counted[COUNT] + coming) <= <row_t>1 << bits:
        return bits
    while 2 * (counted[COUNT] + coming) > <row_t>1 << bits:
        bits += 1
    for element in range(<row_t>1 << bits):
        slots[element] = 0
    for element in range(ROOTS, counted[COUNT]):
        if keys[element] >= 0:
            slots[slot_of(keys[element], slots, keys, bits)] = <id_t>element
    counted[BITS] = bits
    return bits


cdef row_t read(
    const id_t[::1] ids, row_t start, row_t end, row_t text, row_t root, row_t first, row_t order,
    id_t[::1] slots, row_t[::1] keys, id_t[:, ::1] fields, id_t[::1] stream, row_t[::1] counted,
) except? -1 nogil:
    """Append the elements of ids[start:end] to the stream; return its length. n-grams of one token are of order first.
    """
    cdef row_t bits = widen(order * (end - start), slots, keys, counted)
    cdef row_t place, length, node, key, slot, element, tail, filled = counted[FILLED]
    for place in range(start, end):
        node = root
        for length in range(min(order, end - place)):
            key = node << 32 | ids[place + length]
            slot = slot_of(key, slots, keys, bits)
            if slots[slot] == 0:
                slots[slot] = <id_t>made(fields, first + length, counted)
                keys[slots[slot]] = key
            node = element = slots[slot]
            if fields[node, HELD] and fields[node, LAST] == text:
                tail = fields[node, TAIL]
                if fields[tail, AGAIN] == 0:
                    fields[tail, AGAIN] = <id_t>made(fields, first + length, counted)
                    keys[fields[tail, AGAIN]] = -1
                element = fields[tail, AGAIN]
            fields[node, LAST] = <id_t>text
            fields[node, TAIL] = <id_t>element
            fields[element, HELD] += 1
            stream[filled] = <id_t>element
            filled += 1
    counted[FILLED] = filled
    return filled


cdef row_t placed(
    id_t[:, ::1] fields, row_t texts, const row_t[::1] counted, row_t[::1] shared, row_t[::1] cuts,
) except? -1 nogil:
    """Give a bit to every element that some texts have and others not; shared counts what all have, of every order.

    Return the words of a text, which are cut by order.
    """
    cdef row_t element, order, orders = shared.shape[0], held
    for order in range(orders):
        shared[order] = cuts[order + 1] = 0
    for element in range(ROOTS, counted[COUNT]):
        order, held = fields[element, ORDER], fields[element, HELD]
        if held == texts:
            shared[order] += 1
        elif held > 1:
            fields[element, PLACE] = <id_t>cuts[order + 1]
            cuts[order + 1] += 1
    cuts[0] = 0
    for order in range(orders):
        cuts[order + 1] = cuts[order] + (cuts[order + 1] + 63) // 64
    return cuts[orders]


cdef row_t mark(
    const id_t[:, ::1] fields, const id_t[::1] stream, const row_t[::1] marks, row_t texts, const row_t[::1] cuts,
    key_t[::1] bits,
) except? -1 nogil:
    """Set the bits of every text: its elements are stream[marks[i]:marks[i + 1]]."""
    cdef row_t i, at, element, place, held, words = cuts[cuts.shape[0] - 1]
    for at in range(words * texts):
        bits[at] = 0
    for i in range(texts):
        for at in range(marks[i], marks[i + 1]):
            element, held = stream[at], fields[stream[at], HELD]
            if held > 1 and held < texts:
                place = fields[element, PLACE]
                bits[(cuts[fields[element, ORDER]] + place // 64) * texts + i] |= <key_t>1 << (place % 64)
    return words


def agree_bleu(tokens, const real[::1] scales, const real[::1] weights, row_t start, room, real[::1] expected):
    """Expected BLEU of every text from segment `start` on; return how many segments are done: fewer if bits are few.

    scales turn the root of the matches, plus one from order two on, into BLEU without its brevity penalty (S2.3).
    """
    # Longer than most, because it unpacks what travels together.
    cdef const id_t[::1] ids = tokens.ids
    cdef const row_t[::1] bounds = tokens.bounds, segments = tokens.segments
    cdef id_t[::1] slots = room.slots, stream = room.stream
    cdef id_t[:, ::1] fields = room.fields
    cdef row_t[::1] keys = room.keys, marks = room.marks, cuts = room.cuts, shared = room.shared, counts = room.counts
    cdef row_t[::1] counted = room.counted
    cdef key_t[::1] bits = room.bits
    cdef real[::1] penalties = room.penalties
    cdef row_t s = start, first, texts, i
    cdef overlap_t lists
    with nogil:
        while s < segments.shape[0] - 1:
            first = segments[s]
            texts = segments[s + 1] - first
            counted[COUNT], counted[FILLED], counted[BITS], marks[0] = ROOTS, 0, 0, 0
            for i in range(texts):
                marks[i + 1] = read(
                    ids, bounds[first + i], bounds[first + i + 1], i, 0, 0, 4, slots, keys, fields, stream, counted
                )
            if placed(fields, texts, counted, shared, cuts) * texts > bits.shape[0]:
                break
            mark(fields, stream, marks, texts, cuts, bits)
            lists = overlap_t(&bits[0], &cuts[0], texts, shared.shape[0])
            for i in range(texts):
                expected[first + i] = 0.0
            for i in range(texts):
                overlap(&lists, i, &counts[0])
                add_bleu(bounds, first, i, texts, counts, shared, scales, weights, penalties, expected)
            s += 1
    return s


cdef int add_bleu(
    const row_t[::1] bounds, row_t first, row_t i, row_t texts, const row_t[::1] counts, const row_t[::1] shared,
    const real[::1] scales, const real[::1] weights, real[::1] penalties, real[::1] expected,
) except -1 nogil:
    """Text i of the list and each later one are the other's reference; a text with words scores 1 with itself."""
    cdef row_t one = first + i, j, two, mine = bounds[one + 1] - bounds[one], theirs
    cdef real root, penalty, total = expected[one]
    if mine > 0:
        total += weights[one]
    for j in range(i + 1, texts):
        penalties[bounds[first + j + 1] - bounds[first + j]] = -1.0
    for j in range(i + 1, texts):
        two = first + j
        theirs = bounds[two + 1] - bounds[two]
        root = sqrt(sqrt(
            (<real>(shared[0] + counts[j]) * <real>(shared[1] + counts[texts + j] + 1))
            * (<real>(shared[2] + counts[2 * texts + j] + 1) * <real>(shared[3] + counts[3 * texts + j] + 1))
        ))
        penalty = penalties[theirs]
        if penalty < 0.0:
            penalty = brevity(mine, theirs)
            penalties[theirs] = penalty
        if mine < theirs:
            total += weights[two] * (penalty * (root * scales[one]))
            expected[two] += weights[one] * (root * scales[two])
        else:
            total += weights[two] * (root * scales[one])
            expected[two] += weights[one] * (penalty * (root * scales[two]))
    expected[one] = total
    return 0


cdef inline real brevity(row_t one, row_t two) except? -1.0 nogil:
    """The brevity penalty of the shorter of two lengths."""
    cdef row_t short = min(one, two)
    return exp(1.0 - <real>max(one, two) / <real>short) if short > 0 else 0.0


def agree_chrf(
    letters, words, const row_t[::1] depths, const real[:, ::1] shares, const real[::1] weights, real factor,
    row_t start, room, real[::1] expected,
):
    """Expected chrF of every text from segment `start` on; return how many segments are done: fewer if bits are few.

    shares are one over the number of the text's n-grams, of every order, 0 if it has none; factor is beta squared.
    depths are the longest n-grams of letters and of words, whose orders follow those of letters.
    """
    # Longer than most, because it unpacks what travels together.
    cdef const id_t[::1] ids = letters.ids, word_ids = words.ids
    cdef const row_t[::1] bounds = letters.bounds, word_bounds = words.bounds, segments = letters.segments
    cdef id_t[::1] slots = room.slots, stream = room.stream
    cdef id_t[:, ::1] fields = room.fields
    cdef row_t[::1] keys = room.keys, marks = room.marks, cuts = room.cuts, shared = room.shared, counts = room.counts
    cdef row_t[::1] counted = room.counted
    cdef key_t[::1] bits = room.bits
    cdef row_t s = start, first, texts, i, one
    cdef overlap_t lists
    with nogil:
        while s < segments.shape[0] - 1:
            first = segments[s]
            texts = segments[s + 1] - first
            counted[COUNT], counted[FILLED], counted[BITS], marks[0] = ROOTS, 0, 0, 0
            for i in range(texts):
                one = first + i
                marks[i + 1] = read(
                    ids, bounds[one], bounds[one + 1], i, 0, 0, depths[0], slots, keys, fields, stream, counted
                )
                if depths[1] > 0:
                    marks[i + 1] = read(
                        word_ids, word_bounds[one], word_bounds[one + 1], i, 1, depths[0], depths[1], slots, keys,
                        fields, stream, counted,
                    )
            if placed(fields, texts, counted, shared, cuts) * texts > bits.shape[0]:
                break
            mark(fields, stream, marks, texts, cuts, bits)
            lists = overlap_t(&bits[0], &cuts[0], texts, shared.shape[0])
            for i in range(texts):
                expected[first + i] = 0.0
            for i in range(texts):
                overlap(&lists, i, &counts[0])
                add_chrf(first, i, texts, counts, shared, shares, weights, factor, expected)
            s += 1
    return s


cdef int add_chrf(
    row_t first, row_t i, row_t texts, const row_t[::1] counts, const row_t[::1] shared, const real[:, ::1] shares,
    const real[::1] weights, real factor, real[::1] expected,
) except -1 nogil:
    """Text i of the list and each later one are the other's reference; a text with letters scores 1 with itself."""
    cdef row_t one = first + i, two, j, o, orders = shared.shape[0], both
    cdef real matching, mine, theirs, product, total = expected[one]
    if shares[one, 0] > 0.0:
        total += weights[one]
    for j in range(i + 1, texts):
        two = first + j
        mine = theirs = 0.0
        both = 0
        for o in range(orders):
            matching = <real>(shared[o] + counts[o * texts + j])
            mine += matching * shares[one, o]
            theirs += matching * shares[two, o]
            both += shares[one, o] > 0.0 and shares[two, o] > 0.0
        if mine > 0.0:
            product = (1.0 + factor) * mine * theirs
            total += weights[two] * (product / ((factor * mine + theirs) * both))
            expected[two] += weights[one] * (product / ((factor * theirs + mine) * both))
    expected[one] = total
    return 0


def agree_posteriors(tokens, const real[::1] weights, room, real[:, ::1] means):
    """Fill means[i, n - 1] with how likely the n-grams of text i are in its list, on average; 0 if it has none.

    The k-th occurrence of an n-gram is as likely as the weight of the texts that have k of them.
    """
    cdef const id_t[::1] ids = tokens.ids
    cdef const row_t[::1] bounds = tokens.bounds, segments = tokens.segments
    cdef id_t[::1] slots = room.slots, stream = room.stream
    cdef id_t[:, ::1] fields = room.fields
    cdef row_t[::1] keys = room.keys, marks = room.marks, counted = room.counted
    cdef real[::1] masses = room.masses
    cdef row_t s, first, texts, i, at, o, size, order = means.shape[1]
    with nogil:
        for s in range(segments.shape[0] - 1):
            first = segments[s]
            texts = segments[s + 1] - first
            counted[COUNT], counted[FILLED], counted[BITS], marks[0] = ROOTS, 0, 0, 0
            for i in range(texts):
                marks[i + 1] = read(
                    ids, bounds[first + i], bounds[first + i + 1], i, 0, 0, order, slots, keys, fields, stream, counted
                )
            for at in range(counted[COUNT]):
                masses[at] = 0.0
            for i in range(texts):
                for at in range(marks[i], marks[i + 1]):
                    masses[stream[at]] += weights[first + i]
            for i in range(texts):
                size = bounds[first + i + 1] - bounds[first + i]
                for o in range(order):
                    means[first + i, o] = 0.0
                for at in range(marks[i], marks[i + 1]):
                    means[first + i, fields[stream[at], ORDER]] += masses[stream[at]]
                for o in range(min(order, size)):
                    means[first + i, o] /= <real>(size - o)
