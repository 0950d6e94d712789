"""rampion counts: word pairs, n-grams and triggers, as features of the bundled decoder."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from rampion import console
from rampion.apps.texts import links_of, texts_of
from rampion.cli import app
from rampion.cli.options import Json
from rampion.console import progress

EXAMPLE = """
[bold]Examples[/bold]

  rampion counts corpus --out de-en.counts

  rampion counts train.de train.en --align train.align.gz --pairs 500 --triggers 0 --out de-en.counts

  rampion counts de-en.counts

  rampion tune dev.de --refs dev.en --system run/system --counts de-en.counts --out large   (tune their weights)
"""


def _most(name: str, many: str) -> Any:
    return typer.Option(f"--{name}", min=0, metavar="N", help=many)


@app.command(epilog=EXAMPLE)
def counts(
    paths: Annotated[
        list[str],
        typer.Argument(
            metavar="TEXT",
            help="A folder of parallel text; or source and target sentences, tokenised; or a file of features.",
            show_default=False,
        ),
    ],
    out: Annotated[
        str | None, typer.Option("--out", "-o", metavar="FILE", help="The features to write.", show_default=False)
    ] = None,
    align: Annotated[
        str | None,
        typer.Option(
            "--align",
            metavar="FILE",
            help="Points 0-0 1-2 …, a line a pair.  [default: what the folder has, or else align the text]",
            show_default=False,
        ),
    ] = None,
    pair: Annotated[
        str | None,
        typer.Option(
            "--pair", metavar="SRC-TGT", help="The languages, where the folder does not tell.", show_default=False
        ),
    ] = None,
    pairs: Annotated[int, _most("pairs", "The most frequent pairs of linked words.")] = 1000,
    unigrams: Annotated[int, _most("unigrams", "The most frequent target words.")] = 200,
    bigrams: Annotated[int, _most("bigrams", "The most frequent target bigrams.")] = 1000,
    trigrams: Annotated[int, _most("trigrams", "The most frequent target trigrams.")] = 1000,
    triggers: Annotated[
        int, _most("triggers", "Pairs of an earlier and a later target word of the highest mutual information.")
    ] = 4000,
    least: Annotated[int, typer.Option("--least", min=1, metavar="N", help="Places where a trigger has fired.")] = 3,
    self_triggers: Annotated[
        bool, typer.Option("--self-triggers", metavar="", help="Let a word be a trigger of itself.")
    ] = False,
    longest: Annotated[
        int, typer.Option("--longest", min=1, max=20, help="Words of a phrase pair that a link must lie in.")
    ] = 7,
    threads: Annotated[
        int | None,
        typer.Option("--threads", min=1, metavar="N", help="Threads that align.  [default: all]", show_default=False),
    ] = None,
    as_json: Json = False,
) -> None:
    """Choose count features of aligned text: frequent word pairs and n-grams, telling triggers; or look into a file."""
    from rampion.decoder.features.counts import CountFeatures, Settings
    from rampion.errors import RecipeError

    if len(paths) == 1 and not Path(paths[0]).is_dir():
        if out or align:
            raise RecipeError(f"{paths[0]}: is one file; features are chosen from a folder, or from two files of text")
        _report(CountFeatures.read(paths[0]), as_json)
        return
    if len(paths) > 2 or out is None:
        raise RecipeError(
            "expected a folder or two files of text, and --out FILE; or one file of features to look into"
        )
    settings = Settings(pairs, unigrams, bigrams, trigrams, triggers, least, self_triggers, longest)
    source, target, own = texts_of(paths, pair)
    links = links_of(source, target, align or own, threads)
    with progress() as watch:
        found = CountFeatures.choose(source, target, links, settings, watch)
    found.write(out)
    _report(found, as_json)


def _report(found: Any, as_json: bool) -> None:
    """How many there are of each kind, and the first ones."""
    kinds: dict[str, list[Any]] = {}
    for one in found.features:
        kinds.setdefault(one.kind if one.kind != "gram" else f"{len(one.words)}-gram", []).append(one)
    if as_json:
        console.show_json({kind: [one._asdict() for one in members] for kind, members in kinds.items()})
        return
    rows = [(kind, len(own), ", ".join(" ".join(one.words) for one in own[:5])) for kind, own in kinds.items()]
    console.show(rows, ["kind", "features", "the first"])
