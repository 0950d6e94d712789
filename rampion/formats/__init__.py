"""Reading and writing: one module per format, and `read_lists`, which tells formats apart."""

from __future__ import annotations

from collections.abc import Sequence
from os import PathLike
from typing import NamedTuple

import numpy as np

from rampion.errors import InputError
from rampion.formats import container, jsonl, nbest, references, store
from rampion.formats.files import FilePath, Skipped, head, shown
from rampion.store.candidates import Candidates
from rampion.store.lists import Rows
from rampion.store.names import Labels, Names
from rampion.store.text import References, Texts


def load_nbest(path: FilePath) -> Candidates:
    """The lists of a file of any format."""
    return load_runs([path])[0]


def load_runs(paths: Sequence[FilePath]) -> list[Candidates]:
    """The lists of successive decodings, a file each, all with the same features."""
    if is_store(paths):
        return [store.read(paths[0])]
    files = read_lists(paths)
    return Candidates.from_rows(files.names, files.runs)


def load_references(paths: FilePath | Sequence[FilePath], lists: Candidates) -> References:
    """The references of the lists' segments: from line-aligned files, `id ||| text` lines, or JSONL lists."""
    return references.read([paths] if isinstance(paths, (str, PathLike)) else paths, lists.segments)


class ListFiles(NamedTuple):
    """The rows of every file, with ids of one table of feature names; `skipped` is empty unless read leniently."""

    names: Names
    runs: list[list[Rows]]
    skipped: list[Skipped]


def is_store(paths: Sequence[FilePath]) -> bool:
    """Whether this is a single store, which can stay in its file: its features are right as they are."""
    return len(paths) == 1 and head(paths[0]).startswith(container.NAME)


def jsonl_lists(paths: Sequence[FilePath]) -> list[FilePath]:
    """Which of these lists are JSONL, and may hold references."""
    return [path for path in paths if shown(path) != "<stdin>" and head(path).lstrip().startswith(b"{")]


def write_lists(path: FilePath, candidates: Candidates) -> None:
    """Write lists in the format that the file's name asks for: .jsonl, .store, or Moses n-best; .gz and .zst packed."""
    name = str(path).removesuffix(".gz").removesuffix(".zst")
    if name.endswith(".store"):
        store.write(path, candidates)
    else:
        format_ = jsonl if name.endswith(".jsonl") else nbest
        format_.write(path, [candidates.rows()], candidates.features.names)


def read_lists(paths: Sequence[FilePath], *, lenient: bool = False) -> ListFiles:
    """Read n-best files of any format: stores, JSONL, Moses lists. All must be of one system, unless read leniently."""
    names = Names()
    labels = Labels(names)
    files = ListFiles(names, [], [Skipped() for _ in paths])
    for path, skipped in zip(paths, files.skipped, strict=True):
        start = head(path)
        if start.startswith(container.NAME):
            candidates = store.read(path)
            files.runs.append([_renamed(candidates.rows(), candidates.features.names, names)])
        else:
            format_ = jsonl if start.lstrip().startswith(b"{") else nbest
            files.runs.append(list(format_.read(path, labels, skipped if lenient else None)))
    if not lenient:
        _same_system(paths, files)
    return files


def _renamed(rows: Rows, features: Texts, names: Names) -> Rows:
    """The rows with the ids that their features have in `names`."""
    return rows._replace(ids=names.intern_all(features)[rows.ids].astype(np.uint32))


def _same_system(paths: Sequence[FilePath], files: ListFiles) -> None:
    """No feature stands in every candidate of one file and in none of another, and all files have the same metrics."""
    counts = [sum(np.bincount(rows.ids, minlength=len(files.names)) for rows in run) for run in files.runs]
    # A single segment proves nothing: its candidates may share any sparse feature.
    everywhere = [
        (count == sum(len(rows.texts) for rows in run)) & (sum(len(rows.segments) for rows in run) > 1)
        for count, run in zip(counts, files.runs, strict=True)
    ]
    metrics = [sorted(run[0].metrics) for run in files.runs]
    for a in range(len(paths)):
        for b in range(len(paths)):
            for j in np.flatnonzero(everywhere[a] & (counts[b] == 0)).tolist():
                raise InputError(
                    f"{shown(paths[b])}: no candidate has the feature {files.names.name(j)}, which every candidate of "
                    f"{shown(paths[a])} has; all lists must be of one system"
                )
            if metrics[a] != metrics[b]:
                raise InputError(
                    f"{shown(paths[b])}: has the metrics {metrics[b]}, and {shown(paths[a])} has {metrics[a]}; "
                    "all lists must have the same"
                )
