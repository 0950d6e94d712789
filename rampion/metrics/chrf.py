"""chrF and chrF++ (Popović 2015, 2017) from [candidate, reference, matching] n-grams of every order."""

from __future__ import annotations

import re
from dataclasses import dataclass
from string import punctuation
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rampion.metrics.base import NO_COLUMNS, Columns, Metric
from rampion.metrics.tokens import Tokens, characters, check, mapped, matches, reference_count, rounds, totals, words
from rampion.store.names import Names
from rampion.store.text import References, Texts

# A word of two characters or more that ends with a mark, or else begins with one.
_MARKED = re.compile(r"(?<!\S)(?:(\S+)([{0}])|([{0}])(\S+))(?!\S)".format(re.escape(punctuation)))


@dataclass(frozen=True, slots=True)
class Chrf(Metric):
    """chrF and chrF++. A candidate is held against the reference that gives it the best score, the first of equals.

    Parameters
    ----------
    word_order : int
        The longest n-gram of words; 2 makes chrF++.
    character_order : int
        The longest n-gram of characters.
    beta : int
        How much recall weighs against precision.
    lowercase : bool
        Whether to ignore case.

    Examples
    --------
    >>> round(rampion.metrics.Chrf().score(["a dog"], ["the dog"]), 2)
    31.25
    """

    word_order: int = 0
    character_order: int = 6
    beta: int = 2
    lowercase: bool = False

    @property
    def name(self) -> str:
        """The name in reports."""
        return f"chrF{self.beta}{'+' * self.word_order}"

    @property
    def higher_is_better(self) -> bool:
        """True."""
        return True

    def statistics(
        self, texts: Texts, bounds: NDArray[np.int64], references: References, columns: Columns = NO_COLUMNS
    ) -> NDArray[np.int64]:
        check(bounds, references)
        names = Names()
        found = layers_of(self, names, texts, bounds)
        best = np.zeros((len(texts), 3 * (self.character_order + self.word_order)), np.int64)
        best_score = np.full(len(texts), -1.0)
        for rows in rounds(references):
            known = layers_of(self, names, references.texts.take(rows), np.arange(len(references) + 1))
            layers = zip(found, known, (self.character_order, self.word_order), strict=False)
            counts = np.concatenate([_overlaps(*layer) for layer in layers], axis=1)
            score = self.scores(counts)
            better = score > best_score
            best[better], best_score[better] = counts[better], score[better]
        return best

    def scores(self, totals: NDArray[Any]) -> NDArray[np.float64]:
        """The reported scores of many sums of totals: F in percent, by sacrebleu's very operations.

        Precision and recall are averaged over the orders that both sides have.

        Parameters
        ----------
        totals : numpy.ndarray
            A sum a row.

        Returns
        -------
        numpy.ndarray of float64
            A score a row.

        Examples
        --------
        >>> chrf = rampion.metric("chrf")
        >>> chrf.scores(chrf.statistics(lists.texts, lists.bounds, references)).round(1).tolist()
        [25.6, 100.0, 42.3, 100.0]
        """
        precision, recall, orders = np.zeros((3, len(totals)))
        columns = totals.T.astype(np.float64)
        for found, known, matching in zip(columns[::3], columns[1::3], columns[2::3], strict=True):
            both = (found > 0) & (known > 0)
            precision += matching / np.where(both, found, np.inf)
            recall += matching / np.where(both, known, np.inf)
            orders += both
        precision /= np.maximum(orders, 1)
        recall /= np.maximum(orders, 1)
        factor = self.beta**2
        denominator = factor * precision + recall
        return 100 * ((1 + factor) * precision * recall / np.where(denominator > 0, denominator, 1))

    def segments(self, statistics: NDArray[Any]) -> NDArray[np.float64]:
        return self.scores(statistics) / 100

    def signature(self, references: References) -> str:
        from sacrebleu.metrics.chrf import CHRF

        metric = CHRF(self.character_order, self.word_order, self.beta, lowercase=self.lowercase)
        metric.num_refs = reference_count(references)
        return str(metric.get_signature())


def layers_of(metric: Chrf, names: Names, texts: Texts, segments: NDArray[np.int64]) -> list[Tokens]:
    """The letters, and for chrF++ the words too."""
    if metric.lowercase:
        texts = mapped(str.lower, texts)
    layers = [characters(texts, segments)]
    if metric.word_order:
        layers.append(words(names, mapped(_marks_apart, texts), segments))
    return layers


def _overlaps(found: Tokens, known: Tokens, order: int) -> NDArray[np.int64]:
    """[candidate, reference, matching] of every order; where the reference has none the candidate's do not count."""
    theirs = np.repeat(totals(known, order), np.diff(found.segments), axis=0)
    mine = np.where(theirs > 0, totals(found, order), 0)
    return np.stack([mine, theirs, matches(found, known, order)], axis=2).reshape(len(mine), 3 * order)


def _marks_apart(text: str) -> str:
    return _MARKED.sub(r"\1\3 \2\4", text)
