"""The door to the decoder's kernels; RAMPION_KERNELS chooses as it does for rampion's own."""

from __future__ import annotations

from typing import TYPE_CHECKING

from decoder._reference.search import search as search_plainly  # noqa: F401 - for templates in Python
from rampion._kernels import opened

MODULES: dict[str, tuple[str, ...]] = {
    "cube": ("cube",),
    "kbest": ("kbest",),
    "lm": ("fluency", "graft"),
    "model": ("assess", "sift"),
    "oracle": ("oracle",),
    "passes": ("distances",),
    "search": ("search",),
}

if TYPE_CHECKING:
    from decoder._core.cube import cube as cube
    from decoder._core.kbest import kbest as kbest
    from decoder._core.lm import fluency as fluency
    from decoder._core.lm import graft as graft
    from decoder._core.model import assess as assess
    from decoder._core.model import sift as sift
    from decoder._core.oracle import oracle as oracle
    from decoder._core.passes import distances as distances
    from decoder._core.search import search as search
else:
    globals().update(opened("decoder", MODULES))
