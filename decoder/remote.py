"""The bundled decoder on an executor's workers: text in shards, one result file for each, the same bits as locally.

Blocks, language model and text are written once, and weights once per vector, as files that workers map, named by their
hash. A worker caches the decoder that it has opened until it is asked for another one.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from os import PathLike
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray
from rampion.decoder.alignment.links import Alignment, Words
from rampion.decoder.block_decoder import BlockDecoder
from rampion.decoder.count_decoder import LargeDecoder
from rampion.decoder.features.counts import CountFeatures
from rampion.decoder.models.blocks import BlockSet
from rampion.decoder.models.leave_one_out import LeftOut, Penalty
from rampion.decoder.models.lm import read as read_lm
from rampion.decoder.search.candidates import candidates
from rampion.decoder.search.oracle import Oracle
from rampion.decoder.search.search import Search
from rampion.decoder.search.states import Reordering

from rampion.arrays import KeyRow, Reals, fingerprint
from rampion.errors import RecipeError, StoreError
from rampion.executors import Coordinator, Job, Task, shards
from rampion.executors.tasks import Latest, kept
from rampion.formats import container
from rampion.formats.files import Origin
from rampion.schema import Found, Row, Schema, bounds, not_negative, reals, spans, strings, utf8
from rampion.sets.records import DecodedBatch, Keyed, Weighing
from rampion.store.candidates import Candidates
from rampion.store.features import Weights
from rampion.store.keys import SLOT, Keys
from rampion.store.text import References, Texts, blank

SIZE = 100  # segments of a shard: some seconds of work, so that a kill costs little, and sending it even less
CANNOT = "it cannot be used"


def _slots_fit(found: Found, name: str) -> str | None:
    """Distinct ids below the size, finite weights, and a free slot, which weighs nothing and ends every search."""
    slots, size = found.arrays[name].view(SLOT), found.sizes["size"]
    used = slots["key"] != 0
    ids = slots["id"][used]
    if used.all() or slots["weight"][~used].any():
        return "has no free slot, or one that weighs something"
    if len(ids) != size or int(ids.max(initial=0)) >= max(1, size) or np.bincount(ids, minlength=1).max() > 1:
        return f"does not number {size:,} features"
    return None if np.isfinite(slots["weight"]).all() else "holds a weight that is not finite"


TEXTS = Schema(
    "texts",
    {
        **strings("segments", "source", "source_bounds"),
        "reference_bounds": Row("<i8", ("references+1",), (spans("reference"), utf8("reference")), optional=True),
        "reference": Row("|u1", ("*",), optional=True),
        "reference_of": Row("<i8", ("segments+1",), (spans("references"),), optional=True),
    },
    advice=CANNOT,
)
SAID = Schema("translations", strings("segments", "text", "text_bounds"), advice=CANNOT)
WEIGHTS = Schema(
    "shared weights", {"slots": Row("<u8", ("2*slots",), (_slots_fit,))}, {"size": int, "own": dict}, CANNOT
)
PAIRS = Schema(
    "pairs left out",
    {
        "source_bounds": bounds("pairs", "sources"),
        "sources": Row("<u4", ("*",)),
        "target_bounds": bounds("pairs", "targets"),
        "targets": Row("<u4", ("*",)),
        "bounds": bounds("pairs", "from"),
        "from": Row("<i4", ("points",), (not_negative,)),
        "to": Row("<i4", ("points",), (not_negative,)),
    },
    advice=CANNOT,
)
FIRED = Schema(
    "fired candidates",
    {
        **strings("candidates", "text", "text_bounds"),
        "bounds": Row("<i8", ("segments+1",), (spans("candidates"),)),
        "values": reals("candidates", "width"),
        "key_bounds": bounds("candidates", "keys"),
        "keys": Row("<u8", ("keys",)),
        "scores": reals("candidates"),
    },
    advice=CANNOT,
)

T = TypeVar("T")
Files = Mapping[str, Path]
Settings = Mapping[str, Any]  # as JSON has them
Span = tuple[int, int]


@dataclass(frozen=True, slots=True, eq=False)
class Spread:
    """A decoder whose work is done by a coordinator's workers; a KeyedDecoder itself."""

    decoder: BlockDecoder | LargeDecoder
    coordinator: Coordinator
    size: int = SIZE
    name: str = "the text"
    _blobs: dict[Any, str] = field(default_factory=dict, init=False, repr=False)
    _last: list[tuple[Keys, int, dict[str, float], str]] = field(default_factory=list, init=False, repr=False)

    @property
    def plain(self) -> BlockDecoder:
        """The decoder without count features."""
        return self.decoder.decoder if isinstance(self.decoder, LargeDecoder) else self.decoder

    @property
    def names(self) -> tuple[str, ...]:
        """The names of its real-valued features."""
        return self.plain.names

    @property
    def initial(self) -> Weights:
        """The initial weights of tuning."""
        return self.decoder.initial

    @property
    def fingerprint(self) -> str:
        """A hash of everything that determines the output; the executor is not part of it."""
        return self.decoder.fingerprint

    def decode(
        self, segments: Texts, weights: Weighing, k: int, folder: str | PathLike[str] | None = None
    ) -> Candidates:
        """The k best derivations of every segment. With a folder, they are stored in files there, not in memory."""
        found = self._batches("lists", "listed", segments, None, weights, {"k": k})
        return candidates(found, self.names, self.decoder.spelt, folder)

    def listed(self, segments: Texts, weights: Keyed, k: int) -> Iterator[DecodedBatch]:
        """The k best candidates of every segment, best first."""
        return self._batches("candidates", "listed", segments, None, weights, {"k": k})

    def truths(self, segments: Texts, references: References, best: int) -> Iterator[DecodedBatch]:
        """The candidates of highest BLEU in the search space, best first (S10.4)."""
        return self._batches("oracle", "truths", segments, references, None, {"best": best})

    def bags(self, segments: Texts, seed: int) -> Iterator[DecodedBatch]:
        """A random block of every span (S10.7)."""
        return self._batches("bags", "bags", segments, None, None, {"seed": seed})

    def best(self, segments: Texts, weights: Weighing) -> Texts:
        """The best translation of every segment."""
        said = self._ask("translations", "best", segments, None, weights, {}, _read_texts, blank)
        return Texts.join(list(said))

    def oracles(self, segments: Texts, references: References, criterion: Oracle) -> Iterator[tuple[Texts, Reals]]:
        """The texts of the sequences of highest BLEU, and their BLEU+1, for each shard."""
        asked = {"best": criterion.best, "criterion": asdict(criterion)}
        for found in self._batches("oracle", "truths", segments, references, None, asked):
            yield found.texts, found.scores

    def spelt(self, keys: KeyRow) -> Texts:
        """The readable names of keys."""
        return self.decoder.spelt(keys)

    def _batches(
        self, job: str, work: str, segments: Texts, references: References | None, weights: Weighing | None,
        asked: Settings,
    ) -> Iterator[DecodedBatch]:  # fmt: skip
        """A batch a shard."""

        def nothing(count: int) -> DecodedBatch:
            return DecodedBatch.empty(count, len(self.names))

        return self._ask(job, work, segments, references, weights, asked, _read, nothing)

    def _ask(
        self, job: str, work: str, segments: Texts, references: References | None, weights: Weighing | None,
        asked: Settings, read: Callable[[Path], T], nothing: Callable[[int], T],
    ) -> Iterator[T]:  # fmt: skip
        """Run a task for every shard, and yield what `read` returns; for a skipped shard, `nothing(its segments)`."""
        inputs = self._system() | {"text": self._text(segments, references)}
        if weights is not None:
            inputs["weights"] = self._weights(weights)
        settings, given = json.dumps({**self._settings(), **asked}, sort_keys=True), tuple(sorted(inputs.items()))
        tasks = [
            Task(f"rampion.decoder.remote:{work}", settings, given, shard, span)
            for shard, span in enumerate(shards(len(segments), self.size))
        ]
        answers, progress = self.coordinator.answers(Job(job, self.name), tasks, read), self.plain.progress
        for task, answer in zip(tasks, answers, strict=True):
            yield nothing(task.items) if answer is None else answer
            if progress:
                progress(task.span[1])

    def _settings(self) -> dict[str, Any]:
        plain = self.plain
        if plain.templates.own:
            raise RecipeError(f"the template {plain.templates.own[0]} is a function of this process; workers lack it")
        settings: dict[str, Any] = {
            "features": plain.features, "search": asdict(plain.settings), "options": plain.options,
            "longest": plain.longest, "distinct": plain.distinct, "criterion": asdict(plain.criterion),
        }  # fmt: skip
        if plain.left_out is not None:
            settings["penalty"] = asdict(plain.left_out.penalty)
        if isinstance(self.decoder, LargeDecoder):
            settings["n"] = self.decoder.n
        return settings

    def _system(self) -> dict[str, str]:
        """The blobs of blocks, language model, count features and left-out pairs, by role."""
        plain, blobs = self.plain, dict[str, str]()
        blobs["blocks"] = self._kept("blocks", plain.blocks.write, plain.blocks.origin)
        if plain.lm:
            blobs["lm"] = self._kept("lm", plain.lm.write, plain.lm.origin)
        if isinstance(self.decoder, LargeDecoder):
            blobs["counts"] = self._kept("counts", self.decoder.features.write)
        if (left := plain.left_out) is not None:
            arrays: dict[str, NDArray[Any]] = {
                "sources": left.source.words, "source_bounds": left.source.bounds,
                "targets": left.target.words, "target_bounds": left.target.bounds,
                "bounds": left.alignment.bounds, "from": left.alignment.sources, "to": left.alignment.targets,
            }  # fmt: skip
            blobs["pairs"] = self._kept("pairs", lambda path: container.write(path, PAIRS.kind, arrays, {}))
        return blobs

    def _kept(self, role: str, write: Callable[[Path], None], origin: Origin | None = None) -> str:
        """The name of a lasting blob: the file that it was read from, or else one that is written at the first call."""
        if role not in self._blobs:
            room = self.coordinator.workspace
            there = origin is not None and origin.there
            self._blobs[role] = room.taken(origin.path) if origin and there else room.made(write, lasting=True)
        return self._blobs[role]

    def _text(self, segments: Texts, references: References | None) -> str:
        arrays = _packed("source", segments)
        if references is not None:
            arrays |= _packed("reference", references.texts) | {"reference_of": references.bounds}
        key = fingerprint(*arrays.values())
        if key not in self._blobs:
            self._blobs[key] = self.coordinator.workspace.stored(TEXTS, arrays, {}, lasting=True)
        return self._blobs[key]

    def _weights(self, weights: Weighing) -> str:
        """The blob of the weights, without weights of 0."""
        table, own = weights if isinstance(weights, Keyed) else self._keyed(weights)
        for known, edition, weighed, name in self._last:
            if table is known and edition == table.edition and own == weighed:
                return name
        keys = table.listed()
        values = table.weigh(keys)
        heavy = np.flatnonzero(values)
        small = Keys.of(keys[heavy], np.zeros(len(heavy), np.uint32))
        small.set_weights(values[heavy])
        arrays, meta = {"slots": small.slots.view("<u8")}, {"size": len(small), "own": own}
        name = self.coordinator.workspace.stored(WEIGHTS, arrays, meta)
        self._last[:] = [(table, table.edition, dict(own), name)]
        return name

    def _keyed(self, weights: Mapping[str, float]) -> Keyed:
        table, own = self.plain.keyed(weights)
        if isinstance(self.decoder, LargeDecoder):
            own |= {name: weights[name] for name in self.decoder.features.names if name in weights}
        return Keyed(table, own)


def listed(files: Files, settings: Settings, span: Span, out: Path) -> None:
    """The k best derivations of a shard."""
    opened = _opened(files, settings, out)
    decoder, weights = opened.decoder.only(*span), opened.weights(files)
    _write(out, decoder.listed(opened.text(files)[0], weights, settings["k"]))


def truths(files: Files, settings: Settings, span: Span, out: Path) -> None:
    """The derivations of highest BLEU of a shard."""
    opened = _opened(files, settings, out)
    _write(out, opened.plain.only(*span).truths(*opened.text(files), settings["best"]))


def bags(files: Files, settings: Settings, span: Span, out: Path) -> None:
    """A random block of every span of a shard."""
    opened = _opened(files, settings, out)
    _write(out, opened.plain.only(*span).bags(opened.text(files)[0], settings["seed"]))


def best(files: Files, settings: Settings, span: Span, out: Path) -> None:
    """The best translations of a shard."""
    opened = _opened(files, settings, out)
    said = opened.decoder.only(*span).best(opened.text(files)[0], opened.weights(files))
    container.write(out, SAID.kind, _packed("text", said), {}, durable=False)


class _Opened:
    """What a process has opened: the decoder, and the last weights and text."""

    def __init__(self, files: Files, settings: Settings) -> None:
        blocks = BlockSet.read(files["blocks"])
        lm = read_lm(files["lm"]) if "lm" in files else None
        search = dict(settings["search"])
        reordering = Reordering(*search.pop("reordering"))
        self.plain = BlockDecoder(
            blocks, lm, settings["features"], Search(**search, reordering=reordering), settings["options"],
            settings["longest"], 1, settings["distinct"],
            left_out=_left_out(files["pairs"], blocks, settings["penalty"]) if "pairs" in files else None,
            criterion=_criterion(settings["criterion"]),
        )  # fmt: skip
        self.decoder: BlockDecoder | LargeDecoder = self.plain
        if "counts" in files:
            self.decoder = LargeDecoder(self.plain, CountFeatures.read(files["counts"]), settings["n"])
        self._text, self._weights = Latest[tuple[Texts, References]](), Latest[Keyed]()

    def text(self, files: Files) -> tuple[Texts, References]:
        """The source text and the references."""

        def read() -> tuple[Texts, References]:
            arrays, _ = container.read(files["text"], TEXTS)
            source = _unpacked("source", arrays)
            if "reference_of" in arrays:
                return source, References(_unpacked("reference", arrays), arrays["reference_of"])
            return source, References(source, np.arange(len(source) + 1))

        return self._text.get(files["text"].name, read)

    def weights(self, files: Files) -> Keyed:
        """Those of the file; their model is made once, before others ask for it."""

        def read() -> Keyed:
            arrays, meta = container.read(files["weights"], WEIGHTS)
            weights = Keyed(Keys.weighed(arrays["slots"].view(SLOT), meta["size"]), meta["own"])
            self.plain.model(weights)
            return weights

        return self._weights.get(files["weights"].name, read)


def _opened(files: Files, settings: Settings, out: Path) -> _Opened:
    """The decoder of these files and settings, which the process keeps until it is asked for another one."""
    own = {role: files[role].name for role in ("blocks", "lm", "counts", "pairs") if role in files}
    facts = {name: value for name, value in settings.items() if name not in ("k", "best", "seed")}
    last = kept(out, Latest[_Opened])
    return last.get(json.dumps([own, facts], sort_keys=True), lambda: _Opened(files, settings))


def _criterion(facts: Mapping[str, Any]) -> Oracle:
    return Oracle(**{**facts, "reordering": Reordering(*facts["reordering"])})


def _left_out(path: Path, blocks: BlockSet, penalty: Mapping[str, float]) -> LeftOut:
    arrays, _ = container.read(path, PAIRS)
    text = Words(arrays["sources"], arrays["source_bounds"]), Words(arrays["targets"], arrays["target_bounds"])
    for words, names in zip(text, blocks.vocabularies, strict=True):
        if int(words.words.max(initial=0)) >= len(names):
            raise StoreError(f"{path}: its words are not those of the blocks; {CANNOT}")
    return LeftOut.numbered(blocks, text, Alignment(arrays["bounds"], arrays["from"], arrays["to"]), Penalty(**penalty))


def _packed(name: str, texts: Texts) -> dict[str, Any]:
    return {name: texts.blob, f"{name}_bounds": texts.bounds}


def _unpacked(name: str, arrays: Mapping[str, Any]) -> Texts:
    return Texts(arrays[name], arrays[f"{name}_bounds"])


def _write(out: Path, parts: Iterable[DecodedBatch]) -> None:
    """Write all batches to one file."""
    whole = DecodedBatch.join(list(parts))
    arrays = {name: array for name, array in whole._asdict().items() if name != "texts"}
    container.write(out, FIRED.kind, arrays | _packed("text", whole.texts), {}, durable=False)


def _read(path: Path) -> DecodedBatch:
    arrays, _ = container.read(path, FIRED)
    own = (arrays[name] for name in ("values", "key_bounds", "keys", "scores"))
    return DecodedBatch(arrays["bounds"], _unpacked("text", arrays), *own)


def _read_texts(path: Path) -> Texts:
    return _unpacked("text", container.read(path, SAID)[0])
