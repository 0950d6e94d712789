"""The page of rampion learn: what each step is worth, how far learning went on held-out lists, and the time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rampion.report.charts import Line, chart, charts, interval
from rampion.report.markup import Section, duration, number, section, table, tag
from rampion.report.page import Figure, Page, configured, gained, versions
from rampion.runs.folder import RunFolder

Results = Mapping[str, Any]

RESULTS = "results.json"
STAGES = {
    "system": "Alignment, blocks, language model", "dense": "Tuning of fourteen features",
    "lists": "Lists of the training text", "learnt": "Learning", "tuned": "Tuning with the learnt columns",
    "results": "Translating dev and test",
}  # fmt: skip
METRICS = {"dev bleu": "dev BLEU", "test bleu": "test BLEU", "test chrf": "test chrF", "test ter": "test TER"}


def page(folder: RunFolder, results: Results) -> Page:
    """The page of a folder and of the content of its results.json."""
    scores = {name: row["test bleu"] for name, row in results["table"].items()}
    figures = [Figure(name, number(score["score"], 2), _note(score)) for name, score in scores.items()]
    return Page(
        folder.path.resolve().name,
        f"Features learnt from the whole training text: {results['features']}. BLEU of the test text:",
        figures,
        [_steps(results), _course(results["course"]), _times(folder.events), _made(folder, results)],
    )


def _note(score: Results) -> str:
    if "gain" not in score:
        return ""
    gain = {"score": score["gain"], "low": score["gain_low"], "high": score["gain_high"]}
    return gained(gain, score["p"], "dense tuning")


def _steps(results: Results) -> Section | None:
    """Every step by every measure, with its interval, and its gain over dense tuning."""
    tables = []
    for measure, title in METRICS.items():
        scores = {name: row[measure] for name, row in results["table"].items()}
        ends = [score[end] for score in scores.values() for end in ("low", "high")]
        rows = []
        for name, one in scores.items():
            picture = interval(one["score"], one["low"], one["high"], min(ends), max(ends))
            cells = [name, number(one["score"], 2), _span(one["low"], one["high"]), picture]
            gain = ["", "", ""]
            if "gain" in one:
                span = _span(one["gain_low"], one["gain_high"])
                gain = [number(one["gain"], 2, sign=True), span, f"{one['p']:.4f}"]
            rows.append([*cells, *gain])
        tables.append(table(title, ["step", "score", "95 % interval", "", "gain", "95 % interval", "p"], rows))
    about = "Scores are means over the runs of MERT; gains are over dense tuning, p by approximate randomisation."
    return section("steps", "What each step is worth", tag("p", about, class_="lead"), *tables)


def _course(course: Results) -> Section | None:
    """Expected BLEU of the held-out lists, step by step."""
    lines = [
        Line(_settings(trial), [(0.0, course["before"]), *enumerate(trial["curve"], 1)]) for trial in course["trials"]
    ]
    told = (
        f"{course['features']:,} features and {course.get('groups', 0):,} groups of them learn; {course['nonzero']:,} "
        f"features have a weight of their own after {course['steps']} steps. "
        f"Expected BLEU of the held-out lists rises from {course['before']:.2f} to {course['held_out']:.2f}."
    )
    drawn = charts(chart("Expected BLEU of the held-out lists", lines, "step", "expected BLEU"))
    return section("course", "Learning", tag("p", told, class_="lead"), drawn)


def _settings(trial: Results) -> str:
    return ", ".join(f"{name} {trial[name]:g}" for name in ("rate", "l2") if name in trial) or "as it is"


def _times(events: Sequence[Mapping[str, Any]]) -> Section | None:
    done = {event["stage"]: event for event in events if event["event"] == "stage"}
    rows = [
        [said, duration(done[name]["seconds"]), number(done[name]["cores"], 2) if "cores" in done[name] else ""]
        for name, said in STAGES.items()
        if name in done
    ]
    head = ["stage", "time", "processors kept busy"]
    return section("times", "Time", table("Time of every stage, the first time", head, rows))


def _made(folder: RunFolder, results: Results) -> Section | None:
    signatures = [tag("p", tag("code", said)) for said in results["signatures"].values()]
    return section(
        "made", "Configuration and versions", *signatures, versions(folder.manifest), configured(folder, "The run")
    )


def _span(low: float, high: float) -> str:
    return f"[{number(low, 2)}, {number(high, 2)}]"
