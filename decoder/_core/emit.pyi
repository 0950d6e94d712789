import numpy as np
from numpy.typing import NDArray

from decoder.blocks import Blocks
from decoder.dense import Distortion
from decoder.options import Derivations, Options, Sentences
from decoder.templates import Extras
from rampion.text import Texts

def emit(
    sentences: Sentences,
    options: Options,
    blocks: Blocks,
    extras: Extras,
    mask: int,
    derivations: Derivations,
    done: int,
    bounds: NDArray[np.int64],
    keys: NDArray[np.uint64],
) -> int: ...
def tally(
    sentences: Sentences,
    options: Options,
    blocks: Blocks,
    jumps: Distortion,
    logs: NDArray[np.float64],
    derivations: Derivations,
    values: NDArray[np.float64],
) -> None: ...
def say(
    sentences: Sentences,
    options: Options,
    blocks: Blocks,
    words: Texts,
    tokens: Texts,
    derivations: Derivations,
    done: int,
    bounds: NDArray[np.int64],
    blob: NDArray[np.uint8],
) -> int: ...
