"""A run, or an experiment, as one page."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import cast

import numpy as np
from numpy.typing import NDArray

from rampion.apps.inputs import Runs, labelled, read_runs, read_weights, references_of, weights_file
from rampion.apps.runs import Inside, TemplateRow, WeightRow
from rampion.console import note
from rampion.errors import InputError, RampionError, RecipeError, StoreError
from rampion.formats import store
from rampion.formats import weights as weight_files
from rampion.formats.files import replacing
from rampion.report import demonstrated, differed, learnt, reproduced, swept, trained, tuned
from rampion.report.explorer import CHOSEN, START, Judged, rounds
from rampion.report.page import TOP, Page
from rampion.runs.door import Settings, held, parsed
from rampion.runs.folder import RunFolder
from rampion.runs.sets_run import SetRun
from rampion.store.bends import with_bends
from rampion.store.features import Features
from rampion.training.inputs import judge, segments_of
from rampion.training.loop import absorbed
from rampion.training.policies import policy_named


def write_page(run: Path, out: Path | None = None, other: Path | None = None) -> Path:
    """Write the page of a run, or of its differences from another: report.html in its folder, by default."""
    page = (page_of(run) if other is None else compared(run, other)).html()
    path = out or (run if run.is_dir() else run.parent) / ("report.html" if other is None else "compared.html")
    with replacing(path) as file:
        file.write(page.encode(errors="replace"))
    return path


def compared(run: Path, other: Path) -> Page:
    """What differs between two runs of rampion tune."""
    from rampion.apps.diff import difference

    return differed.page(difference(str(run), str(other), TOP))


def page_of(path: Path) -> Page:
    """The page of the run or the experiment in this folder or file."""
    if path.is_file():
        with _as_written(path):
            return reproduced.page(path.stem, [_results(path)])
    if (path / demonstrated.RESULTS).exists():
        return _demonstrated(path)
    if (path / learnt.RESULTS).exists() and RunFolder(path).begun:
        results = _parsed(path / learnt.RESULTS)
        if not isinstance(results, dict):
            raise StoreError(f"{path / learnt.RESULTS}: is damaged; give the command that made it again")
        with _as_written(path / learnt.RESULTS):
            return learnt.page(RunFolder(path), results)
    if (path / "sets").is_dir():
        run = SetRun.open(path)
        return trained.page(run, *_named(run))
    if (path / "table.json").exists():
        return swept.page(path, _trials(path / "table.json"))
    if RunFolder(path).begun:
        folder = RunFolder(path)
        judged, why = judged_of(folder)
        if why:
            note(why)
        return tuned.page(folder, judged, why)
    if found := sorted(path.glob("*.json")):
        with _as_written(path):
            return reproduced.page(path.resolve().name, [_results(one) for one in found])
    raise InputError(
        f"{path}: holds no run; name a folder that rampion tune, train or reproduce has written, or results of the last"
    )


def _demonstrated(path: Path) -> Page:
    dense, again = RunFolder(path / "dense"), RunFolder(path / "learnt" / "tuned")
    found = _parsed(path / demonstrated.RESULTS)
    if not isinstance(found, dict):
        raise StoreError(f"{path / demonstrated.RESULTS}: is damaged; make it again")
    with _as_written(path / demonstrated.RESULTS):
        return demonstrated.page(RunFolder(path), found, dense, *judged_of(dense), again)


def _named(run: SetRun) -> tuple[dict[str, TemplateRow], dict[str, WeightRow]]:
    """Templates and weights; nothing without the decoder that names them."""
    try:
        inside = Inside(run, None, None)
    except RampionError as error:
        note(f"the page has no weights, because their names cannot be made: {error}")
        return {}, {}
    return inside.templates(), inside.shown(TOP)


def _parsed(path: Path) -> object:
    try:
        return parsed(path, path.read_bytes().decode(errors="replace"))
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror}") from error


@contextmanager
def _as_written(path: Path) -> Iterator[None]:
    """Results are only displayed, so they are not checked in detail."""
    try:
        yield
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        raise StoreError(f"{path}: is not what Rampion wrote ({error}); make it again") from error


def _trials(path: Path) -> list[swept.Trial]:
    found = cast("list[swept.Trial]", held(path, _parsed(path), list[swept.Trial]))
    if strange := next((trial["recipe"] for trial in found if "/" in trial["recipe"]), None):
        raise StoreError(f"{path}: {strange[:60]!r} is no recipe; name the folder of another run")
    return found


def _results(path: Path) -> dict[str, object]:
    found = _parsed(path)
    if not isinstance(found, dict) or not {"experiment", "title", "note", "rows", "relations"} <= found.keys():
        raise InputError(f"{path}: holds no results of rampion reproduce; name a file that it has written, or a run")
    return found


def judged_of(folder: RunFolder) -> tuple[Judged | None, str]:
    """The lists of the run and the weights of its rounds; or the reason why they are not available."""
    config = folder.config
    try:
        return _judged(folder, config)
    except RecipeError as error:  # the words of a stranger's settings
        raise StoreError(f"{config.path}: {error}") from error


def _judged(folder: RunFolder, config: Settings) -> tuple[Judged | None, str]:
    lists, refs = config.get("lists", []), config.get("refs", [])
    decoded = sorted((folder.path / "lists").glob("*.store"))  # in a loop with a decoder, all lists of the run
    if trouble := folder.changed([*lists, *refs]) or ("" if lists or decoded else "the run has kept no lists"):
        return None, f"There is no explorer: {trouble}."
    read = (
        read_runs(lists, config["lenient"], config.get("columns"), [config["metric"]])
        if lists
        else Runs([store.read(path) for path in decoded], None)
    )
    runs = labelled(read.lists, config["metric"], told=None)
    kept = absorbed(policy_named(config["policy"] if lists else "merge"), runs)
    if config.get("bends"):
        kept = with_bends(kept)
    truth = references_of(segments_of(runs), read.records, refs, config["metric"])
    arbiter = judge(segments_of(runs), truth, config["metric"], config["alpha"], listed=config["base"] == "listed")
    if not (weights := _rounds(folder, kept.features)):
        return None, "There is no explorer: the run has no weights yet."
    chosen = next((name for name in reversed(weights) if name.startswith(CHOSEN)), list(weights)[-1])
    batch = arbiter.batch(kept)
    return Judged(batch, arbiter.references_of(kept), weights, chosen, config["alpha"]), ""


def _rounds(folder: RunFolder, features: Features) -> dict[str, NDArray[np.float64]]:
    """The weights that the run began with and those of its rounds, some of them if they are many."""
    done = next((event for event in folder.events if event["event"] == "done"), {})
    kind = "round" if "lists" in folder.config else "iteration"
    files = {f"{kind} {int(path.stem)}": path for path in sorted((folder.path / "weights").glob("*.bin"))}
    chosen = f"{kind} {done[kind]}" if done.get(kind) else next(reversed(files), "")
    if chosen not in files and folder.weights.exists():
        files[chosen := CHOSEN] = folder.weights
    vectors = {START: begun} if (begun := _start(folder, features)) is not None else {}
    if not files:
        return vectors
    names = [*vectors, *files]
    for at in rounds(len(names), names.index(chosen)):
        if (name := names[at]) in files:
            label = f"{CHOSEN}: {name}" if name == chosen != CHOSEN else name
            vectors[label] = weight_files.read(files[name]).onto(features, lenient=True)
    return vectors


def _start(folder: RunFolder, features: Features) -> NDArray[np.float64] | None:
    """The weights that the run began with: of a file, or 0 for lists; unknown if the file has changed."""
    if not (path := folder.config.get("weights")):
        return np.zeros(len(features)) if "lists" in folder.config else None
    if folder.changed([weights_file(path)]):
        return None
    return read_weights(path).onto(features, lenient=True)
