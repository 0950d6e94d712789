"""Features of single texts: lengths, repetitions, words of the source, answers."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np

from rampion.arrays import Reals
from rampion.metrics.tokens import characters, words
from rampion.store.names import Names
from rampion.store.text import Texts


def lengths(texts: Texts) -> Reals:
    """The number of words."""
    tokens = words(Names(), texts, np.array([0, len(texts)]))
    return np.diff(tokens.bounds).astype(np.float64)


def letters(texts: Texts) -> Reals:
    """The number of characters other than white space."""
    return np.diff(characters(texts, np.array([0, len(texts)])).bounds).astype(np.float64)


def repeats(texts: Texts, order: int) -> Reals:
    """The share of a text's n-grams that occurred before in it; 0 if it has none."""
    tokens = words(Names(), texts, np.array([0, len(texts)]))
    sizes = np.diff(tokens.bounds)
    owner = np.repeat(np.arange(len(texts)), sizes)
    grams = np.zeros(len(tokens.ids), np.int64)  # of the words up to here, counted from the first of the n-gram
    ids = tokens.ids.astype(np.int64)
    whole = np.arange(len(ids)) + order <= tokens.bounds[1:][owner]
    starts = np.flatnonzero(whole)
    for k in range(order):
        _, grams[starts] = np.unique(
            grams[starts] * (int(ids.max(initial=0)) + 1) + ids[starts + k], return_inverse=True
        )
    keys = np.unique(np.stack([owner[starts], grams[starts]]), axis=1)[0]
    counts = np.bincount(owner[starts], minlength=len(texts))
    distinct = np.bincount(keys, minlength=len(texts))
    return np.asarray((counts - distinct) / np.maximum(counts, 1), np.float64)


def ratios(texts: Texts, sources: Sequence[str]) -> Reals:
    """The number of words divided by that of the source; an empty source counts as one word."""
    known = {source: max(len(source.split()), 1) for source in dict.fromkeys(sources)}
    return lengths(texts) / np.array([known[source] for source in sources], np.float64)


def copied(texts: Texts, sources: Sequence[str]) -> Reals:
    """The share of a text's words that stand in its source."""
    known = {source: set(source.split()) for source in dict.fromkeys(sources)}
    found = np.zeros(len(texts))
    for i, (text, source) in enumerate(zip(texts, sources, strict=True)):
        said = text.split()
        found[i] = sum(word in known[source] for word in said) / max(len(said), 1)
    return found


def answers(texts: Texts, pattern: re.Pattern[str] | None) -> list[str | None]:
    """The last match of the pattern, or its first group if it has groups; without a pattern the text."""
    if pattern is None:
        return [" ".join(text.split()) for text in texts]
    found: list[str | None] = []
    for text in texts:
        matches = list(pattern.finditer(text))
        answer = matches[-1][min(pattern.groups, 1)] if matches else None
        found.append(None if answer is None else answer.strip())
    return found
