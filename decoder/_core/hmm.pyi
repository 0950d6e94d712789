import numpy as np
from numpy.typing import NDArray

from decoder.align import Pairs

def hmm(
    pairs: Pairs,
    words: NDArray[np.uint32],
    flipped: bool,
    probs: NDArray[np.float32],
    null: NDArray[np.float32],
    jumps: NDArray[np.float64],
    rest: float,
    first: int,
    last: int,
    work: NDArray[np.float64],
    posteriors: NDArray[np.float32],
    nulls: NDArray[np.float32],
    tallies: NDArray[np.float64],
) -> float: ...
