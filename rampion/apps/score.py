"""Score system outputs against references, or what systems choose from lists."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from rampion.analysis.ranking import discounted_gain, reciprocal_rank
from rampion.apps import chosen
from rampion.apps.inputs import note_doubt
from rampion.errors import InputError
from rampion.formats import references, texts
from rampion.formats.files import shown
from rampion.metrics import metric as named
from rampion.metrics import reads_columns, titles
from rampion.metrics.judging import Batch
from rampion.store.text import Texts

METRICS = "bleu", "chrf"


class Scored(NamedTuple):
    """An output with its scores and signatures by metric."""

    output: str
    scores: dict[str, float]
    signatures: dict[str, str]


def score(outputs: Sequence[str], refs: Sequence[str], metrics: Sequence[str]) -> list[Scored]:
    """The scores of every output."""
    if not refs:
        raise InputError("outputs need references: name them with --refs, or lists with --from")
    asked, found = list(dict.fromkeys(metrics or METRICS)), list[Scored]()
    judges = dict(zip(titles(asked), map(named, asked), strict=True))
    for path in outputs:
        output = texts.read(path)
        if not len(output):
            raise InputError(f"{shown(path)}: holds no lines; expected a system's output, a line a segment")
        given = references.read(refs, Texts.from_strings(str(s) for s in range(len(output))), aligned=True)
        if not found:
            for one in judges.values():
                note_doubt(one, given)
        bounds = np.arange(len(output) + 1)
        scores = {
            title: float(one.total_score(one.statistics(output, bounds, given).sum(axis=0)))
            for title, one in judges.items()
        }
        found.append(Scored(path, scores, {title: one.signature(given) for title, one in judges.items()}))
    return found


def score_choices(
    systems: Sequence[str],
    lists: Sequence[str],
    refs: Sequence[str],
    metrics: Sequence[str],
    columns: Sequence[str] | None = None,
    lenient: bool = False,
) -> list[Scored]:
    """The scores of every system's choices from the lists; for a column also the quality of its ranking."""
    asked = list(dict.fromkeys(metrics or METRICS))
    given, found = chosen.given(lists, refs, asked, columns, lenient), []
    judged = dict(zip(titles(asked), given.judged, strict=True))
    for one in given.judged:
        note_doubt(one.judge.metric, one.judge.references)
    for system in systems:
        choice, scores = chosen.choice(system, given.lists, lenient), dict[str, float]()
        for title, one in judged.items():
            metric = one.judge.metric
            scores[title] = metric.total_score(one.statistics(system, choice).sum(axis=0))
            if reads_columns(metric):
                scores |= _ranked(one.batch, choice, system)
        signatures = {title: one.judge.metric.signature(one.judge.references) for title, one in judged.items()}
        found.append(Scored(system, scores, signatures))
    return found


def _ranked(batch: Batch, choice: chosen.Choice, system: str) -> dict[str, float]:
    """NDCG by the column, and MRR if it holds labels: 0 and 1."""
    costs, bounds = batch.stakes.costs, batch.stakes.bounds
    scores = -costs if system == "oracle" else choice.scores
    if scores is None:
        return {}
    found = {"NDCG": discounted_gain(bounds, scores, -costs)}
    if set(np.unique(batch.metric.segments(batch.statistics)).tolist()) <= {0.0, 1.0}:
        found["MRR"] = reciprocal_rank(bounds, scores, costs == costs.min())
    return found
