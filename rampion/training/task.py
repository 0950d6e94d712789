"""Lists and references made ready for any number of recipes: merged once, and judged once by each metric."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import NamedTuple

import numpy as np

from rampion.arrays import Reals
from rampion.errors import InputError, RecipeError, TuningError
from rampion.executors import Coordinator
from rampion.formats.files import FilePath
from rampion.losses.contrast import MODEL
from rampion.metrics.judging import Batch, Forms, Stakes, totals
from rampion.store.bends import completed, straight, with_bends
from rampion.store.candidates import Candidates
from rampion.store.features import Weights
from rampion.store.text import Texts
from rampion.store.units import Units, spread
from rampion.training.automatic import WITH_BENDS, Automatic
from rampion.training.inputs import GivenReferences, Lists, judge, references_for, runs_of, segments_of
from rampion.training.loop import Held, Record, Round, absorbed, ignore, learn, standing
from rampion.training.policies import Merge, policy_named
from rampion.training.recipes import Recipe
from rampion.training.sharded import sharded
from rampion.training.tuned import HeldOut, Tuned
from rampion.training.validation import (
    FOLDS,
    Baselines,
    Ground,
    Parts,
    Validation,
    baselines,
    elsewhere,
    figures,
    validated,
)


class Task:
    """Lists with references that any number of recipes tune on: merged once, judged once by each metric."""

    def __init__(
        self,
        lists: Lists,
        references: GivenReferences | None = None,
        *,
        start: Weights | Mapping[str, float] | None = None,
        policy: str | None = None,
        lenient: bool = False,
        dev: Lists | None = None,
        dev_references: GivenReferences | None = None,
        folder: str | None = None,
        groups: Sequence[str] | None = None,
        bends: bool = False,
    ) -> None:
        """The arguments are those of `tune`."""
        runs = runs_of(lists)
        kept = absorbed(policy_named(policy or "merge"), runs)
        if not len(kept.features):
            raise InputError(
                "the lists have no features to weigh; make some of their texts by rampion features, or of columns by "
                "--columns indicators=NAME"
            )
        if start is None:
            start = Weights(kept.features, np.zeros(len(kept.features)))
        elif not isinstance(start, Weights):
            start = Weights.from_dict(start)
        kept = completed(kept, start.features.names)
        self.start = Weights(kept.features, start.onto(kept.features, lenient=lenient))
        if bends:
            kept = with_bends(kept)
            self.start = Weights(kept.features, self.start.onto(kept.features, lenient=True))
        self.lists = _Judged(kept, segments_of(runs), references, folder)
        self.groups, self._known = groups, dict[tuple[str, int, bool], Baselines]()
        self.dev = None
        if dev is not None:
            others = dev if isinstance(dev, Candidates) else absorbed(Merge(), runs_of(dev))
            others = completed(others, self.start.features.names)
            self.start.onto(others.features, lenient=lenient)
            self.dev = _Judged(others, others.segments, dev_references, None)

    def batch(self, recipe: Recipe) -> Batch:
        """The lists as a recipe's metric judges them."""
        return self.lists.batch(recipe.metric, recipe.alpha, listed=recipe.base == "listed")

    def choose(self, metric: str, record: Record = ignore, folds: int | None = None) -> Tuned:
        """Tune by the recipe that is best on held-out folds, or keep a simple choice that clearly beats it."""
        base = self._baselines(metric, folds or FOLDS)
        batch = self.lists.in_units(base.ground.batch, self.lists.units)
        ways = Automatic(metric, replace(batch, stakes=batch.priced(1.0)), self.lists.units.inward(self.start.vector))
        if base.ground.parts.folds < 2:
            label = next(iter(ways.options))
            return self.proven(replace(self.tune(ways.recipe, record, by=partial(ways.learn, label)), choice=label))
        validation = validated(base, batch, {label: partial(ways.learnt, label) for label in ways.options})
        by = partial(ways.learn, validation.learnt)
        tuned = replace(self.tune(ways.recipe, record, by=by), choice=validation.answer)
        if validation.answer not in ways.options:
            tuned = self._settled(tuned, validation.weights(self.start))
        if validation.answer != WITH_BENDS:
            tuned = replace(tuned, weights=straight(tuned.weights), last_weights=straight(tuned.last_weights))
        return self.proven(tuned) if self.dev else replace(tuned, held=validation.figures())

    def _settled(self, tuned: Tuned, weights: Weights) -> Tuned:
        """The result with the weights of a simple choice; the learnt ones remain as the last weights."""
        batch, dev = self.lists.batch(tuned.recipe.metric), tuned.dev
        if self.dev and dev:
            held = Held.out(self.dev.batch(tuned.recipe.metric), batch.candidates.features)
            dev = dev._replace(after=held.standing(weights.vector))
        return replace(tuned, weights=weights, after=standing(batch, weights.vector), dev=dev, shrunk=1.0)

    def proven(self, tuned: Tuned, folds: int = 0) -> Tuned:
        """The result with figures on the held-out lists, or, without any, on folds of the lists."""
        recipe, listed = tuned.recipe, tuned.recipe.base == "listed"
        base = self._baselines(recipe.metric, folds, listed=listed)
        if self.dev:
            held = Held.out(self.dev.batch(recipe.metric, listed=listed), base.ground.batch.candidates.features)
            there = self._there(recipe.metric, base, held, listed)
            picks = MODEL.picks(held.batch.stakes, held.batch.scores(held.onto(tuned.weights.vector)))
            return replace(tuned, held=figures(there, picks, f"{len(there.ground.filled)} lists of their own"))
        if base.ground.parts.folds < 2:
            return tuned
        return replace(tuned, held=self._validation(base, {"": recipe}).figures())

    def _baselines(self, metric: str, folds: int, *, listed: bool = False) -> Baselines:
        """The baselines, computed once for all recipes."""
        key = metric, folds, listed
        if key not in self._known:
            batch = self.lists.batch(metric, listed=listed)
            parts = Parts.of(batch.candidates.segments, folds, self.groups)
            self._known[key] = baselines(Ground(batch, parts), self.start)
        return self._known[key]

    def _there(self, metric: str, base: Baselines, held: Held, listed: bool) -> Baselines:
        """The baselines on the held-out lists."""
        key = metric, -1, listed
        if key not in self._known:
            self._known[key] = elsewhere(base, held.batch, held, self.start)
        return self._known[key]

    def _validation(self, base: Baselines, recipes: Mapping[str, Recipe]) -> Validation:
        views = {name: self._view(recipe, base.ground.batch, None) for name, recipe in recipes.items()}
        seen = next(iter(views.values())).batch
        learners = {name: partial(_learnt, view, self.start, recipes[name].alpha) for name, view in views.items()}
        return validated(base, seen, learners)

    def tune(
        self,
        recipe: Recipe,
        record: Record = ignore,
        *,
        shards: int | None = None,
        executor: str | Coordinator | None = None,
        room: FilePath | None = None,
        by: InUnits | None = None,
    ) -> Tuned:
        """Tune weights by a recipe, or by `learner` in its place; the other arguments are those of `tune`."""
        start = self.start
        if recipe.base == "listed" and start.vector.any():
            raise RecipeError(
                "base='listed' adds to the decoder's own totals, and to initial weights too: leave one out"
            )
        batch, held = self.batch(recipe), None
        if self.dev:
            judged = self.dev.batch(recipe.metric, listed=recipe.base == "listed")
            held = Held.out(judged, batch.candidates.features)
        refuse_equal(batch)
        choice = _Choice(batch.metric.higher_is_better, record)
        before = standing(batch, start.vector)
        with ExitStack() as stack:
            view = self._view(recipe, batch, held)
            if shards and shards > 1:
                view = view._replace(batch=stack.enter_context(sharded(view.batch, shards, executor or "local", room)))
            last = view.learn(start, choice, by)
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
            batch.metric.signature(references_for(self.lists.segments, self.lists.references)),
            float(np.linalg.norm(weights.vector)) / length if length else 1.0,
        )

    def _view(self, recipe: Recipe, batch: Batch, held: Held | None) -> _View:
        """The lists as the recipe scales them: as they are, or in units."""
        if recipe.scale == "none":
            return _View(recipe, batch, held, None)
        units = self.lists.units
        if held and self.dev:
            held = Held.out(self.dev.in_units(held.batch, units), batch.candidates.features)
        return _View(recipe.stepwise, self.lists.in_units(batch, units), held, units)


def _learnt(view: _View, start: Weights, alpha: float, batch: Batch) -> Reals:
    """What a recipe learns from some of the lists; the initial weights if it learns nothing."""
    inside = start if view.units is None else Weights(start.features, view.units.inward(start.vector))
    priced = replace(batch, stakes=batch.priced(alpha))
    try:
        return learn(view.recipe, priced, inside, inside, ignore).vector
    except TuningError:
        return inside.vector


InUnits = Callable[[Batch, Record, Held | None], Reals]  # takes lists in units and a record, returns weights in units


class _View(NamedTuple):
    """The lists as a recipe scales them, with the conversion of weights there and back."""

    recipe: Recipe
    batch: Batch
    held: Held | None
    units: Units | None

    def learn(self, start: Weights, record: Record, by: InUnits | None = None) -> Weights:
        """The weights of raw features that the recipe, or the learner in its place, learns."""
        if self.units is None:
            return learn(self.recipe, self.batch, start, start, record, held=self.held)
        units, features = self.units, start.features

        def tell(row: Round, weights: Weights) -> None:
            record(row, Weights(features, units.outward(weights.vector)))

        if by is not None:
            return Weights(features, units.outward(by(self.batch, tell, self.held)))
        inside = Weights(features, units.inward(start.vector))
        found = learn(self.recipe, self.batch, inside, inside, tell, held=self.held)
        return Weights(features, units.outward(found.vector))


class _Judged:
    """Lists, with the statistics and costs of every metric that was used."""

    def __init__(
        self,
        lists: Candidates,
        segments: Texts,
        references: GivenReferences | None,
        folder: str | None,
    ) -> None:
        self.lists, self.segments = lists, segments
        self.references = None if references is None else references_for(segments, references)
        self.forms, self.forms_in_units = Forms(folder), Forms(folder)
        self._in_units: tuple[Units, Candidates] | None = None
        self._batches: dict[str, Batch] = {}
        self._stakes: dict[tuple[str, float], Stakes] = {}

    def batch(self, metric: str, alpha: float = 10.0, *, listed: bool = False) -> Batch:
        """The judged lists. Statistics are computed once for each metric, costs once for each metric and alpha."""
        if metric not in self._batches:
            judged = judge(self.segments, self.references, metric, alpha).batch(self.lists)
            self._batches[metric] = replace(judged, forms=self.forms)
            self._stakes[metric, alpha] = judged.stakes
        batch = self._batches[metric]
        if (metric, alpha) not in self._stakes:
            self._stakes[metric, alpha] = batch.priced(alpha)
        offset = totals(self.lists) if listed else None
        return replace(batch, stakes=self._stakes[metric, alpha], offset=offset)

    @cached_property
    def units(self) -> Units:
        return Units.of(self.lists)

    def in_units(self, batch: Batch, units: Units) -> Batch:
        """The judged lists with features in units, computed once."""
        if self._in_units is None or self._in_units[0] is not units:
            self._in_units = units, units.applied(self.lists)
        return replace(batch, candidates=self._in_units[1], forms=self.forms_in_units)


@dataclass(slots=True)
class _Choice:
    """Collects the rounds, and the first of the weights that are best on the held-out lists."""

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


def refuse_equal(batch: Batch) -> None:
    """Raise InputError if no list has candidates of different costs."""
    if not spread(batch.stakes.costs, batch.stakes.bounds):
        raise InputError(
            f"in each list all candidates have the same {batch.metric.name}, so there is nothing to learn from; give "
            "lists in which some candidates are better than others (rampion inspect)"
        )
