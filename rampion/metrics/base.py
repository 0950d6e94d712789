"""The interface of metrics: additive statistics of candidates, a score of their sum, a value of each alone (S2.8)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from rampion.errors import InputError
from rampion.store.text import References, Texts

Statistics = NDArray[np.int64] | NDArray[np.float64]
Columns = Mapping[str, NDArray[np.float64]]

NO_COLUMNS: Columns = MappingProxyType({})


class Metric(Protocol):
    """A measure of a system's output; subclass it to add one.

    A metric makes a row of statistics of every candidate. The rows of the candidates that a system chooses are added
    up, and a score is made of the sum.

    Examples
    --------
    >>> metric = rampion.metric("bleu:13a")
    >>> metric.name, metric.higher_is_better
    ('BLEU', True)
    >>> round(metric.score(["the cat sat on the mat"], ["the cat sat on a mat"]), 2)
    53.73
    """

    @property
    def name(self) -> str:
        """The name in reports."""
        ...

    @property
    def higher_is_better(self) -> bool:
        """False for an error rate."""
        ...

    def score(self, hypotheses: Sequence[str], references: Sequence[str] | Sequence[Sequence[str]]) -> float:
        """The score of a system's output.

        Parameters
        ----------
        hypotheses : sequence of str
            The output, a string a segment.
        references : sequence of str, or of list of str
            The references in the same order: one of every segment, or a list of them.

        Returns
        -------
        float
            The score of the corpus on the metric's usual scale (BLEU: 0 to 100).

        Raises
        ------
        InputError
            If there are not as many references as hypotheses, or if a string stands where a list is expected.

        Examples
        --------
        >>> hypotheses = ["the cat sat", "a dog"]
        >>> rampion.metric("wer").score(hypotheses, ["the cat sat", "the dog"])
        20.0
        >>> rampion.metric("wer").score(hypotheses, [["the cat sat"], ["the dog", "a dog"]])
        0.0
        """
        for what, given in (("hypotheses", hypotheses), ("references", references)):
            if isinstance(given, str | bytes | Mapping) or not isinstance(given, Iterable):
                kind = type(given).__name__
                raise InputError(f"the {what} are a {kind}; give a list with one string for each segment")
        strings = list(hypotheses)
        for s, string in enumerate(strings):
            if not isinstance(string, str):
                raise InputError(f"hypothesis {s} (counted from 0) is {str(string)[:60]!r}; expected a string")
        lists = References.from_lists([[one] if isinstance(one, str) else one for one in references])
        rows = self.statistics(Texts.from_strings(strings), np.arange(len(strings) + 1), lists)
        return self.total_score(rows.sum(axis=0))

    def statistics(
        self, texts: Texts, bounds: NDArray[np.int64], references: References, columns: Columns = NO_COLUMNS
    ) -> NDArray[Any]:
        """The statistics of candidates; those of chosen candidates add up to the statistics of a system.

        Parameters
        ----------
        texts : Texts
            The candidates of all segments, one after another.
        bounds : numpy.ndarray of int64
            The candidates of segment s are texts[bounds[s]:bounds[s + 1]].
        references : References
            The references of every segment.
        columns : mapping of str to numpy.ndarray
            Numbers that came with the candidates, by name.

        Returns
        -------
        numpy.ndarray
            One row a candidate.

        Examples
        --------
        >>> rampion.metric("wer").statistics(lists.texts, lists.bounds, references).tolist()
        [[2, 3], [0, 3], [1, 2], [0, 2]]
        """
        ...

    def total_score(self, total: NDArray[Any]) -> float:
        """The reported score of a sum of statistics.

        Parameters
        ----------
        total : numpy.ndarray
            The sum of the rows of the chosen candidates.

        Returns
        -------
        float
            The score on the metric's usual scale.

        Examples
        --------
        >>> rampion.metric("wer").total_score(np.array([1, 5]))
        20.0
        """
        return float(self.scores(total[np.newaxis])[0])

    def scores(self, totals: NDArray[Any]) -> NDArray[np.float64]:
        """The reported scores of many sums of statistics.

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
        >>> rampion.metric("wer").scores(np.array([[1, 5], [0, 5]]))
        array([20.,  0.])
        """
        ...

    def segments(self, statistics: NDArray[Any]) -> NDArray[np.float64]:
        """The value of every single row, from which costs are computed.

        Parameters
        ----------
        statistics : numpy.ndarray
            The statistics of candidates, one a row.

        Returns
        -------
        numpy.ndarray of float64
            A value a row, on a scale where 1 is perfect (an error metric: 0).

        Examples
        --------
        >>> rampion.metric("wer").segments(np.array([[1, 5], [0, 5]]))
        array([0.2, 0. ])
        """
        ...

    def signature(self, references: References) -> str:
        """The settings behind the score, as sacrebleu writes them.

        Parameters
        ----------
        references : References
            The references that were used.

        Returns
        -------
        str
            The signature, to publish beside the score.

        Examples
        --------
        >>> rampion.metric("bleu").signature(references)  # doctest: +ELLIPSIS
        'nrefs:1|case:mixed|eff:no|tok:none|smooth:exp|version:...'
        """
        ...


def rate(edits: NDArray[Any], lengths: NDArray[Any]) -> NDArray[np.float64]:
    """Edits per reference word; against an empty reference any edit is an error rate of 1."""
    return np.where(lengths > 0, edits / np.where(lengths > 0, lengths, 1), edits > 0)


def decimals(scores: Iterable[float]) -> int:
    """The number of decimals of printed scores: more on a scale from 0 to 1 than on one to 100."""
    return 4 if max(map(abs, scores), default=0.0) < 2 else 2
