"""What a run of the paper's size would take, from a short one: python benchmarks/bench_train.py FOLDER|toy [PAIRS]

Aligns and extracts from a corpus folder (docs/formats.md), or from 50,000 invented pairs, learns for a few iterations
from the first PAIRS (1000), the language model weighing 0.1 for ever, and multiplies the last iteration. Clock: what it
took beside whatever else ran. CPU: what it took of one core.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from time import process_time

from rampion.decoder.system import Settings, System
from rampion.decoder.text.language import Language
from relevant_sets import PAPER

from rampion.runs.sets_run import SetRun
from rampion.training.recipes import RECIPES
from rampion.training.relevant import Lines, SetIteration, Text, train

INVENTED, HELD_OUT, REFERENCES = 50_000, 200, 4
SHORT, WHOLE, THREADS = 2, 30, 2  # iterations


def rows_of(corpus: Path, folder: Path, pairs: int) -> list[tuple[SetIteration, float]]:
    """The iterations of a short run, and the CPU seconds of each."""
    system = System.prepare(corpus, folder / "system", Settings(least=2), threads=THREADS)
    parts = system.corpus.train, system.corpus.dev, system.corpus.test
    learn, dev, test = (Lines(part.source, part.references) for part in parts if part)
    text = Text(learn.first(pairs), dev.first(HELD_OUT), test.first(HELD_OUT))
    decoder = system.decoder("LM,all", threads=THREADS)
    recipe = RECIPES["costmargin"].set(iterations=SHORT)
    rows: list[tuple[SetIteration, float]] = []
    stamps = [process_time()]

    def record(row: SetIteration) -> None:
        stamps.append(process_time())
        rows.append((row, stamps[-1] - stamps[-2]))

    run = SetRun.begin(folder / "run", recipe.settings(), [], {"corpus": text.fingerprint}, record)
    train(recipe, decoder, text, run, fixed={"LM": 0.1}, threads=THREADS)
    return rows


def main() -> None:
    corpus, pairs = Path(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 1000
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        if str(corpus) == "toy":
            corpus = folder / "corpus"
            Language.invent(1).corpus(INVENTED, HELD_OUT, REFERENCES).write(corpus)
        row, seconds = rows_of(corpus, folder, pairs)[-1]
        stored = sum(path.stat().st_size for path in (folder / "run" / "sets").iterdir())
    count, scale = row.sentences, PAPER.sentences * WHOLE / row.sentences / 3600
    print(f"iteration {row.iteration} of {count:,} sentences; their BLEU {row.train:.1f}, test {row.test:.1f}")
    print(f"{'':24}{'ms a sentence':>14}{'projected, h':>14}")
    for part, taken in row.seconds.items():
        if part != "testing":  # of a fixed size
            print(f"{part:24}{1e3 * taken / count:14.3f}{scale * taken:14.2f}")
    whole = sum(row.seconds.values()) - row.seconds["testing"]
    print(f"{'all, by the clock':24}{1e3 * whole / count:14.3f}{scale * whole:14.2f}")
    spent = seconds * whole / (whole + row.seconds["testing"])
    print(f"{'all, CPU, of one core':24}{1e3 * spent / count:14.3f}{scale * spent:14.2f}")
    print(f"{count / row.seconds['decoding']:.0f} sentences/s decoded on {THREADS} threads")
    print(f"{row.features / count:.0f} features and {stored / count:.0f} bytes of files a sentence")
    print(f"peak memory: {row.memory / 2**30:.2f} GiB")


if __name__ == "__main__":
    main()
