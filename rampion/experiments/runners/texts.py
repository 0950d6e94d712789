"""Rows that learn with pairs and blocks filtered to the test."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from rampion.errors import InputError
from rampion.experiments.papers.tillmann_zhang.texts import Filtered
from rampion.experiments.runners import sets
from rampion.experiments.runners.inputs import Stock
from rampion.experiments.samples import Outcome

if TYPE_CHECKING:
    from rampion.decoder.system import System
    from rampion.decoder.text.corpus import Parallel

DEPENDS = tuple(name for name in sets.DEPENDS if name != "sentences")  # the test determines their number


def learn(stock: Stock, settings: Filtered, seed: int, folder: Path) -> Outcome:
    """Learn from the chosen pairs, with the chosen blocks."""
    pool = stock.pool
    system, lessons = blocks(pool, settings.blocks), pairs(pool, settings.pairs, seed)
    paced = replace(pool, scale=pool.scale._replace(sentences=len(lessons)))
    outcome = sets.train(paced, settings.training, seed, folder, (system, lessons))
    counted = {"sentences": len(lessons), "blocks": len(system.blocks.blocks.counts)}
    return replace(outcome, facts={**outcome.facts, **counted})


def pairs(pool: Stock, which: str, seed: int) -> Parallel:
    """The pairs of the pool that cover all its substrings of the test, or as many random pairs."""
    from rampion.decoder.text.coverage import covering

    lessons = pool.lessons
    rows, _ = covering(lessons.source, pool.system.test.source)
    if not len(rows):
        raise InputError(f"{pool.given}: no pair to train on shares a word with the test; is it of this language?")
    if which == "chance":
        rows = np.sort(np.random.default_rng(seed).permutation(len(lessons))[: len(rows)])
    return lessons.take(rows)


def blocks(pool: Stock, which: str) -> System:
    """The system with all its blocks, with those of pairs that cover the test, or with those that match the test."""
    from rampion.decoder.models.options import needed
    from rampion.decoder.system import Settings, System

    if which == "covering":
        return System.prepare(pool.texts[0], pool.out / "covering", Settings(covering=True), pool.threads)
    system = pool.system
    return replace(system, blocks=needed(system.blocks, system.test.source)) if which == "test" else system
