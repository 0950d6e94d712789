"""Choose count features of aligned text, or look into a file of them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from rampion.apps.texts import aligned, texts_of
from rampion.console import progress
from rampion.decoder.features.counts import Chosen, CountFeatures, Settings
from rampion.errors import RecipeError


@dataclass(frozen=True, slots=True, kw_only=True)
class CountsTask:
    """A folder or two files of text to choose from, or a file of features."""

    paths: list[str]
    out: str | None
    align: str | None
    pair: str | None
    settings: Settings
    threads: int | None


def counts(task: CountsTask) -> dict[str, list[Chosen]]:
    """The features by kind: those of a file, or those of aligned text, which are written."""
    if len(task.paths) == 1 and not Path(task.paths[0]).is_dir():
        if task.out or task.align:
            raise RecipeError(
                f"{task.paths[0]}: is one file; features are chosen from a folder, or from two files of text"
            )
        return _by_kind(CountFeatures.read(task.paths[0]))
    if len(task.paths) > 2 or task.out is None:
        raise RecipeError(
            "expected a folder or two files of text, and --out FILE; or one file of features to look into"
        )
    source, target, own = texts_of(task.paths, task.pair)
    links = aligned(source, target, task.align or own, task.threads).alignment
    with progress() as watch:
        found = CountFeatures.choose(source, target, links, task.settings, watch)
    found.write(task.out)
    return _by_kind(found)


def _by_kind(found: CountFeatures) -> dict[str, list[Chosen]]:
    kinds: dict[str, list[Chosen]] = {}
    for one in found.features:
        kinds.setdefault(one.kind if one.kind != "gram" else f"{len(one.words)}-gram", []).append(one)
    return kinds
