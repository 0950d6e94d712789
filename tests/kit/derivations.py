"""Small searches, and from the definitions, what their derivations fire and score."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import chain, pairwise
from typing import NamedTuple

import numpy as np
from exhaustive import options_of, space
from rampion.decoder._reference import templates
from rampion.decoder.features.dense import DENSE
from rampion.decoder.features.templates import NAMES
from rampion.decoder.models.blocks import BOUNDARY, COLUMNS, IDENTITY, LEARNT, START, UNKNOWN, Blocks
from rampion.decoder.models.options import Options, Sentences
from rampion.decoder.search.model import DISTORTION, FLUENCY, Model
from rampion.decoder.search.states import LEFT, MON, NEUTRAL, RIGHT, Reordering

from rampion.store.keys import Keys

WAYS = (MON, Reordering(), Reordering(2), Reordering(8, adjacent_swaps=True), *(Reordering(limit=n) for n in (1, 3, 6)))


EVERY = (1 << len(NAMES)) - 1


PLAIN = tuple(name for name in DENSE if name not in (*FLUENCY, *DISTORTION))


class Task(NamedTuple):
    sentences: Sentences
    options: Options
    blocks: Blocks


def task(seed: int, lengths: list[int], longest: int = 3, most: int = 2, vocabulary: int = 4, copied: int = 0) -> Task:
    """Sentences of words 3, 4, …; every word and some longer phrases have up to `most` blocks.

    The last `copied` words have no block alone, and are copied.
    """
    rng = np.random.default_rng(seed)
    text = [rng.integers(3, 3 + vocabulary, n).tolist() for n in lengths]
    sources, targets, joined = [[UNKNOWN], [START]], [[UNKNOWN], [START]], [(0, 0), (1, 1)]
    said: list[dict[tuple[int, int], list[int]]] = []
    known: dict[tuple[int, ...], list[int]] = {}
    for words in text:
        spans = {}
        for start in range(len(words)):
            for end in range(start + 1, min(start + longest, len(words)) + 1):
                phrase = tuple(words[start:end])
                if phrase not in known:
                    count = int(rng.integers(int(len(phrase) == 1), most + 1))
                    if len(phrase) == 1 and phrase[0] >= 3 + vocabulary - copied:
                        known[phrase], count = [IDENTITY], 0
                    else:
                        known[phrase] = list(range(len(joined), len(joined) + count))
                    sources.append(list(phrase))
                    for _ in range(count):
                        target = rng.integers(3, 3 + vocabulary, int(rng.integers(1, 4))).tolist()
                        targets += [] if target in targets else [target]
                        joined.append((len(sources) - 1, targets.index(target)))
                spans[start, end] = known[phrase]
        said.append(spans)
    flat = [np.array(list(chain(*phrases)), np.uint32) for phrases in (sources, targets)]
    bounds = [np.cumsum([0, *map(len, phrases)]) for phrases in (sources, targets)]
    pairs = np.array(joined, np.uint32)
    values = rng.integers(-3, 4, (len(joined), len(COLUMNS) + len(LEARNT))).astype(np.float32)
    values[BOUNDARY] = 0
    blocks = Blocks(
        flat[0], bounds[0], flat[1], bounds[1], np.zeros(1, np.int64), pairs[:, 0].copy(), pairs[:, 1].copy(),
        np.ones(len(pairs), np.uint32), values, np.zeros(1, np.uint32),
    )  # fmt: skip
    sentences = Sentences(np.array(list(chain(*text)), np.uint32), np.cumsum([0, *lengths]))
    return Task(sentences, options_of(lengths, longest, said), blocks)


def seen(span: tuple[int, int], other: tuple[int, int]) -> str:
    """Where a span lies, seen from another one: M, S or D."""
    return "M" if span[0] == other[1] else "S" if span[1] == other[0] else "D"


def backward(spans: Sequence[tuple[int, int]]) -> list[str]:
    """Every span, seen from all words covered around the one before it."""
    covered, last, found = set[int](), (0, 0), []
    for start, end in spans:
        low, high = last
        while low - 1 in covered:
            low -= 1
        while high in covered:
            high += 1
        found.append(seen((start, end), (low, high)))
        covered |= {*range(start, end)}
        last = start, end
    return found


def forward(spans: Sequence[tuple[int, int]], length: int) -> list[str]:
    """Where the next span lies, or may lie together with others that follow; behind the last comes what follows all."""
    covered, found = set[int](), []
    for (start, end), (after, until) in pairwise([*spans, (length, length + 1)]):
        covered |= {*range(start, end)}
        low, high = (end, after) if after >= end else (until, start)
        found.append("D" if covered & {*range(low, high)} else "M" if after >= end else "S")
    return found


def features(task: Task, mask: int, s: int, steps: tuple[int, ...]) -> tuple[list[int], dict]:
    """The keys and the real-valued features of a derivation, from the definitions."""
    options, blocks = task.options, task.blocks
    words = [UNKNOWN, *task.sentences.words[task.sentences.bounds[s] : task.sentences.bounds[s + 1]].tolist()]
    keys: list[int] = []
    dense = dict.fromkeys(PLAIN, 0.0)
    last, start, end, last_word = BOUNDARY, 0, 0, START
    spans = [(int(options.starts[option]), int(options.ends[option])) for option in steps]
    for option, span, *turns in zip(steps, spans, backward(spans), forward(spans, len(words) - 1), strict=True):
        block = int(options.blocks[option])
        source, target = int(blocks.sources[block]), int(blocks.targets[block])
        heard = blocks.source_words[blocks.source_bounds[source] : blocks.source_bounds[source + 1]].tolist()
        said, before = (
            blocks.target_words[blocks.target_bounds[t] : blocks.target_bounds[t + 1]].tolist()
            for t in (target, int(blocks.targets[last]))
        )
        gap = span[0] - end
        orientation = (RIGHT, LEFT, NEUTRAL)["MSD".index(seen(span, (start, end)))]
        keys += templates.block_keys(mask, block, target, heard, said)
        keys += templates.move_keys(mask, block, orientation, "MSD".index(turns[0]))
        keys += templates.leave_keys(mask, block, "MSD".index(turns[1]))
        jump = templates.jump_of(orientation, gap if gap >= 0 else start - span[1])
        keys += templates.source_keys(mask, int(blocks.sources[last]), source, jump, last_word, words[span[0] + 1])
        keys += templates.join_keys(mask, int(blocks.targets[last]), target, before, said)
        values = blocks.values[block].tolist()
        for name, value in zip(blocks.columns, values, strict=True):
            moving = re.fullmatch(r"(?:Learnt)?(Back|Fore)(\w)", name)
            if moving is None or moving[2] == turns[moving[1] == "Fore"]:
                dense[name] += value
        dense["Phrases"] += 1
        dense["Words"] += len(said)
        dense["Jump"] -= abs(gap)
        last, (start, end) = block, span
        last_word = words[end]
    return keys, dense


def weighed(task: Task, mask: int, seed: int, whole: bool, reordering: Reordering = WAYS[3]) -> tuple[Keys, dict]:
    """Weights of most features that the sequences of the first sentences fire; integers if `whole`."""
    rng = np.random.default_rng(seed)
    fired = set()
    for s in range(len(task.sentences.bounds) - 1):
        for at, (steps, _) in zip(range(300), space(task.sentences, task.options, s, reordering), strict=False):
            fired |= set(features(task, mask, s, steps)[0]) if at % 3 == 0 else set()
    keys = Keys(max(len(fired), 1))
    keys.enter(np.array(sorted(fired), np.uint64))
    weights = rng.integers(-4, 5, len(keys)) if whole else rng.normal(size=len(keys))
    keys.set_weights(weights.astype(np.float32))
    return keys, {name: float(rng.integers(-3, 4)) if whole else float(rng.normal()) for name in PLAIN}


def scored(model: Model, keys: Keys, dense: dict, fired: list[int], values: dict) -> float:
    known = dict(zip(keys.listed().tolist(), keys.weigh(keys.listed()).tolist(), strict=True))
    return sum(known.get(key, 0.0) for key in fired) + sum(dense[name] * values[name] for name in PLAIN)
