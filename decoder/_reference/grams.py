"""Which count features derivations fire: pairs of linked words, n-grams and triggers.

Twin: decoder/_core/grams.pyx
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

from rampion.decoder._reference.cube import BITS, TRIGGER

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
    from rampion.decoder.models.options import Derivations
    from rampion.decoder.search.cube import NonLocal
    from rampion.decoder.search.kbest import Said

START, END = 1, 2


def count_features(
    derivations: Derivations,
    wording: Said,
    features: NonLocal,
    firsts: NDArray[np.int64],
    lasts: NDArray[np.int64],
    pairs: NDArray[np.uint32],
    done: int,
    text: NDArray[np.uint32],
    bounds: NDArray[np.int64],
    ids: NDArray[np.uint32],
) -> int:
    """Features of the derivations from `done` on: d fires ids[bounds[d]:bounds[d + 1]]; return how many are done.

    All are, unless ids has no room. Option o fires pairs[firsts[o]:lasts[o]]. The n-gram or trigger whose weight is
    n + 1 is feature n. One that fires twice stands there twice. text has room for the longest of the texts.
    """
    numbers = {key: int(n) - 1 for key, n in zip(features.keys.tolist(), features.weights.tolist(), strict=True)}
    triggered, steps, linked = features.triggered.tolist(), derivations.steps.tolist(), pairs.tolist()
    spans, says = list(zip(firsts.tolist(), lasts.tolist(), strict=True)), dict[int, tuple[int, ...]]()
    for d, (begin, end) in enumerate(pairwise(derivations.step_bounds.tolist()[done:]), done):
        found, words = list[int](), [START]
        for step in steps[begin:end]:
            if step not in says:
                says[step] = wording.says(step)
            words += says[step]
            found += linked[slice(*spans[step])]
        words.append(END)
        codes = [min(word + 1, (1 << BITS) - 1) for word in words]
        for j in range(1, len(words)):
            key = 0
            for back in range(min(3, j + 1)):
                key |= codes[j - back] << (back * BITS)
                found.append(numbers.get(key, -1))
            if words[j] < len(triggered) and triggered[words[j]]:
                found += [numbers.get(TRIGGER | code << BITS | codes[j], -1) for code in dict.fromkeys(codes[:j])]
        found = [number for number in found if number >= 0]
        first = int(bounds[d])
        if first + len(found) > len(ids):
            return d
        ids[first : first + len(found)] = found
        bounds[d + 1] = first + len(found)
    return len(derivations.scores)
