"""Small searches, and from the definitions, what their derivations fire and score."""

from __future__ import annotations

import re
from itertools import chain
from typing import NamedTuple

import numpy as np
from exhaustive import options_of, space
from rampion.decoder._reference import templates
from rampion.decoder.features.dense import DENSE
from rampion.decoder.features.templates import NAMES
from rampion.decoder.models.blocks import BOUNDARY, COLUMNS, LEARNT, START, UNKNOWN, Blocks
from rampion.decoder.models.options import Options, Sentences
from rampion.decoder.search.model import DISTORTION, FLUENCY, Model
from rampion.decoder.search.states import BACKWARD, CLOSE, FORWARD, MON, ORIENTATION, STEP, Reordering, State

from rampion.store.keys import Keys

WAYS = (MON, Reordering(), Reordering(2), Reordering(8, adjacent_swaps=True))


EVERY = (1 << len(NAMES)) - 1


PLAIN = tuple(name for name in DENSE if name not in (*FLUENCY, *DISTORTION))


class Task(NamedTuple):
    sentences: Sentences
    options: Options
    blocks: Blocks


def task(seed: int, lengths: list[int], longest: int = 3, most: int = 2, vocabulary: int = 4) -> Task:
    """Sentences of words 3, 4, …; every word and some longer phrases have up to `most` blocks."""
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


def moves(task: Task, s: int, steps: tuple[int, ...], reordering: Reordering) -> list[int]:
    state, found = State(), []
    for option in steps:
        start, end = int(task.options.starts[option]), int(task.options.ends[option])
        found.append(state.move(start, end, reordering))
        state = state.after(start, end)
    return found


def features(task: Task, mask: int, s: int, steps: tuple[int, ...], reordering: Reordering) -> tuple[list[int], dict]:
    """The keys and the real-valued features of a derivation, from the definitions."""
    options, blocks = task.options, task.blocks
    words = [UNKNOWN, *task.sentences.words[task.sentences.bounds[s] : task.sentences.bounds[s + 1]].tolist()]
    keys: list[int] = []
    dense = dict.fromkeys(PLAIN, 0.0)
    last, end, last_word = BOUNDARY, 0, START
    came = moves(task, s, steps, reordering)
    for i, option in enumerate(steps):
        block, move = int(options.blocks[option]), came[i]
        source, target = int(blocks.sources[block]), int(blocks.targets[block])
        heard = blocks.source_words[blocks.source_bounds[source] : blocks.source_bounds[source + 1]].tolist()
        said, before = (
            blocks.target_words[blocks.target_bounds[t] : blocks.target_bounds[t + 1]].tolist()
            for t in (target, int(blocks.targets[last]))
        )
        gap = int(options.starts[option]) - end
        following = (
            came[i + 1] if i + 1 < len(steps) else STEP if int(options.ends[option]) == len(words) - 1 else CLOSE
        )
        keys += templates.block_keys(mask, block, target, heard, said)
        keys += templates.move_keys(mask, block, ORIENTATION[move], BACKWARD[move])
        keys += templates.leave_keys(mask, block, FORWARD[following])
        jump = templates.jump_of(ORIENTATION[move], gap)
        keys += templates.source_keys(mask, int(blocks.sources[last]), source, jump, last_word, heard[0])
        keys += templates.join_keys(mask, int(blocks.targets[last]), target, before, said)
        values = blocks.values[block].tolist()
        turns = "MSD"[BACKWARD[move]], "MSD"[FORWARD[following]]
        for name, value in zip(blocks.columns, values, strict=True):
            moving = re.fullmatch(r"(?:Learnt)?(Back|Fore)(\w)", name)
            if moving is None or moving[2] == turns[moving[1] == "Fore"]:
                dense[name] += value
        dense["Phrases"] += 1
        dense["Words"] += len(said)
        dense["Jump"] -= abs(gap)
        last, end = block, int(options.ends[option])
        last_word = words[end]
    return keys, dense


def weighed(task: Task, mask: int, seed: int, whole: bool, reordering: Reordering = WAYS[3]) -> tuple[Keys, dict]:
    """Weights of most features that the sequences of the first sentences fire; integers if `whole`."""
    rng = np.random.default_rng(seed)
    fired = set()
    for s in range(len(task.sentences.bounds) - 1):
        for at, (steps, _) in zip(range(300), space(task.sentences, task.options, s, reordering), strict=False):
            fired |= set(features(task, mask, s, steps, reordering)[0]) if at % 3 == 0 else set()
    keys = Keys(max(len(fired), 1))
    keys.enter(np.array(sorted(fired), np.uint64))
    weights = rng.integers(-4, 5, len(keys)) if whole else rng.normal(size=len(keys))
    keys.set_weights(weights.astype(np.float32))
    return keys, {name: float(rng.integers(-3, 4)) if whole else float(rng.normal()) for name in PLAIN}


def scored(model: Model, keys: Keys, dense: dict, fired: list[int], values: dict) -> float:
    known = dict(zip(keys.listed().tolist(), keys.weigh(keys.listed()).tolist(), strict=True))
    return sum(known.get(key, 0.0) for key in fired) + sum(dense[name] * values[name] for name in PLAIN)
