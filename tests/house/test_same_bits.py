"""Everything that the commands compute is the same, to the bit, as when bits.json was recorded.

Weights are compared as numbers, each with its name, and texts as bytes; names of files, times and versions are not.
A change that is meant to change results records again, and its commit says why:

    PYTHONPATH=tests/kit .venv/bin/python tests/house/test_same_bits.py             record all
    PYTHONPATH=tests/kit .venv/bin/python tests/house/test_same_bits.py lists loop  record only these parts
"""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from hashlib import sha256
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import pytest
from command import good
from numpy.typing import NDArray
from scipy.optimize import minimize
from speeds import slow

from rampion.experiments.scales import SCALES, Scale

GOLDEN = Path(__file__).resolve().parent / "bits.json"

Item = tuple[str, bytes]
Part = Callable[[Path], Iterator[Item]]

PARTS: dict[str, Part] = {}
QUICK = ("files",)  # the others are slow


def part(work: Part) -> Part:
    """A part of the table: a function that makes its items in an empty folder."""
    PARTS[work.__name__] = work
    return work


# What is compared


def numbers(path: Path, *options: object) -> bytes:
    """All weights of a file or a run: a line for each name, in order of names, with all bits of the number."""
    text = path.parent / f"{path.name}.numbers"
    good("weights", path, *options, "--out", text, "--json")
    found = {}
    for line in text.read_text().splitlines():
        if line.startswith("# of "):  # the system that they belong to
            continue
        name, *cells = line.split()
        found.update({f"{name}{n}": float(cell).hex() for n, cell in enumerate(cells)})
    assert found
    return "".join(f"{name} {value}\n" for name, value in sorted(found.items())).encode()


def rounds(label: str, run: Path) -> Iterator[Item]:
    """The weights of the first, the middle and the last round or iteration of `rampion tune`, and the answer."""
    files = sorted((run / "weights").glob("*.bin"))
    assert files
    for file in dict.fromkeys((files[0], files[len(files) // 2], files[-1])):
        yield f"{label}: weights of round {file.stem}", numbers(file)
    yield f"{label}: weights", numbers(run / "weights.txt")


def arrays(path: Path) -> bytes:
    """The arrays of a binary file, in order of names (docs/formats.md)."""
    content = path.read_bytes()
    place = 16 + int.from_bytes(content[8:12], "little")
    found = {}
    for array in json.loads(content[16:place])["arrays"]:
        size = math.prod(array["shape"]) * int(array["dtype"][2:])
        found[array["name"]] = exact([array["name"], array["dtype"], array["shape"]]) + content[place : place + size]
        place += size + -size % 64
    assert place == len(content)
    return b"".join(found[name] for name in sorted(found))


def folder_of(label: str, home: Path) -> Iterator[Item]:
    """All weights below a folder."""
    files = sorted(home.rglob("weights.txt"))
    assert files
    for file in files:
        yield f"{label}: weights of {file.parent.relative_to(home)}", numbers(file)


def exact(facts: object) -> bytes:
    """Numbers and words of an answer in JSON, with all bits of the numbers."""
    return json.dumps(facts, sort_keys=True).encode()


def figures(label: str, path: Path) -> Iterator[Item]:
    """What a table of `rampion reproduce` has measured and judged, but for seconds and memory."""
    facts = json.loads(path.read_text())
    clocks = {"decoding", "learning", "seconds decoding", "seconds learning", "online"}

    def kept(table: dict[str, Any]) -> dict[str, Any]:
        return {name: value for name, value in table.items() if name not in clocks}

    for row in facts["rows"]:
        measured, curves = kept(row["measured"]), list(map(kept, row["curves"]))
        yield f"{label}: {row['row']}", exact([measured, curves, row.get("weights")])
    for one in facts["relations"]:
        if not any(f", {clock}" in claim["text"] for claim in one["claims"] for clock in clocks):
            found = [{name: claim[name] for name in claim.keys() - {"text"}} for claim in one["claims"]]
            yield f"{label}: {one['id']}", exact([one["verdict"], found])


# What is computed


def corpus(folder: Path, *, pairs: int = 300, held_out: int = 20) -> Path:
    """Text in two invented languages."""
    good("corpus", "toy", "--pairs", pairs, "--held-out", held_out, "--references", 2, "--out", folder / "toy")
    return folder / "toy"


def refs(text: Path, name: str) -> list[object]:
    """The options for both references of a text."""
    return ["--refs", f"{text}/{name}.tgt.0", "--refs", f"{text}/{name}.tgt.1"]


def system(folder: Path, **sizes: int) -> tuple[Path, list[object]]:
    """Text, and the options of a decoder with blocks and language model made from it."""
    text = corpus(folder, **sizes)
    good("blocks", text, "--out", folder / "toy.blocks")
    good("lm", "estimate", text / "train.tgt", "--out", folder / "toy.lm")
    return text, ["--blocks", folder / "toy.blocks", "--lm", folder / "toy.lm"]


@part
def files(folder: Path) -> Iterator[Item]:
    """Text, alignments, blocks, language models and count features."""
    text = corpus(folder)
    for path in sorted(text.iterdir()):
        yield f"corpus: {path.name}", path.read_bytes()
    source, target = text / "train.src", text / "train.tgt"
    for method in ("intersection", "union", "grow-diag", "grow-diag-final-and"):
        good("align", source, target, "--symmetrise", method, "--out", folder / "align")
        yield f"align, {method}", (folder / "align").read_bytes()
    for label, options in {
        "blocks": [],
        "blocks, few": ["--least", 2, "--longest", 4, "--top", 3, "--tight", "--no-mixing", "--ratio", 2],
    }.items():
        good("blocks", source, target, "--align", folder / "align", "--out", folder / "a.blocks", *options)
        yield label, arrays(folder / "a.blocks")
    for order, *prune in ((3,), (5, "--prune")):
        good("lm", "estimate", target, "--order", order, *prune, "--out", folder / "a.lm")
        good("lm", "convert", folder / "a.lm", "--out", folder / "a.arpa")
        label = f"lm of order {order}"
        yield f"{label}: file", (folder / "a.lm").read_bytes()
        yield f"{label}: as ARPA", (folder / "a.arpa").read_bytes()
        yield f"{label}: scores", good("lm", "score", folder / "a.lm", text / "test.tgt.0", "--lines").encode()
    good("counts", source, target, "--align", folder / "align", "--out", folder / "counts")
    yield "counts", (folder / "counts").read_bytes()


@part
def search(folder: Path) -> Iterator[Item]:
    """What the decoder answers: translations, lists, graphs, explanations and oracles."""
    text, parts = system(folder)
    source, out = text / "test.src", folder / "out"
    given = source, *parts, "--beam", 20

    def answer(label: str, *options: object, command: str = "decode") -> Item:
        good(command, *given, *options)
        return label, out.read_bytes()

    for label, options in {
        "translations": [],
        "translations, monotone": ["--reordering", "mon"],
        "translations, swaps beside swaps": ["--adjacent-swaps"],
        "translations, seven features": ["--features", "seven"],
        "translations by shards": ["--executor", "local,threads=2,size=5", "--run", folder / "shards"],
    }.items():
        yield answer(label, *options, "--out", out)
    for label, options in {
        "oracle": ["--refs", text / "test.tgt.0", "--refs", text / "test.tgt.1"],
        "oracle, monotone": ["--refs", text / "test.tgt.0", "--reordering", "mon"],
    }.items():
        good("oracle", source, *parts[:2], *options, "--out", out)
        yield label, out.read_bytes()
    for label, options in {
        "lists": [],
        "lists of different texts": ["--distinct"],
        "lists with phrase pairs": ["--features", "fourteen,pairs"],
        "lists with all templates": ["--features", "all,lexical,triplets,reordering,LM"],
    }.items():
        yield answer(label, *options, "-k", 8, "--nbest", out)
    yield answer("derivations", "-k", 3, "--derivations", out, command="explain")
    yield answer("graphs", "--out", out, command="lattice")
    yield "explanation", good("explain", *given, "--line", 3, "--json").encode()
    good("counts", text, "--out", folder / "counts", "--least", 1)
    yield answer("lists with counts", "--counts", folder / "counts", "-k", 8, "--nbest", out)
    # without what a line itself has given to the blocks
    points = text / "train.src-tgt.align"
    good("blocks", text / "train.src", text / "train.tgt", "--align", points, "--out", folder / "own.blocks")
    given = [text / "train.src", "--blocks", folder / "own.blocks", "--lm", folder / "toy.lm", "--beam", 5]
    for penalty in (-12, "length"):
        left = ["--leave-one-out", text / "train.tgt", "--align", points, "--penalty", penalty]
        yield answer(f"lists, each line left out, {penalty}", *left, "-k", 4, "--nbest", out)


RECIPES = (
    "rampion", "rampion-merge", "rampion-mira", "ramp1", "ramp2", "soft-ramp1", "soft-ramp2", "soft-ramp3",
    "soft-hope-ramp3", "soft-fear-ramp3", "perceptron", "kbest-perceptron", "gamma-perceptron", "averaged-perceptron",
    "averaged-kbest-perceptron", "averaged-gamma-perceptron", "hinge", "softmax-margin", "log", "latent-log", "och-ney",
    "hope-log", "mira", "mira-sentence", "mira-online", "pro", "pro-regularised", "risk", "mert", "risk-annealed",
    "risk-l1", "xbleu-rprop", "xbleu-adagrad", "xbleu-sgd", "xbleu-lbfgs", "xbleu-fobos",
)  # fmt: skip
SETS = (
    "costmargin", "costmargin-fixed", "costmargin-literal", "costmargin-all", "set-perceptron", "costmargin-dense",
    "perceptron-dense", "regression",
)  # fmt: skip


def lists_of(folder: Path) -> None:
    """Lists to tune on, of which every third holds a reference; the same with scores; others; first weights."""
    good("demo", "lists", "--segments", 60, "--k", 20, "--out", folder)
    records = [json.loads(line) for line in (folder / "dev.jsonl").read_text().splitlines()]
    for record in records[::3]:
        record["refs"].append(record["hyps"][len(record["hyps"]) // 2]["text"])
    _write(folder / "dev.jsonl", records)
    for record in records:
        for place, hyp in enumerate(record["hyps"]):
            hyp["score"] = -0.5 * place
    _write(folder / "scored.jsonl", records)
    for name, part in (("early", slice(12)), ("late", slice(8, None))):
        _write(folder / f"{name}.jsonl", [{**record, "hyps": record["hyps"][part]} for record in records])


def _write(path: Path, records: list[dict[str, Any]]) -> None:
    path.write_text("".join(f"{json.dumps(record)}\n" for record in records))


RAW = ["--set", "scale=none", "--folds", 0]  # the papers' settings


@part
def lists(folder: Path) -> Iterator[Item]:
    """`rampion tune` on fixed lists, with every recipe; and what the weights put first in other lists."""
    lists_of(folder)
    inputs = [
        "tune",
        folder / "dev.jsonl",
        "--weights",
        folder / "initial.weights",
        "--dev",
        folder / "test.jsonl",
        *RAW,
    ]
    for name in RECIPES:
        run = folder / name
        good(*inputs, "--recipe", name, "--keep-rounds", "--out", run)
        yield from rounds(name, run)
        good("rerank", folder / "test.jsonl", "--weights", run, "--out", folder / "best", "--lists", folder / "all")
        yield f"{name}: reranked", (folder / "best").read_bytes() + (folder / "all").read_bytes()


@part
def settings(folder: Path) -> Iterator[Item]:
    """`rampion tune` on fixed lists with other metrics, policies, settings, sizes and shards."""
    lists_of(folder)
    start = ["--weights", folder / "initial.weights", *RAW]
    dev, both = [folder / "dev.jsonl", *start], [folder / "early.jsonl", folder / "late.jsonl", *start]
    cases = {
        **{
            f"rampion, {metric}": [*dev, "--recipe", "rampion", "--metric", metric]
            for metric in ("bleu", "chrf", "chrf++", "ter", "wer")
        },
        **{f"mert, {metric}": [*dev, "--metric", metric, "--recipe", "mert"] for metric in ("chrf", "ter")},
        "mira, seed 3": [*dev, "--recipe", "mira", "--set", "seed=3"],
        "pro, seed 3": [*dev, "--recipe", "pro", "--set", "seed=3", "--set", "rounds=3"],
        "rampion from 0": [folder / "dev.jsonl", "--recipe", "rampion", *RAW, "--set", "rounds=3"],
        "rampion, l2 to 0": [*dev, "--recipe", "rampion", "--set", "origin=zero", "--set", "l2=2"],
        "rampion, listed scores": [folder / "scored.jsonl", "--recipe", "rampion", *RAW, "--set", "base=listed"],
        **{
            f"{name} in {shards} shards": [*dev, "--recipe", name, "--shards", shards]
            for name, shards in (("xbleu-rprop", 1), ("xbleu-rprop", 4), ("xbleu-lbfgs", 4), ("risk", 4))
        },
        **{
            f"{name} of two decodings, {policy}": [*both, "--recipe", name, "--policy", policy]
            for name, policy in (("rampion", "merge"), ("rampion", "replace"), ("mert", "window:1"))
        },
    }
    for label, arguments in cases.items():
        run = folder / label
        good("tune", *arguments, "--keep-rounds", "--out", run)
        yield from rounds(label, run)
    good("tune", *dev, "--recipe", "rampion,mert,pro", "--seeds", "1,2", "--out", folder / "several")
    yield from folder_of("several recipes", folder / "several")
    good("tune", *dev, "--recipe", "xbleu-sgd", "--set", "l2=1e-7,1e-2", "--out", folder / "values")
    yield from folder_of("several values", folder / "values")


SHORT = ["--iterations", 3, "--beam", 5, "--set", "epochs=3", "--threads", 2]


def trained(label: str, run: Path, iterations: int = 3) -> Iterator[Item]:
    """The weights of every iteration of `rampion train`."""
    for number in range(1, iterations + 1):
        yield f"{label}: weights of iteration {number}", numbers(run, "--iteration", number)


def train(label: str, text: Path, run: Path, *options: object) -> Iterator[Item]:
    """A run: its scores and weights in every iteration, and what the chosen ones say of the test."""
    told = json.loads(good("train", text, "--out", run, *SHORT, *options, "--json"))
    names = ("gain", "train", "dev", "test", "features", "candidates")
    yield f"{label}: scores", exact([[row[name] for name in names] for row in told["iterations"]])
    yield from trained(label, run, len(told["iterations"]))
    good("decode", text / "test.src", "--weights", run, "--out", run / "said")
    yield f"{label}: translations", (run / "said").read_bytes()


BINARY = ["--fixed", "LM=0.1", "--set", "rate=0.01"]
DENSE = ["--features", "seven", "--set", "rate=0.001", "--k", 5]


@part
def sets(folder: Path) -> Iterator[Item]:
    """`rampion train` with every recipe, each in as few sentences as will do."""
    text = corpus(folder, pairs=120, held_out=12)
    shared: list[object] = []
    for name in SETS:
        kind = DENSE if name.endswith("dense") else [*BINARY, "--set", "rate=0.001"] if name == "regression" else BINARY
        yield from train(name, text, folder / name, "--recipe", name, *shared, *kind)
        shared = ["--system", folder / SETS[0] / "system"]


@part
def training(folder: Path) -> Iterator[Item]:
    """`rampion train` in all ways: both stages, shards, windows, orders, executors, templates and metrics."""
    text, home = corpus(folder), ["--system", folder / "system"]
    for label, options in {
        "binary": BINARY,
        "binary, 4 shards": [*BINARY, "--shards", 4],
        "binary, 4 shards, by an executor": [*BINARY, "--shards", 4, "--executor", "local,threads=2,size=40"],
        "binary, window": [*BINARY, "--window", 10],
        "binary, seed 5": [*BINARY, "--seed", 5],
        "binary, monotone": [*BINARY, "--reordering", "mon"],
        "binary, word error rate": [*BINARY, "--set", "metric=wer:reverse", "--k", 3],
        "binary, l2": [*BINARY, "--set", "l2=0.01", "--set", "restart=false"],
        "binary, phrases": [*BINARY, "--features", "phrase", "--pairs", 200],
        "dense": [*DENSE, "--recipe", "costmargin-dense"],
        "dense, 4 shards": [*DENSE, "--recipe", "perceptron-dense", "--shards", 4],
        "both at once": ["--features", "seven,all", "--set", "learn=both", "--set", "rate=0.001"],
        "both stages": ["--features", "LM,Words,all", "--recipe", "costmargin-dense", "--set", "rate=0.001",
                        "--base", folder / "binary"],
    }.items():  # fmt: skip
        yield from train(label, text, folder / label, *home, *options)


@part
def loop(folder: Path) -> Iterator[Item]:
    """`rampion tune` in a loop with the decoder."""
    text, parts = system(folder)
    tune = ["tune", text / "dev.src", *refs(text, "dev"), "--beam", 10]
    good("counts", text, "--out", folder / "counts", "--least", 1)
    many = ["--set", "k=20", "--set", "iterations=3", *parts]
    cases = {
        **{name: ["--recipe", name, *many] for name in ("rampion", "rampion-merge", "mert", "pro", "mira", "risk")},
        "rampion, best on dev": [*many, "--set", "keep=dev", "--dev", text / "test.src",
                                 *(one if one != "--refs" else "--dev-refs" for one in refs(text, "test"))],
        "soft-ramp3, phrase pairs": [*many, "--recipe", "soft-ramp3", "--features", "fourteen,pairs"],
        "rampion-merge, counts": [*many, "--recipe", "rampion-merge", "--counts", folder / "counts"],
    }  # fmt: skip
    for label, options in cases.items():
        run = folder / label
        good(*tune, *options, "--out", run)
        yield from rounds(label, run)
        more = ["--features", "fourteen,pairs"] if "phrase" in label else []
        more += ["--counts", folder / "counts"] if "counts" in label else []
        decode = ["decode", text / "test.src", *parts, "--beam", 10, "--weights", run, *more]
        good(*decode, "-k", 5, "--nbest", folder / "nbest")
        yield f"{label}: lists", (folder / "nbest").read_bytes()
        if not more:
            yield f"{label}: translations", good(*decode).encode()


@part
def expected(folder: Path) -> Iterator[Item]:
    """Expected BLEU of lists of the training text, put into the blocks and tuned there."""
    text, parts = system(folder, pairs=200)
    good("blocks", text / "train.src", text / "train.tgt", "--align", text / "train.src-tgt.align", "--longest", 4,
         "--out", folder / "toy.blocks")  # fmt: skip
    sparse = ["--features", "fourteen,pairs,reordering", "-k", 10]
    left = ["--leave-one-out", text / "train.tgt", "--align", text / "train.src-tgt.align", "--penalty", "length"]
    for name, more in (("train", left), ("dev", [])):
        out = ["--save-weights", folder / "base", "--nbest", folder / f"{name}.store"]
        good("decode", text / f"{name}.src", *parts, "--beam", 10, *sparse, *more, *out)
    lists = [folder / "train.store", "--refs", text / "train.tgt"]
    learn = ["tune", *lists, "--weights", folder / "base", "--keep-rounds", *RAW, "--set", "free=sparse"]
    dev = ["--dev", folder / "dev.store", "--dev-refs", text / "dev.tgt.0", "--dev-refs", text / "dev.tgt.1"]
    for name in ("rprop", "adagrad", "sgd", "fobos"):
        for shards in (1, 4):
            run, more = folder / f"{name}-{shards}", ["--shards", 4, "--executor", "local"] if shards > 1 else dev
            good(*learn, "--recipe", f"xbleu-{name}", "--set", "epochs=6", *more, "--out", run)
            yield from rounds(f"xbleu-{name}, shards {shards}", run)
    run = folder / "rprop-1"
    condensed = folder / "learnt.blocks"
    good("condense", folder / "toy.blocks", "--weights", run, "--out", condensed, "--save-weights", folder / "start")
    yield "condensed blocks", arrays(condensed)
    tune = ["tune", text / "dev.src", *refs(text, "dev"), "--blocks", condensed, *parts[2:], "--beam", 10]
    good(*tune, "--features", "fourteen,learnt", "--weights", folder / "start", "--recipe", "rampion-merge",
         "--set", "k=20", "--set", "iterations=2", "--out", folder / "tuned")  # fmt: skip
    yield from rounds("tuned with condensed blocks", folder / "tuned")


TINY = Scale(
    300, 20, sentences=40, iterations=2, options=4, beam=10, k=10, decodings=2, counts=20,
    listed=30, width=10, tried=2, turns=2,
)  # fmt: skip


def reproduced(folder: Path, name: str, *options: object) -> Path:
    """The results of an experiment with little of everything."""
    with mock.patch.dict(SCALES, small=TINY):
        good("reproduce", name, "--out", folder, *options)
    return folder / f"{name.replace('/', '-')}.json"


@part
def table_5(folder: Path) -> Iterator[Item]:
    """Tillmann & Zhang's Table V."""
    yield from figures("table V", reproduced(folder, "tillmann-zhang/table-5"))
    files = sorted(folder.glob("rows/*/seed-1/run/weights/*.bin"))
    assert len(files) == TINY.iterations * len(list(folder.glob("rows/*/seed-1/run")))
    for file in files:
        yield f"table V: weights of {file.parents[3].name}, {file.stem}", arrays(file)


@part
def table_1(folder: Path) -> Iterator[Item]:
    """Gimpel & Smith's Table 1."""
    yield from figures("table 1", reproduced(folder, "gimpel-smith/table-1", "--seeds", "1,2"))
    yield from folder_of("table 1", folder)


@part
def growth(folder: Path) -> Iterator[Item]:
    """Wuebker et al.: expected BLEU by four updates, one of them growth transformations, and MERT afterwards."""
    yield from figures("figure 2", reproduced(folder, "wuebker/figure-2"))
    for path in sorted(folder.rglob("steps/*")):
        yield f"figure 2: steps of {path.name}", arrays(path)
    for name in ("sensitivity", "table-2"):
        yield from figures(name, reproduced(folder, f"wuebker/{name}"))
    yield from folder_of("expected BLEU", folder)


# Comparing and recording


def digests(work: Part, folder: Path) -> dict[str, str]:
    """SHA-256 of every item of a part."""
    found: dict[str, str] = {}
    for name, content in work(folder):
        assert name not in found, f"two items are called {name}"
        found[name] = sha256(content).hexdigest()
    return found


def arithmetic() -> str:
    """SHA-256 of what libraries compute, whose last bits differ between versions: exp, log, BLAS and L-BFGS."""
    x = np.linspace(-30, 30, 900)
    square, y = x.reshape(30, 30) / 7, np.square(x) + 0.01
    functions = np.exp(x), np.expm1(x / 30), np.log(y), np.log2(y), np.logaddexp(x, 1), np.sqrt(y)
    scalars = [f(v) for f in (math.exp, math.log, math.sqrt) for v in np.abs(x).tolist()]

    def slopes(w: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        scores = square @ w
        return float(np.logaddexp(0, scores).sum() + w @ w), square.T @ (1 / (1 + np.exp(-scores))) + 2 * w

    least = minimize(slopes, np.ones(30), jac=True, method="L-BFGS-B").x
    parts = *functions, scalars, square @ square, np.linalg.norm(x), least
    return sha256(b"".join(np.asarray(one).tobytes() for one in parts)).hexdigest()


def computed(name: str) -> tuple[str, dict[str, str]]:
    """The arithmetic and the digests of a part, in a process where libraries use only what every processor has."""
    features = np.show_config(mode="dicts")["SIMD Extensions"]["found"]
    environment = os.environ | {
        "PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
        "NPY_DISABLE_CPU_FEATURES": " ".join(features),
        "OPENBLAS_CORETYPE": "Prescott",
        "GLIBC_TUNABLES": "glibc.cpu.hwcaps=-AVX2,-FMA,-FMA4",
    }
    done = subprocess.run([sys.executable, __file__, "--print", name], env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    return told["arithmetic"], told["digests"]


@pytest.mark.parametrize("name", [*QUICK, *slow(*(name for name in PARTS if name not in QUICK))])
def test_the_same_bits(name: str) -> None:
    golden = json.loads(GOLDEN.read_text())
    known, (libraries, found) = golden["digests"][name], computed(name)
    if libraries != golden["arithmetic"]:
        pytest.skip("exp, log, BLAS or L-BFGS have other bits here; record before a change, and compare after it")
    differ = [item for item in known if item in found and found[item] != known[item]]
    assert not differ, f"{name}: {len(differ)} of {len(known)} items have other bits: {'; '.join(differ)}"
    assert found.keys() == known.keys(), f"{name}: items came or went: {set(found) ^ set(known)}"


def record(names: list[str]) -> None:
    """Write the digests of these parts, or of all, into the table."""
    golden = json.loads(GOLDEN.read_text()) if names else {"digests": {}}
    for name in names or PARTS:
        libraries, golden["digests"][name] = computed(name)
        if golden.setdefault("arithmetic", libraries) != libraries:
            raise SystemExit("exp, log, BLAS or L-BFGS have other bits than in the table; record all parts")
    GOLDEN.write_text(json.dumps(golden, indent=1, sort_keys=True) + "\n")


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["--print", name]:
            with tempfile.TemporaryDirectory() as home:
                print(json.dumps({"arithmetic": arithmetic(), "digests": digests(PARTS[name], Path(home))}))
        case names:
            record(names)
