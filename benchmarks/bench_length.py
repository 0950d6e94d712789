"""What learning from word error rate loses by length (X12): `python benchmarks/bench_length.py OUT [CORPUS SRC-TGT]`.

OUT is where `rampion reproduce tillmann-zhang/table-7` and `table-8` have written, of CORPUS or of the toy. BLEU of the
test, its geometric mean of precisions, and the length in lengths of the references; then the same where the weight of
the length alone has moved, by as many times the weight of the language model as the BLEU of dev finds best.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from itertools import product

import numpy as np
from reproduced import asking, score

from rampion.experiments import run
from rampion.experiments.papers.tillmann_zhang.real import SEVEN, SIZES, table_7, table_8
from rampion.experiments.runners import Workshop
from rampion.experiments.runners.real import dense, own
from rampion.experiments.runners.sets import bleu
from rampion.experiments.samples import BLEU
from rampion.metrics.bleu import ORDER

MOVES = (-0.4, -0.2, -0.1, 0.0, 0.1, 0.2, 0.4, 0.7, 1.0)
METHODS = ("Costmargin", "perceptron")
ROWS = {"BLEU": "7 features", "mWER": "7 features, mWER"}


def main() -> None:
    options = asking(__doc__).parse_args()
    shop = Workshop.open(options.out, "small", options.corpus, options.pair, 1)
    asked = tuple(row for row in (*table_7.rows, *table_8.rows) if row.label.startswith(METHODS))
    rows = run(replace(table_7, rows=asked), options.out, (1,), shop)
    corpus, decoder = shop.stock.system.corpus, dense(shop.stock, SEVEN)
    dev = partial(score, corpus.dev, decoder)
    print("learnt from             BLEU  precisions  length  and length moved: BLEU  precisions  length")
    for method, size, (metric, features) in product(METHODS, SIZES, ROWS.items()):
        learnt = rows[f"{method} {size}-best, {features}"][0].facts["weights"]
        step = abs(learnt["LMRest"])
        moved = {move: own(learnt | {"Words": learnt["Words"] + move * step}) for move in MOVES}
        best = max(moved, key=lambda move: dev(moved[move]))
        told = []
        for move in (0.0, best):
            said = bleu(decoder.best(corpus.test.source, moved[move]), corpus.test.references).sum(axis=0)
            precisions = 100 * np.exp(np.log(said[2 : 2 + ORDER] / said[2 + ORDER :]).mean())
            told.append(f"{BLEU.total_score(said):6.2f} {precisions:10.2f} {said[0] / said[1]:9.3f}")
        print(f"{method} {size:3}, {metric}   {told[0]}   ({best:+.1f}) {told[1]}", flush=True)


if __name__ == "__main__":
    main()
