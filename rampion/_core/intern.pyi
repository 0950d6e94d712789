import numpy as np
from numpy.typing import NDArray

from rampion.vocab import Names

def intern(
    text: NDArray[np.uint8], bounds: NDArray[np.int64], start: int, table: Names, ids: NDArray[np.int64]
) -> int: ...
def find(text: NDArray[np.uint8], bounds: NDArray[np.int64], table: Names, ids: NDArray[np.int64]) -> None: ...
