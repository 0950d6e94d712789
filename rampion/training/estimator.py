"""A recipe as an estimator in the manner of scikit-learn, which need not be installed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from rampion.errors import TuningError
from rampion.metrics import metric as named
from rampion.store.candidates import Candidates
from rampion.training.inputs import GivenReferences, Lists, judge
from rampion.training.recipes import AUTO, recipe_named
from rampion.training.reranking import pick, rerank, scores_of
from rampion.training.tuned import Tuned
from rampion.training.tuning import tune

OWN = ("recipe", "start", "metric", "policy")


class Reranker:
    """A recipe as an estimator: fit on lists with references, then predict, rerank or score other lists.

    It works with scikit-learn's `clone`, `GridSearchCV` and `cross_val_score`: X are `Candidates`, whose samples are
    segments, y are references (None if the metric is a column of the lists).

    Parameters
    ----------
    recipe : str, optional
        The name of a row of `RECIPES`, or "auto", which tries a few of them and is the default; with settings it is
        "rampion".
    start : mapping of str to float, optional
        The initial weights; all 0 by default.
    metric : str, optional
        The metric to tune towards; by default the recipe's.
    policy : str, optional
        What to learn from when there are several lists.
    **settings
        Settings of the recipe to change, such as rate=1e-3.

    Attributes
    ----------
    weights_ : Weights
        The weights, after `fit`.
    tuned_ : Tuned
        The result of tuning, after `fit`.

    Examples
    --------
    >>> model = rampion.Reranker("risk", metric="chrf").fit(lists, references)
    >>> model
    Reranker(recipe='risk', metric='chrf')
    >>> model.predict(lists)
    ['the cat sat', 'a dog']
    """

    def __init__(
        self,
        recipe: str | None = None,
        *,
        start: Mapping[str, float] | None = None,
        metric: str | None = None,
        policy: str | None = None,
        **settings: Any,
    ) -> None:
        self.recipe, self.start, self.metric, self.policy = recipe, start, metric, policy
        self.settings = settings

    def __repr__(self) -> str:
        given = {name: value for name in OWN if (value := getattr(self, name)) is not None} | self.settings
        return f"Reranker({', '.join(f'{name}={value!r}' for name, value in given.items())})"

    def __sklearn_tags__(self) -> Any:
        """Properties of the estimator for scikit-learn, which alone calls this."""
        from sklearn.utils import InputTags, Tags, TargetTags

        return Tags(
            estimator_type=None,
            target_tags=TargetTags(required=False),
            input_tags=InputTags(two_d_array=False),
            requires_fit=True,
        )

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The constructor's arguments.

        Parameters
        ----------
        deep : bool
            Whether to add every setting of the recipe, changed or not.

        Returns
        -------
        dict of str to object
            The arguments by name.

        Examples
        --------
        >>> rampion.Reranker("mert", k=50).get_params(deep=False)
        {'recipe': 'mert', 'start': None, 'metric': None, 'policy': None, 'k': 50}
        """
        given = {name: getattr(self, name) for name in OWN}
        if self.recipe in (None, AUTO) and not self.settings:
            return given
        chosen = recipe_named(self.recipe or "rampion", "lists", **self.settings)
        inside = {name: value for name, value in chosen.settings().items() if name not in given}
        return given | (inside if deep else self.settings)

    def set_params(self, **params: Any) -> Self:
        """Change arguments of the constructor.

        Parameters
        ----------
        **params
            The arguments to change: those of the constructor, and settings of the recipe.

        Returns
        -------
        Reranker
            The same estimator.

        Raises
        ------
        RecipeError
            If there is no such recipe or setting.

        Examples
        --------
        >>> rampion.Reranker("mert").set_params(recipe="risk", l2=0.1)
        Reranker(recipe='risk', l2=0.1)
        """
        own = {name: params.pop(name) for name in OWN if name in params}
        name = own.get("recipe", self.recipe)
        if params or name not in (None, AUTO):
            recipe_named(name or "rampion", "lists", **params)
        for name, value in own.items():
            setattr(self, name, value)
        self.settings = self.settings | params
        return self

    def fit(
        self,
        lists: Lists,
        references: GivenReferences | None = None,
        dev: Lists | None = None,
        dev_references: GivenReferences | None = None,
    ) -> Self:
        """Tune weights on lists.

        Parameters
        ----------
        lists : Candidates or sequence of Candidates
            The lists, as `tune` takes them.
        references : References, iterable of list of str, or dict, optional
            The references of every segment; a metric column needs none.
        dev : Candidates or sequence of Candidates, optional
            Held-out lists.
        dev_references : References, iterable of list of str, or dict, optional
            Their references.

        Returns
        -------
        Reranker
            The same estimator, which now has `weights_` and `tuned_`.

        Raises
        ------
        InputError
            If lists and references do not fit together, or are something else.
        TuningError
            If training ended with weights that are of no use.

        Examples
        --------
        >>> rampion.Reranker("risk", metric="chrf").fit(lists, references).weights_["TM"] > 0
        True
        """
        self.tuned_ = tune(
            lists,
            references,
            recipe=self.recipe,
            start=self.start,
            metric=self.metric,
            policy=self.policy,
            dev=dev,
            dev_references=dev_references,
            **self.settings,
        )
        self.weights_ = self.tuned_.weights
        return self

    def decision_function(self, lists: Candidates) -> NDArray[np.float64]:
        """The score of every candidate.

        Parameters
        ----------
        lists : Candidates
            The lists to score.

        Returns
        -------
        numpy.ndarray of float64
            A score for each of the `lists.size` candidates.

        Raises
        ------
        TuningError
            If the estimator has not been fitted.

        Examples
        --------
        >>> rampion.Reranker("risk", metric="chrf").fit(lists, references).decision_function(lists).shape
        (4,)
        """
        return scores_of(lists, self._fitted.weights, listed=self._listed)

    def predict(self, lists: Candidates) -> list[str]:
        """The text of the best candidate of every segment.

        Parameters
        ----------
        lists : Candidates
            The lists to choose from.

        Returns
        -------
        list of str
            A text for every segment that has candidates.

        Raises
        ------
        TuningError
            If the estimator has not been fitted.

        Examples
        --------
        >>> rampion.Reranker("risk", metric="chrf").fit(lists, references).predict(lists[1:])
        ['a dog']
        """
        return list(lists.texts.take(pick(lists, self._fitted.weights, listed=self._listed)))

    def rerank(self, lists: Candidates) -> Candidates:
        """The lists sorted by the weights, best first.

        Parameters
        ----------
        lists : Candidates
            The lists to sort.

        Returns
        -------
        Candidates
            The sorted lists, with the new scores.

        Raises
        ------
        TuningError
            If the estimator has not been fitted.

        Examples
        --------
        >>> rampion.Reranker("risk", metric="chrf").fit(lists, references).rerank(lists)[1].texts
        ['a dog', 'the dog']
        """
        return rerank(lists, self._fitted.weights, listed=self._listed)

    def score(self, lists: Candidates, references: GivenReferences | None = None) -> float:
        """The corpus metric of the predictions. Greater is better: of an error rate it is the negative.

        Parameters
        ----------
        lists : Candidates
            The lists to choose from.
        references : References, iterable of list of str, or dict, optional
            The references of every segment; a metric column needs none.

        Returns
        -------
        float
            The score on the metric's usual scale (BLEU: 0 to 100), with a minus if it is an error rate.

        Raises
        ------
        TuningError
            If the estimator has not been fitted.

        Examples
        --------
        >>> model = rampion.Reranker("risk", metric="wer").fit(lists, references)
        >>> model.score(lists, references), model.score(lists, [["the cat sat", "x"], ["the dog"]])
        (-0.0, -20.0)
        """
        metric = named(self._fitted.recipe.metric)
        batch = judge(lists, references, metric).batch(lists)
        score = batch.corpus_score(pick(lists, self._fitted.weights, listed=self._listed))
        return score if metric.higher_is_better else -score

    @property
    def _fitted(self) -> Tuned:
        if not hasattr(self, "tuned_"):
            raise TuningError("this Reranker has no weights; call fit first")
        return self.tuned_

    @property
    def _listed(self) -> bool:
        return self._fitted.recipe.base == "listed"
