import numpy as np
from numpy.typing import NDArray

from decoder.align import Pairs

def model_one(
    pairs: Pairs,
    words: NDArray[np.uint32],
    flipped: bool,
    probs: NDArray[np.float32],
    null: NDArray[np.float32],
    first: int,
    last: int,
    work: NDArray[np.float64],
    posteriors: NDArray[np.float32],
    nulls: NDArray[np.float32],
) -> float: ...
def collect(
    pairs: Pairs,
    words: NDArray[np.uint32],
    first: int,
    last: int,
    low: int,
    high: int,
    posteriors: NDArray[np.float32],
    counts: NDArray[np.float64],
) -> None: ...
def normalise(
    bounds: NDArray[np.int64],
    words: NDArray[np.uint32],
    counts: NDArray[np.float64],
    flipped: bool,
    floor: float,
    totals: NDArray[np.float64],
    probs: NDArray[np.float32],
) -> None: ...
def best(
    pairs: Pairs,
    flipped: bool,
    first: int,
    last: int,
    posteriors: NDArray[np.float32],
    nulls: NDArray[np.float32],
    links: NDArray[np.int32],
) -> None: ...
