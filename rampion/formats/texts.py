"""Plain text: one string a line."""

from __future__ import annotations

from rampion.formats.files import FilePath, lines
from rampion.text import Texts


def read(path: FilePath) -> Texts:
    """Every line, without the blanks at its ends."""
    return Texts.of(text for _, text in lines(path))
