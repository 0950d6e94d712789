"""The page of many runs of rampion tune on the same lists: a ranking of recipes, and the spread over seeds."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, NotRequired, TypedDict

import numpy as np

from rampion.formats import weights as weight_files
from rampion.report.charts import Line, chart, charts, interval
from rampion.report.markup import Markup, Section, duration, folded, number, section, table
from rampion.report.page import Figure, Page, made, scattered
from rampion.runs.door import Held
from rampion.runs.folder import RunFolder
from rampion.store.features import Weights


class Spread(TypedDict):
    """Scores of several runs."""

    mean: float
    sd: float
    min: float
    max: float


class Trial(TypedDict):
    """A recipe in table.json, and what its runs came to."""

    recipe: str
    runs: int
    tuned: Spread | None
    dev: Spread | None
    held: NotRequired[Spread | None]  # on lists not learnt from: held-out ones, or folds
    figures: NotRequired[Held | None]  # of the first run, beside choices that need no learning
    seconds: float
    distance: float | None
    trouble: str | None


class Runs(NamedTuple):
    """The runs of one recipe: the folder, the rounds and the weights of each."""

    folders: list[RunFolder]
    rounds: list[list[Mapping[str, Any]]]
    weights: list[Weights]

    @classmethod
    def found(cls, out: Path, recipe: str) -> Runs:
        """The runs in OUT/RECIPE, or in OUT/RECIPE.SEED for each seed."""
        seeded = sorted((path for path in out.glob(f"{recipe}.*") if path.suffix[1:].isdigit()), key=_seed)
        folders = [RunFolder(path) for path in [out / recipe, *seeded]]
        done = [folder for folder in folders if folder.begun and folder.weights.exists()]
        rounds: list[list[Mapping[str, Any]]] = [
            [event for event in folder.events if event["event"] == "round"] for folder in done
        ]
        return cls(done, rounds, [weight_files.read(folder.weights) for folder in done])


def _seed(path: Path) -> int:
    return int(path.suffix[1:])


def page(out: Path, trials: Sequence[Mapping[str, Any]]) -> Page:
    """The page. `trials` is the content of table.json."""
    runs = {trial["recipe"]: Runs.found(out, trial["recipe"]) for trial in trials if trial["runs"]}
    runs = {recipe: found for recipe, found in runs.items() if found.folders}
    done = [event for found in runs.values() for event in found.folders[0].events if event["event"] == "done"]
    metric, signature = (done[0][name] if done else None for name in ("metric", "signature"))
    best = next((trial for trial in trials if trial["tuned"]), None)
    figures = [Figure("recipes", str(len(trials))), Figure("runs", str(sum(trial["runs"] for trial in trials)))]
    if best:
        held = _held([best])
        figures = [*(_baseline(held) if held else _listed(done)), *_best(best), *figures]
    several = {recipe: found for recipe, found in runs.items() if len(found.weights) > 1}
    first = next(iter(runs.values())).folders[0] if runs else None
    return Page(
        out.resolve().name,
        f"Recipes on the same lists for {metric}, the best first",
        figures,
        [
            _ranked(trials),
            _curves(runs, metric or "score"),
            section("weights", "Weights over seeds", *(_weights(name, found) for name, found in several.items()))
            if several else None,
            made(first, signature) if first else None,
        ],
    )  # fmt: skip


def _listed(done: Sequence[Mapping[str, Any]]) -> list[Figure]:
    """The score of the lists as they came."""
    if not done or "before" not in done[0]:
        return []
    side = done[0].get("dev") or done[0]
    return [Figure("as listed", number(side["before"]["listed"]))]


def _baseline(held: Mapping[str, Any]) -> list[Figure]:
    """The score of the best choice that needs no learning."""
    return [Figure(held["best"], number(line["score"])) for line in held["lines"] if line["name"] == held["best"]]


def _best(trial: Mapping[str, Any]) -> list[Figure]:
    """The score of the best recipe, on held-out lists if there are some, and how far its runs lie apart."""
    held = trial.get("held") or trial["dev"]
    score, lists = (held, "held out") if held else (trial["tuned"], "on the lists learnt from")
    spread = f", {number(score['min'])} to {number(score['max'])}" if trial["runs"] > 1 else ""
    return [Figure(f"best: {trial['recipe']}", number(score["mean"]), f"{lists}{spread}")]


def _held(trials: Iterable[Mapping[str, Any]]) -> Mapping[str, Any] | None:
    """The held-out figures of the best recipe; choices that need no learning are the same for all of them."""
    return next((trial["figures"] for trial in trials if trial.get("figures") and trial["figures"]["lines"]), None)


def _ranked(trials: Sequence[Mapping[str, Any]]) -> Section | None:
    done = [trial for trial in trials if trial["tuned"]]
    failed = [f"{trial['recipe']}: {trial['trouble']}" for trial in trials if trial["trouble"]]
    trouble = [table("What failed", ["recipe and why"], [[told] for told in failed])] if failed else []
    held = _held(done)
    shown = _beside_baselines(done, held) if held else _by_spread(done)
    return section("ranked", "Recipes", shown, *trouble)


def _beside_baselines(trials: Sequence[Mapping[str, Any]], held: Mapping[str, Any]) -> Markup:
    """Recipes on lists that they have not learnt from, and below them choices that need no learning."""
    baselines = [line for line in held["lines"] if line["name"] != "tuned"]
    ours = [(trial, _line_of(trial)) for trial in trials]
    lines = [*baselines, *(line for _, line in ours if line)]
    least, most = min(line["low"] for line in lines), max(line["high"] for line in lines)
    beside = next((line["score"] for line in baselines if line["name"] == held["best"]), None)
    places = 2 if max(line["score"] for line in lines) >= 2 else 4
    several = any(trial["runs"] > 1 for trial in trials)

    def shown(line: Mapping[str, Any] | None) -> list[str]:
        if line is None:
            return ["", ""]
        ends = f"[{number(line['low'], places)}, {number(line['high'], places)}]"
        return [ends, interval(line["score"], line["low"], line["high"], least, most, beside)]

    rows = []
    for trial, line in ours:
        mean = trial.get("held") or {"mean": None, "sd": None}
        p = trial["figures"]["p"] if line else None
        sd = number(mean["sd"], places) if trial["runs"] > 1 else ""
        scores = [number(trial["tuned"]["mean"], places), number(mean["mean"], places)]
        end = ["" if p is None else f"{p:.2g}", duration(trial["seconds"]), number(trial["distance"], 4)]
        rows.append([trial["recipe"], str(trial["runs"]), *scores, sd, *shown(line), *end])
    for line in baselines:
        name = f"{line['name']}: {line['note']}" if line["note"] else line["name"]
        rows.append([name, "", "", number(line["score"], places), "", *shown(line), "", "", ""])
    head = ["recipe", "runs", "learnt from", "held out", "sd", "95 % interval", "", "p", "CPU time",
            "distance of weights"]  # fmt: skip
    kept = [place for place, name in enumerate(head) if several or name not in ("runs", "sd", "distance of weights")]
    caption = f"{held['metric']} of lists held out: {held['how']} (p against the stroke: {held['best']})"
    return table(caption, [head[place] for place in kept], [[row[place] for place in kept] for row in rows])


def _line_of(trial: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """What the first run of a recipe scores on lists held out, with its interval."""
    lines = (trial.get("figures") or {"lines": []})["lines"]
    return next((line for line in lines if line["name"] == "tuned"), None)


def _by_spread(trials: Sequence[Mapping[str, Any]]) -> Markup:
    """Recipes on the lists that they have learnt from, or on others, where nothing is known beside."""
    held_out = any(trial["dev"] for trial in trials)
    name = "dev" if held_out else "tuned"
    scores = [trial[name][end] for trial in trials if trial[name] for end in ("min", "max")]
    places = 2 if max(scores, default=0.0) >= 2 else 4
    rows = []
    for trial in trials:
        if not (score := trial[name]):
            continue
        picture = interval(score["mean"], score["min"], score["max"], min(scores), max(scores))
        sd = number(score["sd"], places) if trial["runs"] > 1 else ""
        rows.append([trial["recipe"], str(trial["runs"]), number(trial["tuned"]["mean"], places),
                     *([number(score["mean"], places)] if held_out else []), sd, picture, duration(trial["seconds"]),
                     number(trial["distance"], 4)])  # fmt: skip
    head = ["recipe", "runs", "tuned", *(["held out"] if held_out else []), "sd", "least to greatest", "CPU time",
            "distance of weights"]  # fmt: skip
    return table("Means over runs", head, rows)


def _curves(runs: Mapping[str, Runs], metric: str) -> Section | None:
    drawn = [
        chart(title, [line for recipe, found in runs.items() for line in _line(recipe, found.rounds, name)],
              "round", metric)
        for name, title in (("score", f"{metric} on the lists tuned on"), ("dev", f"{metric} on held-out lists"))
    ]  # fmt: skip
    return section("curves", "Learning curves", charts(*drawn))


def _line(recipe: str, rounds: Iterable[Sequence[Mapping[str, Any]]], name: str) -> list[Line]:
    """The mean over runs, up to the end of the shortest run, with the range around it."""
    columns = [[row[name] for row in run if row.get(name) is not None] for run in rounds]
    if not (length := min(map(len, columns), default=0)):
        return []
    values = np.array([column[:length] for column in columns])
    at = range(1, length + 1)
    band = list(zip(at, values.min(axis=0).tolist(), values.max(axis=0).tolist(), strict=True))
    return [Line(recipe, list(zip(at, values.mean(axis=0).tolist(), strict=True)), band if len(columns) > 1 else ())]


def _weights(recipe: str, found: Runs) -> Markup:
    """Weights scaled to a length of 1, because their direction alone chooses the candidates."""
    scaled = [_scaled(weights) for weights in found.weights]
    seeds = [folder.path.suffix[1:] or "the recipe's seed" for folder in found.folders]
    return folded(recipe, scattered(scaled, seeds), shown=True)


def _scaled(weights: Weights) -> dict[str, float]:
    length = float(np.linalg.norm(weights.vector)) or 1.0
    return dict(zip(weights.features.names, (weights.vector / length).tolist(), strict=True))
