"""rampion demo lists: tune on invented n-best lists, from lists to a comparison with confidence intervals."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rampion import console
from rampion.cli.options import Json

if TYPE_CHECKING:
    from rampion.analysis.significance import Bootstrapped

RECIPES = ("ramp1", "ramp2", "rampion", "soft-ramp3")
TITLES = {"ramp1": "ramp 1", "ramp2": "ramp 2", "rampion": "ramp 3 (RAMPION)", "soft-ramp3": "soft ramp 3"}


EXAMPLE = """
[bold]Examples[/bold]

  rampion demo lists --seed 7

  rampion demo lists --out toy   (then: rampion tune toy/dev.jsonl --weights toy/initial.weights)
"""


def lists(
    seed: Annotated[int, typer.Option("--seed", help="Another seed invents another pair of languages.")] = 1,
    segments: Annotated[
        int, typer.Option("--segments", min=20, help="Sentences; half to tune on, half held out.")
    ] = 800,
    k: Annotated[int, typer.Option("--k", min=2, help="Candidates a sentence.")] = 100,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            "-o",
            metavar="DIR",
            help="Write the lists of both halves and the initial weights here, to try the other commands on.",
            show_default=False,
        ),
    ] = None,
    as_json: Json = False,
) -> None:
    """Tune on the n-best lists of a toy translation task invented from a seed, and rerank its held-out half."""
    import numpy as np

    from rampion.analysis.significance import bootstrap, paired_bootstrap
    from rampion.decoder.text.toy import INITIAL, task
    from rampion.formats import jsonl
    from rampion.formats import weights as weight_files
    from rampion.losses.contrast import ORACLE
    from rampion.store.candidates import Candidates
    from rampion.store.features import Weights
    from rampion.store.text import References
    from rampion.training.tuning import judge, pick, tune

    speak = console.note if as_json else typer.echo
    speak(f"Inventing two languages and {segments} sentences, each with its {k} best translations ...")
    records = list(task(seed, segments, k))
    whole, references = Candidates.from_records(records), References.from_records(records)
    half = np.arange(segments // 2), np.arange(segments // 2, segments)
    (dev, test), (dev_refs, test_refs) = [whole[part] for part in half], [references.take(part) for part in half]
    start = Weights.from_dict(_flat(INITIAL))
    if out:
        out.mkdir(parents=True, exist_ok=True)
        for name, part, refs in (("dev", dev, dev_refs), ("test", test, test_refs)):
            jsonl.write(out / f"{name}.jsonl", [part.rows()], part.features.names, refs)
        weight_files.write(out / "initial.weights", start)
        speak(f"Writing {out}/dev.jsonl, {out}/test.jsonl and {out}/initial.weights ...")
    arbiter = judge(test, test_refs, "bleu")
    batch = arbiter.batch(test)
    first = batch.statistics[pick(test, start, lenient=True)]

    speak(f"Tuning {len(whole.features)} weights on {len(dev.segments)} of them with {len(RECIPES)} losses ...\n")
    tuned = {name: tune(dev, dev_refs, recipe=name, start=start, lenient=True) for name in RECIPES}
    dev_scores = {"initial weights": tuned["rampion"].before.chosen} | {
        TITLES[name]: one.after.chosen for name, one in tuned.items()
    }
    held_out = {"initial weights": first} | {
        TITLES[name]: batch.statistics[pick(test, one.weights, lenient=True)] for name, one in tuned.items()
    }
    scores = {name: bootstrap(arbiter.metric, rows) for name, rows in held_out.items()}
    gains = {name: paired_bootstrap(arbiter.metric, first, rows) for name, rows in held_out.items()}
    oracle = batch.corpus_score(ORACLE.picks(batch.stakes, np.zeros(test.size)))
    if as_json:
        console.show_json({
            "signature": arbiter.metric.signature(test_refs), "oracle": oracle, "tuned": dev_scores,
            "held_out": {name: one._asdict() for name, one in scores.items()},
            "gain": {name: one._asdict() for name, one in gains.items()},
        })  # fmt: skip
        return
    rows = [
        (name, dev_scores[name], one.score, f"[{one.low:.2f}, {one.high:.2f}]", *_gain(name, gains[name]))
        for name, one in scores.items()
    ]
    rows.append(("oracle", tuned["rampion"].after.oracle, oracle, "", "", ""))
    console.show(rows, ["BLEU after", "tuned on", "held out", "95% interval", "gain", "95% interval"])
    if gains[TITLES["ramp2"]].high < 0:
        typer.echo(
            "\nRamp 2 pulls the best up but pushes no bad one down: on lists that stay the same its loss is least\n"
            f"where all scores are nearly equal (its weights keep {100 * tuned['ramp2'].shrunk:.0f} % of their length)."
        )
    gain = gains[TITLES["rampion"]]
    sure = "which is surely a gain" if gain.low > 0 else "which may be chance"
    typer.echo(
        f"\nRAMPION's reranking of {len(test.segments)} sentences it never saw gains {gain.score:+.2f} BLEU over the "
        f"initial weights\n(95% interval {gain.low:+.2f} to {gain.high:+.2f}), {sure}. "
        f"The best candidates would score {oracle:.2f}.\n"
        f"{tuned['rampion'].signature}"
    )


def _flat(weights: Any) -> dict[str, float]:
    """Groups of values as single features: TM = [a, b] is TM[0] = a, TM[1] = b."""
    flat: dict[str, float] = {}
    for name, value in weights.items():
        flat |= {f"{name}[{i}]": one for i, one in enumerate(value)} if isinstance(value, list) else {name: value}
    return flat


def _gain(name: str, gain: Bootstrapped) -> tuple[str, str]:
    return ("", "") if name == "initial weights" else (f"{gain.score:+.2f}", f"[{gain.low:+.2f}, {gain.high:+.2f}]")
