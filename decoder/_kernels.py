"""The door to the decoder's kernels; RAMPION_KERNELS chooses as it does for rampion's own."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rampion._kernels import opened

MODULES: dict[str, tuple[str, ...]] = {
    "oracle": ("oracle",),
}

if TYPE_CHECKING:
    from decoder._core.oracle import oracle as oracle
else:
    globals().update(opened("decoder", MODULES))
