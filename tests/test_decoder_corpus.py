"""Laws of parallel text: the toy languages are what they say, folders round-trip, cleaning and filters keep faith."""

from __future__ import annotations

import gzip
import json
import re
import struct
import sys
from collections import Counter, defaultdict
from itertools import pairwise
from types import SimpleNamespace

import numpy as np
import pytest
from command import good, rampion
from hypothesis import given, settings
from hypothesis import strategies as st
from sacrebleu.metrics import BLEU

from decoder import debian
from decoder.corpus import (
    Cleaning,
    Corpus,
    Parallel,
    clean,
    creating,
    read_lines,
    split_off,
    split_pair,
    words,
)
from decoder.covering import covering
from decoder.language import CHUNK, CLASSES, DEV, FRIENDLY, FRIENDS, TOPICS, TRAIN, Language, Rates
from rampion.errors import FormatError, InputError
from rampion.formats.texts import write as write_lines
from rampion.text import Texts

PLAIN = Rates(synonym=0.0, fused=0.0, free=0.0, noise=0.0)


@pytest.fixture(scope="module")
def language():
    return Language.invent(1)


@pytest.fixture(scope="module")
def train(language):
    return language.text(TRAIN, 4000)


@pytest.fixture(scope="module")
def exact():
    """Text without chance in it, but for the order and for words left out."""
    language = Language.invent(2, PLAIN)
    return language, language.text(TRAIN, 2000)


def split(texts):
    return [text.split() for text in texts]


def links(text):
    return [[tuple(map(int, link.split("-"))) for link in line.split()] for line in text.links]


# The toy languages


def test_equal_seeds_are_equal_text_and_a_longer_one_begins_with_the_shorter(language):
    long, short, again = language.text(TRAIN, CHUNK + 9), language.text(TRAIN, 5), Language.invent(1).text(TRAIN, 5)
    assert short == again == long.take(np.arange(5))
    assert long.take(np.arange(CHUNK)) == language.text(TRAIN, CHUNK)
    assert Language.invent(3).text(TRAIN, 5) != short != language.text(DEV, 5)
    assert language.text(DEV, 5, 1).target == language.text(DEV, 5, 4).target
    assert len(language.text(TRAIN, 0)) == 0


def test_the_text_of_a_seed_never_changes():
    text = Language.invent(7).text(TRAIN, 1)
    assert text.source[0].startswith("belati bapole babone boro bare komenu re beti logego mo lipimu bana boriti")
    assert text.target[0].startswith("fujuvu fukofo fivevo remeki fahirivi rofuzi fuju fakikavo haje hakuju haviro")
    assert text.links[0].startswith("0-1 1-0 2-2 3-2 4-2 5-3 5-4 7-6 8-5 10-7 11-8 12-10 13-9")


def test_links_lead_from_a_word_to_a_word(train):
    linked = total = 0
    for source, target, line in zip(split(train.source), split(train.target), links(train), strict=True):
        assert len(set(line)) == len(line)
        assert all(0 <= i < len(source) and 0 <= j < len(target) for i, j in line)
        linked += len({i for i, _ in line})
        total += len(source)
    assert 0.85 < linked / total < 0.98


def test_links_are_the_dictionary(exact):
    """What links join is a unit of the dictionary, and nothing else is."""
    language, text = exact
    rows = {word: entry for entry, word in enumerate(list(language.source_forms)[: len(language.words)])}
    said = list(language.target_forms)
    units = language.units.reshape(len(language.words), -1, *language.units.shape[1:])
    sizes = language.unit_sizes.reshape(len(language.words), -1)
    checked = 0
    for source, target, line in zip(split(text.source), split(text.target), links(text), strict=True):
        shared = Counter(j for _, j in line)
        for i, word in enumerate(source):
            linked = [j for k, j in line if k == i]
            if linked and all(shared[j] == 1 for j in linked):
                entry = rows[word]
                known = [[said[w] for w in unit[:size]] for unit, size in zip(units[entry], sizes[entry], strict=True)]
                assert [target[j] for j in linked] in known
                checked += 1
    assert checked > 20000


def test_words_follow_zipf_and_come_without_end(train):
    for side in (train.source, train.target):
        counts = np.array(sorted(Counter(word for line in split(side) for word in line).values(), reverse=True))
        slope = np.polyfit(np.log(np.arange(10, 1000)), np.log(counts[9:999]), 1)[0]
        assert -1.3 < slope < -0.7
        assert 0.3 < (counts == 1).mean() < 0.7
    half = len({word for line in split(train.source)[:2000] for word in line})
    assert len({word for line in split(train.source) for word in line}) > 1.4 * half


def test_sentences_have_8_to_30_words_and_about_20(train):
    lengths = np.array([len(line) for line in split(train.source)])
    assert 18 < lengths.mean() < 22
    assert np.mean((lengths >= 8) & (lengths <= 32)) > 0.95
    assert lengths.min() > 3


def test_neighbours_swap_and_little_else_moves(train):
    """Of two neighbours that both have a translation, some change places; the sentence as a whole stays in order."""
    swapped = total = 0
    for line in links(train):
        means = {i: np.mean([j for k, j in line if k == i]) for i, _ in line}
        swapped += sum(a > b for a, b in pairwise(means.values()))
        total += len(means) - 1
        assert all(abs(mean * (1 + max(means)) / (1 + max(j for _, j in line)) - i) < 25 for i, mean in means.items())
    assert 0.15 < swapped / total < 0.35


def test_ambiguous_words_are_resolved_by_topic_or_class(language):
    senses = [len(set(row)) for row in language.senses.tolist()]
    assert np.mean([count > 1 for count in senses]) == pytest.approx(language.rates.ambiguous, abs=0.03)
    assert language.senses.shape[1] == TOPICS
    assert language.classes.max() == CLASSES - 1


def test_nouns_keep_company(language):
    assert language.company.shape[1:] == (len(FRIENDLY), FRIENDS)
    alone = Language.invent(1, language.rates._replace(collocated=0.0))
    together, apart = (len({*pairwise(" ".join(one.text(TRAIN, CHUNK).source).split())}) for one in (language, alone))
    assert together < 0.95 * apart


def test_rates_do_what_they_say():
    """Pairs that are no translations have no links; without free translations and noise most words have."""
    wrong = Language.invent(1, Rates(noise=0.5)).text(TRAIN, CHUNK)
    assert 0.4 < np.mean([not line for line in links(wrong)]) < 0.6
    still = Language.invent(1, PLAIN._replace(swapped=0.0)).text(TRAIN, 300)
    for line in links(still):
        assert [j for _, j in line] == sorted(j for _, j in line) or any(
            count > 1 for count in Counter(j for _, j in line).values()
        )
    few, more = (" ".join(Language.invent(1, Rates(fused=rate)).text(TRAIN, 500).source) for rate in (1.0, 0.0))
    assert len(few.split()) < 0.98 * len(more.split())


def phrases(source, target, line, longest):
    """Consistent pairs of up to `longest` source words, with the unlinked target words before them."""
    taken = {j for _, j in line}
    for start in range(len(source)):
        for end in range(start + 1, min(start + longest, len(source)) + 1):
            inside = [j for i, j in line if start <= i < end]
            if inside:
                first, last = min(inside), max(inside) + 1
                if all(start <= i < end for i, j in line if first <= j < last):
                    while first - 1 not in taken and first:
                        first -= 1
                    yield " ".join(source[start:end]), " ".join(target[first:last])


def translate(sentence, table, longest):
    """From left to right the longest phrase that is known, said as it is said most often."""
    place, said = 0, []
    while place < len(sentence):
        for size in range(longest, 0, -1):
            phrase = " ".join(sentence[place : place + size])
            if phrase in table or size == 1:
                said.append(table.get(phrase, phrase))
                place += min(size, len(sentence) - place)
                break
    return " ".join(said)


@pytest.mark.slow
def test_phrases_translate_better_than_words(language, train):
    dev = language.text(DEV, 300, 4)
    counts = defaultdict(Counter)
    for source, target, line in zip(split(train.source), split(train.target), links(train), strict=True):
        for phrase, said in phrases(source, target, line, 4):
            counts[phrase][said] += 1
    table = {phrase: said.most_common(1)[0][0] for phrase, said in counts.items()}
    bleu = BLEU(tokenize="none", force=True)
    by_word, by_phrase = (
        bleu.corpus_score([translate(line, table, size) for line in split(dev.source)], [list(t) for t in dev.targets])
        for size in (1, 4)
    )
    assert by_phrase.score > 1.25 * by_word.score > 5
    others = [list(texts) for texts in dev.targets]
    agreement = bleu.corpus_score(others[0], others[1:]).score
    assert by_phrase.score + 10 < agreement < 80


# Folders


@settings(max_examples=10)
@given(st.lists(st.tuples(*[st.text(st.characters(exclude_characters="\n\r", exclude_categories=["Cs"]))] * 3)))
def test_a_folder_holds_what_was_written(tmp_path_factory, rows):
    folder = tmp_path_factory.mktemp("corpus")
    source, target, other = (Texts.of(side) for side in (zip(*rows, strict=True) if rows else ([], [], [])))
    corpus = Corpus(("de", "en"), Parallel(source, (target,), other), Parallel(source, (target, other)))
    corpus.write(folder / "plain")
    corpus.write(folder / "packed", packed=True)
    assert Corpus.load(folder / "plain") == Corpus.load(folder / "packed") == corpus
    assert list(corpus.dev.references.texts) == [text for _, first, second in rows for text in (first, second)]


def write(folder, **files):
    folder.mkdir(exist_ok=True)
    for name, lines in files.items():
        content = "".join(f"{line}\n" for line in lines).encode()
        name = name.replace("__", "-").replace("_", ".")
        (folder / name).write_bytes(gzip.compress(content) if name.endswith(".gz") else content)
    return folder


@pytest.mark.parametrize(
    ("name", "files", "pair"),
    [
        ("a", {"train_xx": "ab", "train_aa": "cd", "dev_xx": "e", "dev_aa_0": "f", "dev_aa_1": "g"}, ("xx", "aa")),
        ("a", {"train_xx_gz": "ab", "train_aa_gz": "cd", "train_xx__aa_align_gz": ["0-0", ""]}, ("xx", "aa")),
        ("news-xx-aa", {"train_xx": "ab", "train_aa": "cd", "train_aa_kjv": "ef", "dev_nrefs": "3"}, ("xx", "aa")),
        ("a", {"train_xx": "ab", "train_aa": "cd", "pair": ["xx-aa"]}, ("xx", "aa")),
    ],
)
def test_names_tell_the_languages(tmp_path, name, files, pair):
    corpus = Corpus.load(write(tmp_path / name, **files))
    assert corpus.languages == pair
    assert list(corpus.train.source) == ["a", "b"]
    assert list(corpus.train.target) == ["c", "d"]
    assert (corpus.train.links is None) == ("train_xx__aa_align_gz" not in files)


def test_a_version_of_a_side_is_trained_on_and_the_others_are_tested_on(tmp_path):
    folder = write(tmp_path / "a", train_xx="ab", train_aa="cd", train_aa_kjv="ef", dev_xx="g", dev_aa="h")
    corpus = Corpus.load(folder, "xx-aa.kjv")
    assert (list(corpus.train.target), list(corpus.dev.target)) == (["e", "f"], ["h"])
    assert (corpus.languages, corpus.test) == (("xx", "aa"), None)
    assert Corpus.load(folder, "aa-xx").languages == ("aa", "xx")


@pytest.mark.parametrize(
    ("files", "pair", "sentence"),
    [
        ({"train_de": "abc", "train_en": "ab"}, "de-en", r"train\.de has 3 lines and \S+train\.en has 2; expected"),
        ({"train_de": "ab", "train_en": "ab", "dev_de": "a", "dev_en_0": "a", "dev_en_1": ""}, None,
         r"dev\.de has 1 lines and \S+dev\.en\.1 has 0"),
        ({"train_de": "ab", "train_en": "ab"}, None, r"does not tell .* say --pair de-en or --pair en-de"),
        ({"train_de": "ab", "train_en": "ab", "train_fr": "ab"}, None, r"of two languages, found de en fr; name the"),
        ({"train_de": "ab", "train_en": "ab"}, "de-fr", r"expected train\.de and train\.fr"),
        ({"train_de": "ab", "train_en": "ab", "pair": ["de", "en"]}, None, r"a/pair: de en: expected two languages"),
        ({"train_de": "ab", "train_en": "ab"}, "deen", r"--pair deen: expected two languages"),
        ({"train_de": "ab", "train_de_gz": "ab"}, None, r"holds both train\.de and train\.de\.gz; remove one"),
    ],
)  # fmt: skip
def test_folders_that_are_none(tmp_path, files, pair, sentence):
    with pytest.raises(InputError, match=sentence):
        Corpus.load(write(tmp_path / "a", **files), pair)


def test_what_is_no_folder(tmp_path):
    with pytest.raises(InputError, match=r"nowhere: is no folder; name the folder that holds train\.SRC"):
        Corpus.load(tmp_path / "nowhere")


def test_lines_that_are_not_utf_8(tmp_path):
    (tmp_path / "a").write_bytes(b"good\n\nb\xffd\n")
    with pytest.raises(FormatError, match=r"a:3: byte 0xff is not UTF-8"):
        read_lines(tmp_path / "a")


def test_lines_end_as_they_like(tmp_path):
    (tmp_path / "a").write_bytes("\ufeffä b\r\n\r\n c".encode())
    assert list(read_lines(tmp_path / "a")) == ["ä b", "", " c"]


def test_a_folder_comes_whole_or_not_at_all(tmp_path):
    def fill(folder, *names):
        with creating(tmp_path / folder) as fresh:
            for name in names:
                (fresh / name).write_text("x")

    with pytest.raises(InputError, match=r"fresh: cannot be written: No such file or directory; nothing was left"):
        fill("fresh", "a", "b/c")
    assert list(tmp_path.iterdir()) == []
    (tmp_path / "full").mkdir()
    fill("full", "a")
    with pytest.raises(InputError, match="full: stands there already; name a new folder"):
        fill("full", "b")
    assert [path.name for path in tmp_path.rglob("*")] == ["full", "a"]


# Cleaning


def parallel(*pairs):
    return Parallel(Texts.of(pair[0] for pair in pairs), (Texts.of(pair[1] for pair in pairs),))


def test_every_rule_drops_its_own():
    text = parallel(
        ("a", "x"), ("", "x"), ("b", " "), ("a b c d", "x"), ("b", "y z"),
        ("c", "c"), ("a", "x"), ("a", "y"), ("d", "v"), ("d", "w"),
    )  # fmt: skip
    held = Parallel(Texts.of(["d"]), (Texts.of(["u"]), Texts.of(["w"])))
    kept, report = clean(text, [held], Cleaning(longest=3, ratio=1.5))
    assert list(zip(kept.source, kept.target, strict=True)) == [("a", "x"), ("a", "y"), ("d", "v")]
    assert [(row.pairs, row.first) for row in report] == [(2, 2), (1, 4), (1, 5), (1, 6), (1, 7), (1, 10)]


def test_splitting_off_takes_every_pair_once():
    text = parallel(*((str(n), str(-n)) for n in range(50)))
    parts = split_off(text, 5, 7)
    assert [len(part) for part in parts] == [38, 5, 7]
    assert sorted(int(line) for part in parts for line in part.source) == list(range(50))
    assert all(list(part.source) == sorted(part.source, key=int) for part in parts)
    with pytest.raises(InputError, match="50 pairs are too few to set 25 and 25 aside; lower --dev-pairs"):
        split_off(text, 25, 25)


def test_tokenisers(monkeypatch):
    text = Parallel(Texts.of(["Da  war's, (ja)."]), (Texts.of(["3.5 %"]),), Texts.of(["0-0"]))
    plain = words(text, ("de", "en"))
    assert (plain.source[0], plain.links[0]) == ("Da war's, (ja).", "0-0")
    simple = words(text, ("de", "en"), "simple", lower=True)
    assert (simple.source[0], simple.target[0], simple.links) == ("da war ' s , ( ja ) .", "3 . 5 %", None)

    class MosesTokenizer:
        def __init__(self, language):
            self.language = language

        def tokenize(self, line, return_str, escape):
            assert return_str
            assert not escape
            return f"{self.language}: {line}"

    monkeypatch.setitem(sys.modules, "sacremoses", SimpleNamespace(MosesTokenizer=MosesTokenizer))
    assert words(text, ("pt_BR", "en"), "moses").source[0] == "pt: Da  war's, (ja)."
    monkeypatch.setitem(sys.modules, "sacremoses", None)
    with pytest.raises(InputError, match=r"pip install 'rampion\[text\]'"):
        words(text, ("de", "en"), "moses")
    with pytest.raises(InputError, match="no tokeniser 'moos'; expected one of none, simple, moses"):
        words(text, ("de", "en"), "moos")


@pytest.mark.parametrize("pair", ["de", "de-", "-en", "de-en-fr", "de-de", "../a-b"])
def test_pairs_of_languages(pair):
    assert split_pair("pt_BR-en") == ("pt_BR", "en")
    with pytest.raises(InputError, match=re.escape(f"--pair {pair}: expected two languages")):
        split_pair(pair)


# The substring filter

SENTENCES = st.lists(st.text("ab c").map(" ".join), max_size=8)


def substrings(line, longest):
    found = line.split()
    return {
        tuple(found[start:end]) for start in range(len(found)) for end in range(start + 1, start + longest + 1)
        if end <= len(found)
    }  # fmt: skip


@given(SENTENCES, SENTENCES, st.integers(1, 4), st.booleans())
def test_every_substring_that_training_text_shows_stays_shown(train, test, longest, greedy):
    wanted = set().union(*(substrings(line, longest) for line in test))
    rows, report = covering(Texts.of(train), Texts.of(test), longest, greedy)
    shown = set().union(*(substrings(line, longest) for line in train)) & wanted
    assert set().union(*(substrings(train[row], longest) for row in rows)) & wanted == shown
    assert rows.tolist() == sorted(set(rows.tolist()))
    assert [(row.test, row.train) for row in report] == [
        (sum(len(part) == n for part in wanted), sum(len(part) == n for part in shown)) for n in range(1, longest + 1)
    ]
    missing, first = set(shown), []
    if greedy:
        while missing:
            gains = [len(missing & substrings(line, longest)) for line in train]
            first.append(gains.index(max(gains)))
            missing -= substrings(train[first[-1]], longest)
    else:
        for row, line in enumerate(train):
            if missing & substrings(line, longest):
                first.append(row)
                missing -= substrings(line, longest)
    assert rows.tolist() == sorted(first)


# Debian


def catalogue(messages, order="<"):
    """A gettext catalogue."""
    sides = [[text.encode() for text in side] for side in (messages.keys(), messages.values())]
    place, tables, blob = 28 + 16 * len(messages), b"", b""
    for side in sides:
        for text in side:
            tables += struct.pack(f"{order}2I", len(text), place + len(blob))
            blob += text + b"\0"
    head = struct.pack(f"{order}7I", 0x950412DE, 0, len(messages), 28, 28 + 8 * len(messages), 0, 0)
    return head + tables + blob


PAGE = """<html><body><div id="Index">no</div>
<h1 id="hd_1" dir="auto"><a name="x"></a>{title}
</h1><p id="par_2" class="paragraph" dir="auto"></p>
<p id="par_3" class="p">{text} <span class="emph">A&amp;B</span>, <span id="s" class="switchinline">
<span hidden="true" id="MACx" class="MAC">Command</span><span hidden="true" id="defaultx">{key}</span></span>+Z.</p>
{more}</body></html>"""
GERMAN = {
    "": "Content-Type: text/plain; charset=UTF-8\n",
    "menu\x04~Save": "~Speichern",
    "Sa_ve %1\nas": "Sicher_n %1\nwie",
    "file\0files": "Datei\0Dateien",
    "a_b_c": "a_b_c",
    "empty": "",
}


@pytest.fixture
def usr(tmp_path):
    for language, title, text, key, more in (
        ("de", "Kopf", "Drücke", "Strg", '<p id="par_4">nur hier</p>'),
        ("en-US", "Title", "Press", "Ctrl", ""),
        ("pt-BR", "Título", "Tecle", "Ctrl", ""),
    ):
        folder = tmp_path / debian.HELP / language / "text" / "shared"
        folder.mkdir(parents=True)
        (folder / "a.html").write_text(PAGE.format(title=title, text=text, key=key, more=more), "utf-8")
    (tmp_path / debian.HELP / "de/text/shared/only.html").write_text(PAGE)
    for language, messages, order in (("de", GERMAN, "<"), ("pt_BR", {"menu\x04~Save": "_Salvar", "x": "y"}, ">")):
        folder = tmp_path / debian.INTERFACE / language / "LC_MESSAGES"
        folder.mkdir(parents=True)
        (folder / "sw.mo").write_bytes(catalogue(messages, order))
    return tmp_path


def test_help_and_interface_are_paired_by_file_and_id(usr):
    found = debian.read("de", "en", usr)
    assert {kind: list(zip(text.source, text.target, strict=True)) for kind, text in found.items()} == {
        "help": [("Kopf", "Title"), ("Drücke A&B, Strg+Z.", "Press A&B, Ctrl+Z.")],
        "interface": [("Speichern", "Save"), ("Sichern %1 wie", "Save %1 as"), ("Datei", "file"), ("a_b_c", "a_b_c")],
    }
    back = debian.read("en", "de", usr)
    assert {kind: Parallel(text.target, (text.source,)) for kind, text in back.items()} == found
    assert list(debian.read("pt_BR", "de", usr)["interface"].source) == ["Salvar"]


def test_missing_packages_are_named(usr):
    with pytest.raises(
        InputError, match=r"in fr and pt_BR .*: apt-get install libreoffice-help-fr libreoffice-l10n-fr$"
    ):
        debian.read("fr", "pt_BR", usr)
    with pytest.raises(InputError, match=r"install libreoffice-help-de libreoffice-help-en-us libreoffice-l10n-de$"):
        debian.read("de", "en", usr / "nowhere")


@pytest.mark.parametrize("cut", [0, 3, 20, 40, -1])
def test_damaged_catalogues(usr, cut):
    path = usr / debian.INTERFACE / "de/LC_MESSAGES/sw.mo"
    whole = path.read_bytes()
    path.write_bytes(whole[:cut] if cut >= 0 else b"\0\0\0\0" + whole[4:])
    with pytest.raises(InputError, match=r"sw\.mo: is no whole gettext catalogue in UTF-8; install its package again"):
        debian.read("de", "en", usr)


# The command


def test_corpus_toy(tmp_path):
    told = json.loads(good("corpus", "toy", "--pairs", 60, "--held-out", 20, "--out", tmp_path / "toy", "--json"))
    corpus = Corpus.load(tmp_path / "toy")
    assert corpus == Language.invent(1).corpus(60, 20)
    assert [(row["text"], row["lines"]) for row in told["texts"]] == [
        ("train.src", 60), ("train.tgt", 60), ("dev.src", 20), ("dev.tgt", 80), ("test.src", 20), ("test.tgt", 80)
    ]  # fmt: skip
    code, _, err = rampion("corpus", "toy", "--pairs", 60, "--out", tmp_path / "toy")
    assert (code, "stands there already" in err) == (2, True)


def test_corpus_import_and_filter(tmp_path):
    rows = [*(f"Satz {n}.\tSentence {n}." for n in range(40)), "Satz 3.\tSentence 3.", "\tx"]
    write_lines(tmp_path / "all.tsv.gz", Texts.of(rows))
    out = good("corpus", "import", tmp_path / "all.tsv.gz", "--pair", "de-en", "--tokenise", "simple", "--lower",
               "--dev-pairs", 3, "--test-pairs", 4, "--out", tmp_path / "new")  # fmt: skip
    assert re.search(r"^stands there already +1 +41$", out, re.MULTILINE)
    assert re.search(r"^empty side +1 +42$", out, re.MULTILINE)
    corpus = Corpus.load(tmp_path / "new")
    assert [len(part) for _, part in corpus.parts] == [33, 3, 4]
    assert re.fullmatch(r"satz \d+ \.", corpus.dev.source[0])
    given = [f"--{name}={tmp_path}/new/{name}.{side}" for name in ("dev", "test") for side in ("de", "en")]
    again = [tmp_path / "new/train.de", tmp_path / "new/train.en", *given]
    good("corpus", "import", *again, "--pair", "de-en", "--out", tmp_path / "again")
    assert Corpus.load(tmp_path / "again") == corpus
    told = good("corpus", "filter", tmp_path / "new", "--test", tmp_path / "new/test.de", "--greedy", "--words", 2,
                "--out", tmp_path / "less", "--json")  # fmt: skip
    assert json.loads(told)["covered"] == [{"n": 1, "test": 6, "train": 2}, {"n": 2, "test": 8, "train": 0}]
    assert len(Corpus.load(tmp_path / "less").train) == 1


def test_corpus_debian(usr, tmp_path):
    sizes = ("--dev-pairs", 1, "--test-pairs", 0)
    out = good("corpus", "debian", "--pair", "de-en", "--root", usr, *sizes, "--out", tmp_path / "o")
    assert re.search(r"^both sides the same +1 +6$", out, re.MULTILINE)
    assert Corpus.load(tmp_path / "o").test is None
    assert len(Corpus.load(tmp_path / "o").train) == 4


def test_one_translation_to_train_on(tmp_path):
    for name in "abc":
        write_lines(tmp_path / name, Texts.of("xyz"))
    files = [tmp_path / name for name in "abc"]
    code, _, err = rampion("corpus", "import", *files, "--pair", "de-en", "--out", tmp_path / "new")
    assert (code, "found 2 translations to train on; expected one; join the files first" in err) == (2, True)


@pytest.mark.parametrize(
    ("rows", "sentence"),
    [
        (["a\tb", "ab"], r"all\.tsv:2: found no tab; expected source, tab, target"),
        (["a\tb"], r"1 pairs are too few to set 1000 and 1000 aside; lower --dev-pairs or --test-pairs"),
    ],
)
def test_bad_tables(tmp_path, rows, sentence):
    write_lines(tmp_path / "all.tsv", Texts.of(rows))
    code, out, err = rampion("corpus", "import", tmp_path / "all.tsv", "--pair", "de-en", "--out", tmp_path / "new")
    assert (code, out) == (2, "")
    assert re.search(sentence, err)
    assert not (tmp_path / "new").exists()
