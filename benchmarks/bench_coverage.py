"""What learnt weights know of text they have not seen: `python benchmarks/bench_coverage.py OUT [CORPUS SRC-TGT]`.

OUT is where `rampion reproduce tillmann-zhang/table-5` has written, of CORPUS or of the toy. Of the features that fire
in the best translations, the share that has a weight, in sentences learnt from and in the test; and the perplexity of
the references of the test by models of one, two and three words.
"""

from __future__ import annotations

import numpy as np
from rampion.decoder.models import kneser
from reproduced import asking

from rampion.experiments.runners.inputs import Stock
from rampion.experiments.scales import SCALES
from rampion.runs.sets_run import SetRun

MOST = 500  # sentences of each text


def main() -> None:
    options = asking(__doc__).parse_args()
    stock = Stock(options.out, SCALES["small"], options.corpus, options.pair, 1)
    corpus = stock.system.corpus
    for name in ("phrase", "word"):
        run = SetRun.open(options.out / "rows" / f"swap-{name}" / "seed-1" / "run")
        weights, decoder = run.keyed(run.chosen.iteration), stock.decoder(name, "SWAP")
        for said, text in (("lessons", stock.lessons), ("test", corpus.test)):
            lines = text.source.take(np.arange(min(MOST, len(text.source))))
            found = np.concatenate([weights.table.weigh(one.keys) for one in decoder.listed(lines, weights, 1)])
            print(f"{name:7} {said:8} {len(found):7,} fired, {np.mean(found != 0):.0%} of them have a weight")
    text = corpus.test.references.texts
    words = sum(len(line.split()) + 1 for line in text)
    for order in (1, 2, 3):
        model = kneser.estimate(corpus.train.target, order).lm
        print(f"{order} words: perplexity {np.exp(-np.sum(model.score(text)) / words):.1f}")


if __name__ == "__main__":
    main()
