from typing import Protocol

import numpy as np
from numpy.typing import NDArray

class Table(Protocol):
    slots: NDArray[np.uint32]
    blob: NDArray[np.uint8]
    bounds: NDArray[np.int64]
    counts: NDArray[np.int64]

def intern(
    text: NDArray[np.uint8], bounds: NDArray[np.int64], start: int, table: Table, ids: NDArray[np.int64]
) -> int: ...
def find(text: NDArray[np.uint8], bounds: NDArray[np.int64], table: Table, ids: NDArray[np.int64]) -> None: ...
