"""How much the candidates of a list agree with one another: the expected score of each against all (S2.10).

This is minimum Bayes risk: the mean score of a candidate if the reference were one of the list's candidates. It
needs no reference, so it serves as a feature and as a baseline.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rampion import _kernels
from rampion.arrays import Offsets, Reals, ends, span_of_each
from rampion.errors import InputError
from rampion.metrics.base import Metric
from rampion.metrics.bleu import Bleu, tokens_of
from rampion.metrics.chrf import Chrf, layers_of
from rampion.metrics.column import reads_columns
from rampion.metrics.tokens import Tokens, totals, words
from rampion.store.candidates import Candidates
from rampion.store.names import Names
from rampion.store.text import References, Texts
from rampion.threads import each

GRAMS = 1 << 20  # the approximate number of n-grams of the lists that a thread works on at a time
PAIRS = 1 << 16  # the approximate number of pairs of texts that a metric without a kernel scores at a time


class Room(NamedTuple):
    """Work arrays of the kernel for a list. The system allocates only the memory that is used."""

    slots: NDArray[np.uint32]
    fields: NDArray[np.uint32]
    keys: Offsets
    stream: NDArray[np.uint32]
    marks: Offsets
    cuts: Offsets
    shared: Offsets
    counts: Offsets
    counted: Offsets
    bits: NDArray[np.uint64]
    penalties: Reals
    masses: Reals

    @classmethod
    def of(cls, grams: int, texts: int, orders: int, length: int) -> Room:
        """Work arrays for lists of at most this many n-grams and texts, and texts of this length."""
        return cls(
            np.empty(1 << (2 * grams + 256).bit_length(), np.uint32),
            np.empty((grams + 2, 6), np.uint32),
            np.empty(grams + 2, np.int64),
            np.empty(grams + 1, np.uint32),
            np.empty(texts + 1, np.int64),
            np.empty(orders + 1, np.int64),
            np.empty(orders, np.int64),
            np.empty(orders * texts + 1, np.int64),
            np.empty(3, np.int64),
            np.empty(64 * texts + 1, np.uint64),
            np.empty(length + 1),
            np.empty(grams + 2),
        )

    def wider(self) -> Room:
        """The same with twice as many bits."""
        return self._replace(bits=np.empty(2 * len(self.bits), np.uint64))


def consensus(
    candidates: Candidates, metric: Metric, weights: Reals | None = None, threads: int | None = None
) -> Reals:
    """The expected score of every candidate if the reference were a candidate of its list.

    Parameters
    ----------
    candidates : Candidates
        The lists.
    metric : Metric
        What to score by: any metric but a column. BLEU and chrF are quick; others score every pair of texts.
    weights : numpy.ndarray, optional
        The probability of every candidate to be the reference; only proportions within a list count. Equal by
        default.
    threads : int, optional
        The number of threads, on which no bit of the result depends.

    Returns
    -------
    numpy.ndarray of float64
        A value for every candidate. More is better: of an error rate it is 1 minus the rate.

    Raises
    ------
    InputError
        If the metric is a column, or the weights are negative, not finite or too few.

    Examples
    --------
    >>> from rampion.metrics.consensus import consensus
    >>> three = rampion.Candidates.from_records(
    ...     [{"id": "1", "hyps": [{"text": "a cat"}, {"text": "a dog"}, {"text": "a dog"}]}])
    >>> consensus(three, rampion.metric("wer")).round(3).tolist()
    [0.667, 0.833, 0.833]
    """
    if reads_columns(metric):
        raise InputError(
            f"the metric column {metric.name!r} cannot compare texts; choose bleu, chrf, meteor, ter or wer"
        )
    shares = _shares(candidates, weights)
    distinct = _Distinct.of(candidates)
    mass = np.bincount(distinct.row, shares, len(distinct.texts)).astype(np.float64)
    if isinstance(metric, Bleu) and (metric.smoothing, metric.brevity, metric.scaled) == ("lin-och", "clipped", False):
        found = _bleu(metric, distinct, mass, threads)
    elif isinstance(metric, Chrf):
        found = _chrf(metric, distinct, mass, threads)
    else:
        found = _pair_by_pair(metric, distinct, mass, threads)
    return found[distinct.row]


def votes(candidates: Candidates, answers: list[str | None], weights: Reals | None = None) -> Reals:
    """The share of its list that gives a candidate's answer.

    Parameters
    ----------
    candidates : Candidates
        The lists.
    answers : list of str or None
        The answer of every candidate; None gives none.
    weights : numpy.ndarray, optional
        The weight of every candidate's vote; only proportions within a list matter. Equal by default.

    Returns
    -------
    numpy.ndarray of float64
        A share for every candidate, 0 without an answer.

    Examples
    --------
    >>> from rampion.metrics.consensus import votes
    >>> votes(lists, ["4", "4", "7", None]).tolist()
    [1.0, 1.0, 0.5, 0.0]
    """
    shares = _shares(candidates, weights)
    given = np.array([answer is not None for answer in answers], bool)
    known = {answer: number for number, answer in enumerate(dict.fromkeys(answers))}
    owner = span_of_each(candidates.bounds)
    keys = owner * len(known) + np.array([known[answer] for answer in answers], np.int64)
    _, row = np.unique(keys, return_inverse=True)
    return np.where(given, np.bincount(row, shares)[row] if len(row) else 0.0, 0.0)


def posteriors(
    candidates: Candidates, order: int = 4, weights: Reals | None = None, threads: int | None = None
) -> Reals:
    """The mean probability in its list of the n-grams of every candidate (S2.10).

    Parameters
    ----------
    candidates : Candidates
        The lists.
    order : int
        The longest n-grams, of words.
    weights : numpy.ndarray, optional
        The probability of every candidate; only proportions within a list count. Equal by default.
    threads : int, optional
        The number of threads, on which no bit of the result depends.

    Returns
    -------
    numpy.ndarray of float64
        A row for every candidate, a column for every order; 0 where a candidate has no n-grams of that order.

    Examples
    --------
    >>> from rampion.metrics.consensus import posteriors
    >>> three = rampion.Candidates.from_records(
    ...     [{"id": "1", "hyps": [{"text": "a cat"}, {"text": "a dog"}, {"text": "a dog"}]}])
    >>> posteriors(three, 2).round(2).tolist()
    [[0.67, 0.33], [0.83, 0.67], [0.83, 0.67]]
    """
    distinct = _Distinct.of(candidates)
    mass = np.bincount(distinct.row, _shares(candidates, weights), len(distinct.texts)).astype(np.float64)
    tokens = words(Names(), distinct.texts, distinct.segments)
    found = np.zeros((len(distinct.texts), order))

    def run(first: int, last: int, room: Room, done: int, means: Reals) -> int:
        _kernels.agree_posteriors(
            _part(tokens, first, last), mass[slice(*distinct.segments[[first, last]])], room, means
        )
        return last - first

    _fill(run, found, distinct.segments, totals(tokens, order).sum(axis=1), np.diff(tokens.bounds), order, threads)
    return found[distinct.row]


def _shares(candidates: Candidates, weights: Reals | None) -> Reals:
    """The weights, so that they add up to 1 in every list; equal ones in a list that has none."""
    counts = np.diff(candidates.bounds)
    owner = np.repeat(np.arange(len(counts)), counts)
    given = np.ones(candidates.size) if weights is None else np.asarray(weights, np.float64)
    if given.shape != (candidates.size,):
        raise InputError(f"weights of shape {given.shape}; expected {candidates.size:,}, one for each candidate")
    if not np.isfinite(given).all() or (given < 0).any():
        raise InputError("a weight is negative or not finite; expected a number from 0 up for each candidate")
    sums = np.bincount(owner, given, len(counts))[owner]
    return np.where(sums > 0, given / np.where(sums > 0, sums, 1.0), 1.0 / counts[owner])


class _Distinct(NamedTuple):
    """The different texts of every list, in order of appearance; candidate i has the text row[i]."""

    texts: Texts
    segments: Offsets
    row: Offsets

    @classmethod
    def of(cls, candidates: Candidates) -> _Distinct:
        counts = np.diff(candidates.bounds)
        owner = np.repeat(np.arange(len(counts)), counts)
        ids = Names().intern_all(candidates.texts)
        keys = owner * (int(ids.max(initial=0)) + 1) + ids
        _, first, inverse = np.unique(keys, return_index=True, return_inverse=True)
        order = np.argsort(first)
        place = np.empty(len(order), np.int64)
        place[order] = np.arange(len(order))
        segments = ends(np.bincount(owner[first], minlength=len(counts)))
        return cls(candidates.texts.take(first[order]), segments, place[inverse])


def _bleu(metric: Bleu, distinct: _Distinct, mass: Reals, threads: int | None) -> Reals:
    tokens = tokens_of(metric, Names(), distinct.texts, distinct.segments)
    grams = totals(tokens, 4).astype(np.float64)
    product = (grams[:, 0] * (grams[:, 1] + 1)) * ((grams[:, 2] + 1) * (grams[:, 3] + 1))
    scales = np.where(product > 0, 1 / np.sqrt(np.sqrt(np.where(product > 0, product, 1.0))), 0.0)

    def run(first: int, last: int, room: Room, done: int, found: Reals) -> int:
        part, texts = _part(tokens, first, last), slice(*distinct.segments[[first, last]])
        return _kernels.agree_bleu(part, scales[texts], mass[texts], done, room, found)

    return _fill(
        run, np.zeros(len(distinct.texts)), distinct.segments, grams.sum(axis=1), np.diff(tokens.bounds), 4, threads
    )


def _chrf(metric: Chrf, distinct: _Distinct, mass: Reals, threads: int | None) -> Reals:
    layers = layers_of(metric, Names(), distinct.texts, distinct.segments)
    letters, words = layers[0], layers[-1]
    depths = np.array([metric.character_order, metric.word_order], np.int64)
    grams = np.hstack([totals(layer, depth) for layer, depth in zip((letters, words), depths.tolist(), strict=True)])
    shares = np.where(grams > 0, 1 / np.maximum(grams, 1), 0.0)

    def run(first: int, last: int, room: Room, done: int, found: Reals) -> int:
        texts = slice(*distinct.segments[[first, last]])
        parts = _part(letters, first, last), _part(words, first, last)
        return _kernels.agree_chrf(*parts, depths, shares[texts], mass[texts], float(metric.beta**2), done, room, found)

    return _fill(
        run,
        np.zeros(len(distinct.texts)),
        distinct.segments,
        grams.sum(axis=1),
        np.diff(letters.bounds),
        grams.shape[1],
        threads,
    )


def _part(tokens: Tokens, first: int, last: int) -> Tokens:
    """The tokens of some segments."""
    segments = tokens.segments[first : last + 1]
    bounds = tokens.bounds[segments[0] : segments[-1] + 1]
    return Tokens(tokens.ids[bounds[0] : bounds[-1]], bounds - bounds[0], segments - segments[0])


def _fill(
    run: Callable[[int, int, Room, int, Reals], int],
    found: Reals,
    segments: Offsets,
    grams: Reals | Offsets,
    lengths: Offsets,
    orders: int,
    threads: int | None,
) -> Reals:
    """Fill in the results of a kernel for every text; each thread works on a part of the lists."""
    sizes = np.diff(ends(grams)[segments])
    cuts = np.unique([0, *np.flatnonzero(np.diff(np.cumsum(sizes) // GRAMS)) + 1, len(sizes)])

    def fill(span: tuple[int, int]) -> None:
        first, last = span
        texts = slice(*segments[[first, last]])
        room = Room.of(
            int(sizes[first:last].max(initial=0)),
            int(np.diff(segments[first : last + 1]).max(initial=0)),
            orders,
            int(lengths[texts].max(initial=0)),
        )
        done = 0
        while (done := run(first, last, room, done, found[texts])) < last - first:
            room = room.wider()

    each(fill, pairwise(cuts.tolist()), threads)
    return found


def _pair_by_pair(metric: Metric, distinct: _Distinct, mass: Reals, threads: int | None) -> Reals:
    """The expected score by any metric: each text of a list is the reference of all."""
    found = np.zeros(len(distinct.texts))
    counts = np.diff(distinct.segments)
    cuts = np.unique([0, *np.flatnonzero(np.diff(np.cumsum(counts**2) // PAIRS)) + 1, len(counts)])

    def fill(span: tuple[int, int]) -> None:
        first, last = span
        rows = [np.arange(*distinct.segments[[s, s + 1]]) for s in range(first, last)]
        repeated = np.concatenate([np.tile(row, len(row)) for row in rows])
        texts = slice(*distinct.segments[[first, last]])
        truths = np.arange(texts.stop - texts.start + 1)
        bounds = ends(np.repeat(counts[first:last], counts[first:last]))
        references = References(distinct.texts.part(texts.start, texts.stop), truths)
        values = metric.segments(metric.statistics(distinct.texts.take(repeated), bounds, references))
        values = values if metric.higher_is_better else 1 - values
        for row in rows:
            part, values = values[: len(row) ** 2].reshape(len(row), len(row)), values[len(row) ** 2 :]
            found[row] = (mass[row, None] * part).sum(axis=0)

    each(fill, pairwise(cuts.tolist()), threads)
    return found
