"""From a folder of parallel text to a decoder: word alignment, blocks and language model, each made once and stored."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from functools import cache
from itertools import count
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from rampion.decoder.alignment import align, links
from rampion.decoder.alignment.links import Alignment
from rampion.decoder.block_decoder import BlockDecoder
from rampion.decoder.models import extract, kneser, lm
from rampion.decoder.models.blocks import BlockSet
from rampion.decoder.models.lm import Lm
from rampion.decoder.search.search import Search
from rampion.decoder.search.states import Reordering
from rampion.decoder.text.corpus import Corpus, Parallel
from rampion.decoder.text.coverage import covering
from rampion.decoder.text.tokenised import Tokenised

from rampion.arrays import Integers, fingerprint
from rampion.errors import InputError, RecipeError, StoreError
from rampion.formats.files import FilePath, replacing

SETTINGS, LINKS, BLOCKS, MODEL = "settings.json", "links.gz", "system.blocks", "system.lm"
Watch = Callable[[str, int, int], None]  # receives the stage, the amount that is done, and the amount in all
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Settings:
    """The settings of a system.

    pair      the languages, SRC-TGT, if the names in the folder are ambiguous
    order     the order of the language model
    longest   the most words of a phrase, on either side
    least     the minimum count of a block
    top       the number of blocks of a source phrase, the most frequent ones; 0 is all
    covering  whether to extract blocks only from pairs that cover the test (S10.3); the language model uses all pairs
    """

    pair: str | None = None
    order: int = 3
    longest: int = 7
    least: int = 1
    top: int = 100
    covering: bool = False

    def __post_init__(self) -> None:
        if not 1 <= self.order <= lm.HIGHEST:
            raise RecipeError(f"order {self.order}: a language model has 1 to {lm.HIGHEST}")
        _ = self.rules

    @property
    def rules(self) -> extract.Settings:
        """The settings of the extraction of blocks."""
        return extract.Settings(self.longest, least=self.least, top=self.top)


@dataclass(frozen=True, slots=True)
class Parts:
    """The parts of a system that a decoder needs."""

    settings: Settings
    blocks: BlockSet
    lm: Lm

    @classmethod
    def open(cls, folder: FilePath) -> Parts:
        """Open the parts in a folder, without its corpus."""
        home = Path(folder)
        if missing := [name for name in (SETTINGS, BLOCKS, MODEL) if not (home / name).exists()]:
            raise InputError(f"{home}: has no {missing[0]}; put it back, or prepare the system again")
        facts = _found(home)
        try:
            settings = Settings(**{name: facts[name] for name in facts if name != "corpus"})
        except TypeError as error:
            raise StoreError(f"{home}: was made with settings of another version; name a new folder") from error
        return cls(settings, BlockSet.read(home / BLOCKS), lm.read(home / MODEL))

    def decoder(
        self,
        features: str = "LM,all",
        reordering: Reordering = Reordering(),  # noqa: B008 - a NamedTuple is immutable
        *,
        threads: int = 1,
        beam: int = 100,
        pops: int = 1000,
        options: int = 20,
        progress: Callable[[int], None] | None = None,
    ) -> BlockDecoder:
        """A decoder of these."""
        search, longest = Search(beam, pops, reordering=reordering), self.settings.longest
        return BlockDecoder(self.blocks, self.lm, features, search, options, longest, threads, progress=progress)


@dataclass(frozen=True, slots=True)
class System(Parts):
    """A corpus, whose training pairs are those of the blocks, and the parts that were made from it."""

    corpus: Corpus

    @property
    def dev(self) -> Parallel:
        """The text to tune on."""
        return self.corpus.needed("dev")

    @property
    def test(self) -> Parallel:
        """The text to test on."""
        return self.corpus.needed("test")

    @classmethod
    def prepare(
        cls,
        corpus: FilePath,
        folder: FilePath,
        settings: Settings | None = None,
        threads: int | None = None,
        progress: Watch | None = None,
    ) -> System:
        """The system of a corpus. Parts that the folder contains are read; the others are made and stored there.

        Every file is written whole or not at all, so that an interrupted call can be repeated. Threads change no bit.
        """
        settings, watch = settings or Settings(), progress or _nobody
        text = Corpus.load(corpus, settings.pair)
        for name in ("train", "dev", "test"):
            text.needed(name, str(corpus))
        home = _settled(Path(folder), settings, text)

        @cache
        def words(side: int) -> Tokenised:
            """The words of the training text, for whoever needs them first; nobody does if all is there."""
            return Tokenised.of((text.train.source, text.train.target)[side])

        def estimated(path: Path) -> None:
            def told(_: str, done: int, total: int) -> None:
                watch("language model", done, total)

            kneser.estimate(words(1), settings.order, progress=told).lm.write(path)

        model = _kept(home / MODEL, lm.read, estimated)
        rows = np.arange(len(text.train))
        if settings.covering and text.test:
            rows, _ = covering(text.train.source, text.test.source)
            if not len(rows):
                raise InputError(f"{corpus}: no pair to train on shares a word with the test; is it of this language?")
        train = text.train.take(rows)
        whole = len(train) == len(text.train)

        def extracted(path: Path) -> None:
            def told(stage: str, done: int, total: int) -> None:
                watch(f"{stage} blocks", done, total)

            sides = words(0), words(1)
            if not whole:
                sides = sides[0].take(rows), sides[1].take(rows)
            points, lexicon = _aligned(train, sides, rows, str(corpus), home, threads, watch)
            extract.build(*sides, points, settings.rules, lexicon=lexicon, threads=threads, watch=told).write(path)

        blocks = _kept(home / BLOCKS, BlockSet.read, extracted)
        return cls(settings, blocks, model, replace(text, train=train))

    def alignment(self, source: Tokenised, target: Tokenised, folder: FilePath) -> Alignment:
        """The alignment that the blocks were made with: the corpus's own, or that of the folder of the system."""
        train, home = self.corpus.train, Path(folder)
        return _aligned(train, (source, target), np.arange(len(train)), "the corpus", home, None, _nobody).alignment


def _nobody(stage: str, done: int, total: int) -> None:
    """The default `Watch`: does nothing."""


def _kept(path: Path, read: Callable[[Path], T], make: Callable[[Path], None]) -> T:
    """What the file holds, which is made first if it is not there.

    It is mapped from the file even if it was just made: pages of a file leave the memory when others need it.
    """
    if not path.exists():
        make(path)
    return read(path)


def _aligned(
    train: Parallel,
    sides: tuple[Tokenised, Tokenised],
    rows: Integers,
    corpus: str,
    home: Path,
    threads: int | None,
    watch: Watch,
) -> align.Aligned:
    """The alignment of the pairs from these rows: the one that the corpus gives, or else one that is made and kept.

    With a new one comes the Model 1 that was trained for it.
    """
    source, target = sides
    lengths = source.lengths, target.lengths
    if train.links is not None:
        numbered = zip((rows + 1).tolist(), map(str.strip, train.links), strict=True)
        return align.Aligned(links.parsed(numbered, f"the alignment in {corpus}", lengths))
    if (path := home / LINKS).exists():
        return align.Aligned(links.read(path, lengths))
    rounds = count(1)

    def told(_: align.Round) -> None:
        watch("aligning", next(rounds), sum(align.ROUNDS))

    found = align.aligned(source, target, threads=threads, watch=told)
    links.write(path, found.alignment)
    return found


def _settled(home: Path, settings: Settings, text: Corpus) -> Path:
    """The folder, after a check that it belongs to this corpus and these settings."""
    facts = {name: value for name, value in asdict(settings).items() if name != "pair"}
    facts["corpus"] = _print(text, settings.covering)
    try:
        home.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"{home}: cannot be a folder to work in: {error.strerror}; name another") from error
    found = _found(home)
    if found is None:
        if strange := [name for name in (LINKS, BLOCKS, MODEL) if (home / name).exists()]:
            raise StoreError(f"{home}: holds {strange[0]}, but no {SETTINGS} that tells of what; name a new folder")
        with replacing(home / SETTINGS) as file:
            file.write(json.dumps(facts, indent=1).encode() + b"\n")
    elif found != facts:
        raise InputError(f"{home}: was made with {_differing(found, facts)}; take that again, or name a new folder")
    return home


def _found(home: Path) -> Any:
    """The recorded settings of the folder, or None if there are none."""
    path = home / SETTINGS
    try:
        return json.loads(path.read_bytes()) if path.exists() else None
    except OSError as error:
        raise InputError(f"{home}: cannot be a folder to work in: {error.strerror}; name another") from error
    except ValueError as error:
        raise StoreError(f"{path}: is damaged; name a new folder") from error


def _differing(found: Any, facts: dict[str, Any]) -> str:
    """The differences between recorded and wanted settings, as a phrase."""
    if not isinstance(found, dict) or found.keys() != facts.keys():
        return "settings of another version"
    wrong = [f"{name} {found[name]}, not {facts[name]}" for name in facts if found[name] != facts[name]]
    return " and ".join("another corpus" if item.startswith("corpus") else item for item in wrong)


def _print(text: Corpus, covering: bool) -> str:
    """A hash of the text that a system is made from."""
    test = text.test.source if covering and text.test else None
    parts = (text.train.source, text.train.target, text.train.links, test)
    return fingerprint(*(array for texts in parts if texts is not None for array in texts.arrays))
