import numpy as np
from numpy.typing import NDArray

from decoder.lm import Array, Table

def graft(
    rows: NDArray[np.uint32],
    order: int,
    start: int,
    probs: NDArray[np.float32],
    backoffs: NDArray[np.float32],
    unigrams: Array,
    grams: Array,
    state: NDArray[np.int64],
) -> int: ...
def fluency(
    ids: NDArray[np.uint32],
    bounds: NDArray[np.int64],
    begin: int,
    stop: int,
    table: Table,
    words: NDArray[np.uint32],
    backoffs: NDArray[np.float32],
    steps: NDArray[np.float64],
) -> None: ...
