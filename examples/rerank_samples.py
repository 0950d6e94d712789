"""Rerank the samples of a translator or language model, with a learned metric as the cost.

Each prompt has 24 sampled answers with three numbers known when answering: the model's log-probability, the length, and
how probable a reverse model finds the prompt, given the answer. On the tuning half, a learned metric (think of COMET)
has also judged every sample; it stands in the lists as a metric column, so no references are needed. The learned metric
is itself noisy: a second column, `human`, holds the truth it imitates, which is never learnt from.

    python examples/rerank_samples.py [PROMPTS]
"""

from __future__ import annotations

import sys
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

import rampion

SAMPLES = 24
START = {"logprob": 1.0, "length": 0.0, "reverse": 0.0}  # what one does without tuning: take the most probable
RECIPES = ("rampion", "risk", "mert")


def sampled(prompts: int, seed: int = 1) -> list[dict[str, Any]]:
    """Records as JSONL files have them. A sample says each of the prompt's words rightly, wrongly, or not at all."""
    random, records = np.random.default_rng(seed), []
    for prompt in range(prompts):
        words, skill = random.integers(8, 25), random.uniform(0.5, 0.9)  # prompts differ in length and difficulty
        hyps = []
        for _ in range(SAMPLES):
            said = random.choice(["right", "wrong", ""], words, p=[0.9 * skill, 0.9 * (1 - skill), 0.1])
            right, wrong, missing = ((said == kind).sum() for kind in ("right", "wrong", ""))
            noise = random.standard_normal(3) * np.sqrt(words)
            human = (right - 0.5 * wrong) / words
            hyps.append({
                "text": " ".join(f"{kind}{place}" for place, kind in enumerate(said) if kind) or "nothing",
                "feats": {  # every word costs the model probability, so the most probable sample leaves words out
                    "logprob": -1.0 * right - 1.6 * wrong + 0.8 * noise[0],
                    "length": float(right + wrong),
                    "reverse": -0.8 * right - 1.2 * wrong - 2.0 * missing + 0.8 * noise[1],
                },
                "metrics": {"learned": human + 0.5 * noise[2] / words, "human": human},
            })  # fmt: skip
        records.append({"id": str(prompt), "hyps": hyps})
    return records


def main(prompts: int) -> None:
    lists = rampion.Candidates.from_records(sampled(prompts))
    dev, test = lists[: prompts // 2], lists[prompts // 2 :]

    learned, human = test.metrics["learned"], test.metrics["human"]

    def show(who: str, picks: NDArray[np.int64]) -> None:
        print(f"{who:22}{learned[picks].mean():9.3f}{human[picks].mean():9.3f}")

    print(f"{prompts} prompts x {SAMPLES} samples, half to tune on; the mean over the other half:\n")
    print(f"{'':22}{'learned':>9}{'human':>9}")
    show("the first sample", test.bounds[:-1])
    show("the most probable", rampion.pick(test, rampion.Weights.from_dict(START)))
    for recipe in RECIPES:
        model = rampion.Reranker(recipe, start=START, metric="metric:learned").fit(dev)
        show(recipe, rampion.pick(test, model.weights_))
    best = [first + learned[first:last].argmax() for first, last in pairwise(test.bounds)]
    show("best by learned metric", np.array(best))
    print(f"\nlearnt by {RECIPES[-1]}: " + ", ".join(f"{name} {model.weights_[name]:+.2f}" for name in START))


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 1000)
