"""Texts compared word by word."""

from __future__ import annotations

from collections.abc import Sequence
from difflib import SequenceMatcher

from rampion.report.markup import Markup, safe, tag


def compared(text: str, references: Sequence[str]) -> Markup:
    """The text, with marks on words that the nearest reference lacks, and the words that are missing."""
    words, wanted = text.split(), [reference.split() for reference in references]
    matchers = [SequenceMatcher(None, reference, words, autojunk=False) for reference in wanted]
    nearest = max(range(len(wanted)), key=lambda n: matchers[n].ratio())
    parts = list[str]()
    for kind, i, j, first, last in matchers[nearest].get_opcodes():
        more, less = " ".join(words[first:last]), " ".join(wanted[nearest][i:j])
        told = [safe(more)] if kind == "equal" else [tag("ins", more) if more else "", tag("del", less) if less else ""]
        parts += filter(None, told)
    return Markup(" ".join(parts))
