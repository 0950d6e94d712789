"""The door to the decoder's kernels; RAMPION_KERNELS chooses as it does for rampion's own."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rampion._kernels import opened

MODULES: dict[str, tuple[str, ...]] = {
    "cube": ("cube",),
    "kbest": ("kbest",),
    "passes": ("distances",),
}

if TYPE_CHECKING:
    from decoder._core.cube import cube as cube
    from decoder._core.kbest import kbest as kbest
    from decoder._core.passes import distances as distances
else:
    globals().update(opened("decoder", MODULES))
