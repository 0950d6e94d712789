"""Every loss with every solver and update: it runs, or is refused in a sentence that says why. Policies take turns.

Losses, updates and policies are found in their modules and in the recipes, so a new one is tested by being added.
"""

from __future__ import annotations

from dataclasses import is_dataclass
from functools import cache
from itertools import product

import numpy as np
import pytest
from strategies import random_store

from rampion.errors import RecipeError
from rampion.losses.contrast import Contrast, Sided
from rampion.losses.pairwise import Pairs
from rampion.losses.table import LOSSES
from rampion.optim import updates
from rampion.optim.mert import LineSearch
from rampion.optim.mira import BatchMira
from rampion.optim.online_sgd import OnlineSgd
from rampion.optim.pro import Pro
from rampion.optim.solvers import Annealed, Best, Cccp, Descent, Lbfgs
from rampion.protocols import Pace, Update
from rampion.store.features import Weights
from rampion.store.text import References
from rampion.training import policies
from rampion.training.inputs import judge
from rampion.training.loop import absorbed, learn
from rampion.training.recipes import Recipe, recipes_of

OTHERS = {
    type(recipe.loss).__name__: recipe.loss
    for recipe in recipes_of("lists").values()
    if not isinstance(recipe.loss, Sided)
}
ALL_LOSSES = LOSSES | OTHERS


def parts(module, verb):
    """One of every class of a module that has the verb."""
    return [part() for part in vars(module).values() if is_dataclass(part) and hasattr(part, verb)]


UPDATES, POLICIES = parts(updates, "step"), parts(policies, "absorb")
DESCENTS = [
    Descent(update, epochs=2, after=after, averaged=averaged)
    for update, after, averaged in product(UPDATES, ("segment", "all"), (False, True))
]
SOLVERS = [
    *DESCENTS,
    Lbfgs(steps=3),
    *(Cccp(inner, rounds=2) for inner in (*DESCENTS, Lbfgs(steps=3))),
    *(Annealed(inner, rounds=2) for inner in (*DESCENTS, Lbfgs(steps=3))),
    Best(DESCENTS[0]),
    Best(Lbfgs(steps=3)),
    BatchMira(epochs=2),
    Pro(rounds=2),
    LineSearch(restarts=1, threads=1),
    OnlineSgd(epochs=2),
    Best(OnlineSgd(epochs=2)),
]


def refusal(solver, loss):
    """The reason that a pair is illegal, as a pattern of the sentence; None for a legal one."""
    smooth = loss.smooth
    if isinstance(solver, OnlineSgd):
        return "OnlineSgd learns from relevant sets, and .* keeps lists; use OnlineSgd with RelevantSets"
    if isinstance(solver, LineSearch):
        return None if loss.scope == "corpus" else "maximises the score of the whole corpus.* use "
    if isinstance(solver, Pro):
        return None if isinstance(loss, Pairs) else "learns from pairs; .* use another solver"
    if isinstance(solver, BatchMira):
        if not isinstance(loss, Contrast):
            return "needs a contrast of two sides"
        plain = all(side.where == "anywhere" and not side.softness for side in (loss.up, loss.down))
        return None if plain else "weighs scores against BLEU.* use"
    if isinstance(solver, Best):
        solver = solver.inner
        if isinstance(solver, OnlineSgd):
            return "Best scores lists, and OnlineSgd has none: use OnlineSgd alone"
    if isinstance(solver, Annealed):
        if not hasattr(loss, "warmth"):
            return "lowers the warmth of a loss.* use "
        solver = solver.inner
    if isinstance(solver, Cccp):
        if not isinstance(loss, Contrast):
            return "needs a loss with an up side to pin.* use "
        smooth, solver = loss.down.softness > 0, solver.inner
    if loss.scope == "corpus":
        return "flat between its jumps.* use "
    if isinstance(solver, Lbfgs):
        return None if smooth else "needs a smooth loss.* use "
    if solver.after == "all" and solver.averaged:
        return "only the weights after every segment are averaged; use "
    if solver.after == "segment" and not isinstance(solver.update, Pace):
        return "cannot step after every segment; use "
    if solver.after == "segment" and not isinstance(loss, Sided):
        return "is not a contrast of two sides; use "
    return None


@cache
def batch(policy):
    """What a policy keeps of two decodings of twelve segments, of which a few candidates reach the reference."""
    random = np.random.default_rng(1)
    texts = [" ".join(random.choice(["a", "b", "c", "d"], 4)) for _ in range(12 * 5)]
    runs = [random_store(np.random.default_rng(seed), [5] * 12, 2, 6, texts=texts) for seed in (2, 3)]
    references = References.from_lists([texts[5 * s]] for s in range(12))
    return judge(runs[0], references, "bleu:lin-och", alpha=1.0).batch(absorbed(policy, runs))


def learnt(recipe):
    """The weights before and after, and the rows of the log."""
    rows, made = [], batch(recipe.policy)
    features = made.candidates.features
    start = Weights(features, np.full(len(features), 0.1))
    return start, learn(recipe, made, start, start, lambda row, _: rows.append(row)), rows


@pytest.mark.parametrize("loss", ALL_LOSSES)
def test_every_solver_runs_or_says_why_not(loss):
    for n, solver in enumerate(SOLVERS):
        reason, policy = refusal(solver, ALL_LOSSES[loss]), POLICIES[n % len(POLICIES)]
        if reason:
            with pytest.raises(RecipeError, match=reason):
                Recipe(ALL_LOSSES[loss], solver, policy)
            continue
        start, weights, rows = learnt(Recipe(ALL_LOSSES[loss], solver, policy))
        assert 1 <= len(rows) <= 3, solver
        assert all(np.isfinite(row.loss) and np.isfinite(row.moved) for row in rows), solver
        moved = (weights.vector != start.vector).any()
        assert moved or rows[0].loss <= 0, solver  # half-soft losses fall below 0, where Mira rests


def test_all_parts_are_there():
    assert {type(part).__name__ for part in UPDATES} >= {"Sgd", "Mira", "AdaGrad", "Rprop"}
    assert {type(part).__name__ for part in POLICIES} == {"Replace", "Merge", "Window", "Fixed"}
    assert set(OTHERS) >= {"Risk", "ExpectedBleu"}
    assert all(isinstance(update, Update) for update in UPDATES)
