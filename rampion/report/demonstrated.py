"""The page of rampion demo: the text, the system, both steps of learning, and their gains."""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from typing import Any

from rampion.formats import weights as weight_files
from rampion.report.charts import Line, bar, chart, charts, interval
from rampion.report.explorer import Judged, explorer, packed
from rampion.report.markup import (
    Markup,
    Section,
    duration,
    facts,
    folded,
    joined,
    number,
    section,
    table,
    tag,
    together,
)
from rampion.report.page import Figure, Page, configured, gained, span, spent, versions, weighing
from rampion.report.tuned import before, curves
from rampion.report.words import compared
from rampion.runs.folder import RunFolder
from rampion.store.features import Weights

Results = Mapping[str, Any]

RESULTS = "demo.json"
LABELS = {"initial": "initial weights", "dense": "RAMPION", "learnt": "learnt features", "oracle": "oracle"}
STAGES = {
    "corpus": "Writing text", "system": "Alignment, blocks, language model",
    "dense": "RAMPION on fourteen features", "learnt": "Features learnt from the training text",
    "test": "Translating the test text", "page": "This page",
}  # fmt: skip
EXPLORED = 1_500_000  # bytes of the explorer's data

DENSE = (
    "Fourteen features describe a translation: phrase and lexical probabilities in both directions, the language "
    "model, counts, and the order of blocks. RAMPION translates the dev text into 100 candidates a sentence, raises "
    "the scores of hopes and lowers those of fears, and translates again with the new weights."
)
TAUGHT = (
    "Features of words say which block is used, which words it links, and how it moves. Each quarter of the training "
    "text is translated with what the other three quarters give, so that it is as new as a test text. Weights of these "
    "features are raised where they raise expected BLEU. They become ten columns of the blocks, and RAMPION tunes "
    "again."
)


def page(
    folder: RunFolder, results: Results, dense: RunFolder, judged: Judged | None, why: str, again: RunFolder
) -> Page:
    """The page. `judged` and `why` are as in tuned.page; `again` is the run with the learnt features."""
    scores, plan = results["table"], results["plan"]
    held = packed(judged, EXPLORED) if judged else None
    learnt, rounds, iterations = _run(dense)
    retuned, later, decodings = _run(again)
    metric = judged.batch.metric if judged else None
    return Page(
        "A translator, from nothing",
        f"{plan['pairs']:,} German sentences and their translations are written (seed {plan['seed']}); a decoder is "
        f"made of them, and taught in two steps. BLEU of {plan['held_out']:,} sentences never seen:",
        _figures(scores),
        [
            _gained(results),
            _said(results["examples"]),
            _built(results["made"]),
            together(
                "dense", "Fourteen features, tuned by RAMPION",
                tag("p", DENSE, class_="lead"), curves(rounds, iterations, "BLEU"),
                weighing(learnt, before(judged)),
            ),
            explorer(held, metric, judged.alpha) if judged and held and metric
            else section("explorer", "k-best explorer", tag("p", why, class_="quiet")),
            together(
                "learnt", "Features of words, learnt from the training text",
                tag("p", TAUGHT, class_="lead"), _taught(results), curves(later, decodings, "BLEU"),
                weighing(retuned),
            ),
            together(
                "spent", "Time and memory", _stages(folder.events),
                tag("h3", STAGES["dense"]), spent(iterations, dense.manifest),
                tag("h3", STAGES["learnt"]), spent(decodings, again.manifest),
            ),
            section(
                "made", "Configuration and versions",
                tag("p", tag("code", results["signature"])), versions(folder.manifest), configured(folder, "The demo"),
                configured(dense, STAGES["dense"]), configured(again, STAGES["learnt"]),
            ),
        ],
        held,
    )  # fmt: skip


def _figures(scores: Results) -> list[Figure]:
    """The scores of the steps, with what each gains over the one before."""
    figures, over = list[Figure](), ""
    for name, label in LABELS.items():
        row = scores[name]
        note = gained(row["gain"], row["p"], over) if row.get("gain") else ""
        figures.append(Figure(label, number(row["score"], 1), note))
        over = label
    return figures


def _run(folder: RunFolder) -> tuple[Weights, Sequence[Results], Sequence[Results]]:
    """The weights, the rounds and the iterations of a run."""
    events = folder.events
    rounds, iterations = ([event for event in events if event["event"] == kind] for kind in ("round", "iteration"))
    return weight_files.read(folder.weights), rounds, iterations


def _taught(results: Results) -> Markup:
    """How expected BLEU of held-out lists rose, and the strongest features."""
    most = max(abs(row["weight"]) for row in results["strongest"].values())
    rows = [
        [tag("code", name), number(row["weight"], 4), bar(row["weight"], most)]
        for name, row in results["strongest"].items()
    ]
    curve = Line("held out", list(enumerate(results["curves"]["held out"], 1)))
    return joined([
        charts(chart("Expected BLEU of the last quarter, learnt from the others", [curve], "step", "BLEU")),
        table("Strongest features", ["feature", "weight", ""], rows),
    ])  # fmt: skip


def _gained(results: Results) -> Section | None:
    """The table of results, and the curves of both trainings."""
    scores = results["table"]
    ends = [row[end] for name, row in scores.items() for end in ("low", "high") if name != "oracle"]
    low, high, start = min(ends), max(ends), scores["initial"]["score"]
    rows = []
    for name, row in scores.items():
        gain = row.get("gain")
        cells = [LABELS[name], number(row["score"], 2), f"[{number(row['low'], 2)}, {number(row['high'], 2)}]"]
        cells.append("" if name == "oracle" else interval(row["score"], row["low"], row["high"], low, high, start))
        cells += [number(gain["score"], 2, sign=True), span(gain), f"{row['p']:.4f}"] if gain else ["", "", ""]
        rows.append(cells)
    head = ["", "BLEU", "95 % interval", "", "gain", "95 % interval", "p"]
    lines = [Line(LABELS["dense"], list(enumerate(results["curves"]["dense"])))]
    about = (
        "Gains are over the line above; intervals are of bootstrap samples, p is of approximate randomisation. The "
        "oracle is the best translation that the decoder can produce, chosen with the references."
    )
    return section(
        "gained", "What was gained",
        table("BLEU of the test text (the stroke: the initial weights)", head, rows),
        tag("p", about, class_="quiet"),
        charts(chart("BLEU of the test text, decoding after decoding", lines, "decoding learnt from", "BLEU")),
    )  # fmt: skip


def _said(examples: Sequence[Results]) -> Section | None:
    """Example sentences that RAMPION made better or worse."""
    told = (
        "Examples of sentences that RAMPION changed. Words are compared with the nearest reference: ",
        tag("ins", "too much"), ", ", tag("del", "missing"), ".",
    )  # fmt: skip
    shown = [_example(one, one is examples[0]) for one in examples]
    return section("sentences", "Three sentences", tag("p", *told, class_="quiet"), *shown)


def _example(one: Results, shown: bool) -> Markup:
    rows = [["source", one["source"], ""], *(["reference", text, ""] for text in dict.fromkeys(one["references"]))]
    for name, said in one["said"].items():
        rows.append([LABELS[name], compared(said["text"], one["references"]), number(said["score"], 2)])
    caption = f"Sentence {one['segment']} of the test text, where RAMPION {one['why']}"
    pictures = [
        _picture(picture, f"{LABELS[name]}: the blocks of sentence {one['segment']}")
        for name, picture in one["pictures"].items()
    ]
    built = folded("How it was built, block by block", tag("div", *pictures, class_="charts"), shown=shown)
    return joined([table(caption, ["", "", "BLEU"], rows, words=(0, 1)), built])


def _picture(svg: str, told: str) -> Markup:
    """A picture with its own colours, for the light and the dark theme."""
    held = base64.b64encode(svg.encode()).decode()
    return tag("img", src=f"data:image/svg+xml;base64,{held}", alt=told, class_="blocks")


def _built(made: Results) -> Section | None:
    """Figures of corpus, alignment, blocks and language model."""
    sizes = [
        [tag("code", size["text"]), *(f"{size[what]:,}" for what in ("lines", "words", "vocabulary"))]
        for size in made["sizes"]
    ]
    told = [
        ("alignment error", f"{made['alignment_error']:.1%}"),
        ("blocks", f"{made['blocks']:,}"),
        (f"{made['order']}-grams and shorter", f"{made['ngrams']:,}"),
        ("perplexity of dev", number(made["perplexity"], 1)),
    ]
    about = (
        "A small grammar and a dictionary of 800 words make the sentences: separable verbs, verbs at the end, cases, "
        "compounds, words of several meanings. So the true word alignment is known, and the learnt alignment is "
        "compared with it. Blocks and language model are made from the training text."
    )
    return section("built", "What was built", tag("p", about, class_="quiet"), facts(told),
                   table("Text", ["", "lines", "words", "vocabulary"], sizes))  # fmt: skip


def _stages(events: Sequence[Results]) -> Markup:
    """The time of every stage when it was first run."""
    seconds = {event["stage"]: event["seconds"] for event in events if event["event"] == "stage"}
    most = max(seconds.values(), default=0.0)
    rows = [
        [title, duration(seconds[name]), bar(seconds[name], most)] for name, title in STAGES.items() if name in seconds
    ]
    return table(f"Stages: {duration(sum(seconds.values()))} in all", ["", "time", ""], rows)
