"""Reproduce experiments of papers: run their rows, judge their claims, and keep results and pictures in a folder."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from rampion.errors import InputError
from rampion.experiments import Experiment, Finding, RowResult, Scatter, findings, results, run, to_do
from rampion.experiments.runners import Workshop
from rampion.experiments.samples import Outcomes, shared
from rampion.formats.files import replacing
from rampion.report import charts
from rampion.runs.door import Input, kept
from rampion.runs.folder import fingerprint
from rampion.runs.lock import owned

INPUTS = "inputs"  # a file: which text the folder was begun with
Say = Callable[[str], None]


class Reproduced(NamedTuple):
    """An experiment with its results, what became of its claims, and its picture."""

    experiment: Experiment
    facts: dict[str, object]
    rows: list[RowResult]
    findings: list[Finding]
    picture: Path | None


def reproduce(
    chosen: Sequence[Experiment], shop: Workshop, out: Path, seeds: Sequence[int], say: Say
) -> Iterator[Reproduced]:
    """Every experiment in turn; its results are in the folder when it is yielded."""
    with owned(out, say):
        _settled(out, shop.stock.given)
        for experiment in chosen:
            missing = to_do(experiment, out, seeds)
            if told := shop.told(missing):
                say(f"{experiment.name}, {len(missing)} run{'s' * (len(missing) > 1)}: {told}")
            outcomes = run(experiment, out, seeds, shop, say)
            found = findings(experiment, outcomes)
            figures = results(experiment, outcomes, found)
            facts = shop.about | figures
            with replacing(out / f"{experiment.file}.json") as file:
                file.write(json.dumps(facts, indent=2, ensure_ascii=False).encode() + b"\n")
            yield Reproduced(experiment, facts, figures["rows"], list(found), _draw(out, experiment, outcomes, say))


def _settled(out: Path, corpus: str | None) -> None:
    """Refuse a folder whose systems and runs were made from another text."""
    told, known = [fingerprint(str(path)) for path in sorted(Path(corpus or "").glob("*")) if corpus], out / INPUTS
    told = [{**one, "path": Path(one["path"]).name} for one in told]
    if not known.exists():
        with replacing(known) as file:
            file.write(json.dumps(told, indent=2).encode() + b"\n")
    elif kept(known, list[Input]) != told:
        raise InputError(f"{out}: was begun with another text; take that again (--corpus), or name another folder")


def _draw(out: Path, experiment: Experiment, outcomes: Outcomes, say: Say) -> Path | None:
    """Curves, the mean of all runs, or a point a run; a remark if there is nothing to draw."""
    if (picture := experiment.picture) is None:
        return None
    path = out / f"{experiment.file}.svg"
    try:
        if isinstance(picture, Scatter):
            x, y = (experiment.columns[name] for name in (picture.x, picture.y))
            charts.write_scatter(path, picture.points(outcomes), experiment.title, x, y)
        else:
            lines = {
                said: list(enumerate(np.mean(shared([run.curves[curve] for run in outcomes[row]]), axis=0).tolist(), 1))
                for said, (row, curve) in picture.lines.items()
            }
            charts.write_lines(path, lines, experiment.title, y=picture.y, logarithmic=picture.logarithmic)
    except InputError as error:
        say(str(error))
        return None
    return path
