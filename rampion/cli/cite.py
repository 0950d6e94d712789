"""rampion cite: BibTeX for the papers behind a run."""

from __future__ import annotations

from typing import Annotated

import typer

from rampion.cli import app
from rampion.cli.panels import EXPERIMENTS


@app.command(epilog="[bold]Example[/bold]\n\n  rampion cite rampion >> paper.bib", rich_help_panel=EXPERIMENTS)
def cite(
    recipe: Annotated[str | None, typer.Argument(help="A recipe; without one, every paper.")] = None,
) -> None:
    """Print BibTeX for a recipe and the metrics it is judged by."""
    from rampion.citations import BIBTEX, METRICS
    from rampion.training.recipes import recipe_named

    keys = dict.fromkeys((recipe_named(recipe).cite, *METRICS) if recipe else BIBTEX)
    typer.echo("\n\n".join(BIBTEX[key] for key in keys))
