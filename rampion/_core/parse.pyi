from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from .intern import Table

class LabelTable(Protocol):
    @property
    def names(self) -> Table: ...
    sizes: NDArray[np.int64]
    firsts: NDArray[np.int64]
    total: NDArray[np.int64]

def parse(
    block: NDArray[np.uint8],
    end: int,
    table: LabelTable,
    seen: NDArray[np.int64],
    spans: NDArray[np.int64],
    scores: NDArray[np.float64],
    slots: NDArray[np.uint32],
    values: NDArray[np.float64],
    groups: NDArray[np.int64],
    state: NDArray[np.int64],
) -> int: ...
def cut(
    block: NDArray[np.uint8], spans: NDArray[np.int64], column: int, blob: NDArray[np.uint8], bounds: NDArray[np.int64]
) -> None: ...
