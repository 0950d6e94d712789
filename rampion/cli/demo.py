"""rampion demo: the main job on an invented corpus, from parallel text to a comparison and a page."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from rampion import console
from rampion.cli import app, demo_lists
from rampion.cli.options import Json

EXAMPLE = """
[bold]Examples[/bold]

  rampion demo

  rampion demo --seed 7 --out seven

  rampion demo lists --out toy   (n-best lists alone, to try the other commands on)
"""

TOP = 5  # features

demos = typer.Typer(invoke_without_command=True)
app.add_typer(demos, name="demo")
demos.command(epilog=demo_lists.EXAMPLE)(demo_lists.lists)


@demos.callback(epilog=EXAMPLE)
def demo(
    context: typer.Context,
    out: Annotated[
        Path, typer.Option("--out", "-o", metavar="DIR", help="A folder of its own; what it holds already goes on.")
    ] = Path("rampion-demo"),
    seed: Annotated[int, typer.Option("--seed", min=0, help="Another seed invents another pair of languages.")] = 1,
    pairs: Annotated[
        int, typer.Option("--pairs", min=100, help="Pairs of sentences; weights are learnt from half of them.")
    ] = 24_000,
    held_out: Annotated[
        int, typer.Option("--held-out", min=10, help="Sentences to tune on, and as many to test on.")
    ] = 500,
    iterations: Annotated[
        int, typer.Option("--iterations", min=1, metavar="N", help="Decodings that binary features learn from.")
    ] = 12,
    threads: Annotated[int, typer.Option("--threads", min=1, metavar="N", help="Threads; the result is the same.")] = 2,
    as_json: Json = False,
) -> None:
    """Invent a corpus, build a translator from it, train it in two ways, and show on a page what that has gained.

    Words are aligned, blocks cut out and a language model estimated; RAMPION tunes 14 dense features, and binary ones
    by the million are learnt from relevant sets. It takes a minute or two.
    """
    if context.invoked_subcommand:
        return
    from rampion.apps.demo import Plan, Tour
    from rampion.cli.report import page_of
    from rampion.formats.files import replacing

    def say(words: str) -> None:
        typer.echo(words, nl=False, err=as_json)

    tour = Tour.begin(Plan(seed, pairs, held_out, iterations), out, threads, say)
    results = tour.run()
    page = out / "report.html"
    with tour.stage("page", "Drawing the page"), replacing(page) as file:
        file.write(page_of(out).html().encode(errors="replace"))
    if as_json:
        console.show_json({**results, "page": str(page)})
        return
    show(results)
    typer.echo(
        f"\nwrote {page}\nOpen it in a browser: in its k-best explorer, step through RAMPION's decodings and watch the "
        "prediction\nmove from the fear to the hope."
    )


def show(results: Mapping[str, Any]) -> None:
    """The table, the strongest features, and a sentence."""
    from rampion.report.demonstrated import LABELS

    rows = []
    for name, row in results["table"].items():
        gain = row.get("gain")
        told = (
            (f"{gain['score']:+.2f}", f"[{gain['low']:+.2f}, {gain['high']:+.2f}]", f"{row['p']:.4f}") if gain else ""
        )
        rows.append((LABELS[name], row["score"], f"[{row['low']:.2f}, {row['high']:.2f}]", *(told or ("", "", ""))))
    typer.echo()
    console.show(rows, ["BLEU of the test text", "score", "95% interval", "gain", "95% interval", "p"])
    begun = results["curves"]["binary"][0]
    typer.echo(
        f"{results['signature']}\np: approximate randomisation against the initial weights\n"
        f"Binary features begin with nothing: their first decoding scores {begun:.2f}.\n"
    )
    strong = [(name, f"{row['weight']:+.3f}", f"{row['count']:,}") for name, row in results["strongest"].items()]
    console.show(strong[:TOP], ["strongest binary features", "weight", "count"])
    one = results["examples"][0]
    said = {"source": one["source"], "reference": one["references"][0]}
    said |= {LABELS[name]: one["said"][name]["text"] for name in ("initial", "dense", "binary")}
    typer.echo(f"\nsentence {one['segment']} of the test text, where RAMPION {one['why']}")
    for who, text in said.items():
        typer.echo(f"  {who:<17}{text}")
