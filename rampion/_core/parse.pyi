import numpy as np
from numpy.typing import NDArray

from rampion.vocab import Labels

def parse(
    block: NDArray[np.uint8],
    end: int,
    table: Labels,
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
