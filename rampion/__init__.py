"""Train linear models that choose among candidates: translations, transcripts, generated answers.

Every segment (a sentence, an utterance, a prompt) has candidates with features. Weights give every candidate a score,
and the best one is chosen; tuning finds weights whose choices are good.

Examples
--------
All examples of this package go on from these lines:

>>> import numpy as np
>>> import rampion
>>> records = [
...     {
...         "id": "1",
...         "hyps": [
...             {"text": "a cat sits", "feats": {"LM": -1.0, "TM": -2.0}},
...             {"text": "the cat sat", "feats": {"LM": -1.5, "TM": -1.0, "Cat": 1}},
...         ],
...         "refs": ["the cat sat"],
...     },
...     {
...         "id": "2",
...         "hyps": [
...             {"text": "the dog", "feats": {"LM": -0.5, "TM": -1.0}},
...             {"text": "a dog", "feats": {"LM": -1.0, "TM": 0.5}},
...         ],
...         "refs": ["a dog"],
...     },
... ]
>>> lists = rampion.Candidates.from_records(records)
>>> references = rampion.References.from_records(records)

Tune, and choose:

>>> tuned = rampion.tune(lists, references, recipe="mert", metric="wer")
>>> list(lists.texts[rampion.pick(lists, tuned.weights)])
['the cat sat', 'a dog']

Names are loaded when first used, so that `import rampion` costs nothing.
"""

from __future__ import annotations

from importlib import import_module

__version__ = "0.1.0"

TYPE_CHECKING = False  # type checkers take it as true; importing typing would take longer than all the rest
if TYPE_CHECKING:
    from typing import Any

    from rampion.analysis.comparison import Compared as Compared
    from rampion.analysis.comparison import Comparison as Comparison
    from rampion.analysis.comparison import compare as compare
    from rampion.errors import FormatError as FormatError
    from rampion.errors import InputError as InputError
    from rampion.errors import RampionError as RampionError
    from rampion.errors import RecipeError as RecipeError
    from rampion.errors import StoreError as StoreError
    from rampion.errors import TuningError as TuningError
    from rampion.features import add_features as add_features
    from rampion.formats import load_nbest as load_nbest
    from rampion.formats import load_references as load_references
    from rampion.formats import load_runs as load_runs
    from rampion.formats import load_weights as load_weights
    from rampion.formats import save_nbest as save_nbest
    from rampion.formats import save_weights as save_weights
    from rampion.losses.table import LOSSES as LOSSES
    from rampion.metrics import Metric as Metric
    from rampion.metrics import metric as metric
    from rampion.store.candidates import Candidates as Candidates
    from rampion.store.features import Features as Features
    from rampion.store.features import Weights as Weights
    from rampion.store.generated import from_generated as from_generated
    from rampion.store.segment import Candidate as Candidate
    from rampion.store.segment import Segment as Segment
    from rampion.store.text import References as References
    from rampion.store.text import Texts as Texts
    from rampion.training.estimator import Reranker as Reranker
    from rampion.training.recipes import RECIPES as RECIPES
    from rampion.training.recipes import Recipe as Recipe
    from rampion.training.reranking import pick as pick
    from rampion.training.reranking import rerank as rerank
    from rampion.training.tuned import Tuned as Tuned
    from rampion.training.tuning import train as train
    from rampion.training.tuning import tune as tune

_ROOMS = {
    "analysis.comparison": ("Compared", "Comparison", "compare"),
    "errors": ("FormatError", "InputError", "RampionError", "RecipeError", "StoreError", "TuningError"),
    "features": ("add_features",),
    "formats": ("load_nbest", "load_references", "load_runs", "load_weights", "save_nbest", "save_weights"),
    "losses.table": ("LOSSES",),
    "metrics": ("Metric", "metric"),
    "store.candidates": ("Candidates",),
    "store.features": ("Features", "Weights"),
    "store.generated": ("from_generated",),
    "store.segment": ("Candidate", "Segment"),
    "store.text": ("References", "Texts"),
    "training.estimator": ("Reranker",),
    "training.recipes": ("RECIPES", "Recipe"),
    "training.reranking": ("pick", "rerank"),
    "training.tuned": ("Tuned",),
    "training.tuning": ("train", "tune"),
}
_HOMES = {name: room for room, names in _ROOMS.items() for name in names}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'rampion' has no attribute {name!r}")
    return getattr(import_module(f"rampion.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return sorted([*_HOMES, "__version__"])
