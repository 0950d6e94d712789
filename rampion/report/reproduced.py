"""The page of experiments: our numbers beside the paper's, and verdicts on the paper's claims."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from rampion.report.charts import Line, chart, charts, interval, scatter
from rampion.report.markup import Markup, Section, facts, folded, joined, number, section, short, table, tag
from rampion.report.page import Figure, Page, versions

Results = Mapping[str, Any]

SIGNS = {"holds": "✓", "does not hold": "✗", "within noise": "≈", "cannot tell at this size": "?"}


def page(title: str, experiments: Sequence[Results]) -> Page:
    """The page. `experiments` are the results that `rampion reproduce` writes, one for each table or figure."""
    first = experiments[0]
    verdicts = [relation["verdict"] for one in experiments for relation in one["relations"]]
    figures = [Figure(name, str(verdicts.count(name))) for name in SIGNS]
    return Page(
        title,
        f"Reproduced at {first.get('scale', 'full')} scale on {first.get('corpus', '?')}",
        figures,
        [*map(_experiment, experiments),
         section("made", "Configuration and versions",
                 facts([(name, str(first[name])) for name in ("scale", "corpus") if name in first]), versions(first),
                 *map(_settings, experiments))],
    )  # fmt: skip


def _experiment(one: Results) -> Section | None:
    name = one["experiment"]
    return section(
        name.replace("/", "-"), one["title"],
        *([tag("p", one["note"], class_="quiet")] if one["note"] else []),
        _numbers(one), _verdicts(one["relations"]), charts(*_points(one), *_curves(one["rows"])),
    )  # fmt: skip


def _numbers(one: Results) -> Markup:
    """The table of numbers. Each measure has three cells: ours, its interval, and the paper's."""
    measures = list(dict.fromkeys(name for row in one["rows"] for name in (*row["measured"], *row["paper"])))
    titles = one.get("columns", {})
    printed = {name for row in one["rows"] for name in row["paper"]}
    spans = {name: _span(one["rows"], name) for name in measures}
    rows = []
    for row in one["rows"]:
        cells = [row["row"]]
        for name in measures:
            score, paper = row["measured"].get(name), row["paper"].get(name)
            picture = interval(score["score"], score["low"], score["high"], *spans[name], paper) if score else ""
            cells += [_score(score), picture]
            if name in printed:
                cells.append(number(paper, 1) if paper is not None else "")
        rows.append(cells)
    head = [""]
    for name in measures:
        head += [titles.get(name, name), "", *(["paper"] if name in printed else [])]
    return table("Ours with its 95 % interval, beside the paper's (the stroke)", head, rows)


def _span(rows: Sequence[Results], name: str) -> tuple[float, float]:
    ends = [row["measured"][name][end] for row in rows if name in row["measured"] for end in ("low", "high")]
    ends += [row["paper"][name] for row in rows if name in row["paper"]]
    return (min(ends), max(ends)) if ends else (0.0, 1.0)


def _score(score: Mapping[str, float] | None) -> str:
    if not score:
        return ""
    return joined(
        [number(score["score"], 2), tag("small", f" [{number(score['low'], 2)}, {number(score['high'], 2)}]")]
    )


def _verdicts(relations: Sequence[Results]) -> Markup:
    rows = []
    for one in relations:
        verdict = one["verdict"]
        badge = tag("span", f"{SIGNS.get(verdict, '')} {verdict}", class_=f"verdict v{list(SIGNS).index(verdict)}")
        rows.append([one["id"], one["kind"], badge, joined([tag("p", one["sentence"]), *map(_claim, one["claims"])])])
    return table("The paper's claims", ["", "kind", "verdict", "relation"], rows, words=(0, 1, 2, 3))


def _claim(claim: Results) -> Markup:
    """A claim's difference, with its interval as a whisker; the stroke is at 0."""
    value, low, high = (claim[name] for name in ("value", "low", "high"))
    reach = max(abs(low), abs(high)) or 1.0
    told = f"{claim['text']}: {short(value)} [{short(low)}, {short(high)}]"
    if claim.get("p") is not None:
        told += f", p = {claim['p']:.2g}"
    return tag("p", interval(value, low, high, -reach, reach, beside=0.0), tag("span", told), class_="claim")


def _curves(rows: Sequence[Results]) -> list[Markup]:
    """A chart for every kind of curve: each row's mean over runs, with the range around it."""
    names = dict.fromkeys(name for row in rows for run in row["curves"] for name in run)
    return [
        chart(name, [line for row in rows for line in _line(row["row"], row["curves"], name)], "iteration", name)
        for name in names
    ]


def _points(one: Results) -> list[Markup]:
    found = one.get("scatter")
    return [scatter(f"{found['y']} by {found['x']}", found["points"], found["x"], found["y"])] if found else []


def _line(label: str, runs: Sequence[Results], name: str) -> list[Line]:
    columns = [run[name] for run in runs if name in run]
    if not (length := min(map(len, columns), default=0)):
        return []
    values = np.array([column[:length] for column in columns], np.float64)
    at = np.flatnonzero(np.isfinite(values).all(axis=0))
    values, places = values[:, at], (at + 1).tolist()
    band = list(zip(places, values.min(axis=0).tolist(), values.max(axis=0).tolist(), strict=True))
    return [Line(label, list(zip(places, values.mean(axis=0).tolist(), strict=True)), band if len(columns) > 1 else ())]


def _settings(one: Results) -> Markup:
    """The settings of each row, and the facts of its runs."""
    rows = [
        [row["row"], ", ".join(f"{name} {value}" for name, value in row["settings"].items() if value is not None),
         "; ".join(", ".join(f"{name} {value}" for name, value in run.items()) for run in row["runs"])]
        for row in one["rows"]
    ]  # fmt: skip
    told = table("Rows", ["row", "settings", "runs"], rows, words=(0, 1, 2))
    return folded(f"Settings of {one['experiment']}", told, _weights(one["rows"]))


def _weights(rows: Sequence[Results]) -> Markup:
    """The final weights of every row: means over runs and ranges, scaled so that absolute values sum to 1."""
    runs = {row["row"]: [_scaled(run) for run in row.get("weights", []) if run] for row in rows}
    runs = {label: found for label, found in runs.items() if found}
    names = dict.fromkeys(name for found in runs.values() for run in found for name in run)
    if not names:
        return Markup()
    lines = [
        [name, *(_spread([run[name] for run in found if name in run]) for found in runs.values())] for name in names
    ]
    return table("Final weights, scaled so that their absolute values sum to 1", ["", *runs], lines)


def _scaled(weights: Mapping[str, float]) -> dict[str, float]:
    total = sum(map(abs, weights.values())) or 1.0
    return {name: weight / total for name, weight in weights.items()}


def _spread(values: Sequence[float]) -> str:
    if not values:
        return ""
    around = f" [{number(min(values), 3)}, {number(max(values), 3)}]" if len(values) > 1 else ""
    return f"{number(sum(values) / len(values), 3)}{around}"
