"""Learning in units: no recipe's choices depend on how features were measured, and careful steps never rise."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from problems import toy

from rampion.errors import RecipeError
from rampion.losses.contrast import MODEL, Contrast
from rampion.optim.solvers import Cccp, Descent, careful, objective
from rampion.optim.updates import Mira, Sgd
from rampion.store.candidates import Candidates
from rampion.store.units import GRID, Units
from rampion.training.inputs import judge
from rampion.training.recipes import RECIPES, recipe_named, recipes_of
from rampion.training.reranking import pick
from rampion.training.tuning import tune


def problem(seed=0, segments=40, k=6):
    """Lists with texts, references, dense and sparse features; every second list holds its reference."""
    random = np.random.default_rng(seed)
    words, records, references = ["a", "b", "c", "d", "e", "f", "g"], [], []
    for s in range(segments):
        wanted = random.choice(words, 6)
        hyps = []
        for c in range(k):
            said = np.where(random.random(6) < (0.1 * c if s % 2 else 0.2 + 0.1 * c), random.choice(words, 6), wanted)
            right = float((said == wanted).mean())
            near, far = right + 0.2 * random.standard_normal(), random.standard_normal()
            count, flag = float(random.integers(4)), float(random.random() < 0.3)
            feats = {"near": near, "count": count, "far": far, "flag": flag, "same": 7.0}
            if random.random() < 0.4:
                feats[f"PL_{random.integers(3)}"] = 1.0
            hyps.append({"text": " ".join(said), "feats": feats})
        random.shuffle(hyps)
        records.append({"id": str(s), "hyps": hyps})
        references.append([" ".join(wanted)])
    return records, references


def measured(records, factors, shift):
    """The same lists where features were measured on other scales, from another zero in each list."""
    found = []
    for s, record in enumerate(records):
        hyps = [
            {**hyp, "feats": {name: (value + shift * ((s % 5) if name in factors else 0)) * factors.get(name, 1.0)
                              for name, value in hyp["feats"].items()}}
            for hyp in record["hyps"]
        ]  # fmt: skip
        found.append({**record, "hyps": hyps})
    return Candidates.from_records(found)


FACTORS = [
    {"near": 1e6, "far": 1e-6, "flag": 1e4, "count": 1e-3},
    {"near": 1e-6, "far": 1e6, "flag": 1e-4, "count": 1e5, "same": 1e6},
    {"near": 3.7, "far": 1 / 7, "flag": 200.0, "count": 0.01},
]


@pytest.mark.parametrize("name", recipes_of("lists"))
def test_no_recipe_sees_how_features_were_measured(name):
    records, references = problem()
    recipe = RECIPES[name].set(rounds=3) if name.startswith("pro") else RECIPES[name]
    plain = Candidates.from_records(records)
    wanted = pick(plain, tune(plain, references, recipe=recipe).weights)
    for factors in FACTORS:
        other = measured(records, factors, 0.0)
        assert pick(other, tune(other, references, recipe=recipe).weights).tolist() == wanted.tolist()
    other = measured(records, dict.fromkeys(("near", "far", "flag", "count"), 1.0), 3.0)
    assert pick(other, tune(other, references, recipe=recipe).weights).tolist() == wanted.tolist()


def test_initial_weights_are_measured_with_the_features():
    records, references = problem()
    plain, other = Candidates.from_records(records), measured(records, FACTORS[0], 0.0)
    start = {"near": 1.0, "count": 0.5, "far": 0.1, "flag": -1.0, "same": 2.0}
    theirs = {name: weight / FACTORS[0].get(name, 1.0) for name, weight in start.items()}
    for recipe in ("rampion", "risk", "xbleu-lbfgs", "mert"):
        one, two = (
            tune(plain, references, recipe=recipe, start=start),
            tune(other, references, recipe=recipe, start=theirs),
        )
        assert pick(plain, one.weights).tolist() == pick(other, two.weights).tolist()
        for feature in ("near", "flag"):
            assert one.weights[feature] == pytest.approx(two.weights[feature] * FACTORS[0][feature], rel=1e-3)


def test_what_is_the_same_in_every_list_gets_no_weight():
    records, references = problem()
    lists = Candidates.from_records(records)
    for recipe in ("rampion", "risk", "mert", "mira"):
        assert tune(lists, references, recipe=recipe).weights["same"] == 0.0


def test_without_units_a_recipe_is_as_it_was_printed():
    """The plain solver on the plain lists, without anything in between."""
    lists, references = toy()
    recipe = recipe_named("rampion", scale="none")
    batch = judge(lists, references, recipe.metric).batch(lists)
    zero = np.zeros(len(lists.features))
    plain = recipe.solver.solve(recipe.loss, batch, zero, zero)
    np.testing.assert_array_equal(tune(lists, references, recipe=recipe).weights.vector, plain)
    with pytest.raises(RecipeError, match="scale is 'sd'; expected 'spread' or 'none'"):
        recipe.set(scale="sd")
    with pytest.raises(RecipeError, match="relevant sets are learnt from with 'none' only"):
        RECIPES["costmargin"].set(scale="spread")


def test_units_are_what_differences_come_to():
    """Against the definition, feature by feature and list by list."""
    records, _ = problem(segments=12)
    lists = Candidates.from_records(records)
    units = Units.of(lists)
    columns = {
        name: [[hyp["feats"][name] for hyp in record["hyps"]] for record in records] for name in lists.features[:5]
    }
    for name, rows in columns.items():
        away = np.array([abs(value - sorted(row)[(len(row) - 1) // 2]) for row in rows for value in row])
        away = np.sort(away[away > 0])
        wanted = 0.0
        if len(away):
            most = away[int(0.9 * (len(away) - 1))]
            wanted = np.sqrt((np.minimum(away, most) ** 2).mean())
        assert units.sizes[lists.features.ids[name]] == pytest.approx(wanted, rel=1e-12)
    inside = units.applied(lists)
    for name, rows in columns.items():
        size = units.sizes[lists.features.ids[name]]
        for s, row in enumerate(rows):
            middle = sorted(row)[(len(row) - 1) // 2]
            for c, value in enumerate(row):
                wanted = (value - middle) / size if size else 0.0
                assert inside[s].features[c][name] == pytest.approx(wanted, abs=1 / GRID)


def test_one_broken_candidate_does_not_set_the_unit():
    records, _ = problem()
    units = Units.of(Candidates.from_records(records))
    records[3]["hyps"][2]["feats"]["near"] = -1e9
    broken = Units.of(Candidates.from_records(records))
    assert broken.sizes[0] == pytest.approx(units.sizes[0], rel=0.05)


def test_scores_differ_alike_in_units():
    records, _ = problem()
    lists = Candidates.from_records(records)
    units, random = Units.of(lists), np.random.default_rng(0)
    weights = random.standard_normal(len(lists.features))
    weights[lists.features.ids["same"]] = 0.0
    raw, inside = lists.score(weights), units.applied(lists).score(units.inward(weights))
    for start, end in pairwise(lists.bounds):
        np.testing.assert_allclose(np.diff(raw[start:end]), np.diff(inside[start:end]), atol=1e-4)
    np.testing.assert_allclose(units.outward(units.inward(weights)), weights, rtol=1e-15)


def test_sparse_features_of_a_template_share_the_median_of_their_values():
    feats = [
        {"gap_1": 50.0, "PL_2": 1.0},
        {"gap_1": 100.0, "PL_2": 1.0},
        {"gap_2": 2.5, "PL_3": 3.0},
        {},
        {"PL_3": 1.0},
    ]
    hyps = [{"text": str(c), "feats": {"LM": float(c), **more}} for c, more in enumerate(feats)]
    lists = Candidates.from_records([{"id": "0", "hyps": hyps}])
    sizes = dict(zip(lists.features, Units.of(lists).sizes.tolist(), strict=True))
    assert (sizes["gap_1"], sizes["gap_2"], sizes["PL_2"], sizes["PL_3"]) == (50.0, 50.0, 1.0, 1.0)


STEPWISE = [name for name, row in recipes_of("lists").items() if row.stepwise != row]


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("name", STEPWISE)
def test_careful_steps_do_not_make_the_objective_rise(name, seed):
    records, references = problem(seed)
    lists = Units.of(Candidates.from_records(records)).applied(Candidates.from_records(records))
    recipe = RECIPES[name].stepwise.set(**({"rate": 0.3} if "rate" in RECIPES[name].settings() else {}))
    batch = judge(lists, references, recipe.metric, recipe.alpha).batch(lists)
    zero = np.zeros(len(lists.features))
    l2, l1 = recipe.settings()["l2"], recipe.settings().get("l1", 0.0)

    def height(weights):
        return objective(recipe.loss, batch, weights, zero, l2)[0] + l1 * np.abs(weights).sum()

    heights = [height(zero)]
    recipe.solver.solve(recipe.loss, batch, zero, zero, lambda round_, weights: heights.append(height(weights)))
    assert len(heights) > 5
    for before, after in pairwise(heights):
        assert after <= before + 1e-5 * abs(before)
    assert heights[-1] < heights[0]


def test_losses_without_a_margin_keep_their_steps():
    """They are least where all weights are 0, so that careful steps would not move."""
    for name in set(recipes_of("lists")) - set(STEPWISE):
        row = RECIPES[name]
        settled = isinstance(row.loss, Contrast) and row.loss.down == MODEL
        assert settled or careful(row.solver) == row.solver
    assert careful(Cccp(Descent(Sgd(1.0)))) == Cccp(Descent(Sgd(1.0), careful=True))
    assert careful(Descent(Mira(), averaged=True)) == Descent(Mira(), averaged=True)
    with pytest.raises(RecipeError, match="careful steps compare the last weights"):
        Descent(Sgd(1.0), averaged=True, careful=True)
