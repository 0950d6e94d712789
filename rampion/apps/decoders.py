"""The decoder to tune in a loop that options ask for: a program, or the bundled one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from rampion.apps.inputs import order_of
from rampion.errors import RecipeError

if TYPE_CHECKING:
    from rampion.decoder.block_decoder import BlockDecoder
    from rampion.decoder.count_decoder import LargeDecoder
    from rampion.decoder.remote import Spread
    from rampion.executors import Coordinator
    from rampion.store.features import Weights
    from rampion.training.decoders import Command

DECODERS = ("decoder_command", "system", "blocks")
NEEDED: dict[str, tuple[str, ...]] = dict.fromkeys(("timeout", "retries"), DECODERS[:1])
NEEDED |= dict.fromkeys(("lm", "counts", "features", "reordering", "beam", "options", "threads"), DECODERS[1:])
BEAM, OPTIONS = 100, 20


class Opened(NamedTuple):
    """A decoder, its initial weights, and a hash of everything that determines its lists; None if unknown."""

    decoder: Command | BlockDecoder | LargeDecoder
    initial: Weights | None
    fingerprint: str | None
    parts: dict[str, str]  # fingerprints of its parts, if known


@dataclass(frozen=True, slots=True, kw_only=True)
class LoopDecoder:
    """The options of a decoder to tune; None are those not given."""

    decoder_command: str | None = None
    timeout: float | None = None
    retries: int | None = None
    system: Path | None = None
    blocks: str | None = None
    lm: str | None = None
    counts: str | None = None
    features: str | None = None
    reordering: str | None = None
    beam: int | None = None
    options: int | None = None
    threads: int | None = None

    def __post_init__(self) -> None:
        given = self.asked()
        if len(named := [name for name in DECODERS if name in given]) > 1:
            raise RecipeError(f"{_flag(named[0])} and {_flag(named[1])}: one decoder at a time; leave one out")
        for name, needed in NEEDED.items():
            if name in given and not set(named) & set(needed):
                raise RecipeError(f"{_flag(name)} belongs to a decoder; name one: {' or '.join(map(_flag, needed))}")
        if self.system and self.lm:
            raise RecipeError(f"--lm {self.lm}: {self.system} holds a language model already; leave it out")
        if self.reordering:
            order_of(self.reordering)

    def __bool__(self) -> bool:
        """Whether there is a decoder."""
        return any(getattr(self, name) is not None for name in DECODERS)

    def asked(self) -> dict[str, object]:
        """The options that were given."""
        given = {field.name: getattr(self, field.name) for field in fields(self)}
        return {name: str(value) if name == "system" else value for name, value in given.items() if value is not None}

    @property
    def longest(self) -> int | None:
        """Words that a sentence may have."""
        from rampion.decoder.models.options import LONGEST

        return None if self.decoder_command is not None else LONGEST

    def open(self, tick: Callable[[int], None]) -> Opened:
        """The decoder; it reports how many sentences are done."""
        from rampion.training.decoders import Command

        if self.decoder_command is not None:
            return Opened(Command(self.decoder_command, self.timeout, self.retries or 0), None, None, {})
        from rampion.decoder.block_decoder import BlockDecoder
        from rampion.decoder.count_decoder import LargeDecoder
        from rampion.decoder.features.counts import CountFeatures
        from rampion.decoder.models import arpa
        from rampion.decoder.models.blocks import BlockSet
        from rampion.decoder.search.search import Search
        from rampion.decoder.system import Parts
        from rampion.threads import processors

        if self.system:
            found = Parts.open(self.system).decoder()
        else:
            found = BlockDecoder(BlockSet.read(self.blocks or ""), arpa.load(self.lm) if self.lm else None)
        beam = self.beam or BEAM
        found = replace(
            found,
            features=self.features or "fourteen",
            settings=Search(beam, 10 * beam, reordering=order_of(self.reordering or "swap")),
            options=self.options or OPTIONS,
            threads=self.threads or processors(),
            progress=tick,
        )
        if self.counts:
            large = LargeDecoder(found, CountFeatures.read(self.counts))
            return Opened(large, large.initial, large.fingerprint, large.parts)
        return Opened(found, found.initial, found.fingerprint, found.parts)


def spread(decoder: Command | BlockDecoder | LargeDecoder, workers: Coordinator, size: int | None, text: str) -> Spread:
    """The decoder on an executor's workers, if it is the bundled one."""
    from rampion.decoder.remote import SIZE, Spread
    from rampion.training.decoders import Command

    if isinstance(decoder, Command):
        raise RecipeError("a decoder command works on its own; leave --executor out")
    return Spread(decoder, workers, size or SIZE, name=text)


def _flag(name: str) -> str:
    return f"--{name.replace('_', '-')}"
