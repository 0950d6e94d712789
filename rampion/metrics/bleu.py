"""BLEU from integer statistics (S2.1-S2.5): a corpus as sacrebleu scores it, a sentence in every published variant.

A row is [c, r, m1..m4, t1..t4]: candidate length, effective reference length, clipped matches, candidate n-grams; and
the length of the shortest reference if values are scaled by it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from rampion.arrays import Reals
from rampion.metrics.base import NO_COLUMNS, Columns, Metric
from rampion.metrics.tokens import Tokeniser, Tokens, check, matches, reference_count, rounds, tokenised, totals, words
from rampion.store.names import Names
from rampion.store.text import References, Texts

ORDER = 4


@dataclass(frozen=True, slots=True)
class Bleu(Metric):
    """BLEU. Smoothing and brevity shape the value of a sentence; the score of a corpus is sacrebleu's in any case.

    Parameters
    ----------
    smoothing : {"lin-och", "moses", "floor", "he-deng", "exp", "raw"}
        The treatment of n-grams without a match.
    brevity : {"clipped", "unclipped", "bp+1", "nobp"}
        The brevity penalty of a sentence.
    length : {"closest", "shortest", "average"}
        The reference whose length counts: the closest (IBM), the shortest (NIST), or the mean of all.
    tokeniser : {"none", "13a", "intl", "char", "zh"}
        The tokeniser of sacrebleu.
    lowercase : bool
        Whether to ignore case.
    scaled : bool
        Whether the value of a sentence is multiplied by the length of its shortest reference, so that long sentences
        count more.

    Examples
    --------
    >>> rampion.metrics.Bleu(tokeniser="13a").score(["The cat sat on a mat."], ["The cat sat on a mat."])
    100.0
    """

    smoothing: Literal["lin-och", "moses", "floor", "he-deng", "exp", "raw"] = "lin-och"
    brevity: Literal["clipped", "unclipped", "bp+1", "nobp"] = "clipped"
    length: Literal["closest", "shortest", "average"] = "closest"
    tokeniser: Tokeniser = "none"
    lowercase: bool = False
    scaled: bool = False

    @property
    def name(self) -> str:
        """The name in reports."""
        return "BLEU"

    @property
    def higher_is_better(self) -> bool:
        """True."""
        return True

    def statistics(
        self, texts: Texts, bounds: NDArray[np.int64], references: References, columns: Columns = NO_COLUMNS
    ) -> NDArray[Any]:
        check(bounds, references)
        names = Names()
        known, found = (
            tokens_of(self, names, references.texts, references.bounds),
            tokens_of(self, names, texts, bounds),
        )
        lengths = np.diff(known.bounds)
        mean = self.length == "average"
        rows: NDArray[Any] = np.empty((len(texts), 2 + 2 * ORDER + self.scaled), np.float64 if mean else np.int64)
        rows[:, 0] = np.diff(found.bounds)
        if mean:
            rows[:, 1] = np.repeat(_means(lengths, references), np.diff(bounds))
        else:
            wanted = np.diff(found.bounds) if self.length == "closest" else 0
            rows[:, 1] = _nearest(lengths, references, bounds, wanted)
        rows[:, 2 : 2 + ORDER] = matches(found, known, ORDER)
        rows[:, 2 + ORDER : 2 + 2 * ORDER] = totals(found, ORDER)
        if self.scaled:
            rows[:, -1] = _nearest(lengths, references, bounds, 0)
        return rows

    def scores(self, totals: NDArray[Any]) -> Reals:
        return 100.0 * _values(totals, "exp", "clipped")

    def segments(self, statistics: NDArray[Any]) -> Reals:
        values = _values(statistics, self.smoothing, self.brevity)
        return values * statistics[:, -1] if self.scaled else values

    def signature(self, references: References) -> str:
        from sacrebleu.metrics.bleu import BLEU

        metric = BLEU(tokenize=self.tokeniser, lowercase=self.lowercase)
        metric.num_refs = reference_count(references)
        signature = metric.get_signature()
        if self.length != "closest":
            signature.update("reflen", self.length)
        return str(signature)


def tokens_of(metric: Bleu, names: Names, texts: Texts, segments: NDArray[np.int64]) -> Tokens:
    """The words that count, as ids of `names`."""
    return words(names, tokenised(texts, metric.tokeniser, metric.lowercase), segments)


def _nearest(
    lengths: NDArray[np.int64], references: References, bounds: NDArray[np.int64], wanted: NDArray[np.int64] | int
) -> NDArray[np.int64]:
    """For every candidate the reference length that is closest to what is wanted, of two equally close the shorter."""
    best = np.full(bounds[-1], np.iinfo(np.int32).max, np.int64)
    for rows in rounds(references):
        length = np.repeat(lengths[rows], np.diff(bounds))
        near, far = np.abs(length - wanted), np.abs(best - wanted)
        best = np.where((near < far) | (near == far) & (length < best), length, best)
    return best


def _means(lengths: NDArray[np.int64], references: References) -> Reals:
    """The mean length of the references of every segment."""
    sums = np.add.reduceat(lengths, references.bounds[:-1]) if len(lengths) else lengths
    return sums / np.diff(references.bounds)


def _values(statistics: NDArray[Any], smoothing: str, brevity: str) -> Reals:
    """Brevity penalty times the geometric mean of the precisions; 0 for an empty candidate."""
    c, r, *counts = statistics.T.astype(np.float64)
    m, t = np.array(counts[:ORDER]), np.array(counts[ORDER : 2 * ORDER])
    with np.errstate(divide="ignore", invalid="ignore"):  # empty candidates, missing orders
        values = BREVITIES[brevity](c, r) * SMOOTHINGS[smoothing](m, t)
    return np.where(c > 0, values, 0.0)


def _mean(p: Reals) -> Reals:
    """The geometric mean of four; square roots are the same bits on every machine."""
    mean: Reals = np.sqrt(np.sqrt(p[0] * p[1] * p[2] * p[3]))
    return mean


def _raw(m: Reals, t: Reals) -> Reals:
    return _mean(m / np.maximum(t, 1))


def _lin_och(m: Reals, t: Reals) -> Reals:
    """Adds one from order two on (Lin & Och 2004)."""
    one = np.array([[0.0], [1.0], [1.0], [1.0]])
    return _mean((m + one) / (t + one))


def _moses(m: Reals, t: Reals) -> Reals:
    """Adds one to all orders."""
    return _mean((m + 1) / (t + 1))


def _floor(m: Reals, t: Reals) -> Reals:
    """0.01 in place of zero matches; orders without n-grams do not count."""
    orders = np.maximum((t > 0).sum(axis=0), 1)
    product = np.prod(np.where(t > 0, np.where(m > 0, m, 0.01) / np.maximum(t, 1), 1.0), axis=0)
    mean: Reals = product ** (1 / orders)
    return mean


def _exp(m: Reals, t: Reals) -> Reals:
    """1/2, 1/4, ... match for successive orders without any (mteval-v13a, sacrebleu); 0 if no order has one."""
    if m.all():
        return _mean(m / t)
    halved = 0.5 ** np.cumsum(m == 0, axis=0)
    return np.where(m[0] > 0, _mean(np.where(m > 0, m, halved) / np.maximum(t, 1) * (t > 0)), 0.0)


def _he_deng(m: Reals, t: Reals) -> Reals:
    """Orders three and four lean on p[n - 1]^2 / p[n - 2] as if it had been seen five times (He & Deng 2012, S2.4)."""
    weight = 5.0
    p = m / np.maximum(t, 1)
    for n in (2, 3):
        p[n] = (m[n] + weight * p[n - 1] ** 2 / p[n - 2]) / (t[n] + weight)
    return np.where(m[1] > 0, _mean(p), 0.0)


SMOOTHINGS: dict[str, Callable[[Reals, Reals], Reals]] = {
    "lin-och": _lin_och,
    "moses": _moses,
    "floor": _floor,
    "he-deng": _he_deng,
    "exp": _exp,
    "raw": _raw,
}

BREVITIES: dict[str, Callable[[Reals, Reals], Reals]] = {
    "clipped": lambda c, r: np.exp(np.minimum(1 - r / c, 0)),
    "unclipped": lambda c, r: np.exp(1 - r / c),
    "bp+1": lambda c, r: np.exp(np.minimum(1 - (r + 1) / c, 0)),
    "nobp": lambda c, r: np.ones_like(c),
}
