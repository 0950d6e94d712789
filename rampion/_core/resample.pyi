import numpy as np
from numpy.typing import NDArray

from rampion.lists import Offsets, Reals

def draw(rows: Reals, streams: NDArray[np.uint64], picks: Offsets, totals: Reals) -> None: ...
def deal(rows: Reals, streams: NDArray[np.uint64], deck: Offsets, picks: Offsets, totals: Reals) -> None: ...
