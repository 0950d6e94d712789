"""Train linear models that choose among candidates: translations, transcripts, generated answers.

    lists = rampion.load_nbest("dev.nbest.gz")
    tuned = rampion.tune(lists, rampion.load_references(["dev.en.0", "dev.en.1"], lists))
    for text in lists.texts.take(rampion.pick(lists, tuned.weights)): ...

Names are loaded when first used, so that `import rampion` costs nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from rampion.errors import FormatError as FormatError
    from rampion.errors import InputError as InputError
    from rampion.errors import RampionError as RampionError
    from rampion.errors import RecipeError as RecipeError
    from rampion.errors import StoreError as StoreError
    from rampion.errors import TuningError as TuningError
    from rampion.formats import load_nbest as load_nbest
    from rampion.formats import load_references as load_references
    from rampion.formats import load_runs as load_runs
    from rampion.formats.weights import read as load_weights  # noqa: F401
    from rampion.formats.weights import write as save_weights  # noqa: F401
    from rampion.losses.contrast import LOSSES as LOSSES
    from rampion.metrics import metric as metric
    from rampion.store.candidates import Candidates as Candidates
    from rampion.store.features import Features as Features
    from rampion.store.features import Weights as Weights
    from rampion.store.text import References as References
    from rampion.store.text import Texts as Texts
    from rampion.training.loop import train as train
    from rampion.training.recipes import RECIPES as RECIPES
    from rampion.training.recipes import Recipe as Recipe
    from rampion.training.tuning import Reranker as Reranker
    from rampion.training.tuning import Tuned as Tuned
    from rampion.training.tuning import judge as judge
    from rampion.training.tuning import pick as pick
    from rampion.training.tuning import rerank as rerank
    from rampion.training.tuning import tune as tune

_ROOMS = {
    "store.candidates": ("Candidates",),
    "errors": ("FormatError", "InputError", "RampionError", "RecipeError", "StoreError", "TuningError"),
    "store.features": ("Features", "Weights"),
    "formats": ("load_nbest", "load_references", "load_runs"),
    "losses.contrast": ("LOSSES",),
    "training.recipes": ("RECIPES", "Recipe"),
    "store.text": ("References", "Texts"),
    "training.loop": ("train",),
    "training.tuning": ("Reranker", "Tuned", "judge", "pick", "rerank", "tune"),
}
_HOMES = {name: (room, name) for room, names in _ROOMS.items() for name in names} | {
    "load_weights": ("formats.weights", "read"),
    "metric": ("metrics", "metric"),
    "save_weights": ("formats.weights", "write"),
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'rampion' has no attribute {name!r}")
    room, inside = _HOMES[name]
    return getattr(import_module(f"rampion.{room}"), inside)


def __dir__() -> list[str]:
    return sorted([*_HOMES, "__version__"])
