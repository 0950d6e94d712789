"""How far RAMPION learns the tuning text (X4a): `python benchmarks/bench_steps.py OUT [CORPUS SRC-TGT]`.

OUT is where `rampion reproduce gimpel-smith/table-2` has written, of CORPUS or of the toy. RAMPION with a thousand
counts, at the rate of the table and at a tenth of it, beside PRO.
"""

from __future__ import annotations

from dataclasses import replace

from reproduced import asking

from rampion.experiments import Row, run
from rampion.experiments.claims import Greater, Quantity
from rampion.experiments.papers.gimpel_smith import MORE, PRO_MORE, RAMPION_MORE, Tuning, table_2
from rampion.experiments.runners import Workshop
from rampion.experiments.runners.tuned import scaled
from rampion.experiments.samples import score
from rampion.training.recipes import RECIPES


def main() -> None:
    options = asking(__doc__).parse_args()
    shop = Workshop.open(options.out, "small", options.corpus, options.pair, 1)
    stock = shop.stock
    rate = scaled(RECIPES["rampion"], stock.scale, len(stock.whole.corpus.dev)).settings()["rate"]
    slow = Row(f"{RAMPION_MORE}, a tenth", Tuning("rampion", MORE, change=f"rate={rate / 10}"))
    more = tuple(row for row in table_2.rows if row.label in (PRO_MORE, RAMPION_MORE))
    rows = run(replace(table_2, rows=(*more, slow)), options.out, (1,), shop)
    for label, (row,) in rows.items():
        print(f"{label:25} tuning {score(row, 'tune'):5.2f}   test {score(row, 'test'):5.2f}")
    for rampion in (RAMPION_MORE, slow.label):
        for text in ("tune", "test"):
            found = Greater(Quantity(PRO_MORE, text), Quantity(rampion, text)).judge(rows)
            print(f"{found.text}: {found.value:+.2f} ({found.low:.2f} to {found.high:.2f})")


if __name__ == "__main__":
    main()
