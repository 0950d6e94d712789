"""Kinds of findings, the worst first, and findings as sentences."""

from __future__ import annotations

from collections.abc import Sized
from dataclasses import dataclass

from rampion.store.candidates import Candidates

KINDS = (
    "transposed references",
    "misaligned references",
    "empty references",
    "collapsed weights",
    "leak",
    "casing",
    "tokenisation",
    "lengths",
    "nothing to learn",
    "no features",
    "one-sided features",
    "empty hypotheses",
    "empty lists",
    "identical references",
    "constant features",
    "repeated candidates",
    "few texts",
    "unlabelled",
    "ragged lists",
)

ENOUGH = 10  # the least number of cases for a finding; fewer may be chance


@dataclass(frozen=True, slots=True)
class Finding:
    """A problem: a sentence with advice, and the first place where it occurs (candidates are counted from 0)."""

    kind: str
    sentence: str
    segment: str | None = None
    candidate: int | None = None
    feature: str | None = None


def where(lists: Candidates, i: int) -> tuple[str, int]:
    """The segment of candidate i, and the candidate's index in its list."""
    s = int(lists.bounds.searchsorted(i, side="right")) - 1
    return lists.segments[s], i - int(lists.bounds[s])


def count(things: Sized, one: str, many: str) -> str:
    return f"{len(things)} {one if len(things) == 1 else many}"
