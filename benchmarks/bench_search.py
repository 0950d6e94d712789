"""Speed of the search: `python benchmarks/bench_search.py [--plot curve.svg]`, sentences/s of CPU on one core.

`--memory` instead shows what 10 million blocks and 35 million features take while a batch is decoded.

Sentences of 24 words, about 20 blocks of every span of up to 8 words, all templates of S10.2 and a table of 5 million
weights (benchmarks/searchable.py). All told: blocks found and scored, the search, its best derivation and the features
that fires. The first pass has scored no block yet; the passes after it find the scores of all their blocks. A score is
the mean over the sentences of what the model gives the best derivation.
"""

from __future__ import annotations

import resource
import sys
from copy import copy
from math import inf
from pathlib import Path
from time import perf_counter, process_time

import numpy as np
from rampion.decoder import _kernels
from rampion.decoder._reference.search import search as twin
from rampion.decoder.features.templates import Templates
from rampion.decoder.models.blocks import Blocks, Vocabularies
from rampion.decoder.models.lm import Grams, Lm
from rampion.decoder.models.options import Graph, Options, Sentences
from rampion.decoder.search.kbest import kbest
from rampion.decoder.search.model import Model
from rampion.decoder.search.search import EVERYTHING, Search, search
from rampion.decoder.search.states import MON, Reordering
from searchable import ALL, Searchable, searchable, weighted, zipf

from rampion.store.keys import Keys
from rampion.store.names import Names
from rampion.store.text import Texts
from rampion.threads import in_order

SENTENCES, FEATURES, LONGEST, ROUNDS = 256, 5_000_000, 8, 3
SWAP = Reordering()
WIDE = Search(100, 3000, 0.8)  # scores as well as all cells do


class Bench:
    """One task, and the parts of decoding it."""

    def __init__(self, sentences: int = SENTENCES, features: int = FEATURES) -> None:
        self.task: Searchable = searchable(1, sentences)
        self.keys: Keys = weighted(self.task, 2, features)
        nobody = Vocabularies(Names(), Names())
        self.templates = Templates(nobody, self.task.blocks, "all")

    def model(self, lm: Lm | None = None) -> Model:
        ids = None if lm is None else np.arange(len(lm.vocabulary), dtype=np.uint32)
        return Model.of(self.task.blocks, ALL, self.keys, {"LM": 0.1} if lm else {}, lm, ids)

    def options(self, sentences: Sentences) -> Options:
        return Options.match(sentences, self.task.blocks, LONGEST, self.task.most)

    def decode(self, model: Model, settings: Search, sentences: Sentences) -> float:
        """Everything, of one batch: the sum of the scores."""
        options = self.options(sentences)
        best = kbest(search(sentences, options, model, settings), 1)
        self.templates.emit(sentences, options, best)
        return float(best.scores.sum())

    def all_told(self, model: Model, settings: Search, threads: int = 1) -> float:
        batches = self.task.batches
        return sum(in_order(lambda batch: self.decode(model, settings, batch), batches, threads)) / self.count

    @property
    def count(self) -> int:
        return sum(len(batch.bounds) - 1 for batch in self.task.batches)

    def speed(self, model: Model, settings: Search, rounds: int = ROUNDS) -> tuple[float, float]:
        """Sentences per second of CPU when all blocks are scored, and the mean score."""
        times = []
        for _ in range(rounds):
            start = process_time()
            score = self.all_told(model, settings)
            times.append(process_time() - start)
        return self.count / min(times), score


def trigrams(seed: int, blocks: Blocks, size: int = 1_000_000) -> Lm:
    """A language model of the words and bigrams of the target phrases and of random trigrams upon them."""
    rng = np.random.default_rng(seed)
    width = int(blocks.target_words.max()) + 1
    names = Names()
    names.intern_all(Texts.from_strings(["<unk>", "<s>", "</s>", *(f"w{i}" for i in range(3, width))]))
    pairs = np.unique(np.stack([zipf(rng, size, width - 3), zipf(rng, size, width - 3)], axis=1), axis=0)
    known = pairs[:, 0].astype(np.uint64) << 32 | pairs[:, 1]
    drawn = np.unique(np.stack([zipf(rng, 4 * size, width - 3) for _ in range(3)], axis=1), axis=0).astype(np.uint64)
    both = np.isin(drawn[:, 0] << 32 | drawn[:, 1], known) & np.isin(drawn[:, 1] << 32 | drawn[:, 2], known)
    rows = [np.arange(width, dtype=np.uint32)[:, None], pairs.astype(np.uint32), drawn[both].astype(np.uint32)]
    return Lm.of(names, [
        Grams(row, (-4 * rng.random(len(row))).astype(np.float32), (-rng.random(len(row))).astype(np.float32) * (n < 3))
        for n, row in enumerate(rows, 1)
    ])  # fmt: skip


def parts(bench: Bench, settings: Search) -> None:
    """Where the time of one batch goes."""
    batch, model = bench.task.batches[0], bench.model()
    count = len(batch.bounds) - 1
    times = {}

    def timed(name: str, start: float) -> None:
        times[name] = (process_time() - start) / count * 1e3

    start = process_time()
    options = bench.options(batch)
    timed("match", start)
    start = process_time()
    model.assess(options.blocks)
    timed("score blocks, none known", start)
    search(batch, options, model, settings)
    start = process_time()
    graph: Graph = search(batch, options, model, settings)
    timed("search", start)
    start = process_time()
    best = kbest(graph, 1)
    timed("best derivation", start)
    start = process_time()
    bench.templates.emit(batch, options, best)
    timed("features", start)
    print(f"{len(options.blocks) / count:.0f} options a sentence; ms a sentence: " + ", ".join(
        f"{name} {time:.2f}" for name, time in times.items()
    ))  # fmt: skip


def curve(bench: Bench, model: Model) -> list[tuple[str, int, float, float]]:
    """Model score against speed: beams from 10 to 400, all cells or so many a place of the beam."""
    found = []
    short = copy(bench)
    short.task = bench.task._replace(batches=bench.task.batches[:1])
    for name, per, threshold in (
        ("cube, 5 a place", 5, inf), ("cube, 10 a place", 10, inf), ("cube, 30, threshold 0.8", 30, 0.8),
        ("exhaustive", 0, inf),
    ):  # fmt: skip
        for beam in (10, 20, 50, 100, 200, 400):
            settings = Search(beam, per * beam or EVERYTHING, threshold)
            found.append((name, beam, *short.speed(model, settings, 3 if per else 1)))
    return found


def against_twin(bench: Bench, model: Model) -> float:
    """How many times faster than plain Python at the same beam, on one sentence; twin's tables made beforehand."""
    batch = bench.task.batches[0]
    one = Sentences(batch.words[: batch.bounds[1]], batch.bounds[:2])
    options, settings = bench.options(one), Search(100, 1000)
    model.assess(options.blocks)
    light = Model.of(model.blocks, ALL, Keys(), {})
    light.local[:] = model.local
    times = []
    for kernel, rounds in ((_kernels.search, 20), (twin, 1)):
        with_kernel = []
        for _ in range(rounds):
            original, _kernels.search = _kernels.search, kernel
            start = process_time()
            search(one, options, light, settings)
            with_kernel.append(process_time() - start)
            _kernels.search = original
        times.append(min(with_kernel))
    return times[1] / times[0]


def memory() -> None:
    """What it takes to hold and to decode with as much as a large corpus gives."""
    task = searchable(1, 3600)
    task.blocks.values[:] = 0.5  # memory never written takes no room
    rng = np.random.default_rng(2)
    keys = Keys(35_000_000)
    while len(keys) < 35_000_000:
        keys.enter(rng.integers(1, 1 << 63, min(1_000_000, 35_000_000 - len(keys)), np.uint64))
    keys.set_weights(rng.normal(0, 0.1, len(keys)).astype(np.float32))
    model = Model.of(task.blocks, ALL, keys, {})
    kbest(search(batch := task.batches[0], Options.match(batch, task.blocks, LONGEST, task.most), model, WIDE), 1)
    sizes = {
        "blocks": sum(array.nbytes for array in task.blocks),
        "features": keys.nbytes,
        "model": model.slots.nbytes + model.sifter.nbytes + model.local.nbytes,
    }
    print(f"{len(task.blocks.sources):,} blocks, {len(keys):,} features: " + ", ".join(
        f"{name} {size / 1e9:.2f} GB" for name, size in sizes.items()
    ) + f"; peak {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e9:.2f} GB")  # fmt: skip


def main() -> None:
    bench = Bench()
    parts(bench, WIDE)
    rows = []
    for name, settings in (
        ("SWAP, beam 100, 3000 cells, threshold", WIDE),
        ("SWAP, beam 100, 1000 cells", Search(100, 1000)),
        ("MON, beam 100, 500 cells", Search(100, 500, reordering=MON)),
    ):
        model = bench.model()
        start = process_time()
        bench.all_told(model, settings)
        cold = bench.count / (process_time() - start)
        warm, score = bench.speed(model, settings)
        rows.append((name, cold, warm, score))
    for way, name in ((SWAP, "SWAP"), (MON, "MON")):
        speed, score = bench.speed(model, Search(100, EVERYTHING, reordering=way), 1)
        rows.append((f"{name}, beam 100, all cells", float("nan"), speed, score))
    model = bench.model(trigrams(3, bench.task.blocks))
    start = process_time()
    bench.all_told(model, Search(100, 1000))
    cold = bench.count / (process_time() - start)
    rows.append(("SWAP, beam 100, 1000 cells, trigrams", cold, *bench.speed(model, Search(100, 1000))))
    print(f"\n{'all told, sentences/s':38}{'first pass':>12}{'later':>10}{'score':>12}")
    for name, cold, warm, score in rows:
        print(f"{name:38}{cold:12.0f}{warm:10.0f}{score:12.4f}")
    model = bench.model()
    bench.all_told(model, WIDE)
    walls = {1: [], 2: []}
    for _ in range(ROUNDS):
        for threads, times in walls.items():
            begun = perf_counter()
            bench.all_told(model, WIDE, threads)
            times.append(perf_counter() - begun)
    print(f"\ntwo threads: {min(walls[1]) / min(walls[2]):.2f} times the speed of one, by the clock")
    print(f"plain Python: {against_twin(bench, model):.0f} times slower")
    points = curve(bench, model)
    print(f"\n{'':24}{'beam':>6}{'sentences/s':>14}{'score':>12}")
    for name, beam, speed, score in points:
        print(f"{name:24}{beam:6}{speed:14.0f}{score:12.4f}")
    if "--plot" in sys.argv:
        plot(points, Path(sys.argv[sys.argv.index("--plot") + 1]))


def plot(points: list[tuple[str, int, float, float]], path: Path) -> None:
    """Model score against speed, a line a way to search."""
    from matplotlib.figure import Figure

    figure = Figure((6, 4), layout="constrained")
    axes = figure.subplots()
    for name in dict.fromkeys(point[0] for point in points):
        line = [(speed, score) for other, _, speed, score in points if other == name]
        axes.plot(*zip(*line, strict=True), "o-", label=name)
    axes.set(xscale="log", xlabel="sentences per second of one core", ylabel="mean model score")
    axes.set_title("beams of 10, 20, 50, 100, 200 and 400, from right to left", fontsize=10)
    axes.xaxis.set_major_formatter("{x:.0f}")
    axes.legend()
    figure.savefig(path, metadata={"Date": None} if path.suffix == ".svg" else None)


if __name__ == "__main__":
    memory() if "--memory" in sys.argv else main()
