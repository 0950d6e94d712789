"""Language models: estimates against the definition, scores against a reader of ARPA files that knows nothing else."""

from __future__ import annotations

import gzip
import json
import math
from collections import Counter, defaultdict
from importlib.util import find_spec
from itertools import pairwise, product

import numpy as np
import pytest
from command import rampion
from hypothesis import given
from hypothesis import strategies as st
from rampion.decoder._core import lm as kernel
from rampion.decoder._reference import lm as twin
from rampion.decoder.models import arpa, kneser, lm

from rampion.errors import FormatError, InputError, RecipeError, StoreError
from rampion.formats import container
from rampion.store.text import Texts

LINES = [
    "the cat sat",
    "the cat ate the dog",
    "a dog sat",
    "",
    "the the the",
    "a cat",
    "dog ate a cat",
    "cat cat sat sat",
]
SENTENCES = st.lists(st.lists(st.sampled_from("abcde"), max_size=7).map(" ".join), min_size=1, max_size=12).filter(
    lambda lines: any(lines)
)

MODEL = """\\data\\
ngram 1=5
ngram 2=4
ngram 3=2

\\1-grams:
-1.5	<unk>
-99	<s>	-0.3
-1.0	</s>
-0.5	a	-0.2
-0.7	b	-0.1

\\2-grams:
-0.25	<s> a	-0.15
-0.4	a b	-0.05
-0.3	b </s>
-0.35	a a

\\3-grams:
-0.1	<s> a b
-0.2	a b </s>

\\end\\
"""


class PlainArpa:
    """An ARPA file as a dict, and p(w | h) by the rule of backing off."""

    def __init__(self, text: str) -> None:
        self.grams: dict[tuple[str, ...], tuple[float, float]] = {}
        for line in text.splitlines():
            cells = line.split("\t")
            if len(cells) > 1:
                self.grams[tuple(cells[1].split())] = float(cells[0]), float(cells[2]) if len(cells) > 2 else 0.0
        self.order = max(map(len, self.grams))

    def step(self, history: tuple[str, ...], word: str) -> float:
        if (*history, word) in self.grams:
            return self.grams[(*history, word)][0]
        if not history:
            return self.grams[("<unk>",)][0]
        return self.grams.get(history, (0.0, 0.0))[1] + self.step(history[1:], word)

    def steps(self, sentence: str) -> list[float]:
        known = [word if (word,) in self.grams else "<unk>" for word in sentence.split()]
        words = ["<s>", *known, "</s>"]
        return [self.step(tuple(words[max(0, at - self.order + 1) : at]), words[at]) for at in range(1, len(words))]


def model_of(tmp_path, text: str) -> lm.Lm:
    (path := tmp_path / "model.arpa").write_bytes(text.encode(errors="surrogateescape"))
    return arpa.read(path)


def log10s(model: lm.Lm, sentence: str) -> np.ndarray:
    return model.steps(Texts.from_strings([sentence]))[0] / math.log(10)


def brute_force(lines: list[str], order: int, prune: bool) -> dict[tuple[str, ...], float]:
    """p of every n-gram of the text, from the definition and with dicts only."""
    sentences = [["<s>", *line.split(), "</s>"] for line in lines]
    words = {word for sentence in sentences for word in sentence} | {"<unk>"}
    raw = Counter(
        tuple(sentence[start : start + size])
        for size in range(1, order + 1)
        for sentence in sentences
        for start in range(len(sentence) - size + 1)
    )
    before = defaultdict(set)
    for gram in raw:
        before[gram[1:]].add(gram[0])
    adjusted = {g: n if len(g) == order or g[0] == "<s>" else len(before[g]) for g, n in raw.items()}
    adjusted |= {("<s>",): 0, ("<unk>",): 0}
    cuts = {}
    for size in range(1, order + 1):
        t = Counter(a for g, a in adjusted.items() if len(g) == size)
        cuts[size] = (0.0, *kneser.DEGENERATE)
        if t[1] and t[2] and t[3]:
            y = t[1] / (t[1] + 2 * t[2])
            found = [k - (k + 1) * y * t[k + 1] / t[k] for k in (1, 2, 3)]
            if all(0 < cut <= k for k, cut in enumerate(found, 1)):
                cuts[size] = (0.0, *found)

    def cut(gram):
        dropped = prune and len(gram) > 2 and raw[gram] == 1
        return adjusted[gram] if dropped else cuts[len(gram)][min(adjusted[gram], 3)]

    followers = defaultdict(list)
    for gram in adjusted:
        followers[gram[:-1]].append(gram)

    def p(gram):
        if not gram:
            return 1 / (len(words) - 1)
        among = followers[gram[:-1]]
        total = sum(adjusted[one] for one in among)
        if not total:
            return p(gram[1:])
        own = adjusted[gram] - cut(gram) if gram in adjusted else 0.0
        return (own + sum(map(cut, among)) * p(gram[1:])) / total

    return {gram: p(gram) for gram in adjusted if gram != ("<s>",)}


def estimate(lines, order=3, prune=False):
    return kneser.estimate(Texts.from_strings(lines), order, prune).lm


def names_of(model: lm.Lm) -> list[str]:
    return list(model.vocabulary.texts())


@given(lines=SENTENCES, order=st.integers(1, 5), prune=st.booleans())
def test_estimates_are_the_definition_s(lines, order, prune):
    model, wanted = estimate(lines, order, prune), brute_force(lines, order, prune)
    names = names_of(model)
    found = {
        tuple(names[word] for word in row): prob
        for grams in model.grams()
        for row, prob in zip(grams.rows.tolist(), grams.probs.tolist(), strict=True)
    }
    assert found.pop(("<s>",)) == -99
    raw = Counter(
        tuple(words[start : start + size])
        for words in (["<s>", *line.split(), "</s>"] for line in lines)
        for size in range(1, order + 1)
        for start in range(len(words) - size + 1)
    )
    kept = {gram for gram in wanted if len(gram) < 3 or not prune or raw[gram] > 1}
    assert found.keys() == kept
    for gram in kept:
        assert 10 ** found[gram] == pytest.approx(wanted[gram], rel=1e-5)


@pytest.mark.parametrize(("order", "prune"), [(1, False), (2, False), (3, False), (3, True), (4, False), (4, True)])
def test_probabilities_sum_to_one_after_every_history(tmp_path, order, prune):
    model = estimate(LINES, order, prune)
    arpa.write(tmp_path / "model.arpa", model)
    plain = PlainArpa((tmp_path / "model.arpa").read_text())
    words = [word for word in names_of(model) if word != "<s>"]
    for size in range(order):
        for history in product([*words, "<s>"], repeat=size):
            assert sum(10 ** plain.step(history, word) for word in words) == pytest.approx(1, abs=1e-5), history


def test_discounts_of_counts_that_do_not_define_them_are_said():
    found = kneser.estimate(Texts.from_strings(["a b c d"]), 2)
    assert found.degenerate == (True, True)
    assert found.discounts == (kneser.DEGENERATE,) * 2


def test_discounts_by_hand():
    # t = 4, 2, 1, 1: Y = 4/8; D = 1 - 2 Y 2/4, 2 - 3 Y 1/2, 3 - 4 Y 1/1
    assert kneser._discounts(np.array([1] * 4 + [2] * 2 + [3] + [4])) == (0.5, 1.25, 1.0)
    assert kneser._discounts(np.array([1, 2])) is None


@given(lines=SENTENCES, order=st.integers(1, 5), prune=st.booleans(), queries=SENTENCES)
def test_scores_are_those_of_the_file(tmp_path_factory, lines, order, prune, queries):
    path = tmp_path_factory.mktemp("lm") / "model.arpa.gz"
    model = estimate(lines, order, prune)
    arpa.write(path, model)
    plain = PlainArpa(gzip.decompress(path.read_bytes()).decode())
    again = arpa.read(path)
    for sentence in [*queries, "f a f", *lines]:
        assert log10s(model, sentence) == pytest.approx(plain.steps(sentence), abs=1e-5)
        assert np.array_equal(log10s(again, sentence), log10s(model, sentence))


def test_scores_by_hand(tmp_path):
    model = model_of(tmp_path, MODEL)
    assert log10s(model, "a b") == pytest.approx([-0.25, -0.1, -0.2])
    assert log10s(model, "b a x") == pytest.approx([-0.3 - 0.7, -0.1 - 0.5, -0.2 - 1.5, -1.0])
    assert log10s(model, "a a") == pytest.approx([-0.25, -0.15 - 0.35, -0.2 - 1.0])
    assert model.score(Texts.from_strings(["a b", ""])) == pytest.approx(np.array([-0.55, -1.3]) * math.log(10))


# What KenLM 0.3.0 answers for MODEL.
KENLM = {
    "a b": [-0.25, -0.1, -0.2],
    "b": [-1.0, -0.3],
    "a a b": [-0.25, -0.5, -0.4, -0.2],
    "a x b a": [-0.25, -1.85, -0.7, -0.6, -1.2],
    "": [-1.3],
}


@pytest.mark.parametrize("sentence", KENLM)
def test_scores_are_those_of_kenlm(tmp_path, sentence):
    assert log10s(model_of(tmp_path, MODEL), sentence) == pytest.approx(KENLM[sentence], abs=1e-6)


if find_spec("kenlm"):

    def test_scores_of_an_estimate_are_those_of_kenlm(tmp_path):
        import kenlm

        arpa.write(tmp_path / "model.arpa", model := estimate(LINES))
        rival = kenlm.Model(str(tmp_path / "model.arpa"))
        for sentence in [*LINES, "the zebra sat", "dog dog"]:
            steps = [step[0] for step in rival.full_scores(sentence)]
            assert log10s(model, sentence) == pytest.approx(steps, abs=1e-5)


def test_marks_inside_a_text_are_unknown_words(tmp_path):
    model = model_of(tmp_path, MODEL)
    assert np.array_equal(log10s(model, "a </s> <s> b"), log10s(model, "a x x b"))


def test_a_suffix_left_out_has_the_implied_probability(tmp_path):
    text = MODEL.replace("-0.3\tb </s>\n", "").replace("ngram 2=4", "ngram 2=3")
    model = model_of(tmp_path, text)
    plain = PlainArpa(text)
    for sentence in ("a b", "b", "a b b", "x b"):
        assert log10s(model, sentence) == pytest.approx(plain.steps(sentence))


@given(lines=SENTENCES, order=st.integers(1, 4))
def test_kernels_equal_their_twins(lines, order):
    model = estimate(lines, order)
    orders = model.grams()
    tables = []
    for module in (kernel, twin):
        unigrams, grams = model.table.unigrams.copy(), np.zeros_like(model.table.grams)
        unigrams["prob"], unigrams["backoff"] = (
            abs(orders[0].probs),
            np.where(orders[0].backoffs, orders[0].backoffs, -0.0),
        )
        state = np.zeros(2, np.int64)
        for size, one in enumerate(orders[1:], 2):
            done = module.graft(one.rows.ravel(), size, 0, one.probs, one.backoffs, unigrams, grams, state)
            assert done == len(one.probs)
            if done:
                assert module.graft(one.rows.ravel(), size, 0, one.probs, one.backoffs, unigrams, grams, state) == 0
                assert state[1] == lm.TWICE
        tables.append((unigrams.tobytes(), grams.tobytes(), state.tobytes()))
    assert tables[0] == tables[1]
    ids, bounds = model.ids(Texts.from_strings([*lines, "a x b"]))
    steps = [np.empty(len(ids) + len(bounds) - 1) for _ in range(2)]
    for module, out in zip((kernel, twin), steps, strict=True):
        module.fluency(ids, bounds, lm.BEGIN, lm.END, model.table, np.empty(2 * order, lm.PAST), out)
    assert np.array_equal(*steps)


def test_twins_agree_on_suffixes_left_out_and_full_tables():
    rows = np.array([1, 3, 4, 2], np.uint32)
    probs, backoffs = np.array([-0.1], np.float32), np.zeros(1, np.float32)
    bigrams = np.array([[1, 3], [3, 4]], np.uint32).ravel(), np.full(2, -0.3, np.float32), np.full(2, -0.2, np.float32)
    results = []
    for module, size in product((kernel, twin), (4, 16)):
        unigrams, grams, state = (
            np.full(5, -0.5, "f4").repeat(2).view(lm.UNIGRAM),
            np.zeros(size, lm.GRAM),
            np.zeros(2, np.int64),
        )
        done = [module.graft(bigrams[0], 2, 0, *bigrams[1:], unigrams, grams, state)]
        done.append(module.graft(rows[:3], 3, 0, probs, backoffs, unigrams, grams, state))
        done.append(module.graft(rows, 4, 0, probs, backoffs, unigrams, grams, state))
        results.append((done, state.tolist(), unigrams.tobytes(), grams.tobytes()))
    assert results[:2] == results[2:]
    assert [one[1][1] for one in results[:2]] == [lm.FULL, 0]


def test_a_table_that_is_too_small_for_the_suffixes_left_out_grows(tmp_path):
    rows = [[f"{letter}{row}" for letter in "abcd"] for row in range(100)]
    sections = [["-1\t<s>", "-1\t</s>", *(f"-1\t{word}\t-0.5" for row in rows for word in row)]]
    sections += [[f"-0.1\t{' '.join(row[:size])}\t-0.2" for row in rows] for size in (2, 3)]
    sections += [[f"-0.1\t{' '.join(row)}" for row in rows]]
    counts = [f"ngram {size}={len(lines)}" for size, lines in enumerate(sections, 1)]
    blocks = ["\n".join([f"\\{size}-grams:", *lines]) for size, lines in enumerate(sections, 1)]
    text = "\n\n".join(["\n".join(["\\data\\", *counts]), *blocks, "\\end\\\n"])
    model = model_of(tmp_path, text)
    assert len(model) == 403 + 6 * 100
    plain = PlainArpa(text + "-100\t<unk>\n")
    for sentence in ("a1 b1 c1 d1", "b1 c1 d1", "c1 d1 c1"):
        assert log10s(model, sentence) == pytest.approx(plain.steps(sentence))


def test_binary_form_is_the_same_model(tmp_path):
    model = estimate(LINES, 4)
    model.write(tmp_path / "model.lm")
    again = arpa.load(tmp_path / "model.lm")
    assert not again.table.grams.flags.writeable
    assert np.array_equal(again.score(Texts.from_strings(LINES)), model.score(Texts.from_strings(LINES)))
    assert names_of(again) == names_of(model)
    arpa.save(tmp_path / "again.arpa", again)
    arpa.save(tmp_path / "again.lm", arpa.load(tmp_path / "again.arpa"))
    assert np.array_equal(
        arpa.load(tmp_path / "again.lm").score(Texts.from_strings(LINES)), model.score(Texts.from_strings(LINES))
    )


def test_binary_form_whose_parts_do_not_fit_is_refused(tmp_path):
    model = estimate(LINES)
    arrays = {
        "unigrams": model.table.unigrams.view("<f4"),
        "grams": model.table.grams.view("<u8"),
        "words": model.vocabulary.texts().blob,
        "bounds": model.vocabulary.texts().bounds,
    }
    odd, full, few = arrays["unigrams"][:3], np.ones(8, np.uint64), arrays["unigrams"][:4]
    for name, value in (("unigrams", odd), ("grams", full), ("unigrams", few), ("more", few)):
        container.write(tmp_path / "odd.lm", "lm", arrays | {name: value}, {"order": 3})
        with pytest.raises(StoreError, match=r"odd\.lm: .* write it again"):
            lm.read(tmp_path / "odd.lm")
    container.write(tmp_path / "odd.lm", "lm", arrays, {"order": "3"})
    with pytest.raises(StoreError, match=r"odd\.lm: .* write it again"):
        lm.read(tmp_path / "odd.lm")


def at(index, value):
    def change(array):
        array[index] = value
        return array

    return change


def used(change):
    """Changes the key of the first n-gram that is there."""

    def spoil(grams):
        slot = 2 * int(np.flatnonzero(grams[::2])[0])
        grams[slot] = change(int(grams[slot]))
        return grams

    return spoil


@pytest.mark.parametrize(
    ("name", "spoil", "sentence"),
    [
        ("unigrams", at(1, np.nan), "unigrams holds a logarithm that no probability has"),
        ("unigrams", at(0, -1e38), "unigrams holds a logarithm that no probability has"),
        ("grams", at(1, 0x7FC00000), "grams holds a logarithm that no probability has"),
        ("grams", used(lambda key: key | 0xFFFFFFFF), "an n-gram of words that it does not have"),
        ("grams", used(lambda key: key | 0xFFFFFFFF << 32), "an n-gram of words that it does not have"),
        ("grams", used(lambda key: key & 0xFFFFFFFF | 1), "an n-gram of words that it does not have"),
        ("grams", lambda grams: np.where(grams, grams, 1 << 32), "has no free slot"),
        ("grams", lambda grams: grams[:0], "has no free slot"),
        ("bounds", at(-2, 2**63 - 1), "bounds does not rise from 0"),
        ("bounds", lambda bounds: np.concatenate([bounds[:-3], [2**63 - 1, -2], bounds[-1:]]), "does not rise"),
        ("bounds", lambda bounds: bounds[:-1], "unigrams has .* numbers, expected"),
        ("words", at(0, 0xFF), "holds a string of words that is not UTF-8"),
        ("words", at(1, ord("x")), "its first words are not <unk>, <s>, </s>"),
        ("words", lambda words: np.concatenate([words[:-2], words[-4:-2]]), "a word appears twice"),
        ("order", 2**62, "its order is 4611686018427387904, expected a count"),
        ("order", 2**40, "its order is 1,099,511,627,776, expected 1 to 6"),
        ("order", 0, "its order is 0"),
        ("order", 2**70, "its order is 1180591620717411303424, expected a count"),
    ],
)
def test_no_file_makes_a_model_that_reads_out_of_range(tmp_path, name, spoil, sentence):
    """Files like these made kernels read foreign memory, loop for ever, or answer with NaN."""
    estimate([*LINES, "tail xy", "tail zw"]).write(tmp_path / "odd.lm")
    arrays, meta = container.opened(tmp_path / "odd.lm", "lm")
    if name == "order":
        meta["order"] = spoil
    else:
        arrays[name] = spoil(arrays[name].copy()).astype(arrays[name].dtype)
    container.write(tmp_path / "odd.lm", "lm", arrays, meta)
    with pytest.raises(StoreError, match=rf"odd\.lm: .*{sentence}"):
        lm.read(tmp_path / "odd.lm")


def test_perplexity_counts_ends_and_leaves_out_unknown_words(tmp_path):
    facts = model_of(tmp_path, MODEL).perplexity(Texts.from_strings(["a b", "b x"]))
    known = [-0.25, -0.1, -0.2, -1.0, -1.0]
    assert facts.words == 4
    assert facts.unknown == 1
    assert facts.perplexity == pytest.approx(10 ** (-(sum(known) - 0.1 - 1.5) / 6))
    assert facts.without_unknown == pytest.approx(10 ** (-sum(known) / 5))


def test_a_sentence_begins_after_its_mark():
    model = estimate(LINES, 3)
    words, backoffs = model.start()
    assert words.tolist() == [lm.BEGIN, lm.NO_WORD]
    assert backoffs[0] == model.table.unigrams["backoff"][lm.BEGIN]


BROKEN = {
    "nothing": ("", r":1: the file ends before \\data\\; expected a whole ARPA file"),
    "prose": ("hello\n", r"the file ends before \\data\\"),
    "no_end": (MODEL.replace("\\end\\", ""), r":23: the file ends before \\end\\"),
    "few": (MODEL.replace("ngram 2=4", "ngram 2=5"), r":19: found 4 2-grams above, the head of the file says 5"),
    "count": (MODEL.replace("ngram 2=4", "ngram 3=4"), r":3: found 'ngram 3=4', expected 'ngram 2='"),
    "order": (MODEL.replace("\\2-grams", "\\3-grams", 1), r":13: found '.*3-grams:', expected .2-grams:"),
    "number": (MODEL.replace("-0.35", "zero"), r":17: found 'zero', expected a finite number"),
    "nan": (MODEL.replace("-0.35", "nan"), r":17: found 'nan', expected a finite number"),
    "positive": (MODEL.replace("-0.35", "0.35"), r":17: found the log-probability 0.35, expected none above 0"),
    "fields": (MODEL.replace("a a", "a a a a"), r":17: found 5 fields in the 2-grams, expected log10 p, 2 words"),
    "stranger": (MODEL.replace("a a", "a z"), r":17: the word 'z' is not among the 1-grams"),
    "twice": (MODEL.replace("a a", "a b"), r":17: the n-gram 'a b' stands here again"),
    "word_twice": (
        MODEL.replace("-0.5\ta\t-0.2", "-0.5\ta\n-0.5\ta").replace("1=5", "1=6"),
        r":11: the word 'a' stands here again",
    ),
    "history": (MODEL.replace("<s> a b", "b b b"), r":20: the n-gram 'b b b' has a history that is not among"),
    "no_counts": ("\\data\\\n\n\\1-grams:\n", r":3: found '.*1-grams:', expected 'ngram 1=' and a count above 0"),
    "zero": (MODEL.replace("ngram 1=5", "ngram 1=0"), r":6: found '.*1-grams:', expected 'ngram 1=' and a count"),
    "digits": (MODEL.replace("ngram 1=5", "ngram 1=" + "9" * 5000), r":2: found 'ngram 1=999.*', expected 'ngram 1='"),
    "many_digits": (MODEL.replace("-0.35", "-" + "9" * 5000), r":17: found '-999.*', expected a finite number"),
    "large": (MODEL.replace("-0.35", "-1e38"), r":17: found '-1e38', expected a number from -1000 to 1000"),
    "larger": (MODEL.replace("-0.35", "-1e39"), r":17: found '-1e39', expected a number from -1000 to 1000"),
    "underscore": (MODEL.replace("-0.35", "-1_0"), r":17: found '-1_0', expected a finite number"),
    "bytes": (MODEL.replace("a a", "a \udcff"), r":17: byte 0xff is not UTF-8; convert the file to UTF-8"),
    "no_begin": (MODEL.replace("<s>", "c"), r":7: the 1-grams lack <s>"),
    "orders": (
        "\\data\\\n" + "".join(f"ngram {n}=1\n" for n in range(1, 8)),
        r":8: found 'ngram 7=1', expected at most 6",
    ),
}


@pytest.mark.parametrize("what", BROKEN)
def test_broken_arpa_files_are_refused_with_the_line(tmp_path, what):
    text, sentence = BROKEN[what]
    with pytest.raises(FormatError, match=r"model\.arpa" + (sentence if sentence.startswith(":") else ".*" + sentence)):
        model_of(tmp_path, text)


def test_an_arpa_file_without_unknown_words_gives_them_next_to_nothing(tmp_path):
    model = model_of(tmp_path, MODEL.replace("-1.5\t<unk>\n", "").replace("1=5", "1=4"))
    assert log10s(model, "x")[0] == pytest.approx(-100.3)


def test_texts_that_no_model_can_come_from_are_refused():
    with pytest.raises(InputError, match="the text has no words"):
        estimate(["", " "])
    with pytest.raises(InputError, match="line 2 of the text holds </s>"):
        estimate(["a", "b </s>"])
    with pytest.raises(RecipeError, match="order 7: expected 1 to 6"):
        estimate(["a"], 7)


def test_progress_tells_every_order():
    told = []
    kneser.estimate(Texts.from_strings(LINES), 4, progress=lambda *news: told.append(news))
    assert told == [("counting", 2, 4), ("counting", 3, 4), ("counting", 4, 4), ("estimating", 4, 4)]


def test_no_texts_have_no_scores():
    assert len(estimate(LINES).score(Texts.from_strings([]))) == 0


def test_longer_orders_than_the_text_are_empty():
    assert [len(grams.probs) for grams in estimate(["a"], 5).grams()] == [4, 2, 1, 0, 0]


def test_steps_are_the_sum():
    steps, ids, bounds = (model := estimate(LINES)).steps(Texts.from_strings(LINES))
    ends = [end + row for row, end in enumerate(bounds[1:].tolist(), 1)]
    assert len(steps) == len(ids) + len(LINES)
    for score, (start, end) in zip(model.score(Texts.from_strings(LINES)), pairwise([0, *ends]), strict=True):
        assert score == pytest.approx(steps[start:end].sum())


def test_the_command_line_estimates_scores_and_converts(tmp_path):
    (text := tmp_path / "text").write_text("\n".join(LINES) + "\n")
    done = rampion("lm", "estimate", text, "--order", 2, "--out", tmp_path / "a.lm")
    assert done.code == 0
    assert "wrote" in done.out
    assert "9 1-grams" in done.out
    assert "too little text to estimate the discounts of order 1; used 0.5, 1.0, 1.5" in done.err
    assert rampion("lm", "convert", tmp_path / "a.lm", "--out", tmp_path / "a.arpa").code == 0
    answers = [rampion("lm", "score", tmp_path / name, text, "--lines").out for name in ("a.lm", "a.arpa")]
    assert answers[0] == answers[1]
    expected = arpa.load(tmp_path / "a.lm").score(Texts.from_strings(LINES))
    assert [float(line) for line in answers[0].split()] == expected.tolist()
    (fact,) = json.loads(rampion("lm", "score", tmp_path / "a.lm", text, "--json").out)
    assert fact["log_probability"] == pytest.approx(expected.sum())
    assert "perplexity" in rampion("lm", "score", tmp_path / "a.lm", text).out
    assert json.loads(rampion("lm", "score", tmp_path / "a.lm", text, "--lines", "--json").out)[0]["scores"]
    facts = json.loads(rampion("lm", "estimate", text, "--json", "--prune", "--out", tmp_path / "b.arpa.gz").out)
    assert facts["sentences"] == len(LINES)
    assert len(facts["grams"]) == 3


def test_the_command_line_says_what_is_wrong_with_a_model(tmp_path):
    (tmp_path / "odd.arpa").write_text(MODEL.replace("-0.35", "zero"))
    done = rampion("lm", "convert", tmp_path / "odd.arpa", "--out", tmp_path / "odd.lm")
    assert done.code == 2
    assert "odd.arpa:17: found 'zero', expected a finite number" in done.err
    assert not (tmp_path / "odd.lm").exists()
