"""The door to the decoder's kernels; RAMPION_KERNELS chooses as it does for rampion's own."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rampion._kernels import opened

MODULES: dict[str, tuple[str, ...]] = {
    "align": ("best", "collect", "hmm", "model_one", "normalise"),
    "extract": ("extract", "tally"),
    "lexical": ("lexical",),
    "lexicon": ("chances", "locate", "tabulate", "transpose"),
    "match": ("lookup", "match"),
    "phrases": ("index", "number"),
    "symmetrise": ("symmetrise",),
}

if TYPE_CHECKING:
    from decoder._core.align import best as best
    from decoder._core.align import collect as collect
    from decoder._core.align import hmm as hmm
    from decoder._core.align import model_one as model_one
    from decoder._core.align import normalise as normalise
    from decoder._core.extract import extract as extract
    from decoder._core.extract import tally as tally
    from decoder._core.lexical import lexical as lexical
    from decoder._core.lexicon import chances as chances
    from decoder._core.lexicon import locate as locate
    from decoder._core.lexicon import tabulate as tabulate
    from decoder._core.lexicon import transpose as transpose
    from decoder._core.match import lookup as lookup
    from decoder._core.match import match as match
    from decoder._core.phrases import index as index
    from decoder._core.phrases import number as number
    from decoder._core.symmetrise import symmetrise as symmetrise
else:
    globals().update(opened("decoder", MODULES))
