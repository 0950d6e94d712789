"""The exception tree. A message says what was found, where, what was expected, and the next move.

RampionError
├── InputError          a file or value from outside is not usable; the command line exits with 2
│   ├── FormatError     text: the sentence begins with file:line
│   └── StoreError      a binary store is damaged, or is not one
├── RecipeError         parts that do not fit together, or a setting out of range
└── TuningError         training ran and its result must not be used
"""

from __future__ import annotations

from os import PathLike


class RampionError(Exception):
    """Root of every error that Rampion raises on purpose."""


class InputError(RampionError):
    """A file or value from outside is not usable."""


class FormatError(InputError):
    """A text file broke its format; the message begins with file:line."""

    line: int | None = None  # the number of the line, and what is wrong with it
    message: str = ""

    @classmethod
    def at(cls, path: str | PathLike[str], line: int, message: str) -> FormatError:
        error = cls(f"{path}:{line}: {message}")
        error.line, error.message = line, message
        return error


class StoreError(InputError):
    """A binary store is damaged, or is not one."""


class RecipeError(RampionError):
    """Parts that do not fit together, or a setting out of range."""


class TuningError(RampionError):
    """Training ran, and its result must not be used."""
