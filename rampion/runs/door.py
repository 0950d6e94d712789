"""The only reader of the files of a run folder: it parses them and checks their types."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Any, NotRequired, TypedDict, TypeVar

from rampion.errors import InputError, StoreError
from rampion.training import loop, relevant
from rampion.typed import misfit

T = TypeVar("T")


class Input(TypedDict):
    """An input file: its path, size and hash."""

    path: str
    bytes: NotRequired[int]
    sha256: NotRequired[str]


Spent = TypedDict("Spent", {"CPU seconds": float, "memory": float})  # by the whole run


class Manifest(TypedDict):
    """What a run began with; the file holds more, such as what must be unchanged when the run is resumed."""

    rampion: str
    kernels: NotRequired[str]
    python: NotRequired[str]
    machine: NotRequired[str]
    packages: NotRequired[dict[str, str]]
    inputs: NotRequired[list[Input]]
    corpus: NotRequired[str]
    decoder: NotRequired[str | None]
    base: NotRequired[str | None]
    system: NotRequired[dict[str, str]]  # fingerprints of the parts of the decoder, to which the weights belong
    spent: NotRequired[Spent]


class Asked(TypedDict, total=False):
    """The settings that readers of a run use."""

    recipe: str
    metric: str
    alpha: float
    base: str
    policy: str
    lenient: bool
    lists: list[str]
    refs: list[str]
    columns: list[str]
    source: str
    corpus: str
    weights: str
    system: str
    base_run: str
    features: str
    reordering: str
    beam: int
    options: int
    iterations: int


class Sides(TypedDict):
    """Where weights stand before and after tuning, and after the last round."""

    before: loop.Standing
    after: loop.Standing
    last: loop.Standing


class HeldLine(TypedDict):
    """A held-out score and its interval."""

    name: str
    score: float
    low: float
    high: float
    note: str


class Held(TypedDict):
    """Held-out scores of the tuned weights and of the baselines."""

    metric: str
    how: str
    best: str
    gain: float
    p: float | None
    lines: list[HeldLine]


class OnLists(Sides):
    """The result of a run on lists."""

    metric: str
    signature: str
    round: int | None
    dev: Sides | None
    held: NotRequired[Held | None]


class OneOfMany(TypedDict):
    """The result of one of several runs on the same lists."""

    metric: str
    signature: str
    round: int | None
    tuned: float


class InALoop(TypedDict):
    """The result of a run with a decoder."""

    metric: str
    signature: str
    iteration: int


class OnSets(TypedDict):
    """The result of a run on relevant sets."""

    iteration: int
    dev: float
    test: float


class Kind(TypedDict):
    """What every event has."""

    event: str


class Stage(TypedDict):
    """A part of a demo."""

    stage: str
    seconds: float


EVENTS: dict[str, Any] = {
    "round": loop.Round,
    "iteration": loop.ListIteration | relevant.SetIteration,
    "begun": relevant.FirstPart,
    "done": OnLists | OneOfMany | InALoop | OnSets,
    "stage": Stage,
}


class Settings(dict[str, Any]):
    """The settings of a run; a missing one is an error."""

    def __init__(self, path: Path, text: str) -> None:
        try:
            found = tomllib.loads(text)
        except (ValueError, RecursionError) as error:
            raise StoreError(f"{path}: is damaged ({error}); put it back, or name another folder") from error
        super().__init__(held(path, found, Asked))
        self.path = path

    def __missing__(self, name: str) -> Any:
        raise StoreError(f"{self.path}: lacks {name}; name another run")


def manifest(path: Path, text: str) -> dict[str, Any]:
    """The manifest of a run."""
    return held(path, parsed(path, text), Manifest)


def events(path: Path, text: str) -> list[dict[str, Any]]:
    """The events in order; an incomplete last line is ignored."""
    found = []
    for number, line in enumerate(text.split("\n")[:-1], 1):
        where = f"{path}:{number}"
        event = held(where, parsed(where, line), dict[str, Any])
        kind = held(where, event, Kind)["event"]
        facts = {name: value for name, value in event.items() if name != "event"}
        held(where, facts, EVENTS.get(kind, dict[str, Any]))
        found.append(event)
    return found


def kept(path: Path, hint: Any) -> Any:
    """The value in a JSON file, if it fits the type."""
    try:
        text = path.read_bytes().decode(errors="replace")
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror}") from error
    return held(path, parsed(path, text), hint)


def parsed(where: object, text: str) -> Any:
    """The value of a JSON text."""
    try:
        return json.loads(text)
    except RecursionError as error:
        raise StoreError(f"{where}: is damaged (nested too deeply); name another folder") from error
    except ValueError as error:
        raise StoreError(f"{where}: is damaged ({error}); put it back, or name another folder") from error


def held(where: object, value: T, hint: Any) -> T:
    """The value, if it fits the type."""
    if wrong := misfit(value, hint):
        raise StoreError(f"{where}: {wrong}; put back what Rampion wrote, or name another folder")
    return value
