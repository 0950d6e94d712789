import numpy as np
from numpy.typing import NDArray

from decoder.blocks import Phrases

def number(
    tokens: NDArray[np.uint32],
    starts: NDArray[np.int64],
    sizes: NDArray[np.uint8],
    done: int,
    table: Phrases,
    ids: NDArray[np.uint32],
) -> int: ...
def index(words: NDArray[np.uint32], bounds: NDArray[np.int64], first: int, slots: NDArray[np.uint32]) -> None: ...
