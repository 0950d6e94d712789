"""Strange numbers under every recipe: weights are finite and not all zero, or a sentence says why. Laws of order."""

from __future__ import annotations

import numpy as np
import pytest

from rampion import tune
from rampion.errors import InputError, RampionError
from rampion.store.candidates import Candidates
from rampion.store.text import References
from rampion.store.units import Units
from rampion.training.recipes import RECIPES

WORDS = list("abcdef")
LISTED = [name for name in RECIPES if type(RECIPES[name].solver).__name__ != "OnlineSgd"]


def records(value, random, segments=6, size=4):
    """Candidates whose feature j has the value of (segment, candidate, j)."""
    return [
        {
            "id": str(s),
            "hyps": [
                {"text": " ".join(random.choice(WORDS, 5)), "feats": {f"F{j}": float(value(s, i, j)) for j in range(3)}}
                for i in range(size)
            ],
        }
        for s in range(segments)
    ]


def case(name):
    """Lists and references."""
    random = np.random.default_rng(3)

    def normal(*_):
        return random.normal()

    values = {
        "zeros": lambda *_: 0.0,
        "minus zeros": lambda s, i, j: -0.0 if (i + j) % 2 else 0.0,
        "one constant": lambda s, i, j: 7.0 if j == 0 else random.normal(),
        "constant in a list": lambda s, i, j: s + j,
        "huge": lambda *_: random.normal() * 1e300,
        "one huge": lambda s, i, j: random.normal() * (1e300 if j == 0 else 1.0),
        "largest": lambda *_: random.choice([-1.0, 1.0]) * 1.7e308,
        "denormal": lambda *_: random.normal() * 1e-310,
    }
    more = {"lists of one": {"size": 1}, "one list": {"segments": 1}}.get(name, {})
    lists = records(values.get(name, normal), random, **more)
    references = [[" ".join(random.choice(WORDS, 5))] for _ in lists]
    if name == "no word in common":
        references = [["x y z"] for _ in lists]
    if name == "empty references":
        references = [[""] for _ in lists]
    return Candidates.from_records(lists), References.from_lists(references)


CASES = (
    "zeros", "minus zeros", "one constant", "constant in a list", "huge", "one huge", "largest", "denormal",
    "lists of one", "one list", "no word in common", "empty references",
)  # fmt: skip


@pytest.mark.slow
@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("name", CASES)
def test_no_recipe_ends_in_weights_that_are_no_numbers(name):
    lists, references = case(name)
    for recipe in RECIPES:
        try:
            weights = tune(lists, references, recipe=recipe).weights.vector
        except RampionError as error:
            said = str(error)
            weights = np.ones(1)
        else:
            said = "learnt"
        assert said.count("\n") == 0, recipe
        assert np.isfinite(weights).all(), recipe
        assert weights.any(), recipe


@pytest.mark.filterwarnings("error")
def test_features_too_large_to_compare_are_named_and_differences_too_small_have_no_unit():
    lists, _ = case("largest")
    with pytest.raises(InputError, match="values of the feature 'F0' differ by more than a number can hold; scale it"):
        Units.of(lists)
    lists, _ = case("denormal")
    units = Units.of(lists)
    assert units.sizes.tolist() == [0.0, 0.0, 0.0]
    assert units.outward(np.ones(3)).tolist() == [0.0, 0.0, 0.0]


def all_at_once(recipe):
    """Whether every step of learning sees all lists together."""
    solver, loss = str(recipe.solver), type(recipe.loss).__name__
    return "Lbfgs" in solver or "LineSearch" in solver or loss in ("Risk", "ExpectedBleu")


@pytest.mark.slow
@pytest.mark.parametrize("recipe", [name for name in LISTED if all_at_once(RECIPES[name])])
def test_order_changes_only_last_bits_where_all_lists_are_seen_together(recipe):
    random = np.random.default_rng(5)
    references = [[" ".join(random.choice(WORDS, 6))] for _ in range(8)]
    lists = records(lambda *_: random.normal(), random, 8, 5)
    turned = [one | {"hyps": [one["hyps"][i] for i in random.permutation(5)]} for one in lists]
    order = random.permutation(8)

    def learnt(some, theirs):
        try:
            found = tune(Candidates.from_records(some), References.from_lists(theirs), recipe=recipe).weights.vector
        except RampionError as error:
            return str(error)
        return found / np.abs(found).max()

    first = learnt(lists, references)
    for other in (learnt(turned, references), learnt([lists[s] for s in order], [references[s] for s in order])):
        if isinstance(first, str):
            assert other == first
        else:
            np.testing.assert_allclose(other, first, atol=1e-6)
