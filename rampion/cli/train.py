"""rampion train: a corpus in, weights of millions of features learnt from relevant sets, and a run folder, out."""

from __future__ import annotations

import math
from contextlib import ExitStack
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from rampion import console
from rampion.apps.inputs import changed, order_of
from rampion.cli import app
from rampion.cli.executor import Executor, team
from rampion.cli.options import Json
from rampion.threads import processors

if TYPE_CHECKING:
    from rampion.training.policies import RelevantSets
    from rampion.training.relevant import Iteration

EXAMPLE = """
[bold]Examples[/bold]

  rampion train corpus --out run   (all binary features, Costmargin, 30 iterations)

  rampion train corpus --out run --fixed LM=0.1 --threads 8

  rampion train corpus --out run --fixed LM=0.1 --threads 8 --resume   (after whatever stopped it)

  rampion train corpus --out run --executor dask,workers=8 --shards 8   (or --executor tcp://host:8786)

  rampion train corpus --out dense --features seven --recipe perceptron-dense --k 10

  rampion train corpus --out both --features seven,all --base run --recipe costmargin-dense   (on top of frozen weights)
"""
# What may change when a run goes on.
FREE = ("corpus", "system", "iterations", "threads", "memory", "base_run", "executor")
UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}


@app.command(epilog=EXAMPLE)
def train(
    corpus: Annotated[
        str, typer.Argument(metavar="CORPUS", help="A folder from [bold]rampion corpus[/bold]: train, dev and test.")
    ],
    out: Annotated[Path, typer.Option("--out", "-o", metavar="RUN", help="The run folder to write.")],
    recipe: Annotated[
        str, typer.Option("--recipe", "-r", metavar="NAME", help="A row of [bold]rampion recipes[/bold].")
    ] = "costmargin",
    features: Annotated[
        str,
        typer.Option("--features", metavar="NAMES", help="As in [bold]rampion decode[/bold]; fixed ones are added."),
    ] = "all",
    reordering: Annotated[
        str, typer.Option("--reordering", metavar="NAME", help="mon, or swap: neighbouring blocks change places.")
    ] = "swap",
    fixed: Annotated[
        list[str] | None,
        typer.Option(
            "--fixed", metavar="NAME=W", help="A real-valued feature, its weight, which stays.", show_default=False
        ),
    ] = None,
    base: Annotated[
        Path | None,
        typer.Option(
            "--base", metavar="RUN", help="Learn on top of the weights of another run, which stay.", show_default=False
        ),
    ] = None,
    set_: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="NAME=VALUE",
            help="Another setting of the recipe, such as epochs=10, learn=both, metric=wer:reverse.",
            show_default=False,
        ),
    ] = None,
    iterations: Annotated[
        int | None,
        typer.Option(
            "--iterations", min=1, metavar="N", help="Decodings; a run can go on with more.", show_default="30"
        ),
    ] = None,
    k: Annotated[
        int | None, typer.Option("--k", "-k", min=1, metavar="N", help="Candidates added a time.", show_default="1")
    ] = None,
    seed: Annotated[
        int | None,
        typer.Option("--seed", min=0, metavar="N", help="Of orders, bags and noise.", show_default="0"),
    ] = None,
    shards: Annotated[
        int | None,
        typer.Option("--shards", min=1, metavar="N", help="Parts that learn side by side.", show_default="1"),
    ] = None,
    window: Annotated[
        int | None,
        typer.Option(
            "--window",
            min=0,
            metavar="N",
            help="Shuffle in blocks of so many neighbours, for sets beyond memory; 0: freely.",
            show_default="0",
        ),
    ] = None,
    pairs: Annotated[
        int | None,
        typer.Option("--pairs", min=1, metavar="N", help="Learn from the first N sentences.", show_default=False),
    ] = None,
    beam: Annotated[int, typer.Option("--beam", min=1, help="Hypotheses kept for each number of covered words.")] = 100,
    options: Annotated[int, typer.Option("--options", min=1, help="Blocks of a source phrase.")] = 20,
    system: Annotated[
        Path | None,
        typer.Option(
            "--system",
            metavar="DIR",
            help="Alignment, blocks and language model, made there once; RUN/system unless given.",
            show_default=False,
        ),
    ] = None,
    pair: Annotated[
        str | None, typer.Option("--pair", metavar="SRC-TGT", help="The languages.", show_default=False)
    ] = None,
    least: Annotated[
        int,
        typer.Option(
            "--least", min=1, metavar="N", help="Occurrences of a block; with 1 sentences are known by heart."
        ),
    ] = 2,
    memory: Annotated[
        str | None, typer.Option("--memory", metavar="SIZE", help="Use no more than this: 12G.", show_default=False)
    ] = None,
    threads: Annotated[
        int | None,
        typer.Option("--threads", min=1, metavar="N", help="The result is the same for any.", show_default="all"),
    ] = None,
    executor: Executor = None,
    curves: Annotated[
        Path | None,
        typer.Option(
            "--curves", metavar="FILE", help="Draw the scores of all iterations (SVG).", show_default=False
        ),
    ] = None,
    resume: Annotated[bool, typer.Option("--resume", metavar="", help="Go on with the run in this folder.")] = False,
    as_json: Json = False,
) -> None:
    """Learn weights of all features from parallel text, by decoding it again and again (S10.6).

    A line an iteration tells what the sentences learnt from gain by the metric (times 100), their mean sentence BLEU
    without length penalty, and BLEU on the dev and test text. The iteration that is best on dev is the answer.
    """
    from rampion.console import progress
    from rampion.decoder.block_decoder import features_of
    from rampion.decoder.remote import SIZE, Spread
    from rampion.decoder.system import BLOCKS, MODEL, Settings, System
    from rampion.report.charts import check_name, write_lines
    from rampion.runs.folder import RunFolder
    from rampion.runs.sets_run import Run
    from rampion.training.memory import need
    from rampion.training.recipes import recipe_named
    from rampion.training.relevant import Frozen, Lines, Text
    from rampion.training.relevant import train as learn

    if curves:
        check_name(curves)
    shorthand = {"iterations": iterations, "k": k, "seed": seed, "shards": shards, "window": window}
    chosen = changed(recipe_named(recipe, "sets"), set_ or [], barred=())
    chosen = chosen.set(**{name: value for name, value in shorthand.items() if value is not None})
    policy, order = cast("RelevantSets", chosen.policy), order_of(reordering)
    limit, weights = _bytes(memory), dict(map(_fixed, fixed or []))
    threads = threads or processors()
    below = Run.open(base) if base else None
    frozen = below.keyed() if below else None
    features = ",".join([*(name for name in weights if name not in features.split(",")), features])
    Frozen.of(policy, features_of(features)[0], weights, frozen)
    if not resume:
        RunFolder(out).refuse_begun()
    with progress() as watch:
        home = system or out / "system"
        made = System.prepare(corpus, home, Settings(pair, least=least), threads=threads, progress=watch)
    parts = {"train": made.corpus.train, "dev": made.corpus.dev, "test": made.corpus.test}
    lines = {name: Lines(part.source, part.references) for name, part in parts.items() if part}
    text = Text(lines[policy.text], lines["dev"], lines["test"])
    text = text._replace(learn=text.learn.first(pairs or len(text.learn.source)))
    fits = need(chosen, len(text.learn.source)).fits(limit)
    asked = {
        "corpus": corpus, "recipe": recipe, "features": features, "reordering": reordering, "fixed": fixed or [],
        "base_run": str(base.absolute()) if base else None, "pairs": pairs, "beam": beam, "options": options,
        "pair": pair,
        "least": least, "system": str(system.absolute()) if system else None, "memory": memory, "threads": threads,
        "executor": executor,
    }  # fmt: skip
    live = console.Live(list(COLUMNS), list(COLUMNS.values()), err=as_json)
    with ExitStack() as stack:
        bar = stack.enter_context(console.decoding(sum(map(len, (part.source for part in text)))))
        decoder: Any = made.decoder(
            features,
            order,
            threads=threads,
            beam=beam,
            pops=10 * beam,
            options=options,
            progress=bar.tick,
        )
        facts = {"corpus": text.fingerprint, "decoder": decoder.fingerprint, "base": below and below.fingerprint}
        given = asked | chosen.settings(), _files(corpus), facts
        run = Run.resume(out, *given, FREE) if resume else Run.begin(out, *given)

        def record(row: Iteration) -> None:
            bar.again()
            live.row(_cells(row))

        for row in run.rows:
            record(row)
        coordinator = None
        if executor:
            workers = stack.enter_context(team(executor, out))
            bar.speeds = lambda: workers.coordinator.speeds
            files = {"blocks": home / BLOCKS, "lm": home / MODEL}
            size, criterion = workers.size or SIZE, decoder.criterion
            decoder = Spread(decoder.decoder, workers.coordinator, size, criterion, files, corpus)
            if not executor.startswith("local"):  # threads of this process learn faster without files
                coordinator = workers.coordinator
        learn(
            chosen, decoder, text, run, fixed=weights, base=frozen, record=record,
            spill=None if fits else out, threads=threads, coordinator=coordinator,
        )  # fmt: skip
    best = run.chosen
    told = {
        "iteration": best.iteration,
        "dev": best.dev,
        "test": best.test,
        "weights": str(run.weights(best.iteration)),
    }
    run.folder.event("done", told)
    if curves:
        write_lines(curves, {name: [(row.iteration, getattr(row, name)) for row in run.rows] for name in SCORES})
    if as_json:
        console.show_json({**told, "iterations": [asdict(row) for row in run.rows]})
        return
    typer.echo(
        f"iteration {best.iteration} is best on dev: BLEU {best.dev:.2f}, on test {best.test:.2f}\n"
        f"wrote {told['weights']}" + (f" and {curves}" if curves else "")
    )


SCORES = "train", "dev", "test"
COLUMNS = {
    "iter": 4, "gain": 5, "train": 5, "dev": 5, "test": 5, "sent/s": 6, "epoch ms": 8, "features": 8, "candidates": 10,
    "memory": 6,
}  # fmt: skip


def _cells(row: Iteration) -> list[str]:
    """The row of the table."""
    epochs = len(row.moved)
    return [
        str(row.iteration),
        *(f"{score:.2f}" for score in (100 * row.gain, row.train, row.dev, row.test)),
        f"{row.sentences / row.seconds['decoding']:.0f}",
        f"{1000 * row.seconds['learning'] / epochs:.1f}" if epochs else "",
        _short(row.features),
        _short(row.candidates),
        f"{row.memory / (1 << 30):.2f}G",
    ]


def _short(count: int) -> str:
    return f"{count / 1e6:.2f}M" if count >= 1_000_000 else f"{count / 1e3:.1f}K"


def _files(corpus: str) -> list[str]:
    return sorted(str(path) for path in Path(corpus).glob("*") if path.is_file())


def _fixed(option: str) -> tuple[str, float]:
    """NAME=WEIGHT."""
    from rampion.errors import RecipeError

    name, equals, text = option.partition("=")
    try:
        weight = float(text)
    except ValueError:
        weight = math.nan
    if not name or not equals or not math.isfinite(weight):
        raise RecipeError(f"--fixed {option!r}: expected a feature and its weight, for example --fixed LM=0.1")
    return name, weight


def _bytes(size: str | None) -> int | None:
    """12G in bytes."""
    from rampion.errors import RecipeError

    if size is None:
        return None
    number, unit = size.upper().removesuffix("B"), ""
    if number[-1:] in UNITS:
        number, unit = number[:-1], number[-1]
    try:
        found = float(number) * UNITS[unit]
    except ValueError:
        found = math.nan
    if not 0 < found < math.inf:
        raise RecipeError(f"--memory {size!r}: expected a size, for example 12G")
    return int(found)
