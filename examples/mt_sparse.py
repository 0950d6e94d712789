"""Do a thousand sparse features help to rerank translations? The toy task of rampion demo lists, with BLEU as the cost.

Its lists have five dense features (language model, two of translation, length, distortion) and a count for every pair
of a source and a target word. Several algorithms learn from the same lists with and without the pairs, and a test of
significance says whether chance could have made the difference on the held-out half.

    python examples/mt_sparse.py [SENTENCES]
"""

from __future__ import annotations

import sys

from rampion.decoder.text.toy import INITIAL, Hypothesis, Record, task

import rampion

CANDIDATES = 30
START = {"LM": 0.5, "TM[0]": 0.2, "TM[1]": 0.2, "WordPenalty": -1.0, "Distortion": 0.3}
RECIPES = ("rampion", "mira", "pro-regularised")


def without_pairs(record: Record) -> Record:
    hyps: list[Hypothesis] = [
        {"text": hyp["text"], "feats": {name: hyp["feats"][name] for name in INITIAL}} for hyp in record["hyps"]
    ]
    return {"id": record["id"], "hyps": hyps, "refs": record["refs"]}


def main(sentences: int) -> None:
    records = list(task(seed=1, segments=sentences, k=CANDIDATES))
    dev, test = records[::2], rampion.Candidates.from_records(records[1::2])
    dev_refs, test_refs = (rampion.References.from_records(half) for half in (dev, records[1::2]))
    dense = rampion.Candidates.from_records(map(without_pairs, dev))
    both = rampion.Candidates.from_records(dev)
    start = rampion.Weights.from_dict(START)

    print(f"{sentences} sentences of {CANDIDATES} candidates, every other one held out;")
    print(f"{len(dense.features)} dense features and {len(both.features) - len(dense.features)} sparse ones\n")
    print(f"{'held-out BLEU':18}{'dense':>8}{'+ sparse':>10}{'difference':>12}{'p':>8}")
    initial = test.texts[rampion.pick(test, start)]
    print(f"{'initial weights':18}{rampion.metric('bleu').score(initial, test_refs):8.2f}")
    sure = []
    for recipe in RECIPES:
        # A pair that has no weight counts nothing.
        before = rampion.tune(dense, dev_refs, recipe=recipe, start=start)
        after = rampion.tune(both, dev_refs, recipe=recipe, start=start, dev=test, dev_references=test_refs)
        found = rampion.compare({"dense": before.weights, "both": after.weights}, test_refs, lists=test)
        one, other = found.values()
        print(f"{recipe:18}{one.score:8.2f}{other.score:10.2f}{other.difference:+12.2f}{other.p:8.3f}")
        sure += [recipe] * (other.p < 0.05)
    print(f"{'best in the lists':18}{after.dev.after.oracle:8.2f}\n")
    print("p: how often outputs exchanged at random, sentence by sentence, differ as much.")
    print(f"p < 0.05 for {', '.join(sure) or 'none'} of the {len(RECIPES)}; one test in 20 says so of equal systems.")
    print(found.signature)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 1200)
