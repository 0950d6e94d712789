"""Where least squares keep up with Costmargin (X15): `python benchmarks/bench_taste.py OUT`.

The rows of tillmann-zhang/regression at the small scale, on toy languages that differ in what nobody can predict: with
the usual rates; without taste (every word is said in one way where it has one sense, and none is left out); and without
ambiguity as well. OUT keeps the rows, so that a stopped one goes on.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from rampion.decoder.text.language import RATES, Language

from rampion.experiments import run
from rampion.experiments.claims import Greater, Quantity
from rampion.experiments.papers.tillmann_zhang.binary import regression
from rampion.experiments.runners import Workshop
from rampion.experiments.samples import score
from rampion.experiments.scales import SCALES

TASTELESS = RATES._replace(synonym=0.0, dropped=0.0, free=0.0, noise=0.0)
LANGUAGES = {"usual": RATES, "tasteless": TASTELESS, "unambiguous": TASTELESS._replace(ambiguous=0.0)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path)
    parser.add_argument("--languages", nargs="+", choices=LANGUAGES, default=list(LANGUAGES))
    options = parser.parse_args()
    print("language     Costmargin: train  test   least squares: train  test   Costmargin - least squares")
    for name in options.languages:
        text, out = options.out / name, options.out / f"{name} rows"
        if not text.exists():
            scale = SCALES["small"]
            Language.invent(1, LANGUAGES[name]).corpus(scale.pairs, scale.held_out).write(text)
        rows = run(regression, out, (1,), Workshop.open(out, "small", str(text), None, 1))
        told = [f"{score(row, 'train'):6.2f}  {score(row, 'test'):5.2f}" for (row,) in rows.values()]
        found = Greater(*map(Quantity, rows)).judge(rows)
        difference = f"{found.value:+.2f} ({found.low:.2f} to {found.high:.2f})"
        print(f"{name:11}  {told[0]:>23}   {told[1]:>26}   {difference}", flush=True)


if __name__ == "__main__":
    main()
