"""The page of a run of rampion tune."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import chain
from typing import Any

from rampion.formats import weights as weight_files
from rampion.report.charts import Line, chart, charts, interval
from rampion.report.explorer import START, Judged, explorer, packed, worst
from rampion.report.markup import Section, number, section, table, tag
from rampion.report.page import Figure, Page, certainty, made, spent, weighing
from rampion.runs.folder import RunFolder

Event = Mapping[str, Any]


def page(folder: RunFolder, judged: Judged | None, why: str = "") -> Page:
    """The page. `judged` has the lists and the weights for the explorer; if it is None, `why` says the reason."""
    events = folder.events
    rounds, iterations = ([event for event in events if event["event"] == kind] for kind in ("round", "iteration"))
    done = next((event for event in events if event["event"] == "done"), None)
    config, weights = folder.config, weight_files.read(folder.weights) if folder.weights.exists() else None
    held = packed(judged) if judged else None
    metric = (done or {}).get("metric") or config["metric"]
    return Page(
        folder.path.resolve().name,
        f"{config['recipe']}, tuned on {', '.join(config.get('lists') or [config.get('source', '')])} for {metric}"
        + ("" if done else "; the run has not finished"),
        _figures(done, iterations) if done else (),
        [
            _held(done) if done else None,
            standings(done, bool(config.get("weights"))) if done else None,
            curves(rounds, iterations, metric),
            explorer(held, judged.batch.metric, judged.alpha) if judged and held else _unexplored(why),
            section("worst", "Most to gain", worst(judged)) if judged else None,
            weighing(weights, before(judged)) if weights else None,
            spent(iterations or rounds, folder.manifest),
            made(folder, done.get("signature") if done else None),
        ],
        held,
    )


def before(judged: Judged | None) -> dict[str, float] | None:
    """The initial weights of the run, if they are known."""
    if judged is None or START not in judged.weights:
        return None
    return dict(zip(judged.batch.candidates.features.names, judged.weights[START].tolist(), strict=True))


def _unexplored(why: str) -> Section | None:
    return section("explorer", "k-best explorer", tag("p", why, class_="quiet"))


def _figures(done: Event, iterations: Sequence[Event]) -> list[Figure]:
    if "before" not in done:
        told = {"tuned": done["tuned"]} if "tuned" in done else {}
        if 0 < (chosen := done.get("iteration", 0)) <= len(iterations):
            best = iterations[chosen - 1]
            told = {"first decoding": iterations[0]["decoded"], "learnt": best["learnt"], "dev": best["dev"]}
        return [Figure(name, number(score)) for name, score in told.items() if score is not None]
    if done.get("held") and done["held"]["lines"]:
        told = done["held"]
        scores = {line["name"]: line["score"] for line in told["lines"]}
        places = 2 if max(scores.values()) >= 2 else 4
        sure = "" if told["p"] is None else f", {certainty(told['p'])}"
        labels = {told["best"]: told["best"], "tuned": "tuned, held out", "oracle": "oracle"}
        notes = {"tuned": f"{number(told['gain'], places, sign=True)} over {told['best']}{sure}"}
        found = [name for name in labels if name in scores]
        return [Figure(labels[name], number(scores[name], places), notes.get(name, "")) for name in found]
    held = [Figure("held out", number(done["dev"]["after"]["chosen"]))] if done.get("dev") else []
    scores = {"as listed": done["before"]["listed"], "tuned": done["after"]["chosen"]}
    notes = {"tuned": "on the lists learnt from"}
    figures = [Figure(name, number(score), notes.get(name, "")) for name, score in scores.items()]
    return [*figures, *held, Figure("oracle", number(done["after"]["oracle"]))]


def _held(done: Event) -> Section | None:
    """Scores of held-out lists: of choices that need no learning, of the tuned weights, and the best possible."""
    if not (told := done.get("held")) or not told["lines"]:
        return None
    lines = told["lines"]
    low, high = min(line["low"] for line in lines), max(line["high"] for line in lines)
    places = 2 if max(line["score"] for line in lines) >= 2 else 4
    best = next((line["score"] for line in lines if line["name"] == told["best"]), None)
    rows = [
        [
            line["name"], number(line["score"], places),
            f"[{number(line['low'], places)}, {number(line['high'], places)}]",
            interval(line["score"], line["low"], line["high"], low, high, best), line["note"],
        ]
        for line in lines
    ]  # fmt: skip
    sure = "" if told["p"] is None else f", p = {told['p']:.4f}"
    gain = f"Tuned minus {told['best']}: {number(told['gain'], places, sign=True)}{sure}."
    head = [told["metric"], "score", "95 % interval", "", ""]
    caption = f"Lists that the weights have not learnt from: {told['how']} (the stroke: {told['best']})"
    return section("held", "On lists held out", table(caption, head, rows, words=(0, 4)), tag("p", gain))


def standings(done: Event, initial: bool = True) -> Section | None:
    """Scores of the weights' choices, on the lists and on held-out ones, beside the best and the worst choices."""
    if "before" not in done:
        return None
    sides = [done, *([done["dev"]] if done.get("dev") else [])]
    told = {
        "as listed": ("before", "listed"), "initial weights": ("before", "chosen"), "tuned": ("after", "chosen"),
        "last round": ("last", "chosen"), "oracle": ("after", "oracle"), "worst": ("after", "worst"),
    }  # fmt: skip
    places = 2 if max(side[when][what] for side in sides for when, what in told.values()) >= 2 else 4
    rows = []
    for name, (when, what) in told.items():
        scores = [side[when][what] for side in sides]
        if (name != "last round" or done["round"]) and (name != "initial weights" or initial):
            gains = [score - side["before"]["listed"] for score, side in zip(scores, sides, strict=True)]
            pairs = zip(scores, gains, strict=True)
            cells = [(number(score, places), number(gain, places, sign=True)) for score, gain in pairs]
            rows.append([name, *chain.from_iterable(cells)])
    columns = ["on the lists", "held out"][: len(sides)]
    head = [done["metric"], *(cell for column in columns for cell in (column, "gain"))]
    return section("standing", "On the lists that were learnt from", table("Corpus scores", head, rows))


def _gather(iterations: Sequence[Event]) -> bool:
    """Whether the lists of earlier iterations are kept, so that their number tells something."""
    return any(row.get("candidates", 0) > row.get("listed", 0) for row in iterations)


def curves(rounds: Sequence[Event], iterations: Sequence[Event], metric: str) -> Section | None:
    """Charts of scores, loss and steps of all rounds, and of all iterations of a loop with a decoder."""
    x = "round of all iterations" if any(row["iteration"] > 1 for row in rounds) else "round"

    def line(name: str, label: str, rows: Sequence[Event] = rounds) -> Line:
        return Line(label, [(n, row[name]) for n, row in enumerate(rows, 1) if row.get(name) is not None])

    told = {"decoded": "first in the lists", "learnt": "after learning", "dev": "dev, decoded"}
    counts = {"listed": "listed", "candidates": "learnt from"} if _gather(iterations) else {}
    scores = [line("score", "tuning"), line("dev", "held out")]
    drawn = charts(
        chart(f"{metric} of every decoding", [line(*pair, iterations) for pair in told.items()], "iteration", metric),
        chart("Candidates", [line(*pair, iterations) for pair in counts.items()], "iteration", "candidates"),
        chart(f"{metric} of the choices of the weights", scores, x, metric),
        chart("Loss of all lists", [line("loss", "loss")], x, "loss"),
        chart("How far the weights moved", [line("moved", "moved")], x, "distance"),
        chart("Effective number of candidates (exp entropy)", [line("effective", "candidates")], x, "candidates"),
    )
    return section("curves", "Learning curves", drawn)
