"""Find the language model's weight for a speech recogniser: n-best lists, with word error rate as the cost.

An invented recogniser mistakes words for others that sound alike, misses short ones, and hears some nobody said. Its
acoustic scores treat frames as independent, and are far too sure: recognisers give the language model a large weight.

    python examples/asr_wer.py [UTTERANCES]
"""

from __future__ import annotations

import math
import random
import sys
from collections import Counter
from itertools import chain, pairwise

import rampion

LISTED = 50  # candidates a list
SURENESS = 16.0  # how often the same evidence counts
START = {"acoustic": 1.0, "lm": 1.0, "words": 0.0}
WORDS = [a + b + c for a in "bdgklmprst" for b in "aeiou" for c in "nst"] + list("aeiou")
ALIKE = {w: [o for o in WORDS if len(w) == len(o) and sum(map(str.__ne__, w, o)) == 1] for w in WORDS}


def spoken(chance: random.Random) -> list[str]:
    """A sentence; after each word a dozen others are likely."""
    words = [chance.choice(WORDS)]
    for _ in range(chance.randint(5, 14)):
        words.append(chance.choice(random.Random(words[-1]).sample(WORDS, 12) if chance.random() < 0.8 else WORDS))
    return words


def heard(word: str, chance: random.Random) -> list[tuple[list[str], float]]:
    """What this word may have been, with acoustic scores: itself, words that sound alike, nothing, or two words."""
    others = [*([other] for other in chance.sample(ALIKE[word], 3)), [word, chance.choice("aeiou")], []]
    options = [[word], *(others if len(word) == 1 else others[:-1])]
    return [(option, SURENESS * chance.gauss(0 if option == [word] else -0.8, 0.5)) for option in options]


def record(name: int, chance: random.Random, lm: Counter[tuple[str, str]], words: Counter[str]) -> dict[str, object]:
    """An utterance as a record of the JSONL format: a beam search over what was heard."""
    said, beam = spoken(chance), [(["<s>"], 0.0, 0.0)]
    for options in [heard(word, chance) for word in said]:
        longer = {}
        for text, acoustic, fluency in beam:
            for new, sound in options:
                gain = sum(math.log(0.9 * lm[a, b] / (words[a] or 1) + 1e-3) for a, b in pairwise([text[-1], *new]))
                longer[tuple(text + new)] = (text + new, acoustic + sound, fluency + gain)
        beam = sorted(longer.values(), key=lambda found: -found[1] - found[2])[:LISTED]
    feats = [dict(zip(START, (acoustic, fluency, len(text) - 1), strict=True)) for text, acoustic, fluency in beam]
    hyps = [{"text": " ".join(text), "feats": row} for ((_, *text), *_), row in zip(beam, feats, strict=True) if text]
    return {"id": str(name), "hyps": hyps, "refs": [" ".join(said)]}


def main(utterances: int) -> None:
    chance = random.Random(1)
    read = [["<s>", *spoken(chance)] for _ in range(3000)]  # all that the language model knows
    words, lm = Counter(chain(*read)), Counter(chain(*map(pairwise, read)))
    records = [record(name, chance, lm, words) for name in range(utterances)]
    (dev, dev_refs), (test, test_refs) = (
        (rampion.Candidates.from_records(half), rampion.References.from_records(half))
        for half in (records[::2], records[1::2])
    )
    wer = rampion.metric("wer")

    def show(who: str, weights: rampion.Weights) -> None:
        rates = [
            wer.score(lists.texts[rampion.pick(lists, weights)], refs)
            for lists, refs in ((dev, dev_refs), (test, test_refs))
        ]
        lm, words = (weights[name] / weights["acoustic"] for name in ("lm", "words"))
        print(f"{who:18}{rates[0]:10.2f}{rates[1]:10.2f}{lm:15.2f}{words:18.2f}")

    print(f"{utterances} utterances, at most {LISTED} candidates each; every other one held out\n")
    print(f"{'word error rate':18}{'tuned on':>10}{'held out':>10}{'lm : acoustic':>15}{'words : acoustic':>18}")
    show("initial weights", rampion.Weights.from_dict(START))
    for recipe in ("rampion", "risk", "mert"):
        model = rampion.Reranker(recipe, start=START, metric="wer").fit(dev, dev_refs, test, test_refs)
        show(recipe, model.weights_)
    print(f"{'best in the lists':18}{model.tuned_.after.oracle:10.2f}{model.tuned_.dev.after.oracle:10.2f}")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 600)
