"""Word error rate (S2.6): [edits, length] of the reference that makes their ratio smallest, the first of equals."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rampion.errors import InputError
from rampion.metrics.base import NO_COLUMNS, Columns, Metric, rate
from rampion.metrics.tokens import Tokeniser, Tokens, check, check_lengths, reference_count, rounds, tokenised, words
from rampion.store.names import Names
from rampion.store.text import References, Texts

LONGEST = 100_000  # words of a text: two of them take a second


@dataclass(frozen=True, slots=True)
class Wer(Metric):
    """Word error rate, against the reference that makes it smallest.

    Parameters
    ----------
    reverse : bool
        Whether the value is 1 - WER. It is not clamped: a candidate may be worth less than 0.
    tokeniser : {"none", "13a", "intl", "char", "zh"}
        The tokeniser of sacrebleu; "char" makes it the character error rate.
    lowercase : bool
        Whether to ignore case.

    Examples
    --------
    >>> rampion.metrics.Wer().score(["the cat sat", "the dog"], ["the cat sat", "a dog"])
    20.0
    """

    reverse: bool = False
    tokeniser: Tokeniser = "none"
    lowercase: bool = False

    @property
    def name(self) -> str:
        """The name in reports."""
        rate = "CER" if self.tokeniser == "char" else "WER"
        return f"reverse {rate}" if self.reverse else rate

    @property
    def higher_is_better(self) -> bool:
        """False, unless it is reversed."""
        return self.reverse

    def statistics(
        self, texts: Texts, bounds: NDArray[np.int64], references: References, columns: Columns = NO_COLUMNS
    ) -> NDArray[np.int64]:
        from rapidfuzz.distance import Levenshtein
        from rapidfuzz.process import cpdist

        check(bounds, references)
        names = Names()
        known = words(names, tokenised(references.texts, self.tokeniser, self.lowercase), references.bounds)
        count = len(names)
        found = words(names, tokenised(texts, self.tokeniser, self.lowercase), bounds)
        for who, some in (("candidate", found), ("reference", known)):
            reason = "it compares every word with every other; use chrF or BLEU"
            check_lengths(np.diff(some.bounds), who, LONGEST, self.name, reason)
        mine, theirs, lengths = _strings(found, count), _strings(known, count), np.diff(known.bounds)
        best = np.zeros((len(texts), 2), np.int64)
        best_rate = np.full(len(texts), np.inf)
        for rows in rounds(references):
            row = np.repeat(rows, np.diff(bounds))
            edits = cpdist(mine, [theirs[r] for r in row.tolist()], scorer=Levenshtein.distance, dtype=np.int64)
            counts = np.stack([edits, lengths[row]], axis=1)
            error = rate(counts[:, 0], counts[:, 1])
            better = error < best_rate
            best[better], best_rate[better] = counts[better], error[better]
        return best

    def scores(self, totals: NDArray[Any]) -> NDArray[np.float64]:
        return 100 * self.segments(totals)

    def segments(self, statistics: NDArray[Any]) -> NDArray[np.float64]:
        error = rate(statistics[:, 0], statistics[:, 1])
        return 1 - error if self.reverse else error

    def signature(self, references: References) -> str:
        import rapidfuzz
        from sacrebleu.metrics.base import Signature

        signature = Signature({"num_refs": reference_count(references)})
        signature.update("case", "lc" if self.lowercase else "mixed")
        signature.update("tok", self.tokeniser)
        signature.update("version", f"rapidfuzz-{rapidfuzz.__version__}")
        return str(signature)


def _strings(tokens: Tokens, known: int) -> list[str]:
    """Every token as one character, which rapidfuzz compares fastest; the words that no reference has share one."""
    if known > sys.maxunicode:
        raise InputError(
            f"the references hold {known} different words, WER takes up to {sys.maxunicode}; "
            "score fewer segments at once"
        )
    whole = np.minimum(tokens.ids, known).astype("<u4").tobytes().decode("utf-32-le", "surrogatepass")
    return [whole[start:end] for start, end in pairwise(tokens.bounds.tolist())]
