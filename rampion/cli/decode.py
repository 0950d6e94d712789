"""rampion decode: source sentences and a block set in; translations, lists, lattices or explanations out."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rampion import console
from rampion.apps.inputs import order_of, read_source, read_weights
from rampion.cli import app
from rampion.cli.executor import Executor, team
from rampion.cli.options import Json

if TYPE_CHECKING:
    from rampion.sets.records import Weighing
    from rampion.store.text import Texts

EXAMPLE = """
[bold]Examples[/bold]

  rampion decode test.de --blocks de-en.blocks --lm en.lm --weights run --out test.out

  rampion decode dev.de --blocks de-en.blocks --lm en.lm --nbest dev.nbest.gz --save-weights initial.weights

  rampion decode dev.de --blocks de-en.blocks --features all --reordering mon --weights run --out dev.out

  rampion decode test.de --blocks de-en.blocks --lm en.lm --weights run --derivations test.jsonl

  rampion decode dev.de --blocks de-en.blocks --oracle dev.en.0 --oracle dev.en.1   (the best that could be said)

  rampion decode test.de --blocks de-en.blocks --lm en.lm --weights run --explain 7 --svg 7.svg

  rampion decode train.de --blocks de-en.blocks --lm en.lm --nbest 1.nbest --leave-one-out train.en --align de-en.align

  rampion decode test.de --blocks de-en.blocks --lm en.lm --counts de-en.counts --weights large --out test.out

  rampion decode train.de --blocks de-en.blocks --lm en.lm --nbest 1.store --executor dask,workers=8 --run parts

  rampion decode test.de --weights run --out test.out   (a run of [bold]rampion train[/bold] brings all that it needs)
"""


@app.command(epilog=EXAMPLE)
def decode(
    source: Annotated[
        str, typer.Argument(metavar="TEXT", help="Source sentences, tokenised, a line each; - is stdin.")
    ],
    blocks: Annotated[
        str | None,
        typer.Option("--blocks", metavar="FILE", help="From [bold]rampion blocks[/bold].", show_default=False),
    ] = None,
    lm: Annotated[
        str | None,
        typer.Option("--lm", metavar="FILE", help="A language model, ARPA or binary.", show_default=False),
    ] = None,
    weights: Annotated[
        str | None,
        typer.Option(
            "--weights",
            "-w",
            metavar="FILE",
            help="Weights, or the folder of a run; without them, those that tuning starts from. A run of "
            "[bold]rampion train[/bold] brings its blocks, language model and settings, where no option has others.",
            show_default=False,
        ),
    ] = None,
    iteration: Annotated[
        int | None,
        typer.Option(
            "--iteration",
            metavar="N",
            min=1,
            help="Of a training run: not the chosen one, but this.",
            show_default=False,
        ),
    ] = None,
    counts: Annotated[
        str | None,
        typer.Option(
            "--counts",
            metavar="FILE",
            help="Features from [bold]rampion counts[/bold]: to rescore what the search keeps, for --out and --nbest.",
            show_default=False,
        ),
    ] = None,
    features: Annotated[
        str | None,
        typer.Option(
            "--features",
            metavar="NAMES",
            help="Real-valued ones (fourteen, seven, learnt, or single ones) and templates (phrase, word, all, pairs, "
            "lexical, triplets, reordering, or single ones), a comma between.",
            show_default="fourteen",
        ),
    ] = None,
    reordering: Annotated[
        str | None,
        typer.Option(
            "--reordering",
            metavar="NAME",
            help="mon, or swap: neighbouring blocks change places.",
            show_default="swap",
        ),
    ] = None,
    adjacent_swaps: Annotated[
        bool, typer.Option("--adjacent-swaps", metavar="", help="Let a swap follow another at once.")
    ] = False,
    beam: Annotated[
        int | None,
        typer.Option("--beam", min=1, help="Hypotheses kept for each number of covered words.", show_default="100"),
    ] = None,
    options: Annotated[
        int | None, typer.Option("--options", min=1, help="Blocks of a source phrase.", show_default="20")
    ] = None,
    longest: Annotated[
        int | None, typer.Option("--longest", min=1, max=255, help="Words of a source phrase.", show_default="8")
    ] = None,
    out: Annotated[
        str, typer.Option("--out", "-o", metavar="FILE", help="Where the best translations go; - is stdout.")
    ] = "-",
    nbest: Annotated[
        str | None,
        typer.Option("--nbest", metavar="FILE", help="Write lists: Moses, .jsonl or .store.", show_default=False),
    ] = None,
    derivations: Annotated[
        str | None,
        typer.Option(
            "--derivations", metavar="FILE", help="Write how translations are built, as JSON lines.", show_default=False
        ),
    ] = None,
    k: Annotated[
        int | None,
        typer.Option(
            "-k",
            min=1,
            metavar="N",
            help="How many of each sentence: 100 with --nbest, 1 with --derivations unless given.",
            show_default=False,
        ),
    ] = None,
    distinct: Annotated[
        bool, typer.Option("--distinct", metavar="", help="Lists of different texts, not of different derivations.")
    ] = False,
    lattice: Annotated[
        str | None,
        typer.Option(
            "--lattice", metavar="FILE", help="Write the search graphs; binary for .lattice.", show_default=False
        ),
    ] = None,
    oracle: Annotated[
        list[str] | None,
        typer.Option(
            "--oracle",
            metavar="FILE",
            help="References: search for the translations of highest BLEU instead; once for each further reference.",
            show_default=False,
        ),
    ] = None,
    leave_one_out: Annotated[
        str | None,
        typer.Option(
            "--leave-one-out",
            metavar="TARGET",
            help="Translations of TEXT, both of what the blocks are from: no line is decoded with its own counts.",
            show_default=False,
        ),
    ] = None,
    align: Annotated[
        str | None,
        typer.Option(
            "--align",
            metavar="FILE",
            help="For --leave-one-out: the points that the blocks were made with.",
            show_default=False,
        ),
    ] = None,
    penalty: Annotated[
        str | None,
        typer.Option(
            "--penalty",
            metavar="SCORE",
            help="For --leave-one-out: the log score of a block that only its own line holds; length is -5 a word.",
            show_default="-12",
        ),
    ] = None,
    explain: Annotated[
        int | None,
        typer.Option("--explain", min=1, metavar="LINE", help="Tell how this line is built.", show_default=False),
    ] = None,
    top: Annotated[
        int,
        typer.Option("--top", min=0, metavar="N", help="Features a block that --explain shows; 0 is all that weigh."),
    ] = 0,
    svg: Annotated[str | None, typer.Option("--svg", metavar="FILE", help="Draw it too.", show_default=False)] = None,
    save_weights: Annotated[
        str | None,
        typer.Option(
            "--save-weights",
            metavar="FILE",
            help="Write the weights that were used: where tuning on the lists should begin.",
            show_default=False,
        ),
    ] = None,
    threads: Annotated[int, typer.Option("--threads", min=1, metavar="N", help="Threads; the result is the same.")] = 2,
    executor: Executor = None,
    run_folder: Annotated[
        Path | None,
        typer.Option(
            "--run", metavar="DIR", help="For --executor: where its parts stand until all are done.", show_default=False
        ),
    ] = None,
    as_json: Json = False,
) -> None:
    """Translate with blocks: the best translation of every line, lists of the k best, or the best possible."""
    from contextlib import ExitStack
    from dataclasses import replace
    from os.path import dirname, realpath

    from rampion.apps.runs import decoder_of, run_of, weights_of
    from rampion.decoder.block_decoder import INITIAL, SETS, BlockDecoder
    from rampion.decoder.count_decoder import LargeDecoder
    from rampion.decoder.features.counts import CountFeatures
    from rampion.decoder.models import arpa
    from rampion.decoder.models.blocks import BlockSet
    from rampion.decoder.models.options import LONGEST
    from rampion.decoder.remote import SIZE, Spread
    from rampion.decoder.search.oracle import Oracle
    from rampion.errors import InputError, RecipeError
    from rampion.formats import save_nbest, texts
    from rampion.formats import weights as weights_format
    from rampion.store.features import Weights

    order = order_of(reordering or "swap", adjacent_swaps)
    answers = {
        "--oracle": oracle,
        "--nbest": nbest,
        "--derivations": derivations,
        "--lattice": lattice,
        "--explain": explain,
    }
    if len(several := [name for name, value in answers.items() if value]) > 1:
        raise RecipeError(f"{' and '.join(several)}: one answer at a time; run the command once for each")
    if counts and len(several := [name for name in answers if answers[name] and name != "--nbest"]):
        raise RecipeError(f"--counts {counts}: is for translations and their lists; leave it out, or {several[0]}")
    if svg and explain is None:
        raise RecipeError("--svg draws the line that --explain tells of; say which one, --explain LINE")
    if leave_one_out and (oracle or not align):
        raise RecipeError("--leave-one-out needs the --align of its text, and scores, which --oracle does not ask for")
    if not leave_one_out and (align or penalty):
        raise RecipeError(f"{'--align' if align else '--penalty'} is for --leave-one-out; name the translations")
    if bool(executor) != bool(run_folder):
        raise RecipeError("--executor and --run DIR go together: shards need a folder, and a folder needs somebody")
    if executor and len(several := [name for name in ("--derivations", "--lattice", "--explain") if answers[name]]):
        raise RecipeError(f"{several[0]} is made here and not by an executor; leave --executor out")
    lines = read_source(source, LONGEST)
    run = run_of(weights)
    if run and blocks:
        raise RecipeError(f"--blocks {blocks}: {weights} brings the blocks that its weights are of; leave it out")
    if run and save_weights:
        raise RecipeError(f"--save-weights: rampion weights {weights} --out {save_weights} writes those of a run")
    if iteration and not run:
        raise RecipeError(f"--iteration {iteration}: is for a run of rampion train; name one with --weights")
    facts: dict[str, Any] = {"sentences": len(lines)}
    with ExitStack() as stack:
        bar = stack.enter_context(console.decoding(len(lines)))
        given: Weighing
        if run:
            given, system = weights_of(run, iteration)[1], decoder_of(run).decoder
        elif blocks:
            given, system = read_weights(weights) if weights else INITIAL, BlockDecoder(BlockSet.read(blocks))
        else:
            raise RecipeError("there are no blocks; give some (--blocks), or a run of rampion train (--weights)")
        search = system.settings
        if beam:
            search = replace(search, beam=beam, pops=10 * beam)
        if reordering or adjacent_swaps:
            search = replace(search, reordering=order)
        asked: dict[str, Any] = {
            "lm": arpa.load(lm) if lm else None,
            "features": features,
            "options": options,
            "longest": longest,
        }
        asked = {name: value for name, value in asked.items() if value}
        system = replace(system, settings=search, threads=threads, distinct=distinct, progress=bar.tick, **asked)
        if leave_one_out and align:
            system = _leaving(system, lines, leave_one_out, align, penalty)
        if counts and run:
            raise RecipeError(f"--counts {counts}: {weights} has no weights of these features; give others (--weights)")
        teller = LargeDecoder(system, CountFeatures.read(counts)) if counts else system
        criterion = Oracle(best=1, reordering=system.settings.reordering)
        if not (oracle or _heard(system, given)):
            raise InputError(
                f"no weight is for the features {system.features}; give weights that name some of them (--weights)"
            )
        if system.lm is None and system.features in SETS and not oracle:
            console.note(f"{system.features} without its language model; give one with --lm")
        if save_weights:
            weights_format.write(save_weights, given if isinstance(given, Weights) else system.initial)
        if executor and run_folder:
            workers = stack.enter_context(team(executor, run_folder))
            bar.speeds = lambda: workers.coordinator.speeds
            teller = Spread(teller, workers.coordinator, workers.size or SIZE, criterion, name=source)
        if explain is not None:
            _explain(system, lines, explain, given, svg, top, as_json)
            return
        if oracle:
            facts |= _oracle(teller, criterion, lines, oracle, out)
        elif nbest:
            folder = dirname(realpath(nbest)) if nbest.endswith(".store") else None
            lists = teller.decode(list(lines), given, k or 100, folder)
            save_nbest(nbest, lists)
            facts |= {"candidates": lists.size, "features": len(lists.features)}
        elif derivations:
            facts |= _derivations(system, lines, given, k or 1, derivations)
        elif lattice:
            facts |= _lattices(system, lines, given, lattice)
        else:
            texts.write(out, teller.best(lines, given))
    if as_json:
        console.show_json(facts, err=out == "-" and not (nbest or lattice or derivations))
        return
    if wrote := nbest or derivations or lattice or (out if out != "-" else None):
        console.note(f"wrote {wrote}")
    if oracle:
        console.note(f"BLEU {facts['corpus_bleu']:.2f}; mean of sentences {100 * facts['sentence_bleu']:.2f}")


def _leaving(system: Any, lines: Texts, target: str, align: str, penalty: str | None) -> Any:
    """The decoder that leaves out the counts of each line."""
    from rampion.decoder.alignment import links
    from rampion.decoder.models.leave_one_out import LENGTH, STANDARD, Penalty
    from rampion.errors import InputError, RecipeError
    from rampion.formats import texts

    try:
        lost = STANDARD if penalty is None else LENGTH if penalty == "length" else Penalty(float(penalty))
    except ValueError:
        raise RecipeError(f"--penalty {penalty}: expected a number, or length") from None
    said = texts.read(target)
    if len(said) != len(lines):
        raise InputError(f"{target}: has {len(said)} lines for {len(lines)} to decode; expected their translations")
    points = links.read(align, (links.lengths_of(lines), links.lengths_of(said)))
    return system.leaving_out(lines, said, points, lost)


def _heard(system: Any, given: Weighing) -> bool:
    """Whether any weight is for a feature of the decoder."""
    from rampion.sets.records import Keyed

    if isinstance(given, Keyed):
        return bool(system.templates.mask or given.own.keys() & set(system.names))
    return any(map(system.knows, given))


def _oracle(teller: Any, criterion: Any, lines: Texts, refs: list[str], out: str) -> dict[str, Any]:
    """Write the translations of highest BLEU; their BLEU, a mean of sentences and of the corpus."""
    import numpy as np

    from rampion.formats import references, texts
    from rampion.metrics import metric as named
    from rampion.store.text import Texts

    labels = Texts.from_strings(map(str, range(len(lines))))
    given = references.read(refs, labels, aligned=True)
    found = list(teller.oracles(lines, given, criterion))
    best, bleu = Texts.join([said for said, _ in found]), named("bleu")
    texts.write(out, best)
    total = bleu.statistics(best, np.arange(len(best) + 1), given).sum(axis=0)
    return {
        "sentence_bleu": float(np.concatenate([scores for _, scores in found]).mean()),
        "corpus_bleu": bleu.total_score(total),
    }


def _derivations(system: Any, lines: Texts, weights: Weighing, k: int, path: str) -> dict[str, Any]:
    """Write the k best derivations of every line, best first."""
    import json

    from rampion.decoder import explain
    from rampion.formats.files import replacing

    count = 0
    with replacing(path) as file:
        for record in explain.derivations(system, lines, weights, k):
            file.write(json.dumps(record, ensure_ascii=False).encode() + b"\n")
            count += 1
    return {"derivations": count}


def _lattices(system: Any, lines: Texts, weights: Weighing, path: str) -> dict[str, Any]:
    """Write the search graphs of all batches."""
    from rampion.decoder.search import lattice

    whole = lattice.Lattice.join(list(system.search(lines, system.model(weights), system.lattice)))
    lattice.write(path, whole)
    return {"nodes": len(whole.graph.edge_bounds) - 1, "edges": len(whole.graph.origins)}


def _explain(system: Any, lines: Texts, line: int, weights: Weighing, svg: str | None, top: int, as_json: bool) -> None:
    """How one line is built: a table of its blocks, and a picture."""
    from dataclasses import replace

    from rampion.decoder.explain import built, drawn, orientations, told
    from rampion.errors import InputError
    from rampion.formats import texts
    from rampion.store.text import Texts

    if line > len(lines):
        raise InputError(f"--explain {line}: there are {len(lines)} lines")
    text = lines[line - 1]
    if system.left_out is not None:
        system = replace(system, left_out=system.left_out.cut(line - 1, line))
    steps, last, weighed = built(system, text, weights)
    source = text.split()
    if svg:
        texts.write(svg, Texts.from_strings([drawn(source, steps, f"line {line}").rstrip("\n")]))
    if as_json:
        rows = zip(steps, orientations(steps), strict=True)
        blocks = [step._asdict() | {"words": list(step.words), "orientation": letter} for step, letter in rows]
        console.show_json({"line": line, "source": source, "blocks": blocks, "end": last, "weights": weighed})
        return
    typer.echo(told(source, steps, weighed, last, top), nl=False)
