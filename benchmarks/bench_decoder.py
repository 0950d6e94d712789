"""From parallel text to translations: `python benchmarks/bench_decoder.py FOLDER [--align FILE] [--pair S-T] …`.

FOLDER is a corpus folder (docs/formats.md). Words are aligned (or links read), blocks and a language model made, dev
decoded and tuned by batch MIRA on the merged lists of a few decodings, and test decoded; BLEU is sacrebleu's with
tokenize none. Times are wall time in seconds.
"""

from __future__ import annotations

import argparse
import resource
from collections.abc import Callable
from time import perf_counter
from typing import TypeVar

import numpy as np
from rampion.decoder.alignment import align, links
from rampion.decoder.block_decoder import BlockDecoder
from rampion.decoder.models import kneser
from rampion.decoder.models.extract import Settings, build
from rampion.decoder.search.oracle import Oracle
from rampion.decoder.search.search import Search
from rampion.decoder.search.states import MON, Reordering
from rampion.decoder.text.corpus import Corpus, Parallel

from rampion.metrics import metric as named
from rampion.store.features import Weights
from rampion.store.text import References, Texts
from rampion.training.inputs import judge
from rampion.training.loop import train
from rampion.training.recipes import RECIPES

ITERATIONS, K = 6, 100
T = TypeVar("T")


def bleu(texts: Texts, references: References) -> float:
    metric = named("bleu")
    return metric.total_score(metric.statistics(texts, np.arange(len(texts) + 1), references).sum(axis=0))


def timed(what: str, work: Callable[[], T], said: Callable[[T], str] = lambda _: "") -> T:
    """What the work gives, once a line has told how long it took."""
    start = perf_counter()
    result = work()
    print(f"{what:32} {perf_counter() - start:8.1f} s  {said(result)}", flush=True)
    return result


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder")
    parser.add_argument("--align", help="links to use instead of Rampion's own")
    parser.add_argument("--pair")
    parser.add_argument("--pairs", type=int, help="only the first so many")
    parser.add_argument("--test", type=int, help="only the first so many sentences of test")
    parser.add_argument("--order", type=int, default=4, help="of the language model")
    parser.add_argument("--features", default="fourteen")
    parser.add_argument("--threads", type=int, default=2)
    options = parser.parse_args()
    corpus = Corpus.load(options.folder, options.pair)
    rows = np.arange(min(options.pairs or len(corpus.train.source), len(corpus.train.source)))
    source, target = corpus.train.source.take(rows), corpus.train.target.take(rows)
    test = corpus.test.take(np.arange(options.test)) if options.test else corpus.test
    print(f"{options.folder}: {len(source)} pairs, dev {len(corpus.dev)}, test {len(test)}")
    read = links.read if options.align else None
    points = timed(
        "word alignment",
        lambda: read(options.align) if read else align.align(source, target, threads=options.threads),
    )
    blocks = timed(
        "blocks",
        lambda: build(source, target, points, Settings(top=30), threads=options.threads),
        lambda found: f"{len(found.blocks.sources):,} blocks",
    )
    lm = timed(
        "language model", lambda: kneser.estimate(target, options.order).lm, lambda found: f"{len(found):,} n-grams"
    )
    for name, reordering in (("MON", MON), ("SWAP", Reordering())):
        system = BlockDecoder(
            blocks, lm, options.features, Search(reordering=reordering), threads=options.threads, distinct=True
        )
        measure(name, system, corpus.dev, test)
    print(f"peak memory {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20:.1f} GiB")


def measure(name: str, system: BlockDecoder, dev: Parallel, test: Parallel) -> None:
    """The oracle, and translations with the initial weights and with tuned ones."""
    start = system.initial

    def translated(part: Parallel, weights: Weights) -> Callable[[], float]:
        return lambda: bleu(system.best(part.source, weights), part.references)

    def oracle() -> float:
        criterion = Oracle(reordering=system.settings.reordering)
        found = system.oracle(dev.source, dev.references, criterion, lambda _, best: best.scores[best.bounds[:-1]])
        return 100 * float(np.concatenate(list(found)).mean())

    def tuned() -> Weights:
        lines, recipe = dev.source, RECIPES["mira"].set(iterations=ITERATIONS, k=K)
        arbiter = judge(system.decode(lines, start, K), dev.references, recipe.metric, recipe.alpha)
        return train(recipe, system, lines, arbiter, start)

    timed(f"{name} oracle of dev", oracle, "BLEU+1 {:.2f}".format)
    weights = timed(f"{name} tuning, {ITERATIONS} decodings", tuned)
    for which, part in (("dev", dev), ("test", test)):
        timed(f"{name} {which}, initial weights", translated(part, start), "BLEU {:.2f}".format)
        timed(f"{name} {which}, tuned", translated(part, weights), "BLEU {:.2f}".format)


if __name__ == "__main__":
    main()
