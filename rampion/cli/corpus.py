"""rampion corpus: parallel text to train and test a translation system on."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Annotated, Any

import typer

from rampion import console
from rampion.cli import app
from rampion.cli.options import Json

TOY = """
[bold]Examples[/bold]

  rampion corpus toy --pairs 50000 --seed 1 --out toy

  rampion corpus toy --pairs 50000 --noise 0.1 --out noisy
"""
IMPORT = """
[bold]Examples[/bold]

  rampion corpus import all.de.gz all.en.gz --pair de-en --tokenise moses --lower --out corpus

  rampion corpus import all.tsv --dev dev.de --dev dev.en.0 --dev dev.en.1 --pair de-en --out corpus
"""
DEBIAN = """
[bold]Example[/bold]

  rampion corpus debian --pair de-en --lower --out help

It needs the packages libreoffice-help-de libreoffice-help-en-us libreoffice-l10n-de (apt-get install).
"""
FILTER = """
[bold]Examples[/bold]

  rampion corpus filter corpus --test corpus/test.de --out less

  rampion corpus filter corpus --test corpus/test.de --greedy --out least
"""

corpora = typer.Typer(no_args_is_help=True, help="Make a folder of parallel text.", epilog=TOY)
app.add_typer(corpora, name="corpus")

Out = Annotated[str, typer.Option("--out", "-o", metavar="DIR", help="The new folder.", show_default=False)]
Pair = Annotated[
    str, typer.Option("--pair", metavar="SRC-TGT", help="Source and target language, as de-en.", show_default=False)
]
DevPairs = Annotated[int, typer.Option("--dev-pairs", min=0, help="Pairs to set aside for tuning.")]
TestPairs = Annotated[int, typer.Option("--test-pairs", min=0, help="Pairs to set aside for testing.")]
Longest = Annotated[int, typer.Option("--longest", min=1, help="Drop pairs with more words than this on a side.")]
Ratio = Annotated[
    float, typer.Option("--ratio", min=1.0, help="Drop pairs with one side more than this many times as long.")
]
Tokenise = Annotated[
    str,
    typer.Option(
        "--tokenise", metavar="HOW", help="none: words stand apart already; simple: cut off signs; moses: sacremoses."
    ),
]
Lower = Annotated[bool, typer.Option("--lower", metavar="", help="Write everything in lower case.")]
Seed = Annotated[int, typer.Option("--seed", min=0, help="Another seed invents another pair of languages.")]


@corpora.command(epilog=TOY)
def toy(
    out: Out,
    pairs: Annotated[int, typer.Option("--pairs", min=1, help="Pairs to train on.")] = 50000,
    held_out: Annotated[
        int, typer.Option("--held-out", min=0, help="Sentences for tuning, and as many for testing.")
    ] = 1000,
    references: Annotated[int, typer.Option("--references", min=1, help="Translations of each of these.")] = 4,
    seed: Seed = 1,
    noise: Annotated[
        float, typer.Option("--noise", min=0.0, max=1.0, help="Share of training pairs that are no translations.")
    ] = 0.01,
    free: Annotated[
        float, typer.Option("--free", min=0.0, max=1.0, help="Share of phrases that say something else.")
    ] = 0.03,
    as_json: Json = False,
) -> None:
    """Invent two languages from a seed, and text in them with its true word alignment."""
    from rampion.decoder.text.language import Language, Rates

    made = Language.invent(seed, Rates(noise=noise, free=free)).corpus(pairs, held_out, references)
    made.write(out)
    _tell(out, made, as_json)


@corpora.command(name="import", epilog=IMPORT)
def import_(
    train: Annotated[
        list[str],
        typer.Argument(metavar="FILE", help="Source and target file, line by line; or one TSV.", show_default=False),
    ],
    out: Out,
    pair: Pair,
    dev: Annotated[
        list[str] | None,
        typer.Option("--dev", metavar="FILE", help="Text to tune on: source, then each reference.", show_default=False),
    ] = None,
    test: Annotated[
        list[str] | None,
        typer.Option("--test", metavar="FILE", help="Text to test on, likewise.", show_default=False),
    ] = None,
    dev_pairs: DevPairs = 1000,
    test_pairs: TestPairs = 1000,
    longest: Longest = 100,
    ratio: Ratio = 9.0,
    tokenise: Tokenise = "none",
    lower: Lower = False,
    as_json: Json = False,
) -> None:
    """Read parallel text, clean it, and set text for tuning and testing aside unless it is given."""
    from rampion.decoder.text.corpus import Cleaning, prepare, read_parallel, split_pair

    languages, rules = split_pair(pair), Cleaning(longest, ratio)
    tuning, testing = (read_parallel(paths) if paths else None for paths in (dev, test))
    parts = read_parallel(train), tuning, testing
    with _progress(parts) as tick:
        made, dropped = prepare(languages, parts, (dev_pairs, test_pairs), rules, tokenise, lower, tick)
    made.write(out)
    _tell(out, made, as_json, dropped)


@corpora.command(epilog=DEBIAN)
def debian(
    out: Out,
    pair: Pair,
    root: Annotated[str, typer.Option("--root", metavar="DIR", help="Where the packages are installed.")] = "/usr",
    dev_pairs: DevPairs = 1000,
    test_pairs: TestPairs = 1000,
    longest: Longest = 100,
    ratio: Ratio = 9.0,
    tokenise: Tokenise = "simple",
    lower: Lower = False,
    as_json: Json = False,
) -> None:
    """Pair the help and the interface of LibreOffice in two languages, as Debian packages install them."""
    from rampion.decoder.text.corpus import Cleaning, Parallel, prepare, split_pair
    from rampion.decoder.text.debian import read

    languages, rules = split_pair(pair), Cleaning(longest, ratio)
    found = read(*languages, root)
    console.note(", ".join(f"{len(text)} pairs of the {kind}" for kind, text in found.items()))
    parts = Parallel.join(list(found.values())), None, None
    with _progress(parts) as tick:
        made, dropped = prepare(languages, parts, (dev_pairs, test_pairs), rules, tokenise, lower, tick)
    made.write(out)
    _tell(out, made, as_json, dropped)


@corpora.command(name="filter", epilog=FILTER)
def filter_(
    folder: Annotated[str, typer.Argument(metavar="DIR", help="The folder of a corpus.", show_default=False)],
    test: Annotated[
        str, typer.Option("--test", metavar="FILE", help="Source text, split into words alike.", show_default=False)
    ],
    out: Out,
    pair: Annotated[
        str | None,
        typer.Option("--pair", metavar="SRC-TGT", help="Source and target, if names do not tell.", show_default=False),
    ] = None,
    words: Annotated[int, typer.Option("--words", min=1, help="Words of the longest substrings.")] = 12,
    greedy: Annotated[
        bool, typer.Option("--greedy", metavar="", help="Choose fewer pairs; takes longer than the first that come.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Keep only training pairs that a test needs: every substring of it that any pair holds stays in one."""
    from dataclasses import replace

    from rampion.decoder.text.corpus import Corpus, read_lines
    from rampion.decoder.text.coverage import covering

    whole = Corpus.load(folder, pair)
    rows, report = covering(whole.train.source, read_lines(test), words, greedy)
    made = replace(whole, train=whole.train.take(rows))
    made.write(out)
    if not as_json:
        console.show(report, ["words", "substrings of the test", "in the training text"])
        typer.echo()
    _tell(out, made, as_json, covered=[row._asdict() for row in report])


@contextmanager
def _progress(parts: Sequence[Any]) -> Iterator[Callable[[int], None]]:
    """A bar on a terminal, told how many more lines are done."""
    from rich.console import Console
    from rich.progress import Progress

    console = Console(stderr=True)
    lines = sum(len(part) * (1 + len(part.targets)) for part in parts if part is not None)
    with Progress(console=console, transient=True, disable=not console.is_terminal) as bar:
        task = bar.add_task("splitting into words", total=lines)
        yield lambda done: bar.advance(task, done)


def _tell(out: str, made: Any, as_json: bool, dropped: Sequence[Any] = (), **more: Any) -> None:
    """What was dropped and what was made."""
    sizes = made.sizes()
    if as_json:
        facts = {
            "corpus": out,
            "dropped": [row._asdict() for row in dropped],
            "texts": [row._asdict() for row in sizes],
        }
        console.show_json(facts | more)
        return
    if dropped:
        console.show([(why, pairs, first or "") for why, pairs, first in dropped], ["dropped", "pairs", "first line"])
        typer.echo()
    console.show(sizes, ["text", "lines", "words", "a line", "vocabulary"])
    typer.echo(f"wrote {out}")
