"""Repeat a run with the settings in its folder, in another folder, and compare the two to the bit."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from hashlib import file_digest
from pathlib import Path
from typing import NamedTuple

import numpy as np

from rampion import console
from rampion.apps.inputs import OF_DECODERS
from rampion.errors import InputError
from rampion.formats import toml
from rampion.formats import weights as weight_files
from rampion.runs.folder import RunFolder, fingerprint
from rampion.training.recipes import AUTO, looped, recipe_named

Value = str | int | float | bool | list[str] | None
Facts = Mapping[str, object]

CLOCKS = ("seconds", "memory", "cores")  # what differs between any two runs
VERSIONS = ("rampion", "kernels", "python", "machine", "simd")
OTHERWISE = "only runs of rampion tune and rampion train can be repeated"
# Places and executors, which change no bit of the result.
PLACES = ("executor", "threads", "memory", "system", "base_run")


class Weighed(NamedTuple):
    """The weights of both runs: their number (or that of their files), how many differ, and the largest difference."""

    what: str
    number: int
    differ: int
    most: float | None = None


@dataclass(frozen=True, slots=True)
class Rerun:
    """A run and its repetition. The lists hold the differences; if all are empty, no difference was found.

    first     the first round or iteration that differs, with its number and its figures in both runs
    """

    run: str
    again: str
    recipe: str
    inputs: list[str]
    versions: list[str]
    settings: list[str]
    rows: int
    first: str | None
    weights: Weighed

    @property
    def same(self) -> bool:
        """Whether all weights, and all figures of rounds and iterations, are the same to the bit."""
        return self.first is None and not self.weights.differ

    def facts(self) -> dict[str, object]:
        """All of it, for machines."""
        return {
            "run": self.run, "again": self.again, "recipe": self.recipe, "same": self.same,
            "inputs": self.inputs, "versions": self.versions, "settings": self.settings,
            "rounds": self.rows, "first": self.first, "weights": self.weights._asdict(),
        }  # fmt: skip


def rerun(path: Path, out: Path, force: bool, show: Callable[[str], None]) -> Rerun:
    """Repeat the run in `path`; `show` is called with every round or iteration, in words."""
    folder = RunFolder(path)
    if not folder.begun:
        raise InputError(f"{path}: holds no run; name a folder that rampion tune or rampion train has written")
    if not folder.weights.exists() and not (path / "sets").is_dir():
        raise InputError(f"{path}: has no weights yet, so there is nothing to compare with; let the run finish")
    if out.absolute() == path.absolute():
        raise InputError(f"--out {out}: is the run itself; name another folder")
    inputs = _changed_inputs(folder)
    config = folder.config
    if (path / "sets").is_dir() and "corpus" in config:
        _train(folder, out, force, show)
    elif "source" in config:
        _loop(folder, out, force, show)
    elif "lists" in config:
        _tune(folder, out, force, show)
    else:
        raise InputError(f"{path}: {OTHERWISE}; run the command that made it again, with another --out")
    again = RunFolder(out)
    rows, first = _first_difference(folder, again)
    return Rerun(
        str(path), str(out), str(config["recipe"]), inputs, _versions(folder, again), _settings(folder, again),
        rows, first, _weighed(folder, again),
    )  # fmt: skip


def _changed_inputs(folder: RunFolder) -> list[str]:
    """The inputs with other content than the run has read. Raise InputError if one is not there."""
    changed = []
    for known in folder.manifest.get("inputs", []):
        path = known["path"]
        if not Path(path).is_file():
            reason = "was read from standard input" if path == "-" else "is not there"
            raise InputError(
                f"{path}: {reason}, so the run cannot be repeated; put the file back, or start this command in the "
                f"folder in which {folder.path} was made"
            )
        now = fingerprint(path)
        if now != known:
            changed.append(f"{path} has changed since: {known.get('bytes', 0):,} bytes then, {now['bytes']:,} now")
    return changed


def _texts(config: Facts, name: str) -> list[str]:
    """A setting that is a list of words, such as files."""
    found = config.get(name) or []
    return [str(one) for one in found] if isinstance(found, list) else []


def _text(config: Facts, name: str) -> str | None:
    """A setting that is a word, if it was given."""
    found = config.get(name)
    return None if found is None else str(found)


def _number(config: Facts, name: str) -> int | None:
    found = config.get(name)
    return found if isinstance(found, int) else None


def _changes(config: Facts, usual: Facts) -> list[str]:
    """The settings of the recipe that differ from the defaults, as --set takes them."""
    changes = []
    for name, value in usual.items():
        if name in config and config[name] != value:
            found = config[name]
            changes.append(f"{name}={str(found).lower() if isinstance(found, bool) else found}")
    return changes


def _tune(folder: RunFolder, out: Path, force: bool, show: Callable[[str], None]) -> None:
    """Tune on lists again."""
    from rampion.apps import tune as tuning
    from rampion.training.loop import Round

    config = folder.config
    name = str(config["recipe"])
    if name == AUTO:
        changes = [f"metric={config['metric']}"]
    else:
        changes = _changes(config, recipe_named(name, "lists").settings())
        changes = [one for one in changes if one.partition("=")[0] not in OF_DECODERS]
    task = tuning.TuneTask(
        lists=_texts(config, "lists"), refs=_texts(config, "refs"), out=out, weights=_text(config, "weights"),
        recipe=name, settings=changes, policy=_text(config, "policy"), dev=_texts(config, "dev"),
        dev_refs=_texts(config, "dev_refs"), keep_rounds=(folder.path / "weights").is_dir(),
        shards=_number(config, "shards"), columns=_texts(config, "columns"), lenient=bool(config.get("lenient")),
        folds=_number(config, "folds") or 0, group=_text(config, "group"), bends=bool(config.get("bends")),
        force=force,
    )  # fmt: skip

    def told(metric: str, row: Round) -> None:
        show(f"round {row.round}: loss {row.loss:.4f}, {metric} {console.number(row.score)}")

    with tuning.claimed(task):
        tuning.tune(tuning.prepare(task), told)


def _loop(folder: RunFolder, out: Path, force: bool, show: Callable[[str], None]) -> None:
    """Tune with a decoder again."""
    from rampion.apps.decoders import LoopDecoder
    from rampion.apps.loop import loop
    from rampion.apps.tune import TuneTask
    from rampion.training.loop import ListIteration

    config = folder.config
    name = str(config["recipe"])
    asked = {field.name: config.get(field.name) for field in fields(LoopDecoder)}
    if asked["system"] is not None:
        asked["system"] = Path(str(asked["system"]))
    task = TuneTask(
        lists=[str(config["source"])], refs=_texts(config, "refs"), out=out, weights=_text(config, "weights"),
        recipe=name, settings=_changes(config, looped(recipe_named(name, "lists")).settings()),
        policy=_text(config, "policy"), dev=_texts(config, "dev"), dev_refs=_texts(config, "dev_refs"),
        lenient=bool(config.get("lenient")), force=force,
    )  # fmt: skip

    def told(metric: str, row: ListIteration) -> None:
        show(f"iteration {row.iteration}: {metric} {console.number(row.decoded)}, {row.candidates} candidates")

    loop(task, LoopDecoder(**asked), told)


def _train(folder: RunFolder, out: Path, force: bool, show: Callable[[str], None]) -> None:
    """Learn from parallel text again. A system that the run made for itself is made again, too."""
    from rampion.apps.train import TrainTask, train
    from rampion.training.relevant import SetIteration

    config = folder.config
    name = str(config["recipe"])
    base, system = _text(config, "base_run"), _text(config, "system")
    task = TrainTask(
        corpus=str(config["corpus"]), out=out, recipe=name, features=str(config["features"]),
        reordering=str(config["reordering"]), fixed=_texts(config, "fixed"), base=Path(base) if base else None,
        settings=_changes(config, recipe_named(name, "sets").settings()), pairs=_number(config, "pairs"),
        beam=_number(config, "beam") or 0, options=_number(config, "options") or 0,
        system=Path(system) if system else None, pair=_text(config, "pair"), least=_number(config, "least") or 1,
        force=force,
    )  # fmt: skip

    def told(row: SetIteration) -> None:
        show(f"iteration {row.iteration}: train {row.train:.2f}, dev {row.dev:.2f}, test {row.test:.2f}")

    train(task, told)


def _versions(folder: RunFolder, again: RunFolder) -> list[str]:
    """Versions of programs and kinds of machine that are not the same."""
    then, now = ({**one.manifest, **one.manifest.get("packages", {})} for one in (folder, again))
    names = [*VERSIONS, *dict.fromkeys([*folder.manifest.get("packages", {}), *again.manifest.get("packages", {})])]
    return [
        f"{name} {_shown(then.get(name))} then, {_shown(now.get(name))} now"
        for name in names
        if then.get(name) != now.get(name)
    ]


def _shown(value: object) -> str:
    if value is None:
        return "none"
    return " ".join(map(str, value)) if isinstance(value, list) else str(value)


def _settings(folder: RunFolder, again: RunFolder) -> list[str]:
    """Settings that are not the same, such as those that another version of Rampion has added."""
    then, now = folder.config, again.config
    return [
        f"{name} {toml.value(then.get(name))} then, {toml.value(now.get(name))} now"
        for name in dict.fromkeys([*then, *now])
        if name not in PLACES and then.get(name) != now.get(name)
    ]


def _first_difference(folder: RunFolder, again: RunFolder) -> tuple[int, str | None]:
    """The number of rounds and iterations, and the first one whose figures differ."""
    rows = [
        [
            {name: value for name, value in event.items() if name not in CLOCKS}
            for event in one.events
            if event["event"] in ("round", "iteration")
        ]
        for one in (folder, again)
    ]
    for then, now in zip(*rows, strict=False):
        if then != now:
            names = [name for name in then if then[name] != now.get(name)]
            told = ", ".join(f"{name} {then[name]} then, {now.get(name)} now" for name in names[:3])
            kind = then["event"]
            return len(rows[0]), f"{kind} {then.get(kind)}: {told}"
    if len(rows[0]) != len(rows[1]):
        return len(rows[0]), f"{len(rows[0])} rounds then, {len(rows[1])} now"
    return len(rows[0]), None


def _weighed(folder: RunFolder, again: RunFolder) -> Weighed:
    """How the weights differ. Of runs of rampion train the files of all iterations are compared, byte by byte."""
    if (folder.path / "sets").is_dir():
        files = sorted((folder.path / "weights").glob("*.bin"))
        pairs = [(file, again.path / "weights" / file.name) for file in files]
        differ = sum(not there.exists() or _digest(file) != _digest(there) for file, there in pairs)
        return Weighed("files of weights", len(files), differ)
    one, other = weight_files.read(folder.weights), weight_files.read(again.weights)
    features, mine, theirs = one.features.union(other.features)
    pair = np.zeros((2, len(features)))
    pair[0][mine], pair[1][theirs] = one.vector, other.vector
    unlike = pair[0].view(np.int64) != pair[1].view(np.int64)
    most = float(np.abs(pair[0] - pair[1]).max(initial=0.0))
    return Weighed("weights", len(features), int(unlike.sum()), most)


def _digest(path: Path) -> bytes:
    with open(path, "rb") as file:
        return file_digest(file, "sha256").digest()
