"""Binary feature templates (S10.2, S11.6). A feature that a block sequence fires is an exact 64-bit key.

A key is template + 1 << 59 | arguments: one to three words of 19 bits, or phrases of 29, or a block of 32 and a small
code; no key is 0.

    P1 block                               P2 block, orientation                 P3 target phrases b', b
    P4 source phrases b', b                P5 target phrase, source length
    W1 source word, target word            W2 jump, last source word b', first source word b
    W3 target 1-, 2- and 3-grams inside b and across the join of b' and b       W4 last target word b', first b
    T1 source word; target words i < i'    T2 target word; source words j < j'
    H1 block, backward M/S/D               H2 block, forward M/S/D (of the last block: towards the end)

b' is the block before b. Before the first block is the boundary, which fires nothing by itself. Every use fires once:
F(z) counts. Jumps: R, L, N over a gap of 1, 2, 3 or 4, more words: N1, N2, N3, N5.

In a name such as P2/das_haus/the_house/R, _ joins the words of a phrase, / the arguments. Inside words, _, /, %, =, |
and whitespace are escaped (%5F and so on).

Users can add templates. A template gets a source and a target phrase and returns names of features, which fire wherever
the block is used. It runs once for each block, so a slow template costs little:

    templates.add("Digits", lambda source, target: ["kept"] if source == target and source[0].isdigit() else [])

A template of pairs also gets the last block. It runs for every pair that the search compares, so only the search in
plain Python (decoder/_reference/search.py) can use it, which is hundreds of times slower:

    templates.add_pair("Again", lambda last, block: ["word"] if last.target[-1] == block.target[0] else [])

Their features are numbered as they first occur. If threads share the templates, `prepare` them on all blocks first, so
that the numbers do not depend on the order of the threads.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from functools import cached_property, reduce
from itertools import pairwise
from threading import Lock
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from rampion.decoder import _kernels
from rampion.decoder.models.blocks import BOUNDARY, Blocks, Vocabularies
from rampion.decoder.models.options import Derivations, Options, Sentences

from rampion.arrays import Ids, KeyRow, Offsets, ends
from rampion.errors import InputError, RecipeError
from rampion.store.keys import Keys
from rampion.store.names import Names
from rampion.store.text import Texts

NAMES = ("P1", "P2", "P3", "P4", "P5", "W1", "W2", "W3", "W4", "T1", "T2", "H1", "H2")
GROUPS = {
    "phrase": ("P1", "P2", "P3", "P4", "P5"),
    "word": ("W1", "W2", "W3", "W4"),
    "all": ("P1", "P2", "P3", "P4", "P5", "W1", "W2", "W3", "W4"),
    "pairs": ("P1",),
    "lexical": ("W1",),
    "triplets": ("T1", "T2"),
    "reordering": ("H1", "H2"),
}
USER = 30
USERS = np.uint64((USER + 1) << 59)
WORDS = (1 << 19) - 2  # the most words of a vocabulary
TURNS, SWINGS, JUMPS = ("R", "L", "N"), ("M", "S", "D"), ("R", "L", "N1", "N2", "N3", "N5")
LABELS = (*NAMES, *TURNS, *SWINGS, *JUMPS, *map(str, range(256)))

# The arguments of each template: b block, S and T phrases, s and t words, o turn, m swing, j jump, n length; and how
# far each is shifted. W3 has one to three words, which count from 1 there.
SHAPES = {
    "P1": ("b", (8,)), "P2": ("bo", (8, 0)), "P3": ("TT", (29, 0)), "P4": ("SS", (29, 0)), "P5": ("Tn", (29, 0)),
    "W1": ("st", (38, 19)), "W2": ("jss", (38, 19, 0)), "W3": ("ttt", (38, 19, 0)), "W4": ("tt", (38, 19)),
    "T1": ("stt", (38, 19, 0)), "T2": ("tss", (38, 19, 0)), "H1": ("bm", (8, 0)), "H2": ("bm", (8, 0)),
}  # fmt: skip
CODES = {"o": TURNS, "m": SWINGS, "j": JUMPS, "n": tuple(map(str, range(256)))}
SPECIAL = re.compile(r"[%/_=|\s]", re.ASCII)
_SPECIAL = np.array([SPECIAL.match(chr(byte)) is not None for byte in range(256)])
LONGEST_PHRASE = 256  # words: files of blocks have room for no more


class Block(NamedTuple):
    """The words of a block."""

    source: tuple[str, ...]
    target: tuple[str, ...]


Template = Callable[[tuple[str, ...], tuple[str, ...]], Iterable[str]]
PairTemplate = Callable[[Block, Block], Iterable[str]]


class Extras(NamedTuple):
    """The keys that the user's templates fire: block b fires keys[firsts[b]:lasts[b]]."""

    firsts: Offsets
    lasts: Offsets
    keys: KeyRow


def mask_of(which: str) -> int:
    """A mask with bit t for template t, from names and groups with commas between; "" is none."""
    mask = 0
    for name in filter(None, which.split(",")):
        chosen = GROUPS.get(name, (name,))
        if not set(chosen) <= set(NAMES):
            known = ", ".join((*GROUPS, *NAMES))
            raise RecipeError(f"no feature template or group is called {name!r}; choose among {known}")
        mask |= reduce(int.__or__, (1 << NAMES.index(one) for one in chosen))
    return mask


def leaving(block: int, swing: int) -> int:
    """The key of H2."""
    return NAMES.index("H2") + 1 << 59 | block << 8 | swing


def escaped(word: str) -> str:
    """The word as it is written in a name."""
    return SPECIAL.sub(lambda found: f"%{ord(found[0]):02X}", word)


class Templates:
    """The templates in use on a block set, with the keys and names of their features."""

    def __init__(self, vocabularies: Vocabularies, blocks: Blocks, which: str = "all") -> None:
        self.vocabularies = vocabularies
        self.blocks = blocks
        self.mask = mask_of(which)
        self.users = Names()
        self.extras = Extras(np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0, np.uint64))
        self._functions: dict[str, Template] = {}
        self._pairs: dict[str, PairTemplate] = {}
        self._joins: dict[tuple[int, int], KeyRow] = {}
        self._lock = Lock()
        worded = mask_of("word,triplets") & self.mask
        for side, names in zip(("source", "target"), vocabularies, strict=True):
            if worded and len(names) > WORDS:
                fired = ", ".join(name for t, name in enumerate(NAMES) if worded >> t & 1)
                raise RecipeError(
                    f"the {side} vocabulary has {len(names):,} words, and templates of words ({fired}) tell {WORDS:,} "
                    "apart; make the blocks from a smaller vocabulary, or leave these templates out"
                )

    def add(self, name: str, function: Template) -> None:
        """Add a template: function(source words, target words) returns the names of the features of a block."""
        self._name(name)
        self._functions[name] = function
        self.mask |= 1 << USER
        count = len(self.blocks.sources)
        self.extras = Extras(np.full(count, -1, np.int64), np.full(count, -1, np.int64), np.zeros(0, np.uint64))

    def add_pair(self, name: str, function: PairTemplate) -> None:
        """Add a template of pairs (slow): function(last, block) returns the names of the features of two neighbours."""
        self._name(name)
        self._pairs[name] = function
        self._joins.clear()

    def _name(self, name: str) -> None:
        taken = (*NAMES, *self.own)
        if not re.fullmatch(r"[A-Za-z]\w*", name, re.ASCII) or name in taken:
            raise RecipeError(
                f"a template cannot be called {name!r}; take letters and digits, and none of {', '.join(taken)}"
            )

    @property
    def own(self) -> tuple[str, ...]:
        """The names of the user's templates."""
        return (*self._functions, *self._pairs)

    def fires(self, label: str) -> bool:
        """Whether features of this template are in use."""
        built_in = label in NAMES and self.mask >> NAMES.index(label) & 1
        return bool(built_in) or label in self.own

    def fired(self, keys: KeyRow) -> NDArray[np.bool_]:
        """Which keys are of templates in use."""
        used = np.array([False, *(self.mask >> t & 1 or t == USER for t in range(31))], np.bool_)
        return used[(keys >> np.uint64(59)).astype(np.int64)]

    def prepare(self, blocks: Ids) -> None:
        """Run the user's templates on the blocks that they have not seen."""
        if not self._functions:
            return
        with self._lock:
            firsts, lasts, keys = self.extras
            fresh = np.unique(blocks)
            parts, end = [keys], len(keys)
            for block in fresh[firsts[fresh] < 0].tolist():
                said = self.words(block)
                parts.append(self._keys_of((name, function(*said)) for name, function in self._functions.items()))
                firsts[block], lasts[block] = end, end + len(parts[-1])
                end += len(parts[-1])
            self.extras = Extras(firsts, lasts, np.concatenate(parts))

    def join(self, last: int, block: int) -> KeyRow:
        """The keys that two neighbours fire by the user's templates of pairs."""
        if (last, block) not in self._joins:
            with self._lock:
                both = self.words(last), self.words(block)
                keys = self._keys_of((name, function(*both)) for name, function in self._pairs.items())
                self._joins[last, block] = keys
        return self._joins[last, block]

    def _keys_of(self, fired: Iterable[tuple[str, Iterable[str]]]) -> KeyRow:
        names = Texts.from_strings(f"{name}/{escaped(feature)}" for name, features in fired for feature in features)
        return self.users.intern_all(names).astype(np.uint64) | USERS

    def scores(self, keys: Keys) -> tuple[Callable[[int], float] | None, Callable[[int, int], float] | None]:
        """Score functions of the user's templates under these weights: of a block, and of two neighbours."""

        def alone(block: int) -> float:
            self.prepare(np.array([block], np.uint32))
            firsts, lasts, fired = self.extras
            return float(keys.weigh(fired[firsts[block] : lasts[block]]).sum(dtype=np.float64))

        def joined(last: int, block: int) -> float:
            return float(keys.weigh(self.join(last, block)).sum(dtype=np.float64))

        return alone if self._functions else None, joined if self._pairs else None

    def words(self, block: int) -> Block:
        """The words of a block's source and target phrase."""
        blocks, (source, target) = self.blocks, self.vocabularies
        here = blocks.source_words[slice(*blocks.source_bounds[blocks.sources[block] :][:2])]
        there = blocks.target_words[slice(*blocks.target_bounds[blocks.targets[block] :][:2])]
        return Block(tuple(map(source.name, here.tolist())), tuple(map(target.name, there.tolist())))

    def emit(self, sentences: Sentences, options: Options, derivations: Derivations) -> tuple[KeyRow, Offsets]:
        """A key for every feature that fires: those of derivation d are keys[bounds[d]:bounds[d + 1]]."""
        self.prepare(options.blocks[derivations.steps])
        count, done = len(derivations.scores), 0
        bounds = np.zeros(count + 1, np.int64)
        keys = np.empty(64 * len(derivations.steps) + 4096, np.uint64)
        while True:
            done = _kernels.feature_keys(
                sentences, options, self.blocks, self.extras, self.mask, derivations, done, bounds, keys
            )
            if done == count:
                break
            keys = np.concatenate([keys, np.empty_like(keys)])
        return self._joined(options, derivations, keys, bounds) if self._pairs else (keys[: bounds[-1]], bounds)

    def _joined(
        self, options: Options, derivations: Derivations, keys: KeyRow, bounds: Offsets
    ) -> tuple[KeyRow, Offsets]:
        """The keys of each derivation, followed by those of the user's templates of pairs."""
        parts = []
        for d, (start, end) in enumerate(pairwise(derivations.step_bounds.tolist())):
            said = [BOUNDARY, *options.blocks[derivations.steps[start:end]].tolist()]
            joins = [self.join(last, block) for last, block in pairwise(said)]
            parts.append(np.concatenate([keys[bounds[d] : bounds[d + 1]], *joins]))
        joined = ends([len(part) for part in parts])
        return np.concatenate([keys[:0], *parts]), joined

    def names(self, keys: KeyRow) -> Texts:
        """The readable name of every key."""
        bounds, done = np.zeros(len(keys) + 1, np.int64), 0
        blob = np.empty(24 * len(keys) + 64, np.uint8)
        labels, users = Texts.from_strings(LABELS), self.users.texts()
        while True:
            done = _kernels.feature_names(keys, self.blocks, labels, *self._spelt, users, done, bounds, blob)
            if done == len(keys):
                return Texts(blob[: bounds[-1]].copy(), bounds)
            if bounds[done + 1] == -3:
                raise InputError(
                    f"feature key {int(keys[done]):#018x} has no name in this block set; "
                    "open the features with the blocks they were made with"
                )
            blob = np.concatenate([blob, np.empty_like(blob)])

    def keys(self, names: Texts, *, lenient: bool = False) -> KeyRow:
        """The key of every readable name. A name without a key in this block set is an error, or 0 if `lenient`."""
        keys, tokens = np.zeros(len(names), np.uint64), np.empty(LONGEST_PHRASE, np.uint32)
        phrased = np.isin(labels_of(names), [NAMES.index("P3"), NAMES.index("P5")]).any()
        phrases = self._targets if phrased else np.zeros(1, np.uint32)
        given = names.blob, names.bounds, self.blocks, Texts.from_strings(LABELS), *self._words, phrases, tokens
        _kernels.name_keys(*given, keys)
        if self.own:
            # The user's templates: their names are numbered as they come.
            left = np.flatnonzero(keys == 0)
            rows = [row for row, name in zip(left, names.take(left), strict=True) if name.partition("/")[0] in self.own]
            with self._lock:
                keys[rows] = self.users.intern_all(names.take(np.array(rows, np.int64))).astype(np.uint64) | USERS
        if not (lenient or keys.all()):
            raise self._nameless(names[int(np.argmin(keys))])
        return keys

    def _nameless(self, name: str) -> InputError:
        """The reason why a name has no key."""
        label, *parts = name.split("/")
        kinds, _ = SHAPES.get(label, ("", ()))
        most = len(kinds) + kinds.count("b")
        if not kinds or not (1 if label == "W3" else most) <= len(parts) <= most:
            return InputError(f"{name!r} is not the name of a feature; expected one like W1/haus/house")
        for kind in kinds:
            argument, parts = ("/".join(parts[:2]), parts[2:]) if kind == "b" else (parts[0], parts[1:])
            if not self._knows(kind, argument):
                return InputError(
                    f"{argument!r} in the name of a {label} is not {KINDS[kind]}; check spelling and block set"
                )
            if not parts:
                break
        return InputError(f"{name!r} has no key in this block set; check spelling and block set")

    def _knows(self, kind: str, argument: str) -> bool:
        """Whether there is such an argument."""
        if kind in CODES:
            return argument in CODES[kind]
        if kind in "st":
            return self._words[kind == "t"].find(argument) is not None
        name = {"b": f"P1/{argument}", "S": f"P4/{argument}/<s>", "T": f"P3/{argument}/<s>"}[kind]
        return bool(self.keys(Texts.from_strings([name]), lenient=True))

    @cached_property
    def _spelt(self) -> tuple[Texts, Texts]:
        """Both vocabularies as they are written in names."""
        source, target = (_escaped(names.texts()) for names in self.vocabularies)
        return source, target

    @cached_property
    def _words(self) -> tuple[Names, Names]:
        """The same as tables."""
        source, target = map(Names.of, self._spelt)
        return source, target

    @cached_property
    def _targets(self) -> Ids:
        """A table of target phrases: as slots of Blocks is one of source phrases."""
        bounds = self.blocks.target_bounds
        slots = np.zeros(2 << len(bounds).bit_length(), np.uint32)
        _kernels.index(self.blocks.target_words, bounds, 2, slots)
        return slots


KINDS = {
    "b": "a block", "S": "a source phrase", "T": "a target phrase", "s": "a word of the source vocabulary",
    "t": "a word of the target vocabulary", "o": "one of R, L, N", "m": "one of M, S, D", "n": "a length",
    "j": "one of R, L, N1, N2, N3, N5",
}  # fmt: skip


def _escaped(texts: Texts) -> Texts:
    """The words as they are written in names."""
    special = _SPECIAL[texts.blob]
    if not special.any():
        return texts
    words = list(texts)
    owners = np.searchsorted(texts.bounds, np.flatnonzero(special), "right") - 1
    for word in np.unique(owners).tolist():
        words[word] = escaped(words[word])
    return Texts.from_strings(words)


def labels_of(names: Texts) -> NDArray[np.int64]:
    """The number of the template that each name begins with, -1 for none."""
    found = np.full(len(names), -1, np.int64)
    long = np.flatnonzero(np.diff(names.bounds) > 2)
    starts = names.bounds[long]
    heads = [names.blob[starts + place] for place in range(3)]
    for t, label in enumerate(NAMES):
        found[long[(heads[0] == ord(label[0])) & (heads[1] == ord(label[1])) & (heads[2] == ord("/"))]] = t
    return found
