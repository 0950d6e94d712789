"""Refresh the generated parts of the pages: python docs/generate.py [--run] [--measure] [PAGE ...].

A page holds `<!-- NAME -->` and `<!-- /NAME -->`; between them stands the answer of PARTS[NAME]. A test
(tests/house/test_docs.py) checks that it is fresh, but for what is measured: --measure tunes every recipe on the lists
of `rampion demo lists`, and runs `rampion demo`.
--run runs the commands of the console blocks, and writes down what they print; it draws README.md's picture.
"""

from __future__ import annotations

import argparse
import ast
import atexit
import inspect
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache, partial
from importlib import import_module
from itertools import pairwise
from pathlib import Path
from time import process_time
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
PAGES = (
    *("README.md", "docs/tour.md", "docs/demo.md", "docs/architecture.md", "docs/algorithms.md"),
    *("docs/compare.md", "docs/decoder.md", "docs/expected-bleu.md", "docs/relevant-sets.md"),
    *("docs/features.md", "docs/tutorial-asr.md"),
)
PART = re.compile(r"<!-- (\w+) -->\n.*?<!-- /\1 -->", re.DOTALL)


def table(head: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(map(str, line))} |" for line in lines)


def first_sentence(thing: Any) -> str:
    """Of a docstring."""
    text = " ".join((inspect.getdoc(thing) or "").split("\n\n")[0].split())
    return re.split(r"(?<=\.) (?=[A-Z`])", text)[0].rstrip(".").replace("|", r"\|")


def code(names: Iterable[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)


# The tables of algorithms


def recipes() -> str:
    from rampion.training.recipes import RECIPES, described

    source = (ROOT / "rampion/training/recipes.py").read_text("utf-8").splitlines()
    lines = {name: next(n for n, line in enumerate(source, 1) if f'"{name}":' in line) for name in RECIPES}
    rows = [
        [f"[`{name}`](../rampion/training/recipes.py#L{lines[name]})", *sides(row), row["solver"], row["policy"],
         cost(recipe), f"`{row['cite']}`", row["note"]]
        for name, recipe in RECIPES.items()
        for row in [described(recipe)]
    ]  # fmt: skip
    return table(["recipe", "raises", "lowers", "solver", "policy", "cost", "cite", "note"], rows)


def algorithms() -> str:
    """The recipes, briefly."""
    from rampion.training.recipes import RECIPES, described

    rows = ([f"`{name}`", *sides(row), row["solver"], f"`{row['cite']}`"]
            for name, recipe in RECIPES.items() for row in [described(recipe)])  # fmt: skip
    return table(["recipe", "raises", "lowers", "solver", "cite"], rows)


def sides(row: dict[str, str]) -> tuple[str, str]:
    """What a contrast raises and lowers, or the name of any other loss."""
    return (row["up"], row["down"]) if row["up"] else ("–", f"`{row['down']}`")


def cost(recipe: Any) -> str:
    return f"{recipe.alpha:g} (1 − `{recipe.metric}`)" if recipe.alpha != 1 else f"1 − `{recipe.metric}`"


def settings() -> str:
    """Every number of every recipe; the defaults of a recipe stand above."""
    from dataclasses import MISSING, fields

    from rampion.training.recipes import RECIPES, Recipe

    usual = {field.name: field.default for field in fields(Recipe) if field.default not in (MISSING, "")}
    rows = ([f"`{name}`", ", ".join(f"{setting} {shown(value)}" for setting, value in recipe.settings().items()
             if usual.get(setting, MISSING) != value)] for name, recipe in RECIPES.items())  # fmt: skip
    alike = ", ".join(f"{name} {shown(value)}" for name, value in usual.items())
    return f"Unless a row says otherwise: {alike}.\n\n{table(['recipe', 'settings'], rows)}"


def shown(value: Any) -> str:
    if isinstance(value, bool) or value is None:
        return {True: "true", False: "false", None: "none"}[value]
    return f"{value:g}" if isinstance(value, float) else str(value)


def losses() -> str:
    from rampion.losses.contrast import Contrast
    from rampion.losses.table import LOSSES
    from rampion.training.recipes import RECIPES, described

    rows = []
    for name, loss in LOSSES.items():
        used = [recipe for recipe, row in RECIPES.items() if row.loss == loss]
        row = described(RECIPES[used[0]])
        value = f"−{formula(loss.up)} + {formula(loss.down)}" if isinstance(loss, Contrast) else f"`{loss.formula}`"
        rows.append([f"`{name}`", value, *sides(row), "yes" if loss.smooth else "no", code(used)])
    return table(["loss", "value of a list", "raises", "lowers", "smooth", "recipes"], rows)


def formula(side: Any) -> str:
    over = {"anywhere": "", "reference": "_R", "oracle": "_O", "worst": "_W"}[side.where]
    tilt = "" if abs(side.tilt) == 1 else f"{abs(side.tilt):g} "
    tilted = f"({'s + ' if side.tilt > 0 else 's − '}{tilt}c)" if side.tilt else "s"
    return f"{'LSE' if side.softness else 'max'}{over} {tilted}"


def metrics() -> str:
    from rampion.metrics import METRICS

    rows = []
    for name, (_, options) in METRICS.items():
        alike = [option for option in options if options[option] == {"tokeniser": option}]
        told = [f"`{option}` ({', '.join(f'{k} {v}' for k, v in sets.items())})"
                for option, sets in options.items() if option not in alike]  # fmt: skip
        rows.append([f"`{name}`", "; ".join([*told, *([f"tokeniser {code(alike)}"] if alike else [])])])
    return table(["metric", "options"], rows)


# The tables of the architecture


def flow(name: str) -> tuple[str, ...]:
    """A law of tests/house/test_architecture.py."""
    tree = ast.parse((ROOT / "tests/house/test_architecture.py").read_text("utf-8"))
    return next(
        tuple(ast.literal_eval(node.value))
        for node in tree.body
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == name
    )


def features() -> str:
    """Every feature that lists give for free."""
    from rampion.features import described

    return table(["feature", "what it is"], [(f"`{name}`", what) for name, what in described()])


def rooms(package: str = "rampion", law: str = "FLOW") -> str:
    rows = []
    for place in flow(law):
        for name in place.split():
            if name != "__main__" and (path := home(package, name)):
                whole = {"decoder": "rampion.decoder"}.get(package, package)
                module = import_module(whole if name == "__init__" else f"{whole}.{name}")
                rows.append([f"[`{package if name == '__init__' else name}`](../{path})", first_sentence(module)])
    return table(["room", "what it holds"], rows)


def decoder_rooms() -> str:
    return rooms("decoder", "DECODER_FLOW")


def home(package: str, room: str) -> str | None:
    """The file or folder of a room that exists."""
    places = (f"{package}/{room}.py", f"{package}/{room}/__init__.py")
    return next((place for place in places if (ROOT / place).exists()), None)


def kernels(package: str = "rampion") -> str:
    rows, folder = [], package.split(".")[-1]
    for module, names in import_module(f"{package}._kernels").MODULES.items():
        twin = import_module(f"{package}._reference.{module}")
        for name in names:
            where = f"[`{module}.pyx`](../{folder}/_core/{module}.pyx), [twin](../{folder}/_reference/{module}.py)"
            rows.append([f"`{name}`", where, first_sentence(getattr(twin, name))])
    return table(["kernel", "where", "what it does"], rows)


def decoder_kernels() -> str:
    return kernels("rampion.decoder")


def errors() -> str:
    from rampion.errors import InputWarning, RampionError

    def tree(kind: type[Exception]) -> Iterator[type[Exception]]:
        yield kind
        for child in kind.__subclasses__():
            if child.__module__ == "rampion.errors":
                yield from tree(child)

    rows = (
        [f"`{kind.__name__}`", f"`{kind.__mro__[1].__name__}`", first_sentence(kind)]
        for kind in [*tree(RampionError), InputWarning]
    )
    return table(["error", "is a", "meaning"], rows)


def names() -> str:
    """What `import rampion` offers, but for errors."""
    import rampion

    things = {name: getattr(rampion, name) for name in dir(rampion) if name[0] != "_" and "Error" not in name}
    told = {"LOSSES": "the losses by name", "RECIPES": "the recipes by name"}
    return table(["name", "what it is"], ([f"`rampion.{name}`", told.get(name) or first_sentence(thing)]
                 for name, thing in things.items()))  # fmt: skip


def commands() -> str:
    import typer

    from rampion.cli import app

    return table(["command", "what it does"], ([f"`rampion {name}`", (command.help or "").split("\n\n")[0]]
                 for name, command in walk(typer.main.get_command(app))))  # fmt: skip


def walk(command: Any, name: str = "") -> Iterator[tuple[str, Any]]:
    """Every command that can be run, with its whole name."""
    for part, child in getattr(command, "commands", {}).items():
        if not hasattr(child, "commands") or child.invoke_without_command:
            yield f"{name}{part}", child
        yield from walk(child, f"{name}{part} ")


# Console blocks

DEMO = "rampion demo lists --out toy"


def sessions(text: str) -> Iterator[tuple[str, str]]:
    """`$ command`, and the lines it prints."""
    for session in text.split("$ ")[1:]:
        command, _, printed = session.partition("\n")
        yield command, printed


def elided(printed: str, expected: str) -> str:
    """What was printed, with a line `...` in place of the lines that the page leaves out there."""
    parts = re.split(r"^\.\.\.\n", expected, maxsplit=1, flags=re.MULTILINE)
    if len(parts) == 1:
        return printed
    lines, (first, last) = printed.splitlines(keepends=True), (part.count("\n") for part in parts)
    return "".join([*lines[:first], "...\n", *lines[len(lines) - last :]])


def run(command: str, folder: Path) -> str:
    """What a command prints to either stream. The demo leaves the lists that the others read."""
    if command != DEMO:
        return printed(command, folder)
    lists, told = demo()
    shutil.copytree(Path(lists.name, "toy"), folder / "toy")
    return told


@cache
def demo() -> tuple[tempfile.TemporaryDirectory[str], str]:
    """The folder that the demo leaves its lists in, and what it prints; it takes long, and so runs once."""
    folder = tempfile.TemporaryDirectory()
    atexit.register(folder.cleanup)
    return folder, printed(DEMO, Path(folder.name))


@cache
def shim() -> tempfile.TemporaryDirectory[str]:
    """A folder with the program `rampion`, for commands that run it."""
    folder = tempfile.TemporaryDirectory()
    atexit.register(folder.cleanup)
    program = Path(folder.name, "rampion")
    program.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -P -m rampion "$@"\n', "utf-8")
    program.chmod(0o755)
    return folder


def printed(command: str, folder: Path) -> str:
    import rampion

    words = shlex.split(command)
    if words[0] == "rampion":
        words[:1] = [sys.executable, "-P", "-m", "rampion"]
    elif ">" in words:
        words = ["sh", "-c", command]  # what stands before or after commands of ours
    usual = {name: value for name, value in os.environ.items() if name != "RAMPION_KERNELS"}  # plain ones say so
    environment = usual | {"PYTHONPATH": str(Path(rampion.__path__[0]).parent), "NO_COLOR": "1"}
    environment["PATH"] = f"{shim().name}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        words, cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    if done.returncode:
        raise SystemExit(f"$ {command}\n{done.stdout}")
    return done.stdout


def rerun(page: str) -> str:
    """The page with its Python and console blocks run again, all in one folder."""
    with tempfile.TemporaryDirectory() as folder:

        def again(found: re.Match[str]) -> str:
            if found[1] == "python":
                run(shlex.join([sys.executable, "-c", found[2]]), Path(folder))
                return found[0]
            told = (
                f"$ {command}\n{elided(run(command, Path(folder)), expected)}"
                for command, expected in sessions(found[2])
            )
            return f"```console\n{''.join(told)}```\n"

        return re.sub(r"^```(console|python)\n(.*?)^```\n", again, page, flags=re.MULTILINE | re.DOTALL)


# What is measured


def times(ratio: float) -> str:
    return f"{ratio:.0f} ×" if ratio >= 10 else f"{ratio:.2g} ×"


def speed() -> str:
    """From the newest benchmark results that are kept."""
    kept = sorted((ROOT / "benchmarks/results").glob("*.json"))[-1]
    results = json.loads(kept.read_text("utf-8"))
    rows: dict[str, list[str]] = {}
    for row in results["kernels"]:
        seconds = row["seconds"]
        if row["work"] in ("score", "gather", "contrast", "epoch", "ngrams"):
            others = (f"{name} {times(taken / seconds['kernel'])}" for name, taken in seconds.items()
                      if name not in ("kernel", "twin"))  # fmt: skip
            rows.setdefault(f"`{row['work']}`", []).append(
                "; ".join([f"twin {times(seconds['twin'] / seconds['kernel'])}", *others])
            )
    rows["`rampion tune`"] = [f"{row['seconds']:.2g} s, {row['peak'] / 1e6:.0f} MB" for row in results["tune"]]
    page = table(["", "dense lists (D)", "with sparse features (S)"], ([name, *cells] for name, cells in rows.items()))
    where = f"[{kept.stem}](../benchmarks/results/{kept.stem}.md)"
    return f"How many times as long others take as the kernel, and the whole command, on {where}:\n\n{page}"


SEEDS = (1, 2, 3)


def measured() -> str:
    """Every recipe with its defaults, from the initial weights of the demo; those that draw random numbers thrice."""
    import numpy as np

    import rampion
    from rampion.analysis.significance import paired_bootstrap, spread
    from rampion.apps.demo_lists import demonstrate
    from rampion.training.comparison import random
    from rampion.training.inputs import judge
    from rampion.training.recipes import recipes_of

    with tempfile.TemporaryDirectory() as folder:
        demonstrate(1, 800, 100, Path(folder), lambda _: None)
        dev, test = (rampion.load_nbest(Path(folder, name)) for name in ("dev.jsonl", "test.jsonl"))
        given, wanted = (rampion.load_references(Path(folder, name), lists)
                         for name, lists in (("dev.jsonl", dev), ("test.jsonl", test)))  # fmt: skip
        start = rampion.load_weights(Path(folder, "initial.weights"))
    seen, unseen = (judge(lists, refs, "bleu").batch(lists) for lists, refs in ((dev, given), (test, wanted)))
    most = len(dev.segments) * 3 // 4
    part, rest = np.arange(most), np.arange(most, len(dev.segments))
    whole: dict[str, Any] = {"lists": dev, "references": given}
    split = {"lists": dev[part], "references": given.take(part), "dev": dev[rest], "dev_references": given.take(rest)}
    metric, statistics = unseen.metric, unseen.statistics
    first = statistics[rampion.pick(test, start)]
    rows = [["initial weights", f"{seen.corpus_score(rampion.pick(dev, start)):.2f}",
             f"{metric.total_score(first.sum(axis=0)):.2f}", "", "", "", "1", ""]]  # fmt: skip
    for name, recipe in recipes_of("lists").items():
        begun = process_time()
        drawn = [recipe.set(seed=seed) for seed in SEEDS] if random(recipe) else [recipe]
        task = split if recipe.keep == "dev" else whole
        runs = [rampion.tune(**task, recipe=one, start=start) for one in drawn]
        taken = (process_time() - begun) / len(runs)
        tuned = np.mean([seen.corpus_score(rampion.pick(dev, run.weights)) for run in runs])
        chosen = np.stack([statistics[rampion.pick(test, run.weights)] for run in runs])
        scores, gain = spread(metric, chosen), paired_bootstrap(metric, first, chosen)
        sd, interval = f"{scores.sd:.2f}" if len(runs) > 1 else "", f"[{gain.low:+.2f}, {gain.high:+.2f}]"
        length = np.mean([run.shrunk for run in runs])
        rows.append([f"`{name}`", f"{tuned:.2f}", f"{scores.mean:.2f}", sd, f"{gain.score:+.2f}", interval,
                     f"{length:.3g}", f"{taken:.2f}"])  # fmt: skip
    reached = sum(bool(seen.stakes.reached[a:b].any()) for a, b in pairwise(dev.bounds.tolist()))
    head = ["recipe", "BLEU, tuned on", "BLEU, held out", "sd", "gain", "95 % interval", "length", "CPU, s"]
    size = np.diff(dev.bounds).mean()
    return f"{len(dev.segments)} lists of {size:.0f} candidates; {reached} hold a reference.\n\n{table(head, rows)}"


def demonstrated() -> str:
    """What the main job prints, but for the seconds, which are a machine's."""
    with tempfile.TemporaryDirectory() as folder:
        told = re.sub(r": [\d.]+ s$", "", printed("rampion demo", Path(folder)), flags=re.MULTILINE)
    return f"```text\n$ make demo\n{told}```"


PARTS: dict[str, Callable[[], str]] = {
    part.__name__: part
    for part in (
        *(recipes, algorithms, settings, losses, metrics, features, rooms, kernels, decoder_rooms, decoder_kernels),
        *(errors, names, commands, speed),
    )
}


def picture() -> None:
    """The picture of README.md: how many of the held-out problems of its example are answered right, and after how
    many labelled ones."""
    import rampion
    from rampion.apps.demo_samples import write
    from rampion.report.charts import write_lines

    columns = ["id=question_id", "source=question", "text=solution", "target=is_correct", "indicators=model"]
    with tempfile.TemporaryDirectory() as folder:
        halves = [rampion.load_nbest(path, columns) for path in write(Path(folder, "samples"), 300, 1)]
    train, test = (rampion.add_features(h, ["vote", "consensus:chrf", "length"], answer="A: (.+)") for h in halves)
    right, flat = test.metrics["is_correct"], dict.fromkeys(test.features.names, 0.0)

    def share(weights: rampion.Weights) -> float:
        return 100 * float(right[rampion.pick(test, weights)].mean())

    sizes = (5, 10, 20, 50, 100, 200, 300)
    target = {"metric": "metric:is_correct", "recipe": "soft-ramp3"}
    fixed = {"first sample": right[test.lists.bounds[:-1]].mean() * 100}
    single = {"log-probability": "logprob", "majority vote": "vote:answer", "consensus": "consensus:chrf"}
    for told, name in single.items():
        fixed[told] = share(rampion.Weights.from_dict(flat | {name: 1.0}))
    lines = {"Rampion": [(size, share(rampion.tune(train[:size], **target).weights)) for size in sizes]}
    lines |= {told: [(size, value) for size in sizes] for told, value in reversed(fixed.items())}
    write_lines(ROOT / "docs/samples.svg", lines, "Right answers on 300 problems held out", "labelled problems", "%")


def refreshed(page: str, parts: dict[str, Callable[[], str]]) -> str:
    """The text of a page with its generated parts made anew; parts without a function stay."""

    def fill(name: str, found: re.Match[str]) -> str:
        return f"<!-- {name} -->\n{parts[name]()}\n<!-- /{name} -->" if name in parts else found[0]

    return PART.sub(lambda found: partial(fill, found[1])(found), page)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--measure", action="store_true", help="tune every recipe again, and run the demo")
    parser.add_argument("--run", action="store_true", help="run the console blocks again")
    parser.add_argument("pages", nargs="*", metavar="PAGE", default=PAGES, help="only these, such as README.md")
    given = parser.parse_args()
    parts = PARTS | ({"measured": measured, "demonstrated": demonstrated} if given.measure else {})
    if given.run and "README.md" in given.pages:
        picture()
    for page in given.pages:
        path = ROOT / page
        text = refreshed(path.read_text("utf-8"), parts)
        path.write_text(rerun(text) if given.run and "```console" in text else text, "utf-8")


if __name__ == "__main__":
    main()
