"""Score system outputs against references."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from rampion.errors import InputError
from rampion.formats import references, texts
from rampion.formats.files import shown
from rampion.metrics import metric as named
from rampion.store.text import Texts

METRICS = "bleu", "chrf"


class Scored(NamedTuple):
    """An output with its scores and signatures by metric."""

    output: str
    scores: dict[str, float]
    signatures: dict[str, str]


def score(outputs: Sequence[str], refs: Sequence[str], metrics: Sequence[str]) -> list[Scored]:
    """The scores of every output."""
    judges, found = [named(name) for name in metrics or METRICS], []
    for path in outputs:
        output = texts.read(path)
        if not len(output):
            raise InputError(f"{shown(path)}: holds no lines; expected a system's output, a line a segment")
        given = references.read(refs, Texts.from_strings(str(s) for s in range(len(output))), aligned=True)
        bounds = np.arange(len(output) + 1)
        scores = {one.name: float(one.total_score(one.statistics(output, bounds, given).sum(axis=0))) for one in judges}
        found.append(Scored(path, scores, {one.name: one.signature(given) for one in judges}))
    return found
