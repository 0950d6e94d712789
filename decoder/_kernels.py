"""The door to the decoder's kernels; RAMPION_KERNELS chooses as it does for rampion's own."""

from __future__ import annotations

from typing import TYPE_CHECKING

from decoder._reference.search import search as _plainly
from rampion._kernels import opened

search_plainly = _plainly  # for templates of pairs, which are Python

MODULES: dict[str, tuple[str, ...]] = {
    "align": ("best", "collect", "model_one", "normalise"),
    "cube": ("cube",),
    "emit": ("emit", "say", "worth"),
    "extract": ("extract", "tally"),
    "grams": ("fire",),
    "hmm": ("hmm",),
    "kbest": ("kbest",),
    "lexical": ("lexical",),
    "lexicon": ("chances", "locate", "tabulate", "transpose"),
    "lm": ("fluency", "graft"),
    "match": ("lookup", "match"),
    "model": ("assess", "sift"),
    "oracle": ("oracle",),
    "passes": ("distances",),
    "phrases": ("index", "number"),
    "search": ("search",),
    "spell": ("phrase", "spell"),
    "symmetrise": ("symmetrise",),
}

if TYPE_CHECKING:
    from decoder._core.align import best as best
    from decoder._core.align import collect as collect
    from decoder._core.align import model_one as model_one
    from decoder._core.align import normalise as normalise
    from decoder._core.cube import cube as cube
    from decoder._core.emit import emit as emit
    from decoder._core.emit import say as say
    from decoder._core.emit import worth as worth
    from decoder._core.extract import extract as extract
    from decoder._core.extract import tally as tally
    from decoder._core.grams import fire as fire
    from decoder._core.hmm import hmm as hmm
    from decoder._core.kbest import kbest as kbest
    from decoder._core.lexical import lexical as lexical
    from decoder._core.lexicon import chances as chances
    from decoder._core.lexicon import locate as locate
    from decoder._core.lexicon import tabulate as tabulate
    from decoder._core.lexicon import transpose as transpose
    from decoder._core.lm import fluency as fluency
    from decoder._core.lm import graft as graft
    from decoder._core.match import lookup as lookup
    from decoder._core.match import match as match
    from decoder._core.model import assess as assess
    from decoder._core.model import sift as sift
    from decoder._core.oracle import oracle as oracle
    from decoder._core.passes import distances as distances
    from decoder._core.phrases import index as index
    from decoder._core.phrases import number as number
    from decoder._core.search import search as search
    from decoder._core.spell import phrase as phrase
    from decoder._core.spell import spell as spell
    from decoder._core.symmetrise import symmetrise as symmetrise
else:
    globals().update(opened("decoder", MODULES))
