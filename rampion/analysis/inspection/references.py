"""Findings about references: misaligned, transposed, empty, given twice, or with other case or tokenisation."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import combinations

import numpy as np

from rampion.analysis.inspection.findings import ENOUGH, Finding, count
from rampion.arrays import Integers, Reals
from rampion.metrics import Bleu, Chrf, Metric, Ter
from rampion.metrics.tokens import Tokeniser, fitting, mapped, punctuation, rounds
from rampion.store.candidates import Candidates
from rampion.store.names import Names
from rampion.store.text import References, Texts

WATCHED = 5000  # segments that are compared with the references of other segments
COLUMNS = 8  # references of a segment that are checked one by one

_PIECE = re.compile(r"@@(?!\S)|(?<!\S)▁")


def of_references(metric: Metric, lists: Candidates, references: References) -> Iterator[Finding]:
    first = lists.texts.take(lists.bounds[:-1])
    yield from _empty(references, lists.segments)
    yield from _transposed(references)
    yield from _misaligned(first, references, lists.segments)
    yield from _identical(references)
    tokeniser: Tokeniser = getattr(metric, "tokeniser", "none")
    if not getattr(metric, "lowercase", isinstance(metric, Ter) and not metric.cased):
        yield from _casing(first, references, tokeniser)
    if tokeniser == "none":
        yield from _tokenisation(first, references)
    if isinstance(metric, Bleu) and tokeniser == "none":
        yield from _untokenised(first, references)
    _, ratio = _bleu(first, references, tokeniser)
    if len(first) >= ENOUGH and not 0.8 <= ratio <= 1.25:
        yield Finding(
            "lengths",
            f"the first hypotheses have {ratio:.2f} times as many words as the references; "
            "see whether the decoder's weights collapsed, or texts are cut off or tokenised otherwise",
        )


def _empty(references: References, segments: Texts) -> Iterator[Finding]:
    short = np.flatnonzero(np.diff(references.texts.bounds) < ENOUGH)
    empty = [r for r in short.tolist() if not references.texts[r].strip()]
    if empty:
        yield Finding(
            "empty references",
            f"{count(empty, 'reference is', 'references are')} empty, which spoils lengths and error rates; "
            "mend the files, or leave the segments out",
            segments[int(references.bounds.searchsorted(empty[0], side="right")) - 1],
        )


def _fits(texts: Texts, others: Texts, rows: Integers) -> Reals:
    """chrF of text s with others[rows[s]]: about 0.15 for any sentences of a language, 0.3 or more for translations."""
    chrf, bounds = Chrf(lowercase=True), np.arange(0, rows.size + 1, rows.shape[1])
    statistics = chrf.statistics(others.take(rows.ravel()), bounds, References(texts, np.arange(len(texts) + 1)))
    return chrf.segments(statistics).reshape(rows.shape)


def _transposed(references: References) -> Iterator[Finding]:
    """With as many references as segments, only likeness tells: the references of one segment must be alike."""
    n = len(references)
    if not 2 <= n <= 100 or set(np.diff(references.bounds).tolist()) != {n}:
        return
    square = np.arange(n * n).reshape(n, n)
    neighbours = np.stack([np.roll(square, -1, axis).ravel() for axis in (1, 0)], axis=1)
    along, across = _fits(references.texts, references.texts, neighbours).mean(axis=0)
    if across > 1.5 * along and across > along + 0.1:
        yield Finding(
            "transposed references",
            f"the references look transposed: those of one segment have chrF {100 * along:.0f} with each other, those "
            f"at one place of different segments {100 * across:.0f}; give one list of references for every segment",
        )


def _misaligned(first: Texts, references: References, segments: Texts) -> Iterator[Finding]:
    """Findings about misaligned references: one for all columns that are shifted alike in one place."""
    watched = min(len(first), WATCHED)
    if watched < ENOUGH:
        return
    first = first.take(np.arange(watched))
    wrong: list[tuple[int, int, int, list[int]]] = []
    columns = [rows[:watched] for _, rows in zip(range(COLUMNS), rounds(references), strict=False)]
    for c, rows in enumerate(columns, 1):
        shift, start, end = _displacement(first, references.texts, rows)
        alike = [g for g, (other, a, b, _) in enumerate(wrong) if other == shift and max(a, start) < min(b, end)]
        for g in alike:
            _, a, b, numbers = wrong[g]
            wrong[g] = shift, min(a, start), max(b, end), [*numbers, c]
        if start < end and not alike:
            wrong.append((shift, start, end, [c]))
    for shift, start, end, numbers in wrong:
        where = segments[start]
        which = "" if len(numbers) == len(columns) else f" (reference no. {', '.join(map(str, numbers))} of each)"
        if shift:
            lines = "one line" if abs(shift) == 1 else f"{abs(shift)} lines"
            side, mistake = ("behind", f"{lines} too many stand") if shift > 0 else ("before", f"{lines} got lost")
            sentence = (
                f"{end - start} segments in a row ({where} to {segments[end - 1]}) fit the references that stand "
                f"{lines} {side} their own{which}; see whether {mistake} in the references near segment {where}"
            )
        else:
            sentence = (
                f"the hypotheses fit their references{which} hardly better than those of other segments; "
                "check that the files belong together and are in one order"
            )
        yield Finding("misaligned references", sentence, where)


def _displacement(first: Texts, texts: Texts, rows: Integers) -> tuple[int, int, int]:
    """(shift, start, end) of the worst part, which is empty if all is well; shift 0 if no shift mends it.

    A shift is accepted if its gains over consecutive segments, minus 0.05 of chrF each, sum up to 1. Without a shift,
    references are accepted if their chrF is a fifth higher than that of random others. (Measured on parts of real lists
    of 10 to 40 segments: no false alarm in 1,500 well aligned parts; 92 % of 1,500 shuffled parts were found.)
    """
    shifts, n = (-2, -1, 1, 2), len(rows)
    anywhere = rows[np.random.default_rng(0).permutation(n)]
    fits = _fits(first, texts, np.stack([rows, anywhere, *(np.roll(rows, -shift) for shift in shifts)], axis=1))
    own, other, *moved = fits.T
    runs = ((*_heaviest(gains - own - 0.05), shift) for gains, shift in zip(moved, shifts, strict=True))
    gain, start, end, shift = max(runs)
    if gain > 1 and end - start >= ENOUGH // 2:
        return shift, start, end
    return 0, 0, 0 if own.mean() > 1.2 * other.mean() else n


def _heaviest(gains: Reals) -> tuple[float, int, int]:
    """The greatest sum of gains[start:end], with start and end (Kadane)."""
    sums = np.concatenate([[0.0], np.cumsum(gains)])
    rises = sums - np.minimum.accumulate(sums)
    end = int(rises.argmax())
    return float(rises[end]), int(sums[: end + 1].argmin()), end


def _identical(references: References) -> Iterator[Finding]:
    most, n = min(COLUMNS, int(np.diff(references.bounds).min())), len(references)
    ids = Names().intern_all(references.texts)
    columns = [ids[rows] for _, rows in zip(range(most), rounds(references), strict=False)]
    for (a, one), (b, two) in combinations(enumerate(columns, 1), 2):
        same = int((one == two).sum())
        if n >= ENOUGH and same * 10 >= 9 * n:
            yield Finding(
                "identical references",
                f"references no. {a} and {b} are equal in {same} of {n} segments; check that no file was given twice",
            )


def _bleu(first: Texts, references: References, tokeniser: Tokeniser) -> tuple[float, float]:
    """BLEU, and the ratio of the lengths of hypotheses and references."""
    metric = Bleu(tokeniser=tokeniser)
    total = metric.statistics(first, np.arange(len(first) + 1), references).sum(axis=0)
    return metric.total_score(total), float(total[0] / max(total[1], 1))


def _casing(first: Texts, references: References, tokeniser: Tokeniser) -> Iterator[Finding]:
    lowered = References(mapped(str.lower, references.texts), references.bounds)
    plain, _ = _bleu(first, references, tokeniser)
    for side, other, (bleu, _) in (
        ("references", "hypotheses", _bleu(first, lowered, tokeniser)),
        ("hypotheses", "references", _bleu(mapped(str.lower, first), references, tokeniser)),
    ):
        if bleu > plain + max(1.0, 0.05 * plain):
            yield Finding(
                "casing",
                f"the {side} are cased where the {other} are not: in lower case they raise BLEU from {plain:.1f} to "
                f"{bleu:.1f}; bring both to one case, or ignore case (bleu:lc)",
            )


def _untokenised(first: Texts, references: References) -> Iterator[Finding]:
    """BLEU of words that punctuation sticks to, or of whole sentences without blanks, is not what others report."""
    needed = fitting(references.texts)
    if needed != "none" and fitting(first) == needed:
        yield Finding(
            "tokenisation",
            f"neither the hypotheses nor the references are tokenised, and BLEU counts words: let it tokenise "
            f"(bleu:{needed})",
        )


def _tokenisation(first: Texts, references: References) -> Iterator[Finding]:
    """Findings about tokenisation: separate punctuation, or subword marks, on one side only."""
    sides = {"hypotheses": "\n".join(first), "references": "\n".join(references.texts)}
    pieces = {side: len(_PIECE.findall(text)) for side, text in sides.items()}
    found = {side: punctuation(text) for side, text in sides.items()}
    marks = {side: sum(both) for side, both in found.items()}
    alone = {side: loose / max(marks[side], 1) for side, (loose, _) in found.items()}
    for side, other in (("hypotheses", "references"), ("references", "hypotheses")):
        if min(marks.values()) >= ENOUGH and alone[side] > alone[other] + 0.5:
            yield Finding(
                "tokenisation",
                f"the {side} are tokenised and the {other} are not: {alone[side]:.0%} and {alone[other]:.0%} of the "
                "punctuation stands alone; bring both to one form, or let the metric tokenise (bleu:13a)",
            )
        if pieces[side] * 100 > len(sides[side].split()) and not pieces[other]:
            yield Finding(
                "tokenisation",
                f"the {side} are in subword pieces (@@ or ▁) and the {other} are not; join the pieces before scoring",
            )
