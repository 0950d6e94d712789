"""The exception tree. A message says what was found, where, what was expected, and the next move.

RampionError
├── InputError          a file or value from outside is not usable; the command line exits with 2
│   ├── FormatError     text: the sentence begins with `file:line`
│   └── StoreError      a binary store is damaged, or is not one
├── RecipeError         parts that do not fit together, or a setting out of range
└── TuningError         training ran and its result must not be used
"""

from __future__ import annotations

from collections.abc import Iterable
from os import PathLike


class RampionError(Exception):
    """Root of every error that Rampion raises on purpose.

    Examples
    --------
    >>> try:
    ...     rampion.load_nbest("nothing.nbest")
    ... except rampion.RampionError as error:
    ...     print(error)
    nothing.nbest: there is no such file
    """


class InputError(RampionError):
    """A file or value from outside is not usable.

    Examples
    --------
    >>> rampion.References.from_lists(["a string"])
    Traceback (most recent call last):
    rampion.errors.InputError: the references of segment 0 (counted from 0) are 'a string'; ...
    """


class FormatError(InputError):
    """A text file broke its format; the message begins with `file:line`.

    Examples
    --------
    >>> from pathlib import Path
    >>> _ = Path("bad.weights").write_text("LM= much")
    >>> rampion.load_weights("bad.weights")
    Traceback (most recent call last):
    rampion.errors.FormatError: bad.weights:1: 'much' is not a finite number; mend the weight
    """

    line: int | None = None  # the number of the line, and what is wrong with it
    message: str = ""

    @classmethod
    def at(cls, path: str | PathLike[str], line: int, message: str) -> FormatError:
        """The error of a line.

        Parameters
        ----------
        path : str or path
            The file.
        line : int
            The number of the line, from 1.
        message : str
            What is wrong with it.

        Returns
        -------
        FormatError
            The error, which has `line` and `message` too.

        Examples
        --------
        >>> print(rampion.FormatError.at("dev.nbest", 7, "is empty"))
        dev.nbest:7: is empty
        """
        error = cls(f"{path}:{line}: {message}")
        error.line, error.message = line, message
        return error


class StoreError(InputError):
    """A binary store is damaged, or is not one.

    Examples
    --------
    >>> rampion.Candidates.from_arrays({}, {"width": -1})
    Traceback (most recent call last):
    rampion.errors.StoreError: the store is damaged: its width is -1, expected a count; ...
    """


class RecipeError(RampionError):
    """Parts that do not fit together, or a setting out of range.

    Examples
    --------
    >>> rampion.RECIPES["mert"].set(k=0)
    Traceback (most recent call last):
    rampion.errors.RecipeError: k is 0; expected a positive number
    """


class TuningError(RampionError):
    """Training ran, and its result must not be used.

    Examples
    --------
    >>> rampion.tune(lists, references, recipe="mert", metric="bleu")
    Traceback (most recent call last):
    rampion.errors.TuningError: training ended with all weights zero; ...
    """


def meant(name: str, known: Iterable[str]) -> str:
    """The hint "; did you mean 'wer'?" if a known name resembles this one, else nothing."""
    from difflib import get_close_matches

    near = get_close_matches(name, list(known), 1)
    return f"; did you mean {near[0]!r}?" if near else ""


class InputWarning(UserWarning):
    """How a reader interpreted lists that are ambiguous: the roles of columns, or missing values.

    Examples
    --------
    >>> import warnings
    >>> with warnings.catch_warnings(record=True) as told:
    ...     warnings.simplefilter("always")
    ...     _ = rampion.Candidates.from_records([{"id": "1", "text": "5", "logprob": -1.5}])
    >>> print(told[0].message)
    one candidate a row: id=id text=text; features: logprob
    """
