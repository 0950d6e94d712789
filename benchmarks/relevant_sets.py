"""Relevant sets made by a seed, with the statistics of those of a phrase-based system and any number of features.

A sentence is a row of segments, each in one of some variants. A candidate takes the first variant of most segments and
any other, by Zipf's law, of the rest; no two of a sentence are alike. The features of a candidate are some of each
segment, of each variant it takes and of each pair of neighbouring variants, drawn by the law of Zipf and Mandelbrot:
the smaller an id the more frequent. Everything is a hash of the seed and of where it stands, so that any part can be
made alone.

Means of 300 sentences (active: features of a candidate; overlap: those that another has too; U: distinct ones of a
sentence; G: sets of candidates they belong to, without that of all):

             candidates    active  overlap       U       G
    PAPER             5       286     0.71     509      15
                     35       286     0.68    1604     160
    DECODER           5       206     0.29     655      22
                     35       206     0.28    1910     249
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from rampion.sets.records import Records

EXPONENT, SHIFT = 1.05, 30.0  # of Zipf and Mandelbrot
NONE, START = 31, 30  # in place of a variant
STRIDE = 21_456_763  # spreads ids over all of memory; it shares no factor with the number of features
ENTRIES = 1 << 20  # features made at a time
TRUTHS, LIFT = 5, 0.3  # the first candidates gain so much of what they lack

Row = NDArray[np.uint64]


@dataclass(frozen=True, slots=True)
class Shape:
    """Statistics of generated relevant sets; `pieces`: features of a segment, of a variant and of a pair of them."""

    sentences: int = 230_000
    candidates: int = 35
    features: int = 35_000_000
    segments: tuple[int, int] = (6, 14)
    variants: int = 20
    pieces: tuple[int, int, int] = (8, 14, 8)
    kept: float = 0.82  # of the segments are in their first variant
    skew: float = 0.8
    hashed: bool = False  # ids are no longer ranked
    seed: int = 1


PAPER = Shape()
DECODER = Shape(segments=(4, 10), pieces=(2, 24, 4), kept=0.4, skew=1.2)


class RelevantSets:
    """Candidates of generated sentences: the first TRUTHS of each are truths, those of greater gain."""

    def __init__(self, shape: Shape) -> None:
        least, most = shape.segments
        numbers = np.arange(shape.sentences, dtype=np.uint64)
        self.shape = shape
        self.segments = (least + _mixed(numbers, shape.seed, 0) % np.uint64(most - least + 1)).astype(np.int64)
        self.choices = np.empty((shape.sentences, shape.candidates, most), np.uint8)
        for start in range(0, shape.sentences, 1000):
            self._choose(slice(start, start + 1000))

    def records(self, sentences: range, candidates: range) -> Records:
        """Those candidates of those sentences, the sentences one after the other."""
        step = max(ENTRIES // (len(candidates) * max(self.shape.segments) * sum(self.shape.pieces)), 1)
        starts = range(sentences.start, sentences.stop, step)
        parts = [self._part(range(start, min(start + step, sentences.stop)), candidates) for start in starts]
        sizes, ids, gains, prints = (np.concatenate(column) for column in zip(*parts, strict=True))
        bounds = np.arange(len(sentences) + 1) * len(candidates)
        return Records(bounds, _bounds(sizes), ids, np.empty((len(sizes), 0)), gains, prints)

    def steps(self, cuts: Sequence[int]) -> Iterator[Records]:
        """Of all sentences, the candidates from each cut to the next."""
        for start, end in pairwise(cuts):
            yield self.records(range(self.shape.sentences), range(start, end))

    def _choose(self, part: slice) -> None:
        """Draw variants, and again where a candidate is like an earlier one."""
        shape, choices, segments = self.shape, self.choices[part], self.segments[part]
        rest = np.arange(1.0, shape.variants) ** -shape.skew
        limits = np.cumsum(np.concatenate([[shape.kept], (1 - shape.kept) * rest / rest.sum()]))[:-1]
        places = np.arange(choices.shape[2], dtype=np.uint64)
        sentence, candidate = (index.ravel() for index in np.indices(choices.shape[:2]))
        digits = np.uint64(shape.variants) ** places
        codes = np.empty(choices.shape[:2], np.uint64)
        attempt = 0
        while len(sentence):
            where = (np.uint64(part.start) + sentence.astype(np.uint64)) << np.uint64(20) | candidate.astype(np.uint64)
            where = (where << np.uint64(8) | np.uint64(attempt)) << np.uint64(4)
            drawn = np.searchsorted(limits, _unit(_mixed(where[:, None] + places, shape.seed, 1)), "right")
            drawn[places >= segments[sentence, None]] = 0
            choices[sentence, candidate] = drawn
            codes[sentence, candidate] = drawn.astype(np.uint64) @ digits
            order = np.argsort(codes, axis=1, kind="stable")
            ranked = np.take_along_axis(codes, order, 1)
            row, later = np.nonzero(ranked[:, 1:] == ranked[:, :-1])
            sentence, candidate = row, order[row, later + 1]
            attempt += 1

    def _part(
        self, sentences: range, candidates: range
    ) -> tuple[NDArray[np.int64], NDArray[np.uint32], NDArray[np.float64], Row]:
        """Sizes, ids, gains and prints of some candidates."""
        shape = self.shape
        choices = self.choices[sentences.start : sentences.stop, candidates.start : candidates.stop]
        used = np.arange(choices.shape[2]) < self.segments[sentences.start : sentences.stop, None]
        used = np.broadcast_to(used[:, None], choices.shape)
        before = np.concatenate([np.full((*choices.shape[:2], 1), START, np.uint8), choices[:, :, :-1]], axis=2)
        sentence, candidate, segment = (index.astype(np.uint64) for index in np.nonzero(used))
        where = (np.uint64(sentences.start) + sentence) << np.uint64(8) | segment
        pairs = [(NONE, NONE), (NONE, choices[used]), (before[used], choices[used])]
        kinds = zip(pairs, shape.pieces, strict=True)
        codes = [_code(where, *pair)[:, None] + np.arange(pieces, dtype=np.uint64) for pair, pieces in kinds]
        ids = self._ranks(_unit(_mixed(np.concatenate(codes, axis=1), shape.seed, 2)))
        owner = sentence * np.uint64(len(candidates)) + candidate
        keys = np.sort((owner[:, None] << np.uint64(32) | ids).ravel())
        keys = keys[np.concatenate([[True], keys[1:] != keys[:-1]])]
        starts = np.searchsorted(keys, np.arange(len(sentences) * len(candidates), dtype=np.uint64) << np.uint64(32))
        found = keys.astype(np.uint32)
        planted = np.add.reduceat(_unit(_mixed(found.astype(np.uint64), shape.seed, 3)) - 0.5, starts)
        gains = 1 / (1 + np.exp(0.5 - planted / 6))
        gains += LIFT * (1 - gains) * np.tile(np.array(candidates) < TRUTHS, len(sentences))
        prints = np.add.reduceat(_mixed(found.astype(np.uint64), 0, 0), starts)
        return np.diff(starts, append=len(found)), found, gains, prints

    def _ranks(self, parts: NDArray[np.float64]) -> Row:
        """The ids that so large parts of all occurrences belong to."""
        first, last = ((n + SHIFT + 0.5) ** (1 - EXPONENT) for n in (0, self.shape.features))
        ranks = ((first - parts * (first - last)) ** (1 / (1 - EXPONENT)) - SHIFT - 0.5).astype(np.uint64)
        np.clip(ranks, 0, self.shape.features - 1, out=ranks)
        return ranks * np.uint64(STRIDE) % np.uint64(self.shape.features) if self.shape.hashed else ranks


def _code(where: Row, before: int | NDArray[np.uint8], here: int | NDArray[np.uint8]) -> Row:
    pair = np.asarray(before, np.uint64) << np.uint64(5) | np.asarray(here, np.uint64)
    return (where << np.uint64(10) | pair) << np.uint64(8)


def _mixed(numbers: Row, seed: int, purpose: int) -> Row:
    """SplitMix64 of each."""
    mixed = numbers + np.uint64((1 + 0x9E3779B97F4A7C15 * (4 * seed + purpose)) % 2**64)
    mixed = (mixed ^ mixed >> np.uint64(30)) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ mixed >> np.uint64(27)) * np.uint64(0x94D049BB133111EB)
    return mixed ^ mixed >> np.uint64(31)


def _unit(numbers: Row) -> NDArray[np.float64]:
    """Numbers from 0 on, below 1."""
    return (numbers >> np.uint64(11)) * 2.0**-53


def _bounds(sizes: NDArray[np.int64]) -> NDArray[np.int64]:
    return np.concatenate([[0], np.cumsum(sizes)])


def statistics(shape: Shape) -> tuple[float, float, float, float]:
    """Active features of a candidate, the share of them that another has too, U, and G without what all have."""
    sets, found = RelevantSets(shape), []
    for number in range(shape.sentences):
        made = sets.records(range(number, number + 1), range(shape.candidates))
        _, local = np.unique(made.ids, return_inverse=True)
        matrix = np.zeros((shape.candidates, local.max() + 1), np.float32)
        matrix[np.repeat(np.arange(shape.candidates), np.diff(made.id_bounds)), local] = 1
        shared = matrix @ matrix.T
        active = float(np.trace(shared)) / shape.candidates
        overlap = (float(shared.sum()) / shape.candidates - active) / (shape.candidates - 1) / active
        masks = {column.tobytes() for column in matrix.T if not column.all()}
        found.append((active, overlap, matrix.shape[1], len(masks)))
    active, overlap, distinct, groups = np.mean(found, axis=0)
    return active, overlap, distinct, groups


def main() -> None:
    sentences = int(sys.argv[1]) if len(sys.argv) > 1 else 2000
    print(f"{'':9}{'candidates':>12}{'active':>10}{'overlap':>9}{'U':>8}{'G':>8}{'active/U':>10}")
    for name, shape in (("PAPER", PAPER), ("DECODER", DECODER)):
        for candidates in (5, 15, 30, 35):
            active, overlap, distinct, groups = statistics(replace(shape, sentences=sentences, candidates=candidates))
            share = candidates * active / distinct
            print(f"{name:9}{candidates:12}{active:10.0f}{overlap:9.2f}{distinct:8.0f}{groups:8.0f}{share:10.2f}")


if __name__ == "__main__":
    main()
