"""rampion tune: lists and references in, weights and a run folder out."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import asdict
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rampion import console
from rampion.apps.inputs import OF_DECODERS, read_runs, recipes_of, references_of, seeds_of, weights_file, weights_for
from rampion.cli import app, decoders
from rampion.cli.executor import Executor, team
from rampion.cli.loop import loop
from rampion.cli.options import Json, Lenient, MetricOption, Refs
from rampion.cli.sweep import sweep
from rampion.errors import RecipeError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rampion.store.features import Weights
    from rampion.training.tuning import Tuned

EXAMPLE = """
[bold]Examples[/bold]

  rampion tune dev.nbest.gz --refs dev.en.0 --refs dev.en.1 --out run

  rampion tune run1.nbest run2.nbest run3.nbest --refs dev.en --weights start.weights --out run   (merged lists)

  rampion tune dev.nbest --refs dev.en --recipe xbleu-rprop --dev held.nbest --dev-refs held.en   (best round)

  rampion tune train.store --refs train.en --recipe xbleu-rprop --folder /var/tmp   (lists larger than memory)

  rampion tune train.store --refs train.en --recipe xbleu-rprop --shards 16 --executor dask,workers=4   (many workers)

  rampion tune samples.jsonl --metric metric:comet --recipe rampion-mira --set cap=0.001 --out run

  rampion tune dev.de --refs dev.en --decoder-command 'nbest-with {weights} {k}' --weights start.weights   (a loop)

  rampion tune dev.de --refs dev.en --system run/system --recipe mert --out mert --resume   (the bundled decoder)

  rampion tune dev.nbest --refs dev.en --recipe all --seeds 1,2,3 --dev held.nbest --dev-refs held.en   (a ranked table)
"""


@app.command(epilog=EXAMPLE)
def tune(
    lists: Annotated[
        list[str],
        typer.Argument(
            metavar="NBEST",
            help="Lists: Moses n-best, JSONL or a store; .gz and .zst too; - is stdin. With a decoder the text to "
            "translate, a sentence a line.",
            show_default=False,
        ),
    ],
    refs: Refs = None,
    out: Annotated[Path, typer.Option("--out", "-o", metavar="DIR", help="The run folder to write.")] = Path(
        "rampion-run"
    ),
    weights: Annotated[
        str | None,
        typer.Option(
            "--weights",
            "-w",
            metavar="FILE",
            help="Initial weights; without them all begin at 0, or where the bundled decoder begins.",
            show_default=False,
        ),
    ] = None,
    recipe: Annotated[
        str,
        typer.Option(
            "--recipe",
            "-r",
            metavar="NAME",
            help="A row of [bold]rampion recipes[/bold]; several, a comma between, or all: a ranked table of them.",
        ),
    ] = "rampion",
    metric: MetricOption = None,
    policy: Annotated[
        str | None,
        typer.Option(
            "--policy",
            metavar="NAME",
            help="What to keep of several files, the lists of successive decodings: merge, replace, fixed, window:N.",
            show_default="merge; with a decoder the recipe's",
        ),
    ] = None,
    set_: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="NAME=VALUE",
            help="Another setting of the recipe, such as rate=1e-3, rounds=20, alpha=5, seed=1; several values, "
            "a comma between (l2=1e-7,1e-6): a ranked table of them.",
            show_default=False,
        ),
    ] = None,
    dev: Annotated[
        list[str] | None,
        typer.Option(
            "--dev",
            metavar="FILE",
            help="Held-out lists, scored after every round, or with a decoder text, decoded after every iteration; "
            "recipes with keep=dev return the weights that are best there.",
            show_default=False,
        ),
    ] = None,
    dev_refs: Annotated[
        list[str] | None, typer.Option("--dev-refs", metavar="FILE", help="Their references.", show_default=False)
    ] = None,
    keep_rounds: Annotated[
        bool, typer.Option("--keep-rounds", metavar="", help="Write the weights of every round too: weights/NNN.bin.")
    ] = False,
    seeds: Annotated[
        str | None,
        typer.Option(
            "--seeds",
            metavar="N,N,...",
            help="Repeat recipes that draw random numbers with each seed, and show the spread.",
            show_default=False,
        ),
    ] = None,
    folder: Annotated[
        str | None,
        typer.Option(
            "--folder",
            metavar="DIR",
            help="For lists larger than memory, one .store: what learning reads again and again stands in files here, "
            "which nobody sees and which are gone when it ends.",
            show_default=False,
        ),
    ] = None,
    shards: Annotated[
        int | None,
        typer.Option(
            "--shards",
            min=1,
            metavar="N",
            help="Cut the lists into N shards, whose gradients of expected BLEU or risk are taken each on its own and "
            "added up: the weights are the same for any --executor. Who was stopped goes on by the same command.",
            show_default=False,
        ),
    ] = None,
    executor: Executor = None,
    lenient: Lenient = False,
    as_json: Json = False,
    decoder_command: decoders.DecoderCommand = None,
    timeout: decoders.Timeout = None,
    retries: decoders.Retries = None,
    system: decoders.SystemFolder = None,
    blocks: decoders.Blocks = None,
    lm: decoders.Lm = None,
    counts: decoders.Counts = None,
    features: decoders.FeatureNames = None,
    reordering: decoders.Order = None,
    beam: decoders.Beam = None,
    options: decoders.Options = None,
    threads: decoders.Threads = None,
    resume: decoders.Resume = False,
) -> None:
    """Tune weights on n-best lists with references, or in a loop with a decoder: NBEST is then the source text.

    A line a round tells the loss of all lists together, the metric of what the
    weights choose, and how far the weights have moved since the last round. With
    a decoder a line an iteration tells the metric of what it put first, then what
    the weights choose among all candidates after learning, the change of weights,
    the candidates learnt from, and seconds of decoding and of learning.
    """
    from rampion.metrics import metric as named
    from rampion.runs.folder import RunFolder
    from rampion.training.loop import Round
    from rampion.training.tuning import Task, policy_named, refuse_shards, segments_of

    wanted = decoders.Wanted(
        decoder_command, timeout, retries, system, blocks, lm, counts, features, reordering, beam, options, threads
    )
    if wanted:
        _refuse_for_lists(recipe, seeds, keep_rounds, folder, shards)
        loop(
            wanted, lists, refs, out=out, weights=weights, recipe=recipe, policy=policy,
            settings=[*(set_ or []), *([f"metric={metric}"] if metric else [])], dev=dev, dev_refs=dev_refs,
            lenient=lenient, resume=resume, as_json=as_json, executor=executor,
        )  # fmt: skip
        return
    if resume:
        raise RecipeError(
            "--resume goes on with a decoder's run; tuning on lists begins again, or with --shards goes on by itself: "
            "leave it out"
        )
    policy = policy or "merge"
    many = recipes_of(recipe, [*(set_ or []), *([f"metric={metric}"] if metric else [])])
    drawn = seeds_of(seeds)
    chosen = next(iter(many.values()))
    refuse_shards(chosen, shards, executor is not None)
    if shards and (drawn or len(many) > 1):
        raise RecipeError(f"--shards {shards}: is for one recipe at a time, with one value of every setting")
    measure = named(chosen.metric)
    policy_named(policy)
    runs, records = read_runs(lists, lenient)
    references = references_of(segments_of(runs), records, refs, chosen.metric)
    start = weights_for(runs[0].features, weights, lenient) if weights else None
    held, held_references = None, None
    if dev:
        held, records = read_runs(dev, lenient)
        held_references = references_of(segments_of(held), records, dev_refs, chosen.metric)
    asked = {
        "recipe": recipe, "lists": lists, "refs": refs or [], "weights": weights, "policy": policy,
        "dev": dev or [], "dev_refs": dev_refs or [], "lenient": lenient, "shards": shards, "executor": executor,
    }  # fmt: skip
    inputs = [*lists, *(refs or []), *([weights_file(weights)] if weights else []), *(dev or []), *(dev_refs or [])]
    task = Task(
        runs, references, start=start, policy=policy, lenient=lenient, dev=held, dev_references=held_references,
        folder=folder,
    )  # fmt: skip
    if drawn or len(many) > 1:
        sweep(many, drawn, measure, out, asked, inputs, as_json, keep_rounds, task)
        return
    columns = {"round": 5, "loss": 12, measure.name: 9, "moved": 9} | ({"dev": 9} if dev else {})
    live = console.Live(list(columns), list(columns.values()), err=as_json)

    @cache
    def run_folder() -> RunFolder:
        """Made with the first round, when the input has proved good."""
        settings = {name: value for name, value in chosen.settings().items() if name not in OF_DECODERS}
        return RunFolder.begin(out, asked | settings, inputs)

    def record(row: Round, reached: Weights) -> None:
        run_folder().round(row)
        if keep_rounds:
            run_folder().keep(row, reached)
        cells = [str(row.round), f"{row.loss:.4f}", console.number(row.score), f"{row.moved:.4f}"]
        live.row(cells if row.dev is None else [*cells, console.number(row.dev)])

    with ExitStack() as stack:
        coordinator = None
        if shards and shards > 1:
            coordinator, size = stack.enter_context(team(executor or "local", out))
            if size:
                raise RecipeError(f"--executor {executor}: --shards says how much a shard has; leave size= out")
        tuned = task.tune(chosen, record, shards=shards, executor=coordinator)
    facts = {
        "recipe": recipe, "metric": tuned.metric, "signature": tuned.signature, "round": tuned.round,
        "before": asdict(tuned.before), "after": asdict(tuned.after), "last": asdict(tuned.last),
        "dev": {name: asdict(at) for name, at in tuned.dev._asdict().items()} if tuned.dev else None,
        "weights": str(run_folder().weights),
    }  # fmt: skip
    run_folder().finish(tuned.weights, tuned.last_weights, facts)
    for warning in _doubts(tuned, measure.higher_is_better):
        console.note(warning)
    if as_json:
        console.show_json(facts)
        return
    console.show_gains(measure, _scores(tuned, initial=weights is not None), ["score", "dev"][: 2 if tuned.dev else 1])
    typer.echo(f"{tuned.signature}\nwrote {run_folder().weights}")


def _refuse_for_lists(
    recipe: str, seeds: str | None, keep_rounds: bool, folder: str | None, shards: int | None
) -> None:
    """Raise RecipeError on what is for lists, and not for a loop."""
    if "," in recipe or recipe == "all" or seeds:
        raise RecipeError("with a decoder tune one recipe at a time, and draw with one seed: --set seed=1")
    if keep_rounds:
        raise RecipeError("--keep-rounds is for lists; with a decoder the weights of every iteration are kept")
    if folder:
        raise RecipeError(f"--folder {folder}: is for lists larger than memory; a decoder's stand in it: leave it out")
    if shards:
        raise RecipeError(f"--shards {shards}: learns from lists that are there; with a decoder leave it out")


def _scores(tuned: Tuned, initial: bool) -> dict[str, list[float]]:
    """Where the weights stand on the lists, and on the held-out ones beside them."""
    before, after, last = ([at] for at in (tuned.before, tuned.after, tuned.last))
    if tuned.dev:
        before, after, last = [*before, tuned.dev.before], [*after, tuned.dev.after], [*last, tuned.dev.last]
    unlike = tuned.last_weights is not tuned.weights
    return {
        "as listed": [at.listed for at in before],
        **({"initial weights": [at.chosen for at in before]} if initial else {}),
        f"tuned, round {tuned.round}" if unlike else "tuned": [at.chosen for at in after],
        **({"tuned, last round": [at.chosen for at in last]} if unlike else {}),
        "oracle": [at.oracle for at in before],
    }


def _doubts(tuned: Tuned, higher_is_better: bool) -> Iterator[str]:
    """What should make one look twice at weights that are not plainly useless."""
    before, after = tuned.before.chosen, tuned.after.chosen
    if after < before if higher_is_better else after > before:
        yield (
            "the tuned weights choose worse on these lists than the initial ones "
            f"({console.number(after)} after {console.number(before)}); "
            "try a smaller rate (--set rate=...) or another recipe"
        )
    if tuned.shrunk < 0.05:
        yield (
            f"the weights have shrunk to {100 * tuned.shrunk:.2g} % of their initial length; a loss without a margin "
            "(ramp2, the perceptrons) is content with weights near 0"
        )
    if tuned.recipe.keep == "dev" and not tuned.dev:
        yield "this recipe keeps the round that is best on held-out lists; without --dev these are the last round's"
    if tuned.recipe.base == "listed":
        yield "these weights are to be added to the decoder's own totals: rampion rerank --listed"
