"""ARPA files of language models: n-grams as text, with log10 probabilities and backoff weights.

    \\data\\
    ngram 1=4
    ngram 2=1

    \\1-grams:
    -0.6 <s> -0.3          log10 p, the words, log10 of the backoff weight (left out where it is 0)
    …
    \\2-grams:
    -0.3 <s> a
    \\end\\
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from rampion.decoder.models import lm
from rampion.decoder.models.lm import BEGIN, END, HIGHEST, MARKS, STEEPEST, TWICE, Grams, Lm, UnusableGramError

from rampion.arrays import Integers
from rampion.errors import FormatError
from rampion.formats import container
from rampion.formats.files import FilePath, head, line_blocks, newlines, not_utf8, replacing, shown
from rampion.store.names import Names
from rampion.store.text import Texts

_UNSEEN = np.float32(-100.0)  # log10 p(<unk>) if the file has no <unk>
_MARKER = re.compile(rb"^\\[^\n]*\n", re.MULTILINE)
_COUNT = re.compile(r"ngram\s+([0-9]{1,9})\s*=\s*([0-9]{1,15})", re.ASCII)
_BLOCK = 1 << 16


def read(path: FilePath) -> Lm:
    """Read the model of an ARPA file, which may be compressed."""
    counts: list[int] = []
    parts: list[list[tuple[Grams, Integers]]] = []
    vocabulary, section, last = Names(), "", 1
    vocabulary.intern_all(Texts.from_strings(MARKS))
    for line, chunk in _chunks(path):
        last = line + newlines(chunk) - 1
        if not chunk.startswith(b"\\"):
            if section == "data":
                counts += _counts(path, line, chunk, len(counts))
            elif section == "grams":
                parts[-1].append(_grams(path, line, chunk, len(parts), len(counts), vocabulary))
            continue
        marker = chunk.decode(errors="replace").strip()
        if section == "data" and not any(counts[:1]):
            raise FormatError.at(shown(path), line, f"found {marker[:60]!r}, expected 'ngram 1=' and a count above 0")
        if section == "grams" and (found := sum(len(part.probs) for part, _ in parts[-1])) != counts[len(parts) - 1]:
            said = f"the head of the file says {counts[len(parts) - 1]}"
            raise FormatError.at(shown(path), line, f"found {found} {len(parts)}-grams above, {said}; is it cut off?")
        if marker != (expected := _next(section, len(parts), len(counts))):
            if section:
                raise FormatError.at(shown(path), line, f"found {marker[:60]!r}, expected {expected}")
        elif marker == "\\end\\":
            return _model(path, vocabulary, parts)
        elif marker == "\\data\\":
            section = "data"
        else:
            section = "grams"
            parts.append([])
    missing = _next(section, len(parts), len(counts))
    raise FormatError.at(shown(path), last, f"the file ends before {missing}; expected a whole ARPA file")


def load(path: FilePath) -> Lm:
    """Read a model in ARPA or binary form."""
    return lm.read(path) if head(path).startswith(container.NAME) else read(path)


def save(path: FilePath, model: Lm) -> None:
    """Write a model as ARPA text if the name ends with .arpa (or .arpa.gz, .arpa.zst), else in binary form."""
    if ".arpa" in Path(path).suffixes[-2:]:
        write(path, model)
    else:
        model.write(path)


def _next(section: str, order: int, orders: int) -> str:
    """The marker that must follow a section."""
    return "\\data\\" if not section else f"\\{order + 1}-grams:" if order < max(orders, 1) else "\\end\\"


def _chunks(path: FilePath) -> Iterator[tuple[int, bytes]]:
    """The markers, which begin with a backslash, and the lines between them, with the numbers of their first lines."""
    for line, block in line_blocks(path):
        done = 0
        for marker in _MARKER.finditer(block):
            for chunk in (block[done : marker.start()], marker[0]):
                if chunk:
                    yield line, chunk
                line += newlines(chunk)
            done = marker.end()
        if done < len(block):
            yield line, block[done:]


def _counts(path: FilePath, first: int, chunk: bytes, known: int) -> list[int]:
    counts: list[int] = []
    for line, text in enumerate(chunk.decode(errors="replace").splitlines(), first):
        if not text.strip():
            continue
        found, order = _COUNT.fullmatch(text.strip()), known + len(counts) + 1
        if not found or int(found[1]) != order or order > HIGHEST:
            wanted = f"'ngram {order}=' and a count" if order <= HIGHEST else f"at most {HIGHEST} orders"
            raise FormatError.at(shown(path), line, f"found {text[:60]!r}, expected {wanted}")
        counts.append(int(found[2]))
    return counts


def _grams(
    path: FilePath, first: int, chunk: bytes, order: int, orders: int, vocabulary: Names
) -> tuple[Grams, Integers]:
    """The n-grams of these lines, and the numbers of their lines."""
    try:
        chunk.decode()
    except UnicodeDecodeError as mistake:
        raise not_utf8(path, first + newlines(chunk[: mistake.start]), mistake) from mistake
    blob, local = np.frombuffer(chunk, np.uint8), Names()
    tokens, bounds = local.tokens(Texts(blob, np.concatenate([[0], np.flatnonzero(blob == 10) + 1])))
    fields = np.diff(bounds)
    lines, starts, fields = (np.flatnonzero(fields) + first, bounds[:-1][fields > 0], fields[fields > 0])
    for row in np.flatnonzero((fields < order + 1) | (fields > order + 1 + (order < orders)))[:1].tolist():
        also = " and a backoff weight or none" if order < orders else ""
        wanted = f"expected log10 p, {order} words{also}; put the line right"
        raise FormatError.at(shown(path), lines[row], f"found {fields[row]} fields in the {order}-grams, {wanted}")
    strings = local.texts()
    probs = _logs(path, lines, tokens[starts], strings)
    weighted = fields == order + 2
    backoffs = np.zeros(len(probs), np.float32)
    backoffs[weighted] = _logs(path, lines[weighted], tokens[starts[weighted] + order + 1], strings)
    for row in np.flatnonzero(probs > 0)[:1].tolist():
        message = f"found the log-probability {probs[row]:g}, expected none above 0; estimate the model again"
        raise FormatError.at(shown(path), lines[row], message)
    rows = tokens[starts[:, None] + np.arange(1, order + 1)]
    used, places = np.unique(rows, return_inverse=True)
    words = strings.take(used.astype(np.int64))
    ids = (vocabulary.intern_all if order == 1 else vocabulary.find_all)(words)
    for place in np.flatnonzero(ids < 0)[:1].tolist():
        row = int(np.flatnonzero((places.reshape(rows.shape) == place).any(axis=1))[0])
        message = f"the word {words[place]!r} is not among the 1-grams; add it there or drop the n-gram"
        raise FormatError.at(shown(path), lines[row], message)
    return Grams(ids.astype(np.uint32)[places].reshape(rows.shape), probs, backoffs), lines


def _logs(path: FilePath, lines: Integers, tokens: NDArray[np.uint32], strings: Texts) -> NDArray[np.float32]:
    """The log10 numbers in these tokens, one a line."""
    used, places = np.unique(tokens, return_inverse=True)
    words = strings.take(used.astype(np.int64))
    values = np.full(len(words), np.nan)
    for place in range(len(words)):
        with suppress(ValueError):
            values[place] = float(words.raw(place).replace(b"_", b"?"))
    for place in np.flatnonzero(~(abs(values) <= STEEPEST))[:1].tolist():
        line = lines[np.flatnonzero(places == place)[0]]
        found = repr(words.raw(place)[:60].decode(errors="replace"))
        wanted = f"a number from -{STEEPEST:g} to {STEEPEST:g}" if np.isfinite(values[place]) else "a finite number"
        raise FormatError.at(shown(path), line, f"found {found}, expected {wanted}")
    return values[places].astype(np.float32)


def _model(path: FilePath, vocabulary: Names, parts: list[list[tuple[Grams, Integers]]]) -> Lm:
    """The model of the n-grams of all orders. The line numbers are for error messages."""
    orders, lines = [], []
    for order, found in enumerate(parts, 1):
        none = (
            Grams(np.zeros((0, order), np.uint32), np.zeros(0, np.float32), np.zeros(0, np.float32)),
            np.zeros(0, int),
        )
        grams, numbers = zip(none, *found, strict=True)
        orders.append(Grams(*(np.concatenate(arrays) for arrays in zip(*grams, strict=True))))
        lines.append(np.concatenate(numbers))
    words = orders[0].rows[:, 0]
    for row in np.flatnonzero(np.bincount(words, minlength=END + 1)[words] > 1)[1:2].tolist():
        raise FormatError.at(shown(path), lines[0][row], f"the word {vocabulary.name(words[row])!r} stands here again")
    for mark in (BEGIN, END):
        if mark not in words:
            raise FormatError.at(
                shown(path), lines[0][0], f"the 1-grams lack {MARKS[mark]}; expected a model of sentences"
            )
    probs, backoffs = np.full(len(vocabulary), _UNSEEN), np.zeros(len(vocabulary), np.float32)
    probs[words], backoffs[words] = orders[0].probs, orders[0].backoffs
    orders[0] = Grams(np.arange(len(vocabulary), dtype=np.uint32)[:, None], probs, backoffs)
    try:
        return Lm.of(vocabulary, orders)
    except UnusableGramError as error:
        row = orders[error.order - 1].rows[error.row]
        gram = " ".join(vocabulary.name(word) for word in row.tolist())
        what = "stands here again" if error.reason == TWICE else "has a history that is not among the shorter n-grams"
        line = lines[error.order - 1][error.row]
        raise FormatError.at(shown(path), line, f"the n-gram {gram!r} {what}; estimate the model again") from error


def write(path: FilePath, model: Lm) -> None:
    """Write the model as text, with enough digits to read back the same numbers."""
    names = [name.decode() for name in map(model.vocabulary.texts().raw, range(len(model.vocabulary)))]
    orders = model.grams()
    with replacing(path) as file:
        file.write(b"\\data\\\n")
        file.writelines(b"ngram %d=%d\n" % (order, len(grams.probs)) for order, grams in enumerate(orders, 1))
        for order, grams in enumerate(orders, 1):
            file.write(b"\n\\%d-grams:\n" % order)
            for start in range(0, len(grams.probs), _BLOCK):
                rows = grams.rows[start : start + _BLOCK].tolist()
                probs = grams.probs[start : start + _BLOCK].astype(str).tolist()
                backoffs = grams.backoffs[start : start + _BLOCK] + np.float32(0)  # no -0
                tails = ["\n"] * len(rows) if order == len(orders) else [f"\t{cell}\n" for cell in backoffs.astype(str)]
                lines = zip(probs, rows, tails, strict=True)
                file.write(
                    "".join([f"{p}\t{' '.join([names[w] for w in row])}{tail}" for p, row, tail in lines]).encode()
                )
        file.write(b"\n\\end\\\n")
