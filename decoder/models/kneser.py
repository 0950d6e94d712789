"""Modified Kneser–Ney estimation, interpolated, three discounts an order (Chen & Goodman 1999).

a(h w)    the count of the n-gram in the text, if it is of the highest order or begins with <s>; otherwise the
          number of different words that occur before it
p(w | h)  = (a(h w) - D(a(h w))) / Σ_v a(h v) + γ(h) p(w | h without its first word)
γ(h)      = the discounts and the counts of pruned n-grams, divided by Σ_v a(h v); below order 1, p is the
            uniform distribution over the vocabulary without <s>
D(k)      = k - (k + 1) t₁ / (t₁ + 2 t₂) · t₍k₊₁₎ / t₍k₎ for k = 1, 2 and 3 (3 and more), where t₍k₎ n-grams of
            the order have a = k; if that is not defined or not in (0, k], DEGENERATE
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from rampion.decoder.models.lm import BEGIN, END, HIGHEST, MARKS, Grams, Lm
from rampion.decoder.text.tokenised import Tokenised

from rampion.arrays import Ids, Integers, ends, rank_in_span
from rampion.errors import InputError, RecipeError
from rampion.store.names import Names
from rampion.store.text import Texts

DEGENERATE = (0.5, 1.0, 1.5)
_NEVER = np.float32(-99.0)  # log10 p(<s>), which nothing predicts


@dataclass(frozen=True, slots=True)
class Estimate:
    """A model, and the three discounts of every order, with a flag for orders that use the DEGENERATE ones."""

    lm: Lm
    discounts: tuple[tuple[float, float, float], ...]
    degenerate: tuple[bool, ...]


class _Order(NamedTuple):
    """The n-grams of one order: their counts, a place where each ends, and the ids of their suffixes and histories."""

    counts: Integers
    places: Ids
    suffixes: Ids
    histories: Ids


def estimate(
    texts: Texts | Tokenised,
    order: int = 3,
    prune: bool = False,
    progress: Callable[[str, int, int], None] | None = None,
) -> Estimate:
    """Estimate a model from sentences. `prune` drops n-grams of order 3 and more that occur once."""
    if not 1 <= order <= HIGHEST:
        raise RecipeError(f"a language model of order {order}: expected 1 to {HIGHEST}")
    vocabulary = Names()
    vocabulary.intern_all(Texts.from_strings(MARKS))
    words, depths = _padded(texts, vocabulary)
    orders, ids = [_words(words, len(vocabulary))], words
    for size in range(2, order + 1):
        if progress:
            progress("counting", size, order)
        found, ids = _longer(words, depths, ids, size)
        orders.append(found)
    if progress:
        progress("estimating", order, order)
    return _estimated(vocabulary, words, orders, prune)


def _padded(texts: Texts | Tokenised, vocabulary: Names) -> tuple[Ids, Integers]:
    """The sentences with their marks <s> and </s>, joined, and the index of every word in its sentence."""
    text = Tokenised.of(texts)
    ids, bounds = text.numbered(vocabulary), text.bounds
    for at in np.flatnonzero((ids == BEGIN) | (ids == END))[:1].tolist():
        sentence = int(np.searchsorted(bounds, at, "right"))
        mark = MARKS[ids[at]]
        raise InputError(f"line {sentence} of the text holds {mark}, a mark of language models; take it out")
    if not len(ids):
        raise InputError("the text has no words; expected sentences, one a line, to estimate a language model from")
    lengths = np.diff(bounds) + 2
    edges = ends(lengths)
    starts, depths = edges[:-1], rank_in_span(edges)
    words = np.full(len(depths), END, np.uint32)
    words[starts] = BEGIN
    words[(depths > 0) & (depths < np.repeat(lengths - 1, lengths))] = ids
    return words, depths


def _words(words: Ids, size: int) -> _Order:
    places, none = np.zeros(size, np.uint32), np.zeros(size, np.uint32)
    places[words] = np.arange(len(words), dtype=np.uint32)
    return _Order(np.bincount(words, minlength=size), places, none, none)


def _longer(words: Ids, depths: Integers, shorter: Ids, size: int) -> tuple[_Order, Ids]:
    """The n-grams of `size` words, and the id of that which ends at each word; `shorter` has the ids for size - 1."""
    ends = np.flatnonzero(depths >= size - 1)
    keys = shorter[ends].astype(np.uint64) << np.uint64(32) | words[ends - size + 1]
    order = np.argsort(keys)
    keys, ends = keys[order], ends[order]
    fresh = np.concatenate([[True], keys[1:] != keys[:-1]])[: len(keys)]
    firsts, ids = np.flatnonzero(fresh), np.empty(len(words), np.uint32)
    ids[ends] = np.cumsum(fresh) - 1
    places = ends[firsts]
    suffixes = (keys[firsts] >> np.uint64(32)).astype(np.uint32)
    counts = np.diff(np.append(firsts, len(keys)))
    return _Order(counts, places.astype(np.uint32), suffixes, shorter[places - 1]), ids


def _estimated(vocabulary: Names, words: Ids, orders: list[_Order], prune: bool) -> Estimate:
    model: list[Grams] = []
    discounts, degenerate = list[tuple[float, float, float]](), list[bool]()
    shorter, before = np.full(1, 1.0 / (len(vocabulary) - 1)), np.zeros(0, np.int64)
    for size, order in enumerate(orders, 1):
        adjusted = order.counts
        if size < len(orders):
            adjusted = np.bincount(orders[size].suffixes, minlength=len(order.counts))
            opening = words[order.places.astype(np.int64) - size + 1] == BEGIN
            adjusted[opening] = order.counts[opening]
        if size == 1:
            adjusted[BEGIN] = 0
        found = _discounts(adjusted)
        discounts.append(found or DEGENERATE)
        degenerate.append(found is None)
        kept = (order.counts > 1) | (size < 3 or not prune)
        cuts = np.where(kept, np.array([0.0, *discounts[-1]])[np.minimum(adjusted, 3)], adjusted)
        histories = len(shorter)
        totals = np.bincount(order.histories, adjusted, histories)
        used = totals > 0
        weights = np.bincount(order.histories, cuts, histories)[used] / totals[used]
        gammas = np.ones(histories)
        gammas[used] = weights
        shares = (adjusted - cuts) / totals[order.histories]
        shorter = shares + gammas[order.histories] * shorter[order.suffixes]
        if model:
            model[-1] = model[-1]._replace(backoffs=np.log10(gammas[before]).astype(np.float32))
        before = np.flatnonzero(kept)
        spans = order.places[before].astype(np.int64)[:, None] + np.arange(1 - size, 1)
        probs = np.log10(shorter[before]).astype(np.float32)
        rows = words[spans] if size > 1 else np.arange(len(before), dtype=np.uint32)[:, None]
        model.append(Grams(rows, probs, np.zeros(len(before), np.float32)))
    model[0].probs[BEGIN] = _NEVER
    return Estimate(Lm.of(vocabulary, model), tuple(discounts), tuple(degenerate))


def _discounts(adjusted: Integers) -> tuple[float, float, float] | None:
    """D(1), D(2) and D(3), or None if they are not defined."""
    _, *t = np.bincount(np.minimum(adjusted, 5), minlength=6)[:5].tolist()
    if not all(t[:3]):
        return None
    share = t[0] / (t[0] + 2 * t[1])
    one, two, three = (k - (k + 1) * share * t[k] / t[k - 1] for k in (1, 2, 3))
    return (one, two, three) if 0 < one <= 1 and 0 < two <= 2 and 0 < three <= 3 else None
