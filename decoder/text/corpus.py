"""Parallel text: a folder of files with one sentence a line; how it is read, cleaned, and split into words.

    train.SRC  train.TGT  [train.SRC-TGT.align]     dev.SRC  dev.TGT or dev.TGT.0, dev.TGT.1, ...     test likewise

Every file may be compressed (.gz, .zst). Links are lines `i-j i-j` (Pharaoh), counted from 0. The file `pair` contains
SRC-TGT; without it, the languages are guessed from the names of the other files.
"""

from __future__ import annotations

import os
import re
import secrets
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

import numpy as np

from rampion import signals
from rampion.arrays import Integers
from rampion.errors import FormatError, InputError
from rampion.formats import files
from rampion.formats.texts import write as write_lines
from rampion.store.names import Names
from rampion.store.text import References, Texts
from rampion.system import held

PAIR = "pair"
Tick = Callable[[int], None]  # receives the number of lines that have been done since the last call


@dataclass(frozen=True, slots=True)
class Parallel:
    """Sentences and their translations, line by line. There may be several references."""

    source: Texts
    targets: tuple[Texts, ...]
    links: Texts | None = None

    def __len__(self) -> int:
        return len(self.source)

    @property
    def target(self) -> Texts:
        return self.targets[0]

    @property
    def references(self) -> References:
        """The translations of all sentences, as references."""
        count, width = len(self), len(self.targets)
        rows = np.arange(count * width).reshape(width, count).T.ravel()
        return References(Texts.join(self.targets).take(rows), np.arange(count + 1) * width)

    def take(self, rows: Integers) -> Parallel:
        """The sentences at `rows`, in that order."""
        return self._each(lambda texts: texts.take(rows))

    @classmethod
    def join(cls, parts: Sequence[Parallel]) -> Parallel:
        """All sentences of all parts, in order."""
        targets = (Texts.join(texts) for texts in zip(*(part.targets for part in parts), strict=True))
        links = [part.links for part in parts if part.links is not None]
        return cls(
            Texts.join([part.source for part in parts]),
            tuple(targets),
            Texts.join(links) if len(links) == len(parts) else None,
        )

    def _each(self, change: Callable[[Texts], Texts]) -> Parallel:
        links = None if self.links is None else change(self.links)
        return Parallel(change(self.source), tuple(map(change, self.targets)), links)


class Size(NamedTuple):
    """The size of one part in one language."""

    text: str
    lines: int
    words: int
    mean: float  # words per line
    vocabulary: int


@dataclass(frozen=True, slots=True)
class Corpus:
    """Training, dev and test text of a pair of languages."""

    languages: tuple[str, str]
    train: Parallel
    dev: Parallel | None = None
    test: Parallel | None = None

    @property
    def parts(self) -> Iterator[tuple[str, Parallel]]:
        """The existing parts, with their names."""
        parts = (("train", self.train), ("dev", self.dev), ("test", self.test))
        return ((name, part) for name, part in parts if part is not None)

    def needed(self, name: str, where: str = "the corpus") -> Parallel:
        """The part of this name. Raise InputError if it has no sentences."""
        part = dict(self.parts).get(name)
        if not part:
            files = " and ".join(f"{name}.{language}" for language in self.languages)
            raise InputError(f"{where}: has no {name} text; expected sentences in {files}")
        return part

    def sizes(self) -> list[Size]:
        """The sizes of each part and language. Several translations of a part are counted together."""
        found = []
        for name, part in self.parts:
            for language, texts in zip(self.languages, (part.source, Texts.join(part.targets)), strict=True):
                names = Names()
                words = len(names.tokens(texts)[0])
                found.append(Size(f"{name}.{language}", len(texts), words, words / max(len(texts), 1), len(names)))
        return found

    @classmethod
    def load(cls, folder: files.FilePath, pair: str | None = None) -> Corpus:
        """Read the corpus of a folder. `pair` (SRC-TGT) names the languages if the file names are ambiguous.

        A side may be one of several versions: the pair ar-en.kjv means training on train.en.kjv and testing on test.en.
        """
        found = _Folder(Path(folder))
        source, target = found.sides(pair)
        train = found.part("train", source, target)
        if train is None:
            raise InputError(
                f"{folder}: expected train.{source} and train.{target}; name the sides with --pair SRC-TGT"
            )
        languages = source.partition(".")[0], target.partition(".")[0]
        dev, test = (found.part(name, *languages) for name in ("dev", "test"))
        return cls(languages, train, dev, test)

    @classmethod
    def versions(cls, folder: files.FilePath, pair: str | None = None) -> Corpus:
        """The corpus with all versions of its training text end to end: train.en, train.en.kjv and so on.

        Each version translates the same sentences. Alignments are left out unless every version has one.
        """
        found, own = _Folder(Path(folder)), cls.load(folder, pair)
        source, target = own.languages
        side = re.compile(rf"train\.{re.escape(target)}\.(\w+)")
        names = sorted(match[1] for file in found.files if (match := side.fullmatch(file)))
        more = [part for name in names if (part := found.part("train", source, f"{target}.{name}"))]
        return replace(own, train=Parallel.join([own.train, *more]))

    def apart(self, count: int, seed: int = 1) -> Corpus:
        """The corpus with dev and test text of so many pairs each that are drawn from the training text, and taken out.

        Only a pair whose source stands once in the text is drawn: another translation of it would give it away.
        """
        train = self.train
        ids = Names().intern_all(train.source)
        single = np.flatnonzero(np.bincount(ids)[ids] == 1)
        if len(single) < 2 * count or len(train) <= 2 * count:
            raise InputError(
                f"{len(train)} pairs, {len(single)} of them with a source sentence of their own: too few to hold out "
                f"{count} for dev and as many for test; hold out fewer"
            )
        drawn = np.random.default_rng(seed).permutation(single)[: 2 * count]
        dev, test = (train.take(np.sort(rows)) for rows in (drawn[:count], drawn[count:]))
        left = np.setdiff1d(np.arange(len(train)), drawn)
        return replace(self, train=train.take(left), dev=replace(dev, links=None), test=replace(test, links=None))

    def write(self, folder: files.FilePath, packed: bool = False) -> None:
        """Write all files of the corpus to a new folder, or none. With `packed`, the training text is gzipped."""
        source, target = self.languages
        with creating(folder) as fresh:
            write_lines(fresh / PAIR, Texts.from_strings([f"{source}-{target}"]))
            for name, part in self.parts:
                end = ".gz" if packed and name == "train" else ""
                write_lines(fresh / f"{name}.{source}{end}", part.source)
                for number, texts in enumerate(part.targets):
                    write_lines(fresh / f"{name}.{target}{f'.{number}' if len(part.targets) > 1 else ''}{end}", texts)
                if part.links is not None:
                    write_lines(fresh / f"{name}.{source}-{target}.align{end}", part.links)


class _Folder:
    """The files of a folder, by their names without .gz and .zst."""

    def __init__(self, path: Path) -> None:
        if not path.is_dir():
            raise InputError(f"{path}: is no folder; name the folder that holds train.SRC and train.TGT")
        self.path = path
        self.files: dict[str, Path] = {}
        for file in sorted(path.iterdir()):
            name = file.name.removesuffix(".gz").removesuffix(".zst")
            if name in self.files:
                raise InputError(f"{path}: holds both {self.files[name].name} and {file.name}; remove one of them")
            self.files[name] = file

    def sides(self, pair: str | None) -> tuple[str, str]:
        """Source and target, from `pair`, the file `pair`, the alignment, the references, or the folder's name."""
        if pair is not None:
            return split_pair(pair)
        if PAIR in self.files:
            return split_pair(" ".join(read_lines(self.files[PAIR])), f"{self.files[PAIR]}: ")
        present = [name[6:] for name in self.files if re.fullmatch(r"train\.[^.]+", name)]
        if len(present) != 2:
            raise InputError(
                f"{self.path}: expected files train.SRC and train.TGT of two languages, "
                f"found {' '.join(present) or 'none'}; name the sides with --pair SRC-TGT"
            )
        ways = (tuple(present), tuple(reversed(present)))
        for sign in (self._aligned, self._referred, self._named):
            agreed = [(source, target) for source, target in ways if sign(source, target)]
            if len(agreed) == 1:
                return agreed[0]
        told = " or ".join(f"--pair {source}-{target}" for source, target in ways)
        raise InputError(f"{self.path}: does not tell which of its languages is translated; say {told}")

    def _aligned(self, source: str, target: str) -> bool:
        return f"train.{source}-{target}.align" in self.files

    def _referred(self, source: str, target: str) -> bool:
        return any(f"{part}.{target}.0" in self.files for part in ("dev", "test"))

    def _named(self, source: str, target: str) -> bool:
        return self.path.resolve().name.endswith(f"{source}-{target}")

    def part(self, name: str, source: str, target: str) -> Parallel | None:
        """The part of this name, or None if one of its sides is missing."""
        side, other = f"{name}.{source}", f"{name}.{target}"
        numbered = [file for file in self.files if re.fullmatch(rf"{re.escape(other)}\.\d+", file)]
        targets = [other] if other in self.files else sorted(numbered, key=lambda file: int(file[len(other) + 1 :]))
        if side not in self.files or not targets:
            return None
        align = f"{name}.{source}-{target}.align"
        names = [side, *targets, *([align] if align in self.files else [])]
        texts = read_together([self.files[file] for file in names])
        return Parallel(texts[0], tuple(texts[1 : 1 + len(targets)]), texts[-1] if names[-1] == align else None)


def split_pair(pair: str, where: str = "--pair ") -> tuple[str, str]:
    """Split de-en into de and en. A language with a region is written with an underscore: pt_BR-en."""
    source, _, target = pair.partition("-")
    if not all(re.fullmatch(r"\w+(\.\w+)?", side) for side in (source, target)) or source == target:
        raise InputError(f"{where}{pair}: expected two languages with a hyphen between, as de-en or pt_BR-en")
    return source, target


# Files


def read_lines(path: files.FilePath) -> Texts:
    """The lines of a text file."""
    blobs, lengths = [np.zeros(0, np.uint8)], [np.zeros(1, np.int64)]
    for line, block in files.line_blocks(path):
        if b"\r" in block:
            block = block.replace(b"\r\n", b"\n")
        _check(path, line, block)
        blob = np.frombuffer(block, np.uint8)
        ends = blob == ord("\n")
        lengths.append(np.diff(np.flatnonzero(ends), prepend=-1) - 1)
        blobs.append(blob[~ends])
    return Texts(np.concatenate(blobs), np.cumsum(np.concatenate(lengths)))


def _check(path: files.FilePath, first: int, block: bytes) -> None:
    try:
        block.decode()
    except UnicodeDecodeError as error:
        line = first + files.newlines(block[: error.start])
        raise files.not_utf8(path, line, error) from error


def read_together(paths: Sequence[files.FilePath]) -> list[Texts]:
    """Files whose lines belong together."""
    texts = [read_lines(path) for path in paths]
    for path, text in zip(paths[1:], texts[1:], strict=True):
        if len(text) != len(texts[0]):
            raise InputError(
                f"{paths[0]} has {len(texts[0])} lines and {path} has {len(text)}; "
                "expected as many, line by line the same sentences"
            )
    return texts


def read_tsv(path: files.FilePath) -> Parallel:
    """Two columns with a tab between, source and target; further columns are left out."""
    sides: tuple[list[str], list[str]] = ([], [])
    for line, text in enumerate(read_lines(path), 1):
        cells = text.split("\t")
        if len(cells) < 2:
            raise FormatError.at(files.shown(path), line, "found no tab; expected source, tab, target")
        for side, cell in zip(sides, cells, strict=False):
            side.append(cell)
    return Parallel(Texts.from_strings(sides[0]), (Texts.from_strings(sides[1]),))


def read_parallel(paths: Sequence[files.FilePath]) -> Parallel:
    """The source and a file for each of its translations; or one TSV."""
    if len(paths) == 1:
        return read_tsv(paths[0])
    source, *targets = read_together(paths)
    return Parallel(source, tuple(targets))


@contextmanager
def creating(folder: files.FilePath) -> Iterator[Path]:
    """A temporary folder to fill. It gets its name when the `with` block ends without an error."""
    target = Path(os.path.realpath(folder))
    if target.exists() and not (target.is_dir() and not any(target.iterdir())):
        raise InputError(f"{folder}: exists already; name a new folder")
    partial = target.with_name(f".{target.name}.{secrets.token_hex(6)}.part")
    signals.UNFINISHED.add(str(partial))
    try:
        partial.mkdir(parents=True)
        with held(partial):
            yield partial
            os.replace(partial, target)
    except OSError as error:
        raise InputError(f"{folder}: cannot be written: {error.strerror}; nothing was left behind") from error
    finally:
        shutil.rmtree(partial, ignore_errors=True)
        signals.UNFINISHED.discard(str(partial))


# Cleaning


class Cleaning(NamedTuple):
    """Rules for the pairs to keep."""

    longest: int = 100  # the most words on either side
    ratio: float = 9.0  # the greatest ratio of the numbers of words of the two sides


CLEANING = Cleaning()


class Dropped(NamedTuple):
    """The number of pairs that one rule dropped, and the line of the first one."""

    why: str
    pairs: int
    first: int | None


def clean(
    train: Parallel, held_out: Sequence[Parallel] = (), rules: Cleaning = CLEANING
) -> tuple[Parallel, list[Dropped]]:
    """The pairs that break no rule, and counts of the others. A pair counts for the first rule that it breaks."""
    names, texts = Names(), Names()
    source_ids, target_ids = texts.intern_all(train.source), texts.intern_all(train.target)
    source, target = (np.diff(names.tokens(side)[1]) for side in (train.source, train.target))
    pairs = source_ids << 32 | target_ids
    held = [
        texts.intern_all(part.source) << 32 | texts.intern_all(target) for part in held_out for target in part.targets
    ]
    less, more = np.minimum(source, target), np.maximum(source, target)
    repeated = np.ones(len(train), np.bool_)
    repeated[np.unique(pairs, return_index=True)[1]] = False
    broken = {
        "empty side": less == 0,
        f"more than {rules.longest} words": more > rules.longest,
        f"one side more than {rules.ratio:g} times as long": more > rules.ratio * less,
        "both sides the same": source_ids == target_ids,
        "occurs before": repeated,
        "occurs in dev or test": np.isin(pairs, np.concatenate(held)) if held else np.zeros(len(train), np.bool_),
    }
    kept, report = np.ones(len(train), np.bool_), []
    for why, wrong in broken.items():
        rows = np.flatnonzero(wrong & kept)
        kept[rows] = False
        report.append(Dropped(why, len(rows), int(rows[0]) + 1 if len(rows) else None))
    return train.take(np.flatnonzero(kept)), report


def split_off(text: Parallel, dev: int, test: int, seed: int = 1) -> tuple[Parallel, Parallel, Parallel]:
    """Split a text into train, dev and test: random pairs, each part in the order of the text."""
    if dev + test >= len(text):
        raise InputError(
            f"{len(text)} pairs are too few to set {dev} and {test} aside; lower --dev-pairs or --test-pairs"
        )
    drawn = np.argsort(np.random.default_rng(seed).random(len(text)), kind="stable")
    cuts = (drawn[dev + test :], drawn[:dev], drawn[dev : dev + test])
    train, tune, judge = (text.take(np.sort(rows)) for rows in cuts)
    return train, tune, judge


# Words


def simple_words(text: str) -> str:
    """A simple tokeniser: letters and digits stay together, every other character is a word of its own."""
    return " ".join(re.findall(r"\w+|[^\w\s]", text))


def moses_words(language: str) -> Callable[[str], str]:
    """The tokeniser of sacremoses for a language."""
    try:
        from sacremoses import MosesTokenizer
    except ModuleNotFoundError as error:
        raise InputError("the Moses tokeniser is missing: pip install sacremoses") from error
    tokeniser = MosesTokenizer(language.partition("_")[0])
    return lambda text: str(tokeniser.tokenize(text, return_str=True, escape=False))


TOKENISERS: Mapping[str, Callable[[str], Callable[[str], str]]] = {
    "none": lambda _: lambda text: " ".join(text.split()),
    "simple": lambda _: simple_words,
    "moses": moses_words,
}


def words(
    text: Parallel,
    languages: tuple[str, str],
    tokeniser: str = "none",
    lower: bool = False,
    tick: Tick = lambda _: None,
) -> Parallel:
    """The text split into words by the tokeniser, with one blank between words, in lower case if `lower`."""
    if tokeniser not in TOKENISERS:
        raise InputError(f"there is no tokeniser {tokeniser!r}; expected one of {', '.join(TOKENISERS)}")
    source, target = (TOKENISERS[tokeniser](language) for language in languages)

    def changed(texts: Texts, split: Callable[[str], str]) -> Iterator[str]:
        for line in texts:
            tick(1)
            yield split(line).lower() if lower else split(line)

    targets = tuple(Texts.from_strings(changed(texts, target)) for texts in text.targets)
    return Parallel(
        Texts.from_strings(changed(text.source, source)), targets, text.links if tokeniser == "none" else None
    )


def prepare(
    languages: tuple[str, str],
    parts: tuple[Parallel, Parallel | None, Parallel | None],
    aside: tuple[int, int],
    rules: Cleaning = CLEANING,
    tokeniser: str = "none",
    lower: bool = False,
    tick: Tick = lambda _: None,
) -> tuple[Corpus, list[Dropped]]:
    """A cleaned corpus, and counts of dropped pairs. A part that is None gets `aside` pairs of the training text."""
    if len(parts[0].targets) != 1:
        raise InputError(f"found {len(parts[0].targets)} translations to train on; expected one; join the files first")
    dev, test = (None if part is None else words(part, languages, tokeniser, lower, tick) for part in parts[1:])
    given = [part for part in (dev, test) if part is not None]
    kept, dropped = clean(words(parts[0], languages, tokeniser, lower, tick), given, rules)
    sizes = [size if part is None else 0 for part, size in zip((dev, test), aside, strict=True)]
    kept, *fresh = split_off(kept, *sizes)
    dev, test = (made if size else part for part, size, made in zip((dev, test), sizes, fresh, strict=True))
    return Corpus(languages, kept, dev, test), dropped
