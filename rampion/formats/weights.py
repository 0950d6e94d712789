"""Weights: as text, dense `Name= v v v` and sparse `name v`; or, with a name in .bin, as a container.

Weights of a decoder name the parts that they belong to, in the header of a container or in a comment `# of blocks=…`.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from rampion import _kernels
from rampion.arrays import Array, ends
from rampion.errors import FormatError, StoreError
from rampion.formats import configs, container
from rampion.formats.files import FilePath, UnwritableError, head, newlines, not_utf8, replacing, shown
from rampion.schema import Found, Schema, reals, strings
from rampion.store.features import Features, Weights
from rampion.store.groups import groups_of
from rampion.store.names import Names
from rampion.store.text import Texts
from rampion.typed import misfit

_OF, _PART = "# of ", re.compile(r"([a-z]+)=([0-9a-f]{16})")
_CHUNK = 1 << 16  # weights that are converted to text at a time
_BLANK = np.isin(np.arange(256), list(b" \t\n\v\f\r"))


def _wide(found: Found) -> str | None:
    names, width = found.sizes["names"], found.sizes["width"]
    return f"{width:,} of {names:,} features are dense" if width > names else None


SCHEMA = Schema("weights", strings("names", "blob", "bounds") | {"values": reals("names")}, {"width": int}, also=_wide)


def read(path: FilePath) -> Weights:
    """The weights of either form, told apart by the first bytes."""
    return _read_binary(path) if head(path).startswith(container.NAME) else _Text(path).weights()


def write(path: FilePath, weights: Weights) -> None:
    """Write text, or the binary form if the name ends in .bin."""
    if Path(path).suffix == ".bin":
        names = weights.features.names
        arrays: dict[str, Array] = {"blob": names.blob, "bounds": names.bounds, "values": weights.vector}
        system = {"of": weights.system} if weights.system else {}
        container.write(path, SCHEMA.kind, arrays, {"width": weights.features.width, **system})
        return
    with replacing(path) as file:
        if weights.system:
            file.write(f"{_OF}{' '.join(f'{part}={name}' for part, name in weights.system.items())}\n".encode())
        file.writelines(_lines(weights))


class _Text:
    """The lines of a text file: the kernel reads sparse weights, and Python every other line."""

    def __init__(self, path: FilePath) -> None:
        self.path = path
        self.dense: dict[str, list[float]] = {}
        self.sparse = Names()
        self.values: list[NDArray[np.float64]] = []
        self.system: dict[str, str] = {}
        for first, block in configs.blocks(path):
            self._take(first, block)

    def weights(self) -> Weights:
        """The dense weights, then the sparse ones."""
        dense = [
            (name if len(values) == 1 else f"{name}[{place}]", value)
            for name, values in self.dense.items()
            for place, value in enumerate(values)
        ]
        names = Texts.from_strings(name for name, _ in dense)
        for name, count in Counter(name for name, _ in dense).items():
            if count > 1 or self.sparse.find(name) is not None:
                raise FormatError(f"{shown(self.path)}: feature {name} has two weights; keep one of them")
        if not dense and not len(self.sparse):
            raise FormatError(f"{shown(self.path)}: holds no weights")
        vector = np.concatenate([np.array([value for _, value in dense]), *self.values])
        return Weights(Features(Texts.join([names, self.sparse.texts()]), len(dense)), vector, self.system)

    def _take(self, first: int, block: bytes) -> None:
        """The weights of a block of lines; `first` is the number of its first line."""
        try:
            block.decode()
        except UnicodeDecodeError:
            for number, line in enumerate(block.split(b"\n"), first):
                try:
                    line.decode()
                except UnicodeDecodeError as mistake:
                    raise not_utf8(self.path, number, mistake) from mistake
        data, count = np.frombuffer(block, np.uint8), newlines(block)
        spans, values, state = np.empty((count, 3), np.int64), np.empty(count), np.array([0, first])
        while state[0] < len(block):
            found = _kernels.weigh_lines(data, spans, values, state)
            self._enter(data, spans[:found], values[:found])
            start, number = state.tolist()
            if start < len(block):
                state[:] = block.index(b"\n", start) + 1, number + 1
                self._line(number, block[start : state[0]])

    def _enter(self, data: NDArray[np.uint8], spans: NDArray[np.int64], values: NDArray[np.float64]) -> None:
        """Weights of sparse features that have none yet."""
        bounds = ends(spans[:, 1] - spans[:, 0])
        names, before = Texts(np.empty(bounds[-1], np.uint8), bounds), len(self.sparse)
        _kernels.cut(data, spans, 0, names.blob, names.bounds)
        strange = self.sparse.intern_all(names) != np.arange(before, before + len(names))
        if strange.any():
            row = int(strange.argmax())
            again = f"feature {names[row]} has a weight already; keep one"
            raise FormatError.at(shown(self.path), int(spans[row, 2]), again)
        self.values.append(values.copy())

    def _line(self, number: int, line: bytes) -> None:
        """A line that the kernel does not read."""
        name, *cells = [cell.decode() for cell in line.split()] or ["#"]
        if name.startswith("#"):
            if line.startswith(_OF.encode()):
                self.system |= {found[1]: found[2] for found in map(_PART.fullmatch, cells[1:]) if found}
            return
        values = [_value(self.path, number, cell) for cell in cells]
        if name.endswith("=") and len(name) > 1 and values:
            self.dense.setdefault(name[:-1], []).extend(values)
        elif len(values) == 1 and not name.endswith("="):
            raw = np.frombuffer(name.encode(), np.uint8)
            self._enter(raw, np.array([[0, len(raw), number]]), np.array(values))
        else:
            text = line.decode().strip()[:60]
            raise FormatError.at(shown(self.path), number, f"{text!r} is no weight; expected 'Name= v v v' or 'name v'")


def _value(path: FilePath, line: int, cell: str) -> float:
    try:
        value = math.nan if "_" in cell else float(cell)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise FormatError.at(shown(path), line, f"{cell[:60]!r} is not a finite number; mend the weight")
    return value


def _read_binary(path: FilePath) -> Weights:
    arrays, meta = container.read(path, SCHEMA)
    names = Texts(arrays["blob"], arrays["bounds"])
    if len(Names.of(names)) != len(names):
        raise StoreError(f"{path}: a name appears twice; write it again")
    if wrong := misfit(of := meta.get("of", {}), dict[str, str], "of"):
        raise StoreError(f"{path}: {wrong}; write it again")
    return Weights(Features(names, meta["width"]), arrays["values"], of)


def _lines(weights: Weights) -> Iterator[bytes]:
    names, width = weights.features.names, weights.features.width
    values = weights.vector[:width].tolist()
    for label, first, size in dict.fromkeys(groups_of(names.take(np.arange(width)))):
        yield f"{_written(label)}= {' '.join(map(repr, values[first : first + size]))}\n".encode()
    if (bad := _unwritable(names.part(width, len(names)))) >= 0:
        _written(names[width + bad])
    for start in range(width, len(names), _CHUNK):
        end = min(start + _CHUNK, len(names))
        rows = zip(names.part(start, end), weights.vector[start:end].tolist(), strict=True)
        yield "".join([f"{name} {value!r}\n" for name, value in rows]).encode()


def _unwritable(names: Texts) -> int:
    """The first name that cannot stand in a text file, or -1."""
    starts, stops = names.bounds[:-1], names.bounds[1:]
    blanks = np.searchsorted(np.flatnonzero(_BLANK[names.blob]), names.bounds)
    bad = (starts == stops) | (np.diff(blanks) > 0)
    padded = np.append(names.blob, np.uint8(0))
    bad |= (padded[starts] == ord("#")) | (padded[stops - 1] == ord("="))
    return int(bad.argmax()) if bad.any() else -1


def spellable(weights: Weights) -> bool:
    """Whether a text file can hold the names of all features."""
    names, width = weights.features.names, weights.features.width
    labels = {label for label, _, _ in groups_of(names.take(np.arange(width)))}
    return all(map(_stands, labels)) and _unwritable(names.part(width, len(names))) < 0


def _stands(name: str) -> bool:
    return name.encode().split() == [name.encode()] and not name.startswith("#") and not name.endswith("=")


def _written(name: str) -> str:
    if not _stands(name):
        raise UnwritableError(
            f"the feature name {name!r} cannot be written to a text file of weights; write a .bin file"
        )
    return name
