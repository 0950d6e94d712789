"""The decoder that options ask for: a program, or the bundled one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rampion.apps.inputs import order_of
from rampion.errors import RecipeError
from rampion.threads import processors

if TYPE_CHECKING:
    from rampion.executors import Coordinator
    from rampion.protocols import Decoder
    from rampion.store.features import Weights


def _option(name: str, **more: Any) -> Any:
    options: dict[str, Any] = {"rich_help_panel": "A decoder, to tune in a loop", "show_default": False} | more
    return typer.Option(name, **options)


DecoderCommand = Annotated[
    str | None,
    _option(
        "--decoder-command",
        metavar="COMMAND",
        help="A program that reads weights and writes n-best lists. {weights}, {k}, {source}, {nbest} stand for the "
        "file of weights, the length of lists, the text (otherwise on stdin), the lists (otherwise on stdout).",
    ),
]
Timeout = Annotated[
    float | None,
    _option(
        "--timeout", min=0.001, metavar="SECONDS", help="Stop a command that takes longer.", show_default="no limit"
    ),
]
Retries = Annotated[
    int | None, _option("--retries", min=0, metavar="N", help="Run a command that failed again.", show_default="0")
]
SystemFolder = Annotated[
    Path | None,
    _option("--system", metavar="DIR", help="The bundled decoder, as [bold]rampion train[/bold] has prepared it."),
]
Blocks = Annotated[
    str | None,
    _option("--blocks", metavar="FILE", help="The bundled decoder, with blocks from [bold]rampion blocks[/bold]."),
]
Lm = Annotated[str | None, _option("--lm", metavar="FILE", help="Its language model, ARPA or binary.")]
Counts = Annotated[
    str | None,
    _option("--counts", metavar="FILE", help="Features from [bold]rampion counts[/bold], besides its own."),
]
FeatureNames = Annotated[
    str | None,
    _option("--features", metavar="NAMES", help="As in [bold]rampion decode[/bold].", show_default="fourteen"),
]
Order = Annotated[
    str | None,
    _option(
        "--reordering",
        metavar="NAME",
        help="mon, or swap: neighbouring blocks change places.",
        show_default="swap",
    ),
]
Beam = Annotated[
    int | None,
    _option("--beam", min=1, help="Hypotheses kept for each number of covered words.", show_default="100"),
]
Options = Annotated[int | None, _option("--options", min=1, help="Blocks of a source phrase.", show_default="20")]
Threads = Annotated[
    int | None,
    _option("--threads", min=1, metavar="N", help="The lists are the same for any.", show_default="all"),
]
Resume = Annotated[bool, _option("--resume", metavar="", help="Go on with the run in this folder.")]

DECODERS = ("decoder_command", "system", "blocks")
NEEDED: dict[str, tuple[str, ...]] = dict.fromkeys(("timeout", "retries"), DECODERS[:1])
NEEDED |= dict.fromkeys(("lm", "counts", "features", "reordering", "beam", "options", "threads"), DECODERS[1:])


@dataclass(frozen=True, slots=True)
class Wanted:
    """The options of a decoder, those not given being None."""

    decoder_command: str | None
    timeout: float | None
    retries: int | None
    system: Path | None
    blocks: str | None
    lm: str | None
    counts: str | None
    features: str | None
    reordering: str | None
    beam: int | None
    options: int | None
    threads: int | None

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

    def asked(self) -> dict[str, Any]:
        """What was given."""
        given = {name: value for name, value in asdict(self).items() if value is not None}
        return given | ({"system": str(self.system)} if self.system else {})

    @property
    def longest(self) -> int | None:
        """Words that a sentence may have."""
        from rampion.decoder.models.options import LONGEST

        return None if self.decoder_command is not None else LONGEST

    def decoder(self, tick: Callable[[int], None]) -> tuple[Decoder, Weights | None, str | None]:
        """The decoder, weights to begin with, and what changes with whatever changes its lists; None if not known."""
        if self.decoder_command is not None:
            from rampion.training.decoders import Command

            return Command(self.decoder_command, self.timeout, self.retries or 0), None, None
        from rampion.decoder.binary_decoder import KeyedBlockDecoder
        from rampion.decoder.block_decoder import BlockDecoder
        from rampion.decoder.count_decoder import LargeDecoder
        from rampion.decoder.features.counts import CountFeatures
        from rampion.decoder.models import arpa
        from rampion.decoder.models.blocks import BlockSet
        from rampion.decoder.search.search import Search
        from rampion.decoder.system import Parts

        beam, order = self.beam or 100, order_of(self.reordering or "swap")
        asked: dict[str, Any] = {
            "features": self.features or "fourteen",
            "settings": Search(beam, 10 * beam, reordering=order),
            "options": self.options or 20,
            "threads": self.threads or processors(),
            "progress": tick,
        }
        if self.system:
            made = replace(Parts.open(self.system).decoder().decoder, **asked)
        else:
            made = BlockDecoder(BlockSet.read(self.blocks or ""), arpa.load(self.lm) if self.lm else None, **asked)
        if self.counts:
            large = LargeDecoder(made, CountFeatures.read(self.counts))
            return large, large.initial, large.fingerprint
        return made, made.initial, KeyedBlockDecoder(made).fingerprint

    def spread(self, decoder: Any, coordinator: Coordinator, size: int | None, text: str) -> Decoder:
        """The decoder on an executor's workers, where it can be."""
        from rampion.decoder.remote import SIZE, Spread

        if self.decoder_command is not None:
            raise RecipeError("a decoder command works on its own; leave --executor out")
        return Spread(decoder, coordinator, size or SIZE, name=text)


def _flag(name: str) -> str:
    return f"--{name.replace('_', '-')}"
