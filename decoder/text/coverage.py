"""Training pairs that cover a test: they hold every substring of it that the training text holds (S10.3)."""

from __future__ import annotations

from heapq import heapify, heappop, heapreplace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rampion.arrays import Integers, span_of_each
from rampion.store.names import Names
from rampion.store.text import Texts


class Coverage(NamedTuple):
    """Source substrings of n words: how many the test has, and how many of these occur in the training text."""

    n: int
    test: int
    train: int


class _Substrings(NamedTuple):
    """Substrings of equal length: where they begin, and an id that is equal for equal substrings."""

    tokens: NDArray[np.uint32]
    ends: Integers  # of the sentence of every token
    places: Integers
    numbers: Integers

    @classmethod
    def of(cls, tokens: NDArray[np.uint32], bounds: Integers) -> _Substrings:
        """The empty substring at every token."""
        places = np.arange(len(tokens))
        return cls(tokens, np.repeat(bounds[1:], np.diff(bounds)), places, np.zeros_like(places))

    def longer(self, n: int, known: int) -> _Substrings:
        """The substrings longer by an n-th word, if there is one and its id is below `known`."""
        fits = self.places + n <= self.ends[self.places]
        places, numbers = self.places[fits], self.numbers[fits]
        last = self.tokens[places + n - 1].astype(np.int64)
        inside = last < known
        return self._replace(places=places[inside], numbers=numbers[inside] * known + last[inside])


def covering(train: Texts, test: Texts, longest: int = 12, greedy: bool = False) -> tuple[Integers, list[Coverage]]:
    """Rows of training sentences that hold all substrings (up to `longest` words) that test and training share.

    By default, these are the sentences in which a substring occurs first. With `greedy`, the sentence with the most
    uncovered substrings is taken again and again, which gives fewer sentences.
    """
    names = Names()
    wanted, known = _Substrings.of(*names.tokens(test)), len(names)
    tokens, bounds = names.tokens(train)
    shown, rows = _Substrings.of(tokens, bounds), span_of_each(bounds)
    report, pairs, count = list[Coverage](), list[Integers](), 0
    for n in range(1, longest + 1):
        wanted, shown = wanted.longer(n, known), shown.longer(n, known)
        keys, numbers = np.unique(wanted.numbers, return_inverse=True)
        wanted = wanted._replace(numbers=numbers)
        found = np.searchsorted(keys, shown.numbers)
        held = np.append(keys, -1)[found] == shown.numbers
        shown = shown._replace(places=shown.places[held], numbers=found[held])
        present, first = np.unique(shown.numbers, return_index=True)
        report.append(Coverage(n, len(keys), len(present)))
        chosen = slice(None) if greedy else first
        pairs.append(np.stack([rows[shown.places[chosen]], count + shown.numbers[chosen]]))
        count += len(keys)
    owners, parts = np.concatenate(pairs, axis=1)
    return _greedy(owners, parts, len(train), count) if greedy else np.unique(owners), report


def _greedy(owners: Integers, parts: Integers, sentences: int, count: int) -> Integers:
    """Sentences that together hold all parts. Gains only shrink, so only the greatest gain is computed again."""
    owners, parts = np.divmod(np.unique(owners * count + parts), max(count, 1))
    bounds = np.searchsorted(owners, np.arange(sentences + 1)).tolist()
    missing = np.zeros(count, np.bool_)
    missing[parts] = True
    heap = [(bounds[row] - bounds[row + 1], row) for row in range(sentences) if bounds[row] < bounds[row + 1]]
    heapify(heap)
    left, chosen = int(missing.sum()), []
    while left:
        gain, row = heap[0]
        held = parts[bounds[row] : bounds[row + 1]]
        fresh = int(np.count_nonzero(missing[held]))
        if fresh == -gain:
            missing[held] = False
            left -= fresh
            chosen.append(row)
            heappop(heap)
        elif fresh:
            heapreplace(heap, (-fresh, row))
        else:
            heappop(heap)
    return np.array(sorted(chosen), np.int64)
