"""rampion decode: source sentences and a block set in; translations or n-best lists out."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rampion import console
from rampion.cli import app
from rampion.cli import options as opt
from rampion.cli.panels import DECODER
from rampion.cli.system import with_system

if TYPE_CHECKING:
    from rampion.apps.systems import SystemOptions

EXAMPLE = """
[bold]Examples[/bold]

  rampion decode test.de --blocks de-en.blocks --lm en.lm --weights run --out test.out

  rampion decode dev.de --blocks de-en.blocks --lm en.lm --nbest dev.nbest.gz --save-weights initial.weights

  rampion decode dev.de --blocks de-en.blocks --features all --reordering mon --weights run --out dev.out

  rampion decode train.de --blocks de-en.blocks --lm en.lm --nbest 1.nbest --leave-one-out train.en --align de-en.align

  rampion decode test.de --blocks de-en.blocks --lm en.lm --counts de-en.counts --weights large --out test.out

  rampion decode train.de --blocks de-en.blocks --lm en.lm --nbest 1.store --executor dask,workers=8 --run parts

  rampion decode test.de --weights run --out test.out   (a run of [bold]rampion train[/bold] brings all that it needs)
"""


@app.command(epilog=EXAMPLE, rich_help_panel=DECODER)
@with_system
def decode(
    source: opt.Source,
    *,
    out: opt.TranslationsOut = "-",
    nbest: opt.Nbest = None,
    k: opt.ListK = 100,
    distinct: opt.Distinct = False,
    system: SystemOptions,
    save_weights: opt.SaveWeights = None,
    counts: opt.Counts = None,
    executor: opt.Executor = None,
    run: opt.ShardsFolder = None,
    as_json: opt.Json = False,
) -> None:
    """Translate with the bundled decoder: the best translation of every line, or lists of the k best.

    Without --weights it decodes with the weights that tuning starts from. A run of [bold]rampion train[/bold] as
    --weights brings its blocks, language model and settings; other options change them.
    """
    from rampion.apps.decode import Task, translate
    from rampion.apps.systems import Shared

    task = Task(
        source=source, system=system, counts=counts, out=out, nbest=nbest, k=k, distinct=distinct,
        save_weights=save_weights, shared=Shared(executor, run),
    )  # fmt: skip
    found = translate(task)
    if as_json:
        facts = {name: value for name, value in found._asdict().items() if value is not None}
        console.show_json(facts, err=out == "-" and not nbest)
    elif nbest or out != "-":
        console.note(f"wrote {nbest or out}")
