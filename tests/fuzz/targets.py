"""Every reader as a target of fuzzing: good files to begin with, and what reads a file and uses what it holds.

A reader may refuse a file with a RampionError of one line that begins with its name; all else is a finding.
"""

from __future__ import annotations

import json
import tempfile
import zlib
from collections.abc import Callable
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from rampion.decoder import remote
from rampion.decoder.alignment import links
from rampion.decoder.alignment.align import Aligner
from rampion.decoder.block_decoder import BlockDecoder
from rampion.decoder.features.counts import CountFeatures
from rampion.decoder.models import arpa, kneser, lm
from rampion.decoder.models.blocks import BlockSet
from rampion.decoder.models.extract import build
from rampion.decoder.search import lattice
from rampion.decoder.search.kbest import kbest
from rampion.decoder.text import corpus

from rampion.apps import report, tune
from rampion.apps.store import verify
from rampion.errors import RampionError
from rampion.executors.journal import Journal
from rampion.executors.status import Status
from rampion.formats import container, nbest, read_lists, references, store, texts, weights
from rampion.runs import sets_run
from rampion.schema import Schema
from rampion.sets import files as sets
from rampion.sets.records import Records
from rampion.store.candidates import Candidates
from rampion.store.columns import Columns
from rampion.store.keys import SLOT, Keys
from rampion.store.names import Labels, Names
from rampion.store.text import Texts
from rampion.training import mixing, sharded

SOURCE = ["das haus", "ein haus", "das buch", "ein buch , das"] * 2
TARGET = ["the house", "a house", "the book", "a book , the"] * 2


class Target(NamedTuple):
    """A reader; `make` writes good files into a folder."""

    read: Callable[[Path], object]
    make: Callable[[Path], None]
    words: tuple[bytes, ...] = ()


@cache
def seeds(name: str) -> tuple[bytes, ...]:
    """Good files of a target."""
    with tempfile.TemporaryDirectory(prefix="rampion-fuzz-") as folder:
        TARGETS[name].make(Path(folder))
        return tuple(path.read_bytes() for path in sorted(Path(folder).iterdir()) if path.is_file())


# Lists

NBEST = """0 ||| this is it , ||| LM0= -40.7 TM0= -1.5 -2 -3 WT_a~is= 1 metric:comet= 0.81 ||| -3.81 ||| 0-0 1-2
0 ||| that is it ||| LM0= -41 TM0= -1 -2 -3e-1 metric:comet= 0.5 ||| -4 ||| 0-0
1 ||| the hôuse ||| LM0= -2 TM0= -1 0 0 WT_a~is= 2 metric:comet= 0 ||| -1 |||
"""
JSONL = """{"id": "7", "hyps": [{"text": "a b", "feats": {"LM": -3.5, "TM": [1, 2]}, "score": -1, "note": "n"}]}
{"id": "8", "refs": ["a b", ""], "hyps": [{"text": "é", "feats": {"LM": 0, "TM": [0, 1e3], "x": 1}}]}
"""


OTHERS = (
    "S-0\tdas haus\nT-0\tthe house\nH-0\t-0.5\tthe house\nD-0\t-0.5\tthe house\nP-0\t-0.1 -0.2\nH-0\t-0.9\ta house\n",
    "utt-1 a b\nutt-2 a c\nother-1 d\n",
    "wav utt-1\ncandidate -1.5 a b\ncandidate -2 a c\n",
    "id\ttext\tscore\tlm\n0\ta b\t-1\t0.5\n0\ta c\t-2\t1\n",
    'id,hypothesis,lm,is_correct\n0,a b,-1,1\n0,"a, c",-2,0\n',
)
SLF = """VERSION=1.0
UTTERANCE=u1
lmscale=1.0
N=3 L=3
I=0 t=0.0
I=1 t=0.5
I=2 t=1.0
J=0 S=0 E=1 W=a a=-1 l=-2
J=1 S=0 E=1 W=b a=-2 l=-1
J=2 S=1 E=2 W=c a=-1 l=-1
"""
REFERENCES = '{"id": "0", "refs": ["a"]}\n{"id": "1", "refs": ["b", "c"]}\n'


def _lists(folder: Path) -> Candidates:
    (folder / "a.nbest").write_text(NBEST)
    found = read_lists([folder / "a.nbest"])
    (folder / "a.nbest").unlink()
    return Candidates.from_rows(found.names, found.runs)[0]


def use_lists(path: Path) -> object:
    found = read_lists([path])
    for lists in Candidates.from_rows(found.names, found.runs):
        use_candidates(lists)
    return None


def use_candidates(lists: Candidates) -> object:
    lists.score(np.ones(len(lists.features)))
    lists.gather(np.ones(lists.size))
    return lists.distinct().to_records()


def use_references(path: Path) -> object:
    return list(references.read([path], Texts.from_strings(["0", "1"])))


def make_stores(folder: Path) -> None:
    whole = _lists(folder)
    store.write(folder / "a", whole)
    store.write(folder / "b", Candidates.from_records([{"id": "1", "hyps": [{"text": "a", "feats": {"x": 1.0}}]}]))
    store.write(
        folder / "c", whole.distinct().take(np.zeros(0, np.int64), np.zeros(1, np.int64), Texts.from_strings([]))
    )


def make_records(folder: Path) -> None:
    table = Keys()
    table.enter(np.array([5, 7, 9], np.uint64))
    records = Records(
        np.array([0, 1, 3]), np.array([0, 2, 3, 5]), np.array([0, 1, 2, 0, 0], np.uint32), np.ones((3, 2)),
        np.array([0.5, 1.0, 0.0]), np.array([1, 2, 3], np.uint64),
    )  # fmt: skip
    opened = sets.Sets.open(folder / "sets", "corpus")
    (folder / "sets").mkdir()
    opened.append("oracle", records, table)
    (folder / "sets" / "oracle.records").rename(folder / "a")


def use_records(path: Path) -> object:
    part = sets.read(path)
    records = part.records.cut(0, len(part.records.bounds) - 1)
    if int(records.ids.max(initial=0)) >= part.known:
        raise IndexError("an id of no key")
    return (
        Keys.of(part.keys, np.zeros(len(part.keys), np.uint32)) if len(set(part.keys.tolist())) == len(part.keys) else 0
    )


def make_keyed(folder: Path) -> None:
    arrays = {"keyed": np.ones(3, np.float32), "own": np.ones(1)}
    container.write(folder / "a", sets_run.SCHEMA.kind, arrays, {"names": ["LM"]})


# The decoder


def make_blocks(folder: Path) -> None:
    build(Texts.from_strings(SOURCE), Texts.from_strings(TARGET), _links(folder), threads=1).write(folder / "a")
    BlockSet.of([("das haus", "the house", 2, {"PhraseST": -1.0}), ("das", "the", 1, {})]).write(folder / "b")


def _links(folder: Path) -> links.Alignment:
    return links.Alignment.of([[(i, i) for i in range(len(line.split()))] for line in SOURCE])


def use_blocks(path: Path) -> object:
    found = BlockSet.read(path)
    spoken = [found.text(block) for block in range(min(50, len(found.blocks.targets)))]
    decoder = BlockDecoder(found, features="all", threads=1, options=4)
    said = decoder.decode(Texts.from_strings(["das haus ist", ""]), dict.fromkeys(decoder.names, 0.1), 3)
    return spoken, said.to_records()


def make_lm(folder: Path) -> None:
    kneser.estimate(Texts.from_strings(TARGET), 3).lm.write(folder / "a")
    kneser.estimate(Texts.from_strings(["a"]), 1).lm.write(folder / "b")


def use_model(model: lm.Lm) -> object:
    model.perplexity(Texts.from_strings(["the house a strange one", ""]))
    return model.grams()


def make_arpa(folder: Path) -> None:
    arpa.save(folder / "a.arpa", kneser.estimate(Texts.from_strings(TARGET), 3).lm)


def make_aligner(folder: Path) -> None:
    Aligner.train(Texts.from_strings(SOURCE), Texts.from_strings(TARGET), threads=1).save(folder / "a")


def use_aligner(path: Path) -> object:
    return Aligner.load(path).align(
        Texts.from_strings(["das neue haus"]), Texts.from_strings(["the new house"]), threads=1
    )


LATTICE = "sentence 3 3\n0 1 -1.5 the house\n0 1 -2 a\n1 2 0\nsentence 2 1\n0 1 -1 é\n"


def make_lattices(folder: Path) -> None:
    (folder / "a").write_text(LATTICE)
    lattice.write(folder / "b.lattice", lattice.read(folder / "a"))


def use_lattice(path: Path) -> object:
    found = lattice.read(path)
    lattice.pruned(found.graph, 1.0)
    return found.texts(kbest(found.graph, 2)), lattice.posteriors(found.graph)


def _text(*contents: str) -> Callable[[Path], None]:
    def make(folder: Path) -> None:
        for number, content in enumerate(contents):
            (folder / f"{number}").write_text(content)

    return make


def _weights(folder: Path) -> None:
    (folder / "a").write_text("# note\nLM= 0.5\nTM= 1e-3 2\nWT_a~b -3\nx 1\n")
    weights.write(folder / "b.bin", weights.read(folder / "a"))


# What executors send to and fro


def make_shared(folder: Path) -> None:
    some = Texts.from_strings(["a b", "c"])
    said = {"text": some.blob, "text_bounds": some.bounds}
    keys = Keys.of(np.array([5, 7], np.uint64), np.zeros(2, np.uint32))
    keys.set_weights(np.ones(2))
    two, points = np.array([0, 1, 2]), np.zeros(2, np.int32)
    files: list[tuple[Schema, dict[str, Any]]] = [
        (remote.TEXTS, {"source": some.blob, "source_bounds": some.bounds}),
        (remote.SAID, said),
        (remote.PAIRS, {
            "source_bounds": two, "sources": np.array([3, 4], np.uint32), "target_bounds": two, "bounds": two,
            "targets": np.array([3, 3], np.uint32), "from": points, "to": points,
        }),
        (remote.FIRED, said | {
            "bounds": np.array([0, 2]), "values": np.ones((2, 1)), "key_bounds": two, "keys": np.ones(2, np.uint64),
            "scores": np.zeros(2),
        }),
        (mixing.NUMBERS, {"places": np.array([2, 1], np.uint32), "foreign": np.zeros(0, np.float32)}),
        (mixing.CHANGED, {
            "places": np.array([1], np.uint32), "values": np.ones(1, np.float32), "own": np.zeros(1),
            "met": np.zeros(1),
        }),
        (sharded.ANSWER, {
            "sums": np.zeros(2), "statistics": np.zeros(3, np.int64), "gradient": np.ones(2),
            "ids": np.array([0, 4], np.uint32),
        }),
        (remote.WEIGHTS, {"slots": keys.slots.view("<u8")}),
    ]  # fmt: skip
    meta = {"size": 2, "own": {"LM": 0.5}, "awake": 1, "moved": 1, "filled": 1, "lists": 1}
    for number, (schema, arrays) in enumerate(files):
        container.write(folder / f"{number}", schema.kind, arrays, meta)


def use_shared(path: Path) -> object:
    kind = container.kind_of(path)
    if kind == remote.WEIGHTS.kind:
        arrays, meta = container.read(path, remote.WEIGHTS)
        table = Keys.weighed(arrays["slots"].view(SLOT), meta["size"])
        return table.weigh(np.array([5, 6, 7], np.uint64)), table.listed()
    return verify([str(path)])


def make_all(folder: Path) -> None:
    for name in ("store", "weights", "records", "keyed weights", "blocks", "lm", "aligner", "lattice"):
        for number, content in enumerate(seeds(name)):
            if content.startswith(container.NAME):
                (folder / f"{name}-{number}").write_bytes(content)


def use_nbest(path: Path) -> object:
    return list(nbest.read(path, Labels(Names())))


# Runs


@cache
def _run() -> Path:
    """The folder of a small finished run, for as long as this process lives."""
    home = Path(_KEPT.name)
    lists, out = home / "dev.jsonl", home / "run"
    lists.write_text(json.dumps(LEARNT) + "\n" + json.dumps(LEARNT | {"id": "2"}) + "\n")
    ready = tune.prepare(tune.TuneTask(lists=[str(lists)], out=out, recipe="rampion", settings=["rounds=2"], folds=0))
    tune.tune(ready, lambda *_: None)
    return out


_KEPT = tempfile.TemporaryDirectory(prefix="rampion-fuzz-")
LEARNT = {
    "id": "1", "refs": ["a b"],
    "hyps": [{"text": "a b", "feats": {"x": 1.0}}, {"text": "<b>c</b>", "feats": {"x": 2.0}}],
}  # fmt: skip


def _part_of_run(name: str) -> Target:
    """A file of a run, of which a page is made."""

    def make(folder: Path) -> None:
        (folder / name).write_bytes((_run() / name).read_bytes())

    def read(path: Path) -> object:
        home = _run()
        kept = (home / name).read_bytes()
        (home / name).write_bytes(path.read_bytes())
        try:
            return report.page_of(home).html()
        except RampionError as error:
            if str(error).startswith(str(home)):
                raise type(error)(f"{path}: {error}") from error  # it names the file of the run
            raise
        finally:
            (home / name).write_bytes(kept)

    return Target(read, make, (b"true", b"1e308", b"-1", b'"\\u0000"', b"\n[", b'"""'))


def make_journal(folder: Path) -> None:
    log = Journal(folder / "journal").log
    log("opened", process=1)
    log("job", job="decoding", tasks=3, items=30, done=0)
    log("joined", worker="one")
    log("done", worker="one", items=10, seconds=0.5)
    log("lost", worker="one", why="it has died")
    log("finished")
    log("closed")


def use_journal(path: Path) -> object:
    """Lines with right checksums, too: whatever follows one that is wrong is told."""
    lines = (line.partition(b" ")[2] for line in path.read_bytes().splitlines())
    right = b"".join(b"%08x %b\n" % (zlib.crc32(line), line) for line in lines)
    for content in (path.read_bytes(), right):
        path.write_bytes(content)
        journal = Journal(path)
        found = Status.of(journal.entries())
        journal.damaged(), found.left(found.last), found.speed(found.last)
    return None


# Lists of other programs

SAMPLES = (
    '{"custom_id": "a", "choices": [{"message": {"content": "x"}, "finish_reason": "stop",'
    ' "logprobs": {"content": [{"logprob": -1.5}]}}, {"text": "y"}], "prompt": "p"}\n',
    '{"custom_id": "a", "response": {"body": {"choices": [{"message": {"content": "x"}}]}}}\n',
    '{"request_id": "a", "prompt": "p", "outputs": [{"text": "x", "cumulative_logprob": -1, "token_ids": [1, 2]}]}\n',
    '{"doc_id": 0, "doc": {}, "resps": [["x", "y"]], "arguments": [["q"]], "target": "x", "exact_match": 1}\n',
    '{"doc_id": 0, "doc": {}, "resps": [[[-1.0, true]], [[-2.0, false]]], "target": 1,'
    ' "arguments": [["q", " a"], ["q", " b"]]}\n',
    '[{"prompt": "p", "responses": ["x", "y"], "rewards": [0, 1]}]\n',
)
NEMO = "a b\t-1.5\na c\t-2\nb\t-1\nc d\t-3e0\n"


def make_parquet(folder: Path) -> None:
    import pyarrow as pa
    from pyarrow import parquet

    table = pa.table({"id": ["0", "0", "1"], "text": ["a b", "é", ""], "lm": [-1.0, 0.5, 2.0], "n": [1, 2, 3]})
    parquet.write_table(table, folder / "a")
    parquet.write_table(table.slice(0, 2), folder / "b", compression="none", use_dictionary=False)


def use_beams(path: Path) -> object:
    """Lists whose lines do not say of which utterance they are."""
    found = read_lists([path], columns=Columns.parse("size=2"))
    for lists in Candidates.from_rows(found.names, found.runs):
        use_candidates(lists)
    return None


TARGETS = {
    "nbest": Target(use_lists, _text(NBEST)),
    "nbest rows": Target(use_nbest, _text(NBEST)),
    "jsonl": Target(use_lists, _text(JSONL), (b'"hyps"', b'"feats"', b'"refs"', b'"metrics"', b'"score"', b'"text"')),
    "other lists": Target(use_lists, _text(*OTHERS, SLF)),
    "references": Target(use_references, _text("a b\nc\n", REFERENCES)),
    "texts": Target(texts.read, _text("a b\n\nc é\n")),
    "corpus lines": Target(corpus.read_lines, _text("a b\n\nc é\n")),
    "corpus tsv": Target(corpus.read_tsv, _text("a\tb\nc\td e\n")),
    "store": Target(lambda path: use_candidates(store.read(path)), make_stores),
    "weights": Target(lambda path: dict(weights.read(path)), _weights),
    "records": Target(use_records, make_records),
    "keyed weights": Target(lambda path: container.read(path, sets_run.SCHEMA), make_keyed),
    "blocks": Target(use_blocks, make_blocks),
    "lm": Target(lambda path: use_model(lm.read(path)), make_lm),
    "arpa": Target(lambda path: use_model(arpa.read(path)), make_arpa),
    "aligner": Target(use_aligner, make_aligner),
    "lattice": Target(use_lattice, make_lattices),
    "shared": Target(use_shared, make_shared),
    "verify": Target(lambda path: verify([str(path)]), make_all),
    "alignment": Target(links.read, _text("0-0 1-2\n\n3-3\n")),
    "counts": Target(CountFeatures.read, _text("pair\tdas the\t3\t0.5\n")),
    "samples": Target(use_lists, _text(*SAMPLES), (b'"choices"', b'"outputs"', b'"resps"', b'"logprobs"', b'"target"')),
    "nemo": Target(use_beams, _text(NEMO)),
    "htk": Target(use_lists, _text(SLF), (b"J=", b"I=", b"S=", b"E=", b"N=", b"L=", b"W=!NULL", b"SUBLAT=", b"v=")),
    "manifest": _part_of_run("manifest.json"),
    "config": _part_of_run("config.toml"),
    "events": _part_of_run("events.jsonl"),
    "journal": Target(use_journal, make_journal),
} | ({"parquet": Target(use_lists, make_parquet)} if find_spec("pyarrow") else {})  # fmt: skip
