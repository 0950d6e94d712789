"""Train linear models that choose among candidates: translations, transcripts, generated answers.

    lists = rampion.load_nbest("dev.nbest.gz")
    tuned = rampion.tune(lists, rampion.load_references(["dev.en.0", "dev.en.1"], lists))
    for text in lists.texts.take(rampion.picks(lists, tuned.weights)): ...

Names are loaded when first used, so that `import rampion` costs nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from rampion.candidates import Candidates as Candidates
    from rampion.errors import FormatError as FormatError
    from rampion.errors import InputError as InputError
    from rampion.errors import RampionError as RampionError
    from rampion.errors import RecipeError as RecipeError
    from rampion.errors import StoreError as StoreError
    from rampion.errors import TuningError as TuningError
    from rampion.features import Features as Features
    from rampion.features import Weights as Weights
    from rampion.formats import load_nbest as load_nbest
    from rampion.formats import load_references as load_references
    from rampion.formats import load_runs as load_runs
    from rampion.formats.weights import read as load_weights  # noqa: F401
    from rampion.formats.weights import write as save_weights  # noqa: F401
    from rampion.losses import LOSSES as LOSSES
    from rampion.metrics import named as metric  # noqa: F401
    from rampion.recipes import RECIPES as RECIPES
    from rampion.recipes import Recipe as Recipe
    from rampion.text import References as References
    from rampion.text import Texts as Texts
    from rampion.training import train as train
    from rampion.tuning import Reranker as Reranker
    from rampion.tuning import Tuned as Tuned
    from rampion.tuning import judge as judge
    from rampion.tuning import picks as picks
    from rampion.tuning import reranked as reranked
    from rampion.tuning import tune as tune

_ROOMS = {
    "candidates": ("Candidates",),
    "errors": ("FormatError", "InputError", "RampionError", "RecipeError", "StoreError", "TuningError"),
    "features": ("Features", "Weights"),
    "formats": ("load_nbest", "load_references", "load_runs"),
    "losses": ("LOSSES",),
    "recipes": ("RECIPES", "Recipe"),
    "text": ("References", "Texts"),
    "training": ("train",),
    "tuning": ("Reranker", "Tuned", "judge", "picks", "reranked", "tune"),
}
_HOMES = {name: (room, name) for room, names in _ROOMS.items() for name in names} | {
    "load_weights": ("formats.weights", "read"),
    "metric": ("metrics", "named"),
    "save_weights": ("formats.weights", "write"),
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'rampion' has no attribute {name!r}")
    room, inside = _HOMES[name]
    return getattr(import_module(f"rampion.{room}"), inside)


def __dir__() -> list[str]:
    return sorted([*_HOMES, "__version__"])
