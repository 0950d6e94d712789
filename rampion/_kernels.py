"""The only door to the kernels. RAMPION_KERNELS=reference runs their plain-Python twins instead, and says so.

There is no silent slow path: if the compiled modules are missing, importing this module raises.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any

MODULES = {
    "contrast": ("contrast", "side"),
    "envelope": ("envelope", "extremes", "sweep"),
    "epoch": ("epoch",),
    "expect": ("expect",),
    "gather": ("gather",),
    "group": ("group",),
    "intern": ("find", "intern"),
    "keys": ("enter", "listed", "locate", "refresh", "settle", "weigh"),
    "mira": ("mira",),
    "ngrams": ("ngrams",),
    "pack": ("pack",),
    "pairs": ("pairs",),
    "parse": ("cut", "parse"),
    "pool": ("pool", "scatter", "tally"),
    "prints": ("prints",),
    "rank": ("rank", "regress"),
    "refine": ("refine",),
    "resample": ("deal", "draw"),
    "respond": ("collect", "respond"),
    "score": ("score",),
    "words": ("words",),
}

NAME = os.environ.get("RAMPION_KERNELS", "compiled")
_FOLDERS = {"compiled": "_core", "reference": "_reference"}


def opened(package: str, modules: Mapping[str, Sequence[str]]) -> dict[str, Callable[..., Any]]:
    """The kernels of a package by name, compiled or plain as NAME says."""
    if NAME not in _FOLDERS:
        raise ImportError(f"RAMPION_KERNELS={NAME!r}: expected 'compiled' or 'reference'")
    found: dict[str, Callable[..., Any]] = {}
    for module, functions in modules.items():
        path = f"{package}.{_FOLDERS[NAME]}.{module}"
        try:
            loaded = import_module(path)
        except ModuleNotFoundError as error:
            raise ImportError(
                f"the compiled kernel {path} is missing; build it with 'pip install .' in the "
                "source folder (or set RAMPION_KERNELS=reference to run the slow plain-Python kernels)"
            ) from error
        found |= {function: getattr(loaded, function) for function in functions}
    return found


if TYPE_CHECKING:
    from rampion._core.contrast import contrast as contrast
    from rampion._core.contrast import side as side
    from rampion._core.envelope import envelope as envelope
    from rampion._core.envelope import extremes as extremes
    from rampion._core.envelope import sweep as sweep
    from rampion._core.epoch import epoch as epoch
    from rampion._core.expect import expect as expect
    from rampion._core.gather import gather as gather
    from rampion._core.group import group as group
    from rampion._core.intern import find as find
    from rampion._core.intern import intern as intern
    from rampion._core.keys import enter as enter
    from rampion._core.keys import listed as listed
    from rampion._core.keys import locate as locate
    from rampion._core.keys import refresh as refresh
    from rampion._core.keys import settle as settle
    from rampion._core.keys import weigh as weigh
    from rampion._core.mira import mira as mira
    from rampion._core.ngrams import ngrams as ngrams
    from rampion._core.pack import pack as pack
    from rampion._core.pairs import pairs as pairs
    from rampion._core.parse import cut as cut
    from rampion._core.parse import parse as parse
    from rampion._core.pool import pool as pool
    from rampion._core.pool import scatter as scatter
    from rampion._core.pool import tally as tally
    from rampion._core.prints import prints as prints
    from rampion._core.rank import rank as rank
    from rampion._core.rank import regress as regress
    from rampion._core.refine import refine as refine
    from rampion._core.resample import deal as deal
    from rampion._core.resample import draw as draw
    from rampion._core.respond import collect as collect
    from rampion._core.respond import respond as respond
    from rampion._core.score import score as score
    from rampion._core.words import words as words
else:
    if NAME == "reference":
        logging.getLogger("rampion").warning(
            "running on the plain-Python kernels (RAMPION_KERNELS=reference): correct and slow"
        )
    globals().update(opened("rampion", MODULES))
