"""rampion corpus: parallel text to train and test a translation system on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from rampion import console
from rampion.cli import app
from rampion.cli import options as opt
from rampion.cli.files import App
from rampion.cli.panels import DECODER

if TYPE_CHECKING:
    from rampion.apps.corpus import Made

TOY = """
[bold]Examples[/bold]

  rampion corpus toy --pairs 50000 --seed 1 --out toy

  rampion corpus toy --pairs 50000 --noise 0.1 --out noisy
"""
GERMAN = """
[bold]Example[/bold]

  rampion corpus german --pairs 50000 --out world

The commands align, blocks, lm and train take the folder.
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

corpora = App(no_args_is_help=True, help="Make a folder of parallel text.", epilog=TOY)
app.add_typer(corpora, name="corpus", rich_help_panel=DECODER)


@corpora.command(epilog=TOY)
def toy(
    out: opt.CorpusOut,
    pairs: opt.TrainPairs = 50000,
    held_out: opt.HeldOut = 1000,
    references: opt.References = 4,
    seed: opt.Seed = 1,
    noise: opt.Noise = 0.01,
    free: opt.Free = 0.03,
    as_json: opt.Json = False,
) -> None:
    """Invent two languages from a seed, and text in them with its true word alignment."""
    from rampion.apps import corpus

    _show(corpus.toy(out, pairs, held_out, references, seed, noise, free), out, as_json)


@corpora.command(epilog=GERMAN)
def german(
    out: opt.CorpusOut,
    pairs: opt.TrainPairs = 50000,
    held_out: opt.HeldOut = 1000,
    references: opt.References = 4,
    seed: opt.Seed = 1,
    as_json: opt.Json = False,
) -> None:
    """Write German sentences and their English translations, from a small grammar and a dictionary of 800 words."""
    from rampion.apps import corpus

    _show(corpus.german(out, pairs, held_out, references, seed), out, as_json)


@corpora.command(name="import", epilog=IMPORT)
def import_(
    train: Annotated[
        list[str], typer.Argument(metavar="FILE", help="Source and target file, line by line; or one TSV.")
    ],
    out: opt.CorpusOut,
    pair: opt.NeededPair,
    dev: opt.DevText = None,
    test: opt.TestText = None,
    dev_pairs: opt.DevPairs = 1000,
    test_pairs: opt.TestPairs = 1000,
    longest: opt.PairLongest = 100,
    ratio: opt.PairRatio = 9.0,
    tokenise: opt.Tokenise = "none",
    lower: opt.Lower = False,
    as_json: opt.Json = False,
) -> None:
    """Read parallel text, clean it, and set text for tuning and testing aside unless it is given."""
    from rampion.apps import corpus

    rules = corpus.Rules(pair, (dev_pairs, test_pairs), longest, ratio, tokenise, lower)
    _show(corpus.imported(train, dev, test, rules, out), out, as_json)


@corpora.command(epilog=DEBIAN)
def debian(
    out: opt.CorpusOut,
    pair: opt.NeededPair,
    root: opt.Root = "/usr",
    dev_pairs: opt.DevPairs = 1000,
    test_pairs: opt.TestPairs = 1000,
    longest: opt.PairLongest = 100,
    ratio: opt.PairRatio = 9.0,
    tokenise: opt.Tokenise = "simple",
    lower: opt.Lower = False,
    as_json: opt.Json = False,
) -> None:
    """Pair the help and the interface of LibreOffice in two languages, as Debian packages install them."""
    from rampion.apps import corpus

    rules = corpus.Rules(pair, (dev_pairs, test_pairs), longest, ratio, tokenise, lower)
    _show(corpus.from_debian(root, rules, out), out, as_json)


@corpora.command(name="filter", epilog=FILTER)
def filter_(
    folder: Annotated[str, typer.Argument(metavar="DIR", help="The folder of a corpus.")],
    test: opt.FilterTest,
    out: opt.CorpusOut,
    pair: opt.Pair = None,
    words: opt.Words = 12,
    greedy: opt.Greedy = False,
    as_json: opt.Json = False,
) -> None:
    """Keep only training pairs that a test needs, so that each substring of it in the text stays in one of them."""
    from rampion.apps import corpus

    _show(corpus.filtered(folder, pair, test, words, greedy, out), out, as_json)


def _show(made: Made, out: str, as_json: bool) -> None:
    """Print what was dropped and what was made."""
    if as_json:
        facts: dict[str, object] = {"corpus": out, "dropped": [row._asdict() for row in made.dropped]}
        facts["texts"] = [row._asdict() for row in made.sizes]
        if made.covered is not None:
            facts["covered"] = [row._asdict() for row in made.covered]
        console.show_json(facts)
        return
    if made.covered is not None:
        console.show(made.covered, ["words", "substrings of the test", "in the training text"])
        typer.echo()
    if made.dropped:
        rows = [(why, pairs, first or "") for why, pairs, first in made.dropped]
        console.show(rows, ["dropped", "pairs", "first line"])
        typer.echo()
    console.show(made.sizes, ["text", "lines", "words", "a line", "vocabulary"])
    typer.echo(f"wrote {out}")
