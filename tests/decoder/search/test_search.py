"""The search against the enumeration of its whole space, its twin, and the features counted again."""

from __future__ import annotations

import sys
from itertools import pairwise

import numpy as np
import pytest
from derivations import EVERY, WAYS, Task, features, scored, task, weighed
from exhaustive import space
from hypothesis import given
from hypothesis import strategies as st
from rampion.decoder import _kernels
from rampion.decoder._core import search as compiled
from rampion.decoder._reference import model as plain_model
from rampion.decoder._reference import search as plain
from rampion.decoder.features.dense import DENSE
from rampion.decoder.features.dense import dense as dense_values
from rampion.decoder.features.templates import GROUPS, NAMES, Templates
from rampion.decoder.models.blocks import BOUNDARY, COLUMNS, IDENTITY, LEARNT, Vocabularies
from rampion.decoder.models.jumps import Jumps
from rampion.decoder.models.lm import Grams, Lm
from rampion.decoder.models.options import NOTHING, Derivations, Graph, Options
from rampion.decoder.search.model import FLUENCY, Model
from rampion.decoder.search.search import CAP, Search, search
from rampion.decoder.search.states import MON, Reordering

from rampion.errors import InputError, RecipeError
from rampion.store.keys import Keys
from rampion.store.names import Names
from rampion.store.text import Texts
from rampion.threads import in_order

MASKS = {name: sum(1 << NAMES.index(one) for one in group) for name, group in GROUPS.items()}


def language(seed: int, order: int, vocabulary: int = 8) -> Lm:
    """N-grams drawn at random, with all those that end or begin them."""
    rng = np.random.default_rng(seed)
    names = Names()
    names.intern_all(Texts.from_strings(["<unk>", "<s>", "</s>", *(f"w{i}" for i in range(3, vocabulary))]))
    known = [{(w,) for w in range(vocabulary)}]
    for n in range(2, order + 1):
        drawn = {tuple(rng.integers(0, vocabulary, n).tolist()) for _ in range(3 * vocabulary)}
        known.append({gram for gram in drawn if gram[1:] in known[-1] and gram[:-1] in known[-1]})
    return Lm.of(names, [
        Grams(
            np.array(sorted(grams), np.uint32).reshape(-1, n),
            (-3 * rng.random(len(grams))).astype(np.float32),
            (-rng.random(len(grams))).astype(np.float32) * (n < order),
        )
        for n, grams in enumerate(known, 1)
    ])  # fmt: skip


def fluency(lm: Lm, task: Task, steps: tuple[int, ...], dense: dict) -> float:
    """The weighted log-probability of a derivation, of the whole sentence at once."""
    said = []
    for option in steps:
        target = int(task.blocks.targets[task.options.blocks[option]])
        words = task.blocks.target_words[task.blocks.target_bounds[target] : task.blocks.target_bounds[target + 1]]
        said += [(int(word), i > 0) for i, word in enumerate(words.tolist())]
    logs = lm.steps(Texts.from_strings([" ".join(f"w{word}" for word, _ in said)]))[0].tolist()
    ways = [*(rest for _, rest in said), True]
    return sum(dense["LM"] * log + dense[FLUENCY[1 + rest]] * log for log, rest in zip(logs, ways, strict=True))


@pytest.mark.parametrize("order", [1, 2, 3, 4])
@pytest.mark.parametrize("copied", [0, 2])
@pytest.mark.parametrize("reordering", WAYS, ids=str)
def test_exact_search_with_a_language_model(reordering, copied, order):
    """Words that are copied are one unknown word to the model, in what it predicts and in its contexts."""
    found, lm = task(order, [1, 0, 4, 5], most=2, copied=copied), language(order, order)
    chosen = {int(block) for block in found.options.blocks}
    assert (IDENTITY in chosen) == bool(copied)
    mask = MASKS["word"]
    keys, dense = weighed(found, mask, 3, whole=True, reordering=MON)
    dense |= {"LM": 1.5, "LMFirst": -0.3, "LMRest": 0.7}
    model = Model.of(
        found.blocks, mask, keys, dense, lm, np.arange(8, dtype=np.uint32), within_limit=reordering.limit > 0
    )
    for settings in (Search.exact(reordering), Search(2000, 10**5, reordering=reordering)):
        graph = search(found.sentences, found.options, model, settings)
        for s in range(4):
            everything = {
                steps: scored(model, keys, dense, *features(found, mask, s, steps)) + fluency(lm, found, steps, dense)
                for steps, _ in space(found.sentences, found.options, s, reordering)
            }
            assert best(graph, s)[0] == pytest.approx(max(everything.values()), abs=1e-9)
            for score, steps in paths(graph, s):
                assert everything[steps] == pytest.approx(score, abs=1e-9)


def paths(graph: Graph, s: int) -> list[tuple[float, tuple[int, ...]]]:
    """Every derivation in the graph and its score."""
    first, goal = int(graph.bounds[s]), int(graph.bounds[s + 1]) - 1

    def into(node: int) -> list[tuple[float, tuple[int, ...]]]:
        if node == first:
            return [(0.0, ())]
        return [
            (
                score + float(graph.scores[e]),
                (*steps, *([int(graph.options[e])] if graph.options[e] != NOTHING else [])),
            )
            for e in range(int(graph.edge_bounds[node]), int(graph.edge_bounds[node + 1]))
            for score, steps in into(int(graph.origins[e]))
        ]

    return into(goal)


def best(graph: Graph, s: int) -> tuple[float, tuple[int, ...]]:
    """The derivation of the first edges."""
    node, steps, scores = int(graph.bounds[s + 1]) - 1, [], []
    while graph.edge_bounds[node] < graph.edge_bounds[node + 1]:
        e = graph.edge_bounds[node]
        steps += [] if graph.options[e] == NOTHING else [int(graph.options[e])]
        scores.append(float(graph.scores[e]))
        node = int(graph.origins[e])
    return sum(reversed(scores)), tuple(reversed(steps))


@pytest.mark.parametrize("copied", [0, 2])
@pytest.mark.parametrize("reordering", WAYS, ids=str)
@pytest.mark.parametrize("group", [*GROUPS, "every"])
def test_exact_search_finds_the_best_of_the_whole_space(group, reordering, copied):
    mask = MASKS.get(group, EVERY)
    found = task(len(group), [0, 1, 3, 5], most=2, copied=copied)
    keys, dense = weighed(found, mask, 3, whole=True)
    model = Model.of(found.blocks, mask, keys, dense, within_limit=reordering.limit > 0)
    for settings in (Search.exact(reordering), Search(2000, 10**5, reordering=reordering)):
        graph = search(found.sentences, found.options, model, settings)
        for s in range(4):
            everything = {
                steps: scored(model, keys, dense, *features(found, mask, s, steps))
                for steps, _ in space(found.sentences, found.options, s, reordering)
            }
            score, steps = best(graph, s)
            assert score == max(everything.values())
            assert everything[steps] == score
            kept = paths(graph, s)
            assert all(everything[steps] == score for score, steps in kept)
            assert len(kept) == len(everything), "no pruning: every derivation is a path"


@pytest.mark.parametrize("reordering", WAYS, ids=str)
def test_the_score_is_weights_times_what_the_derivation_emits(reordering):
    found = task(4, [6, 0, 5, 8], most=3)
    keys, dense = weighed(found, EVERY, 3, whole=True, reordering=MON)
    far = Jumps(*np.random.default_rng(1).integers(-3, 4, (2, 8, 5)).astype(np.float32))
    dense |= {"JumpOut": 2.0, "JumpIn": -1.0}
    model = Model.of(found.blocks, EVERY, keys, dense, jumps=far, within_limit=reordering.limit > 0)
    graph = search(found.sentences, found.options, model, Search(5, 30, reordering=reordering))
    bests = [best(graph, s) for s in range(4)]
    bounds = np.cumsum([0, *(len(steps) for _, steps in bests)])
    steps = np.array([step for _, steps in bests for step in steps], np.uint32)
    derivations = Derivations(np.arange(5), bounds, steps, np.array([score for score, _ in bests]))
    names = Names()
    names.intern_all(Texts.from_strings([*"abc", *(f"w{i}" for i in range(3, 8))]))
    templates = Templates(Vocabularies(names, names), found.blocks)
    templates.mask = EVERY
    fired, ends = templates.emit(found.sentences, found.options, derivations)
    sums = [keys.weigh(fired[start:end]).sum() for start, end in pairwise(ends.tolist())]
    values = dense_values(found.sentences, found.options, found.blocks, derivations, jumps=far, logs=np.zeros(0))
    weights = [dense.get(name, 0.0) for name in DENSE]
    np.testing.assert_array_equal(sums + values @ weights, derivations.scores)


@pytest.mark.slow
def test_a_sentence_of_eight_words():
    found = task(8, [8], longest=2, most=1)
    for reordering in WAYS:
        keys, dense = weighed(found, EVERY, 1, whole=True)
        model = Model.of(found.blocks, EVERY, keys, dense, within_limit=reordering.limit > 0)
        graph = search(found.sentences, found.options, model, Search.exact(reordering))
        everything = [
            scored(None, keys, dense, *features(found, EVERY, 0, steps))
            for steps, _ in space(found.sentences, found.options, 0, reordering)
        ]
        assert best(graph, 0)[0] == max(everything)


@given(
    seed=st.integers(0, 2**30),
    lengths=st.lists(st.integers(0, 6), min_size=1, max_size=3),
    mask=st.sampled_from([*MASKS.values(), EVERY, 0]),
    way=st.sampled_from(WAYS),
    beam=st.sampled_from([1, 2, 5, 1000]),
    pops=st.sampled_from([1, 3, 10, 40, 10**6]),
    threshold=st.sampled_from([0.0, 1.0, float("inf")]),
    whole=st.booleans(),
    order=st.integers(0, 4),
    rated=st.booleans(),
    learnt=st.booleans(),
)
def test_kernels_equal_their_twins(seed, lengths, mask, way, beam, pops, threshold, whole, order, rated, learnt):
    found = task(seed, lengths, most=4)
    keys, dense = weighed(found, mask, seed, whole, MON)
    if not learnt:
        found = found._replace(blocks=found.blocks._replace(values=found.blocks.values[:, : len(COLUMNS)].copy()))
        dense = {name: weight for name, weight in dense.items() if name not in LEARNT}
    spoken = (language(seed, order), np.arange(8, dtype=np.uint32)) if order else (None, None)
    far = Jumps(*np.random.default_rng(seed).normal(size=(2, 8, 5)).astype(np.float32)) if seed % 2 else None
    dense |= {"JumpOut": 0.7, "JumpIn": -0.2} if far else {}
    dense |= {"LM": 0.5, "LMRest": 0.3} if order else {}
    models = [Model.of(found.blocks, mask, keys, dense, *spoken, far, within_limit=way.limit > 0) for _ in range(2)]
    models[0].assess(found.options.blocks)
    plain_model.assess(found.options.blocks, 0, found.blocks, models[1], None, models[1].local)
    np.testing.assert_array_equal(models[0].local, models[1].local)
    np.testing.assert_array_equal(models[0].leaves, models[1].leaves)
    asked = np.unique(found.options.blocks)
    if order:
        np.testing.assert_array_equal(models[0].heads[asked], models[1].heads[asked])
        rows = (model.ends.reshape(-1, order - 1)[asked] for model in models if order > 1)
        assert order == 1 or np.array_equal(*rows)
    sifter = np.zeros_like(models[0].sifter)
    plain_model.sift(models[0].slots, sifter)
    np.testing.assert_array_equal(sifter, models[0].sifter)
    settings = Search(beam, pops, threshold, way)
    graphs, options = [], found.options
    if rated:
        rates = np.random.default_rng(seed).normal(size=(len(options.blocks), 2)).astype(np.float32)
        models[0].columns[:2], options = (0.5, -0.25), options._replace(rates=rates)
    for kernel in (compiled.search, plain.search):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(_kernels, "search", kernel)
            graphs.append(search(found.sentences, options, models[0], settings))
    for one, other in zip(*graphs, strict=True):
        np.testing.assert_array_equal(one, other)


def test_every_sentence_has_a_derivation_however_narrow_the_beam():
    found = task(5, [12, 0, 7, 9], most=3)
    keys, dense = weighed(found, MASKS["all"], 2, whole=False, reordering=MON)
    for way in WAYS:
        model = Model.of(found.blocks, MASKS["all"], keys, dense, within_limit=way.limit > 0)
        graph = search(found.sentences, found.options, model, Search(1, 1, reordering=way))
        for s, words in enumerate((12, 0, 7, 9)):
            steps = best(graph, s)[1]
            assert sum(int(found.options.ends[o] - found.options.starts[o]) for o in steps) == words


def test_a_word_without_options_leaves_the_goal_alone():
    found = task(5, [3], most=1)
    spans = np.zeros_like(found.options.spans)
    empty = Options(found.options.longest, spans, *(array[:0] for array in found.options[2:]))
    graph = search(found.sentences, empty, Model.of(found.blocks, 0, Keys(), {}), Search())
    assert (len(graph.origins), graph.bounds.tolist()) == (0, [0, 2])


def test_graphs_lead_forward_best_first_and_reach_the_goal():
    found = task(6, [9, 8, 0, 6], most=4)
    keys, dense = weighed(found, EVERY, 2, whole=False, reordering=MON)
    graph = search(found.sentences, found.options, Model.of(found.blocks, EVERY, keys, dense), Search(20, 200))
    scores = np.full(graph.bounds[-1], -np.inf)
    scores[graph.bounds[:-1]] = 0.0
    used = set((graph.bounds[1:] - 1).tolist())
    for node in range(graph.bounds[-1]):
        edges = range(graph.edge_bounds[node], graph.edge_bounds[node + 1])
        totals = [scores[graph.origins[e]] + graph.scores[e] for e in edges]
        assert all(graph.origins[e] < node for e in edges)
        assert totals == sorted(totals, reverse=True)
        scores[node] = totals[0] if totals else scores[node]
        used |= {int(graph.origins[e]) for e in edges}
    assert used | set(graph.bounds[:-1].tolist()) == set(range(graph.bounds[-1]))


def test_a_threshold_leaves_out_what_is_worse_and_nothing_else():
    found = task(6, [9, 8, 0, 6], most=4)
    model = Model.of(found.blocks, EVERY, *weighed(found, EVERY, 2, whole=False, reordering=MON))
    free, far, near = (
        search(found.sentences, found.options, model, Search(50, 400, threshold))
        for threshold in (float("inf"), 1e6, 3.0)
    )
    for one, other in zip(free, far, strict=True):
        np.testing.assert_array_equal(one, other)
    assert 0 < len(near.origins) < len(free.origins)
    for s in range(4):
        assert best(near, s)[0] <= best(free, s)[0] + 1e-9


def test_more_room_changes_nothing(monkeypatch):
    found = task(6, [9, 8, 9, 8, 9], most=4)
    model = Model.of(found.blocks, MASKS["all"], *weighed(found, MASKS["all"], 2, whole=False, reordering=MON))
    wide = search(found.sentences, found.options, model, Search(500, 5000))
    narrow = sys.modules["rampion.decoder.search.search"]
    monkeypatch.setattr(narrow, "LEAST", 1 << 4)
    monkeypatch.setattr(narrow, "MOST", 1 << 4)
    for one, other in zip(wide, search(found.sentences, found.options, model, Search(500, 5000)), strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_any_number_of_threads_gives_the_same_bits(threads):
    batches = [task(seed, [7, 5, 6], most=3) for seed in range(8)]
    ways = [(batch, Model.of(batch.blocks, 0, Keys(), {"PhraseST": 0.3, "Words": -0.1})) for batch in batches]

    def work(item):
        return search(item[0].sentences, item[0].options, item[1], Search(10, 50)).scores.tobytes()

    assert list(in_order(work, ways, threads)) == [work(item) for item in ways]


def test_templates_in_python_add_to_the_score():
    found = task(9, [4, 3], most=2)
    keys, dense = weighed(found, MASKS["word"], 4, whole=True, reordering=MON)

    def pair(last: int, block: int) -> float:
        return float((7 * last + block) % 5)

    model = Model.of(found.blocks, MASKS["word"], keys, dense, single=float, pair=pair)
    graph = search(found.sentences, found.options, model, Search.exact())
    for s in range(2):
        everything = []
        for steps, _ in space(found.sentences, found.options, s, Reordering()):
            said = [BOUNDARY, *found.options.blocks[list(steps)].tolist()]
            extra = sum(said[1:]) + sum(pair(*two) for two in pairwise(said))
            everything.append(extra + scored(model, keys, dense, *features(found, model.mask, s, steps)))
        assert best(graph, s)[0] == max(everything)


def test_what_is_refused():
    found = task(1, [CAP + 1], longest=1, most=1)
    with pytest.raises(InputError, match=r"sentence 0 has 513 words; the search takes at most 512: split it"):
        search(found.sentences, found.options, Model.of(found.blocks, 0, Keys(), {}), Search())
    with pytest.raises(InputError, match=r"the weight of Words is nan; a decoder needs finite weights"):
        Model.of(found.blocks, 0, Keys(), {"Words": float("nan")})
    with pytest.raises(InputError, match=r"no feature Fluency; its real-valued ones are PhraseST"):
        Model.of(found.blocks, 0, Keys(), {"Fluency": 1.0})
    with pytest.raises(InputError, match="LMRest has a weight, but there is no language model"):
        Model.of(found.blocks, 0, Keys(), {"LMRest": 1.0})
    with pytest.raises(InputError, match="a language model needs the ids of its words"):
        Model.of(found.blocks, 0, Keys(), {}, language(1, 2))
    keys = Keys()
    keys.enter(np.array([5], np.uint64))
    keys.slots["weight"][keys.slots["key"] == 5] = np.inf
    with pytest.raises(InputError, match=r"the weight of feature 0 \(key 0x5\) is inf"):
        Model.of(found.blocks, 0, keys, {})
    with pytest.raises(RecipeError, match="beam is 0; a search needs at least 1"):
        Search(beam=0)
    with pytest.raises(RecipeError, match="reach is -1; 0 is monotone"):
        Search(reordering=Reordering(-1))
    with pytest.raises(RecipeError, match="the limit of distortion is 33; expected 1 to 32 words, or 0 for none"):
        Search(reordering=Reordering(limit=33))
    for made, way in ((True, Reordering()), (False, Reordering(limit=6))):
        small = task(1, [3])
        model = Model.of(small.blocks, 0, Keys(), {}, within_limit=made)
        with pytest.raises(InputError, match="which the search is not; make it with within_limit"):
            search(small.sentences, small.options, model, Search(reordering=way))
    with pytest.raises(RecipeError, match="threshold is nan; a difference of scores is wanted"):
        Search(threshold=float("nan"))


@pytest.mark.parametrize("limit", [0, 6, 32])
def test_512_words_are_searched(limit):
    found = task(1, [CAP], longest=3, most=2)
    model = Model.of(found.blocks, 0, Keys(), {"LexST": 1.0}, within_limit=limit > 0)
    graph = search(found.sentences, found.options, model, Search(10, 50, reordering=Reordering(limit=limit)))
    assert sum(int(found.options.ends[o] - found.options.starts[o]) for o in best(graph, 0)[1]) == CAP
