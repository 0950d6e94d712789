"""rampion recipes: the tables of algorithms."""

from __future__ import annotations

from typing import Annotated

import typer

from rampion import console
from rampion.cli import app
from rampion.cli.options import Json


@app.command(epilog="[bold]Example[/bold]\n\n  rampion recipes rampion   (every setting of one row)")
def recipes(
    name: Annotated[str | None, typer.Argument(help="One recipe, to see its settings.", show_default=False)] = None,
    as_json: Json = False,
) -> None:
    """Show the algorithms: those that learn from lists, and those that learn from relevant sets."""
    from rampion.training.recipes import RECIPES, SETS, described, described_set
    from rampion.training.tuning import recipe_named

    rows = {known: described(recipe) for known, recipe in RECIPES.items()}
    sets = {known: described_set(recipe) for known, recipe in SETS.items()}
    if name:
        recipe = SETS[name] if name in SETS else recipe_named(name)
        facts = (rows | sets)[name] | recipe.settings()
        if as_json:
            console.show_json(facts)
        else:
            console.show([(fact, _shown(value)) for fact, value in facts.items()], [name, ""])
        return
    if as_json:
        whole = {known: row | RECIPES[known].settings() for known, row in rows.items()}
        console.show_json(whole | {known: row | SETS[known].settings() for known, row in sets.items()})
        return
    console.show(
        [
            (known, row["up"], row["down"] if row["up"] else type(RECIPES[known].loss).__name__, row["solver"])
            for known, row in rows.items()
        ],
        ["recipe", "raise", "lower", "solver"],
        title="rampion tune: from lists",
    )
    typer.echo()
    console.show(
        [(known, row["loss"], row["truth"], row["learn"]) for known, row in sets.items()],
        ["recipe", "loss", "truth", "learns"],
        title="rampion train: from relevant sets",
    )


def _shown(value: object) -> str:
    """A setting as --set takes it."""
    if value is None or isinstance(value, bool):
        return str(value).lower()
    return f"{value:g}" if isinstance(value, float) else str(value)
