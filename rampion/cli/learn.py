"""rampion learn: a corpus in; a system with features learnt from all of its text, and the gain of each step out."""

from __future__ import annotations

from typing import TYPE_CHECKING

import typer

from rampion import console
from rampion.cli import app
from rampion.cli import options as opt
from rampion.cli.panels import DECODER

if TYPE_CHECKING:
    from rampion.apps.learn import Results, Score

EXAMPLE = """
[bold]Examples[/bold]

  rampion learn corpus --out system

  rampion learn corpus --out system --parts 5 --pairs 60000   (lists of the first 60,000 sentences only)

  rampion learn corpus --out system --recipe xbleu-adagrad --features pairs,reordering --in-lists 5

  rampion decode test.de --blocks system/learnt.blocks --lm system/system/system.lm --weights system/weights.txt \\
      --features fourteen,LearntPairs,… --out test.out   (the command to decode with is printed at the end)
"""


@app.command(epilog=EXAMPLE, rich_help_panel=DECODER)
def learn(
    corpus: opt.TrainCorpus,
    out: opt.StretchesOut,
    features: opt.LearntFeatures = "pairs,lexical,reordering",
    recipe: opt.Recipe = "xbleu-rprop",
    set_: opt.Set = None,
    parts: opt.Stretches = 10,
    pairs: opt.FirstPairs = None,
    k: opt.ListK = 50,
    in_lists: opt.InLists = 2,
    shared: opt.SharedWeights = True,
    order: opt.Order = 4,
    iterations: opt.Iterations = 8,
    seeds: opt.SomeSeeds = "1,2,3",
    tuner: opt.Tuner = "mert",
    beam: opt.Beam = None,
    options: opt.BlockOptions = None,
    pair: opt.Pair = None,
    threads: opt.Threads = None,
    as_json: opt.Json = False,
) -> None:
    """Build a translation system whose blocks carry features learnt from the whole training text.

    It aligns words, extracts blocks, estimates a language model and tunes fourteen features (--tuner). Then it decodes
    the training text, each stretch with blocks and a language model of the other stretches. From these lists it learns
    weights of sparse features by expected BLEU. The last stretch selects the rate, the regulariser and the number of
    steps. The weights become columns of the blocks, and all is tuned again. An interrupted run is resumed by the same
    command.

    The table at the end compares each step with dense tuning, on dev and test; several seeds are runs of MERT.
    """
    from rampion.apps import learn as learning
    from rampion.threads import processors

    task = learning.LearnTask(
        corpus=corpus, out=out, features=features, recipe=recipe, settings=set_ or [], parts=parts, pairs=pairs, k=k,
        least=in_lists, shared=shared, order=order, iterations=iterations, seeds=seeds, tuner=tuner,
        beam=beam or 100, options=options or 20, pair=pair, threads=threads or processors(),
    )  # fmt: skip
    found = learning.learn(task, console.note)
    if as_json:
        console.show_json({**found, "system": str(out)})
        return
    show(found)
    typer.echo(f"\nwrote {out}; to translate:\n  {learning.command(task)}")


def show(found: Results) -> None:
    """A line for every step: dev, then test by three metrics."""
    heads = ["", "dev BLEU", "test BLEU", "95% interval", "gain", "95% interval", "p", "chrF", "gain", "TER", "change"]
    rows = []
    for name, scores in found["table"].items():
        test = scores["test bleu"]
        cells = [name, f"{scores['dev bleu']['score']:.2f}", f"{test['score']:.2f}", _span(test["low"], test["high"])]
        cells += [_gain(test), _span(test["gain_low"], test["gain_high"], "+") if "gain" in test else ""]
        cells.append(f"{test['p']:.4f}" if "p" in test else "")
        for metric in ("chrf", "ter"):
            cells += [f"{scores[f'test {metric}']['score']:.2f}", _gain(scores[f"test {metric}"])]
        rows.append(cells)
    console.show(rows, heads)
    course = found["course"]
    typer.echo(
        f"{found['signatures']['bleu']}\ngains over dense tuning; p: approximate randomisation\n"
        f"{course['nonzero']:,} weights of {course['features']:,} features, {course['groups']:,} of groups, "
        f"{course['steps']} steps; expected BLEU of held-out lists {course['before']:.2f} -> {course['held_out']:.2f}"
    )


def _gain(score: Score) -> str:
    return f"{score['gain']:+.2f}" if "gain" in score else ""


def _span(low: float, high: float, sign: str = "") -> str:
    return f"[{low:{sign}.2f}, {high:{sign}.2f}]"
