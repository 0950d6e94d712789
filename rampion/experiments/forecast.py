"""What an experiment takes, told before it begins: time, memory, disk, and what difference its test can tell.

The sentences that the missing runs decode are counted, and a decoding of the test is timed. So the time is that of
decoding; learning comes on top of it. The difference is half of the 95 % interval of the gain between two systems that
are alike: the base with its initial weights, and with weights drawn closely around them.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterable
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, NamedTuple, Self

import numpy as np

from rampion.analysis.significance import paired_bootstrap
from rampion.experiments.samples import BLEU
from rampion.store.features import Weights
from rampion.system import resident
from rampion.training.memory import gigabytes

if TYPE_CHECKING:
    from rampion.decoder.system import System

CLOSE = 0.1  # the standard deviation of a drawn weight, as a share of its size
BYTES = 600  # of a candidate with pairs, lexical and reordering: 480 on Fisher, 750 on Europarl
SAMPLE = 200  # sentences that are decoded to be timed


class Load(NamedTuple):
    """What a run does: sentences that it decodes, candidates in memory at a time, and candidates that it keeps.

    Runs with the same `shared` name make it once, for all of them.
    """

    decoded: int
    held: int = 0
    kept: int = 0
    shared: tuple[str, ...] = ()

    @classmethod
    def joined(cls, loads: Iterable[Self]) -> Load:
        """All runs, one after the other."""
        decoded = held = kept = 0
        done = set[tuple[str, ...]]()
        for load in loads:
            if load.shared and load.shared in done:
                continue
            done.add(load.shared)
            decoded, held, kept = decoded + load.decoded, max(held, load.held), kept + load.kept
        return Load(decoded, held, kept)


class Speed(NamedTuple):
    """Sentences a second, and the smallest difference in test BLEU that can be told from 0."""

    sentences: float
    tells: float


def speed(system: System, features: str, threads: int, beam: int) -> Speed:
    """Time the decoding of the test, and resample two translations of it."""
    decoder = system.decoder(features, threads=threads, beam=beam, pops=10 * beam)
    test, usual = system.test, decoder.initial
    draws = np.random.default_rng(1).normal(usual.vector, CLOSE * np.abs(usual.vector))
    decoder.best(test.source.take(np.arange(min(SAMPLE, len(test)))), usual)  # scores of blocks are computed once
    begun = perf_counter()
    said = [decoder.best(test.source, weights) for weights in (usual, Weights(usual.features, draws))]
    pace = 2 * len(test) / (perf_counter() - begun)
    first, second = (BLEU.statistics(texts, np.arange(len(test) + 1), test.references) for texts in said)
    gain = paired_bootstrap(BLEU, first, second)
    return Speed(pace, (gain.high - gain.low) / 2)


def sentence(load: Load, found: Speed, out: Path) -> str:
    """What is told."""
    seconds = load.decoded / found.sentences
    time = f"{seconds / 3600:.1f} h" if seconds >= 3600 else f"{max(1, round(seconds / 60))} min"
    room = shutil.disk_usage(out).free
    return (
        f"{load.decoded:,} sentences to decode, about {time} at {found.sentences:.0f} a second, learning not counted; "
        f"about {gigabytes(resident() + BYTES * load.held)} of memory and {gigabytes(BYTES * load.kept)} of disk "
        f"({gigabytes(room)} are free); the test can tell differences of about {found.tells:.2f} BLEU from 0"
    )
