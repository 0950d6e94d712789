"""Align the words of parallel text, with the HMM aligner or another program."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

from rampion.console import note
from rampion.decoder.alignment import align as aligning
from rampion.decoder.alignment import links
from rampion.errors import FormatError, InputError, RecipeError
from rampion.formats import texts
from rampion.formats.files import shown
from rampion.store.text import Texts


@dataclass(frozen=True, slots=True, kw_only=True)
class AlignTask:
    """Two texts, the output file, and the aligner."""

    source: str
    target: str
    out: str
    symmetrise: str = "grow-diag-final-and"
    threads: int | None = None
    program: str | None = None
    timeout: float = 86400.0
    load: str | None = None
    save: str | None = None
    gold: str | None = None


class Aligned(NamedTuple):
    """The size of the alignment, and its agreement with the true alignment if that is known."""

    pairs: int
    points: int
    agreement: links.Agreement | None


def align(task: AlignTask, watch: Callable[[aligning.Round], None]) -> Aligned:
    """Write the alignment points of every pair, with a progress bar for rounds of training."""
    if sum(choice is not None for choice in (task.program, task.load, task.save)) > 1:
        raise RecipeError("--with, --load and --save: only one of them can be given")
    if task.symmetrise not in links.METHODS:
        raise RecipeError(f"--symmetrise {task.symmetrise}: expected one of {', '.join(links.METHODS)}")
    sources, targets = _read(task)
    lengths = links.lengths_of(sources), links.lengths_of(targets)
    truth = links.read(task.gold, lengths) if task.gold else None
    if task.program:
        command = "eflomal-align" if task.program == "eflomal" else task.program
        found = links.external(sources, targets, command=command, method=task.symmetrise, timeout=task.timeout)
    else:
        aligner = aligning.Aligner.load(task.load) if task.load else None
        aligner = aligner or aligning.Aligner.train(sources, targets, threads=task.threads, watch=watch)
        found = aligner.align(sources, targets, method=task.symmetrise, threads=task.threads)
        if task.save:
            aligner.save(task.save)
    links.write(task.out, found)
    passed = int(((lengths[0] > aligning.LONGEST) | (lengths[1] > aligning.LONGEST)).sum())
    if passed and not task.program:
        note(f"{passed} pairs with more than {aligning.LONGEST} words on a side were left without points")
    return Aligned(len(found), len(found.sources), links.compare(found, truth) if truth else None)


def _read(task: AlignTask) -> tuple[Texts, Texts]:
    sources, targets = texts.read(task.source), texts.read(task.target)
    if len(sources) != len(targets):
        raise FormatError(
            f"{shown(task.target)}: has {len(targets)} lines, and {shown(task.source)} has {len(sources)}; "
            "expected a translation in every line"
        )
    if not len(sources):
        raise InputError(f"{shown(task.source)}: holds no lines; expected a sentence in every line")
    return sources, targets
