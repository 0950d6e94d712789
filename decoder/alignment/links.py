"""Word alignments: symmetrising and comparing them, and reading them from files and other programs."""

from __future__ import annotations

import re
import subprocess
import tempfile
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import numpy as np
from rampion.decoder import _kernels
from rampion.decoder.text.tokenised import Tokenised

from rampion.arrays import Ids, Offsets, Places, ends, span_of_each, taken
from rampion.errors import FormatError, InputError, RecipeError
from rampion.formats.files import FilePath, lines, replacing, shown
from rampion.store.text import Texts

METHODS = ("intersection", "union", "grow-diag", "grow-diag-final-and")
_POINTS = re.compile(r"(?:[0-9]{1,5}-[0-9]{1,5}(?:\s+|$))*", re.ASCII)
_BITS = 17
_FILES = ("source", "target", "forward", "backward")
UNEVEN = "{} source sentences cannot be aligned with {} target sentences; expected a target for every source sentence"


class Words(NamedTuple):
    """One side of a corpus as word ids. Sentence s is words[bounds[s]:bounds[s + 1]]."""

    words: Ids
    bounds: Offsets


@dataclass(frozen=True, slots=True, eq=False)
class Alignment:
    """Points of each pair of sentences, ascending: sources[p] with targets[p] for p from bounds[s] to bounds[s + 1]."""

    bounds: Offsets
    sources: Places
    targets: Places

    def __len__(self) -> int:
        return len(self.bounds) - 1

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Alignment) and all(
            np.array_equal(getattr(self, name), getattr(other, name)) for name in ("bounds", "sources", "targets")
        )

    def __getitem__(self, sentence: int) -> list[tuple[int, int]]:
        inside = slice(*self.bounds[sentence : sentence + 2].tolist())
        return list(zip(self.sources[inside].tolist(), self.targets[inside].tolist(), strict=True))

    @classmethod
    def of(cls, points: Sequence[Sequence[tuple[int, int]]]) -> Alignment:
        ordered = [sorted(set(own)) for own in points]
        flat = np.array([point for own in ordered for point in own], np.int32).reshape(-1, 2)
        return cls(ends([len(own) for own in ordered]), flat[:, 0].copy(), flat[:, 1].copy())

    def take(self, rows: Offsets) -> Alignment:
        """The points of these pairs of sentences, in that order."""
        places, bounds = taken(self.bounds, rows)
        return Alignment(bounds, self.sources[places], self.targets[places])

    def transposed(self) -> Alignment:
        """The alignment with source and target exchanged."""
        owners = span_of_each(self.bounds)
        order = np.lexsort((self.sources, self.targets, owners))
        return Alignment(self.bounds, self.targets[order], self.sources[order])


def symmetrise(forward: Alignment, backward: Alignment, method: str = METHODS[-1]) -> Alignment:
    """Combine two alignments: their intersection, their union, or the intersection grown by neighbours in the union.

    A neighbour is added if its source or target word has no point yet. With final-and, at last points are added if both
    words have none. A round uses only the points from before the round, so source and target are treated alike.
    """
    if method not in METHODS:
        raise RecipeError(f"symmetrisation {method!r}: expected one of {', '.join(METHODS)}")
    if len(forward) != len(backward):
        raise InputError(f"one alignment has {len(forward)} sentences, the other {len(backward)}; expected the same")
    extent = [
        1 + max(int(getattr(one, side).max(initial=-1)) for one in (forward, backward))
        for side in ("sources", "targets")
    ]
    room = len(forward.sources) + len(backward.sources)
    bounds, sources, targets = np.empty(len(forward) + 1, np.int64), np.empty(room, np.int32), np.empty(room, np.int32)
    rows, columns = (np.zeros(size, np.uint8) for size in extent)
    grid = np.zeros((extent[0] + 2) * (extent[1] + 2), np.uint8)
    step = METHODS.index(method)
    _kernels.symmetrise(forward, backward, step, extent[1] + 2, grid, rows, columns, bounds, sources, targets)
    return Alignment(bounds, sources[: bounds[-1]].copy(), targets[: bounds[-1]].copy())


@dataclass(frozen=True, slots=True)
class Agreement:
    """The agreement of an alignment with the true one."""

    precision: float
    recall: float

    @property
    def error_rate(self) -> float:
        """Alignment error rate with sure points only: 1 - F1 (Och and Ney 2003)."""
        total = self.precision + self.recall
        return 1.0 - 2.0 * self.precision * self.recall / total if total else 1.0


def compare(found: Alignment, truth: Alignment) -> Agreement:
    """Precision and recall of points over all sentences."""
    common = len(symmetrise(found, truth, "intersection").sources)
    return Agreement(common / max(1, len(found.sources)), common / max(1, len(truth.sources)))


def read(path: FilePath, lengths: tuple[Offsets, Offsets] | None = None) -> Alignment:
    """Read an alignment in Pharaoh's format: points `source-target`, counted from 0, a line for each pair of sentences.

    `lengths` are the lengths of the source and target sentences (see `lengths_of`), which the points must fit.
    """
    return parsed(lines(path), shown(path), lengths)


def parsed(
    numbered: Iterable[tuple[int, str]], where: str, lengths: tuple[Offsets, Offsets] | None = None
) -> Alignment:
    """Parse numbered lines. `where` is the name of the file, for messages."""
    numbers, texts = list[int](), list[str]()
    for line, text in numbered:
        if not _POINTS.fullmatch(text):
            wrong = next((point for point in text.split() if not _POINTS.fullmatch(point)), text)
            raise FormatError.at(where, line, f"{wrong[:60]!r} is no point; expected 'source-target', for example 0-1")
        numbers.append(line)
        texts.append(text)
    if lengths and len(texts) != len(lengths[0]):
        raise FormatError(f"{where}: has {len(texts)} lines for {len(lengths[0])} pairs of sentences; expected as many")
    flat = np.array(" ".join(texts).replace("-", " ").split(), np.int64).reshape(-1, 2)
    owners = np.repeat(np.arange(len(texts)), [text.count("-") for text in texts])
    keys = np.unique(owners << 2 * _BITS | flat[:, 0] << _BITS | flat[:, 1])
    owners, sources, targets = keys >> 2 * _BITS, keys >> _BITS & (1 << _BITS) - 1, keys & (1 << _BITS) - 1
    if lengths:
        for bad in np.flatnonzero((sources >= lengths[0][owners]) | (targets >= lengths[1][owners]))[:1]:
            own = owners[bad]
            found = f"point {sources[bad]}-{targets[bad]} is outside the sentences"
            sizes = f"{lengths[0][own]} source and {lengths[1][own]} target words, places from 0"
            raise FormatError.at(where, numbers[own], f"{found}, which have {sizes}; is it of another corpus?")
    bounds = ends(np.bincount(owners, minlength=len(texts)))
    return Alignment(bounds, sources.astype(np.int32), targets.astype(np.int32))


def write(path: FilePath, alignment: Alignment) -> None:
    """Write the alignment in Pharaoh's format."""
    points = [f"{i}-{j}" for i, j in zip(alignment.sources.tolist(), alignment.targets.tolist(), strict=True)]
    with replacing(path) as file:
        file.writelines(
            " ".join(points[first:last]).encode() + b"\n" for first, last in pairwise(alignment.bounds.tolist())
        )


def external(
    source: Texts, target: Texts, *, command: str = "eflomal-align", method: str = METHODS[-1], timeout: float = 86400.0
) -> Alignment:
    """Align with another program, which is run like eflomal-align: with options -s, -t, -f and -r, and four files."""
    lengths = lengths_of(source), lengths_of(target)
    if len(source) != len(target):
        raise InputError(UNEVEN.format(len(source), len(target)))
    with tempfile.TemporaryDirectory(prefix="rampion-") as folder:
        paths = {flag: str(Path(folder) / name) for flag, name in zip("stfr", _FILES, strict=True)}
        for flag, texts in (("s", source), ("t", target)):
            Path(paths[flag]).write_text("".join(f"{text}\n" for text in texts), "utf-8", newline="\n")
        arguments = [command, *(part for flag, path in paths.items() for part in (f"-{flag}", path))]
        try:
            done = subprocess.run(arguments, capture_output=True, timeout=timeout)
        except FileNotFoundError as error:
            raise InputError(f"{command}: there is no such program; install it (pip install eflomal)") from error
        except OSError as error:
            raise InputError(f"{command}: cannot be run: {error.strerror}") from error
        except subprocess.TimeoutExpired as late:
            told = _tail(late.stderr or b"")
            raise InputError(f"{command}: did not end within {timeout:g} s; allow it more{told}") from late
        if done.returncode:
            raise InputError(f"{command}: ended with code {done.returncode}{_tail(done.stderr)}")
        for flag in "fr":
            if not Path(paths[flag]).exists():
                raise InputError(f"{command}: has written no {_FILES['stfr'.index(flag)]}{_tail(done.stderr)}")
        forward, backward = (read(paths[flag], lengths) for flag in "fr")
    return symmetrise(forward, backward, method)


def _tail(stderr: bytes) -> str:
    said = stderr.decode(errors="replace").strip().splitlines()[-3:]
    return "; it wrote: " + " / ".join(line.strip()[:200] for line in said) if said else ", and wrote nothing to stderr"


def lengths_of(texts: Texts) -> Offsets:
    """The number of words of each text."""
    return Tokenised.of(texts).lengths
