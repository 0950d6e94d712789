import numpy as np
from numpy.typing import NDArray

from decoder.align import Lexicon

def lexical(
    source_words: NDArray[np.uint32],
    source_bounds: NDArray[np.int64],
    target_words: NDArray[np.uint32],
    target_bounds: NDArray[np.int64],
    sources: NDArray[np.uint32],
    targets: NDArray[np.uint32],
    lexicon: Lexicon,
    floor: float,
    asked: NDArray[np.uint64],
    answers: NDArray[np.float32],
    values: NDArray[np.float32],
) -> None: ...
