"""Plain text: one string a line."""

from __future__ import annotations

import numpy as np

from rampion.formats.files import FilePath, lines, replacing
from rampion.store.text import Texts


def read(path: FilePath) -> Texts:
    """Every line, without the blanks at its ends."""
    return Texts.from_strings(text for _, text in lines(path))


def write(path: FilePath, texts: Texts) -> None:
    """The texts, a line each."""
    ends = np.cumsum(np.diff(texts.bounds) + 1) - 1
    blob = np.full(int(texts.bounds[-1] - texts.bounds[0]) + len(texts), ord("\n"), np.uint8)
    inside = np.ones(len(blob), np.bool_)
    inside[ends] = False
    blob[inside] = texts.blob[texts.bounds[0] : texts.bounds[-1]]
    with replacing(path) as file:
        file.write(blob.tobytes())
