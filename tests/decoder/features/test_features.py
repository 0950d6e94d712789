"""Feature templates and dense values of derivations, beside an evaluator that spells them from their definitions."""

from __future__ import annotations

import math
import random
import re
from collections import Counter, defaultdict
from functools import partial
from itertools import combinations
from types import SimpleNamespace
from typing import NamedTuple

import numpy as np
import pytest
from derivations import backward, forward
from hypothesis import given
from hypothesis import strategies as st
from rampion.decoder._core import emit as core_emit
from rampion.decoder._core import phrases as core_phrases
from rampion.decoder._core import spell as core_spell
from rampion.decoder._core import unspell as core_unspell
from rampion.decoder._reference import emit as reference_emit
from rampion.decoder._reference import spell as reference_spell
from rampion.decoder._reference import unspell as reference_unspell
from rampion.decoder.features.dense import DENSE, FOURTEEN, SEVEN, dense, spoken, surface, texts
from rampion.decoder.features.templates import GROUPS, LABELS, NAMES, WORDS, Templates, mask_of
from rampion.decoder.models.blocks import COLUMNS, LEARNT, SPECIAL, Blocks, Vocabularies
from rampion.decoder.models.options import Derivations, Options, Sentences
from rampion.decoder.search.candidates import candidates
from rampion.decoder.search.states import Reordering, State, Window

from rampion.errors import InputError, RecipeError
from rampion.sets.records import DecodedBatch
from rampion.store.keys import Keys
from rampion.store.names import Names
from rampion.store.text import Texts

LONGEST = 3
HEARD = ("das", "haus", "ist", "a/b", "c_d", "50%", "x=|y")
SAID = ("the", "house", "is", "e/f", "g_h", "%5F", "grün", "=")
EVERYTHING = "all,triplets,reordering"


class Case(NamedTuple):
    """A batch of sentences, what can be said, and some derivations of each."""

    lines: list[list[str]]
    templates: Templates
    sentences: Sentences
    options: Options
    derivations: Derivations

    @property
    def batch(self):
        return self.sentences, self.options, self.derivations


def row(items, kind):
    return np.array(items, kind)


def laid(lists, kind):
    """Lists end to end, and their bounds."""
    bounds = np.concatenate([[0], np.cumsum([len(one) for one in lists])]).astype(np.int64)
    return row([item for one in lists for item in one], kind), bounds


def make(seed: int, which: str = EVERYTHING, sentences: int = 3, each: int = 4) -> Case:
    rng = random.Random(seed)
    source, target = Names(), Names()
    source.intern_all(Texts.from_strings((*SPECIAL, *HEARD)))
    target.intern_all(Texts.from_strings((*SPECIAL, *SAID)))
    lines = [[rng.choice((*HEARD, "new")) for _ in range(rng.randint(1, 7))] for _ in range(sentences)]
    ids = [[source.find(word) or 0 for word in line] for line in lines]
    grams = {tuple(line[i : i + n]) for line in ids for i in range(len(line)) for n in range(1, LONGEST + 1)}
    heard = [(0,), (1,), *sorted(gram for gram in grams if 0 not in gram)]
    pairs = [(0, (0,)), (1, (1,))]
    for p in range(2, len(heard)):
        some = {tuple(rng.choices(range(3, len(target)), k=rng.randint(1, 4))) for _ in range(rng.randint(1, 2))}
        pairs += [(p, said) for said in sorted(some)]
    said = [(0,), (1,), *sorted({said for _, said in pairs[2:]})]
    width = len(COLUMNS) + seed % 2 * len(LEARNT)
    values = np.array([[rng.uniform(-3, 0) for _ in range(width)] for _ in pairs], np.float32)
    values[:2] = 0
    owners = row([p for p, _ in pairs], np.uint32)
    blocks = Blocks(
        *laid(heard, np.uint32),
        *laid(said, np.uint32),
        np.searchsorted(owners, np.arange(len(heard) + 1)),
        owners,
        row([said.index(phrase) for _, phrase in pairs], np.uint32),
        np.ones(len(pairs), np.uint32),
        values,
        np.zeros(256, np.uint32),
    )
    core_phrases.index(blocks.source_words, blocks.source_bounds, 2, blocks.slots)
    found, counts = [], []
    for line in ids:
        for i in range(len(line)):
            for j in range(i + 1, i + LONGEST + 1):
                phrase = tuple(line[i:j])
                some = [b for b, (p, _) in enumerate(pairs) if heard[p] == phrase and b != 1] if j <= len(line) else []
                found += [(i, j, b) for b in some]
                counts.append(len(some))
    edges = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    columns = list(zip(*found, strict=True))
    options = Options(LONGEST, edges, row(columns[0], np.int32), row(columns[1], np.int32), row(columns[2], np.uint32))
    words = Sentences(*laid(ids, np.uint32))
    steps = [
        [walk(rng, words, options, s, len(line)) for _ in range(rng.randint(0, each))] for s, line in enumerate(ids)
    ]
    flat = [one for some in steps for one in some]
    derivations = Derivations(laid(steps, object)[1], *reversed(laid(flat, np.uint32)), np.arange(float(len(flat))))
    return Case(lines, Templates(Vocabularies(source, target), blocks, which), words, options, derivations)


def walk(rng, sentences, options, s, length) -> list[int]:
    """A random derivation of sentence s."""
    first = int(sentences.bounds[s]) * LONGEST
    mine = range(int(options.spans[first]), int(options.spans[first + length * LONGEST]))
    while True:
        reordering = Reordering(rng.randint(0, 3), rng.random() < 0.5, rng.choice([0, 0, 3, 6]))
        state, steps = Window() if reordering.limit else State(), []
        while not state.final(length):
            spans = [(o, int(options.starts[o]), int(options.ends[o])) for o in mine]
            legal = [o for o, start, end in spans if state.move(start, end, reordering) is not None]
            if not legal:
                break
            steps.append(rng.choice(legal))
            state = state.after(int(options.starts[steps[-1]]), int(options.ends[steps[-1]]))
        else:
            return steps


def spelt(word: str) -> str:
    return "".join(f"%{ord(c):02X}" if c in "%/_=| \t" else c for c in word)


def phrase(words) -> str:
    return "_".join(map(spelt, words))


class Said(NamedTuple):
    start: int
    end: int
    heard: tuple[str, ...]
    said: tuple[str, ...]
    block: int


def said_by(case: Case, d: int) -> list[Said]:
    steps = case.derivations.steps[case.derivations.step_bounds[d] : case.derivations.step_bounds[d + 1]].tolist()
    blocks = case.options.blocks[steps].tolist()
    spans = zip(case.options.starts[steps].tolist(), case.options.ends[steps].tolist(), strict=True)
    return [Said(*span, *case.templates.words(block), block) for span, block in zip(spans, blocks, strict=True)]


def evaluated(line, steps, which) -> Counter[str]:
    """F(z) by S10.2 and S11.6, as names."""
    fired = Counter()
    source = [word if word in HEARD else "<unk>" for word in line]
    spans = [(one.start, one.end) for one in steps]
    last = Said(0, 0, ("<s>",), ("<s>",), 1)
    for one, back, fore in zip(steps, backward(spans), forward(spans, len(line)), strict=True):
        turn = "R" if one.start == last.end else "L" if one.end == last.start else "N"
        gap = one.start - last.end if one.start >= last.end else last.start - one.end
        jump = turn if turn != "N" else {1: "N1", 2: "N2", 3: "N3", 4: "N3"}.get(gap, "N5")
        block = f"{phrase(one.heard)}/{phrase(one.said)}"
        before = source[last.end - 1] if last.block != 1 else "<s>"
        e, f = list(map(spelt, one.said)), list(map(spelt, one.heard))
        names = [f"P1/{block}", f"P2/{block}/{turn}", f"P3/{phrase(last.said)}/{phrase(one.said)}"]
        names += [f"P4/{phrase(last.heard)}/{phrase(one.heard)}", f"P5/{phrase(one.said)}/{len(one.heard)}"]
        names += [f"W1/{x}/{y}" for x in f for y in e]
        names += [f"W2/{jump}/{spelt(before)}/{spelt(source[one.start])}"]
        both = [*map(spelt, last.said), *e]
        for i, j in combinations(range(len(both) + 1), 2):
            if j > len(last.said) and j - i <= 3:
                names.append("W3/" + "/".join(both[i:j]))
        names += [f"W4/{spelt(last.said[-1])}/{e[0]}"]
        names += [f"T1/{x}/{y}/{z}" for x in f for y, z in combinations(e, 2)]
        names += [f"T2/{x}/{y}/{z}" for x in e for y, z in combinations(f, 2)]
        names += [f"H1/{block}/{back}", f"H2/{block}/{fore}"]
        fired.update(name for name in names if mask_of(which) >> NAMES.index(name[:2]) & 1)
        last = one
    return fired


def owners(case: Case) -> list[int]:
    return np.repeat(np.arange(len(case.lines)), np.diff(case.derivations.bounds)).tolist()


@given(st.integers(0, 10**6), st.sets(st.sampled_from([*NAMES, *GROUPS])).map(lambda some: ",".join(sorted(some))))
def test_what_derivations_fire_is_what_the_definitions_say(seed, which):
    case = make(seed, which)
    keys, bounds = case.templates.emit(*case.batch)
    assert keys.all()
    for d, s in enumerate(owners(case)):
        names = Counter(case.templates.names(keys[bounds[d] : bounds[d + 1]]))
        assert names == evaluated(case.lines[s], said_by(case, d), which)


@given(st.integers(0, 10**6))
def test_names_and_keys_are_two_spellings_of_one_thing(seed):
    case = make(seed)
    case.templates.add("Long", lambda source, target: ["yes/no", *target] if len(source) > 1 else [])
    keys, _ = case.templates.emit(*case.batch)
    names = case.templates.names(keys)
    assert case.templates.keys(names).tolist() == keys.tolist()
    assert len(set(names)) == len(set(keys.tolist()))
    assert not any(c in " \t|=" for name in names for c in name)


@given(st.integers(0, 10**6))
def test_a_template_of_the_user_fires_with_its_block_and_runs_once_a_block(seed):
    case, asked = make(seed, "P1"), Counter()

    def ends(source, target):
        asked[source, target] += 1
        return [f"{source[-1]}~{target[-1]}", "always"]

    case.templates.add("Ends", ends)
    for _ in range(2):
        keys, bounds = case.templates.emit(*case.batch)
        for d, s in enumerate(owners(case)):
            steps = said_by(case, d)
            expected = evaluated(case.lines[s], steps, "P1") + Counter({"Ends/always": len(steps)})
            expected.update(f"Ends/{spelt(one.heard[-1])}~{spelt(one.said[-1])}" for one in steps)
            expected = Counter({name: count for name, count in expected.items() if count})
            assert Counter(case.templates.names(keys[bounds[d] : bounds[d + 1]])) == expected
    assert set(asked.values()) <= {1}


@given(st.integers(0, 10**6))
def test_a_template_of_pairs_sees_the_last_block(seed):
    case = make(seed, "W4")
    case.templates.add_pair("Meet", lambda last, block: [f"{last.target[-1]} {block.target[0]}", "always"])
    keys, bounds = case.templates.emit(*case.batch)
    for d, s in enumerate(owners(case)):
        steps = said_by(case, d)
        expected = evaluated(case.lines[s], steps, "W4")
        met = Counter()
        for name, count in expected.items():
            met["Meet/" + name.removeprefix("W4/").replace("/", "%20")] += count
        if steps:
            met["Meet/always"] = len(steps)
        assert Counter(case.templates.names(keys[bounds[d] : bounds[d + 1]])) == expected + met
    assert case.templates.keys(case.templates.names(keys)).tolist() == keys.tolist()


def test_the_search_asks_for_the_scores_of_the_user_s_templates():
    templates = make(3).templates
    assert templates.scores(Keys()) == (None, None)
    templates.add("Size", lambda source, target: [str(len(target)), "always"])
    templates.add_pair("Sizes", lambda last, block: [f"{len(last.target)}-{len(block.target)}"])
    names = ["Size/1", "Size/2", "Size/3", "Size/4", "Size/always", "Sizes/1-2"]
    weights = {name: 0.25 * 2**place for place, name in enumerate(names)}
    every = np.arange(len(templates.blocks.sources), dtype=np.uint32)
    templates.prepare(every)
    two = next(block for block in every.tolist() if len(templates.words(block).target) == 2)
    templates.join(1, two)
    known = [name for name in names if templates.users.find(name) is not None]
    table = Keys()
    table.enter(templates.keys(Texts.from_strings(known)))
    table.set_weights(np.array([weights[name] for name in known]))
    alone, joined = templates.scores(table)
    for block in every.tolist():
        size = len(templates.words(block).target)
        assert alone(block) == weights[f"Size/{size}"] + weights["Size/always"]
        assert joined(1, block) == (weights["Sizes/1-2"] if size == 2 else 0.0)


def jumps_of(seed: int):
    rng = np.random.default_rng(seed)
    return SimpleNamespace(out=rng.normal(size=(10, 7)).astype(np.float32), into=-rng.random((10, 7), np.float32))


@given(st.integers(0, 10**6))
def test_dense_values_are_what_the_definitions_say(seed):
    case, jumps = make(seed), jumps_of(seed)
    words, bounds = spoken(case.options, case.templates.blocks, case.derivations)
    logs = np.random.default_rng(seed).normal(size=len(words) + len(bounds) - 1)
    values = dense(case.sentences, case.options, case.templates.blocks, case.derivations, jumps=jumps, logs=logs)
    source = case.templates.vocabularies.source
    for d, s in enumerate(owners(case)):
        steps, line = said_by(case, d), case.lines[s]
        target = [case.templates.vocabularies.target.name(word) for word in words[bounds[d] : bounds[d + 1]].tolist()]
        assert target == [word for one in steps for word in one.said]
        expected = defaultdict(float)
        spans = [(one.start, one.end) for one in steps]
        mine = iter(logs[bounds[d] + d :].tolist())
        end, before = 0, 1
        for one, back, fore in zip(steps, backward(spans), forward(spans, len(line)), strict=True):
            own = case.templates.blocks
            columns = dict(zip(own.columns, own.values[one.block].tolist(), strict=True))
            for name in (*COLUMNS[:5], f"Back{back}", f"Fore{fore}"):
                expected[name] += columns[name]
            for name in (*LEARNT[:4], f"LearntBack{back}", f"LearntFore{fore}") if len(columns) > len(COLUMNS) else ():
                expected[name] += columns[name]
            expected["Phrases"] += 1
            expected["Words"] += len(one.said)
            expected["Jump"] -= abs(one.start - end)
            place = min(max(one.start - end, -3), 3) + 3
            expected["JumpOut"] += float(jumps.out[before, place])
            expected["JumpIn"] += float(jumps.into[source.find(line[one.start]) or 0, place])
            end, before = one.end, source.find(line[one.end - 1]) or 0
            some = [next(mine) for _ in one.said]
            expected["LM"] += sum(some)
            expected["LMFirst"] += some[0]
            expected["LMRest"] += sum(some[1:])
        last = next(mine)
        expected["LM"] += last
        expected["LMRest"] += last
        assert dict(zip(DENSE, values[d], strict=True)) == pytest.approx({name: expected[name] for name in DENSE})
    none = SimpleNamespace(out=np.zeros((0, 0), np.float32), into=np.zeros((0, 0), np.float32))
    batch = case.sentences, case.options, case.templates.blocks, case.derivations
    bare = dense(*batch, jumps=none, logs=np.zeros(0), names=FOURTEEN)
    kept = [name for name in FOURTEEN if name != "LM"]
    assert bare[:, [FOURTEEN.index(name) for name in kept]].tolist() == values[:, [*map(DENSE.index, kept)]].tolist()
    assert not bare[:, FOURTEEN.index("LM")].any()
    assert set(SEVEN) | set(FOURTEEN) <= set(DENSE)


@given(st.integers(0, 10**6))
def test_texts_copy_what_nobody_knows(seed):
    case = make(seed)
    lines = Texts.from_strings(" ".join(line) for line in case.lines)
    said = case.templates.vocabularies.target.texts()
    found = texts(case.sentences, case.options, case.templates.blocks, said, surface(lines), case.derivations)
    for d, s in enumerate(owners(case)):
        words = [(case.lines[s][one.start],) if one.block == 0 else one.said for one in said_by(case, d)]
        assert found[d] == " ".join(word for some in words for word in some)


@given(st.integers(0, 10**6))
def test_candidates_score_as_their_derivations(seed):
    case = make(seed)
    batch = case.sentences, case.options, case.templates.blocks, case.derivations
    values = dense(*batch, jumps=jumps_of(seed), logs=np.zeros(0), names=FOURTEEN)
    said = Texts.from_strings("x" for _ in case.derivations.scores)
    keys, bounds = case.templates.emit(*case.batch)
    found = DecodedBatch(case.derivations.bounds, said, values, bounds, keys, case.derivations.scores)
    store = candidates([found], FOURTEEN, case.templates.names)
    weights = np.random.default_rng(seed).integers(-4, 5, len(store.features)).astype(float)
    weigh = dict(zip(store.features.names, weights, strict=True))
    for d, s in enumerate(owners(case)):
        counts = evaluated(case.lines[s], said_by(case, d), EVERYTHING)
        total = sum(weigh[name] * count for name, count in counts.items())
        total += math.fsum(weigh[name] * value for name, value in zip(FOURTEEN, values[d], strict=True))
        assert store.score(weights)[d] == pytest.approx(total)
    assert store.scores.tolist() == case.derivations.scores.tolist()
    assert store.bounds.tolist() == case.derivations.bounds.tolist()


@given(st.integers(0, 10**6), st.sets(st.sampled_from([*NAMES, *GROUPS])).map(lambda some: ",".join(sorted(some))))
def test_kernels_and_twins_give_the_same_bits(seed, which):
    case = make(seed, which)
    case.templates.add("Ends", lambda source, target: [f"{source[-1]}~{target[-1]}"])
    case.templates.prepare(case.options.blocks)
    blocks, said = case.templates.blocks, case.templates.vocabularies.target.texts()
    tokens = surface(Texts.from_strings(" ".join(line) for line in case.lines))
    logs = np.random.default_rng(seed).normal(size=99 * len(case.derivations.scores))
    count = len(case.derivations.scores)
    rates = np.random.default_rng(seed).normal(size=(len(case.options.blocks), 2)).astype(np.float32)
    rated = case.options._replace(rates=rates)

    def run(emits, spells):
        answers = []

        def fill(work, size, room, kind):
            bounds, cells = np.zeros(size + 1, np.int64), np.zeros(room, kind)
            assert work(0, bounds, cells) == size
            answers.append([bounds.tolist(), cells[: bounds[-1]].tolist()])
            return cells[: bounds[-1]]

        batch = case.sentences, case.options, blocks
        emit = partial(emits.feature_keys, *batch, case.templates.extras, case.templates.mask, case.derivations)
        keys = fill(emit, count, 40_000, np.uint64)
        fill(partial(emits.surface_texts, *batch, said, tokens, case.derivations), count, 20_000, np.uint8)
        values = np.zeros((count, len(DENSE)))
        for given_logs, own in ((logs, case.options), (np.zeros(0), rated)):
            emits.dense_values(case.sentences, own, blocks, jumps_of(seed), given_logs, case.derivations, values)
            answers.append(values.tolist())
        spelling = Texts.from_strings(LABELS), *case.templates._spelt, case.templates.users.texts()
        fill(partial(spells.feature_names, keys, blocks, *spelling), len(keys), 400_000, np.uint8)
        return answers

    assert run(core_emit, core_spell) == run(reference_emit, reference_spell)


@given(st.integers(0, 10**6), st.data())
def test_the_twins_read_the_same_keys_from_names(seed, data):
    case = make(seed)
    keys, _ = case.templates.emit(*case.batch)
    names = sorted(set(case.templates.names(keys)))[: 12 if seed % 2 else 60]
    pieces = sorted({part for name in names for part in re.split("[/_]", name)} | {"", "<unk>", "<s>", "N5", "256"})
    strange = st.lists(st.sampled_from([*pieces, *pieces, *NAMES]), min_size=1, max_size=6)
    names += data.draw(st.lists(st.tuples(strange, st.sampled_from("/_")).map(lambda two: two[1].join(two[0]))))
    names += ["/".join(data.draw(strange)) for _ in range(10)]
    texts, (sources, targets) = Texts.from_strings(names), case.templates._words
    for slots, room in ((case.templates._targets, 256), (np.zeros(1, np.uint32), 2)):
        found = []
        for unspells in (core_unspell, reference_unspell):
            keys = np.ones(len(names), np.uint64)
            unspells.name_keys(
                texts.blob, texts.bounds, case.templates.blocks, Texts.from_strings(LABELS), sources, targets, slots,
                np.empty(room, np.uint32), keys,
            )  # fmt: skip
            found.append(keys.tolist())
        assert found[0] == found[1]


NAMELESS = [
    0, 14 << 59, 31 << 59, (1 << 59) | (99 << 8),
    (2 << 59) | 77, (6 << 59) | (400 << 38), 8 << 59, (3 << 59) | 99, (7 << 59) | (6 << 38),
]  # fmt: skip


@pytest.mark.parametrize("key", NAMELESS)
def test_a_key_of_another_block_set_has_no_name(key):
    templates = make(0).templates
    keys = np.array([(1 << 59) | 2 << 8, key], np.uint64)
    with pytest.raises(InputError, match=rf"feature key {key:#018x} has no name in this block set; open the features"):
        templates.names(keys)
    bounds = np.zeros(3, np.int64)
    spelling = Texts.from_strings(LABELS), *templates._spelt, templates.users.texts()
    for kernels in (core_spell, reference_spell):
        assert kernels.feature_names(keys, templates.blocks, *spelling, 0, bounds, np.zeros(999, np.uint8)) == 1
        assert bounds[2] == -3


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("W1/das", "'W1/das' is not the name of a feature; expected one like W1/haus/house"),
        ("Q7/das/the", "'Q7/das/the' is not the name of a feature"),
        ("W1/nie/the", "'nie' in the name of a W1 is not a word of the source vocabulary; check spelling"),
        ("W4/the/nie", "'nie' in the name of a W4 is not a word of the target vocabulary"),
        ("P1/nie/the", "'nie/the' in the name of a P1 is not a block"),
        ("P3/nie/nie", "'nie' in the name of a P3 is not a target phrase"),
        ("P4/nie/nie", "'nie' in the name of a P4 is not a source phrase"),
        ("W2/N9/das/das", "'N9' in the name of a W2 is not one of R, L, N1"),
    ],
)
def test_a_name_of_nothing_is_refused(name, message):
    templates = make(0).templates
    assert templates.keys(Texts.from_strings([name]), lenient=True)[0] == 0
    with pytest.raises(InputError, match=message):
        templates.keys(Texts.from_strings([name]))


def test_templates_are_chosen_by_name_or_group():
    assert mask_of("P1,W3") == 1 | 1 << 7
    assert mask_of("all") == 0b1_1111_1111
    assert mask_of("") == 0
    with pytest.raises(RecipeError, match="no feature template or group is called 'P9'; choose among phrase, word"):
        mask_of("word,P9")


@pytest.mark.parametrize("name", ["P1", "Twice", "1st", "a b", ""])
def test_a_template_of_the_user_needs_a_name_of_its_own(name):
    templates = make(0).templates
    templates.add("Twice", lambda source, target: [])
    with pytest.raises(RecipeError, match=r"a template cannot be called .*; take letters and digits, and none of P1"):
        templates.add(name, lambda source, target: [])


def test_a_vocabulary_too_large_for_keys_is_refused():
    small = make(0).templates
    large = Names(1 << 20)
    large.intern_all(Texts.from_strings(map(str, range(WORDS + 1))))
    vocabularies = Vocabularies(large, small.vocabularies.target)
    with pytest.raises(RecipeError, match=r"the source vocabulary has 524,287 words, and templates of words \(W1\)"):
        Templates(vocabularies, small.blocks, "P1,W1")
    assert Templates(vocabularies, small.blocks, "phrase").mask == mask_of("phrase")


def test_buffers_grow_until_everything_fits():
    case = make(5, sentences=40, each=60)
    keys, bounds = case.templates.emit(*case.batch)
    assert len(case.derivations.scores) > 500
    names = case.templates.names(keys)
    for d in range(0, len(bounds) - 1, 97):
        s = owners(case)[d]
        some = Counter(names.take(np.arange(bounds[d], bounds[d + 1])))
        assert some == evaluated(case.lines[s], said_by(case, d), EVERYTHING)
