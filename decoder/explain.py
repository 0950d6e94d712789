"""How one sentence was built, block by block: as text with every feature's contribution, and as a grid (SVG)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from html import escape
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from rampion.decoder.block_decoder import Batch, BlockDecoder
from rampion.decoder.features.dense import spoken
from rampion.decoder.features.templates import leaving
from rampion.decoder.models.blocks import COLUMNS, IDENTITY, LEARNT
from rampion.decoder.models.options import Derivations, Graph
from rampion.decoder.search.kbest import kbest
from rampion.decoder.search.states import DISCONTINUOUS, MONOTONE, turned

from rampion.arrays import chained, span_of_each
from rampion.sets.records import Weighing
from rampion.store.text import Texts

LETTERS = "RLN"
FORES = COLUMNS.index("ForeM"), len(COLUMNS) + LEARNT.index("LearntForeM")
CELL, CHARACTER, MARGIN = 30, 7.3, 14  # pixels: a word of the grid, a letter, the border


class Step(NamedTuple):
    """One block: the source span it covers, the words it says, and what it fired, as name to value."""

    start: int
    end: int
    words: Sequence[str]
    fired: Mapping[str, float]


class Built(NamedTuple):
    """A sentence block by block, the features that fired at its end, and the weights of all that fired."""

    steps: list[Step]
    last: Mapping[str, float]
    weights: Mapping[str, float]


def orientations(steps: Sequence[Step]) -> list[str]:
    """The orientation of every step: R, L or N."""
    spans = [(0, 0), *((step.start, step.end) for step in steps)]
    return [LETTERS[turned(*span, *last, 0).orientation] for last, span in pairwise(spans)]


def told(
    source: Sequence[str], steps: Sequence[Step], weights: Mapping[str, float], last: Mapping[str, float], top: int = 0
) -> str:
    """A line for every block, and below it its features: weight x value = contribution, the largest first.

    `last` are the features that fire at the end. `top` features of a block are shown; 0 shows all with a weight.
    """
    lines, total = [], 0.0
    rows = list(zip(steps, orientations(steps), strict=True))
    for number, (step, letter) in enumerate(rows, 1):
        span = f"{step.start + 1}" if step.end == step.start + 1 else f"{step.start + 1}-{step.end}"
        gain = _gain(step.fired, weights)
        total += gain
        covered, said = " ".join(source[step.start : step.end]), " ".join(step.words)
        lines.append(f"b{number} {letter} [{span}] {covered} → {said}  {gain:+.4f} = {total:+.4f}")
        lines += _fired(step.fired, weights, top)
    if last:
        gain = _gain(last, weights)
        lines += [f"end  {gain:+.4f} = {total + gain:+.4f}", *_fired(last, weights, top)]
    return "\n".join(lines) + "\n"


def _gain(fired: Mapping[str, float], weights: Mapping[str, float]) -> float:
    return sum(value * weights.get(name, 0.0) for name, value in fired.items())


def _fired(fired: Mapping[str, float], weights: Mapping[str, float], top: int) -> list[str]:
    rows = [
        (value * weight, weight, name, value) for name, value in fired.items() if (weight := weights.get(name, 0.0))
    ]
    rows.sort(key=lambda row: (-abs(row[0]), row[2]))
    shown = [f"     {gain:+9.4f}  {weight:+.4f} x {value:g}  {name}" for gain, weight, name, value in rows]
    shown = shown[: top or None]
    more = len(fired) - len(shown)
    return [*shown, f"     and {more} more"] if more else shown


def drawn(source: Sequence[str], steps: Sequence[Step], title: str = "") -> str:
    """The source-target grid as an SVG picture: source words in columns, target words in rows, a rectangle a block."""
    target = [word for step in steps for word in step.words]
    left = MARGIN + CHARACTER * max((len(word) for word in target), default=1) + 8
    above = MARGIN + (18 if title else 0) + CHARACTER * max((len(word) for word in source), default=1) * 0.75 + 8
    width = left + CELL * len(source) + MARGIN + CHARACTER * max((len(word) for word in source[-1:]), default=0) * 0.75
    height = above + CELL * max(len(target), 1) + MARGIN
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height:.0f}" width="{width:.0f}" '
        f'height="{height:.0f}" font-family="sans-serif" font-size="12" role="img">',
        "<style>.ink{fill:#222}.grid{stroke:#ddd}.block{fill:#3778bf;fill-opacity:.22;stroke:#3778bf;stroke-width:1.5}"
        ".L{fill:#c44e52;stroke:#c44e52}.N{fill:#dd8452;stroke:#dd8452}"
        ".path{fill:none;stroke:#888;stroke-dasharray:3 3}.paper{fill:#fff}"
        "@media(prefers-color-scheme:dark){.paper{fill:#1b1b1f}.ink{fill:#ddd}.grid{stroke:#3a3a40}}"
        "</style>",
        f"<title>{escape(title or 'blocks')}</title>",
        '<rect class="paper" width="100%" height="100%"/>',
    ]
    if title:
        parts.append(f'<text class="ink" x="{MARGIN}" y="{MARGIN + 4}" font-weight="bold">{escape(title)}</text>')
    for column, word in enumerate(source):
        x = left + CELL * (column + 0.5)
        parts.append(
            f'<text class="ink" transform="translate({x:.1f} {above - 6:.1f}) rotate(-48)">{escape(word)}</text>'
        )
    parts += [
        f'<line class="grid" x1="{left + CELL * c:.1f}" y1="{above:.1f}" x2="{left + CELL * c:.1f}" '
        f'y2="{above + CELL * len(target):.1f}"/>'
        for c in range(len(source) + 1)
    ]
    parts += [
        f'<line class="grid" x1="{left:.1f}" y1="{above + CELL * r:.1f}" x2="{left + CELL * len(source):.1f}" '
        f'y2="{above + CELL * r:.1f}"/>'
        for r in range(len(target) + 1)
    ]
    for row, word in enumerate(target):
        y = above + CELL * (row + 0.5) + 4
        parts.append(f'<text class="ink" x="{left - 8:.1f}" y="{y:.1f}" text-anchor="end">{escape(word)}</text>')
    row, corners = 0, [(left, above)]
    blocks, labels = list[str](), list[str]()
    for number, (step, letter) in enumerate(zip(steps, orientations(steps), strict=True), 1):
        x, y = left + CELL * step.start, above + CELL * row
        wide, high = CELL * (step.end - step.start), CELL * (len(step.words) or 0.3)  # nothing said: a thin line
        corners.append((x + wide / 2, y + high / 2))
        row += len(step.words)
        blocks.append(
            f'<rect class="block {letter}" x="{x + 1:.1f}" y="{y + 1:.1f}" width="{wide - 2:.1f}" '
            f'height="{high - 2:.1f}" rx="4"/>'
        )
        labels.append(
            f'<text class="ink" x="{x + wide / 2:.1f}" y="{y + high / 2 + 4:.1f}" text-anchor="middle" '
            f'font-size="11">b{number} {letter}</text>'
        )
    path = " ".join(f"{x:.1f},{y:.1f}" for x, y in corners)
    return "\n".join([*parts, *blocks, f'<polyline class="path" points="{path}"/>', *labels, "</svg>"]) + "\n"


def derivations(system: BlockDecoder, segments: Texts, weights: Weighing, k: int) -> Iterator[dict[str, Any]]:
    """The k best derivations of every segment, block by block."""

    def best(batch: Batch, graph: Graph) -> tuple[Batch, Derivations]:
        return batch, kbest(graph, k)

    for batch, found in system.search(segments, system.model(weights), best):
        options = batch.options
        spelt_out = system.texts(batch, found)
        owners = span_of_each(found.bounds).tolist()
        for d, (first, last) in enumerate(pairwise(found.step_bounds.tolist())):
            start = int(batch.sentences.bounds[owners[d]])
            steps = []
            for option in found.steps[first:last].tolist():
                span = int(options.starts[option]), int(options.ends[option])
                words = [batch.surfaces[start + place] for place in range(*span)]
                block = int(options.blocks[option])
                steps.append(Step(*span, words if block == IDENTITY else system.templates.words(block).target, {}))
            yield {
                "id": str(batch.first + owners[d]),
                "rank": d - int(found.bounds[owners[d]]),
                "score": float(found.scores[d]),
                "text": spelt_out[d],
                "blocks": [
                    {"start": step.start, "end": step.end, "target": " ".join(step.words), "orientation": letter}
                    for step, letter in zip(steps, orientations(steps), strict=True)
                ],
            }


def built(system: BlockDecoder, segment: str, weights: Weighing) -> Built:
    """The best derivation of one segment, with the weights of the features that fire."""
    table, own = system.keyed(weights)
    batch, best = next(
        system.search(
            Texts.from_strings([segment]), system.weighed(own, table), lambda batch, graph: (batch, kbest(graph, 1))
        )
    )
    if not len(best.scores):
        return Built([], {}, {})
    size = len(best.steps)
    prefixes = Derivations(
        np.array([0, size + 1]),
        chained([np.array([0, count]) for count in range(size + 1)]),
        np.concatenate([best.steps[:count] for count in range(size + 1)]),
        np.zeros(size + 1),
    )
    fired = _firings(system, batch, prefixes)
    spans = [(int(batch.options.starts[o]), int(batch.options.ends[o])) for o in best.steps]
    words = [text.split() for text in system.texts(batch, prefixes)]
    steps = [Step(*spans[n], words[n + 1][len(words[n]) :], _difference(fired[n + 1], fired[n])) for n in range(size)]
    whole = _firings(system, batch, best, ended=True)[0]
    keys = np.unique(system.templates.emit(batch.sentences, batch.options, best)[0])
    weighed = zip(system.templates.names(keys), table.weigh(keys).tolist(), strict=True)
    return Built(steps, _difference(whole, fired[-1]), own | dict(weighed))


def _firings(
    system: BlockDecoder, batch: Batch, derivations: Derivations, *, ended: bool = False
) -> list[dict[str, float]]:
    """The features of every derivation, by name; those that fire at the end only if `ended`."""
    keys, bounds = system.templates.emit(batch.sentences, batch.options, derivations)
    logs, columns = system.logs(batch, derivations), system.blocks.blocks.values
    counts = [Counter(keys[start:end].tolist()) for start, end in pairwise(bounds.tolist())]
    if not ended and len(logs):
        spoken_bounds = spoken(batch.options, system.blocks.blocks, derivations)[1]
        logs[spoken_bounds[1:] + np.arange(len(counts))] = 0.0
    values = system.values(batch, derivations, logs)
    if not ended:
        for d, (start, end) in enumerate(pairwise(derivations.step_bounds.tolist())):
            if start == end:
                continue
            option, block = derivations.steps[end - 1], int(batch.options.blocks[derivations.steps[end - 1]])
            turn = MONOTONE if batch.options.ends[option] == len(batch.sentences.words) else DISCONTINUOUS
            counts[d] -= Counter([leaving(block, turn)])
            for column in (fore + turn for fore in FORES if fore < columns.shape[1]):
                if (name := system.blocks.blocks.columns[column]) in system.names:
                    values[d, system.names.index(name)] -= columns[block, column]
    names = [list(system.templates.names(np.array(list(count), np.uint64))) for count in counts]
    return [
        dict(zip(system.names, row.tolist(), strict=True)) | dict(zip(said, count.values(), strict=True))
        for row, said, count in zip(values, names, counts, strict=True)
    ]


def _difference(more: Mapping[str, float], less: Mapping[str, float]) -> dict[str, float]:
    """The positive differences of the values of `more` and `less`."""
    return {name: value for name in more if (value := more[name] - less.get(name, 0.0))}
