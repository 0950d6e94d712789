"""The board: recipes, baselines and peers on many lists, held out; what `rampion tune` does by default follows from it.

    python benchmarks/board/board.py [--gsm8k FILE] [--bible DIR] [--nbest DIR] [--sizes 20,50,200,0] [--draws 10]
        [--recipes all] [--made all] [--peers all] [--out FILE.md] [--keep FILE.json]

Of each list so many segments are drawn to learn from, and all others judge; 0 is four fifths. A row has the mean over
the draws, and the CPU seconds of a draw. Lists that are made here need no files. The others: solutions of GSM8K
problems, a row each; a folder with reference files test.en.0 to .3; and one with n-best lists and theirs. With --keep,
what is done stands in a file, and a board that was stopped goes on.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import lists as lists_of
import methods
from lists import MADE, Row
from methods import PEERS, Chooser, bending, listed, ours, single

from rampion.errors import RampionError
from rampion.losses.contrast import MODEL
from rampion.training.inputs import judge, references_for
from rampion.training.recipes import AUTO, METRIC, recipe_named, recipes_of
from rampion.training.task import Task

BIBLE = [f"test.en.{n}" for n in range(4)]


def rows(asked: argparse.Namespace) -> Iterator[Row]:
    """The lists, one after another."""
    if asked.gsm8k:
        yield lists_of.gsm8k(asked.gsm8k)
    if asked.nbest:
        nmt, sparse = asked.nbest / "nmt-tatoeba-en-fr-2500x10", asked.nbest / "moses-bible-ar-en-sparse"
        yield lists_of.files([str(nmt / "nbest.gz")], [str(nmt / "ref.fr.0")], "NMT")
        yield lists_of.files(
            [str(sparse / "dev.nbest.gz")], [str(sparse / f"dev.en.{n}") for n in range(4)], "Bible sparse"
        )
        if asked.bible:
            dense = asked.nbest / "moses-bible-ar-en" / "test.nbest.gz"
            yield lists_of.files([str(dense)], [str(asked.bible / name) for name in BIBLE], "Bible dense")
    for kind in ["D", *MADE] if asked.made == "all" else filter(None, asked.made.split(",")):
        yield lists_of.moses() if kind == "D" else lists_of.made(kind)


def choosers(asked: argparse.Namespace) -> dict[str, Chooser]:
    names = list(recipes_of("lists")) if asked.recipes == "all" else list(filter(None, asked.recipes.split(",")))
    found: dict[str, Chooser] = {
        "listed order": listed,
        "best single feature": single,
        AUTO: ours(None),
        "auto, bends": bending,
    }
    found |= {name: ours(recipe_named(name)) for name in names}
    peers = PEERS if asked.peers == "all" else filter(None, asked.peers.split(","))
    return found | {name: PEERS[name] for name in peers}


def raced(row: Row, size: int, draws: int, ways: dict[str, Chooser]) -> tuple[int, dict[str, tuple[float, float]]]:
    """The mean score on the other lists and the mean CPU seconds of every way that could."""
    segments, metric = len(row.lists), row.metric if row.metric != "bleu" else METRIC
    references = None if row.references is None else references_for(row.lists.segments, row.references)
    whole = judge(row.lists, references, row.metric).batch(row.lists)
    size = min(size or segments, segments * 4 // 5)
    scores: dict[str, list[float]] = {}
    seconds = dict.fromkeys(ways, 0.0)
    for draw in range(draws):
        order = np.random.default_rng([draw, size]).permutation(segments)
        learnt, others = np.sort(order[:size]), np.sort(order[size:])
        task = Task(row.lists[learnt], None if references is None else references.take(learnt))
        methods.METRICS[id(task)] = metric
        here, there = whole.among(learnt), whole.among(others)
        task.lists.batch(metric)  # judging is nobody's time
        for name, way in ways.items():
            began = process_time()
            try:
                found = way(task, here, there)
            except (RampionError, ValueError):
                continue
            seconds[name] += (process_time() - began) / draws
            scores.setdefault(name, []).append(there.corpus_score(MODEL.picks(there.stakes, found)))
    full = {name: (float(np.mean(row)), seconds[name]) for name, row in scores.items() if len(row) == draws}
    return size, full


def table(cells: Sequence[tuple[str, dict[str, tuple[float, float]]]], ways: Sequence[str]) -> str:
    """A line for each way, a column for each list and size: the score and the seconds."""
    lines = [f"| | {' | '.join(name for name, _ in cells)} |", f"|---|{'---|' * len(cells)}"]
    for way in ways:
        shown = []
        for _, found in cells:
            best = max(score for score, _ in found.values())
            score, seconds = found.get(way, (np.nan, np.nan))
            text = f"{score:.4f}" if abs(best) < 2 else f"{score:.2f}"
            shown.append("–" if np.isnan(score) else f"{'**' + text + '**' if score == best else text} ({seconds:.2f})")
        lines.append(f"| {way} | {' | '.join(shown)} |")
    return "\n".join(lines)


def main(arguments: Sequence[str] | None = None) -> Any:
    parser = argparse.ArgumentParser(description="recipes, baselines and peers on many lists")
    for name in ("--gsm8k", "--bible", "--nbest"):
        parser.add_argument(name, type=Path)
    parser.add_argument("--sizes", default="20,50,200,0")
    parser.add_argument("--draws", type=int, default=10)
    parser.add_argument("--recipes", default="all")
    parser.add_argument("--made", default="all")
    parser.add_argument("--peers", default="all")
    parser.add_argument("--out", type=Path)
    parser.add_argument("--keep", type=Path)
    asked = parser.parse_args(arguments)
    ways, text = choosers(asked), []
    kept = json.loads(asked.keep.read_text("utf-8")) if asked.keep and asked.keep.exists() else {}
    for row in rows(asked):
        cells = []
        for size in map(int, asked.sizes.split(",")):
            key = f"{row.name}, {size}, {asked.draws}, {','.join(ways)}"
            if key not in kept:
                kept[key] = raced(row, size, asked.draws, ways)
                if asked.keep:
                    asked.keep.write_text(json.dumps(kept), "utf-8")
            learnt, found = kept[key]
            cells.append((f"{row.name}, {learnt}", found))
            sys.stderr.write(f"{row.name}, {learnt} segments\n")
        text.append(table(cells, list(ways)))
    told = "\n\n".join(text)
    if asked.out:
        asked.out.write_text(told + "\n", "utf-8")
    sys.stdout.write(told + "\n")


if __name__ == "__main__":
    main()
