"""rampion lm: n-gram language models, from a text to perplexities."""

from __future__ import annotations

from typing import Annotated

import typer

from rampion import console
from rampion.cli import app
from rampion.cli.options import Json

models = typer.Typer(no_args_is_help=True, help="Estimate n-gram language models, score texts with them, convert them.")
app.add_typer(models, name="lm")

Model = Annotated[
    str, typer.Argument(metavar="LM", help="A model: ARPA, plain or packed, or binary.", show_default=False)
]
Texts = Annotated[
    list[str], typer.Argument(metavar="TEXT", help="Texts, a sentence a line; - is stdin.", show_default=False)
]
Out = Annotated[
    str,
    typer.Option(
        "--out",
        "-o",
        metavar="FILE",
        help="The model to write: .arpa or .arpa.gz as text, any other name (.lm) in binary form.",
        show_default=False,
    ),
]

ESTIMATE = """
[bold]Examples[/bold]

  rampion lm estimate train.en --out en.lm

  rampion lm estimate train.en.gz more.en.gz --order 5 --prune --out en.arpa.gz
"""


@models.command(epilog=ESTIMATE)
def estimate(
    texts: Texts,
    out: Out,
    order: Annotated[int, typer.Option("--order", metavar="N", help="Words of the longest n-grams, 1 to 6.")] = 3,
    prune: Annotated[
        bool, typer.Option("--prune", metavar="", help="Drop the n-grams above bigrams that occur once.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Estimate a language model from texts: interpolated modified Kneser-Ney."""
    from rampion.decoder.models import arpa, kneser
    from rampion.formats import texts as files
    from rampion.store import text

    whole = text.Texts.join([files.read(path) for path in texts])
    found = kneser.estimate(whole, order, prune, progress=_progress)
    arpa.save(out, found.lm)
    for size, degenerate in enumerate(found.degenerate, 1):
        if degenerate:
            numbers = ", ".join(map(str, kneser.DEGENERATE))
            console.note(f"too little text to estimate the discounts of order {size}; used {numbers}")
    counts = [len(grams.probs) for grams in found.lm.grams()]
    if as_json:
        facts = {"model": out, "sentences": len(whole), "grams": counts, "bytes": found.lm.nbytes}
        console.show_json(facts | {"discounts": found.discounts, "degenerate": found.degenerate}, err=out == "-")
        return
    sizes = ", ".join(f"{count} {size}-grams" for size, count in enumerate(counts, 1))
    typer.echo(f"wrote {out}: {sizes}; {found.lm.nbytes / 2**20:.1f} MiB in memory", err=out == "-")


def _progress(what: str, order: int, orders: int) -> None:
    """A line on a terminal that the next one replaces."""
    import sys

    if sys.stderr.isatty():
        typer.echo(f"\r{what} n-grams of order {order} of {orders} ", err=True, nl=what == "estimating")


SCORE = """
[bold]Examples[/bold]

  rampion lm score en.lm dev.en test.en

  rampion lm score en.arpa.gz --lines - < test.en
"""


@models.command(epilog=SCORE)
def score(
    model: Model,
    texts: Texts,
    lines: Annotated[
        bool, typer.Option("--lines", metavar="", help="Print the natural log-probability of every line instead.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Perplexity of texts, or the log-probability of each line; the end of a line is foretold too."""
    from rampion.decoder.models import arpa
    from rampion.formats import texts as files

    loaded = arpa.load(model)
    given = {path: files.read(path) for path in texts}
    if lines:
        scores = {path: loaded.score(text).tolist() for path, text in given.items()}
        if as_json:
            console.show_json([{"text": path, "scores": values} for path, values in scores.items()])
        else:
            typer.echo("".join(f"{value!r}\n" for values in scores.values() for value in values), nl=False)
        return
    rows = [{"text": path, **loaded.perplexity(text)._asdict()} for path, text in given.items()]
    if as_json:
        console.show_json(rows)
    else:
        console.show([tuple(row.values()) for row in rows], [name.replace("_", " ") for name in rows[0]])


@models.command(epilog="[bold]Example[/bold]\n\n  rampion lm convert en.arpa.gz --out en.lm")
def convert(model: Model, out: Out) -> None:
    """Turn a model from ARPA into the binary form, or back; no score changes."""
    from rampion.decoder.models import arpa

    loaded = arpa.load(model)
    arpa.save(out, loaded)
    typer.echo(f"wrote {out}: order {loaded.order}, {len(loaded)} n-grams", err=out == "-")
