import numpy as np
from numpy.typing import NDArray

from rampion.vocab import Names

def words(
    text: NDArray[np.uint8],
    bounds: NDArray[np.int64],
    start: int,
    table: Names,
    tokens: NDArray[np.uint32],
    token_bounds: NDArray[np.int64],
) -> int: ...
