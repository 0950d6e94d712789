import numpy as np
from numpy.typing import NDArray

from decoder.blocks import Blocks
from rampion.text import Texts

def spell(
    keys: NDArray[np.uint64],
    blocks: Blocks,
    labels: Texts,
    sources: Texts,
    targets: Texts,
    users: Texts,
    done: int,
    bounds: NDArray[np.int64],
    blob: NDArray[np.uint8],
) -> int: ...
def phrase(
    words: NDArray[np.uint32],
    phrases: NDArray[np.int64],
    texts: Texts,
    done: int,
    bounds: NDArray[np.int64],
    blob: NDArray[np.uint8],
) -> int: ...
