"""Tune on invented n-best lists, and compare the reranked held-out half with confidence intervals."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np

from rampion.analysis.significance import Bootstrapped, Interval, bootstrap, paired_bootstrap
from rampion.decoder.text.toy import INITIAL, task
from rampion.formats import jsonl
from rampion.formats import weights as weight_files
from rampion.losses.contrast import ORACLE
from rampion.runs.lock import owned
from rampion.store.candidates import Candidates
from rampion.store.features import Weights
from rampion.store.text import References
from rampion.training.inputs import judge
from rampion.training.reranking import pick
from rampion.training.tuning import tune

RECIPES = ("ramp1", "ramp2", "rampion", "soft-ramp3")
TITLES = {"ramp1": "ramp 1", "ramp2": "ramp 2", "rampion": "ramp 3 (RAMPION)", "soft-ramp3": "soft ramp 3"}
START = "initial weights"

Say = Callable[[str], None]


class Half(NamedTuple):
    """Lists and their references."""

    lists: Candidates
    references: References


@dataclass(frozen=True, slots=True)
class Results:
    """By the name of the weights: BLEU of the lists tuned on; of held-out lists BLEU and the gain over the start."""

    signature: str
    tuned: dict[str, float]
    held_out: dict[str, Interval]
    gain: dict[str, Bootstrapped]
    oracle_tuned: float
    oracle: float
    sentences: int  # held out
    shrunk: float  # of ramp 2: the length of its weights, against the initial ones

    def facts(self) -> dict[str, object]:
        """The same for machines."""
        return {
            "signature": self.signature,
            "oracle": self.oracle,
            "tuned": self.tuned,
            "held_out": {name: one._asdict() for name, one in self.held_out.items()},
            "gain": {name: one._asdict() for name, one in self.gain.items()},
        }


def demonstrate(seed: int, segments: int, k: int, out: Path | None, say: Say) -> Results:
    """Invent lists, tune on one half of them, and rerank the other; a folder takes the lists and the first weights."""
    say(f"Inventing two languages and {segments} sentences, each with its {k} best translations ...")
    dev, test = _invented(seed, segments, k)
    start = Weights.from_dict(_flat(INITIAL))
    if out:
        with owned(out):
            for name, half in (("dev", dev), ("test", test)):
                jsonl.write(out / f"{name}.jsonl", [half.lists.rows()], half.lists.features.names, half.references)
            weight_files.write(out / "initial.weights", start)
        say(f"Writing {out}/dev.jsonl, {out}/test.jsonl and {out}/initial.weights ...")
    arbiter = judge(test.lists, test.references, "bleu")
    batch = arbiter.batch(test.lists)
    first = batch.statistics[pick(test.lists, start, lenient=True)]
    features, sentences = len(dev.lists.features), len(dev.lists.segments)
    say(f"Tuning {features} weights on {sentences} of them with {len(RECIPES)} losses ...\n")
    tuned = {name: tune(*dev, recipe=name, start=start, lenient=True, scale="none") for name in RECIPES}
    held_out = {START: first} | {
        TITLES[name]: batch.statistics[pick(test.lists, one.weights, lenient=True)] for name, one in tuned.items()
    }
    rampion = tuned["rampion"]
    return Results(
        signature=rampion.signature,
        tuned={START: rampion.before.chosen} | {TITLES[name]: one.after.chosen for name, one in tuned.items()},
        held_out={name: bootstrap(arbiter.metric, rows) for name, rows in held_out.items()},
        gain={name: paired_bootstrap(arbiter.metric, first, rows) for name, rows in held_out.items()},
        oracle_tuned=rampion.after.oracle,
        oracle=float(batch.corpus_score(ORACLE.picks(batch.stakes, np.zeros(test.lists.size)))),
        sentences=len(test.lists.segments),
        shrunk=tuned["ramp2"].shrunk,
    )


def _invented(seed: int, segments: int, k: int) -> tuple[Half, Half]:
    """The lists to tune on, and those held out."""
    records = list(task(seed, segments, k))
    whole, references = Candidates.from_records(records), References.from_records(records)
    middle = segments // 2
    one, other = (Half(whole[p], references.take(p)) for p in (np.arange(middle), np.arange(middle, segments)))
    return one, other


def _flat(weights: Mapping[str, float | list[float]]) -> dict[str, float]:
    """Groups of values as single features: TM = [a, b] is TM[0] = a, TM[1] = b."""
    flat: dict[str, float] = {}
    for name, value in weights.items():
        flat |= {f"{name}[{i}]": one for i, one in enumerate(value)} if isinstance(value, list) else {name: value}
    return flat
