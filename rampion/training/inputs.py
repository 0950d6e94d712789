"""Arguments of the public calls, checked and converted: lists, their references, and the judge of both."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from os import PathLike

import numpy as np

from rampion.errors import InputError
from rampion.metrics import Metric, reads_columns
from rampion.metrics import metric as named
from rampion.metrics.judging import Judge
from rampion.store.candidates import Candidates
from rampion.store.text import References, Texts, blank

Lists = Candidates | Sequence[Candidates]
GivenReferences = References | Iterable[Sequence[str]] | Mapping[str, str | Sequence[str]]


def judge(
    lists: Candidates | Texts,
    references: GivenReferences | None,
    metric: str | Metric,
    alpha: float = 10.0,
    *,
    listed: bool = False,
) -> Judge:
    """The judge of these lists or segments. A metric column needs no references."""
    segments = lists.segments if isinstance(lists, Candidates) else lists
    if isinstance(metric, str):
        metric = named(metric)
    if references is None and not reads_columns(metric):
        columns = lists.metrics if isinstance(lists, Candidates) else {}
        known = f" (there are {', '.join(columns)})" if columns else ""
        raise InputError(
            f"{metric.name} needs references; give a list of strings for every segment, or choose a metric column of "
            f"the lists{known}: metric='metric:NAME'"
        )
    return Judge(metric, references_for(segments, references), segments, alpha, listed)


def references_for(segments: Texts, references: GivenReferences | None) -> References:
    """The references in the order of the segments; without any, one empty reference a segment."""
    if references is None:
        return References(blank(len(segments)), np.arange(len(segments) + 1))
    if isinstance(references, References):
        return references
    if not isinstance(references, Mapping):
        return References.from_lists(references)
    for identity in segments:
        if identity not in references:
            raise InputError(f"segment {identity} of the lists has no references; give references for every segment")
    found = (references[identity] for identity in segments)
    return References.from_lists([one] if isinstance(one, str) else one for one in found)


def runs_of(lists: Lists) -> list[Candidates]:
    """The lists of every decoding iteration; raise InputError on anything else."""
    if isinstance(lists, Candidates):
        return [lists]
    if isinstance(lists, str | bytes | PathLike):
        raise InputError(f"lists are the name {str(lists)[:60]!r}; read the file by rampion.load_nbest")
    runs = list(lists) if isinstance(lists, Iterable) else [lists]
    for run in runs:
        if not isinstance(run, Candidates):
            raise InputError(
                f"lists are a {type(lists).__name__} with a {type(run).__name__} in it; make Candidates of it by "
                "rampion.Candidates.from_records or from_frame"
            )
    return runs


def segments_of(runs: Sequence[Candidates]) -> Texts:
    """The segments of all runs in order of first appearance."""
    if all(run.segments == runs[0].segments for run in runs):
        return runs[0].segments
    return Texts.from_strings(dict.fromkeys(name for run in runs for name in run.segments))
