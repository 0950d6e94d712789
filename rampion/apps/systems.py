"""The bundled decoder that the options of a command ask for, and the weights that it decodes with."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

from rampion import console
from rampion.apps.inputs import order_of, read_source, read_weights, weights_file
from rampion.apps.runs import decoder_of, run_of, weights_of
from rampion.decoder.alignment import links
from rampion.decoder.block_decoder import INITIAL, SETS, BlockDecoder
from rampion.decoder.models import arpa
from rampion.decoder.models.blocks import BlockSet
from rampion.decoder.models.leave_one_out import LENGTH, STANDARD, Penalty
from rampion.decoder.models.options import LONGEST
from rampion.errors import InputError, RecipeError
from rampion.formats import texts
from rampion.sets.records import Weighing
from rampion.store.features import Weights
from rampion.store.text import Texts
from rampion.threads import processors


@dataclass(frozen=True, slots=True, kw_only=True)
class LeaveOneOut:
    """The text that the blocks were made from, for decoding each line without its own counts."""

    target: str | None = None
    align: str | None = None
    penalty: str | None = None

    def __post_init__(self) -> None:
        if self.target and not self.align:
            raise RecipeError(f"--leave-one-out {self.target}: needs the alignment of its text; name it with --align")
        if not self.target and (self.align or self.penalty):
            raise RecipeError(
                f"{'--align' if self.align else '--penalty'} is for --leave-one-out; name the translations"
            )

    def applied(self, system: BlockDecoder, lines: Texts) -> BlockDecoder:
        """The decoder that leaves out the counts of each line, if that was asked for."""
        if not (self.target and self.align):
            return system
        found = texts.read(self.target)
        if len(found) != len(lines):
            raise InputError(
                f"{self.target}: has {len(found)} lines for {len(lines)} to decode; expected their translations"
            )
        points = links.read(self.align, (links.lengths_of(lines), links.lengths_of(found)))
        return system.leaving_out(lines, found, points, self._lost())

    def _lost(self) -> Penalty:
        if self.penalty is None:
            return STANDARD
        try:
            return LENGTH if self.penalty == "length" else Penalty(float(self.penalty))
        except ValueError:
            raise RecipeError(f"--penalty {self.penalty}: expected a number, or length") from None


@dataclass(frozen=True, slots=True, kw_only=True)
class SystemOptions:
    """The options of the bundled decoder; None where a run of rampion train, or a default, decides."""

    blocks: str | None = None
    lm: str | None = None
    weights: str | None = None
    iteration: int | None = None
    features: str | None = None
    reordering: str | None = None
    adjacent_swaps: bool = False
    beam: int | None = None
    options: int | None = None
    longest: int | None = None
    threads: int | None = None
    lenient: bool = False  # whether weights may belong to another system
    leave_one_out: LeaveOneOut = LeaveOneOut()


class Opened(NamedTuple):
    """A decoder, weights, and whether both are of a run of rampion train."""

    system: BlockDecoder
    weights: Weighing
    of_run: bool


def read_lines(source: str) -> Texts:
    """The sentences to decode."""
    return read_source(source, LONGEST)


def opened(asked: SystemOptions, lines: Texts, tick: Callable[[int], None], distinct: bool = False) -> Opened:
    """The decoder and the weights that options ask for."""
    order = order_of(asked.reordering or "swap", asked.adjacent_swaps)
    run = run_of(asked.weights)
    if run and asked.blocks:
        raise RecipeError(
            f"--blocks {asked.blocks}: {asked.weights} brings the blocks that its weights are of; leave it out"
        )
    if asked.iteration and not run:
        raise RecipeError(f"--iteration {asked.iteration}: is for a run of rampion train; name one with --weights")
    given: Weighing
    if run:
        given, system = weights_of(run, asked.iteration)[1], decoder_of(run)
    elif asked.blocks:
        given = read_weights(asked.weights) if asked.weights else INITIAL
        system = BlockDecoder(BlockSet.read(asked.blocks))
    else:
        raise RecipeError("there are no blocks; give some (--blocks), or a run of rampion train (--weights)")
    search = system.settings
    if asked.beam:
        search = replace(search, beam=asked.beam, pops=10 * asked.beam)
    if asked.reordering or asked.adjacent_swaps:
        search = replace(search, reordering=order)
    system = replace(
        system,
        lm=arpa.load(asked.lm) if asked.lm else system.lm,
        features=asked.features or system.features,
        settings=search,
        options=asked.options or system.options,
        longest=asked.longest or system.longest,
        threads=asked.threads or processors(),
        distinct=distinct,
        progress=tick,
    )
    return Opened(asked.leave_one_out.applied(system, lines), given, run is not None)


def weighed(asked: SystemOptions, lines: Texts, tick: Callable[[int], None], distinct: bool = False) -> Opened:
    """The same; raise InputError if no weight is for a feature of the decoder."""
    found = opened(asked, lines, tick, distinct)
    system = found.system
    if isinstance(found.weights, Weights) and asked.weights and not asked.lenient:
        refuse_foreign(asked.weights, found.weights, system.parts if found.weights.system else {})
    if not system.weighs(found.weights):
        raise InputError(
            f"no weight is for the features {system.features}; give weights that name some of them (--weights)"
        )
    if system.lm is None and system.features in SETS:
        console.note(f"{system.features} without its language model; give one with --lm")
    return found


PARTS = {"blocks": "blocks", "lm": "language model"}


def refuse_foreign(path: str, weights: Weights, parts: Mapping[str, str]) -> None:
    """Raise InputError if the weights belong to other parts of a decoder than these."""
    for part, name in PARTS.items():
        if (mine := weights.system.get(part)) and (found := parts.get(part)) != mine:
            here = f"not to these ({found[:8]})" if found else "and there are none here"
            raise InputError(
                f"{weights_file(path)}: belongs to a decoder with the {name} {mine[:8]}, {here}; name those that it "
                f"was tuned with (--{part}), or pass --lenient to take it all the same"
            )


class Shared(NamedTuple):
    """An executor by name, and the folder that keeps its finished shards; both or none."""

    executor: str | None = None
    folder: Path | None = None

    def proved(self) -> Shared:
        """Raise InputError if one is given without the other."""
        if bool(self.executor) != bool(self.folder):
            raise RecipeError(
                "--executor needs --run DIR, where the results of its tasks are kept, and --run is for --executor only"
            )
        return self
