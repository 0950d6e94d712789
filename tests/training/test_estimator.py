"""The estimator does what scikit-learn expects of one."""

from __future__ import annotations

import pickle

import joblib
import numpy as np
import pytest
from problems import toy
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, GroupKFold, KFold, cross_val_score

from rampion.errors import RecipeError, TuningError
from rampion.training.estimator import Reranker
from rampion.training.tuning import tune


def by_hand(recipe, lists, references, folds, **settings):
    """The scores of held-out folds."""
    scores = []
    for train, test in folds:
        model = Reranker(recipe, **settings).fit(lists[train], references[train])
        scores.append(model.score(lists[test], references[test]))
    return scores


def test_cross_validation_cuts_segments_and_keeps_groups_together():
    lists, references = toy()
    groups = np.arange(len(lists)) % 7
    folds = list(GroupKFold(3).split(lists, groups=groups))
    expected = by_hand("risk", lists, references, folds)
    for truth in (references, list(references)):
        found = cross_val_score(Reranker("risk"), lists, truth, groups=groups, cv=GroupKFold(3), error_score="raise")
        assert found.tolist() == expected
    assert len(set(expected)) == 3


@pytest.mark.parametrize(("metric", "sign"), [("bleu", 1), ("wer", -1)])
def test_a_grid_search_finds_the_best_setting(metric, sign):
    """Of an error rate the best is the least, which scores as the greatest."""
    lists, references = toy()
    grid = {"rate": [1e-6, 1e-3], "rounds": [2]}
    search = GridSearchCV(Reranker("rampion", metric=metric), grid, cv=KFold(2), error_score="raise")
    search.fit(lists, references)
    folds = list(KFold(2).split(lists))
    expected = [
        np.mean(by_hand("rampion", lists, references, folds, metric=metric, rate=rate, rounds=2))
        for rate in grid["rate"]
    ]
    assert search.cv_results_["mean_test_score"].tolist() == pytest.approx(expected)
    assert all(sign * score > 0 for score in expected)
    assert search.best_params_["rate"] == grid["rate"][int(np.argmax(expected))]
    whole = tune(lists, references, metric=metric, **search.best_params_)
    np.testing.assert_array_equal(search.best_estimator_.weights_.vector, whole.weights.vector)


def test_a_clone_has_the_settings_and_no_weights():
    lists, references = toy()
    model = Reranker("risk", start={"LM": 1.0}, metric="chrf", l2=0.5)
    assert repr(model) == "Reranker(recipe='risk', start={'LM': 1.0}, metric='chrf', l2=0.5)"
    twin = clone(model)
    assert twin.get_params() == model.get_params()
    assert repr(twin) == repr(model)
    fitted = clone(Reranker("risk", l2=0.5).fit(lists, references))
    with pytest.raises(TuningError, match="this Reranker has no weights; call fit first"):
        fitted.predict(lists)


def test_wrong_parameters_change_nothing():
    model = Reranker("risk", l2=0.5)
    with pytest.raises(RecipeError, match="has no setting 'rte'"):
        model.set_params(recipe="mert", rte=1)
    assert repr(model) == "Reranker(recipe='risk', l2=0.5)"


@pytest.mark.slow
def test_pickle_and_joblib_bring_back_model_and_lists(tmp_path):
    lists, references = toy()
    model = Reranker("risk").fit(lists, references)
    joblib.dump(model, tmp_path / "model")
    for again in (pickle.loads(pickle.dumps(model)), joblib.load(tmp_path / "model")):  # noqa: S301
        assert again.predict(lists) == model.predict(lists)
        assert again.tuned_.after == model.tuned_.after
    again = pickle.loads(pickle.dumps(lists))  # noqa: S301
    assert again.to_records() == lists.to_records()
    scores = cross_val_score(Reranker("risk"), lists, references, cv=KFold(2), n_jobs=2, error_score="raise")
    assert scores.tolist() == by_hand("risk", lists, references, KFold(2).split(lists))
