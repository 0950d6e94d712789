"""Sparse tables of word pairs that occur together in a pair of sentences.

`uses` lists the tokens of one side word by word: those of word w are uses.order[uses.bounds[w]:uses.bounds[w + 1]],
in order, each an index of the corpus; uses.owners tells the sentence of a token.
Twin: decoder/_reference/lexicon.py
"""

from rampion._core.types cimport id_t, row_t, small_t

from .lexicon cimport chance


def tabulate(
    uses, observed, row_t start, id_t[::1] met, row_t[::1] bounds, id_t[::1] words,  # OUT bounds, words
):
    """Fill the row of each word from `start` on with the words of the other side that it meets, by first appearance.

    Return how many rows are done: all, unless there is no room for more. `met` holds zeros at first.
    """
    cdef const row_t[::1] order = uses.order, use_bounds = uses.bounds, observed_bounds = observed.bounds
    cdef const id_t[::1] owners = uses.owners, tokens = observed.words
    cdef row_t word = start, last = use_bounds.shape[0] - 1, use, sentence, token, count = bounds[start]
    with nogil:
        while word < last:
            for use in range(use_bounds[word], use_bounds[word + 1]):
                sentence = owners[order[use]]
                if count + observed_bounds[sentence + 1] - observed_bounds[sentence] > words.shape[0]:
                    break
                for token in range(observed_bounds[sentence], observed_bounds[sentence + 1]):
                    if met[tokens[token]] != word + 1:
                        met[tokens[token]] = <id_t>(word + 1)
                        words[count] = tokens[token]
                        count += 1
            else:
                word += 1
                bounds[word] = count
                continue
            break
    return word


def transpose(
    const row_t[::1] bounds, const id_t[::1] words, row_t[::1] column_bounds, id_t[::1] rows,
):  # OUT column_bounds, rows
    """Fill each column with its rows, ascending."""
    cdef row_t row, cell, column, place
    with nogil:
        for column in range(column_bounds.shape[0]):
            column_bounds[column] = 0
        for cell in range(words.shape[0]):
            column_bounds[words[cell] + 1] += 1
        for column in range(1, column_bounds.shape[0]):
            column_bounds[column] += column_bounds[column - 1]
        for row in range(bounds.shape[0] - 1):
            for cell in range(bounds[row], bounds[row + 1]):
                place = column_bounds[words[cell]]
                column_bounds[words[cell]] += 1
                rows[place] = <id_t>row
        for column in range(column_bounds.shape[0] - 1, 0, -1):
            column_bounds[column] = column_bounds[column - 1]
        column_bounds[0] = 0


def locate(
    const row_t[::1] bounds, const id_t[::1] words, uses, given, observed, const row_t[::1] offsets,
    row_t first, row_t last, id_t[::1] places, id_t[::1] cells,
):  # OUT cells
    """Fill cells with the cell of every pair of tokens whose first is a word of first to last - 1; no other ones.

    Pair (i, j) of sentence s stands at offsets[s] + i * (words of the other side) + j. `places` holds what stands for
    a pair without a cell, for each word of the other side; it does so again afterwards.
    """
    cdef const row_t[::1] order = uses.order, use_bounds = uses.bounds
    cdef const row_t[::1] given_bounds = given.bounds, observed_bounds = observed.bounds
    cdef const id_t[::1] owners = uses.owners, tokens = observed.words
    cdef row_t word, use, cell, sentence, token, at
    cdef id_t missing
    with nogil:
        missing = places[0] if places.shape[0] else 0
        for word in range(first, last):
            for cell in range(bounds[word], bounds[word + 1]):
                places[words[cell]] = <id_t>cell
            for use in range(use_bounds[word], use_bounds[word + 1]):
                sentence = owners[order[use]]
                at = observed_bounds[sentence + 1] - observed_bounds[sentence]
                at = offsets[sentence] + (order[use] - given_bounds[sentence]) * at
                for token in range(observed_bounds[sentence], observed_bounds[sentence + 1]):
                    cells[at] = places[tokens[token]]
                    at += 1
            for cell in range(bounds[word], bounds[word + 1]):
                places[words[cell]] = missing


def chances(lexicon, const id_t[::1] given, const id_t[::1] observed, small_t other, small_t[::1] values):  # OUT values
    """Fill values with what the lexicon has for each pair, `other` for pairs that it does not have."""
    cdef const row_t[::1] bounds = lexicon.bounds
    cdef const id_t[::1] words = lexicon.words
    cdef const small_t[::1] known = lexicon.values
    cdef row_t pair
    with nogil:
        for pair in range(given.shape[0]):
            values[pair] = chance(bounds, words, known, given[pair], observed[pair], other)
