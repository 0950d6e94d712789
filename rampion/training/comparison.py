"""Many recipes, and several seeds of those that draw random numbers, on the same lists: one ranked table."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from statistics import fmean, stdev
from time import process_time
from typing import Any

import numpy as np

from rampion.errors import RecipeError, TuningError
from rampion.training.loop import Record
from rampion.training.recipes import AUTO, Recipe
from rampion.training.task import Task
from rampion.training.tuned import Tuned
from rampion.training.validation import TUNED

Records = Callable[[str, Recipe], Record]


@dataclass(frozen=True, slots=True)
class Trial:
    """A recipe and its runs by label: one for each seed, or one if it draws no random numbers; or why it failed."""

    name: str
    labelled: dict[str, Tuned]
    seconds: float
    trouble: str = ""

    @property
    def runs(self) -> list[Tuned]:
        return list(self.labelled.values())

    @property
    def tuned(self) -> list[float]:
        return [run.after.chosen for run in self.runs]

    @property
    def dev(self) -> list[float]:
        return [run.dev.after.chosen for run in self.runs if run.dev]

    @property
    def held(self) -> list[float]:
        """The scores of the runs on lists that they did not learn from: on held-out lists, or on folds."""
        return self.dev or [run.held[TUNED].score for run in self.runs if run.held]

    @property
    def distance(self) -> float | None:
        """The mean distance between the weights of two seeds, each scaled to an L1 length of 1."""
        scaled = [run.weights.vector / np.abs(run.weights.vector).sum() for run in self.runs]
        pairs = [float(np.linalg.norm(one - other)) for one, other in combinations(scaled, 2)]
        return fmean(pairs) if pairs else None

    def facts(self) -> dict[str, Any]:
        return {
            "recipe": self.name,
            "runs": len(self.runs),
            "tuned": _spread(self.tuned),
            "dev": _spread(self.dev),
            "held": _spread(self.held),
            "figures": next((run.held.facts() for run in self.runs if run.held), None),
            "oracle": self.runs[0].after.oracle if self.runs else None,
            "seconds": self.seconds,
            "distance": self.distance,
            "trouble": self.trouble or None,
        }


def random(recipe: Recipe) -> bool:
    """Whether a recipe draws random numbers, that is, has a seed."""
    return recipe.settings().get("seed") is not None


def sweep(
    recipes: Mapping[str, Recipe], seeds: Sequence[int], task: Task, records: Records, folds: int = 0
) -> Iterator[Trial]:
    """Tune every recipe on the task. A recipe that fails becomes a trial with its error. Its time excludes folds."""
    for name, recipe in recipes.items():
        runs: dict[str, Tuned] = {}
        began, trouble = process_time(), ""
        try:
            task.batch(recipe)  # judged once for each metric, outside of the time of any run
            began = process_time()
            for seed in (seeds or [recipe.settings()["seed"]]) if random(recipe) else [None]:
                seeded = recipe if seed is None else recipe.set(seed=seed)
                label = name if seed is None else f"{name}.{seed}"
                record = records(label, seeded)
                runs[label] = task.choose(recipe.metric, record, folds) if name == AUTO else task.tune(seeded, record)
            spent = process_time() - began
            if (folds or task.dev) and name != AUTO:
                runs = {label: task.proven(run, folds) for label, run in runs.items()}
        except (TuningError, RecipeError) as error:
            runs, trouble, spent = {}, str(error), process_time() - began
        yield Trial(name, runs, spent / max(1, len(runs)), trouble)


def ranked(trials: Sequence[Trial], higher_is_better: bool) -> list[Trial]:
    """The trials, best first: by held-out scores if there are any, else by scores on the lists; failed ones last."""
    sign = -1.0 if higher_is_better else 1.0
    return sorted(trials, key=lambda trial: (not trial.runs, sign * fmean(trial.held or trial.tuned or [0.0])))


def _spread(scores: Sequence[float]) -> dict[str, float] | None:
    """Mean and standard deviation, least and greatest."""
    if not scores:
        return None
    sd = stdev(scores) if len(scores) > 1 else 0.0
    return {"mean": fmean(scores), "sd": sd, "min": min(scores), "max": max(scores)}
