"""How far learning generalises with the sentences learnt from: `python benchmarks/bench_sentences.py CORPUS SRC-TGT`.

Rows MON all and SWAP all of tillmann-zhang/table-5 at the small scale, but for the number of sentences; all others give
the blocks. Training BLEU, also in percent of the oracle's, and test BLEU.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

from rampion.experiments.papers.tillmann_zhang.binary import Order, Training, Truth
from rampion.experiments.runners import sets
from rampion.experiments.runners.inputs import Stock
from rampion.experiments.samples import score
from rampion.experiments.scales import SCALES


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("corpus")
    parser.add_argument("pair")
    parser.add_argument("--sentences", type=int, nargs="+", default=[2000, 8000, 32000])
    parser.add_argument("--threads", type=int, default=2)
    options = parser.parse_args()
    print("sentences  order  oracle  train  of the oracle   test")
    with tempfile.TemporaryDirectory() as folder:
        for count in options.sentences:
            scale = SCALES["small"]._replace(sentences=count)
            stock = Stock(Path(folder, str(count)), scale, options.corpus, options.pair, options.threads)
            orders: tuple[Order, ...] = ("MON", "SWAP")
            for order in orders:
                best = score(sets.oracle(stock, Truth(order)), "train")
                row = sets.train(stock, Training(order, "all"), 1, Path(folder, f"{count}-{order}"))
                train, test = score(row, "train"), score(row, "test")
                told = f"{best:6.2f}  {train:5.2f}  {train / best:13.0%}  {test:5.2f}"
                print(f"{count:9,}  {order:5}  {told}", flush=True)


if __name__ == "__main__":
    main()
