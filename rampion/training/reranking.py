"""Choose by weights: the best candidate of every segment, or the lists sorted anew."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from rampion.arrays import Reals
from rampion.errors import InputError
from rampion.losses.contrast import MODEL
from rampion.metrics.judging import totals, unjudged
from rampion.store.bends import completed
from rampion.store.candidates import Candidates
from rampion.store.features import Weights


def pick(
    lists: Candidates, weights: Mapping[str, float], *, lenient: bool = False, listed: bool = False
) -> NDArray[np.int64]:
    """The best candidate of every segment by the weights; the first of equals.

    Parameters
    ----------
    lists : Candidates
        The lists to choose from.
    weights : Weights or mapping of str to float
        What to choose by.
    lenient : bool
        Whether weights and lists may differ in dense features.
    listed : bool
        Whether to add the scores that came with the candidates, for weights tuned with base="listed".

    Returns
    -------
    numpy.ndarray of int64
        The places of the candidates among all candidates, one for every segment that has some.

    Raises
    ------
    InputError
        If only one side has a dense feature, unless lenient, or if these are no lists or no weights.

    Examples
    --------
    >>> weights = rampion.Weights.from_dict({"LM": 0.0, "TM": 1.0})
    >>> rampion.pick(lists, weights).tolist(), list(lists.texts[rampion.pick(lists, weights)])
    ([1, 3], ['the cat sat', 'a dog'])
    """
    scores = scores_of(lists, weights, lenient=lenient, listed=listed)
    return MODEL.picks(unjudged(lists), scores)


def scores_of(lists: Candidates, weights: Mapping[str, float], *, lenient: bool = False, listed: bool = False) -> Reals:
    """The score of every candidate; `listed` adds the decoder's own (weights tuned on base="listed")."""
    if not isinstance(lists, Candidates):
        raise InputError(f"lists are a {type(lists).__name__}; give Candidates, as rampion.load_nbest reads them")
    if not isinstance(weights, Weights):
        weights = Weights.from_dict(weights)
    bent = completed(lists, weights.features.names)
    scores = bent.score(weights.onto(bent.features, lenient=lenient))
    return scores + totals(lists) if listed else scores


def rerank(
    lists: Candidates, weights: Mapping[str, float], *, lenient: bool = False, listed: bool = False
) -> Candidates:
    """The same lists sorted by the weights, best first, with the new scores.

    Parameters
    ----------
    lists : Candidates
        The lists to sort.
    weights : Weights or mapping of str to float
        What to sort by.
    lenient : bool
        Whether weights and lists may differ in dense features.
    listed : bool
        Whether to add the scores that came with the candidates, for weights tuned with base="listed".

    Returns
    -------
    Candidates
        The sorted lists.

    Raises
    ------
    InputError
        If only one side has a dense feature, unless lenient, or if these are no lists or no weights.

    Examples
    --------
    >>> rampion.rerank(lists, rampion.Weights.from_dict({"LM": 0.0, "TM": 1.0}))[0].texts
    ['the cat sat', 'a cat sits']
    """
    scores = scores_of(lists, weights, lenient=lenient, listed=listed)
    return lists.sorted_by(scores)
