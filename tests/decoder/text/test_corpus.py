"""Laws of parallel text: folders round-trip, cleaning and filters keep faith."""

from __future__ import annotations

import gzip
import json
import re
import struct
import sys
from types import SimpleNamespace

import numpy as np
import pytest
from command import good, rampion
from hypothesis import given
from hypothesis import strategies as st
from rampion.decoder.text import debian
from rampion.decoder.text.corpus import (
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
from rampion.decoder.text.coverage import covering
from rampion.decoder.text.language import Language
from speeds import examples

from rampion.errors import FormatError, InputError
from rampion.formats.texts import write as write_lines
from rampion.store.text import Texts

# Folders


@examples(10)
@given(st.lists(st.tuples(*[st.text(st.characters(exclude_characters="\n\r", exclude_categories=["Cs"]))] * 3)))
def test_a_folder_holds_what_was_written(tmp_path_factory, rows):
    folder = tmp_path_factory.mktemp("corpus")
    source, target, other = (Texts.from_strings(side) for side in (zip(*rows, strict=True) if rows else ([], [], [])))
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
    with pytest.raises(InputError, match="full: exists already; name a new folder"):
        fill("full", "b")
    assert [path.name for path in tmp_path.rglob("*")] == ["full", "a"]


# Cleaning


def parallel(*pairs):
    return Parallel(Texts.from_strings(pair[0] for pair in pairs), (Texts.from_strings(pair[1] for pair in pairs),))


def test_every_rule_drops_its_own():
    text = parallel(
        ("a", "x"), ("", "x"), ("b", " "), ("a b c d", "x"), ("b", "y z"),
        ("c", "c"), ("a", "x"), ("a", "y"), ("d", "v"), ("d", "w"),
    )  # fmt: skip
    held = Parallel(Texts.from_strings(["d"]), (Texts.from_strings(["u"]), Texts.from_strings(["w"])))
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


def test_what_is_held_out_stands_once_and_is_gone():
    text = parallel(*((str(n % 40), str(-n)) for n in range(60)))  # 0 to 19 stand twice
    old = Corpus(("a", "b"), text, dev=text.take(np.arange(3)))
    cut = old.apart(8)
    assert (len(cut.train), len(cut.dev), len(cut.test)) == (44, 8, 8)
    drawn = [*cut.dev.source, *cut.test.source]
    assert len(set(drawn)) == 16
    assert all(int(line) >= 20 for line in drawn)
    assert not set(drawn) & set(cut.train.source)
    pairs = [pair for part in (cut.train, cut.dev, cut.test) for pair in zip(part.source, part.target, strict=True)]
    assert sorted(pairs) == sorted(zip(text.source, text.target, strict=True))
    assert list(old.apart(8, 2).dev.source) != list(cut.dev.source)
    with pytest.raises(InputError, match="60 pairs, 20 of them with a source sentence of their own: too few to hold"):
        old.apart(11)


def test_all_versions_of_a_text(tmp_path):
    for name, lines in {
        "train.ar": "1\n2\n", "train.en": "a\nb\n", "train.en.kjv": "c\nd\n", "train.en.asv": "e\nf\n",
        "dev.ar": "3\n", "dev.en.0": "g\n", "dev.en.1": "h\n", "train.ar-en.align": "0-0\n0-0\n",
    }.items():  # fmt: skip
        (tmp_path / name).write_text(lines)
    found = Corpus.versions(tmp_path, "ar-en")
    assert list(found.train.source) == ["1", "2"] * 3
    assert list(found.train.target) == ["a", "b", "e", "f", "c", "d"]
    assert found.train.links is None
    assert len(found.dev.targets) == 2


def test_tokenisers(monkeypatch):
    text = Parallel(
        Texts.from_strings(["Da  war's, (ja)."]), (Texts.from_strings(["3.5 %"]),), Texts.from_strings(["0-0"])
    )
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
    with pytest.raises(InputError, match=r"pip install sacremoses"):
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
    rows, report = covering(Texts.from_strings(train), Texts.from_strings(test), longest, greedy)
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
    assert (code, "exists already" in err) == (2, True)


def test_corpus_import_and_filter(tmp_path):
    rows = [*(f"Satz {n}.\tSentence {n}." for n in range(40)), "Satz 3.\tSentence 3.", "\tx"]
    write_lines(tmp_path / "all.tsv.gz", Texts.from_strings(rows))
    out = good("corpus", "import", tmp_path / "all.tsv.gz", "--pair", "de-en", "--tokenise", "simple", "--lower",
               "--dev-pairs", 3, "--test-pairs", 4, "--out", tmp_path / "new")  # fmt: skip
    assert re.search(r"^occurs before +1 +41$", out, re.MULTILINE)
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
        write_lines(tmp_path / name, Texts.from_strings("xyz"))
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
    write_lines(tmp_path / "all.tsv", Texts.from_strings(rows))
    code, out, err = rampion("corpus", "import", tmp_path / "all.tsv", "--pair", "de-en", "--out", tmp_path / "new")
    assert (code, out) == (2, "")
    assert re.search(sentence, err)
    assert not (tmp_path / "new").exists()
