import numpy as np
from numpy.typing import NDArray

from decoder.extract import Spans
from decoder.links import Alignment, Words

def extract(
    source: Words,
    target: Words,
    alignment: Alignment,
    longest: int,
    loose: bool,
    done: int,
    corners: NDArray[np.uint8],
    reach: NDArray[np.int32],
    cores: NDArray[np.int32],
    spans: Spans,
    span_bounds: NDArray[np.int64],
) -> int: ...
def tally(
    spans: Spans,
    sources: NDArray[np.uint32],
    targets: NDArray[np.uint32],
    source_weights: NDArray[np.float64],
    target_weights: NDArray[np.float64],
    firsts: NDArray[np.int64],
    followers: NDArray[np.uint32],
    turns: NDArray[np.uint32],
    lexical: NDArray[np.float64],
) -> None: ...
