"""Leaving one out: `python benchmarks/bench_leaving.py FOLDER [--pairs N] [--sentences N]`, sentences/s of one thread.

FOLDER is a corpus folder (docs/formats.md). Blocks and a language model are made of its first pairs, links read or
learnt; the first sentences of the same text are decoded as always and with their own counts left out, in turns of 512.
All told: blocks found and scored, the search, 100-best lists and their features. Seconds are of CPU.
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Callable
from time import thread_time
from typing import TypeVar

import numpy as np
from rampion.decoder.alignment import align, links
from rampion.decoder.block_decoder import BATCH, BlockDecoder
from rampion.decoder.models import kneser
from rampion.decoder.models.extract import Settings, build
from rampion.decoder.search.search import search
from rampion.decoder.text.corpus import Corpus

from rampion.store.text import Texts

K, TURN = 100, 512
T = TypeVar("T")


class Decoding:
    """One way to decode, and the seconds that its parts take."""

    def __init__(self, system: BlockDecoder) -> None:
        self.system, self.model = system, system.model(system.initial)
        self.seconds: Counter[str] = Counter()
        self.score = 0.0

    def clocked(self, part: str, work: Callable[[], T]) -> T:
        start = thread_time()
        result = work()
        self.seconds[part] += thread_time() - start
        return result

    def batch(self, lines: Texts, first: int) -> None:
        """What BlockDecoder.decode does with a batch."""
        system, model = self.system, self.model
        batch = self.clocked("options", lambda: system.batch(lines, first, min(first + BATCH, len(lines))))
        self.clocked("scores of blocks", lambda: model.assess(batch.options.blocks))
        graph = self.clocked("search", lambda: search(batch.sentences, batch.options, model, system.settings))
        best = self.clocked("lists", lambda: system.kbest(batch, graph, K))
        self.clocked("features, texts", lambda: system.decoded(batch, best))
        self.score += float(best.scores[best.bounds[:-1][np.diff(best.bounds) > 0]].sum())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder")
    parser.add_argument("--pairs", type=int, default=50_000, help="that the blocks are made of")
    parser.add_argument("--sentences", type=int, default=5000, help="of them, to be decoded")
    options = parser.parse_args()
    train = Corpus.load(options.folder).train
    train = train.take(np.arange(min(options.pairs, len(train))))
    if train.links is None:
        points = align.align(train.source, train.target, threads=1)
    else:
        points = links.parsed(enumerate(map(str.strip, train.links), 1), options.folder)
    blocks = build(train.source, train.target, points, Settings(top=30), threads=1)
    lines = train.source.take(np.arange(min(options.sentences, len(train))))
    words = sum(len(line.split()) for line in lines) / len(lines)
    print(f"{options.folder}: {len(train)} pairs, {len(blocks.blocks.counts):,} blocks; ", end="")
    print(f"{len(lines)} sentences of {words:.1f} words, {K}-best", flush=True)
    usual = BlockDecoder(blocks, kneser.estimate(train.target, 4).lm)
    start = thread_time()
    left = usual.leaving_out(train.source, train.target, points)
    print(f"made ready in {thread_time() - start:.2f} s")
    ways = {"as always": Decoding(usual), "left out": Decoding(left)}
    for turn in range(0, len(lines), TURN):
        for way in ways.values():
            for first in range(turn, min(turn + TURN, len(lines)), BATCH):
                way.batch(lines, first)
    print(f"{'ms a sentence':24}" + "".join(f"{name:>12}" for name in ways))
    for part in next(iter(ways.values())).seconds:
        print(f"{part:24}" + "".join(f"{1e3 * way.seconds[part] / len(lines):12.3f}" for way in ways.values()))
    speeds = [len(lines) / way.seconds.total() for way in ways.values()]
    print(
        f"{'sentences/s':24}" + "".join(f"{speed:12.0f}" for speed in speeds) + f"  ratio {speeds[1] / speeds[0]:.2f}"
    )
    print(f"{'score of the best':24}" + "".join(f"{way.score / len(lines):12.3f}" for way in ways.values()))


if __name__ == "__main__":
    main()
