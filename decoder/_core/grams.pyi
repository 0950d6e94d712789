import numpy as np
from numpy.typing import NDArray

from decoder.cube import NonLocal
from decoder.kbest import Said
from decoder.options import Derivations

def fire(
    derivations: Derivations,
    said: Said,
    features: NonLocal,
    firsts: NDArray[np.int64],
    lasts: NDArray[np.int64],
    pairs: NDArray[np.uint32],
    done: int,
    text: NDArray[np.uint32],
    bounds: NDArray[np.int64],
    ids: NDArray[np.uint32],
) -> int: ...
