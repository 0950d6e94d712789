import numpy as np
from numpy.typing import NDArray

from decoder.align import Lexicon, Uses
from decoder.links import Words

def tabulate(
    uses: Uses, said: Words, start: int, met: NDArray[np.uint32], bounds: NDArray[np.int64], words: NDArray[np.uint32]
) -> int: ...
def transpose(
    bounds: NDArray[np.int64],
    words: NDArray[np.uint32],
    column_bounds: NDArray[np.int64],
    rows: NDArray[np.uint32],
) -> None: ...
def locate(
    bounds: NDArray[np.int64],
    words: NDArray[np.uint32],
    uses: Uses,
    given: Words,
    said: Words,
    offsets: NDArray[np.int64],
    first: int,
    last: int,
    places: NDArray[np.uint32],
    cells: NDArray[np.uint32],
) -> None: ...
def chances(
    lexicon: Lexicon,
    given: NDArray[np.uint32],
    said: NDArray[np.uint32],
    other: float,
    values: NDArray[np.float32],
) -> None: ...
