"""Tune and rerank in a call each: what the command line and the examples use."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from rampion.errors import RecipeError
from rampion.executors import Coordinator
from rampion.formats.files import FilePath
from rampion.losses.contrast import MODEL
from rampion.losses.expectation import Expectation
from rampion.metrics import Metric
from rampion.metrics import metric as named
from rampion.metrics.judging import Batch, Forms, Judge, Stakes, totals, unjudged
from rampion.protocols import ListPolicy
from rampion.store.candidates import Candidates
from rampion.store.features import Weights
from rampion.store.text import References, Texts
from rampion.training.loop import Held, Record, Round, Standing, absorbed, ignore, learn, standing
from rampion.training.policies import Fixed, Merge, Replace, Window
from rampion.training.recipes import Recipe, of_form, recipe_named, recipes_of
from rampion.training.sharded import sharded

Lists = Candidates | Sequence[Candidates]
Reals = NDArray[np.float64]


class HeldOut(NamedTuple):
    """Where the initial, the chosen and the last weights stand on held-out lists."""

    before: Standing
    after: Standing
    last: Standing


@dataclass(frozen=True, slots=True, eq=False)
class Tuned:
    """Weights, the way to them, and where they stand on the lists they were tuned on."""

    weights: Weights
    last_weights: Weights  # those of the last round, which the recipe may not keep
    recipe: Recipe
    rounds: list[Round]
    round: int | None  # the round whose weights the held-out lists chose
    before: Standing
    after: Standing
    last: Standing
    dev: HeldOut | None
    metric: str
    signature: str
    shrunk: float  # the length of the weights as a share of the initial ones'; 1 if those were 0


def policy_named(name: str) -> ListPolicy:
    """replace, merge, fixed, or window:N."""
    kind, _, size = name.partition(":")
    if kind == "window" and size.isdigit():
        return Window(int(size))
    policies: dict[str, ListPolicy] = {"replace": Replace(), "merge": Merge(), "fixed": Fixed()}
    if name not in policies:
        raise RecipeError(f"no policy {name!r}; there are {', '.join(policies)} and window:N")
    return policies[name]


def judge(
    lists: Candidates | Texts,
    references: References | Iterable[Sequence[str]] | None,
    metric: str | Metric,
    alpha: float = 10.0,
    *,
    listed: bool = False,
) -> Judge:
    """The judge of these lists or segments; references come in their order, and a metric column needs none."""
    segments = lists.segments if isinstance(lists, Candidates) else lists
    if isinstance(metric, str):
        metric = named(metric)
    return Judge(metric, references_for(segments, references), segments, alpha, listed)


def references_for(segments: Texts, references: References | Iterable[Sequence[str]] | None) -> References:
    """The references in the order of the segments; without any, one empty reference a segment."""
    if references is None:
        return References(Texts.from_strings([""] * len(segments)), np.arange(len(segments) + 1))
    return references if isinstance(references, References) else References.from_lists(references)


def segments_of(runs: Sequence[Candidates]) -> Texts:
    """The segments of all runs in order of first appearance."""
    if all(run.segments == runs[0].segments for run in runs):
        return runs[0].segments
    return Texts.from_strings(dict.fromkeys(name for run in runs for name in run.segments))


def tune(
    lists: Lists,
    references: References | Iterable[Sequence[str]] | None = None,
    *,
    recipe: str | Recipe = "rampion",
    start: Weights | Mapping[str, float] | None = None,
    metric: str | None = None,
    policy: str | None = None,
    record: Record = ignore,
    lenient: bool = False,
    dev: Lists | None = None,
    dev_references: References | Iterable[Sequence[str]] | None = None,
    folder: str | None = None,
    shards: int | None = None,
    executor: str | Coordinator | None = None,
    room: FilePath | None = None,
    **settings: Any,
) -> Tuned:
    """Tune weights on fixed lists: one Candidates, or those of successive decoding iterations (merged by default).

    References belong to the segments in order of first appearance. Without `start` all weights begin at 0; `lenient`
    lets it and the lists disagree about dense features. Held-out lists, `dev`, are scored after every round, and
    choose the round whose recipe has keep="dev"; several are merged. A folder holds the working form of lists larger
    than memory.

    Expectation losses can be learnt by shards, which an executor's workers do ("local", "dask,workers=2", an address).
    They share a folder, the room, from which a run that was stopped goes on; otherwise it is a passing one.
    """
    chosen = recipe_named(recipe, "lists") if isinstance(recipe, str) else of_form(recipe, "lists")
    chosen = chosen.set(**({"metric": metric} if metric else {}), **settings)
    refuse_shards(chosen, shards, executor is not None)
    task = Task(
        lists, references, start=start, policy=policy, lenient=lenient, dev=dev, dev_references=dev_references,
        folder=folder,
    )  # fmt: skip
    return task.tune(chosen, record, shards=shards, executor=executor, room=room)


class Task:
    """Lists with references that any number of recipes tune on: merged once, judged once by each metric."""

    def __init__(
        self,
        lists: Lists,
        references: References | Iterable[Sequence[str]] | None = None,
        *,
        start: Weights | Mapping[str, float] | None = None,
        policy: str | None = None,
        lenient: bool = False,
        dev: Lists | None = None,
        dev_references: References | Iterable[Sequence[str]] | None = None,
        folder: str | None = None,
    ) -> None:
        """The arguments are those of `tune`."""
        runs = [lists] if isinstance(lists, Candidates) else list(lists)
        kept = absorbed(policy_named(policy or "merge"), runs)
        if start is None:
            start = Weights(kept.features, np.zeros(len(kept.features)))
        elif not isinstance(start, Weights):
            start = Weights.from_dict(start)
        self.start = Weights(kept.features, start.onto(kept.features, lenient=lenient))
        self.lists = _Judged(kept, segments_of(runs), references, folder)
        self.dev = None
        if dev is not None:
            others = dev if isinstance(dev, Candidates) else absorbed(Merge(), dev)
            self.start.onto(others.features, lenient=lenient)
            self.dev = _Judged(others, others.segments, dev_references, None)

    def batch(self, recipe: Recipe) -> Batch:
        """The lists as a recipe's metric judges them."""
        return self.lists.batch(recipe.metric, recipe.alpha, listed=recipe.base == "listed")

    def tune(
        self,
        recipe: Recipe,
        record: Record = ignore,
        *,
        shards: int | None = None,
        executor: str | Coordinator | None = None,
        room: FilePath | None = None,
    ) -> Tuned:
        """Tune weights by a recipe; the arguments are those of `tune`."""
        start = self.start
        if recipe.base == "listed" and start.vector.any():
            raise RecipeError(
                "base='listed' adds to the decoder's own totals, and to initial weights too: leave one out"
            )
        batch, held = self.batch(recipe), None
        if self.dev:
            judged = self.dev.batch(recipe.metric, listed=recipe.base == "listed")
            held = Held.out(judged, batch.candidates.features)
        choice = _Choice(batch.metric.higher_is_better, record)
        before = standing(batch, start.vector)
        with ExitStack() as stack:
            if shards and shards > 1:
                batch = stack.enter_context(sharded(batch, shards, executor or "local", room))
            last = learn(recipe, batch, start, start, choice, held=held)
        weights = choice.best if recipe.keep == "dev" and choice.best is not None else last
        vectors = [at.vector for at in (start, weights, last)]
        length = float(np.linalg.norm(start.vector))
        return Tuned(
            weights,
            last,
            recipe,
            choice.rounds,
            None if weights is last else choice.best_round,
            before,
            standing(batch, weights.vector),
            standing(batch, last.vector),
            HeldOut(*map(held.standing, vectors)) if held else None,
            batch.metric.name,
            batch.metric.signature(self.lists.references),
            float(np.linalg.norm(weights.vector)) / length if length else 1.0,
        )


class _Judged:
    """Lists, and what each metric that was asked for says of them."""

    def __init__(
        self,
        lists: Candidates,
        segments: Texts,
        references: References | Iterable[Sequence[str]] | None,
        folder: str | None,
    ) -> None:
        self.lists, self.segments, self.references = lists, segments, references_for(segments, references)
        self.forms = Forms(folder)
        self._batches: dict[str, Batch] = {}
        self._stakes: dict[tuple[str, float], Stakes] = {}

    def batch(self, metric: str, alpha: float = 10.0, *, listed: bool = False) -> Batch:
        """The statistics are made once a metric, the costs once a metric and alpha."""
        if metric not in self._batches:
            judged = judge(self.segments, self.references, metric, alpha).batch(self.lists)
            self._batches[metric] = replace(judged, forms=self.forms)
            self._stakes[metric, alpha] = judged.stakes
        batch = self._batches[metric]
        if (metric, alpha) not in self._stakes:
            self._stakes[metric, alpha] = batch.priced(alpha)
        offset = totals(self.lists) if listed else None
        return replace(batch, stakes=self._stakes[metric, alpha], offset=offset)


def refuse_shards(recipe: Recipe, shards: int | None, shared: bool) -> None:
    """Raise RecipeError if the recipe cannot be learnt by so many shards, or an executor has nothing to do."""
    if shards is not None and shards < 1:
        raise RecipeError(f"shards is {shards}; expected 1 or more")
    if shards is None or shards == 1:
        if shared:
            raise RecipeError("an executor takes shards of the lists; cut them into 2 or more (shards)")
    elif not isinstance(recipe.loss, Expectation):
        able = ", ".join(name for name, row in recipes_of().items() if isinstance(row.loss, Expectation))
        raise RecipeError(f"this recipe cannot learn by shards; {able} can")


@dataclass(slots=True)
class _Choice:
    """Collects the rounds, and the first weights that no others beat on the held-out lists."""

    higher_is_better: bool
    record: Record
    rounds: list[Round] = field(default_factory=list)
    best: Weights | None = None
    best_round: int = 0

    def __call__(self, row: Round, weights: Weights) -> None:
        self.rounds.append(row)
        self.record(row, weights)
        if row.dev is None:
            return
        before = self.rounds[self.best_round - 1].dev if self.best_round else None
        if before is None or (row.dev > before if self.higher_is_better else row.dev < before):
            self.best, self.best_round = weights, len(self.rounds)


def pick(lists: Candidates, weights: Weights, *, lenient: bool = False, listed: bool = False) -> NDArray[np.int64]:
    """The best candidate of every segment that has any; ties go to the earlier one."""
    return MODEL.picks(unjudged(lists), scores_of(lists, weights, lenient=lenient, listed=listed))


def scores_of(lists: Candidates, weights: Weights, *, lenient: bool = False, listed: bool = False) -> Reals:
    """The score of every candidate; `listed` adds the decoder's own (weights tuned on base="listed")."""
    scores = lists.score(weights.onto(lists.features, lenient=lenient))
    return scores + totals(lists) if listed else scores


def rerank(lists: Candidates, weights: Weights, *, lenient: bool = False, listed: bool = False) -> Candidates:
    """The same lists sorted by the weights, best first, with the new scores."""
    return lists.sorted_by(scores_of(lists, weights, lenient=lenient, listed=listed))


class Reranker:
    """A recipe as an estimator: fit on lists with references, then predict, rank or score other lists."""

    def __init__(
        self,
        recipe: str = "rampion",
        *,
        start: Mapping[str, float] | None = None,
        metric: str | None = None,
        policy: str | None = None,
        **settings: Any,
    ) -> None:
        self.recipe, self.start, self.metric, self.policy = recipe, start, metric, policy
        self.settings = settings

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The constructor's arguments; with `deep`, every setting of the recipe too."""
        given = {"recipe": self.recipe, "start": self.start, "metric": self.metric, "policy": self.policy}
        chosen = recipe_named(self.recipe, "lists", **self.settings)
        inside = {name: value for name, value in chosen.settings().items() if name not in given}
        return given | (inside if deep else self.settings)

    def set_params(self, **params: Any) -> Self:
        for name in ("recipe", "start", "metric", "policy"):
            if name in params:
                setattr(self, name, params.pop(name))
        recipe_named(self.recipe, "lists", **params)
        self.settings = self.settings | params
        return self

    def fit(
        self,
        lists: Lists,
        references: References | Iterable[Sequence[str]] | None = None,
        dev: Lists | None = None,
        dev_references: References | Iterable[Sequence[str]] | None = None,
    ) -> Self:
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
        """The score of every candidate."""
        return scores_of(lists, self.weights_, listed=self._listed)

    def predict(self, lists: Candidates) -> list[str]:
        """The best candidate of every segment."""
        return list(lists.texts.take(pick(lists, self.weights_, listed=self._listed)))

    def rerank(self, lists: Candidates) -> Candidates:
        return rerank(lists, self.weights_, listed=self._listed)

    def score(self, lists: Candidates, references: References | Iterable[Sequence[str]] | None = None) -> float:
        """The corpus metric of the predictions, on its reported scale."""
        arbiter = judge(lists, references, self.tuned_.recipe.metric)
        return arbiter.batch(lists).corpus_score(pick(lists, self.weights_, listed=self._listed))

    @property
    def _listed(self) -> bool:
        return self.tuned_.recipe.base == "listed"
