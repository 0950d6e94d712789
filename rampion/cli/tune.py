"""rampion tune: lists and references in, weights and a run folder out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from rampion import console
from rampion.cli import app
from rampion.cli import options as opt
from rampion.cli.panels import LISTS

if TYPE_CHECKING:
    from rampion.apps.decoders import LoopDecoder
    from rampion.apps.tune import Compared, TunedRun, TuneTask
    from rampion.metrics import Metric
    from rampion.training.comparison import Trial
    from rampion.training.loop import ListIteration, Round
    from rampion.training.tuned import Tuned
    from rampion.training.validation import Figures

EXAMPLE = """
[bold]Examples[/bold]

  rampion tune dev.nbest.gz --refs dev.en.0 --refs dev.en.1 --out run

  rampion tune run1.nbest run2.nbest run3.nbest --refs dev.en --weights start.weights --out run   (merged lists)

  rampion tune dev.nbest --refs dev.en --recipe xbleu-rprop --dev held.nbest --dev-refs held.en   (best round)

  rampion tune train.store --refs train.en --recipe xbleu-rprop --folder /var/tmp   (lists larger than memory)

  rampion tune train.store --refs train.en --recipe xbleu-rprop --shards 16 --executor dask,workers=4   (many workers)

  rampion tune samples.jsonl --target is_correct   (0/1 labels, the best of a few recipes)

  rampion tune samples.jsonl --target is_correct --bends   (weights of places in the list too, if they help)

  rampion tune samples.jsonl --metric metric:comet --recipe rampion-mira --set cap=0.001 --out run

  rampion tune samples.csv --columns id=question,text=answer,target=is_correct --target is_correct --out run

  rampion tune dev.de --refs dev.en --decoder-command 'nbest-with {weights} {k}' --weights start.weights   (a loop)

  rampion tune dev.de --refs dev.en --system run/system --recipe mert --out mert --resume   (the bundled decoder)

  rampion tune dev.nbest --refs dev.en --recipe all --seeds 1,2,3 --dev held.nbest --dev-refs held.en   (a ranked table)
"""


@app.command(epilog=EXAMPLE, rich_help_panel=LISTS)
def tune(
    lists: opt.ListsOrText,
    refs: opt.Refs = None,
    out: opt.RunOut = Path("rampion-run"),
    weights: opt.Weights = None,
    recipe: opt.TuneRecipe = None,
    metric: opt.Metric = None,
    target: opt.Target = None,
    policy: opt.Policy = None,
    set_: opt.Set = None,
    dev: opt.Dev = None,
    dev_refs: opt.DevRefs = None,
    folds: opt.Folds = 5,
    group: opt.Group = None,
    bends: opt.Bends = False,
    keep_rounds: opt.KeepRounds = False,
    seeds: opt.Seeds = None,
    folder: opt.Folder = None,
    shards: opt.Shards = None,
    executor: opt.Executor = None,
    columns: opt.Columns = None,
    lenient: opt.Lenient = False,
    as_json: opt.Json = False,
    decoder_command: opt.DecoderCommand = None,
    timeout: opt.Timeout = None,
    retries: opt.Retries = None,
    system: opt.System = None,
    blocks: opt.Blocks = None,
    lm: opt.Lm = None,
    counts: opt.Counts = None,
    features: opt.Features = None,
    reordering: opt.Reordering = None,
    beam: opt.Beam = None,
    options: opt.BlockOptions = None,
    threads: opt.Threads = None,
    resume: opt.Resume = False,
    force: opt.Force = False,
) -> None:
    """Tune weights on n-best lists with references, or in a loop with a decoder.

    Without --recipe a few are tried on held-out folds. Several (mert,risk or all) or --seeds give a ranked table.
    """
    from rampion.apps import tune as tuning
    from rampion.apps.decoders import LoopDecoder

    wanted = LoopDecoder(
        decoder_command=decoder_command, timeout=timeout, retries=retries, system=system, blocks=blocks, lm=lm,
        counts=counts, features=features, reordering=reordering, beam=beam, options=options, threads=threads,
    )  # fmt: skip
    usual = "rampion" if wanted or set_ or shards or executor or seeds else "auto"
    task = tuning.TuneTask(
        lists=lists, refs=refs or [], out=out, weights=weights, recipe=recipe or usual, policy=policy, dev=dev or [],
        settings=tuning.settings_of(set_, metric, target), dev_refs=dev_refs or [], keep_rounds=keep_rounds,
        seeds=seeds, folder=folder, shards=shards, executor=executor, columns=columns or [], lenient=lenient,
        resume=resume, force=force, folds=folds, group=group, bends=bends,
    )  # fmt: skip
    with tuning.claimed(task):
        _tune_in_a_loop(task, wanted, as_json) if wanted else _tune_on_lists(task, as_json)


def _tune_on_lists(task: TuneTask, as_json: bool) -> None:
    from rampion.apps import tune as tuning

    if (ready := tuning.prepare(task)).several:
        _show_comparison(tuning.compare(ready), as_json)
    else:
        _show_run(tuning.tune(ready, _rounds(as_json)), as_json)


def _rounds(as_json: bool) -> Callable[[str, Round], None]:
    """A table whose rows are printed as rounds come."""
    lines: list[console.Live] = []

    def show(metric: str, row: Round) -> None:
        if not lines:
            columns = {"round": 5, "loss": 12, metric: 9, "moved": 9} | ({} if row.dev is None else {"dev": 9})
            lines.append(console.Live(list(columns), list(columns.values()), err=as_json))
        cells = [str(row.round), f"{row.loss:.4f}", console.number(row.score), f"{row.moved:.4f}"]
        lines[0].row(cells if row.dev is None else [*cells, console.number(row.dev)])

    return show


def _iterations(as_json: bool) -> Callable[[str, ListIteration], None]:
    """A table whose rows are printed as iterations come."""
    lines: list[console.Live] = []

    def show(metric: str, row: ListIteration) -> None:
        if not lines:
            columns = {"iter": 4, metric: 9, "learnt": 9, **({} if row.dev is None else {"dev": 9}), "moved": 9}
            columns |= {"candidates": 10, "decode s": 8, "learn s": 7}
            lines.append(console.Live(list(columns), list(columns.values()), err=as_json))
        lines[0].row(_cells(row))

    return show


def _show_run(found: TunedRun, as_json: bool) -> None:
    for doubt in found.doubts:
        console.note(doubt)
    if as_json:
        console.show_json(found.facts)
        return
    tuned = found.tuned
    if tuned.held:
        _show_held(tuned.held)
    scores = _scores(tuned, found.initial)
    rows = [[name, *console.numbers(row)] for name, row in scores.items()]
    head = ["", "score", "dev"][: 3 if tuned.dev else 2]
    console.show(rows, head, title=f"{found.metric.name} of the lists that the weights have learnt from")
    if tuned.choice:
        typer.echo(f"chosen: {tuned.choice}")
    typer.echo(f"{tuned.signature}\nwrote {found.weights}")


def _show_held(held: Figures) -> None:
    """What the weights are worth where they have not learnt: the headline."""
    less = "" if held.metric.higher_is_better else " (less is better)"
    title = f"{held.metric.name}{less} of lists held out: {held.how}"
    console.show(held.rows(), ["", "score", "95% interval", ""], title=title)
    typer.secho(held.verdict(), bold=True)


def _tune_in_a_loop(task: TuneTask, wanted: LoopDecoder, as_json: bool) -> None:
    from rampion.apps.loop import loop  # with the decoder, which lists do without

    found = loop(task, wanted, _iterations(as_json))
    if as_json:
        facts = found._asdict()
        del facts["rows"], facts["best_on_dev"]
        console.show_json(facts | {"iterations": [asdict(row) for row in found.rows]})
        return
    if found.best_on_dev:
        typer.echo(f"iteration {found.iteration} is best on dev")
    typer.echo(f"{found.signature}\nwrote {found.weights}")


def _show_comparison(found: Compared, as_json: bool) -> None:
    ran = any(trial.runs for trial in found.trials)
    if as_json:
        console.show_json([trial.facts() for trial in found.trials])
    else:
        _show(found.trials, found.metric)
        typer.echo(f"wrote {found.table}" + (" and a folder for every run" if ran else ""))
    if not ran:
        raise typer.Exit(1)


def _cells(row: ListIteration) -> list[str]:
    """The row of the table."""
    scores = [row.decoded, row.learnt, *([row.dev] if row.dev is not None else [])]
    learning = sum(row.seconds.get(part, 0.0) for part in ("merging", "judging", "learning"))
    seconds = [f"{value:.2f}" for value in (row.seconds.get("decoding", 0.0), learning)]
    return [str(row.iteration), *console.numbers(scores), f"{row.moved:.4f}", str(row.candidates), *seconds]


def _scores(tuned: Tuned, initial: bool) -> dict[str, list[float]]:
    """Where the weights stand on the lists, and on the held-out ones beside them."""
    before, after, last = ([at] for at in (tuned.before, tuned.after, tuned.last))
    if tuned.dev:
        before, after, last = [*before, tuned.dev.before], [*after, tuned.dev.after], [*last, tuned.dev.last]
    unlike = tuned.last_weights is not tuned.weights
    name = "tuned" if not unlike else f"tuned, round {tuned.round}" if tuned.round else "chosen"
    return {
        "as listed": [at.listed for at in before],
        **({"initial weights": [at.chosen for at in before]} if initial else {}),
        name: [at.chosen for at in after],
        **({"tuned, last round": [at.chosen for at in last]} if unlike else {}),
        "oracle": [at.oracle for at in before],
    }


def _show(trials: Sequence[Trial], metric: Metric) -> None:
    """Scores as mean and sd over the seeds, held-out ones with an interval, seconds a run; baselines below."""
    done = [trial for trial in trials if trial.runs]
    figures = next((run.held for trial in done for run in trial.runs if run.held), None)
    several = any(len(trial.runs) > 1 for trial in done)
    proof = ["held out", *["sd"] * several, "95% interval", "p"] if figures else []
    spread, apart = (["runs"], ["distance"]) if several else ([], [])
    head = ["recipe", *spread, "tuned", *["sd"] * several, *proof, "seconds", *apart]
    rows = [_trial_row(trial, bool(figures), several) for trial in done]
    if done:
        first = done[0].runs[0]
        for name, score in (("listed order", first.before.listed), ("oracle", first.before.oracle)):
            if not figures:
                rows.append(_unlearnt(head, name, tuned=console.number(score)))
    if figures:
        for name, shown, interval, _ in figures.rows():
            if name != "tuned":
                rows.append(_unlearnt(head, name, **{"held out": shown, "95% interval": interval}))
    if rows:
        console.show(rows, head, title=f"{metric.name}, {'more' if metric.higher_is_better else 'less'} is better")
    if figures:
        typer.echo(f"held out: {figures.how}; p against the {figures.best.name}")
    for trial in trials:
        if not trial.runs:
            console.say(f"{trial.name}: did not run: {trial.trouble}")
        elif (held := trial.runs[0].held) and held.gain < 0 and held.sure:
            console.note(f"{trial.name} chooses worse than the {held.best.name}, which needs no learning")
    if done:
        typer.echo(done[0].runs[0].signature)


def _unlearnt(head: Sequence[str], name: str, **cells: str) -> list[str]:
    """The row of a choice that needs no learning."""
    return [name, *(cells.get(column, "") for column in head[1:])]


def _trial_row(trial: Trial, proven: bool, several: bool) -> list[str]:
    facts, held = trial.facts(), trial.runs[0].held
    cells = [trial.name, *([str(len(trial.runs))] if several else [])]
    for one in [facts["tuned"], *([facts["held"]] if proven else [])]:
        cells += [console.number(one["mean"]), *([_sd(one["sd"], len(trial.runs))] if several else [])]
    if proven:
        low, high = console.numbers([held["tuned"].low, held["tuned"].high]) if held else ("", "")
        cells += [f"[{low}, {high}]" if held else "", f"{held.p:.2g}" if held else ""]
    apart = "" if trial.distance is None else f"{trial.distance:.4f}"
    return [*cells, f"{trial.seconds:.2f}", *([apart] if several else [])]


def _sd(sd: float, runs: int) -> str:
    return f"{sd:.2f}" if runs > 1 else ""
