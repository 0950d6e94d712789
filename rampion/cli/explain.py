"""rampion explain: how the decoder builds a translation, block by block."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rampion import console
from rampion.cli import app
from rampion.cli import options as opt
from rampion.cli.panels import DECODER
from rampion.cli.system import with_system
from rampion.errors import RecipeError

if TYPE_CHECKING:
    from rampion.apps.systems import SystemOptions

EXAMPLE = """
[bold]Examples[/bold]

  rampion explain test.de --blocks de-en.blocks --lm en.lm --weights run --line 7 --svg 7.svg

  rampion explain test.de --weights run --line 40 --top 4   (of a run of [bold]rampion train[/bold])

  rampion explain test.de --blocks de-en.blocks --lm en.lm --weights run --derivations test.jsonl   (all lines)
"""


@app.command(epilog=EXAMPLE, rich_help_panel=DECODER)
@with_system
def explain(
    source: opt.Source,
    *,
    line: opt.Line = None,
    top: opt.TopFired = 0,
    svg: opt.Svg = None,
    derivations: opt.Derivations = None,
    k: opt.NewK = None,
    system: SystemOptions,
    as_json: opt.Json = False,
) -> None:
    """Show how a translation is built: its blocks, their features, and what each adds to the score.

    A feature adds its weight times its value. With --derivations the k best derivations of all lines go to a file.
    """
    from rampion.apps.explain import explain_line, write_derivations

    if derivations and (line or svg):
        raise RecipeError(f"--derivations and {'--line' if line else '--svg'}: one answer at a time; leave one out")
    if k and not derivations:
        raise RecipeError(f"--k {k}: is for --derivations; leave it out")
    if derivations:
        _report(derivations, write_derivations(source, system, k or 1, derivations)._asdict(), as_json)
        return
    found = explain_line(source, line or 1, system, svg)
    if as_json:
        console.show_json(found.facts())
    else:
        console.say(found.told(top).removesuffix("\n"))


def _report(path: str, facts: dict[str, int], as_json: bool) -> None:
    if as_json:
        console.show_json(facts)
    else:
        console.note(f"wrote {path}")
