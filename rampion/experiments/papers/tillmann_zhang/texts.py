"""Other text: pairs and blocks filtered to the test, and language models of longer histories."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

from rampion.experiments import Experiment, Picture, Relation, Row
from rampion.experiments.claims import greater
from rampion.experiments.papers.gimpel_smith import Tuning
from rampion.experiments.papers.tillmann_zhang.binary import COLUMNS, Training
from rampion.experiments.papers.tillmann_zhang.real import SEVEN

LEARNING, TUNING = Training("SWAP", "all"), Tuning("rampion", SEVEN)


@dataclass(frozen=True, slots=True)
class Filtered:
    """Weights learnt from a part of one half of the pairs, with blocks from the other half.

    pairs   those that cover the test (S10.3), or as many random ones
    blocks  all; those of the pairs that cover the test; or those whose source phrase occurs in the test
    """

    seeded: ClassVar[bool] = True
    pairs: Literal["covering", "chance"]
    blocks: Literal["all", "covering", "test"] = "all"
    training: Training = LEARNING


@dataclass(frozen=True, slots=True)
class Spoken:
    """Weights tuned with a language model of this order, for each model separately."""

    seeded: ClassVar[bool] = False
    words: int
    tuning: Tuning = TUNING


COVERING, CHANCE = "covering pairs", "random pairs"
COVERED, MATCHING = "covering pairs, blocks of covering pairs", "covering pairs, blocks of the test"
FILTERED = {
    COVERING: Filtered("covering"),
    CHANCE: Filtered("chance"),
    COVERED: Filtered("covering", "covering"),
    MATCHING: Filtered("covering", "test"),
}

filtering = Experiment(
    "tillmann-zhang/filter",
    "Pairs to learn from, and blocks, filtered to the test",
    COLUMNS,
    tuple(Row(label, settings) for label, settings in FILTERED.items()),
    (
        Relation(
            "X18a", "report", "pairs that cover the test teach more than as many random pairs",
            (greater(COVERING, CHANCE),),
        ),
        Relation("X18b", "report", "blocks of all pairs are better than blocks of the pairs that cover the test",
                 (greater(COVERING, COVERED),)),
        Relation("X18c", "report", "all blocks are better than only those whose source phrase occurs in the test",
                 (greater(COVERING, MATCHING),)),
    ),
    note="The paper gives no table: blocks that were filtered to the test cost it about 3 points.",
    picture=Picture("BLEU", {f"{label}, test": (label, "test") for label in FILTERED}),
)  # fmt: skip

THREE, FOUR, FIVE = (f"{words} words" for words in (3, 4, 5))
ORDERS = {THREE: (3, {"test": 44.8}), FOUR: (4, {}), FIVE: (5, {"test": 47.3})}

order = Experiment(
    "tillmann-zhang/order",
    "Language models of order 3, 4 and 5",
    {"tune": "tuning BLEU", "test": "test BLEU", "decoding": "seconds decoding"},
    tuple(Row(label, Spoken(words), paper) for label, (words, paper) in ORDERS.items()),
    (
        Relation("X19a", "should", "a 5-gram model is better than a 3-gram model", (greater(FIVE, THREE),)),
        Relation("X19b", "should", "decoding takes longer with the 5-gram model", (greater(FIVE, THREE, "decoding"),)),
    ),
    note="The paper's numbers are Costmargin's, whose decoder took more than ten times as long; ours are RAMPION's, "
    "once for each model. Seconds are those of an iteration on the machine that made the row.",
)  # fmt: skip

TEXTS = (filtering, order)
