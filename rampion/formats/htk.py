"""HTK lattices (SLF): the best paths of different texts, with their acoustic and language-model scores and words."""

from __future__ import annotations

import heapq
import math
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from rampion.errors import FormatError
from rampion.formats.files import FilePath, Remark, Skipped, lines, shown

MOST = 100  # texts of a lattice
_TRIES = 100 * MOST  # paths that are examined to find them
_CELL = re.compile(r'(?<!\w)([A-Za-z]\w*)=("[^"]*"|\S*)')
_SILENT = {"!NULL", "<s>", "</s>", "!SENT_START", "!SENT_END", "!ENTER", "!EXIT", "<eps>", "-pau-", "[s]", "[/s]"}
SCORES = {"a": "acoustic", "l": "lm", "n": "ngram"}


class Arc(NamedTuple):
    """A step to a node, with its word and scores."""

    end: int
    word: str
    scores: tuple[float, ...]
    total: float


def recognises(head: bytes) -> bool:
    """Whether the first line that is no comment begins a lattice."""
    rows = [line for line in head.split(b"\n") if line.strip() and not line.startswith(b"#")]
    return bool(rows) and (rows[0].startswith(b"VERSION=") or re.match(rb"N=\s*\d+\s+L=\s*\d+", rows[0]) is not None)


def records(path: FilePath, skipped: Skipped | None = None) -> Iterator[tuple[int, Any]]:
    """The lattice as a record, its best texts first."""
    header, nodes, links = _read(path, skipped)
    factor, scale, penalty = (
        _factor(path, header),
        _real(path, header, "lmscale", 1.0),
        _real(path, header, "wdpenalty", 0.0),
    )
    present = [key for key in SCORES if any(key in cells for _, cells in links)]
    arcs: dict[int, list[Arc]] = {}
    for line, cells in links:
        start, end = (_node(path, line, cells, key, nodes) for key in "SE")
        word = cells.get("W", nodes[end].get("W", "!NULL"))
        scores = tuple(factor(_cell(path, line, cells, key)) for key in present)
        total = sum(score * (scale if key in "ln" else 1.0) for key, score in zip(present, scores, strict=True))
        arcs.setdefault(start, []).append(Arc(end, word, scores, total + penalty * (word not in _SILENT)))
    found, more = _best(path, arcs, _ends(path, header, nodes, arcs))
    hyps = [
        {
            "text": " ".join(words),
            "feats": {**dict(zip(map(SCORES.get, present), sums, strict=True)), "words": len(words)},
        }
        for words, sums in found
    ]
    name = header.get("UTTERANCE") or re.sub(r"\.(lat|slf)(\.gz)?$", "", Path(path).name)
    if more:
        yield 1, Remark(f"hold no more than the {MOST} best texts of their lattices, found in {_TRIES:,} steps")
    yield 1, {"id": Path(name).name, "hyps": hyps}


def _read(path: FilePath, skipped: Skipped | None) -> tuple[dict[str, str], dict[int, dict[str, str]], list[Any]]:
    header, nodes, links = dict[str, str](), dict[int, dict[str, str]](), []
    for line, text in lines(path, skipped):
        if not text or text.startswith("#"):
            continue
        cells = {name: value.strip('"') for name, value in _CELL.findall(text)}
        if not cells:
            raise FormatError.at(shown(path), line, f"{text[:60]!r} is no line of a lattice; expected NAME=value")
        if "I" in cells:
            nodes[_whole(path, line, cells["I"])] = cells
        elif "J" in cells:
            links.append((line, cells))
        elif nodes:
            raise FormatError.at(shown(path), line, "a second lattice begins here; write one to a file")
        else:
            header |= cells
    for key, count in (("N", len(nodes)), ("NODES", len(nodes)), ("L", len(links)), ("LINKS", len(links))):
        if key in header and header[key].isdecimal() and header[key].lstrip("0") != str(count or ""):
            raise FormatError(
                f"{shown(path)}: has {count} of the {header[key][:20]} lines that {key}= announces; get the file again"
            )
    if not links:
        raise FormatError(f"{shown(path)}: has no links; a lattice with J= lines is expected")
    return header, nodes, links


def _ends(path: FilePath, header: dict[str, str], nodes: dict[int, Any], arcs: dict[int, list[Arc]]) -> tuple[int, int]:
    """The first and the last node: those that the header names, else the only ones without ways in and out."""
    into = {arc.end for found in arcs.values() for arc in found}
    first = [n for n in nodes if n not in into] if "start" not in header else [_whole(path, 1, header["start"])]
    last = [n for n in nodes if n not in arcs] if "end" not in header else [_whole(path, 1, header["end"])]
    if len(first) != 1 or len(last) != 1:
        raise FormatError(f"{shown(path)}: has {len(first)} first and {len(last)} last nodes; expected one of each")
    if first == last:
        raise FormatError(f"{shown(path)}: no link leads from node {first[0]} or to it; get the file again")
    return first[0], last[0]


def _best(
    path: FilePath, arcs: dict[int, list[Arc]], ends: tuple[int, int]
) -> tuple[list[tuple[tuple[str, ...], list[float]]], bool]:
    """The best paths of different texts, by A* with the exact rest of every node; and whether there may be more."""
    rest = _rests(path, arcs, ends)
    start, end = ends
    if start not in rest:
        raise FormatError(f"{shown(path)}: no path leads from node {start} to node {end}; get the file again")
    size = len(next(iter(arcs.values()))[0].scores)
    queue: list[tuple[float, int, int, float, tuple[str, ...], tuple[float, ...]]] = [
        (-rest[start], 0, start, 0.0, (), (0.0,) * size)
    ]
    texts: dict[tuple[str, ...], list[float]] = {}
    count = 0
    while queue and len(texts) < MOST and count < _TRIES:
        _, _, node, so_far, words, sums = heapq.heappop(queue)
        if node == end:
            texts.setdefault(words, list(sums))
            continue
        for arc in arcs.get(node, ()):
            if arc.end in rest:
                count += 1
                total = so_far + arc.total
                said = words if arc.word in _SILENT else (*words, arc.word)
                whole = tuple(a + b for a, b in zip(sums, arc.scores, strict=True))
                heapq.heappush(queue, (-total - rest[arc.end], count, arc.end, total, said, whole))
    return list(texts.items()), bool(queue)


def _rests(path: FilePath, arcs: dict[int, list[Arc]], ends: tuple[int, int]) -> dict[int, float]:
    """The best total from every node to the last one, in the order of an acyclic graph."""
    start, end = ends
    state, rest, stack = dict[int, bool](), {end: 0.0}, [start]
    while stack:
        node = stack[-1]
        if node in state:
            stack.pop()
            if not state[node]:
                state[node] = True
                found = [arc.total + rest[arc.end] for arc in arcs.get(node, ()) if arc.end in rest]
                if found:
                    rest[node] = max([*found, *([0.0] if node == end else [])])
            continue
        state[node] = False
        for arc in arcs.get(node, ()):
            if state.get(arc.end) is False:
                raise FormatError(f"{shown(path)}: the links make a circle at node {arc.end}; a lattice has none")
            if arc.end not in state:
                stack.append(arc.end)
    return rest


def _factor(path: FilePath, header: dict[str, str]) -> Any:
    """From the lattice's logarithms to natural ones."""
    base = _real(path, header, "base", math.e)
    if base == 0.0:
        return lambda value: math.log(value) if value > 0 else -math.inf
    if base < 0 or base == 1.0:
        raise FormatError(f"{shown(path)}: base={header['base']}; the base of logarithms is expected")
    return lambda value: value * math.log(base)


def _real(path: FilePath, cells: dict[str, str], key: str, default: float) -> float:
    try:
        value = float(cells[key]) if key in cells else default
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise FormatError(f"{shown(path)}: {key}={cells[key][:60]}; a finite number is expected")
    return value


def _cell(path: FilePath, line: int, cells: dict[str, str], key: str) -> float:
    try:
        value = float(cells.get(key, "0"))
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise FormatError.at(shown(path), line, f"{key}={cells[key][:60]}; a finite number is expected")
    return value


def _whole(path: FilePath, line: int, cell: str) -> int:
    if not cell.isdecimal() or len(cell) > 18:
        raise FormatError.at(shown(path), line, f"{cell[:60]!r} is no number of a node")
    return int(cell)


def _node(path: FilePath, line: int, cells: dict[str, str], key: str, nodes: dict[int, Any]) -> int:
    node = _whole(path, line, cells.get(key, ""))
    if node not in nodes:
        raise FormatError.at(shown(path), line, f"node {node} is not there; every link leads from a node to a node")
    return node
