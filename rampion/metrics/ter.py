"""TER (Snover et al. 2006), by sacrebleu itself: [edits to the nearest reference, mean reference length]."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from rampion.metrics.base import NO_COLUMNS, Columns, Metric, rate
from rampion.metrics.tokens import check, check_lengths, reference_count
from rampion.store.text import References, Texts

if TYPE_CHECKING:
    from sacrebleu.metrics.ter import TER


LONGEST = 500  # words of a text: if all of them have to move, that takes about ten seconds


@dataclass(frozen=True, slots=True)
class Ter(Metric):
    """TER, by sacrebleu itself: about a millisecond for each distinct candidate of a segment.

    Parameters
    ----------
    cased : bool
        Whether case matters.
    normalised : bool
        Whether to tokenise.
    no_punctuation : bool
        Whether to leave punctuation out.
    asian : bool
        Whether to split Asian characters.
    progress : callable, optional
        It is called with the number of candidates done and that of all.

    Examples
    --------
    >>> rampion.metrics.Ter().score(["sat the cat", "a dog"], ["the cat sat", "a dog"])
    20.0
    """

    cased: bool = False
    normalised: bool = False
    no_punctuation: bool = False
    asian: bool = False
    progress: Callable[[int, int], None] | None = field(default=None, compare=False, repr=False)

    @property
    def name(self) -> str:
        """The name in reports."""
        return "TER"

    @property
    def higher_is_better(self) -> bool:
        """False: TER is an error rate."""
        return False

    def statistics(
        self, texts: Texts, bounds: NDArray[np.int64], references: References, columns: Columns = NO_COLUMNS
    ) -> NDArray[np.float64]:
        check(bounds, references)
        for who, some in (("candidate", texts), ("reference", references.texts)):
            lengths = np.array([len(text.split()) for text in some], np.int64)
            check_lengths(lengths, who, LONGEST, "TER", "it tries all ways to move phrases; use chrF, BLEU or WER")
        metric, strings, rows = self._sacrebleu(), list(texts), np.empty((len(texts), 2))
        for s, (start, end) in enumerate(pairwise(bounds.tolist())):
            known: dict[str, tuple[float, float]] = {}
            for i in range(start, end):
                if strings[i] not in known:
                    score = metric.sentence_score(strings[i], references[s])
                    known[strings[i]] = score.num_edits, score.ref_length
                rows[i] = known[strings[i]]
            if self.progress:
                self.progress(end, len(strings))
        return rows

    def scores(self, totals: NDArray[Any]) -> NDArray[np.float64]:
        return 100 * self.segments(totals)

    def segments(self, statistics: NDArray[Any]) -> NDArray[np.float64]:
        return rate(statistics[:, 0], statistics[:, 1])

    def signature(self, references: References) -> str:
        metric = self._sacrebleu()
        metric.num_refs = reference_count(references)
        return str(metric.get_signature())

    def _sacrebleu(self) -> TER:
        from sacrebleu.metrics.ter import TER

        return TER(self.normalised, self.no_punctuation, self.asian, self.cased)
