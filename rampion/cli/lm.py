"""rampion lm: n-gram language models, from a text to perplexities."""

from __future__ import annotations

from typing import Annotated

import typer

from rampion import console
from rampion.cli import app
from rampion.cli import options as opt
from rampion.cli.files import App
from rampion.cli.panels import DECODER

models = App(no_args_is_help=True, help="Estimate n-gram language models, score texts with them, convert them.")
app.add_typer(models, name="lm", rich_help_panel=DECODER)

Model = Annotated[str, typer.Argument(metavar="LM", help="A model: ARPA, plain or packed, or binary.")]
Texts = Annotated[list[str], typer.Argument(metavar="TEXT", help="Texts, one sentence on each line; - is stdin.")]

ESTIMATE = """
[bold]Examples[/bold]

  rampion lm estimate train.en --out en.lm

  rampion lm estimate train.en.gz more.en.gz --order 5 --prune --out en.arpa.gz
"""


@models.command(epilog=ESTIMATE)
def estimate(
    texts: Texts,
    out: opt.ModelOut,
    order: opt.Order = 3,
    prune: opt.Prune = False,
    as_json: opt.Json = False,
) -> None:
    """Estimate a language model from texts: interpolated modified Kneser-Ney."""
    from rampion.apps import lm

    made = lm.estimate(texts, out, order, prune)
    if as_json:
        facts = {"model": out, "sentences": made.sentences, "grams": made.grams, "bytes": made.bytes}
        console.show_json(facts | {"discounts": made.discounts, "degenerate": made.degenerate}, err=out == "-")
        return
    sizes = ", ".join(f"{count} {size}-grams" for size, count in enumerate(made.grams, 1))
    typer.echo(f"wrote {out}: {sizes}; {made.bytes / 2**20:.1f} MiB in memory", err=out == "-")


SCORE = """
[bold]Examples[/bold]

  rampion lm score en.lm dev.en test.en

  rampion lm score en.arpa.gz --lines - < test.en
"""


@models.command(epilog=SCORE)
def score(
    model: Model,
    texts: Texts,
    lines: opt.Lines = False,
    as_json: opt.Json = False,
) -> None:
    """Compute the perplexity of texts, or the log-probability of each line, its end included."""
    from rampion.apps import lm

    if lines:
        scores = lm.score_lines(model, texts)
        if as_json:
            console.show_json([{"text": path, "scores": values} for path, values in scores.items()])
        else:
            typer.echo("".join(f"{value!r}\n" for values in scores.values() for value in values), nl=False)
        return
    rows = [{"text": path, **found._asdict()} for path, found in lm.score(model, texts).items()]
    if as_json:
        console.show_json(rows)
    else:
        console.show([tuple(row.values()) for row in rows], [name.replace("_", " ") for name in rows[0]])


@models.command(epilog="[bold]Example[/bold]\n\n  rampion lm convert en.arpa.gz --out en.lm")
def convert(model: Model, out: opt.ModelOut) -> None:
    """Turn a model from ARPA into the binary form, or back; no score changes."""
    from rampion.apps import lm

    made = lm.convert(model, out)
    typer.echo(f"wrote {out}: order {made.order}, {len(made)} n-grams", err=out == "-")
