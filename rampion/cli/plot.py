"""rampion plot: pictures of runs, for papers and talks."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rampion import console
from rampion.cli import app
from rampion.cli import options as opt
from rampion.cli.files import App
from rampion.cli.panels import INSIDE

if TYPE_CHECKING:
    from rampion.apps.plot import Drawn

pictures = App(
    no_args_is_help=True,
    help="Draw runs, for papers and talks: SVG, or PNG and PDF where Chromium or Chrome is installed.",
)
app.add_typer(pictures, name="plot", rich_help_panel=INSIDE)

Run = Annotated[Path, typer.Argument(metavar="RUN", help="The folder of a run of rampion tune.")]
Runs = Annotated[list[Path], typer.Argument(metavar="RUN", help="Folders of runs of rampion tune or train.")]


def _example(*lines: str) -> str:
    return "\n[bold]Examples[/bold]\n\n" + "\n\n".join(f"  {line}" for line in lines) + "\n"


def _tell(drawn: Drawn) -> None:
    console.say(drawn.told)
    typer.echo(f"wrote {drawn.path}")


@pictures.command(epilog=_example(
    "rampion plot curves run", "rampion plot curves mert pro rampion --out curves.pdf   (several runs in one picture)",
))  # fmt: skip
def curves(runs: Runs, out: opt.PictureOut = Path("curves.svg")) -> None:
    """Draw learning curves: the score of every round or iteration."""
    from rampion.apps import plot

    _tell(plot.curves(runs, out))


@pictures.command(epilog=_example(
    "rampion plot line run", "rampion plot line run --feature LM --feature WordPenalty --out line.png",
))  # fmt: skip
def line(run: Run, feature: opt.AxisFeatures = None, out: opt.PictureOut = Path("line.svg")) -> None:
    """Draw MERT's surface along lines: the metric as the weight of one feature changes.

    The lists are those that the run was tuned on. Without --feature the lines are those of the features that move the
    scores most.
    """
    from rampion.apps import plot

    _tell(plot.line(run, feature or [], out))


@pictures.command(epilog=_example(
    "rampion plot surface run --feature LM --feature WordPenalty", "rampion plot surface run --out surface.pdf",
))  # fmt: skip
def surface(run: Run, feature: opt.AxisFeatures = None, out: opt.PictureOut = Path("surface.svg")) -> None:
    """Draw MERT's surface in two weights: the metric as colours, with the weights of the run on it."""
    from rampion.apps import plot

    _tell(plot.surface(run, feature or [], out))


@pictures.command(epilog=_example("rampion plot plane run", "rampion plot plane run --segment 17 --out plane.png"))
def plane(run: Run, segment: opt.PlaneSegment = None, out: opt.PictureOut = Path("plane.svg")) -> None:
    """Draw the candidates of a segment by score and cost, with its hope, fear, prediction and oracle.

    Hope has the greatest score minus cost, fear the greatest score plus cost. Without --segment it is a segment where
    these differ.
    """
    from rampion.apps import plot

    _tell(plot.plane(run, segment, out))


@pictures.command(epilog=_example("rampion plot ablation run", "rampion plot ablation run --out ablation.pdf"))
def ablation(run: Run, out: opt.PictureOut = Path("ablation.svg")) -> None:
    """Draw what each feature is worth: the score that is lost when its weight is set to 0, with 95 % intervals."""
    from rampion.apps import plot

    _tell(plot.ablation(run, out))
