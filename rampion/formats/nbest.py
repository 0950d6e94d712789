"""Moses n-best lists: `id ||| hypothesis ||| Name= value value ||| total ||| anything` (docs/formats.md)."""

from __future__ import annotations

import io
import re
from collections.abc import Iterable, Iterator
from enum import IntEnum
from itertools import chain, pairwise, takewhile

import numpy as np
from numpy.typing import NDArray

from rampion import _kernels
from rampion.arrays import Offsets, Reals, ends, span_of_each
from rampion.errors import FormatError
from rampion.formats.files import FilePath, Skipped, UnwritableError, line_blocks, newlines, not_utf8, replacing, shown
from rampion.store.groups import Group, grouped, groups_of
from rampion.store.names import Labels
from rampion.store.rows import Rows
from rampion.store.text import Texts

_PLACE, _ID, _TEXT, _NOTE, _SEGMENT, _ENTRIES = 0, 1, 3, 5, 7, 8  # columns of spans; ends follow ID, TEXT, NOTE
_POSITION, _LINES, _WHERE = 0, 1, 2  # cells of state
_SHORTEST = len(b"0||| |||\n")  # no line that is read has fewer bytes
_BAR = re.compile(rb"(?<!\S)\|\|\|(?!\S)")
_TWO_BARS = re.compile(rb"(?<!\S)\|\|\|(?!\S).*(?<!\S)\|\|\|(?!\S)")
_FIRST_BAR = re.compile(rb"\|\|\|(?!\S)")
_INTEGER = re.compile(rb"-?\d{1,18}")
_NUMERAL = rb"[-+]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][-+]?\d+)?"
_JOINED = re.compile(rb"=" + _NUMERAL + rb"[;,][^\s=]+=" + _NUMERAL)  # LM=-1.5;WP=2
_TRAVATAR = re.compile(rb"\|\|\|\s*" + _NUMERAL + rb"\s*\|\|\|\s*[^\s=:]{1,1000}[=:]\s*" + _NUMERAL)


class Answer(IntEnum):
    """The reason for which the kernel `parse` stopped."""

    DONE = 0
    FULL = 1
    FIELDS = 2
    NO_ID = 3
    NUMBER = 4
    TOTAL = 5
    NO_VALUE = 6
    TWICE = 7
    SIZE = 8


def read(path: FilePath, labels: Labels, skipped: Skipped | None = None) -> Iterator[Rows]:
    """The candidates, whole segments at a time. A bad line is an error, or, with `skipped`, left out and counted."""
    reader = _Reader(path, labels, skipped)
    rest, enough = b"", 0
    for _, block in chain(line_blocks(path), [(0, b"")]):  # the empty block is the end
        if rest and (len(rest) >= enough or not block):
            used, rows = reader.rows(rest, last=not block)
            rest = rest[used:]
            enough = 2 * len(rest)
            if len(rows.segments):
                yield rows
        rest += block
    if not reader.seen:
        raise FormatError(f"{shown(path)}: holds no candidates")


class _Reader:
    """The state between two blocks of lines."""

    def __init__(self, path: FilePath, labels: Labels, skipped: Skipped | None) -> None:
        self.path, self.labels, self.skipped = path, labels, skipped
        self.line = 1
        self.seen: set[bytes] = set()
        self.before = b""
        self.numbered = True

    def rows(self, block: bytes, last: bool) -> tuple[int, Rows]:
        """The number of bytes that were used, and the candidates: all, or all but those of the last segment."""
        if self.line == 1:
            self._refuse_joined(block)
        spans, scores, slots, values, bad = self._parse(block)
        self.labels.settle(shown(self.path))
        used, count = len(block), len(spans)
        if count and not last:
            count = int(np.searchsorted(spans[:, _SEGMENT], spans[-1, _SEGMENT]))
            used = int(spans[count, _PLACE])
        for _, error in takewhile(lambda item: item[0] < used, bad):
            self._skip(error)
        spans, scores = spans[:count], scores[:count]
        sizes, keep = np.diff(spans[:, _ENTRIES], prepend=0), self._in_order(block, spans)
        entries = np.flatnonzero(np.repeat(keep, sizes))
        rows = self._rows(block, spans[keep], scores[keep], sizes[keep], slots[entries], values[entries])
        self.line += newlines(block) - newlines(block[used:])
        return used, rows

    def _refuse_joined(self, block: bytes) -> None:
        """Raise FormatError if the features of the first line have no blanks between them: they would be one."""
        cells = _BAR.split(block[: block.index(b"\n")])
        if len(cells) > 2 and (found := _JOINED.search(cells[2])):
            shown_here = found[0].decode(errors="replace")[:60]
            raise self._error(block, 0, f"{shown_here!r} are several features; write blanks between them")

    def _parse(self, block: bytes) -> tuple[Offsets, Reals, NDArray[np.uint32], Reals, list[tuple[int, FormatError]]]:
        """Offsets, totals, slots and values of the good lines; places and sentences of the bad ones."""
        data, room = np.frombuffer(block, np.uint8), len(block) // 2 + 2
        count = min(newlines(block), len(block) // _SHORTEST + 1)
        spans, scores = np.empty((count, 9), np.int64), np.empty(count)
        slots, values = np.empty(room, np.uint32), np.empty(room)
        groups = np.empty((2 + sum(np.count_nonzero(data == mark) for mark in b"=:"), 3), np.int64)  # of one line
        state, seen = np.zeros(4, np.int64), np.zeros(len(self.labels.sizes), np.int64)
        bad: list[tuple[int, FormatError]] = []
        for stop, mistake in chain(_undecodable(block), [(len(block), None)]):
            while state[_POSITION] < stop:
                answer = _kernels.parse(data, stop, self.labels, seen, spans, scores, slots, values, groups, state)
                if answer == Answer.FULL:
                    self.labels.names.grow()
                    self.labels.fit()
                    seen = np.zeros(len(self.labels.sizes), np.int64)
                elif answer != Answer.DONE:
                    place = int(state[_WHERE])
                    bad.append((place, self._error(block, place, _sentence(Answer(answer), block, place, self.labels))))
                    if self.skipped is None:
                        raise bad[0][1]
                    state[_POSITION] = block.index(b"\n", place) + 1
            if mistake:
                bad.append((stop, not_utf8(self.path, self._number(block, stop), mistake)))
                if self.skipped is None:
                    raise bad[0][1]
                state[_POSITION] = block.index(b"\n", stop) + 1
        count = int(state[_LINES])
        entries = int(spans[count - 1, _ENTRIES]) if count else 0
        return spans[:count], scores[:count], slots[:entries], values[:entries], bad

    def _in_order(self, block: bytes, spans: Offsets) -> NDArray[np.bool_]:
        """Which lines to keep. Lines of a segment that occurs again after its end are bad."""
        keep = np.ones(len(spans), np.bool_)
        starts = np.flatnonzero(np.diff(spans[:, _SEGMENT], prepend=-1))
        for start, end in pairwise([*starts.tolist(), len(spans)]):
            place, first, stop = spans[start, : _ID + 2].tolist()
            identity = block[first:stop]
            self.numbered = self.numbered and _INTEGER.fullmatch(identity) is not None
            back = identity in self.seen
            jump = self.numbered and self.before != b"" and int(identity) != int(self.before) + 1
            if back or (jump and self.skipped is None):
                found = f"segment {identity.decode()} follows segment {self.before.decode()}"
                why = "it is in the file already" if back else "numbers go up by one"
                error = self._error(block, place, f"{found}, but {why}; sort the file (sort -s -n) or mend it")
                self._skip(error, end - start)
                keep[start:end] = False
            else:
                self.seen.add(identity)
                self.before = identity
        return keep

    def _rows(
        self, block: bytes, spans: Offsets, scores: Reals, sizes: Offsets, slots: NDArray[np.uint32], values: Reals
    ) -> Rows:
        starts = np.flatnonzero(np.diff(spans[:, _SEGMENT], prepend=-1))
        ids, owners = self.labels.slot_ids[slots], np.repeat(np.arange(len(sizes)), sizes)
        metrics = self._columns(block, spans, owners, slots, values)
        featured = ids >= 0
        return Rows(
            segments=_cut(block, spans[starts], _ID),
            bounds=np.append(starts, len(spans)),
            texts=_cut(block, spans, _TEXT),
            entry_bounds=np.searchsorted(owners[featured], np.arange(len(sizes) + 1)),
            ids=ids[featured].astype(np.uint32),
            values=values[featured],
            scores=scores,
            notes=_cut(block, spans, _NOTE),
            metrics=metrics,
        )

    def _columns(
        self, block: bytes, spans: Offsets, owners: NDArray[np.int64], slots: NDArray[np.uint32], values: Reals
    ) -> dict[str, Reals]:
        """One column per metric; a candidate may lack its value."""
        columns: dict[str, Reals] = {}
        for slot, name in self.labels.metrics.items():
            here, column = slots == slot, np.full(len(spans), np.nan)
            column[owners[here]] = values[here]
            if not here.any():
                continue
            for bad in np.flatnonzero(np.isinf(column))[:1].tolist():
                at = int(spans[bad, _ID])
                raise self._error(block, at, f"metric:{name} is infinite; a finite number is expected")
            columns[name] = column
        return columns

    def _number(self, block: bytes, place: int) -> int:
        return self.line + block.count(b"\n", 0, place)

    def _error(self, block: bytes, place: int, sentence: str) -> FormatError:
        return FormatError.at(shown(self.path), self._number(block, place), sentence)

    def _skip(self, error: FormatError, count: int = 1) -> None:
        if self.skipped is None:
            raise error
        self.skipped.add(error, count)


def _undecodable(block: bytes) -> Iterator[tuple[int, UnicodeDecodeError]]:
    """Starts of the lines that are not UTF-8; one at a time, since there may be millions."""
    if block.isascii():
        return
    try:
        block.decode()
    except UnicodeDecodeError:
        place = 0
        for line in io.BytesIO(block):
            try:
                line.rstrip(b"\n").decode()
            except UnicodeDecodeError as error:
                yield place, error
            place += len(line)


def _cut(block: bytes, spans: Offsets, column: int) -> Texts:
    blob, bounds = np.empty(np.diff(spans[:, column : column + 2]).sum(), np.uint8), np.empty(len(spans) + 1, np.int64)
    _kernels.cut(np.frombuffer(block, np.uint8), spans, column, blob, bounds)
    return Texts(blob, bounds)


def _sentence(answer: Answer, block: bytes, place: int, labels: Labels) -> str:
    """The sentence about the place where the kernel stopped."""
    start, end = block.rfind(b"\n", 0, place) + 1, block.index(b"\n", place)
    tokens = block[place:end].split()
    token = tokens[0].decode()[:60] if tokens else ""
    name = token[:-1] if token.endswith(":") else token[: max(token.rfind("="), 0)]
    label = name or labels.UNNAMED
    match answer:
        case Answer.FIELDS:
            first = _FIRST_BAR.search(block, start, end)
            found = 2 + len(_BAR.findall(block, first.end(), end + 1)) if first else 1
            return f"found {found} fields, expected 3 to 6: id ||| hypothesis ||| features ||| total ||| anything"
        case Answer.NO_ID:
            return "the segment id is empty"
        case Answer.NUMBER:
            return f"{token!r} is not a finite number; features are written Name= value value"
        case Answer.TOTAL:
            total = _BAR.split(block[place:end])[0].strip().decode()[:60]
            if _TRAVATAR.search(block, start, end):
                return f"the total {total!r} is not one finite number; write the features before it, as in Moses lists"
            return f"the total {total!r} is not one finite number"
        case Answer.NO_VALUE:
            return f"feature {label} has no value"
        case Answer.TWICE:
            return f"feature {label} appears twice in one candidate"
        case _:
            numbers = takewhile(lambda item: re.fullmatch(rb"[^=:|]+", item), tokens[1:])
            found = len(list(numbers)) + (not token.endswith(("=", ":")))
            expected = labels.sizes[labels.names.find(label)]
            return f"feature {label} has {found} values here and {expected} elsewhere; lists must be of one system"


def write(path: FilePath, runs: Iterable[Rows], names: Texts) -> None:
    """Write the candidates; feature i is called names[i]. What the format cannot hold is an error."""
    groups = groups_of(names)
    heads = Texts.from_strings(f" {label}=" if f == first else "" for f, (label, first, _) in enumerate(groups))
    firsts = np.array([first for _, first, _ in groups], np.int64)
    with replacing(path) as file:
        for label in {label for label, _, _ in groups}:
            if label.split() != [label]:
                raise UnwritableError(f"the feature name {label!r} cannot be in n-best text; rename it, or write JSONL")
        for rows in runs:
            file.write(_written(rows if _whole(rows, firsts) else _filled(rows, groups), heads))


def number(value: float) -> str:
    """The shortest decimal that reads back as the same float."""
    return repr(value).removesuffix(".0")


def _whole(rows: Rows, firsts: NDArray[np.int64]) -> bool:
    """Whether features are in order, and of each label that has several values all candidates have all, or none any."""
    ids, inner = rows.ids.astype(np.int64), np.ones(len(rows.ids), np.bool_)
    inner[rows.entry_bounds[:-1][np.diff(rows.entry_bounds) > 0]] = False
    if (ids[1:] <= ids[:-1])[inner[1:]].any():
        return False
    counts, n = np.bincount(ids, minlength=len(firsts)), len(rows.texts)
    alone = np.bincount(firsts, minlength=len(firsts))[firsts] == 1
    return bool((alone | (counts == 0) & (counts[firsts] == 0) | (counts == n) & (counts[firsts] == n)).all())


def _filled(rows: Rows, groups: list[Group]) -> Rows:
    """The rows with features in order, and 0 for what is missing from a label that is there."""
    ids, values, counts = list[int](), list[float](), list[int]()
    firsts = {label: first for label, first, _ in groups}
    for candidate in grouped(rows, groups):
        before = len(ids)
        for label, cells in candidate:
            ids += range(firsts[label], firsts[label] + len(cells))
            values += cells
        counts.append(len(ids) - before)
    return rows._replace(
        ids=np.array(ids, np.uint32), values=np.array(values, np.float64), entry_bounds=ends(np.array(counts))
    )


def _written(rows: Rows, heads: Texts) -> bytes:
    """The lines of the rows: pieces of text, found for all candidates at once and laid end to end."""
    n, extra = len(rows.texts), list(rows.metrics)
    counts = np.diff(rows.entry_bounds)
    owners, ids, values = np.repeat(np.arange(n), counts), rows.ids.astype(np.int64), rows.values
    for place, column in enumerate(rows.metrics.values()):
        known = np.flatnonzero(~np.isnan(column))
        owners, values = np.concatenate([owners, known]), np.concatenate([values, column[known]])
        ids = np.concatenate([ids, np.full(len(known), len(heads) + place)])
    if extra:
        order = np.argsort(owners, kind="stable")
        owners, ids, values = owners[order], ids[order], values[order]
        counts = np.bincount(owners, minlength=n)
    spelt, numerals = _numerals(values)
    segments = span_of_each(rows.bounds)
    _check_all(rows)
    marks = Texts.from_strings([*(f" {Labels.METRIC}{name}=" for name in extra), " |||", " ||| "])
    bars, first_numeral = len(heads) + len(extra), len(heads) + len(marks)
    parts = [
        heads, marks, numerals, Texts.from_strings(f"{segment} ||| " for segment in rows.segments), rows.texts,
        _tails(rows),
    ]  # fmt: skip
    first_segment, first_text, first_tail = np.cumsum([len(part) for part in parts[:-1]]).tolist()[2:]
    starts = ends(4 + 2 * counts)
    pieces = np.empty(starts[-1], np.int64)
    pieces[starts[:-1]] = first_segment + segments
    pieces[starts[:-1] + 1] = first_text + np.arange(n)
    pieces[starts[:-1] + 2] = bars + (counts == 0)
    pieces[starts[1:] - 1] = first_tail + np.arange(n)
    places = 2 * np.arange(len(ids)) + 4 * owners + 3
    pieces[places] = ids
    pieces[places + 1] = first_numeral + spelt
    return Texts.join(parts).take(pieces).blob.tobytes()


_COUNTS = 100


def _numerals(values: Reals) -> tuple[NDArray[np.int64], Texts]:
    """For every value the place of its numeral, and the numerals, with a blank before each."""
    with np.errstate(invalid="ignore"):
        places = np.clip(values, 0, _COUNTS - 1).astype(np.int64)
    others = np.flatnonzero((places != values) | ((places == 0) & np.signbit(values)))
    bits, inverse = np.unique(values[others].view(np.int64), return_inverse=True)
    places[others] = _COUNTS + inverse
    return places, _spelt(np.append(np.arange(_COUNTS), bits.view(np.float64)), " ", "")


def _spelt(values: Reals, before: str, after: str) -> Texts:
    """The shortest decimal of every number between two strings, one of which ends or begins with white space.

    Python spells a whole list of floats as fast as it spells ten thousand of them by themselves.
    """
    if not len(values):
        return Texts.from_strings(())
    lines = f"{repr(values.tolist())[1:-1].replace(', ', chr(10))}\n".replace(".0\n", "\n")
    sizes = np.diff(np.flatnonzero(np.frombuffer(lines.encode(), np.uint8) == 10), prepend=-1) - 1
    text = before + lines[:-1].replace("\n", after + before) + after
    return Texts(np.frombuffer(text.encode(), np.uint8), ends(sizes + len(before) + len(after)))


def _tails(rows: Rows) -> Texts:
    """What follows the features of every candidate: the total and the note, if there are any."""
    bare = rows.notes.bounds[-1] == rows.notes.bounds[0]
    if bare and not np.isnan(rows.scores).any():
        return _spelt(rows.scores, " ||| ", "\n")
    notes = [""] * len(rows.texts) if bare else list(rows.notes)
    totals = ["" if score != score else f" ||| {number(score)}" for score in rows.scores.tolist()]
    return Texts.from_strings(
        f"{total or ' |||'} ||| {note}\n" if note else f"{total}\n" for total, note in zip(totals, notes, strict=True)
    )


def _check_all(rows: Rows) -> None:
    """Refuse ids, texts and notes that would not read back; only those with suspicious bytes are looked at."""
    for segment in rows.segments:
        _check("segment id", segment, segment, _FIRST_BAR)
    for what, texts, bar in (("hypothesis", rows.texts, _BAR), ("note", rows.notes, _TWO_BARS)):
        for i in _suspicious(texts):
            segment = rows.segments[int(np.searchsorted(rows.bounds, i, "right")) - 1]
            _check(what, segment, texts[i], bar)


def _suspicious(texts: Texts) -> list[int]:
    """Texts that begin or end with a blank, or hold a control character or a bar."""
    bounds, blob = texts.bounds, texts.blob
    filled = np.flatnonzero(bounds[1:] > bounds[:-1])
    edge = (blob[bounds[filled]] <= 32) | (blob[bounds[filled + 1] - 1] <= 32)
    inside = np.flatnonzero((blob < 32) | (blob == 124))
    found: list[int] = np.union1d(filled[edge], np.searchsorted(bounds, inside, "right") - 1).tolist()
    return found


def _check(what: str, identity: str, text: str, bar: re.Pattern[bytes]) -> None:
    raw = text.encode()
    if raw.strip() != raw or not raw or b"\n" in raw or bar.search(raw):
        raise UnwritableError(f"segment {identity}: the {what} {text[:60]!r} cannot be in n-best text; write JSONL")
