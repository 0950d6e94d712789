"""Where swaps lose on the test: `python benchmarks/bench_swaps.py OUT [CORPUS SRC-TGT]`.

OUT is where `rampion reproduce tillmann-zhang/table-5` has written, of CORPUS or of the toy. Weights that were learnt
with either order decode the test in either order; and with swaps, a prior of jumps (JumpOut and JumpIn, S10.10) joins
the weights that were learnt with swaps, as heavy as dev finds best.
"""

from __future__ import annotations

from functools import partial

from reproduced import asking, score

from rampion.experiments.papers.tillmann_zhang.binary import FEATURES, ORDERS, table_5
from rampion.experiments.runners.inputs import Stock
from rampion.experiments.scales import SCALES
from rampion.runs.sets_run import SetRun
from rampion.sets.records import Keyed

JUMPS = ("JumpOut", "JumpIn")
PRIORS = (0.0, 0.02, 0.05, 0.1, 0.2, 0.4)


def main() -> None:
    parser = asking(__doc__)
    parser.add_argument("--features", nargs="+", choices=FEATURES, default=list(FEATURES))
    options = parser.parse_args()
    stock = Stock(options.out, SCALES["small"], options.corpus, options.pair, 1)
    corpus, folders = stock.system.corpus, {row.label: row.folder for row in table_5.rows}
    print("test BLEU     MON-MON  MON-SWAP  SWAP-MON  SWAP-SWAP  and a prior  (learnt-decoded)")
    for name in options.features:
        features, lm = FEATURES[name]
        own = {} if lm is None else {"LM": lm}
        told, learnt = list[str](), dict[str, Keyed]()
        for order in ORDERS:
            run = SetRun.open(options.out / "rows" / folders[f"{order} {name}"] / "seed-1" / "run")
            learnt[order] = run.keyed(run.chosen.iteration)
            for decoded in ORDERS:
                decoder = stock.decoder(",".join([*own, features]), decoded)
                told.append(f"{score(corpus.test, decoder, learnt[order]):8.2f}")
        decoder = stock.decoder(",".join([*own, *JUMPS, features]), "SWAP")
        weighed = {prior: Keyed(learnt["SWAP"].table, own | dict.fromkeys(JUMPS, prior)) for prior in PRIORS}
        dev = partial(score, corpus.dev, decoder)
        chosen = max(weighed, key=lambda prior: dev(weighed[prior]))
        said = score(corpus.test, decoder, weighed[chosen])
        print(f"{name:10} {'  '.join(told)} {said:8.2f} ({chosen:g})", flush=True)


if __name__ == "__main__":
    main()
