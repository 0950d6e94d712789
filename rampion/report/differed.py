"""The page of two runs: what differs."""

from __future__ import annotations

from rampion.analysis.difference import Changed, Choices, Difference
from rampion.report.markup import Markup, Section, number, section, table, tag
from rampion.report.page import Figure, Page, gained
from rampion.report.words import compared


def page(found: Difference) -> Page:
    """The page."""
    choices = found.choices
    one, other = found.runs
    same, head = tag("p", "All settings are the same.", class_="quiet"), ["feature", one, other, "change"]
    settings = [
        [name, *("–" if value is None else str(value) for value in pair)] for name, pair in found.settings.items()
    ]
    given = table("Settings that differ", ["setting", one, other], settings, words=(0, 1, 2)) if settings else same
    moved = [
        [tag("code", row.feature), number(row.one, 4), number(row.other, 4), number(row.other - row.one, 4, sign=True)]
        for row in found.moved
    ]
    others = [tag("p", f"{path} has other content.") for path in found.inputs]
    return Page(
        f"{one} and {other}",
        f"What differs between {one} and {other}"
        + (f"; {choices.metric} is of what they choose from the lists of {one}" if choices else ""),
        [*(_figures(choices, found.runs) if choices else ()),
         Figure("cosine of the weights", number(found.likeness["cosine"], 4))],
        [
            _chosen(choices, found.runs)
            if choices
            else section("choices", "Choices", tag("p", found.why, class_="quiet")),
            section("weights", "Weights that moved", table("The largest changes", head, moved)) if moved else None,
            section("settings", "Settings and inputs", given, *others),
        ],
    )  # fmt: skip


def _figures(found: Choices, runs: tuple[str, str]) -> list[Figure]:
    """The scores of both, how sure their difference is, and how many choices it comes from."""
    places = 2 if max(found.score, found.other_score) >= 2 else 4
    gain = {"score": found.gain, "low": found.low, "high": found.high}
    equal = found.changed - found.better - found.worse
    split = f"{found.better:,} better, {found.worse:,} worse, {equal:,} of the same score"
    return [
        Figure(f"{runs[0]}, {found.metric}", number(found.score, places)),
        Figure(f"{runs[1]}, {found.metric}", number(found.other_score, places), gained(gain, found.p, runs[0], places)),
        Figure("choices that changed", f"{found.changed:,} of {found.segments:,}", split),
    ]


def _chosen(found: Choices, runs: tuple[str, str]) -> Section | None:
    """The segments whose choice changed."""
    marks = tag("ins", "only here"), ", ", tag("del", f"only in {runs[0]}")
    told = (f"The segments where most changed. Words of {runs[1]} are compared: ", *marks, ".")
    rows = [
        [row.segment, number(row.other_score - row.score, 3, sign=True), _texts(row, runs)] for row in found.largest
    ]
    head = ["segment", "change", f"{found.metric}, and what is chosen"]
    largest = table("The largest differences", head, rows, words=(0, 2))
    return section("choices", "Choices that changed", tag("p", *told, class_="quiet"), largest)


def _texts(row: Changed, runs: tuple[str, str]) -> Markup:
    """What each run chooses."""
    said = (row.score, " ".join(row.one.split())), (row.other_score, compared(row.other, [row.one]))
    lines = [
        tag("div", tag("dt", f"{run} {number(score, 3)}"), tag("dd", text, dir="auto"))
        for run, (score, text) in zip(runs, said, strict=True)
    ]
    return tag("dl", *lines, class_="said-of")
