"""The door to the decoder's kernels; RAMPION_KERNELS chooses as it does for rampion's own."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rampion._kernels import opened

MODULES: dict[str, tuple[str, ...]] = {
    "match": ("lookup", "match"),
    "phrases": ("index", "number"),
}

if TYPE_CHECKING:
    from decoder._core.match import lookup as lookup
    from decoder._core.match import match as match
    from decoder._core.phrases import index as index
    from decoder._core.phrases import number as number
else:
    globals().update(opened("decoder", MODULES))
