"""rampion recipes: the table of algorithms."""

from __future__ import annotations

from typing import Annotated

import typer

from rampion.cli import app, table
from rampion.cli.options import Json


@app.command(epilog="[bold]Example[/bold]\n\n  rampion recipes rampion   (every setting of one row)")
def recipes(
    name: Annotated[str | None, typer.Argument(help="One recipe, to see its settings.", show_default=False)] = None,
    as_json: Json = False,
) -> None:
    """Show the algorithms: loss x optimiser x candidate policy x cost."""
    from rampion.recipes import RECIPES, described
    from rampion.tuning import recipe_named

    if name:
        recipe = recipe_named(name)
        facts = described(recipe) | recipe.settings()
        if as_json:
            table.show_json(facts)
        else:
            table.show([(fact, _shown(value)) for fact, value in facts.items()], [name, ""])
        return
    rows = {known: described(recipe) for known, recipe in RECIPES.items()}
    if as_json:
        table.show_json({known: row | RECIPES[known].settings() for known, row in rows.items()})
        return
    table.show(
        [
            (known, row["up"], row["down"] if row["up"] else type(RECIPES[known].loss).__name__, row["solver"])
            for known, row in rows.items()
        ],
        ["recipe", "raise", "lower", "solver"],
    )


def _shown(value: object) -> str:
    """A setting as --set takes it."""
    if value is None or isinstance(value, bool):
        return str(value).lower()
    return f"{value:g}" if isinstance(value, float) else str(value)
