"""Examine lists: what they could score, how they differ, and what is wrong with them."""

from __future__ import annotations

from collections.abc import Sequence

from rampion.analysis.inspection import Examination, examine
from rampion.apps.inputs import read_runs, read_weights, references_of
from rampion.console import note
from rampion.errors import InputError
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
    """The examination of lists; without references or a metric only what needs none."""
    runs, measure, arbiter = read_runs(lists, lenient, columns), metric or "bleu", None
    merged = runs.merged
    try:
        if refs or metric or runs.records:
            arbiter = judge(merged, references_of(merged.segments, runs.records, refs, measure), measure)
    except InputError as error:
        if refs or metric:
            raise
        note(f"examined without references: {error}")
    learnt = read_weights(weights).onto(merged.features, lenient=lenient) if weights else None
    others = read_runs([other], lenient, columns).lists[0] if other else None
    return examine(merged, arbiter, learnt, others, top)
