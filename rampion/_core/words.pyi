import numpy as np
from numpy.typing import NDArray

from .intern import Table

def words(
    text: NDArray[np.uint8],
    bounds: NDArray[np.int64],
    start: int,
    table: Table,
    tokens: NDArray[np.uint32],
    token_bounds: NDArray[np.int64],
) -> int: ...
