"""The bundled decoder: from toy text to lists; what it says of itself, and what the command makes of it."""

from __future__ import annotations

import json
from collections import Counter
from itertools import pairwise

import numpy as np
import pytest
import rampion.decoder.block_decoder as decoder_module
from command import rampion
from rampion.decoder.block_decoder import INITIAL, BlockDecoder, features_of
from rampion.decoder.explain import built
from rampion.decoder.models import arpa
from rampion.decoder.search.candidates import candidates
from rampion.decoder.search.oracle import Oracle, bag
from rampion.decoder.search.search import Search
from rampion.decoder.search.states import DISTORTION, MON
from systems import START, decoder, segments, toy

from rampion.arrays import ends
from rampion.errors import InputError, RecipeError
from rampion.formats import load_nbest, texts
from rampion.metrics import metric as named
from rampion.sets.records import DecodedBatch
from rampion.store.features import Weights
from rampion.store.text import References, Texts

lined = Texts.from_strings


def random_weights(lists, seed=3):
    """Weights that single precision holds, for every feature of the lists."""
    draws = np.random.default_rng(seed).integers(-8, 9, len(lists.features)) / 8
    return Weights(lists.features, draws)


ALL = "fourteen,JumpOut,JumpIn,ModelOne,all,triplets,reordering"


@pytest.mark.parametrize("way", [Search().reordering, DISTORTION], ids=["swap", "distortion"])
@pytest.mark.parametrize("features", ["fourteen", "seven", "all", ALL])
def test_scores_are_those_of_the_features_listed(features, way):
    system = decoder(features, settings=Search(beam=20, pops=100, reordering=way))
    lists = system.decode(lined(segments()), START, 5)
    weights = random_weights(lists)
    lists = system.decode(lined(segments()), weights, 10)
    np.testing.assert_allclose(lists.score(weights.onto(lists.features, lenient=True)), lists.scores, rtol=0, atol=1e-9)
    ranks = np.diff(lists.scores)[np.diff(np.repeat(np.arange(len(lists.segments)), np.diff(lists.bounds))) == 0]
    assert (ranks <= 0).all()


def test_the_language_model_hears_an_unknown_word_wherever_a_word_is_copied():
    """LM is the score of the text with another unknown word for each copied one, even if it knows the word copied."""
    _, blocks, lm = toy()
    heard, strange = set(blocks.vocabularies.source.texts()), "never-heard"
    known = sorted(heard - set(lm.vocabulary.texts()))[:6]
    spared = sorted(set(lm.vocabulary.texts()) - heard)[5:11]  # the model knows them, no block does
    lines = [f"{one} {word} {strange} {word} {one}" for one, word in zip(known, spared, strict=True)]
    system = decoder("fourteen", options=3)
    found = DecodedBatch.join(list(system.listed(lined(lines), START, 3)))
    told = found.values[:, system.names.index("LM")]
    sources = np.repeat(lines, np.diff(found.bounds)).tolist()
    copied = [
        " ".join(strange if word in line.split() else word for word in text.split())
        for line, text in zip(sources, found.texts, strict=True)
    ]
    np.testing.assert_allclose(told, lm.score(lined(copied)), rtol=0, atol=1e-9)
    assert (np.abs(told - lm.score(found.texts)) > 0.1).all()


@pytest.mark.parametrize("features", ["all", "fourteen"])
def test_a_language_model_that_weighs_nothing_splits_no_nodes(features):
    """Lists are those of a decoder without one, and so is the work: the beam holds as many sentences."""
    _, blocks, _ = toy()
    deaf = BlockDecoder(blocks, None, features, Search(beam=20, pops=100))
    weights = random_weights(deaf.decode(lined(segments()), START, 5))
    silent = Weights.from_dict({**weights, "LM": 0.0})
    one, other = decoder(features).decode(lined(segments()), silent, 10), deaf.decode(lined(segments()), weights, 10)
    for field in ("bounds", "scores"):
        assert getattr(one, field).tobytes() == getattr(other, field).tobytes()
    assert list(one.texts) == list(other.texts)
    nodes = [
        [
            len(graph.origins)
            for graph in each.search(Texts.from_strings(segments()), each.model(said), lambda _, graph: graph)
        ]
        for each, said in ((decoder(features), silent), (deaf, weights))
    ]
    assert nodes[0] == nodes[1]


def test_threads_and_batches_change_no_bit():
    lists = [decoder(ALL, threads=threads).decode(lined(segments() * 4), START, 7) for threads in (1, 3)]
    for one, other in zip(*(each.arrays().values() for each in lists), strict=True):
        assert one.tobytes() == other.tobytes()


def test_neither_batches_nor_a_folder_change_a_bit(monkeypatch, tmp_path):
    whole = decoder(ALL).decode(lined(segments()), START, 7)
    monkeypatch.setattr(decoder_module, "BATCH", 3)
    for folder in (None, tmp_path):
        parts = decoder(ALL, threads=2).decode(lined(segments()), START, 7, folder)
        for name, array in parts.arrays().items():
            assert array.tobytes() == whole.arrays()[name].tobytes()
        assert isinstance(parts.lists.entries, np.memmap) == (folder is not None)
    assert not list(tmp_path.iterdir())


def test_a_feature_that_fires_often_counts_as_often():
    """Any count stands as that many entries, so that a batch need not know of the next."""
    often = [1, 70, 3]
    keys = np.repeat(np.array([5, 9, 5], np.uint64), often)
    batch = DecodedBatch(
        np.array([0, 2, 3]), lined("abc"), np.arange(3.0)[:, None], ends(np.array(often)), keys, np.zeros(3)
    )  # fmt: skip
    found = candidates([batch, batch], ["own"], lambda keys: Texts.from_strings(map(str, keys)))
    assert list(found.features.names) == ["own", "5", "9"]
    assert found.score(np.array([0.5, 1.0, 1000.0])).tolist() == 2 * [1.0, 70000.5, 4.0]


def test_a_folder_that_cannot_hold_the_lists(tmp_path):
    with pytest.raises(InputError, match="cannot hold the lists: No such file or directory; free some space or name"):
        decoder().decode(lined(segments()), START, 2, tmp_path / "missing")


def test_the_best_translation_heads_the_list():
    best = decoder().best(Texts.from_strings(segments()), START)
    lists = decoder().decode(lined(segments()), START, 3)
    assert list(best) == [lists.texts[first] for first in lists.bounds[:-1]]


def test_distinct_lists_hold_no_text_twice():
    lists = decoder(distinct=True).decode(lined(segments()), START, 20)
    for first, last in zip(lists.bounds[:-1], lists.bounds[1:], strict=True):
        listed = [lists.texts[i] for i in range(first, last)]
        assert len(set(listed)) == len(listed)


@pytest.mark.parametrize("way", [Search().reordering, DISTORTION], ids=["swap", "distortion"])
@pytest.mark.parametrize("features", ["fourteen", ALL])
def test_the_steps_add_up_to_the_score(features, way):
    system = decoder(features, settings=Search(beam=20, pops=100, reordering=way))
    weights = random_weights(system.decode(lined(segments()), START, 5))
    lists = system.decode(lined(segments()[:5]), weights, 1)
    for s, segment in enumerate(segments()[:5]):
        steps, end, known = built(system, segment, weights)
        assert {name: weights.get(name, 0.0) for name in known} == known
        total = sum(value * weights.get(name, 0.0) for step in steps for name, value in step.fired.items())
        total += sum(value * weights.get(name, 0.0) for name, value in end.items())
        assert total == pytest.approx(lists.scores[s], abs=1e-8)
        assert [word for step in steps for word in step.words] == lists.texts[s].split()
        assert sorted(place for step in steps for place in range(step.start, step.end)) == list(
            range(len(segment.split()))
        )
        assert all(value > 0 for step in steps for name, value in step.fired.items() if "/" in name)


def test_a_template_of_one_s_own_is_scored_and_listed():
    system = decoder("fourteen")
    system.templates.add("Long", lambda source, target: ["yes"] if len(target) > len(source) else [])
    plain, drawn = (Weights.from_dict({**INITIAL, "Long/yes": weight}) for weight in (0.0, 4.0))
    before, after = (system.decode(lined(segments()), weights, 1) for weights in (plain, drawn))

    def count(lists):
        return lists.gather(np.ones(lists.size))[lists.features.ids["Long/yes"]]

    assert count(after) > count(before) > 0
    np.testing.assert_allclose(after.score(drawn.onto(after.features, lenient=True)), after.scores, atol=1e-9)


def test_swapping_reaches_more_than_monotone_order():
    corpus, _, _ = toy()
    means = []
    for reordering in (MON, Search().reordering):
        parts = decoder().oracle(
            corpus.dev.source, corpus.dev.references, Oracle(reordering=reordering),
            lambda _, found: found.scores[found.bounds[:-1]],
        )  # fmt: skip
        means.append(np.mean(np.concatenate(list(parts))))
    assert means[1] > means[0]


def test_oracle_scores_are_sentence_bleu_of_their_texts():
    corpus, _, _ = toy()
    system = decoder()
    parts = system.oracle(corpus.dev.source, corpus.dev.references, Oracle(), lambda batch, found: (batch, found))
    for batch, found in parts:
        spelt = system.texts(batch, found)
        rows = np.arange(batch.first, batch.first + len(found.bounds) - 1)
        metric = named("bleu")
        scores = metric.segments(metric.statistics(spelt, found.bounds, corpus.dev.references.take(rows)))
        np.testing.assert_array_equal(found.scores, scores)


@pytest.mark.parametrize(
    ("features", "said"),
    [
        ("", "without features"),
        ("LM,LMFirst", "LM is LMFirst and LMRest"),
        ("P1,nothing", "'nothing'"),
        ("LM", "language model"),
    ],
)
def test_features_that_make_no_sense_are_refused(features, said):
    with pytest.raises(RecipeError, match=said):
        BlockDecoder(toy()[1], None, features)


def test_sets_of_features_work_without_a_language_model():
    assert "LM" not in BlockDecoder(toy()[1], None, "fourteen").names
    assert features_of("seven,P1,W3") == (features_of("seven")[0], "P1,W3")


def test_weights_that_are_no_numbers_are_refused():
    with pytest.raises(InputError, match="the weight of 'Words' is nan"):
        decoder().decode(lined(segments()), Weights.from_dict({**INITIAL, "Words": float("nan")}), 1)
    with pytest.raises(InputError, match="finite"):
        decoder("P1,Words").decode(lined(segments()), Weights.from_dict({"P1/<unk>/<unk>": float("inf")}), 1)


@pytest.mark.parametrize("segment", ["", "never seen words", "x " * 512])
def test_odd_sentences_are_translated(segment):
    lists = decoder(settings=Search(beam=3, pops=9)).decode(lined([segment, segments()[0]]), START, 2)
    assert lists.texts[0].split() == segment.split()
    assert len(lists.segments) == 2


def test_a_sentence_beyond_the_limit_is_named():
    with pytest.raises(InputError, match="segment 1: has 513 words; a sentence may have 512"):
        decoder().decode(lined(["a", "x " * 513]), START, 1)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    corpus, blocks, lm = toy()
    place = tmp_path_factory.mktemp("system")
    blocks.write(place / "toy.blocks")
    lm.write(place / "toy.lm")
    corpus.write(place / "corpus")
    return place


def run(folder, *arguments, command="decode"):
    source = folder / "corpus" / "dev.src"
    return rampion(
        command, source, "--blocks", folder / "toy.blocks", "--lm", folder / "toy.lm", "--beam", 20, *arguments
    )


def test_the_command_writes_what_the_library_finds(folder):
    best = run(folder)
    assert best.out.splitlines() == list(
        decoder(settings=Search(beam=20, pops=200)).best(Texts.from_strings(segments()), START)
    )
    told = json.loads(run(folder, "--nbest", folder / "dev.nbest.gz", "-k", 4, "--json").out)
    lists = load_nbest(folder / "dev.nbest.gz")
    assert told["candidates"] == lists.size
    run(folder, "--nbest", folder / "dev.store", "-k", 4)
    kept = load_nbest(folder / "dev.store")
    assert list(kept.texts) == list(lists.texts)
    np.testing.assert_allclose(kept.scores, lists.scores, atol=1e-4)
    assert run(folder, "--nbest", folder / "missing" / "dev.store").code == 2
    assert best.out.splitlines()[0] == lists.texts[0]


def test_the_command_writes_lattices_whose_best_paths_are_the_translations(folder):
    from rampion.decoder.search import lattice
    from rampion.decoder.search.kbest import kbest

    assert run(folder, "--out", folder / "dev.lattice.gz", command="lattice").code == 0
    read = lattice.read(folder / "dev.lattice.gz")
    assert list(read.texts(kbest(read.graph, 1))) == run(folder).out.splitlines()


def test_the_command_writes_derivations(folder):
    assert run(folder, "--derivations", folder / "dev.jsonl", "-k", 3, command="explain").code == 0
    run(folder, "--nbest", folder / "dev.nbest", "-k", 3)
    records = [json.loads(line) for line in texts.read(folder / "dev.jsonl")]
    lists = load_nbest(folder / "dev.nbest")
    assert [record["text"] for record in records] == list(lists.texts)
    assert [record["score"] for record in records] == pytest.approx(lists.scores.tolist(), abs=1e-9)
    assert [record["rank"] for record in records] == lists.rank().tolist()
    for record in records:
        assert " ".join(block["target"] for block in record["blocks"]).split() == record["text"].split()
        places = sorted(place for block in record["blocks"] for place in range(block["start"], block["end"]))
        assert places == list(range(len(segments()[int(record["id"])].split())))


def test_a_bag_of_blocks_fires_p1_and_w1_for_each_of_them():
    system = decoder("P1,W1")
    for batch in system.batches(Texts.from_strings(segments()[:3]), lambda batch: batch):
        drawn = bag(batch.sentences, batch.options, seed=5)
        keys, bounds = system.templates.emit(batch.sentences, batch.options, drawn)
        for d, (first, last) in enumerate(pairwise(drawn.step_bounds.tolist())):
            blocks = [system.templates.words(int(batch.options.blocks[o])) for o in drawn.steps[first:last]]
            wanted = Counter(f"P1/{'_'.join(source)}/{'_'.join(target)}" for source, target in blocks)
            wanted += Counter(f"W1/{s}/{t}" for source, target in blocks for s in source for t in target)
            assert Counter(system.templates.names(keys[bounds[d] : bounds[d + 1]])) == wanted


def test_the_command_finds_the_oracle(folder):
    refs = [folder / "corpus" / f"dev.tgt.{r}" for r in range(2)]
    told = rampion(
        "oracle", folder / "corpus" / "dev.src", "--blocks", folder / "toy.blocks",
        "--refs", refs[0], "--refs", refs[1], "--out", folder / "oracle",
    )  # fmt: skip
    given = References.from_lists(zip(*(list(texts.read(path)) for path in refs), strict=True))
    found, metric = texts.read(folder / "oracle"), named("bleu")
    score = metric.total_score(metric.statistics(found, np.arange(len(found) + 1), given).sum(axis=0))
    assert f"BLEU {score:.2f};" in told.err


def test_the_command_explains_a_line(folder):
    told = run(folder, "--line", 2, "--svg", folder / "two.svg", command="explain")
    assert told.out.startswith("b1 ")
    assert texts.read(folder / "two.svg")[0].startswith("<svg")
    facts = json.loads(run(folder, "--line", 2, "--json", command="explain").out)
    assert facts["source"] == segments()[1].split()
    assert {"start", "end", "words", "fired", "orientation"} == set(facts["blocks"][0])


def test_arpa_files_and_saved_weights_lead_to_the_same_lists(folder):
    arpa.save(folder / "toy.arpa", toy()[2])
    run(folder, "--nbest", folder / "1.nbest", "-k", 3, "--save-weights", folder / "initial")
    others = ["--lm", folder / "toy.arpa", "--weights", folder / "initial", "--lenient"]
    run(folder, "--nbest", folder / "2.nbest", "-k", 3, *others)
    assert (folder / "1.nbest").read_bytes() == (folder / "2.nbest").read_bytes()
    assert (
        rampion(
            "tune",
            folder / "1.nbest",
            "--refs",
            folder / "corpus" / "dev.tgt.0",
            "--weights",
            folder / "initial",
            "--out",
            folder / "run",
        ).code
        == 0
    )


def test_what_is_left_out_is_said(folder):
    said = rampion("decode", folder / "corpus" / "dev.src", "--blocks", folder / "toy.blocks", "--out", folder / "out")
    assert (
        said.err
        == f"rampion: fourteen without its language model; give one with --lm\nrampion: wrote {folder / 'out'}\n"
    )


def test_a_sentence_too_long_is_named_by_its_line(folder):
    (folder / "long").write_text("a b\n" + "x " * 513 + "\n")
    said = rampion("decode", folder / "long", "--blocks", folder / "toy.blocks")
    assert (said.code, said.out) == (2, "")
    assert f"{folder / 'long'}:2: has 513 words; a sentence may have 512: split it" in said.err


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--reordering", "any"], "--reordering any: expected mon, swap, distortion, or distortion=WORDS"),
        (["--reordering", "mon=3"], "--reordering mon=3: expected mon, swap, distortion, or distortion=WORDS"),
        (["--reordering", "distortion=33"], "--reordering distortion=33: expected a limit of 1 to 32 words"),
        (["--reordering", "distortion=x"], "--reordering distortion=x: expected a limit of 1 to 32 words"),
        (["--reordering", "distortion", "--adjacent-swaps"], "--adjacent-swaps: distortion has no swaps"),
        (["--features", "P1"], "no weight is for the features P1"),
        (["--features", "P9"], "no feature, template or group is called 'P9'"),
        (["--blocks", "no.blocks"], "no.blocks: cannot be read: No such file"),
    ],
)
@pytest.mark.parametrize("command", ["decode", "explain"])
def test_the_commands_say_what_is_wrong_in_a_sentence(folder, arguments, said, command):
    told = run(folder, *arguments, command=command)
    assert told.code == 2
    assert said in told.err


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--derivations", "x", "--svg", "y.svg"], "--derivations and --svg: one answer at a time"),
        (["--derivations", "x", "--line", 2], "--derivations and --line: one answer at a time"),
        (["-k", 2], "--k 2: is for --derivations; leave it out"),
        (["--line", 31], "--line 31: there are 30 lines"),
    ],
)
def test_explain_refuses_what_does_not_go_together(folder, arguments, said):
    told = run(folder, *arguments, command="explain")
    assert told.code == 2
    assert said in told.err
    assert told.out == ""
