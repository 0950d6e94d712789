"""The translations of highest BLEU that the bundled decoder could give, with the references in hand (S10.4)."""

from __future__ import annotations

from contextlib import ExitStack
from typing import NamedTuple

import numpy as np

from rampion import console
from rampion.apps.systems import Shared, SystemOptions, opened, read_lines
from rampion.apps.workers import team
from rampion.decoder.block_decoder import BlockDecoder
from rampion.decoder.remote import SIZE, Spread
from rampion.decoder.search.oracle import Oracle
from rampion.formats import references, texts
from rampion.metrics import metric as named
from rampion.store.text import Texts


class Found(NamedTuple):
    """Scores of the best translations: the mean BLEU of sentences, 0 to 1, and BLEU of the corpus."""

    sentences: int
    sentence_bleu: float
    corpus_bleu: float


def search_oracles(source: str, refs: list[str], asked: SystemOptions, out: str, shared: Shared) -> Found:
    """Write the translation of highest BLEU of every line."""
    executor, folder = shared.proved()
    lines = read_lines(source)
    with ExitStack() as stack:
        bar = stack.enter_context(console.decoding(len(lines)))
        system = opened(asked, lines, bar.tick).system
        criterion = Oracle(best=1, reordering=system.settings.reordering)
        decoder: BlockDecoder | Spread = system
        if executor and folder:
            workers = stack.enter_context(team(executor, folder))
            bar.speeds = lambda: workers.coordinator.speeds
            decoder = Spread(system, workers.coordinator, workers.size or SIZE, name=source)
        given = references.read(refs, Texts.from_strings(map(str, range(len(lines)))), aligned=True)
        found = list(decoder.oracles(lines, given, criterion))
        best, bleu = Texts.join([said for said, _ in found]), named("bleu")
        texts.write(out, best)
    total = bleu.statistics(best, np.arange(len(best) + 1), given).sum(axis=0)
    mean = float(np.concatenate([scores for _, scores in found]).mean())
    return Found(len(lines), mean, float(bleu.total_score(total)))
