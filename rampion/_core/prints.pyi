import numpy as np
from numpy.typing import NDArray

def prints(
    bounds: NDArray[np.int64], keys: NDArray[np.uint64], values: NDArray[np.uint64], prints: NDArray[np.uint64]
) -> None: ...
