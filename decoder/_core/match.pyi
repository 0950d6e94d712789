import numpy as np
from numpy.typing import NDArray

from decoder.blocks import Blocks
from decoder.options import Sentences
from rampion.vocab import Names

def lookup(
    text: NDArray[np.uint8],
    bounds: NDArray[np.int64],
    table: Names,
    words: NDArray[np.uint32],
    word_bounds: NDArray[np.int64],
) -> None: ...
def match(
    sentences: Sentences,
    blocks: Blocks,
    longest: int,
    top: int,
    done: int,
    spans: NDArray[np.int64],
    starts: NDArray[np.int32],
    ends: NDArray[np.int32],
    found: NDArray[np.uint32],
) -> int: ...
