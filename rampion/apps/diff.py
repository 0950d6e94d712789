"""Two runs compared: settings and inputs that differ, scores, weights that moved, choices that changed."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np

from rampion.analysis.difference import Changed, Choices, Difference, Moved, Value
from rampion.analysis.significance import paired_bootstrap, randomisation
from rampion.apps.report import judged_of
from rampion.apps.weights import likeness
from rampion.errors import InputError
from rampion.formats import weights as weight_files
from rampion.losses.contrast import MODEL
from rampion.runs.folder import RunFolder
from rampion.store.features import Weights


def difference(one: str, other: str, top: int) -> Difference:
    """The differences between two runs of rampion tune, with at most `top` rows of weights and of segments."""
    folders = _folder(one), _folder(other)
    weights = weight_files.read(folders[0].weights), weight_files.read(folders[1].weights)
    choices, why = _choices(folders, weights, top)
    return Difference(
        (one, other), _settings(folders), _inputs(folders), likeness(*weights), _moved(*weights, top), choices, why
    )


def _folder(path: str) -> RunFolder:
    folder = RunFolder(Path(path))
    if not folder.begun:
        raise InputError(f"{path}: holds no run; name a folder that rampion tune has written")
    if not folder.weights.exists():
        raise InputError(f"{path}: has no weights yet; let the run finish")
    return folder


def _settings(folders: tuple[RunFolder, RunFolder]) -> dict[str, tuple[Value, Value]]:
    """The settings, and versions of packages, that are not the same."""
    pairs = [{**_flat(folder.config), **_flat(folder.manifest.get("packages", {}))} for folder in folders]
    names = dict.fromkeys(name for pair in pairs for name in pair)
    both = {name: (pairs[0].get(name), pairs[1].get(name)) for name in names}
    return {name: pair for name, pair in both.items() if pair[0] != pair[1]}


def _flat(config: Mapping[str, object]) -> dict[str, Value]:
    """Settings as single values: lists become text."""

    def single(value: object) -> Value:
        if isinstance(value, str | int | float | bool):
            return value
        return " ".join(map(str, value)) if isinstance(value, list) else str(value)

    return {name: single(value) for name, value in config.items()}


def _inputs(folders: tuple[RunFolder, RunFolder]) -> list[str]:
    """The inputs of the same name with other content."""
    digests = [{row["path"]: row.get("sha256") for row in folder.manifest.get("inputs", [])} for folder in folders]
    return [path for path, digest in digests[0].items() if path in digests[1] and digests[1][path] != digest]


def _moved(one: Weights, other: Weights, top: int) -> list[Moved]:
    """The weights that differ most."""
    features, mine, theirs = one.features.union(other.features)
    pair = np.zeros((2, len(features)))
    pair[0][mine], pair[1][theirs] = one.vector, other.vector
    apart = np.abs(pair[0] - pair[1])
    rows = [row for row in np.argsort(-apart, kind="stable")[:top].tolist() if apart[row]]
    return [Moved(features.names[row], float(pair[0][row]), float(pair[1][row])) for row in rows]


def _choices(
    folders: tuple[RunFolder, RunFolder], weights: tuple[Weights, Weights], top: int
) -> tuple[Choices | None, str]:
    """The choices of both runs from the lists of the first one, if these can be read again."""
    judged, why = judged_of(folders[0])
    if judged is None:
        return None, why
    batch = judged.batch
    features, metric = batch.candidates.features, batch.metric
    mine, theirs = (MODEL.picks(batch.stakes, batch.scores(found.onto(features, lenient=True))) for found in weights)
    texts, segments = batch.candidates.texts, batch.candidates.segments
    homes = np.searchsorted(batch.stakes.bounds, mine, "right") - 1
    other = np.array([at for at, pair in enumerate(zip(mine, theirs, strict=True)) if texts[pair[0]] != texts[pair[1]]])
    other = other.astype(np.int64)
    statistics, better_up = batch.statistics, 1 if metric.higher_is_better else -1
    values = metric.segments(batch.unweighted)
    gains = better_up * (values[theirs[other]] - values[mine[other]])
    order = other[np.argsort(-np.abs(gains), kind="stable")][:top].tolist()
    largest = [
        Changed(segments[homes[at]], texts[one], texts[two], float(values[one]), float(values[two]))
        for at, one, two in zip(order, mine[order].tolist(), theirs[order].tolist(), strict=True)
    ]
    better, worse = int((gains > 0).sum()), int((gains < 0).sum())
    scores = batch.corpus_score(mine), batch.corpus_score(theirs)
    found = paired_bootstrap(metric, statistics[mine], statistics[theirs])
    sure = found.score, found.low, found.high, randomisation(metric, statistics[mine], statistics[theirs]).p
    return Choices(len(mine), len(other), better, worse, *scores, *sure, metric.name, largest), ""
