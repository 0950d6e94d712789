"""Cost of many weights: `python benchmarks/bench_weights.py BLOCKS [COUNT [KEYED]]` prints a table.

COUNT named weights are drawn for blocks, their orientations and pairs of words of the block set, and KEYED ones of
random keys. Each step of the start of a command is taken in this process, one after another: its CPU seconds, and by
how much it raised the peak of memory. The tables for the search include those that every block has, weighed or not.
"""

from __future__ import annotations

import resource
import sys
import tempfile
from pathlib import Path
from time import process_time

import numpy as np
from rampion.decoder.block_decoder import INITIAL, BlockDecoder
from rampion.decoder.features.templates import NAMES, Templates
from rampion.decoder.models.blocks import BlockSet
from rampion.decoder.search.condense import condense
from run import table

from rampion.formats import weights as weight_files
from rampion.store.features import Features, Weights
from rampion.store.keys import Keys
from rampion.store.text import Texts

FEATURES = "pairs,lexical,reordering"


def drawn(blocks: BlockSet, count: int) -> Weights:
    """The weights of INITIAL, and so many sparse ones: seven of every block, and one of a pair of words for each."""
    rng, own = np.random.default_rng(0), blocks.blocks
    ranks = np.arange(len(own.sources)) - own.firsts[own.sources]
    fit = np.flatnonzero((ranks < 20) & (own.sources > 1))  # what a decoder with 20 options can use
    chosen = rng.permutation(fit)[: count // 8 + 1].astype(np.uint64)
    starts = [np.uint64(NAMES.index(name) + 1) << np.uint64(59) for name in ("P1", "H1", "H2", "W1")]
    columns = [starts[0] | chosen << np.uint64(8)]
    columns += [start | chosen << np.uint64(8) | np.uint64(code) for start in starts[1:3] for code in range(3)]
    pairs = [rng.integers(3, min(len(names), 1 << 19), len(chosen)).astype(np.uint64) for names in blocks.vocabularies]
    columns.append(starts[3] | pairs[0] << np.uint64(38) | pairs[1] << np.uint64(19))
    keys = np.stack(columns, 1).ravel()
    keys = keys[np.sort(np.unique(keys, return_index=True)[1])][:count]
    names = Texts.join([Texts.from_strings(INITIAL), Templates(blocks.vocabularies, own, "all").names(keys)])
    vector = np.append(list(INITIAL.values()), rng.normal(scale=0.01, size=len(keys)))
    return Weights(Features(names, len(INITIAL)), vector)


class Laps:
    """Steps, each with its CPU seconds and what it added to the peak of memory, per weight."""

    def __init__(self, count: int) -> None:
        self.count, self.rows = count, list[list[str]]()
        self.again()

    def again(self) -> None:
        self.start, self.peak = process_time(), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss

    def lap(self, step: str) -> None:
        peak, seconds = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, process_time() - self.start
        self.rows.append([step, f"{self.count:,}", f"{seconds:.2f}", f"{(peak - self.peak) * 1024 / self.count:.0f}"])
        self.again()


def named(blocks: BlockSet, paths: list[Path], laps: Laps) -> None:
    """From files of weights to the tables of the search, and to condensed blocks."""
    decoder = BlockDecoder(blocks, features=FEATURES)
    for path in paths:
        laps.again()
        weights = weight_files.read(path)
        laps.lap(f"read {path.suffix[1:]}")
    keyed = decoder.keyed(weights)
    laps.lap("names to keys")
    decoder.model(keyed)
    laps.lap("tables for the search")
    condense(blocks, weights)
    laps.lap("condense")


def main(arguments: list[str]) -> None:
    count, many = (int(one) for one in [*arguments[1:], *("2000000", "35000000")[len(arguments) - 1 :]])
    blocks = BlockSet.read(arguments[0])
    laps, every = Laps(count), Laps(many)
    with tempfile.TemporaryDirectory() as folder:
        paths = [Path(folder, f"weights.{ending}") for ending in ("txt", "bin")]
        weights = drawn(blocks, count)
        for path in paths:
            laps.again()
            weight_files.write(path, weights)
            laps.lap(f"write {path.suffix[1:]}")
        del weights
        named(blocks, paths, laps)
    keys = Keys(many)
    keys.enter(np.arange(1, many + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15))
    every.again()
    keys.set_weights(np.random.default_rng(0).normal(size=many))
    every.lap("set keyed weights")
    BlockDecoder(blocks, features="all").weighed({}, keys)
    every.lap("tables for the search")
    lines = table(["step", "weights", "CPU s", "bytes a weight more at peak"], laps.rows + every.rows)
    sys.stdout.write("\n".join(lines) + "\n")


if __name__ == "__main__":
    main(sys.argv[1:])
