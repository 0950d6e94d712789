"""The inputs of commands: lists, references, weights and settings, from files and words that a user gives."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from rampion.console import note
from rampion.errors import InputError, RecipeError
from rampion.metrics import Column, Ratio
from rampion.metrics import metric as named

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rampion.decoder.search.states import Reordering
    from rampion.formats.references import Records
    from rampion.metrics import Metric
    from rampion.store.candidates import Candidates
    from rampion.store.columns import Columns
    from rampion.store.features import Features, Weights
    from rampion.store.text import References, Texts
    from rampion.training.recipes import Recipe

OF_DECODERS = ("k", "iterations", "still")  # settings that lists from files leave without effect


class Runs(NamedTuple):
    """The lists of every file, all with the same features, and the references in JSONL files."""

    lists: list[Candidates]
    records: Records | None

    @property
    def merged(self) -> Candidates:
        """One set of lists: those of successive decodings are merged."""
        from rampion.training.loop import absorbed
        from rampion.training.policies import Merge

        return self.lists[0] if len(self.lists) == 1 else absorbed(Merge(), self.lists)


def read_runs(
    paths: Sequence[str],
    lenient: bool,
    columns: Sequence[str] | None = None,
    metrics: Sequence[str] = (),
    group: str | None = None,
) -> Runs:
    """The lists of every file, and the references in them. Notices of the readers are printed.

    Columns that the metrics read are targets, whatever their names. The column of the groups is kept.
    """
    from rampion.formats import is_store, read_lists, store
    from rampion.store.candidates import Candidates

    if is_store(paths):
        return Runs([store.read(paths[0])], None)
    files = read_lists(paths, lenient=lenient, columns=_columns(columns, metrics, group))
    for notice in files.notices:
        note(notice)
    for path, skipped in zip(paths, files.skipped, strict=True):
        if skipped.count:
            note(f"{path}: skipped {skipped.count} lines; the first: {skipped.first}")
    return Runs(Candidates.from_rows(files.names, files.runs), next(iter(files.records), None))


def _columns(columns: Sequence[str] | None, metrics: Sequence[str], group: str | None) -> Columns:
    """The roles from --columns, the columns that metrics read, and the column that groups segments."""
    from rampion.store.columns import Columns

    wanted = tuple(name for one in metrics for name in _read_by(one))
    return replace(Columns.parse(columns), wanted=wanted, grouping=group)


def _read_by(metric: str) -> list[str]:
    """The columns that a metric reads."""
    found = named(metric)
    return (
        [found.column] if isinstance(found, Column) else [found.over, found.under] if isinstance(found, Ratio) else []
    )


def learnt_by(weights: str) -> list[str]:
    """The metric of the run that the weights belong to, if there is one. Its column is no feature."""
    from rampion.runs.folder import RunFolder

    folder = RunFolder(Path(weights))
    known = folder.config.get("metric") if Path(weights).is_dir() and folder.begun else None
    return [known] if isinstance(known, str) else []


UNLEARNT, UNSCORED = "nothing is learnt from them", "scores are of the others"


def labelled(runs: list[Candidates], metric: str, told: str | None = UNLEARNT) -> list[Candidates]:
    """The lists without the candidates that have no value of a metric column, because they cannot be judged."""
    found = runs
    for column in _read_by(metric):
        before = sum(run.size for run in found)
        found = [run.labelled(column) for run in found]
        if told and (left := before - sum(run.size for run in found)):
            note(f"{left} candidates have no {column}; {told}")
        if before and not sum(run.size for run in found):
            raise InputError(f"no candidate has a value of {column}; give some a label, or name another column")
    return found


def references_of(
    segments: Texts, records: Records | None, refs: Sequence[str] | None, metric: str
) -> References | None:
    """The references of the segments: from their files, or from the JSONL lists; a metric column needs none."""
    from rampion.formats import references
    from rampion.metrics import needs_references

    if refs:
        return references.read(refs, segments)
    if not needs_references(metric):
        return None
    if records and any(records.found.values()):
        return records.references(segments)
    raise InputError(
        f"there are no references, which {metric} needs; name them with --refs, or a column to score by with --target"
    )


def with_target(metrics: Sequence[str] | None, target: str | None) -> list[str]:
    """The metrics, and the column that --target names."""
    column = [] if target is None else [target if "/" in target else f"metric:{target}"]
    return [*(metrics or ()), *column]


def one_metric(metric: str | None, target: str | None) -> str | None:
    """The metric, or the column that --target names; not both."""
    if metric and target:
        raise RecipeError(f"--metric {metric} and --target {target}: name one of them")
    return next(iter(with_target([metric] if metric else None, target)), None)


def note_doubt(metric: Metric, references: References | None) -> None:
    """Tell what speaks against this metric of these references, if anything does."""
    if doubt := doubt_of(metric, references):
        note(doubt)


def doubt_of(metric: Metric, references: References | None) -> str | None:
    """A warning if BLEU is computed on text that is clearly not tokenised."""
    from rampion.metrics import Bleu
    from rampion.metrics.tokens import fitting

    if not isinstance(metric, Bleu) or metric.tokeniser != "none" or references is None:
        return None
    needed = fitting(references.texts)
    if needed == "none":
        return None
    return (
        f"the references are not tokenised, and {metric.name} counts words: --metric bleu:{needed} gives the numbers "
        "that others report"
    )


def read_source(path: str, longest: int | None = None) -> Texts:
    """Sentences to translate, one on each line; raise InputError if one has more than `longest` words."""
    from rampion.errors import FormatError
    from rampion.formats import texts
    from rampion.formats.files import shown

    lines = texts.read(path)
    if not len(lines):
        raise InputError(f"{shown(path)}: holds no lines; expected a sentence in every line")
    for number, line in enumerate(lines, 1):
        if longest and (size := len(line.split())) > longest:
            raise FormatError.at(shown(path), number, f"has {size} words; a sentence may have {longest}: split it")
    return lines


def order_of(reordering: str, adjacent_swaps: bool = False) -> Reordering:
    """The Reordering that the option names: mon, swap, or distortion, with its limit after =."""
    from rampion.decoder.search.states import DISTORTION, FARTHEST, MON, Reordering

    name, _, limit = reordering.partition("=")
    if name not in ("mon", "swap", "distortion") or (limit and name != "distortion"):
        raise RecipeError(f"--reordering {reordering}: expected mon, swap, distortion, or distortion=WORDS")
    if adjacent_swaps and name != "swap":
        raise RecipeError(f"--adjacent-swaps: {name} has no swaps; leave one of the two out")
    if limit and not (limit.isascii() and limit.isdigit() and 1 <= int(limit[:3]) <= FARTHEST):
        raise RecipeError(f"--reordering {reordering}: expected a limit of 1 to {FARTHEST} words")
    if name == "distortion":
        return Reordering(limit=int(limit)) if limit else DISTORTION
    return MON if name == "mon" else Reordering(adjacent_swaps=adjacent_swaps)


def weights_file(path: str) -> str:
    """The path, or the weights inside it if it is a run folder."""
    if not Path(path).is_dir():
        return path
    inside = next((file for ending in ("bin", "txt") if (file := Path(path, f"weights.{ending}")).exists()), None)
    if inside is None:
        if Path(path, "sets").is_dir():
            raise InputError(
                f"{path}: is a run of rampion train; write its weights by name: rampion weights --out FILE"
            )
        raise InputError(
            f"{path}: is a folder without weights.txt or weights.bin; name a weights file or the folder of a finished "
            "run"
        )
    return str(inside)


def read_weights(path: str) -> Weights:
    """A weights file, or the one inside a run folder."""
    from rampion.formats import weights

    return weights.read(weights_file(path))


def weighed(lists: Candidates, path: str, lenient: bool) -> tuple[Candidates, Weights]:
    """The lists with the bends that the weights of a file need, and a weight for every feature.

    Dense features must be the same, unless lenient.
    """
    from rampion.store.bends import completed
    from rampion.store.features import Weights

    learnt = read_weights(path)
    lists = completed(lists, learnt.features.names)
    features = lists.features
    try:
        vector = learnt.onto(features, lenient=lenient)
    except InputError as error:
        hint = f"; rampion features LISTS --like {path} adds what it had" if _lacks_made(learnt, features) else ""
        raise InputError(f"{weights_file(path)}: {error}{hint}") from error
    sparse = np.count_nonzero(learnt.vector[learnt.features.width :])
    if sparse and np.count_nonzero(vector) <= np.count_nonzero(learnt.vector) - sparse:
        note(
            f"{weights_file(path)}: no candidate has any of the {sparse:,} sparse features that it has weights of; was "
            "it tuned on lists of this system?"
        )
    return lists, Weights(features, vector)


def _lacks_made(learnt: Weights, features: Features) -> bool:
    """Whether the lists lack a dense feature that is made of texts or of other features."""
    from rampion.features import is_made

    return any(
        is_made(name) and name not in features.ids for name in learnt.features.names.part(0, learnt.features.width)
    )


def recipes_of(names: str, settings: Sequence[str]) -> dict[str, Recipe]:
    """The recipes by name. A setting with several values, with commas between, gives a recipe for each value."""
    found: dict[str, Recipe] = {}
    parts = [setting.partition("=") for setting in settings]
    cells = [[name + equals + value for value in _values(name, text)] for name, equals, text in parts]
    varied = {setting for cell in cells if len(cell) > 1 for setting in cell}
    for chosen in product(*cells):
        for name, recipe in _recipes_with(names, chosen).items():
            own = [one for one in chosen if one in varied and one.partition("=")[0] in recipe.settings()]
            found[",".join([name, *own])] = recipe
    return found


def _values(name: str, text: str) -> list[str]:
    """Names of metrics have commas of their own."""
    return [text] if name == "metric" else text.split(",")


def _recipes_with(names: str, settings: Sequence[str]) -> dict[str, Recipe]:
    """One recipe, several with commas between, or all. Of several recipes each takes the settings that it has."""
    from rampion.training.automatic import default
    from rampion.training.recipes import AUTO, recipe_named, recipes_of

    asked = recipes_of("lists") if names == "all" else names.split(",")
    chosen = {name: default() if name == AUTO else recipe_named(name, "lists") for name in asked}
    if len(chosen) == 1:
        return {name: changed(recipe, settings) for name, recipe in chosen.items()}
    known = {name: recipe.settings() for name, recipe in chosen.items()}
    for setting in settings:
        if not any(setting.partition("=")[0] in present for present in known.values()):
            changed(next(iter(chosen.values())), [setting])
    return {
        name: changed(recipe, [setting for setting in settings if setting.partition("=")[0] in known[name]])
        for name, recipe in chosen.items()
    }


def seeds_of(seeds: str | None) -> list[int]:
    """Different whole numbers with commas between. Equal seeds are refused: they would make intervals too narrow."""
    if seeds is None:
        return []
    cells = [seed.strip() for seed in seeds.split(",")]
    if not all(cell.isdecimal() for cell in cells):
        raise RecipeError(f"--seeds {seeds!r}: expected whole numbers with a comma between, for example --seeds 1,2,3")
    numbers = list(map(int, cells))
    if len(set(numbers)) < len(numbers):
        raise RecipeError(f"--seeds {seeds!r}: a seed appears twice; name each one once")
    return numbers


def changed(recipe: Recipe, settings: Sequence[str], barred: Sequence[str] = OF_DECODERS) -> Recipe:
    """The recipe with other settings, `name=value`; a value is read as the kind of value that it replaces."""
    present = recipe.settings()
    for setting in settings:
        name, equals, text = setting.partition("=")
        if not equals or not name:
            raise RecipeError(f"--set {setting!r}: expected name=value, for example --set rate=1e-3")
        if name in barred:
            raise RecipeError(
                f"--set {setting}: {name} is for tuning with a decoder; it has no effect on lists from files"
            )
        recipe = recipe.set(**{name: _value(setting, text, present.get(name, ""))})
    return recipe


def _value(setting: str, text: str, present: object) -> int | float | str | None:
    if isinstance(present, str) or (present is None and text == "none"):
        return None if present is None else text
    if isinstance(present, bool):
        if text not in ("true", "false"):
            raise RecipeError(f"--set {setting}: expected true or false")
        return text == "true"
    kind = float if isinstance(present, float) else int
    try:
        value = kind(text)
    except ValueError:
        value = math.nan
    if not 0 <= value < math.inf:
        expected = "a number" if kind is float else "a whole number"
        raise RecipeError(f"--set {setting}: expected {expected} of 0 or more")
    return value
