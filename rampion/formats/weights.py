"""Weights: as text, dense `Name= v v v` and sparse `name v`; or, with a name in .bin, as a container."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from rampion.errors import FormatError, InputError, StoreError
from rampion.formats import container
from rampion.formats.files import FilePath, head, lines, replacing, shown
from rampion.store.features import Features, Weights
from rampion.store.groups import groups_of
from rampion.store.text import Texts

KIND = "weights"


def read(path: FilePath) -> Weights:
    """The weights of either form, told apart by the first bytes."""
    return _read_binary(path) if head(path).startswith(container.NAME) else _read_text(path)


def write(path: FilePath, weights: Weights) -> None:
    """Write text, or the binary form if the name ends in .bin."""
    if Path(path).suffix == ".bin":
        names = weights.features.names
        arrays: dict[str, container.Array] = {"blob": names.blob, "bounds": names.bounds, "values": weights.vector}
        container.write(path, KIND, arrays, {"width": weights.features.width})
        return
    with replacing(path) as file:
        file.writelines(line.encode() for line in _lines(weights))


def _read_text(path: FilePath) -> Weights:
    dense: dict[str, list[float]] = {}
    sparse: dict[str, float] = {}
    for line, text in lines(path):
        if not text or text.startswith("#"):
            continue
        name, *cells = text.split()
        values = [_value(path, line, cell) for cell in cells]
        if name.endswith("=") and len(name) > 1 and values:
            dense.setdefault(name[:-1], []).extend(values)
        elif len(values) == 1 and not name.endswith("="):
            if name in sparse:
                raise FormatError.at(shown(path), line, f"feature {name} has a weight already; keep one")
            sparse[name] = values[0]
        else:
            raise FormatError.at(shown(path), line, f"{text[:60]!r} is no weight; expected 'Name= v v v' or 'name v'")
    features = [
        (name if len(values) == 1 else f"{name}[{place}]", value)
        for name, values in dense.items()
        for place, value in enumerate(values)
    ]
    width = len(features)
    features += sparse.items()
    found = dict(features)
    for name, count in Counter(name for name, _ in features).items():
        if count > 1:
            raise FormatError(f"{shown(path)}: feature {name} has two weights; keep one of them")
    if not found:
        raise FormatError(f"{shown(path)}: holds no weights")
    return Weights(Features(Texts.from_strings(found), width), np.fromiter(found.values(), np.float64, len(found)))


def _value(path: FilePath, line: int, cell: str) -> float:
    try:
        value = math.nan if "_" in cell else float(cell)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise FormatError.at(shown(path), line, f"{cell[:60]!r} is not a finite number; mend the weight")
    return value


def _read_binary(path: FilePath) -> Weights:
    arrays, meta = container.read(path, KIND)
    try:
        names, values, width = Texts(arrays["blob"], arrays["bounds"]), arrays["values"], meta["width"]
        ends = [0, *names.bounds.tolist(), len(names.blob)]
        fits = ends == sorted(ends) and ends[1] == 0 and ends[-2] == ends[-1] and values.shape == (len(names),)
        fits = fits and values.dtype == np.float64 and len(set(names)) == len(names) and 0 <= width <= len(names)
    except (KeyError, TypeError, ValueError) as error:
        raise StoreError(f"{path}: lacks a part of what weights are made of; write it again") from error
    if not fits or not np.isfinite(values).all():
        raise StoreError(f"{path}: names, weights and width do not fit together; write it again")
    return Weights(Features(names, width), values)


def _lines(weights: Weights) -> Iterator[str]:
    names, values = weights.features.names, weights.vector.tolist()
    groups = groups_of(names.take(np.arange(weights.features.width)))
    for label, first, size in dict.fromkeys(groups):
        yield f"{_written(label)}= {' '.join(map(repr, values[first : first + size]))}\n"
    for name, value in zip(list(names)[len(groups) :], values[len(groups) :], strict=True):
        yield f"{_written(name)} {value!r}\n"


def _written(name: str) -> str:
    if name.split() != [name] or name.startswith("#") or name.endswith("="):
        raise InputError(f"the feature name {name!r} cannot stand in a text file of weights; write a .bin file")
    return name
