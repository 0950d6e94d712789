"""Pictures of a run: learning curves, MERT's surface, the plane of scores and costs, and feature ablation."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rampion.analysis.significance import paired_bootstrap
from rampion.apps.report import judged_of
from rampion.arrays import Reals
from rampion.errors import InputError
from rampion.losses.contrast import FEAR, HOPE, MODEL, ORACLE
from rampion.metrics.judging import Batch
from rampion.report.charts import write_lines
from rampion.report.explorer import START, Judged
from rampion.report.pictures import Bar, Spot, Surface, check, save, write_bars, write_plane, write_surface
from rampion.runs.folder import RunFolder

POINTS = 401  # of a line
CELLS = 61  # of a side of a surface
REACH = 2.0  # the length of a line, in spreads of the model's scores
FEATURES = 5  # of a line, unless they are named
ROWS = 15  # of an ablation
CURVES = {
    "score": "tuning lists", "decoded": "decoder", "learnt": "learnt lists", "train": "train", "dev": "dev",
    "test": "test",
}  # fmt: skip


class Drawn(NamedTuple):
    """A picture and a remark about it."""

    path: Path
    told: str


def curves(runs: Sequence[Path], out: Path) -> Drawn:
    """The scores of every round or iteration of the runs."""
    check(out)
    lines = dict[str, list[tuple[float, float]]]()
    kinds = set[str]()
    metrics = set[str]()
    for run, called in zip(runs, _names(runs), strict=True):
        folder = _begun(run)
        events = folder.events
        kind = "iteration" if any(event["event"] == "iteration" for event in events) else "round"
        kinds.add(kind)
        done = next((event for event in events if event["event"] == "done"), {})
        metrics.add(str(done.get("metric", "BLEU")))
        for event in events:
            if event["event"] == kind:
                for name in CURVES.keys() & event.keys():
                    if isinstance(event[name], float | int):
                        label = f"{called}, {CURVES[name]}" if len(runs) > 1 else CURVES[name]
                        lines.setdefault(label, []).append((event[kind], event[name]))
    if not lines:
        raise InputError(f"{runs[0]}: has no rounds or iterations, so there is no curve to draw")
    title = "Learning curves" if len(runs) > 1 else f"Learning curves of {_names(runs)[0]}"
    ordered = {name: lines[name] for name in sorted(lines)}
    x, y = " or ".join(sorted(kinds)), ", ".join(sorted(metrics))
    save(out, lambda path: write_lines(path, ordered, title, x, y))
    return Drawn(out, f"{len(lines)} curves")


def line(run: Path, features: Sequence[str], out: Path) -> Drawn:
    """The metric on the tuning lists along the axes of some features, as MERT sees it."""
    check(out)
    judged = _judged(run)
    batch, weights = judged.batch, judged.weights[judged.chosen]
    chosen = [_named(batch, name) for name in features] or _heaviest(batch, weights, FEATURES)
    steps = np.linspace(-REACH, REACH, POINTS)
    scores = batch.scores(weights)
    lines = {}
    for feature in chosen:
        slopes = _slopes(batch, feature) * _unit(batch, scores, feature)
        heights = [_height(batch, scores + step * slopes) for step in steps]
        lines[batch.candidates.features.names[feature]] = list(zip(steps.tolist(), heights, strict=True))
    x = "change of the weight, in standard deviations of the model's scores"
    title = f"{batch.metric.name} as one weight changes, around the weights of {_names([run])[0]}"
    save(out, lambda path: write_lines(path, lines, title, x, batch.metric.name, whole=False))
    best = max(((height, name, at) for name, points in lines.items() for at, height in points), key=lambda one: one[0])
    here = _height(batch, scores)
    return Drawn(out, f"{batch.metric.name} {here:.4g} at the weights, {best[0]:.4g} at most (along {best[1]})")


def surface(run: Path, features: Sequence[str], out: Path) -> Drawn:
    """The metric on the tuning lists over two weights."""
    check(out)
    judged = _judged(run)
    batch, weights = judged.batch, judged.weights[judged.chosen]
    chosen = [_named(batch, name) for name in features] or _heaviest(batch, weights, 2)
    if len(chosen) != 2 or chosen[0] == chosen[1]:
        raise InputError(f"a surface is drawn over two features, and {len(set(chosen))} is there; name two (--feature)")
    scores = batch.scores(weights)
    slopes = [_slopes(batch, feature) for feature in chosen]
    start = judged.weights.get(START)
    spans = []
    for feature in chosen:
        here, unit = float(weights[feature]), _unit(batch, scores, feature)
        others = [here] if start is None else [here, float(start[feature])]
        spans.append(np.linspace(min(others) - unit, max(others) + unit, CELLS))
    heights = np.empty((CELLS, CELLS))
    for row, second in enumerate(spans[1]):
        moved = scores + (second - weights[chosen[1]]) * slopes[1]
        for column, first in enumerate(spans[0]):
            heights[row, column] = _height(batch, moved + (first - weights[chosen[0]]) * slopes[0])
    top = np.unravel_index(heights.argmax(), heights.shape)
    spots = [Spot("weights of the run", *(float(weights[feature]) for feature in chosen)),
             Spot("highest cell", float(spans[0][top[1]]), float(spans[1][top[0]]))]  # fmt: skip
    if start is not None:
        spots.append(Spot("initial weights", *(float(start[feature]) for feature in chosen)))
    names = [batch.candidates.features.names[feature] for feature in chosen]
    title = f"{batch.metric.name} over two weights of {_names([run])[0]}"
    whole = Surface(spans[0], spans[1], heights, spots)
    x, y = (f"weight of {name}" for name in names)
    save(out, lambda path: write_surface(path, whole, title, x, y, batch.metric.name))
    return Drawn(
        out, f"{batch.metric.name} from {heights.min():.4g} to {heights.max():.4g}; "
        f"{_height(batch, scores):.4g} at the weights of the run",
    )  # fmt: skip


def plane(run: Path, segment: str | None, out: Path) -> Drawn:
    """The candidates of a segment by score and cost, with those that a ramp loss looks at."""
    check(out)
    judged = _judged(run)
    batch, weights = judged.batch, judged.weights[judged.chosen]
    stakes, scores = batch.stakes, batch.scores(weights)
    sides = {"oracle": ORACLE, "hope": HOPE, "prediction": MODEL, "fear": FEAR}
    picks = {name: _by_segment(stakes.bounds, side.picks(stakes, scores)) for name, side in sides.items()}
    at = _segment(batch, segment, picks)
    first, last = stakes.bounds[at : at + 2].tolist()
    texts = batch.candidates.texts
    points = [(float(scores[c]), float(stakes.costs[c]), texts[c]) for c in range(first, last)]
    together: dict[int, list[str]] = {}
    for name in sides:
        together.setdefault(int(picks[name][at]), []).append(name)
    spots = [Spot(" = ".join(names), float(scores[c]), float(stakes.costs[c])) for c, names in together.items()]
    hope, fear = (int(picks[name][at]) for name in ("hope", "fear"))
    rulers = {
        "score − cost of hope": (float(stakes.costs[hope] - scores[hope]), 1.0),
        "score + cost of fear": (float(stakes.costs[fear] + scores[fear]), -1.0),
    }
    name = batch.candidates.segments[at]
    title = f"Segment {name}: {last - first} candidates by score and cost"
    y = f"cost ({batch.metric.name})"
    save(out, lambda path: write_plane(path, points, spots, rulers, title, "model score", y))
    told = "; ".join(f"{' = '.join(names)}: {texts[c]}" for c, names in together.items())
    return Drawn(out, f"segment {name}; {told}")


def ablation(run: Path, out: Path) -> Drawn:
    """The worth of each feature: the metric with the weights, minus the metric with its weight set to 0."""
    check(out)
    judged = _judged(run)
    batch, weights = judged.batch, judged.weights[judged.chosen]
    names = batch.candidates.features.names
    dense = batch.candidates.lists.width
    scores = batch.scores(weights)
    whole = _picked(batch, scores)
    groups = {names[feature]: [feature] for feature in np.flatnonzero(weights[:dense]).tolist()}
    if sparse := (np.flatnonzero(weights[dense:]) + dense).tolist():
        groups[f"all {len(sparse)} sparse features"] = sparse
    sign = 1.0 if batch.metric.higher_is_better else -1.0
    bars = []
    for name, own in groups.items():
        only = np.zeros(len(weights))
        only[own] = weights[own]
        found = paired_bootstrap(batch.metric, _picked(batch, scores - batch.candidates.score(only)), whole)
        low, high = sorted((sign * found.low, sign * found.high))
        bars.append(Bar(name, sign * found.score, low, high))
    bars.sort(key=lambda bar: -bar.value)
    shown = bars if len(bars) <= ROWS else [*bars[: ROWS - 5], *bars[-5:]]
    title = f"What each feature is worth to the weights of {_names([run])[0]}"
    x = f"{batch.metric.name} lost without it (95 % interval)"
    save(out, lambda path: write_bars(path, shown, title, x))
    left = f", {len(bars) - len(shown)} in the middle left out" if len(shown) < len(bars) else ""
    told = f"{len(shown)} features{left}; the other weights stay as they are, and the lists are those of tuning"
    return Drawn(out, told)


def _names(runs: Sequence[Path]) -> list[str]:
    """What pictures call runs: the names of their folders, or their paths where names are alike."""
    names = [run.resolve().name for run in runs]
    return names if len(set(names)) == len(names) else list(map(str, runs))


def _begun(run: Path) -> RunFolder:
    folder = RunFolder(run)
    if not folder.begun:
        raise InputError(f"{run}: holds no run; name a folder that rampion tune or rampion train has written")
    return folder


def _judged(run: Path) -> Judged:
    """The lists of a run of rampion tune, with their costs and the weights of its rounds."""
    folder = _begun(run)
    if (run / "sets").is_dir():
        raise InputError(f"{run}: is of rampion train, which keeps no lists with costs; only its curves can be drawn")
    found, why = judged_of(folder)
    if found is None:
        raise InputError(f"{run}: {why.removeprefix('There is no explorer: ').rstrip('.')}")
    return found


def _named(batch: Batch, name: str) -> int:
    names = list(batch.candidates.features.names)
    if name not in names:
        known = ", ".join(names[: batch.candidates.lists.width]) or "none that is dense"
        raise InputError(f"--feature {name!r}: the lists have no such feature; they have: {known}")
    return names.index(name)


def _slopes(batch: Batch, feature: int) -> Reals:
    """The feature's value of every candidate."""
    axis = np.zeros(len(batch.candidates.features))
    axis[feature] = 1.0
    return batch.candidates.score(axis)


def _unit(batch: Batch, scores: Reals, feature: int) -> float:
    """The weight at which the feature spreads the candidates of a list as much as the model's scores do."""
    own, all_ = (_spread(batch.stakes.bounds, values) for values in (_slopes(batch, feature), scores))
    return (all_ or 1.0) / own if own else 1.0


def _spread(bounds: NDArray[np.int64], values: Reals) -> float:
    """The standard deviation within lists."""
    sizes = np.diff(bounds)
    filled = np.flatnonzero(sizes)
    if not len(filled):
        return 0.0
    means = np.add.reduceat(values, bounds[:-1][filled]) / sizes[filled]
    return float(np.sqrt(np.square(values - np.repeat(means, sizes[filled])).mean()))


def _heaviest(batch: Batch, weights: Reals, count: int) -> list[int]:
    """The dense features that change the scores most, completed by sparse ones if there are too few."""
    width = batch.candidates.lists.width
    near = [feature for feature in np.argsort(-np.abs(weights), kind="stable").tolist() if feature >= width][:count]
    chosen = range(width) if width >= count else [*range(width), *near]
    reach = {f: abs(float(weights[f])) * _spread(batch.stakes.bounds, _slopes(batch, f)) for f in chosen}
    return sorted(reach, key=lambda feature: -reach[feature])[:count]


def _picked(batch: Batch, scores: Reals) -> NDArray[np.float64]:
    """The statistics of what the scores choose."""
    found: NDArray[np.float64] = batch.statistics[MODEL.picks(batch.stakes, scores)].astype(np.float64)
    return found


def _height(batch: Batch, scores: Reals) -> float:
    return batch.corpus_score(MODEL.picks(batch.stakes, scores))


def _by_segment(bounds: NDArray[np.int64], picks: NDArray[np.int64]) -> NDArray[np.int64]:
    """The pick of every segment, -1 where there is none."""
    found = np.full(len(bounds) - 1, -1)
    found[np.searchsorted(bounds, picks, "right") - 1] = picks
    return found


def _segment(batch: Batch, name: str | None, picks: dict[str, NDArray[np.int64]]) -> int:
    """The segment of this name, or the one whose prediction costs most beside its oracle."""
    segments = list(batch.candidates.segments)
    if name is None:
        costs = np.append(batch.stakes.costs, 0.0)  # no pick is -1
        distinct = np.array([len({int(pick[at]) for pick in picks.values()}) for at in range(len(segments))])
        regret = costs[picks["prediction"]] - costs[picks["oracle"]]
        at = int(np.lexsort((-regret, -distinct))[0])
    elif name in segments:
        at = segments.index(name)
    else:
        some = ", ".join(segments[:5])
        raise InputError(f"--segment {name!r}: the lists have no such segment; they have: {some}, …")
    if batch.stakes.bounds[at] == batch.stakes.bounds[at + 1]:
        raise InputError(f"segment {segments[at]}: has no candidates")
    return at
