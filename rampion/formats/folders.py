"""Lists in folders: Kaldi's n-best texts with files of costs, ESPnet's 1best_recog, 2best_recog …, and HTK lattices."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from rampion.errors import InputError
from rampion.formats import htk, kaldi
from rampion.formats.files import FilePath
from rampion.store.readings import WrongError

_TEXTS = "words_text", "text", "words.txt"
_COSTS = re.compile(r"(.*[._])?(cost|score|acwt|lmwt)([._].*)?|acwt|lmwt\..*")
_PLACE = re.compile(r"(\d+)best_recog")
_LATTICES = ".lat", ".slf"


def recognises(path: FilePath) -> bool:
    """Whether the path is a folder."""
    return Path(path).is_dir()


def records(path: FilePath) -> Iterator[tuple[int, Any]]:
    """Every segment as a record."""
    folder = Path(path)
    places = {int(found[1]): one for one in folder.iterdir() if (found := _PLACE.fullmatch(one.name))}
    lattices = sorted(one for one in folder.iterdir() if one.name.removesuffix(".gz").endswith(_LATTICES))
    if places:
        return _espnet([places[n] for n in sorted(places)])
    if lattices:
        return (record for one in lattices for record in htk.records(one))
    text = next((folder / name for name in _TEXTS if (folder / name).is_file()), None)
    if text is None:
        raise InputError(
            f"{path}: is a directory; name a file (or a folder with a text of Kaldi, 1best_recog, or lattices)"
        )
    costs = {one.name: kaldi.numbers(one) for one in sorted(folder.iterdir()) if _COSTS.fullmatch(one.name)}
    return _joined(text, costs)


def _joined(text: Path, costs: dict[str, dict[str, float]]) -> Iterator[tuple[int, Any]]:
    """Kaldi's texts with their costs; a file of costs of other candidates is an error."""
    names = {name for _, name, _ in kaldi.texts(text)}
    for label, numbers in costs.items():
        if names and not names & numbers.keys():
            some = next(iter(numbers), "nothing")
            raise InputError(
                f"{text.parent / label}: has costs of {some[:60]!r} and others, but of no candidate in {text.name} "
                f"(such as {min(names)[:60]!r}); give each cost the name of its candidate"
            )
    return kaldi.joined(text, costs)


def _espnet(folders: list[Path]) -> Iterator[tuple[int, Any]]:
    found: dict[str, list[dict[str, Any]]] = {}
    lines: dict[str, int] = {}
    for folder in folders:
        scores = kaldi.numbers(folder / "score") if (folder / "score").is_file() else None
        for line, name, said in kaldi.texts(folder / "text"):
            feats = {} if scores is None else {"score": scores.get(name)}
            found.setdefault(name, []).append({"text": said, "feats": feats})
            lines.setdefault(name, line)
    for name, hyps in found.items():
        yield lines[name], {"id": name, "hyps": hyps}
    if not found:
        yield 1, WrongError("holds no utterances; decode first")
