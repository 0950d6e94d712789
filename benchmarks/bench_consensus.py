"""Speed of consensus: `python benchmarks/bench_consensus.py [LISTS]` prints CPU seconds of 1000 lists of 200 texts.

Each candidate is a sentence of 25 words by Zipf's law in which one word in four is exchanged for one of four others and
one in twenty is dropped, so that nearly all candidates of a list differ. We score all lists on one thread. Peers score
the candidates of a list by every candidate of it, one list (mbrs, fastchrf) or a corner of it (sacrebleu) at a time,
and their seconds are scaled up; those of their worker processes count. mbrs and fastchrf are left out if they are not
installed: `pip install mbrs`.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec

import numpy as np
from sacrebleu.metrics.bleu import BLEU
from sacrebleu.metrics.chrf import CHRF

from rampion import Candidates
from rampion.metrics import metric
from rampion.metrics.consensus import consensus

LISTS, DEPTH, LENGTH, WORDS = 1000, 200, 25, 4000
CORNER = 40  # candidates that sacrebleu compares with one another


def made(count: int) -> list[list[str]]:
    """The texts of so many lists."""
    rng = np.random.default_rng(0)
    words = ["".join(chr(97 + c) for c in rng.integers(0, 26, rng.integers(2, 9))) for _ in range(WORDS)]
    chances = 1 / np.arange(1, WORDS + 1)
    chances /= chances.sum()
    lists = []
    for _ in range(count):
        first, others = rng.choice(WORDS, LENGTH, p=chances), rng.choice(WORDS, (LENGTH, 4), p=chances)
        chosen = others[np.arange(LENGTH), rng.integers(0, 4, (DEPTH, LENGTH))]
        texts = np.where(rng.random((DEPTH, LENGTH)) < 0.25, chosen, first)
        dropped = rng.random((DEPTH, LENGTH)) < 0.05
        lists.append(
            [
                " ".join(words[word] for word, gone in zip(text, holes, strict=True) if not gone)
                for text, holes in zip(texts.tolist(), dropped.tolist(), strict=True)
            ]
        )
    return lists


def seconds(work: Callable[[], object]) -> float:
    """CPU seconds, those of finished child processes too."""
    start = os.times()
    work()
    return sum(os.times()[:4]) - sum(start[:4])


def best(work: Callable[[], object], times: int = 3) -> float:
    return min(seconds(work) for _ in range(times))


def peers(texts: list[str]) -> dict[str, dict[str, float]]:
    """By metric, the CPU seconds that a list takes others."""
    corner, whole = texts[:CORNER], (DEPTH / CORNER) ** 2
    bleu, chrf = BLEU(effective_order=True, tokenize="none"), CHRF()
    found = {
        name: {
            "sacrebleu": whole
            * best(lambda: [one.sentence_score(text, [other]) for text in corner for other in corner])  # noqa: B023
        }
        for name, one in (("bleu", bleu), ("chrf", chrf))
    }
    if find_spec("mbrs"):
        for name, cls, options in (
            ("bleu", import_module("mbrs.metrics.bleu").MetricBLEU, {"tokenize": "none"}),
            ("chrf", import_module("mbrs.metrics.chrf").MetricChrF, {}),
        ):
            judge = cls(cls.Config(num_workers=1, **options))
            found[name]["mbrs"] = best(lambda: judge.expected_scores(corner, corner)) * whole  # noqa: B023
    if find_spec("fastchrf"):
        pairwise = import_module("fastchrf").pairwise_chrf
        found["chrf"]["fastchrf"] = best(lambda: pairwise([texts], [texts], char_order=6, beta=2.0))
    return found


def main() -> None:
    count = int(sys.argv[1]) if len(sys.argv) > 1 else LISTS
    lists = made(count)
    candidates = Candidates.from_records(
        {"id": str(s), "hyps": [{"text": text} for text in texts]} for s, texts in enumerate(lists)
    )
    others = peers(lists[0])
    print(f"CPU seconds of {LISTS} lists of {DEPTH} candidates\nmetric         seconds   times ours")
    for name in ("bleu", "chrf"):
        ours = best(lambda: consensus(candidates, metric(name), threads=1)) * LISTS / count  # noqa: B023
        print(f"{name:6} rampion {ours:8.2f}")
        for peer, spent in others[name].items():
            print(f"       {peer:9}{spent * LISTS:8.0f} {spent * LISTS / ours:10.0f}")


if __name__ == "__main__":
    main()
