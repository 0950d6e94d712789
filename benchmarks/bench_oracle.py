"""Speed of the BLEU oracle: `python benchmarks/bench_oracle.py` prints sentences/s and ns per appended word.

Sentences of 25 words with 20 blocks of every span of up to 8 words, one reference or four. One block in ten says a
piece of a reference from near its span, half of its words exchanged; the others say words drawn by Zipf's law.
The last column is what a word costs all told: options skipped, stacks kept, copies and sequences included.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
from measure import Run, best
from rampion.decoder import _kernels
from rampion.decoder._reference.oracle import oracle as twin
from rampion.decoder.models.blocks import Blocks
from rampion.decoder.models.options import Options, Sentences
from rampion.decoder.search.oracle import BREVITIES, Limits, Oracle, Truth
from rampion.decoder.search.states import MON, Reordering

LENGTH, CHOICES, LONGEST, WORDS, SENTENCES = 25, 20, 8, 50_000, 64
Case = tuple[Sentences, Options, Blocks, Truth]


def drawn(rng: np.random.Generator, size: int) -> list[int]:
    """Words from 3 on, the chance of the n-th as 1 / n."""
    words: list[int] = (2 + np.exp(rng.random(size) * np.log(WORDS)).astype(np.int64)).tolist()
    return words


def noisy(rng: np.random.Generator, words: list[int]) -> list[int]:
    """Every other word is another."""
    return [other if rng.random() < 0.5 else word for word, other in zip(words, drawn(rng, len(words)), strict=True)]


def case(count: int, references: int) -> Case:
    """A batch of so many sentences; every option is a block of its own."""
    rng = np.random.default_rng(0)
    texts, spans, starts, ends, phrases = [], [0], [], [], [[0], [1]]
    for _ in range(count):
        first = drawn(rng, LENGTH)
        held = [first, *(noisy(rng, first) for _ in range(references - 1))]
        texts += held
        for start in range(LENGTH):
            for end in range(start + 1, start + LONGEST + 1):
                for i in range(CHOICES if end <= LENGTH else 0):
                    at = max(start + int(rng.integers(-2, 3)), 0)
                    piece = held[i % references][at : at + max(end - start + int(rng.integers(-1, 2)), 1)]
                    phrases.append(noisy(rng, piece) if i % 10 == 9 and piece else drawn(rng, end - start))
                    starts.append(start)
                    ends.append(end)
                spans.append(len(starts))
    none, ids = np.zeros(0, np.uint32), np.arange(len(phrases), dtype=np.uint32)
    bounds = np.cumsum([0, *map(len, phrases)])
    words = np.array([word for phrase in phrases for word in phrase], np.uint32)
    values = np.zeros((0, 11), np.float32)
    held_words = np.array([word for text in texts for word in text], np.uint32)
    return (
        Sentences(np.zeros(count * LENGTH, np.uint32), np.arange(count + 1) * LENGTH),
        Options(LONGEST, np.array(spans), np.array(starts, np.int32), np.array(ends, np.int32), ids[2:]),
        Blocks(none, np.zeros(1, np.int64), words, bounds, bounds, ids, ids, ids, values, none),
        Truth(
            held_words,
            np.arange(len(texts) + 1) * LENGTH,
            np.arange(count + 1) * references,
            np.zeros(count * LENGTH, np.uint32),
            WORDS + 3,
        ),
    )


def seconds(kernel: Callable[..., int], search: Oracle, batch: Case) -> tuple[float, int]:
    """CPU time of one call, and how many words it appended."""
    count = len(batch[0].bounds) - 1
    limits = Limits(search.beam, search.best, *search.reordering[:2], BREVITIES.index(search.brevity))
    lengths = np.diff(batch[2].target_bounds)[batch[1].blocks]
    letters = np.concatenate([[0], np.cumsum(lengths)])
    call = partial(kernel, *batch, limits, 0, count)
    prepare = partial(search._room, 0, count, batch[0], batch[1], batch[3], letters)
    said = call(*prepare())
    return best({"": Run(prepare, call)})[""], said


def main() -> None:
    print("references  search  beam   BLEU  sentences/s  ns per word  x twin")
    for references in (1, 4):
        large, small = case(SENTENCES, references), case(2, references)
        for name, reordering in (("MON", MON), ("SWAP", Reordering(4)), ("SWAP8", Reordering())):
            for beam in (10, 25, 50, 100):
                search = Oracle(beam, 5, reordering)
                bleu = search(*large)
                mean = bleu.scores[bleu.bounds[:-1]].mean()
                spent, said = seconds(_kernels.oracle, search, large)
                ratio = ""
                if beam == 10 and name != "SWAP8":
                    ratio = f"{seconds(twin, search, small)[0] / seconds(_kernels.oracle, search, small)[0]:6.0f}"
                rate, cost = SENTENCES / spent, 1e9 * spent / said
                print(f"{references:10}  {name:6} {beam:5}  {mean:.3f}  {rate:11.0f}  {cost:11.1f}  {ratio}")


if __name__ == "__main__":
    main()
