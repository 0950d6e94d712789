"""The only door to the kernels. RAMPION_KERNELS=reference runs their plain-Python twins instead, and says so.

There is no silent slow path: if the compiled modules are missing, importing this module raises.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any

from rampion._reference.slab import EMPTY
from rampion._reference.slab_add import FILTER

MODULES = {
    "agree": ("agree_bleu", "agree_chrf", "agree_posteriors"),
    "apart": ("apart",),
    "contrast": ("contrast", "side"),
    "envelope": ("envelope", "extremes", "sweep"),
    "epoch": ("epoch",),
    "expect": ("expect",),
    "fingerprints": ("fingerprints",),
    "gather": ("gather",),
    "group": ("group",),
    "intern": ("find", "intern"),
    "keys": ("enter", "listed", "locate", "refresh", "settle", "weigh"),
    "mira": ("mira",),
    "ngrams": ("ngrams",),
    "pack": ("pack",),
    "pairs": ("pairs",),
    "parse": ("cut", "parse", "weigh_lines"),
    "pool": ("pool", "scatter", "tally"),
    "rank": ("rank",),
    "resample": ("deal", "draw"),
    "score": ("score",),
    "slab_add": ("slab_add",),
    "slab_scores": ("slab_gradient", "slab_scores"),
    "words": ("words",),
}

NAME = os.environ.get("RAMPION_KERNELS", "compiled")
_FOLDERS = {"compiled": "_core", "reference": "_reference"}


def opened(package: str, modules: Mapping[str, Sequence[str]]) -> dict[str, Callable[..., Any]]:
    """The kernels of a package by name: compiled ones or their plain twins, as RAMPION_KERNELS asks."""
    if NAME not in _FOLDERS:
        raise ImportError(f"RAMPION_KERNELS={NAME!r}: expected 'compiled' or 'reference'", name=__name__)
    found: dict[str, Callable[..., Any]] = {}
    for module, functions in modules.items():
        path = f"{package}.{_FOLDERS[NAME]}.{module}"
        try:
            loaded = import_module(path)
        except ModuleNotFoundError as error:
            raise ImportError(
                f"the compiled kernel {path} is missing; build it with 'pip install .' in the "
                "source folder (or set RAMPION_KERNELS=reference to run the slow plain-Python kernels)",
                name=__name__,
            ) from error
        found |= {function: getattr(loaded, function) for function in functions}
    return found


if TYPE_CHECKING:  # types come from the twins
    from rampion._reference.agree import agree_bleu, agree_chrf, agree_posteriors
    from rampion._reference.apart import apart
    from rampion._reference.contrast import contrast, side
    from rampion._reference.envelope import envelope, extremes, sweep
    from rampion._reference.epoch import epoch
    from rampion._reference.expect import expect
    from rampion._reference.fingerprints import fingerprints
    from rampion._reference.gather import gather
    from rampion._reference.group import group
    from rampion._reference.intern import find, intern
    from rampion._reference.keys import enter, listed, locate, refresh, settle, weigh
    from rampion._reference.mira import mira
    from rampion._reference.ngrams import ngrams
    from rampion._reference.pack import pack
    from rampion._reference.pairs import pairs
    from rampion._reference.parse import cut, parse, weigh_lines
    from rampion._reference.pool import pool, scatter, tally
    from rampion._reference.rank import rank
    from rampion._reference.resample import deal, draw
    from rampion._reference.score import score
    from rampion._reference.slab_add import slab_add
    from rampion._reference.slab_scores import slab_gradient, slab_scores
    from rampion._reference.words import words
else:
    if NAME == "reference":
        logging.getLogger("rampion").warning(
            "running on the plain-Python kernels (RAMPION_KERNELS=reference): correct and slow"
        )
    globals().update(opened("rampion", MODULES))
