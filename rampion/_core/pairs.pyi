import numpy as np
from numpy.typing import NDArray

from rampion.lists import Offsets, Reals

def pairs(
    costs: Reals,
    bounds: Offsets,
    key: NDArray[np.uint64],
    draws: int,
    margin: float,
    gaps: Reals,
    counts: Offsets,
    better: Offsets,
    worse: Offsets,
) -> None: ...
