import numpy as np
from numpy.typing import NDArray

from rampion.candidates import Offsets, Reals

Words = NDArray[np.uint64]

def draw(rows: Reals, streams: Words, picks: Offsets, totals: Reals) -> None: ...
def deal(rows: Reals, streams: Words, deck: Offsets, picks: Offsets, totals: Reals) -> None: ...
