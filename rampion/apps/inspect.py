"""Examine lists: possible scores, diversity, and problems."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from rampion.analysis.inspection import Examination, examine
from rampion.apps.inputs import UNSCORED, labelled, read_runs, references_of, weighed
from rampion.console import note
from rampion.errors import InputError
from rampion.metrics.column import counts_errors
from rampion.store.candidates import Candidates
from rampion.training.inputs import judge


def inspect(
    lists: list[str],
    refs: Sequence[str],
    *,
    weights: str | None = None,
    metric: str | None = None,
    other: str | None = None,
    top: int = 10,
    lenient: bool = False,
    columns: Sequence[str] | None = None,
) -> Examination:
    """The examination of lists. Without references or a metric it is limited to what needs none."""
    runs = read_runs(lists, lenient, columns, [metric] if metric else [])
    merged, arbiter = runs.merged, None
    held = runs.records is not None and any(runs.records.found.values())
    if metric is None and not refs and not held:
        metric = _sole_column(merged)
    measure = metric or "bleu"
    learnt = None
    if weights:
        merged, learnt = weighed(merged, weights, lenient)
    [judged] = labelled([merged], measure, UNSCORED)
    try:
        if refs or metric or held:
            arbiter = judge(judged, references_of(judged.segments, runs.records, refs, measure), measure)
    except InputError as error:
        if refs or metric:
            raise
        note(f"examined without references: {error}")
    if not (refs or metric or held):
        note("examined without references: name them with --refs, or a column to score by with --target")
    others = read_runs([other], lenient, columns, [metric] if metric else []).lists[0] if other else None
    return examine(judged if metric else merged, arbiter, None if learnt is None else learnt.vector, others, top)


def _sole_column(lists: Candidates) -> str | None:
    """The metric of the only column, if it says by itself which way is better."""
    names = [name for name in lists.metrics if name != "reached"]
    if len(names) != 1 or counts_errors(names[0]) or np.isnan(lists.metrics[names[0]]).all():
        return None
    return f"metric:{names[0]}"
