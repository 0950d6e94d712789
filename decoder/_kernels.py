"""The door to the decoder's kernels; RAMPION_KERNELS chooses as it does for rampion's own."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rampion.decoder._reference.search import search as _plainly

from rampion._kernels import opened

search_plainly = _plainly  # for templates of pairs, which are Python

MODULES: dict[str, tuple[str, ...]] = {
    "align": ("best", "collect", "model_one", "normalise"),
    "cube": ("cube",),
    "emit": ("dense_values", "feature_keys", "surface_texts"),
    "extract": ("extract", "tally"),
    "grams": ("count_features",),
    "hmm": ("hmm",),
    "kbest": ("kbest",),
    "lexical": ("lexical",),
    "lexicon": ("chances", "locate", "tabulate", "transpose"),
    "lm": ("fluency", "graft"),
    "match": ("match",),
    "model": ("assess", "sift"),
    "oracle": ("oracle",),
    "passes": ("distances",),
    "phrases": ("index", "number"),
    "search": ("search",),
    "spell": ("feature_names",),
    "symmetrise": ("symmetrise",),
    "unspell": ("name_keys",),
}

if TYPE_CHECKING:  # types come from the twins
    from rampion.decoder._reference.align import best, collect, model_one, normalise
    from rampion.decoder._reference.cube import cube
    from rampion.decoder._reference.emit import dense_values, feature_keys, surface_texts
    from rampion.decoder._reference.extract import extract, tally
    from rampion.decoder._reference.grams import count_features
    from rampion.decoder._reference.hmm import hmm
    from rampion.decoder._reference.kbest import kbest
    from rampion.decoder._reference.lexical import lexical
    from rampion.decoder._reference.lexicon import chances, locate, tabulate, transpose
    from rampion.decoder._reference.lm import fluency, graft
    from rampion.decoder._reference.match import match
    from rampion.decoder._reference.model import assess, sift
    from rampion.decoder._reference.oracle import oracle
    from rampion.decoder._reference.passes import distances
    from rampion.decoder._reference.phrases import index, number
    from rampion.decoder._reference.search import search
    from rampion.decoder._reference.spell import feature_names
    from rampion.decoder._reference.symmetrise import symmetrise
    from rampion.decoder._reference.unspell import name_keys
else:
    globals().update(opened("rampion.decoder", MODULES))
