"""Inspection of n-best lists: possible gains of a reranker, and problems. Pure functions; no output.

Quality is the metric turned so that higher is better; correlations are with it, within lists: both sides are centred
on the mean of their list, because a reranker compares candidates of one list only.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from rampion.analysis.inspection.features import FeatureRow as FeatureRow
from rampion.analysis.inspection.features import Split as Split
from rampion.analysis.inspection.features import (
    moments_of,
    notes_of,
    of_features,
    of_split,
    of_weights,
    rows_of,
    split_of,
)
from rampion.analysis.inspection.findings import KINDS as KINDS
from rampion.analysis.inspection.findings import Finding as Finding
from rampion.analysis.inspection.lists import Counts as Counts
from rampion.analysis.inspection.lists import Diversity as Diversity
from rampion.analysis.inspection.lists import counts_of, distinct_of, diversity_of, of_lists, text_ids
from rampion.analysis.inspection.references import of_references
from rampion.analysis.inspection.scores import Place as Place
from rampion.analysis.inspection.scores import Scores as Scores
from rampion.analysis.inspection.scores import of_stakes, scores_of
from rampion.arrays import Reals
from rampion.errors import InputError
from rampion.metrics import reads_columns
from rampion.metrics.judging import Judge
from rampion.store.candidates import Candidates


@dataclass(frozen=True, slots=True)
class Examination:
    """The result of `examine`; findings are sorted, the worst first, and notes tell of what does no harm."""

    counts: Counts
    diversity: Diversity
    scores: Scores | None
    features: tuple[FeatureRow, ...]
    split: Split | None
    findings: tuple[Finding, ...]
    notes: tuple[str, ...] = ()

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


def examine(
    candidates: Candidates,
    judge: Judge | None = None,
    weights: Reals | None = None,
    other: Candidates | None = None,
    top: int = 10,
) -> Examination:
    """Examine lists.

    judge    references and a metric: without them, there are no scores and no correlations
    weights  weights to check against the lists
    other    lists that should have the same features, such as those of a test
    top      how many of the most frequent sparse features get a row; every dense feature gets one
    """
    lists = _filled(candidates)
    batch = scores = split = None
    ids = text_ids(lists)
    distinct = distinct_of(lists, ids)
    findings = list(of_lists(candidates, lists, ids, distinct))
    if judge is not None:
        _refuse_transposed(judge)
        batch = judge.batch(lists)
        usable = weights is not None and bool(np.isfinite(weights).all())
        scores = scores_of(judge, batch, weights if usable else None)
        findings += of_stakes(lists, batch.stakes)
        if not (reads_columns(judge.metric) and not len(judge.references.texts.blob)):
            findings += of_references(judge.metric, lists, judge.references_of(lists))
    moments = moments_of(lists, batch)
    findings += of_features(lists, moments)
    if weights is not None:
        findings += of_weights(lists, weights)
    if other is not None:
        split = split_of(lists, moments, _filled(other))
        findings += of_split(split)
    findings.sort(key=lambda finding: KINDS.index(finding.kind))
    rows = rows_of(lists, moments, weights, top)
    counts, diversity = counts_of(candidates, distinct), diversity_of(lists, distinct)
    return Examination(counts, diversity, scores, rows, split, tuple(findings), tuple(notes_of(lists, moments)))


def _filled(candidates: Candidates) -> Candidates:
    """The lists without the empty ones."""
    filled = np.flatnonzero(np.diff(candidates.bounds))
    if not len(filled):
        raise InputError("the lists hold no candidates; give lists with at least one")
    return candidates if len(filled) == len(candidates.segments) else candidates[filled]


def _refuse_transposed(judge: Judge) -> None:
    """Raise a helpful InputError if the references of another number of segments look transposed."""
    segments, given = len(judge.segments), len(judge.references)
    if given != segments and set(np.diff(judge.references.bounds).tolist()) == {segments}:
        raise InputError(
            f"the references look transposed: {given} lists of {segments} strings for {segments} segments; "
            "give one list of references for every segment"
        )
