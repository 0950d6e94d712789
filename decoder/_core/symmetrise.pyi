import numpy as np
from numpy.typing import NDArray

from decoder.links import Alignment

def symmetrise(
    first: Alignment,
    second: Alignment,
    steps: int,
    width: int,
    grid: NDArray[np.uint8],
    rows: NDArray[np.uint8],
    columns: NDArray[np.uint8],
    bounds: NDArray[np.int64],
    sources: NDArray[np.int32],
    targets: NDArray[np.int32],
) -> None: ...
