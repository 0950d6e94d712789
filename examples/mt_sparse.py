"""Do a thousand sparse features help to rerank translations? The toy task of rampion demo lists, with BLEU as the cost.

Its lists have five dense features (language model, two of translation, length, distortion) and a count for every pair
of a source and a target word. Several algorithms learn from the same lists with and without the pairs, and a test of
significance says whether chance could have made the difference on the held-out half.

    python examples/mt_sparse.py [SENTENCES]
"""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from rampion.decoder.text.toy import INITIAL, Hypothesis, Record, task

import rampion
from rampion.analysis.significance import randomisation
from rampion.losses.contrast import ORACLE

CANDIDATES = 30
START = {"LM": 0.5, "TM[0]": 0.2, "TM[1]": 0.2, "WordPenalty": -1.0, "Distortion": 0.3}
RECIPES = ("rampion", "mira", "pro-regularised")


def load(records: Sequence[Record]) -> rampion.Candidates:
    """Write the lists to a file and read it: a decoder would have written it."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "lists.jsonl")
        path.write_text("".join(json.dumps(record) + "\n" for record in records))
        return rampion.load_nbest(path)


def without_pairs(record: Record) -> Record:
    hyps: list[Hypothesis] = [
        {"text": hyp["text"], "feats": {name: hyp["feats"][name] for name in INITIAL}} for hyp in record["hyps"]
    ]
    return {"id": record["id"], "hyps": hyps, "refs": record["refs"]}


def main(sentences: int) -> None:
    records = list(task(seed=1, segments=sentences, k=CANDIDATES))
    dev, test = records[::2], load(records[1::2])
    dev_refs, test_refs = ([record["refs"] for record in half] for half in (dev, records[1::2]))
    dense, both = load([without_pairs(record) for record in dev]), load(dev)
    judge = rampion.judge(test, test_refs, "bleu")
    held_out = judge.batch(test)
    start = rampion.Weights.from_dict(START)

    def chosen(lists: rampion.Candidates, recipe: str) -> NDArray[np.int64]:
        """What the weights learnt from these lists choose on held-out ones; a pair without a weight counts nothing."""
        tuned = rampion.tune(lists, dev_refs, recipe=recipe, start=start)
        return rampion.pick(test, tuned.weights)

    print(f"{sentences} sentences of {CANDIDATES} candidates, every other one held out;")
    print(f"{len(dense.features)} dense features and {len(both.features) - len(dense.features)} sparse ones\n")
    print(f"{'held-out BLEU':18}{'dense':>8}{'+ sparse':>10}{'difference':>12}{'p':>8}")
    print(f"{'initial weights':18}{held_out.corpus_score(rampion.pick(test, start)):8.2f}")
    sure = []
    for recipe in RECIPES:
        picks = [chosen(lists, recipe) for lists in (dense, both)]
        before, after = (held_out.corpus_score(each) for each in picks)
        found = randomisation(judge.metric, held_out.statistics[picks[0]], held_out.statistics[picks[1]])
        print(f"{recipe:18}{before:8.2f}{after:10.2f}{found.score:+12.2f}{found.p:8.3f}")
        sure += [recipe] * (found.p < 0.05)
    print(
        f"{'best in the lists':18}{held_out.corpus_score(ORACLE.picks(held_out.stakes, held_out.stakes.costs)):8.2f}\n"
    )
    print("p: how often outputs exchanged at random, sentence by sentence, differ as much.")
    print(f"p < 0.05 for {', '.join(sure) or 'none'} of the {len(RECIPES)}; one test in 20 says so of equal systems.")
    print(judge.metric.signature(judge.references))


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 1200)
