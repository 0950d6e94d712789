"""Reading and writing: one module per format, and `read_lists`, which tells formats apart."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from os import PathLike
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rampion.errors import InputError, InputWarning
from rampion.formats import (
    container,
    fairseq,
    folders,
    htk,
    jsonl,
    kaldi,
    nbest,
    nemo,
    references,
    store,
    tables,
    wenet,
)
from rampion.formats import weights as weight_files
from rampion.formats.files import FilePath, Skipped, head, shown
from rampion.formats.reading import collect
from rampion.store import gaps
from rampion.store.candidates import Candidates
from rampion.store.columns import Columns
from rampion.store.features import Weights
from rampion.store.names import Labels, Names
from rampion.store.rows import Rows
from rampion.store.text import References, Texts


def load_nbest(path: FilePath, columns: str | Sequence[str] | None = None) -> Candidates:
    """Read lists from a file of any format (docs/formats.md).

    Parameters
    ----------
    path : str or path
        A Moses n-best list, JSONL, a table, a store, or the output of another program; packed or not.
    columns : str or sequence of str, optional
        The roles of a table's columns, as in "id=question_id,text=solution,target=is_correct". By default common
        names are recognised, and a warning shows how.

    Returns
    -------
    Candidates
        The lists.

    Raises
    ------
    InputError
        If the file cannot be read; the message begins with file and line.

    Examples
    --------
    >>> rampion.save_nbest("dev.nbest", lists)
    >>> rampion.load_nbest("dev.nbest")
    Candidates(2 segments, 4 candidates, 2 dense + 1 sparse features)
    """
    return load_runs([path], columns)[0]


def load_runs(paths: Sequence[FilePath], columns: str | Sequence[str] | None = None) -> list[Candidates]:
    """Read the lists of successive decodings, which are of one system.

    Parameters
    ----------
    paths : sequence of str or path
        A file for every decoding.
    columns : str or sequence of str, optional
        The roles of columns, as in `load_nbest`.

    Returns
    -------
    list of Candidates
        The lists of every file, all with the same features.

    Raises
    ------
    InputError
        If a file cannot be read, or if the files are not of one system.

    Examples
    --------
    >>> rampion.save_nbest("dev.nbest", lists)
    >>> [run.size for run in rampion.load_runs(["dev.nbest", "dev.nbest"])]
    [4, 4]
    """
    for path in paths:
        if not isinstance(path, (str, PathLike)):
            raise InputError(
                f"a {type(path).__name__} is no path of a file; make lists of records by "
                "rampion.Candidates.from_records"
            )
    if is_store(paths):
        return [store.read(paths[0])]
    files = read_lists(paths, columns=Columns.parse(columns))
    for notice in files.notices:
        warnings.warn(notice, InputWarning, stacklevel=2)
    return Candidates.from_rows(files.names, files.runs)


def load_references(paths: FilePath | Sequence[FilePath], lists: Candidates) -> References:
    """Read the references of lists.

    Parameters
    ----------
    paths : str or path, or sequence of them
        Files with a line a segment, one for each further reference; or one file of `id ||| text` lines; or a JSONL
        file of lists that hold references.
    lists : Candidates
        The lists whose segments the references belong to.

    Returns
    -------
    References
        The references, in the order of the segments.

    Raises
    ------
    InputError
        If a file cannot be read, or if a segment has no reference.

    Examples
    --------
    >>> rampion.save_nbest("dev.jsonl", lists, references)
    >>> rampion.load_references("dev.jsonl", lists) == references
    True
    """
    return references.read([paths] if isinstance(paths, (str, PathLike)) else paths, lists.segments)


def load_weights(path: FilePath) -> Weights:
    """Read weights.

    Parameters
    ----------
    path : str or path
        A file that `save_weights` wrote, or text with lines such as `LM= 0.5` and `Cat 1.5`.

    Returns
    -------
    Weights
        The weights.

    Raises
    ------
    InputError
        If the file cannot be read; the message begins with file and line.

    Examples
    --------
    >>> rampion.save_weights("some.weights", rampion.Weights.from_dict({"LM": 0.5}))
    >>> rampion.load_weights("some.weights")
    Weights({'LM': 0.5})
    """
    return weight_files.read(path)


def save_weights(path: FilePath, weights: Weights) -> None:
    """Write weights.

    Parameters
    ----------
    path : str or path
        Where to write: text, or the binary form if the name ends in .bin.
    weights : Weights
        What to write.

    Raises
    ------
    InputError
        If a name of a feature cannot stand in a text file.

    Examples
    --------
    >>> rampion.save_weights("some.weights", rampion.Weights.from_dict({"LM": 0.5}))
    >>> from pathlib import Path
    >>> Path("some.weights").read_text()
    'LM= 0.5\\n'
    """
    weight_files.write(path, weights)


def save_nbest(path: FilePath, lists: Candidates, references: References | None = None) -> None:
    """Write lists in the format that the file's name asks for.

    Parameters
    ----------
    path : str or path
        A name in .jsonl, in .store, or any other for a Moses n-best list; with .gz or .zst it is packed.
    lists : Candidates
        What to write.
    references : References, optional
        References to write with the lists, which only JSONL can hold.

    Raises
    ------
    InputError
        If the format cannot hold the lists.

    Examples
    --------
    >>> rampion.save_nbest("dev.jsonl.gz", lists, references)
    >>> rampion.load_nbest("dev.jsonl.gz").to_records() == lists.to_records()
    True
    """
    save_lists(path, lists, lists.parts(), references)


def save_lists(
    path: FilePath, lists: Candidates, parts: Iterable[Candidates], references: References | None = None
) -> None:
    """Write lists that come in parts, so that only a store is ever whole in memory."""
    name = str(path).removesuffix(".gz").removesuffix(".zst")
    if references is not None and not name.endswith(".jsonl"):
        raise InputError(f"{path}: only JSONL lists hold references; name a .jsonl file, or write them on their own")
    if name.endswith(".store"):
        store.write(path, Candidates.joined(list(parts)))
    elif name.endswith(".jsonl"):
        jsonl.write(path, (part.rows() for part in parts), lists.features.names, references)
    else:
        nbest.write(path, (part.rows() for part in parts), lists.features.names)


class ListFiles(NamedTuple):
    """The rows of every file, with ids of one table of feature names; `skipped` is empty unless read leniently.

    `records` are the references in each file, and `notices` the remarks of its reader.
    """

    names: Names
    runs: list[list[Rows]]
    skipped: list[Skipped]
    records: list[references.Records]
    notices: list[str]
    orders: list[NDArray[np.int64] | None]  # for every table the row of each candidate; other files keep their order


def is_store(paths: Sequence[FilePath]) -> bool:
    """Whether this is a single store, which can stay in its file: its features are right as they are."""
    return len(paths) == 1 and not folders.recognises(paths[0]) and head(paths[0]).startswith(container.NAME)


def read_lists(paths: Sequence[FilePath], *, lenient: bool = False, columns: Columns | None = None) -> ListFiles:
    """Read lists of any format, told apart by content. All must be of one system, unless read leniently."""
    names = Names()
    labels = Labels(names)
    files = ListFiles(names, [], [Skipped() for _ in paths], [], [], [])
    for path, skipped in zip(paths, files.skipped, strict=True):
        source = records_in(path, skipped if lenient else None, columns or Columns())
        if source is not None:
            found = collect(path, source, labels, skipped if lenient else None, columns)
            files.runs.append(found.rows)
            files.notices.extend(found.notices)
            files.orders.append(found.order)
            if found.refs or found.order is None:
                files.records.append(references.Records(path, found.refs))
            continue
        files.orders.append(None)
        if columns:
            raise InputError(
                f"{shown(path)}: --columns is for tables and records; these lists name their parts by themselves"
            )
        if head(path).startswith(container.NAME):
            candidates = store.read(path)
            files.runs.append([_renamed(candidates.rows(), candidates.features.names, names)])
        else:
            rows, notices = gaps.floored(list(nbest.read(path, labels, skipped if lenient else None)), names)
            files.runs.append(rows)
            files.notices.extend(f"{shown(path)}: {notice}" for notice in notices)
    for path, run in zip(paths, files.runs, strict=True):
        files.notices.extend(_empty(path, run))
    if not lenient:
        _same_system(paths, files)
    return files


def _empty(path: FilePath, run: list[Rows]) -> Iterator[str]:
    """A notice of the number of empty hypotheses, which are rarely intended except in recognition."""
    count = sum(int((np.diff(rows.texts.bounds) == 0).sum()) for rows in run)
    if count:
        yield f"{shown(path)}: {count} of {sum(len(rows.texts) for rows in run)} hypotheses are empty"


def records_in(path: FilePath, skipped: Skipped | None, columns: Columns) -> Iterable[tuple[int, Any]] | None:
    """The records of a file with their lines; None for a store or a Moses list."""
    if folders.recognises(path):
        return folders.records(path)
    start = head(path)
    if start.startswith(container.NAME):
        return None
    for magic, sentence in STRANGE.items():
        if start.startswith(magic):
            raise InputError(f"{shown(path)}: {sentence}")
    if start.startswith(tables.PARQUET):
        return tables.parquet(path)
    if tables.recognises(start, columns):
        return tables.records(path, skipped)
    found = next((read(path, skipped) for known, read in RECORDS if known(start)), None)
    if found is None:
        tables.refuse(path, start)
    return found


# Files that are no text, by their first bytes.
STRANGE = {
    b"\xff\xfe": "is UTF-16 text; convert it to UTF-8 (iconv -f UTF-16 -t UTF-8)",
    b"\xfe\xff": "is UTF-16 text; convert it to UTF-8 (iconv -f UTF-16 -t UTF-8)",
    b"PK\x03\x04": "is a ZIP archive or a spreadsheet; unpack it, or save the sheet as CSV",
    b"\x80\x04": "is a pickle, which is never read; write JSON lines or CSV",
    b"\x80\x05": "is a pickle, which is never read; write JSON lines or CSV",
    b"ARROW1": "is an Arrow file; write Parquet, JSON lines or CSV",
    b"version https://git-lfs": "is a pointer of Git LFS in place of the file; get the file itself (git lfs pull)",
    b"<!DOCTYPE": "is a web page; get the file itself",
    b"<!doctype": "is a web page; get the file itself",
    b"<html": "is a web page; get the file itself",
    b"BZh": "is packed by bzip2; unpack it, or pack it by gzip or zstd",
    b"\xfd7zXZ": "is packed by xz; unpack it, or pack it by gzip or zstd",
}


# Files of records: how each is recognised by its first bytes, and its reader.
RECORDS: tuple[tuple[Callable[[bytes], bool], Callable[[FilePath, Skipped | None], Iterable[tuple[int, Any]]]], ...] = (
    (jsonl.recognises, jsonl.records),
    (fairseq.recognises, fairseq.records),
    (wenet.recognises, wenet.records),
    (htk.recognises, htk.records),
    (kaldi.recognises, kaldi.records),
    (nemo.recognises, nemo.records),
)


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
    metrics = [sorted({name for rows in run for name in rows.metrics}) for run in files.runs]
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
