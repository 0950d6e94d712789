"""rampion train: a corpus in, weights of millions of features learnt from relevant sets, and a run folder, out."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

import typer

from rampion import console
from rampion.cli import app
from rampion.cli import options as opt
from rampion.cli.panels import DECODER

if TYPE_CHECKING:
    from rampion.training.relevant import SetIteration

EXAMPLE = """
[bold]Examples[/bold]

  rampion train corpus --out run   (all binary features, Costmargin, 30 iterations)

  rampion train corpus --out run --fixed LM=0.1 --threads 8

  rampion train corpus --out run --fixed LM=0.1 --threads 8 --resume   (after an interruption)

  rampion train corpus --out run --executor dask,workers=8 --shards 8   (or --executor tcp://host:8786)

  rampion train corpus --out dense --features seven --recipe perceptron-dense --k 10

  rampion train corpus --out both --features seven,all --base run --recipe costmargin-dense   (on top of frozen weights)
"""
COLUMNS = {
    "iter": 4, "gain": 5, "train": 5, "dev": 5, "test": 5, "sent/s": 6, "epoch ms": 8, "features": 8, "candidates": 10,
    "memory": 6,
}  # fmt: skip


@app.command(epilog=EXAMPLE, rich_help_panel=DECODER)
def train(
    corpus: opt.TrainCorpus,
    out: opt.RunOut,
    recipe: opt.Recipe = "costmargin",
    features: opt.LearntFeatures = "all",
    reordering: opt.Reordering = None,
    fixed: opt.Fixed = None,
    base: opt.Base = None,
    set_: opt.Set = None,
    iterations: opt.OwnIterations = None,
    k: opt.NewK = None,
    seed: opt.OwnSeed = None,
    shards: opt.Shards = None,
    window: opt.Window = None,
    pairs: opt.FirstPairs = None,
    beam: opt.Beam = None,
    options: opt.BlockOptions = None,
    system: opt.System = None,
    pair: opt.Pair = None,
    least: opt.Least = 2,
    memory: opt.Memory = None,
    threads: opt.Threads = None,
    executor: opt.Executor = None,
    curves: opt.Curves = None,
    resume: opt.Resume = False,
    force: opt.Force = False,
    as_json: opt.Json = False,
) -> None:
    """Learn weights of millions of features from parallel text, by decoding it again and again.

    Word alignment, blocks and language model are made first and kept in RUN/system, or in --system. With --least 1
    training sentences translate themselves. N shards learn side by side, and their weights are averaged.

    Each iteration prints the mean gain of the best candidates by the metric (times 100), their mean sentence BLEU
    without length penalty, and BLEU on the dev and the test text. The answer is the iteration that is best on dev.
    """
    from rampion.apps import train as training

    live = console.Live(list(COLUMNS), list(COLUMNS.values()), err=as_json)
    task = training.TrainTask(
        corpus=corpus, out=out, recipe=recipe, features=features, reordering=reordering or "swap", fixed=fixed or [],
        base=base, settings=set_ or [], iterations=iterations, k=k, seed=seed, shards=shards, window=window,
        pairs=pairs, beam=beam or 100, options=options or 20, system=system, pair=pair, least=least, memory=memory,
        threads=threads, executor=executor, curves=curves, resume=resume, force=force,
    )  # fmt: skip
    found = training.train(task, lambda row: live.row(_cells(row)))
    if as_json:
        facts = {"iteration": found.iteration, "dev": found.dev, "test": found.test, "weights": found.weights}
        console.show_json(facts | {"iterations": [asdict(row) for row in found.rows]})
        return
    typer.echo(
        f"iteration {found.iteration} is best on dev: BLEU {found.dev:.2f}, on test {found.test:.2f}\n"
        f"wrote {found.weights}" + (f" and {curves}" if curves else "")
    )


def _cells(row: SetIteration) -> list[str]:
    """The row of the table."""
    epochs, decoding = len(row.moved), row.seconds.get("decoding", 0.0)
    return [
        str(row.iteration),
        *(f"{score:.2f}" for score in (100 * row.gain, row.train, row.dev, row.test)),
        f"{row.sentences / decoding:.0f}" if decoding else "",
        f"{1000 * row.seconds.get('learning', 0.0) / epochs:.1f}" if epochs else "",
        _short(row.features),
        _short(row.candidates),
        f"{row.memory / (1 << 30):.2f}G",
    ]


def _short(count: int) -> str:
    return f"{count / 1e6:.2f}M" if count >= 1_000_000 else f"{count / 1e3:.1f}K"
