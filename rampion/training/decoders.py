"""Decoders outside of Rampion: the lists of a file, a Python function, a command that writes n-best lists.

Every decoder must return a list for every segment, in the order of the segments, with at most k candidates.
"""

from __future__ import annotations

import os
import shlex
import subprocess
import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from rampion import system
from rampion.arrays import ends
from rampion.errors import FormatError, InputError
from rampion.formats import read_lists
from rampion.formats import weights as weights_format
from rampion.formats.files import replacing
from rampion.protocols import Decoder
from rampion.store.candidates import Candidates
from rampion.store.features import Weights
from rampion.store.gaps import MARK
from rampion.store.text import Texts

TAIL = 300  # characters shown of the stderr of a failed command


def decoded(decoder: Decoder, segments: Texts, weights: Weights, k: int) -> Candidates:
    """The decoder's lists, checked."""
    lists = decoder.decode(segments, weights, k)
    if len(lists.segments) != len(segments):
        listed = set(lists.segments)
        missing = next((s for s in range(len(segments)) if str(s) not in listed), len(listed))
        raise InputError(
            f"the decoder answered with {len(lists.segments)} lists for {len(segments)} segments, without one for "
            f"segment {missing}; expected one for each, in their order (an empty one where it found nothing)"
        )
    sizes = np.diff(lists.bounds)
    if sizes.max(initial=0) > k:
        s = int(sizes.argmax())
        raise InputError(f"the decoder listed {sizes[s]} candidates for segment {s}; at most k = {k} were asked for")
    return lists


@dataclass(frozen=True, slots=True)
class FixedLists:
    """A decoder that always returns the same lists: the first k candidates of each list of a file."""

    candidates: Candidates

    def decode(self, segments: Texts, weights: Weights, k: int) -> Candidates:
        short = self.candidates.rank() < k
        return self.candidates if short.all() else self.candidates.keep(short)


Answer = Iterable[tuple[str, Mapping[str, float | Sequence[float]]]]


@dataclass(frozen=True, slots=True)
class Function:
    """A decoder that calls a Python function for each segment; it yields candidates as texts with features."""

    function: Callable[[str, Mapping[str, float], int], Answer]

    def decode(self, segments: Texts, weights: Weights, k: int) -> Candidates:
        def record(s: int, segment: str) -> dict[str, Any]:
            answer = [(text, dict(feats)) for text, feats in self.function(segment, weights, k)]
            for text, feats in answer:
                _refuse_gaps(s, text, feats)
            return {"id": str(s), "hyps": [{"text": text, "feats": feats} for text, feats in answer]}

        return Candidates.from_records(record(s, segment) for s, segment in enumerate(segments))


@dataclass(frozen=True, slots=True)
class Command:
    """A decoder that runs a program, which reads weights and source segments and writes n-best lists, in any format.

    In the command {weights}, {source}, {k} and {nbest} stand for the weights file, the file of segments (a line each),
    the length of the lists, and the file to write. Without {source} the segments come on stdin; without {nbest} the
    lists are read from stdout. Every segment needs a candidate. The command runs without a shell. If it fails or takes
    too long, it is tried again up to `retries` times.
    """

    command: str
    timeout: float | None = None  # seconds
    retries: int = 0

    def decode(self, segments: Texts, weights: Weights, k: int) -> Candidates:
        if broken := [s for s, segment in enumerate(segments) if "\n" in segment]:
            raise InputError(f"segment {broken[0]} has a line break, so that a command cannot be given it as a line")
        with tempfile.TemporaryDirectory(prefix="rampion-") as folder:
            return self._run(Path(folder), segments, weights, k)

    def _run(self, folder: Path, segments: Texts, weights: Weights, k: int) -> Candidates:
        places = {"weights": folder / "weights.txt", "source": folder / "source.txt", "nbest": folder / "nbest"}
        weights_format.write(places["weights"], weights)
        with replacing(places["source"]) as file:
            file.writelines(f"{segment}\n".encode() for segment in segments)
        arguments = self._arguments({name: str(path) for name, path in places.items()} | {"k": str(k)})
        for _ in range(self.retries + 1):
            places["nbest"].unlink(missing_ok=True)
            trouble = self._try(arguments, places, folder / "stderr")
            if not trouble:
                return _lists(places["nbest"], len(segments), self.command)
        tries = f" (tried {self.retries + 1} times)" if self.retries else ""
        raise InputError(f"the decoder command {arguments[0]} {trouble}{tries}{_last_words(folder / 'stderr')}")

    def _arguments(self, values: Mapping[str, str]) -> list[str]:
        try:
            arguments = shlex.split(self.command)
        except ValueError as error:
            raise InputError(f"the decoder command {self.command!r} cannot be split: {error}") from error
        if not arguments:
            raise InputError("the decoder command is empty; expected a program and its arguments")
        for name, value in values.items():
            arguments = [argument.replace(f"{{{name}}}", value) for argument in arguments]
        return arguments

    def _try(self, arguments: Sequence[str], places: Mapping[str, Path], errors: Path) -> str:
        """Run it once, and return what went wrong, or ""."""
        quiet = places["nbest"] if "{nbest}" not in self.command else os.devnull
        try:
            with open(places["source"], "rb") as source, open(quiet, "wb") as out, open(errors, "wb") as said:
                process = subprocess.Popen(arguments, stdin=source, stdout=out, stderr=said, start_new_session=True)
        except OSError as error:
            return f"cannot be started: {error.strerror}"
        try:
            code = process.wait(self.timeout)
        except subprocess.TimeoutExpired:
            return f"did not end within {self.timeout:g} seconds"
        finally:
            system.end(process)  # and all processes that it started
            process.wait()
        if code:
            return f"was killed by signal {-code}" if code < 0 else f"failed with exit code {code}"
        return "" if places["nbest"].exists() else "ended without writing its lists"


def _refuse_gaps(segment: int, text: str, feats: Mapping[str, float | Sequence[float]]) -> None:
    """Raise InputError if a value is infinite or NaN. Readers of lists refuse what is no number at all."""
    for name, value in feats.items():
        numbers = value if isinstance(value, Sequence) else [value]
        if not all(np.isfinite(one) for one in numbers if isinstance(one, float)):
            raise InputError(
                f"segment {segment}, candidate {text[:40]!r}: {name} is {value}; a decoder must give finite numbers"
            )


def _last_words(errors: Path) -> str:
    """The end of what a command wrote to stderr."""
    if not errors.exists():
        return ""
    said = " ".join(errors.read_bytes()[-4 * TAIL :].decode(errors="replace").split())
    return f"; stderr ended with: {said[-TAIL:]}" if said else "; it wrote nothing to stderr"


def _lists(path: Path, count: int, command: str) -> Candidates:
    """The lists of segments 0 to count - 1."""
    try:
        files = read_lists([path])
    except InputError as error:
        raise InputError(f"the lists of the decoder command {command!r}: {_placed(error, path)}") from error
    lists = Candidates.from_rows(files.names, files.runs)[0]
    if gap := next((name for name in lists.features.names if name.endswith(MARK)), None):
        raise InputError(
            f"the decoder command {command!r} listed candidates without a value of {gap.removesuffix(MARK)} (NaN or "
            "null); a decoder must give every feature a value"
        )
    places = {str(s): s for s in range(count)}
    spans = [np.zeros(0, np.int64)] * count
    for name, first, last in zip(lists.segments, lists.bounds[:-1], lists.bounds[1:], strict=True):
        if name not in places:
            raise InputError(
                f"the decoder command {command!r} listed candidates of segment {name!r}; it was given the segments 0 "
                f"to {count - 1}"
            )
        spans[places[name]] = np.arange(first, last)
    if missing := [s for s, span in enumerate(spans) if not len(span)]:
        raise InputError(
            f"the decoder command {command!r} listed nothing for {len(missing)} of {count} segments, the first of them "
            f"segment {missing[0]}; every segment needs a candidate"
        )
    bounds = ends([len(span) for span in spans])
    return lists.take(np.concatenate([np.zeros(0, np.int64), *spans]), bounds, Texts.from_strings(places))


def _placed(error: InputError, path: Path) -> str:
    """The error and its place by segment, because the file no longer exists when a user reads the message."""
    if not isinstance(error, FormatError) or error.line is None:
        return str(error)
    with open(path, "rb") as file:
        line = next(islice(file, error.line - 1, None), b"").decode(errors="replace")
    segment, bar, _ = line.partition(" ||| ")
    place = f"of segment {segment}" if bar else repr(line[:60])
    return f"line {error.line}, {place}: {error.message}"
