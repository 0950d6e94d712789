"""Laws of the toy languages: they are what they say, to the byte."""

from __future__ import annotations

from collections import Counter, defaultdict
from itertools import pairwise

import numpy as np
import pytest
from rampion.decoder.text.language import CHUNK, CLASSES, DEV, FRIENDLY, FRIENDS, TOPICS, TRAIN, Language, Rates
from sacrebleu.metrics import BLEU

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
