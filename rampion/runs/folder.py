"""A run is a folder: config.toml (what was asked), manifest.json (with what), events.jsonl (what happened)."""

from __future__ import annotations

import hashlib
import json
import os
import platform
import shutil
import tomllib
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from time import perf_counter, process_time
from typing import Any

import numpy as np

from rampion import __version__, _kernels
from rampion.errors import InputError
from rampion.formats import toml
from rampion.formats import weights as weight_files
from rampion.formats.files import replacing
from rampion.runs import door
from rampion.runs.lock import made
from rampion.store.features import Weights
from rampion.system import peak
from rampion.timing import Clock
from rampion.training.loop import Round

MANY = 100_000  # from this number on weights are written as a binary file, which is read ten times as fast as text
FILES = (
    "manifest.json",
    "config.toml",
    "events.jsonl",
    "weights.txt",
    "weights.bin",
    "weights.last.txt",
    "weights.last.bin",
)
OTHERWISE = "name another folder, or overwrite it (--force)"
PACKAGES = ("numpy", "scipy", "sacrebleu", "rapidfuzz", "cython")


@dataclass(frozen=True, slots=True)
class RunFolder:
    """A run folder. Files are written whole or not at all, events line by line as they happen, the weights last."""

    path: Path

    @classmethod
    def begin(
        cls, path: Path, config: Mapping[str, Any], inputs: Iterable[str], facts: Mapping[str, Any] | None = None
    ) -> RunFolder:
        """Begin a run in the folder; `facts` go into its manifest."""
        made(path)
        folder = cls(path)
        folder._write("config.toml", toml.written(config))
        folder._write("events.jsonl", "")
        told = {**manifest(inputs), **(facts or {})}
        folder._write("manifest.json", json.dumps(told, indent=2, ensure_ascii=False) + "\n")
        return folder

    @classmethod
    def resume(
        cls,
        path: Path,
        config: Mapping[str, Any],
        inputs: Iterable[str],
        facts: Mapping[str, Any],
        free: Collection[str],
    ) -> RunFolder:
        """Resume the run, which must have the same settings except for the free ones; begin one if there is none."""
        folder = cls(path)
        if not folder.begun:
            return cls.begin(path, config, inputs, facts)
        folder.prove(config, facts, free)
        return folder

    def refuse_begun(self) -> None:
        """Raise InputError if the folder holds a run with results."""
        if self.holds_results:
            raise InputError(
                f"{self.path}: holds a run already; continue it (--resume), overwrite it (--force), or name another "
                "folder"
            )

    @property
    def begun(self) -> bool:
        return (self.path / "manifest.json").exists()

    @property
    def holds_results(self) -> bool:
        """Whether overwriting the run would lose results: it has begun and has events."""
        return self.begun and (bool(self.events) or any(self.path.glob("lists/*.store")))

    def prove(self, config: Mapping[str, Any], facts: Mapping[str, Any], free: Collection[str]) -> None:
        """Raise InputError unless the run was begun with this; settings that are free may have changed."""
        if unlike := self._unlike(config, facts, free):
            raise InputError(f"{self.path}: was begun {unlike}; take that again, or name another folder")

    def refuse_other(self, config: Mapping[str, Any], inputs: Iterable[str], free: Collection[str] = ()) -> None:
        """Raise InputError if something is there that would be lost: not if the same run would be done again."""
        if not self.begun:
            if there := sorted(name for name in FILES if (self.path / name).exists()):
                raise InputError(f"{self.path}: holds {there[0]}, which is of no run here; {OTHERWISE}")
            return
        if unlike := self._unlike(config, {}, free):
            raise InputError(f"{self.path}: holds another run, which was begun {unlike}; {OTHERWISE}")
        if changed := self.changed(path for path in inputs if path != "-"):
            raise InputError(f"{self.path}: holds a run of other inputs ({changed}); {OTHERWISE}")

    def _unlike(self, config: Mapping[str, Any], facts: Mapping[str, Any], free: Collection[str]) -> str:
        """The first difference from the run as it began; "" if there is none."""
        manifest = self.manifest
        if manifest["rampion"] != __version__:
            return f"by Rampion {manifest['rampion']}, and this is {__version__}"
        found, wanted = self.config, tomllib.loads(toml.written(config))
        for name in {**found, **wanted}:
            if name not in free and found.get(name) != wanted.get(name):
                was, now = (toml.value(one.get(name)) for one in (found, wanted))
                return f"with {name} {was}, not {now}"
        return next((f"with another {name}" for name in facts if manifest.get(name) != facts[name]), "")

    def remember(self, facts: Mapping[str, Any]) -> None:
        """Store facts that are known only after reading the inputs; when the run is resumed, compare them instead."""
        known = self.manifest
        if other := next((name for name in facts if known.get(name, facts[name]) != facts[name]), None):
            raise InputError(f"{self.path}: was begun with another {other}; take that again, or name another folder")
        if facts.keys() - known.keys():
            self._write("manifest.json", json.dumps({**known, **facts}, indent=2, ensure_ascii=False) + "\n")

    def clear(self) -> None:
        """Remove a run. Its results stay until there are new ones; so does its system, which is checked before use."""
        for name in ("manifest.json", "config.toml", "events.jsonl"):
            (self.path / name).unlink(missing_ok=True)
        for name in ("weights", "lists", "sets"):
            shutil.rmtree(self.path / name, ignore_errors=True)

    def changed(self, paths: Iterable[str]) -> str:
        """What is wrong with the first input that has changed; "" if none has."""
        known = {one["path"]: one for one in self.manifest.get("inputs", [])}
        for path in paths:
            if not os.path.isfile(path):
                return f"{path} cannot be read again"
            if fingerprint(path) != known.get(path):
                return f"{path} has changed since the run read it"
        return ""

    @property
    def config(self) -> door.Settings:
        """The settings; a missing one is an error."""
        return door.Settings(self.path / "config.toml", self._read("config.toml"))

    @property
    def manifest(self) -> dict[str, Any]:
        return door.manifest(self.path / "manifest.json", self._read("manifest.json"))

    @property
    def events(self) -> list[dict[str, Any]]:
        """The events; an incomplete last line is ignored."""
        return door.events(self.path / "events.jsonl", self._read("events.jsonl"))

    def rewrite(self, events: Iterable[Mapping[str, Any]]) -> None:
        """Replace the list of events."""
        self._write("events.jsonl", "".join(map(_event, events)))

    @property
    def weights(self) -> Path:
        """The weights of a finished run."""
        binary = self.path / "weights.bin"
        return binary if binary.exists() else self.path / "weights.txt"

    def home_of(self, weights: Weights, stem: str = "weights") -> Path:
        """The file for these weights: readable text, or binary for many weights and for names that text cannot hold."""
        binary = len(weights) >= MANY or not weight_files.spellable(weights)
        return self.path / f"{stem}.{'bin' if binary else 'txt'}"

    def event(self, kind: str, facts: Mapping[str, Any]) -> None:
        events = self.path / "events.jsonl"
        try:
            with open(events, "a", encoding="utf-8", errors="replace") as file:
                file.write(_event({"event": kind, **facts}))
                file.flush()
                os.fsync(file.fileno())
        except OSError as error:
            raise InputError(f"{events}: cannot be written: {error.strerror}") from error

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """Log how long a stage took, and on how many processors, the first time that it is done."""
        begun, clock = perf_counter(), Clock()
        yield
        if name not in {event.get("stage") for event in self.events}:
            self.event("stage", {"stage": name, "seconds": perf_counter() - begun, "cores": clock.cores})

    def round(self, row: Round) -> None:
        self.event("round", asdict(row))

    def keep(self, row: Round, weights: Weights) -> None:
        """The weights of a round, as weights/NNN.bin."""
        (self.path / "weights").mkdir(exist_ok=True)
        weight_files.write(self.path / "weights" / f"{row.round:03}.bin", weights)

    def finish(self, weights: Weights, last: Weights, facts: Mapping[str, Any]) -> None:
        """Write the chosen weights, and those of the last round if they differ."""
        system = self.manifest.get("system")
        for stem, found in (("weights.last", None if last is weights else last), ("weights", weights)):
            home = self.home_of(found, stem) if found is not None else None
            for other in {self.path / f"{stem}.{ending}" for ending in ("bin", "txt")} - {home}:
                other.unlink(missing_ok=True)
            if found is not None and home:
                weight_files.write(home, Weights(found.features, found.vector, system))
        told = {**self.manifest, "spent": {"CPU seconds": process_time(), "memory": peak()}}
        self._write("manifest.json", json.dumps(told, indent=2, ensure_ascii=False) + "\n")
        self.event("done", facts)

    def _read(self, name: str) -> str:
        try:
            return (self.path / name).read_text("utf-8", errors="replace")
        except OSError as error:
            raise InputError(f"{self.path / name}: cannot be read: {error.strerror}") from error

    def _write(self, name: str, text: str) -> None:
        with replacing(self.path / name) as file:
            file.write(text.encode(errors="replace"))  # file names need not be valid Unicode


def manifest(inputs: Iterable[str]) -> dict[str, Any]:
    """Versions, kernels and machine kind, and what the input files held."""
    return {
        "rampion": __version__,
        "kernels": _kernels.NAME,
        "python": platform.python_version(),
        "machine": f"{platform.system()} {platform.machine()}",
        "simd": np.show_config(mode="dicts").get("SIMD Extensions", {}).get("found", []),
        "packages": {name: found for name in PACKAGES if (found := _version(name))},
        "inputs": [fingerprint(path) for path in inputs],
    }


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def fingerprint(path: str) -> dict[str, Any]:
    """The entry of an input file in the manifest."""
    if path == "-" or not os.path.isfile(path):
        return {"path": path}
    with open(path, "rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    return {"path": path, "bytes": Path(path).stat().st_size, "sha256": digest}


def _event(facts: Mapping[str, Any]) -> str:
    return json.dumps(facts, ensure_ascii=False) + "\n"
