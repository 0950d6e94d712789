"""Put learnt weights of sparse features into the blocks that fire them."""

from __future__ import annotations

from rampion.apps.inputs import read_weights
from rampion.apps.systems import refuse_foreign
from rampion.decoder.features.dense import DENSE
from rampion.decoder.models.blocks import LEARNT, BlockSet
from rampion.decoder.search.condense import Share
from rampion.decoder.search.condense import condense as condensing
from rampion.formats import weights as weight_files
from rampion.store.features import Weights
from rampion.store.text import Texts


def condense(blocks: str, weights: str, out: str, save_weights: str | None, lenient: bool = False) -> dict[str, Share]:
    """Write the condensed blocks; return how many weights of every template were used."""
    found, learnt = BlockSet.read(blocks), read_weights(weights)
    if not lenient and "blocks" in learnt.system:
        refuse_foreign(weights, learnt, {**learnt.system, "blocks": found.fingerprint})
    made, rows = condensing(found, learnt)
    made.write(out)
    if save_weights:
        places = learnt.features.places(Texts.from_strings(DENSE)).tolist()
        own = {name: float(learnt.vector[at]) for at, name in sorted(zip(places, DENSE, strict=True)) if at >= 0}
        saved = Weights.from_dict(own | dict.fromkeys(LEARNT, 1.0))
        parts = {**learnt.system, "blocks": made.fingerprint}
        weight_files.write(save_weights, Weights(saved.features, saved.vector, parts))
    return rows
