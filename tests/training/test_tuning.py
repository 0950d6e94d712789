"""Tuning end to end on the toy task, by call and as an estimator."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from facts import built
from problems import toy
from rampion.decoder.text.toy import task

import rampion
from rampion.citations import BIBTEX
from rampion.errors import InputError, RecipeError, TuningError
from rampion.losses.expectation import Risk
from rampion.losses.table import LOSSES
from rampion.optim.solvers import Cccp, Descent, Lbfgs
from rampion.optim.updates import Sgd
from rampion.store.candidates import Candidates
from rampion.store.features import Weights
from rampion.training.decoders import FixedLists
from rampion.training.estimator import Reranker
from rampion.training.inputs import judge
from rampion.training.loop import refuse_collapsed, train
from rampion.training.policies import Merge
from rampion.training.recipes import RECIPES, Recipe, described, recipe_named, recipes_of
from rampion.training.reranking import pick
from rampion.training.tuning import tune


@pytest.mark.parametrize("name", recipes_of("lists"))
def test_every_recipe_runs_and_repeats_bit_for_bit(name):
    lists, references = toy()
    start = Weights(lists.features, np.full(len(lists.features), 0.1))
    first, second = (tune(lists, references, recipe=name, start=start) for _ in range(2))
    assert first.weights.vector.tobytes() == second.weights.vector.tobytes()
    assert first.rounds == second.rounds
    assert first.rounds[-1].score == pytest.approx(first.after.chosen)
    assert first.after.worst <= first.after.chosen <= first.after.oracle + 0.5  # best segments need not add up to it
    assert "BLEU" in first.metric.upper()


@pytest.mark.parametrize("name", ["rampion", "rampion-mira", "soft-ramp3", "soft-ramp2", "risk"])
def test_tuning_gains(name):
    lists, references = toy(200, 20)
    tuned = tune(lists, references, recipe=name)
    assert tuned.after.chosen > tuned.before.chosen + 1


@pytest.mark.parametrize("name", recipes_of("lists"))
def test_every_row_of_the_table_is_complete(name):
    recipe = RECIPES[name]
    assert recipe.cite in BIBTEX
    assert recipe.note
    assert all(described(recipe)[part] for part in ("down", "solver", "policy"))
    names = [setting for setting, *_ in recipe.settings().items()]
    assert len(names) == len(set(names))
    changed = recipe.set(alpha=3.5, k=7)
    assert (changed.alpha, changed.k, changed.loss) == (3.5, 7, recipe.loss)


def test_settings_reach_every_part():
    recipe = recipe_named("rampion", rate=0.5, rounds=3, epochs=2, l2=7.0, seed=1)
    assert recipe.solver == Cccp(Descent(Sgd(0.5), epochs=2, l2=7.0, seed=1), rounds=3)
    with pytest.raises(RecipeError, match=r"no setting 'speed'; it has after, alpha, .*rate, rounds"):
        recipe.set(speed=1)
    with pytest.raises(RecipeError, match=r"no recipe 'ramp9'; there are rampion, "):
        recipe_named("ramp9")
    with pytest.raises(RecipeError, match="alpha is 0; expected a positive number"):
        recipe.set(alpha=0)
    with pytest.raises(RecipeError, match="origin is 'end'; expected 'start'"):
        recipe.set(origin="end")
    with pytest.raises(RecipeError, match="Lbfgs needs a smooth loss"):
        Recipe(LOSSES["ramp3"], Lbfgs(), Merge())


def test_the_loop_with_a_decoder_learns_from_every_decoding():
    lists, references = toy()

    class Growing:
        """Lists more candidates every time it is asked."""

        asked = 0

        def decode(self, segments, weights, k):
            self.asked += 1
            return lists.keep(lists.rank() < min(k, 5 * self.asked))

    rows, decoder = [], Growing()
    recipe = recipe_named("rampion-mira", iterations=3, k=12, rounds=2)
    recipe = Recipe(recipe.loss, recipe.solver, Merge(), iterations=3, k=12)
    start = Weights(lists.features, np.zeros(len(lists.features)))
    weights = train(
        recipe, decoder, list(lists.segments), judge(lists, references, "bleu"), start, lambda row, _: rows.append(row)
    )
    assert [(row.iteration, row.round) for row in rows] == [(i, r) for i in (1, 2, 3) for r in (1, 2)]
    assert [row.candidates for row in rows[::2]] == [5 * 60, 10 * 60, 12 * 60]
    fixed = train(recipe, FixedLists(lists), list(lists.segments), judge(lists, references, "bleu"), start)
    assert len(fixed) == len(weights) == len(lists.features)


def test_lists_of_several_decodings_are_merged():
    lists, references = toy()
    early, late = lists.keep(lists.rank() < 12), lists.keep(lists.rank() >= 8)
    apart = tune([early, late], references, recipe="rampion")
    together = tune(lists, references, recipe="rampion")
    assert apart.after == together.after
    np.testing.assert_allclose(apart.weights.vector, together.weights.vector, rtol=1e-12)
    assert tune([early, late], references, policy="replace").after.oracle < together.after.oracle


def test_a_metric_column_can_be_the_cost():
    records = list(task(3, 40, 10))
    for record in records:
        for hyp in record["hyps"]:
            hyp["metrics"] = {"comet": 1 / (1 + len(hyp["text"].split()))}
    lists = Candidates.from_records(records)
    tuned = tune(lists, metric="metric:comet", rounds=30)
    assert tuned.before.chosen < tuned.after.chosen == pytest.approx(tuned.after.oracle, rel=0.02)
    with pytest.raises(InputError, match="no metric column 'bleurt'; they have: comet"):
        tune(lists, metric="metric:bleurt")


def test_the_estimator_has_the_manners_of_scikit_learn():
    lists, references = toy()
    model = Reranker("rampion", rounds=4)
    assert model.get_params(deep=False) == {
        "recipe": "rampion",
        "start": None,
        "metric": None,
        "policy": None,
        "rounds": 4,
    }
    assert model.get_params()["rate"] == 1e-4
    assert model.fit(lists[:30], references.take(np.arange(30))) is model
    assert len(model.tuned_.rounds) == 4
    predictions = model.predict(lists)
    assert predictions == list(lists.texts.take(pick(lists, model.weights_)))
    best_first = model.rerank(lists)
    assert [best_first.texts[i] for i in best_first.bounds[:-1]] == predictions
    assert all(
        np.diff(best_first.scores[start:end]).max(initial=0) <= 0
        for start, end in zip(best_first.bounds, best_first.bounds[1:], strict=False)
    )
    assert sorted(best_first.texts) == sorted(lists.texts)
    assert model.score(lists, references) > 0
    assert model.set_params(rounds=2, recipe="ramp2") is model
    assert (model.get_params()["rounds"], model.recipe) == (2, "ramp2")
    with pytest.raises(RecipeError, match="no setting 'roundz'"):
        model.set_params(roundz=2)


def test_collapsed_weights_are_refused():
    features = built({"1": [("a", {"LM": 1.0, "x": 2.0})]}).features
    with pytest.raises(TuningError, match="weight of 'x' is not finite"):
        refuse_collapsed(Weights(features, np.array([1.0, np.nan])))
    with pytest.raises(TuningError, match="all weights zero"):
        refuse_collapsed(Weights(features, np.zeros(2)))
    with pytest.raises(InputError, match="no feature differs within a list, so there is nothing to choose"):
        tune(built({"1": [("a", {"LM": 1.0}), ("b", {"LM": 1.0})]}), [["a"]])
    with pytest.raises(TuningError, match="is not finite; use a smaller rate"), np.errstate(all="ignore"):
        tune(*toy(), recipe="rampion", rate=1e308, l2=0.0, scale="none")


def test_lists_that_reach_no_reference_teach_a_perceptron_nothing():
    with pytest.raises(TuningError, match="no candidate equals a reference, so this loss has nothing to learn"):
        tune(built({"1": [("a", {"LM": 1.0}), ("b", {"LM": 2.0})]}), [["b c"]], recipe="perceptron")


def test_references_follow_their_segments():
    lists, references = toy()
    arbiter = judge(lists, references, "bleu")
    order = np.arange(len(lists.segments))[::-1]
    assert arbiter.references_of(lists[order])[0] == references[len(references) - 1]
    with pytest.raises(InputError, match="segment '59' of the lists has no references"):
        judge(lists[:59], references.take(np.arange(59)), "bleu").batch(lists)


def test_reached_candidates_are_those_equal_to_a_reference():
    lists = built({"1": [("a b", {"D": 1.0}), ("a c", {"D": 2.0})], "2": [("a b", {"D": 3.0})]})
    batch = judge(lists, [["x", "a c"], ["c"]], "bleu").batch(lists)
    assert batch.stakes.reached.tolist() == [False, True, False]
    assert Risk().slopes(batch.stakes, np.zeros(3))[0] > 0


def test_texts_that_differ_in_one_letter_reach_nothing():
    """Of up to 40 letters; and empty texts, where empty ones are wanted."""
    draws, lists, references = np.random.default_rng(5), {}, []
    for s in range(60):
        base = "".join(draws.choice(list("ab "), s % 41)).strip()
        texts = {base, *(base[:i] + "c" + base[i + 1 :] for i in range(len(base)))}
        lists[str(s)] = [(text, {"D": float(draws.normal())}) for text in draws.permutation(sorted(texts)).tolist()]
        references.append([f"{base}x", base] if s % 3 else [f"{base[:-1]}d"])
    store = built(lists)
    reached = judge(store, references, "bleu").batch(store).stakes.reached
    wanted = [text in known for hyps, known in zip(lists.values(), references, strict=True) for text, _ in hyps]
    assert reached.tolist() == wanted
    assert sum(wanted) == 40


def test_a_column_can_mark_the_candidates_that_reach_a_reference():
    lists = built({"1": [("a b", {"D": 1.0}), ("a c", {"D": 2.0})]})
    marked = replace(lists, metrics={"reached": np.array([1.0, 0.0])})
    assert judge(marked, [["a c"]], "bleu").batch(marked).stakes.reached.tolist() == [True, False]


def test_everything_public_is_there():
    for name in dir(rampion):
        assert getattr(rampion, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        rampion.nothing  # noqa: B018


@pytest.mark.parametrize("name", ["mert", "pro", "mira"])
def test_every_iteration_draws_otherwise_and_as_it_did_before(name):
    recipe = recipe_named(name, seed=3)
    seeds = [recipe.anew(iteration).settings()["seed"] for iteration in range(1, 30)]
    assert seeds[0] == 3
    assert len(set(seeds)) == len(seeds)
    assert seeds == [recipe.anew(iteration).settings()["seed"] for iteration in range(1, 30)]
    assert recipe.anew(2) != recipe_named(name, seed=4).anew(2)


def test_what_does_not_draw_is_the_same_in_every_iteration():
    assert RECIPES["rampion"].anew(7) == RECIPES["rampion"]
