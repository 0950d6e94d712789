"""Whether RAMPION ends in minima of their own (X2b): `python benchmarks/bench_starts.py OUT [CORPUS SRC-TGT]`.

OUT is where `rampion reproduce gimpel-smith/figure-3` has written, of CORPUS or of the toy. Of every two ends: the
cosine of their weights, and on the candidates that either lists the loss and BLEU, at both ends and between them.
--decodings 60 goes on for longer than the table.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations
from typing import cast

import numpy as np
from reproduced import asking

from rampion.experiments import Row, run
from rampion.experiments.claims import NearlyParallel
from rampion.experiments.papers.gimpel_smith import BY_NAME, RAMPION, Tuning, figure_3
from rampion.experiments.runners import Workshop
from rampion.experiments.runners.tuned import scaled
from rampion.losses.contrast import MODEL
from rampion.store.features import Weights
from rampion.store.text import Texts
from rampion.training.decoders import decoded
from rampion.training.inputs import judge
from rampion.training.recipes import RECIPES

BETWEEN = np.linspace(0.0, 1.0, 5)


def longer(row: Row, decodings: int) -> Row:
    settings = replace(cast(Tuning, row.settings), change=f"iterations={decodings}")
    return Row(f"{row.label}, {decodings} decodings", settings)


def main() -> None:
    parser = asking(__doc__)
    parser.add_argument("--decodings", type=int)
    options = parser.parse_args()
    shop = Workshop.open(options.out, "small", options.corpus, options.pair, 1)
    asked = tuple(row for row in figure_3.rows if row.label in BY_NAME[RAMPION])
    if options.decodings:
        asked = tuple(longer(row, options.decodings) for row in asked)
    rows = run(replace(figure_3, rows=asked), options.out, (1,), shop)
    dev, decoder = shop.stock.whole.corpus.dev, shop.stock.whole.decoder("fourteen", threads=1)
    recipe = scaled(RECIPES["rampion"], shop.stock.scale, len(dev))
    arbiter = judge(Texts.from_strings(map(str, range(len(dev)))), dev.references, recipe.metric, recipe.alpha)
    ends = {label: Weights.from_dict(outcome.weights) for label, (outcome,) in rows.items()}
    lists = {label: decoded(decoder, dev.source, end, recipe.k).distinct() for label, end in ends.items()}
    for pair in combinations(ends, 2):
        batch = arbiter.batch(lists[pair[0]].merge(lists[pair[1]]))
        first, last = (ends[label].onto(batch.candidates.features) for label in pair)
        print(f"{' and '.join(pair)}: cosine {NearlyParallel(pair, 0.95).judge(rows).value:.3f}")
        for part in BETWEEN:
            scores = batch.scores((1 - part) * first + part * last)
            loss = recipe.loss.slopes(batch.stakes, scores)[0]
            bleu = batch.corpus_score(MODEL.picks(batch.stakes, scores))
            print(f"  {part:4.0%} of the way: loss {loss:8.1f}   BLEU {bleu:5.2f}", flush=True)


if __name__ == "__main__":
    main()
