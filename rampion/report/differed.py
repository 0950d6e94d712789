"""The page of two runs: what differs."""

from __future__ import annotations

from rampion.analysis.difference import Choices, Difference
from rampion.report.markup import Section, number, section, table, tag
from rampion.report.page import Page


def page(found: Difference) -> Page:
    """The page."""
    choices = found.choices
    figures = [("cosine of the weights", number(found.likeness["cosine"], 4))]
    if choices:
        names = f"{choices.metric}, first run", f"{choices.metric}, other run"
        figures = [
            *zip(names, (number(choices.score), number(choices.other_score)), strict=True),
            ("choices that changed", f"{choices.changed:,} of {choices.segments:,}"), *figures,
        ]  # fmt: skip
    same, head = tag("p", "All settings are the same.", class_="quiet"), ["feature", *found.runs, "change"]
    settings = [
        [name, *("–" if value is None else str(value) for value in pair)] for name, pair in found.settings.items()
    ]
    given = table("Settings that differ", ["setting", *found.runs], settings, words=(0, 1, 2)) if settings else same
    moved = [
        [tag("code", row.feature), number(row.one, 4), number(row.other, 4), number(row.other - row.one, 4, sign=True)]
        for row in found.moved
    ]
    others = [tag("p", f"{path} has other content.") for path in found.inputs]
    return Page(
        " and ".join(found.runs),
        f"What differs between {found.runs[0]} and {found.runs[1]}",
        figures,
        [
            _chosen(choices) if choices else section("choices", "Choices", tag("p", found.why, class_="quiet")),
            section("weights", "Weights that moved", table("The largest changes", head, moved)) if moved else None,
            section("settings", "Settings and inputs", given, *others),
        ],
    )


def _chosen(found: Choices) -> Section | None:
    """The segments whose choice changed."""
    equal = found.changed - found.better - found.worse
    told = (
        f"{found.changed:,} of {found.segments:,} segments have another choice: {found.better:,} better, "
        f"{found.worse:,} worse, {equal:,} that cost the same."
    )
    rows = [[row.segment, row.one, row.other, number(row.cost - row.other_cost, 3, sign=True)] for row in found.largest]
    head = ["segment", "first run", "other run", "cost saved"]
    largest = table("The largest differences", head, rows, words=(0, 1, 2))
    return section("choices", "Choices that changed", tag("p", told), largest)
