"""The door to the decoder's kernels; RAMPION_KERNELS chooses as it does for rampion's own."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rampion._kernels import opened

MODULES: dict[str, tuple[str, ...]] = {
    "emit": ("emit", "say", "tally"),
    "spell": ("phrase", "spell"),
}

if TYPE_CHECKING:
    from decoder._core.emit import emit as emit
    from decoder._core.emit import say as say
    from decoder._core.emit import tally as tally
    from decoder._core.spell import phrase as phrase
    from decoder._core.spell import spell as spell
else:
    globals().update(opened("decoder", MODULES))
