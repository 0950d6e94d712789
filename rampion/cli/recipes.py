"""rampion recipes: the tables of algorithms."""

from __future__ import annotations

from typing import Annotated

import typer

from rampion import console
from rampion.cli import app
from rampion.cli import options as opt
from rampion.cli.panels import LISTS


@app.command(
    epilog="[bold]Example[/bold]\n\n  rampion recipes rampion   (every setting of one row)", rich_help_panel=LISTS
)
def recipes(
    name: Annotated[str | None, typer.Argument(help="One recipe, to see its settings.")] = None,
    as_json: opt.Json = False,
) -> None:
    """Show the algorithms: those with OnlineSgd learn from relevant sets, all others from lists."""
    from rampion.training.recipes import RECIPES, described, recipe_named

    rows = {known: described(recipe) for known, recipe in RECIPES.items()}
    if name:
        recipe = recipe_named(name)
        facts = rows[name] | recipe.settings()
        if as_json:
            console.show_json(facts)
        else:
            console.show([(fact, _shown(value)) for fact, value in facts.items()], [name, ""])
        return
    if as_json:
        console.show_json({known: row | RECIPES[known].settings() for known, row in rows.items()})
        return
    console.show(
        [(known, row["up"], row["down"], row["solver"]) for known, row in rows.items()],
        ["recipe", "raise", "lower", "solver"],
        title="rampion tune: from lists; rampion train: from relevant sets (OnlineSgd)",
    )


def _shown(value: object) -> str:
    """A setting as --set takes it."""
    if value is None or isinstance(value, bool):
        return str(value).lower()
    return f"{value:g}" if isinstance(value, float) else str(value)
