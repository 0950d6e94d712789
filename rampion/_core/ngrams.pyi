import numpy as np
from numpy.typing import NDArray

from rampion.metrics.tokens import Tokens

def ngrams(candidates: Tokens, references: Tokens, table: NDArray[np.int64], matches: NDArray[np.int64]) -> None: ...
