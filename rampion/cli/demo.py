"""rampion demo: the main job on a corpus that it writes itself, from parallel text to a comparison and a page."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import typer

from rampion import console
from rampion.cli import app, demo_lists, demo_samples, demo_transcripts
from rampion.cli import options as opt
from rampion.cli.files import App
from rampion.cli.panels import EXPERIMENTS

if TYPE_CHECKING:
    from rampion.apps.demo import Results

EXAMPLE = """
[bold]Examples[/bold]

  rampion demo

  rampion demo --seed 7 --out seven

  rampion demo samples --out samples   (samples of language models with a 0/1 label, to try the other commands on)

  rampion demo transcripts --out speech   (n-best lists of a speech recogniser)

  rampion demo lists --out toy   (n-best lists alone, to try the other commands on)
"""

TOP = 5  # features

demos = App(invoke_without_command=True)
app.add_typer(demos, name="demo", rich_help_panel=EXPERIMENTS)
demos.command(epilog=demo_lists.EXAMPLE)(demo_lists.lists)
demos.command(epilog=demo_samples.EXAMPLE)(demo_samples.samples)
demos.command(epilog=demo_transcripts.EXAMPLE)(demo_transcripts.transcripts)


@demos.callback(epilog=EXAMPLE)
def demo(
    context: typer.Context,
    out: opt.DemoOut = Path("rampion-demo"),
    seed: opt.Seed = 1,
    pairs: opt.DemoPairs = 20_000,
    held_out: opt.DemoHeldOut = 600,
    threads: opt.Threads = None,
    as_json: opt.Json = False,
) -> None:
    """Write German sentences with their translations, build a translator from them, and teach it in two steps.

    It aligns words, extracts blocks and estimates a language model. RAMPION then tunes 14 features. Then a hundred
    thousand features of words and phrases are learnt from the training text, and tuned together with the others. A
    page shows what each step has gained. This takes a minute or two. Another seed writes other sentences.
    """
    if context.invoked_subcommand:
        return
    from rampion.apps.demo import Plan, demonstrate

    def say(words: str) -> None:
        typer.echo(words, nl=False, err=as_json)

    results, page = demonstrate(Plan(seed, pairs, held_out), out, threads, say)
    if as_json:
        console.show_json({**results, "page": str(page)})
        return
    show(results)
    typer.echo(
        f"\nwrote {page}\nOpen it in a browser: in its k-best explorer, step through RAMPION's decodings and watch the "
        "prediction\nmove from the fear to the hope."
    )


def show(results: Results) -> None:
    """Print the table, the strongest features, and a sentence."""
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
    typer.echo(f"{results['signature']}\ngains are over the line above; p: approximate randomisation\n")
    strong = [(name, f"{row['weight']:+.3f}") for name, row in results["strongest"].items()]
    console.show(strong[:TOP], ["strongest learnt features", "weight"])
    one = results["examples"][0]
    said = {"source": one["source"], "reference": one["references"][0]}
    said |= {LABELS[name]: one["said"][name]["text"] for name in ("initial", "dense", "learnt")}
    typer.echo(f"\nsentence {one['segment']} of the test text, where RAMPION {one['why']}")
    for who, text in said.items():
        typer.echo(f"  {who:<17}{text}")
