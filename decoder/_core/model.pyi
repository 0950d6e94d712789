from typing import Any

import numpy as np
from numpy.typing import NDArray

def assess(
    asked: NDArray[np.uint32], start: int, blocks: Any, model: Any, work: Any, local: NDArray[np.float64]
) -> int: ...
def sift(slots: NDArray[np.void], sifter: NDArray[np.uint8]) -> None: ...
