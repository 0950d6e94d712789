"""METEOR (Banerjee & Lavie 2005, S2.7): [candidate words, reference words, matches, chunks] of the best reference.

Words are matched one to one: as many equal ones as there are, then as many of the rest as share a stem. The numbers of
both follow from counting. What is searched for is the order: of all such alignments, the one with the fewest chunks,
runs of words that follow each other on both sides.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rampion import __version__
from rampion.metrics.base import NO_COLUMNS, Columns, Metric
from rampion.metrics.stem import stem
from rampion.metrics.tokens import Tokeniser, check, check_lengths, reference_count, tokenised
from rampion.store.text import References, Texts

LONGEST = 500  # words of a text
WIDEST = 100  # partial alignments that are kept at most
NOWHERE = -2  # no word of the reference is next to it


@dataclass(frozen=True, slots=True)
class Meteor(Metric):
    """METEOR with equal words and English stems; it matches no synonyms.

    Parameters
    ----------
    alpha : float
        How much recall weighs against precision, from 0 to 1.
    beta : float
        The power of the penalty for chunks.
    gamma : float
        The greatest penalty.
    stems : bool
        Whether words that share a stem of Porter's match.
    tokeniser : {"none", "13a", "intl", "char", "zh"}
        The tokeniser of sacrebleu.
    cased : bool
        Whether case matters.

    Examples
    --------
    >>> meteor = rampion.metrics.Meteor()
    >>> round(meteor.score(["on the mat sat the cat"], ["the cat sat on the mat"]), 2)
    93.75
    >>> round(meteor.score(["the cats sat"], ["the cat sat"]), 2)
    98.15
    """

    alpha: float = 0.9
    beta: float = 3.0
    gamma: float = 0.5
    stems: bool = True
    tokeniser: Tokeniser = "none"
    cased: bool = False

    @property
    def name(self) -> str:
        """The name in reports."""
        return "METEOR"

    @property
    def higher_is_better(self) -> bool:
        """True."""
        return True

    def statistics(
        self, texts: Texts, bounds: NDArray[np.int64], references: References, columns: Columns = NO_COLUMNS
    ) -> NDArray[np.int64]:
        check(bounds, references)
        found, known = self._words(texts, "candidate"), self._words(references.texts, "reference")
        rows = np.zeros((len(texts), 4), np.int64)
        for s, (start, end) in enumerate(pairwise(bounds.tolist())):
            ours = list(dict.fromkeys(known[references.bounds[s] : references.bounds[s + 1]]))
            judged = {words: self._best(words, ours) for words in dict.fromkeys(found[start:end])}
            for i in range(start, end):
                rows[i] = judged[found[i]]
        return rows

    def _words(self, texts: Texts, who: str) -> list[tuple[str, ...]]:
        """The words of every text."""
        words = [tuple(text.split()) for text in tokenised(texts, self.tokeniser, not self.cased)]
        lengths = np.array([len(text) for text in words], np.int64)
        check_lengths(lengths, who, LONGEST, self.name, "it searches among orders of words; use chrF, BLEU or WER")
        return words

    def _best(self, mine: Sequence[str], references: Sequence[Sequence[str]]) -> list[int]:
        """The row of the reference that makes the value greatest, the first of equals."""
        kin = [stem(word.lower()) if self.stems else word for word in mine]
        rows = []
        for theirs in references:
            others = [stem(word.lower()) if self.stems else word for word in theirs]
            rows.append([len(mine), len(theirs), *align(mine, theirs, kin, others)])
        values = self.segments(np.array(rows))
        return rows[int(values.argmax())]

    def scores(self, totals: NDArray[Any]) -> NDArray[np.float64]:
        return 100 * self.segments(totals)

    def segments(self, statistics: NDArray[Any]) -> NDArray[np.float64]:
        mine, theirs, matches, chunks = statistics.T.astype(np.float64)
        some = np.where(matches > 0, matches, 1)
        # PR / (alpha P + (1 - alpha) R) of precision P and recall R, without dividing twice
        mean = matches / np.where(matches > 0, self.alpha * theirs + (1 - self.alpha) * mine, 1)
        found: NDArray[np.float64] = mean * (1 - self.gamma * (chunks / some) ** self.beta)
        return found

    def signature(self, references: References) -> str:
        from sacrebleu.metrics.base import Signature

        signature = Signature({"num_refs": reference_count(references)})
        signature.update("case", "mixed" if self.cased else "lc")
        signature.update("tok", self.tokeniser)
        signature.update("match", "exact,porter" if self.stems else "exact")
        signature.update("abg", f"{self.alpha:g},{self.beta:g},{self.gamma:g}")
        signature.update("version", f"rampion-{__version__}")
        return str(signature)


def align(
    mine: Sequence[str], theirs: Sequence[str], kin: Sequence[str], others: Sequence[str], widest: int = WIDEST
) -> tuple[int, int]:
    """The number of matches, and that of the chunks of the best alignment; `kin` and `others` are the words' stems.

    The search is repeated with more room until nothing that it dropped could be better, or until it is `widest`.
    """
    links = Links(mine, theirs, kin, others)
    chunks, width, exact = 0, 1, not links.total
    while not exact and width <= widest:
        found, dropped = _search(links, len(mine), width)
        chunks = min(found, chunks or found)
        exact, width = chunks <= dropped, 10 * width
    return links.total, chunks


def _search(links: Links, length: int, width: int) -> tuple[int, float]:
    """The chunks of the best alignment found, and the least that one of those dropped could have.

    The words of the candidate are linked from left to right. Partial alignments that can go on alike count as one, and
    `width` of them are kept: those that could have the fewest chunks, the first of equals.
    """
    states, dropped = {(0, NOWHERE, links.none): 0}, math.inf
    for i in range(length):
        reached: dict[tuple[int, int, tuple[int, ...]], int] = {}
        for (used, last, equal), chunks in states.items():
            for j, then in links.choices(i, used, equal):
                state = (used | (j >= 0) << max(j, 0)) & links.open[i], j if j in links.runs[i + 1] else NOWHERE, then
                now = chunks + (j >= 0 and j != last + 1)
                if now < reached.get(state, now + 1):
                    reached[state] = now
        if len(reached) > width:
            hoped = {state: chunks + links.least(i + 1, state[1]) for state, chunks in reached.items()}
            best = sorted(hoped, key=hoped.__getitem__)
            dropped = min(dropped, hoped[best[width]])
            reached = {state: reached[state] for state in best[:width]}
        states = reached
    return min(states.values()), dropped


class Links:
    """How many links there have to be between equal words and between words of a stem, and which are still possible.

    Sets of words of the reference are bits. Where words that are not equal have to be linked, a partial alignment
    counts the links between equal words of their stem; elsewhere the bits in use say how many there are.
    """

    def __init__(self, mine: Sequence[str], theirs: Sequence[str], kin: Sequence[str], others: Sequence[str]) -> None:
        self._mine, self._kin = mine, kin
        self._count, wanted = Counter(mine), Counter(theirs)
        self._equal = self._count & wanted
        self._room = wanted - self._equal
        left, room = Counter(kin), Counter(others)
        family = dict(zip(mine, kin, strict=True))
        for word, root in family.items():
            left[root] -= self._equal[word]
            room[root] -= self._equal[word]
        self._loose = left & room  # links between words of a stem that are not equal
        self._idle = left - self._loose  # words of the candidate that stay without a link
        self.total = self._equal.total() + self._loose.total()
        self._places, self._homes = Counter[str](), Counter[str]()  # where the reference has a word, and a stem
        for j, (word, root) in enumerate(zip(theirs, others, strict=True)):
            self._places[word] |= 1 << j
            self._homes[root] |= 1 << j
        counted = [word for word, root in family.items() if self._loose[root]]
        self._index = {word: k for k, word in enumerate(counted)}
        self.none = (0,) * len(counted)
        self._words: dict[str, list[str]] = {}  # the different words of such a stem in the reference
        for word, root in dict(zip(theirs, others, strict=True)).items():
            self._words.setdefault(root, []).append(word)
        self._before, seen, met = [], Counter[str](), Counter[str]()  # how often a word, and a stem, was there before
        for word, root in zip(mine, kin, strict=True):
            self._before.append((seen[word], met[root]))
            seen[word] += 1
            met[root] += 1
        self._bound()

    def _bound(self) -> None:
        """What can be said of the words from i on, whichever words of the reference are in use by then."""
        words = len(self._mine)
        self.open = [0] * words  # the words of the reference that words after i may be linked to
        self.runs: list[dict[int, int]] = [{} for _ in range(words + 1)]  # the fewest chunks after a link to j
        self._fewest = [0] * (words + 1)  # and after no link, if words of the reference could be used again
        later = 0
        for i, root in reversed(list(enumerate(self._kin))):
            self.open[i], later = later, later | self._homes[root]
            links = {j: self.least(i + 1, j) for j in _bits(self._homes[root])}
            self._fewest[i] = min((1 + rest for rest in links.values()), default=self._fewest[i + 1])
            if self._idle[root]:
                self._fewest[i] = min(self._fewest[i], self._fewest[i + 1])
            self.runs[i] = {j - 1: min(rest, self._fewest[i]) for j, rest in links.items() if j}

    def least(self, i: int, last: int) -> int:
        """A lower bound of the chunks that words from i on begin, if the word before is linked to `last`."""
        return self.runs[i].get(last, self._fewest[i])

    def choices(self, i: int, used: int, equal: tuple[int, ...]) -> Iterator[tuple[int, tuple[int, ...]]]:
        """The words of the reference that word i may be linked to, -1 for none, and the counts with that link."""
        word, root = self._mine[i], self._kin[i]
        same, alike = self._before[i]
        k = self._index.get(word, -1)
        done = equal[k] if k >= 0 else (used & self._places[word]).bit_count()
        if done < self._equal[word]:
            then = (*equal[:k], done + 1, *equal[k + 1 :]) if k >= 0 else equal
            for j in _bits(self._places[word] & ~used):
                yield j, then
        if same - done == self._count[word] - self._equal[word]:
            return  # all further ones need an equal word
        linked = used & self._homes[root]
        if k >= 0:
            taken = {other: self._taken(other, used, equal) for other in self._words[root]}
            if sum(taken.values()) < self._loose[root]:
                for other, count in taken.items():
                    if count < self._room[other]:
                        for j in _bits(self._places[other] & ~used):
                            yield j, equal
        if alike - linked.bit_count() < self._idle[root]:
            yield -1, equal

    def _taken(self, word: str, used: int, equal: tuple[int, ...]) -> int:
        """How often the word of the reference is linked to one that is not equal."""
        count = (used & self._places[word]).bit_count()
        return count - equal[self._index[word]] if word in self._index else count


def _bits(mask: int) -> Iterator[int]:
    """The places of the bits that are set, the lowest first."""
    while mask:
        yield (mask & -mask).bit_length() - 1
        mask &= mask - 1
