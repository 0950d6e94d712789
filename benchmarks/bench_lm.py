"""Speed of the language model: `python benchmarks/bench_lm.py [TRAIN TEST]` prints a table.

Without texts of its own it draws sentences of 24 words by Zipf's law. A lookup is one word, or the end of a sentence.
Warm: the same text again and again, as short as the searches of one batch. Cold: after 256 MB of other data went
through the caches. The twin's time holds that of making dicts of the tables, as every call of a twin does. KenLM,
if it is installed, answers through its Python module, a call a sentence.
"""

from __future__ import annotations

import sys
import tempfile
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from time import process_time

import numpy as np
from measure import Run, best
from rampion.decoder._core.lm import fluency
from rampion.decoder._reference.lm import fluency as twin
from rampion.decoder.models import arpa, kneser
from rampion.decoder.models.lm import BEGIN, END, Lm
from run import table

from rampion.formats import texts as files
from rampion.store.text import Texts

SENTENCES, LENGTH, WORDS, QUERIES = 50_000, 24, 50_000, 500
OTHER = np.zeros(256 << 20, np.uint8)


def drawn(count: int, seed: int) -> Texts:
    """Sentences whose n-th word has the chance 1 / n."""
    words = np.exp(np.random.default_rng(seed).random((count, LENGTH)) * np.log(WORDS)).astype(np.int64)
    return Texts.from_strings(" ".join(map(str, row)) for row in words.tolist())


def contestants(model: Lm, queries: Texts, folder: Path) -> dict[str, Run]:
    """Who scores the queries."""
    ids, bounds = model.ids(queries)
    steps = np.empty(len(ids) + len(queries))
    room = np.empty(2 * model.order, np.uint32), np.empty(2 * model.order, np.float32)
    arguments = ids, bounds, BEGIN, END, model.table, *room, steps

    def chilled() -> tuple[object, ...]:
        OTHER[:: 1 << 6] += 1
        return arguments

    runs = {
        "kernel, warm": Run(lambda: arguments, fluency),
        "kernel, cold": Run(chilled, fluency),
        "twin": Run(lambda: arguments, twin),
        "from texts": Run(lambda: (queries,), model.score),
    }
    if find_spec("kenlm"):
        arpa.write(folder / "model.arpa", model)
        rival, lines = import_module("kenlm").Model(str(folder / "model.arpa")), list(queries)
        runs["KenLM"] = Run(tuple, lambda: [rival.score(line) for line in lines])
    return runs


def main(paths: list[str]) -> None:
    text, queries = map(files.read, paths) if paths else (drawn(SENTENCES, 0), drawn(QUERIES, 1))
    queries = queries.take(np.arange(min(QUERIES, len(queries))))
    rows = []
    for order in (2, 3, 5):
        start = process_time()
        model = kneser.estimate(text, order).lm
        seconds = process_time() - start
        with tempfile.TemporaryDirectory() as folder:
            least = best(contestants(model, queries, Path(folder)))
        lookups = len(model.ids(queries)[0]) + len(queries)
        size = f"{len(model):,}", f"{model.nbytes / len(model):.1f}", f"{seconds:.1f}"
        rows += [[str(order), *size, who, f"{lookups / took / 1e6:.2f}"] for who, took in least.items()]
    lines = table(["order", "n-grams", "bytes an n-gram", "estimation, s", "who", "M lookups/s"], rows)
    sys.stdout.write("\n".join(lines) + "\n")


if __name__ == "__main__":
    main(sys.argv[1:])
