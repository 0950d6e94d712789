"""Arguments that several commands share, and what they mean."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rampion.cli.table import note
from rampion.errors import InputError, RecipeError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rampion.candidates import Candidates
    from rampion.features import Weights
    from rampion.text import References, Texts

Lists = Annotated[
    list[str],
    typer.Argument(
        metavar="NBEST...",
        help="Lists: Moses n-best, JSONL or a store; .gz and .zst too; - is stdin.",
        show_default=False,
    ),
]
Refs = Annotated[
    list[str] | None,
    typer.Option(
        "--refs",
        metavar="FILE",
        help="References, line by line, one file each; or one file of lines `id ||| text`. JSONL lists may hold them.",
        show_default=False,
    ),
]
Lenient = Annotated[
    bool, typer.Option("--lenient", help="Skip what is wrong with the lists and say how much, instead of stopping.")
]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object for machines instead of tables.")]
MetricOption = Annotated[
    str | None,
    typer.Option(
        "--metric",
        metavar="NAME",
        help="bleu[:variant], chrf, chrf++, ter, wer, or metric:COLUMN of the lists.",
        show_default=False,
    ),
]


def read_runs(paths: Sequence[str], lenient: bool) -> list[Candidates]:
    """The lists of every file, all with the same features."""
    from rampion.candidates import Candidates
    from rampion.formats import read_lists

    files = read_lists(paths, lenient=lenient)
    for path, skipped in zip(paths, files.skipped, strict=True):
        if skipped.count:
            note(f"{path}: skipped {skipped.count} lines; the first: {skipped.first}")
    return Candidates.build(files.names, files.runs)


def references_of(segments: Texts, lists: Sequence[str], refs: Sequence[str] | None, metric: str) -> References | None:
    """The references of the segments: from their files, or from the JSONL lists; a metric column needs none."""
    from rampion.formats import jsonl_lists, references

    if refs:
        return references.read(refs, segments)
    if metric.startswith("metric:"):
        return None
    if holding := jsonl_lists(lists):
        return references.read(holding[:1], segments)
    raise InputError(f"the metric {metric} needs references; name them with --refs, or choose --metric metric:COLUMN")


def read_weights(path: str) -> Weights:
    """A weights file, or the one inside a run folder."""
    from rampion.formats import weights

    folder = Path(path)
    if folder.is_dir() and not (folder / "weights.txt").exists():
        raise InputError(
            f"{path}: is a folder without weights.txt; name a weights file or the folder of a finished run"
        )
    return weights.read(folder / "weights.txt" if folder.is_dir() else path)


def changed(settings: list[str]) -> dict[str, Any]:
    """`name=value` pairs; a value is a number where it reads as one."""
    answer: dict[str, Any] = {}
    for setting in settings:
        name, equals, value = setting.partition("=")
        if not equals or not name:
            raise RecipeError(f"--set {setting!r}: expected name=value, for example --set rate=1e-3")
        answer[name] = _number(value)
    return answer


def _number(value: str) -> int | float | str | None:
    if value == "none":
        return None
    for kind in (int, float):
        try:
            return kind(value)
        except ValueError:
            continue
    return value
