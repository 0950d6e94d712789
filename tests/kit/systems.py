"""Small systems of the toy language, and decoders on them."""

from __future__ import annotations

from functools import cache

import numpy as np
from rampion.decoder.alignment.align import align
from rampion.decoder.alignment.links import parsed
from rampion.decoder.block_decoder import INITIAL, BlockDecoder
from rampion.decoder.count_decoder import LargeDecoder
from rampion.decoder.features.counts import CountFeatures, Settings
from rampion.decoder.models import kneser
from rampion.decoder.models.extract import build
from rampion.decoder.search.oracle import Oracle
from rampion.decoder.search.search import Search
from rampion.decoder.text.language import Language

from rampion.sets.records import DecodedBatch, Keyed
from rampion.store.features import Weights
from rampion.store.keys import Keys
from rampion.store.text import Texts

START = Weights.from_dict(INITIAL)


@cache
def toy():
    """A small system of the toy language, and sentences it has not read."""
    corpus = Language.invent(7).corpus(400, 30, 2)
    blocks = build(corpus.train.source, corpus.train.target, align(corpus.train.source, corpus.train.target))
    lm = kneser.estimate(corpus.train.target, 3).lm
    return corpus, blocks, lm


def decoder(features="fourteen", **settings):
    _, blocks, lm = toy()
    return BlockDecoder(blocks, lm, features, **{"settings": Search(beam=20, pops=100)} | settings)


def segments():
    return list(toy()[0].dev.source)


ORACLE = Oracle(beam=10)


def keyed(features="LM,all", oracle=10, **settings):
    return decoder(features, criterion=Oracle(beam=oracle), **settings)


def lines():
    return Texts.from_strings(segments())


def whole(parts) -> DecodedBatch:
    """Batches end to end."""
    return DecodedBatch.join(list(parts))


@cache
def weights(features="LM,all", seed=5) -> Keyed:
    """Random weights for two thirds of what fires in a list."""
    system = keyed(features)
    table = Keys()
    keys = np.unique(whole(system.listed(lines(), Keyed(table, {}), 3)).keys)
    rng = np.random.default_rng(seed)
    table.enter(keys[rng.random(len(keys)) < 2 / 3])
    table.set_weights(rng.normal(size=len(table)))
    return Keyed(table, dict.fromkeys(system.names, 0.1))


def same(first: DecodedBatch, second: DecodedBatch) -> bool:
    arrays = ("bounds", "values", "key_bounds", "keys", "scores")
    return first.texts == second.texts and all(
        np.array_equal(getattr(first, name), getattr(second, name)) for name in arrays
    )


SMALL = Settings(pairs=60, unigrams=10, bigrams=40, trigrams=30, triggers=60)


@cache
def chosen(settings=SMALL):
    train = toy()[0].train
    return CountFeatures.choose(train.source, train.target, parsed(enumerate(train.links, 1), "links"), settings)


def large(features="fourteen", n=100, threads=1, **settings):
    return LargeDecoder(decoder(features, threads=threads, **settings), chosen(), n)


def weighed(kinds=("pair", "gram", "trigger"), seed=5):
    """Weights of the real-valued features, and of count features of these kinds."""
    draws = np.random.default_rng(seed).integers(-4, 5, len(chosen())) / 8
    rest = {one.name: draw for one, draw in zip(chosen().features, draws.tolist(), strict=True) if one.kind in kinds}
    return Weights.from_dict(dict(START) | rest)


@cache
def own():
    """A small system of the toy language, trained on what it decodes."""
    train = Language.invent(7).corpus(150, 10, 1).train
    points = align(train.source, train.target)
    return train.source, train.target, points, build(train.source, train.target, points)
