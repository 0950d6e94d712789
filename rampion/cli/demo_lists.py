"""rampion demo lists: tune on invented n-best lists, from lists to a comparison with confidence intervals."""

from __future__ import annotations

from typing import TYPE_CHECKING

import typer

from rampion import console
from rampion.cli import options as opt

if TYPE_CHECKING:
    from rampion.analysis.significance import Bootstrapped
    from rampion.apps.demo_lists import Results

EXAMPLE = """
[bold]Examples[/bold]

  rampion demo lists --seed 7

  rampion demo lists --out toy   (then: rampion tune toy/dev.jsonl --weights toy/initial.weights)
"""


def lists(
    seed: opt.Seed = 1,
    segments: opt.Segments = 800,
    k: opt.K = 100,
    out: opt.ListsDemoOut = None,
    as_json: opt.Json = False,
) -> None:
    """Tune on the n-best lists of a toy translation task invented from a seed, and rerank its held-out half."""
    from rampion.apps.demo_lists import demonstrate

    found = demonstrate(seed, segments, k, out, console.note if as_json else typer.echo)
    if as_json:
        console.show_json(found.facts())
        return
    _show(found)


def _show(found: Results) -> None:
    from rampion.apps.demo_lists import TITLES

    rows = [
        (name, found.tuned[name], one.score, f"[{one.low:.2f}, {one.high:.2f}]", *_gain(name, found.gain[name]))
        for name, one in found.held_out.items()
    ]
    rows.append(("oracle", found.oracle_tuned, found.oracle, "", "", ""))
    console.show(rows, ["BLEU after", "tuned on", "held out", "95% interval", "gain", "95% interval"])
    if found.gain[TITLES["ramp2"]].high < 0:
        typer.echo(
            "\nRamp 2 raises good candidates but lowers no bad ones: on lists that stay the same its loss is least\n"
            f"where all scores are nearly equal (its weights keep {100 * found.shrunk:.0f} % of their length)."
        )
    gain = found.gain[TITLES["rampion"]]
    sure = "a significant gain" if gain.low > 0 else "it may be chance"
    typer.echo(
        f"\nRAMPION's reranking of {found.sentences} sentences it never saw gains {gain.score:+.2f} BLEU over the "
        f"initial weights\n(95% interval {gain.low:+.2f} to {gain.high:+.2f}): {sure}. "
        f"The best candidates would score {found.oracle:.2f}.\n"
        f"{found.signature}"
    )


def _gain(name: str, gain: Bootstrapped) -> tuple[str, str]:
    from rampion.apps.demo_lists import START

    return ("", "") if name == START else (f"{gain.score:+.2f}", f"[{gain.low:+.2f}, {gain.high:+.2f}]")
