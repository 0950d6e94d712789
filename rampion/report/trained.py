"""The page of a run of rampion train."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from rampion.report.charts import Line, bar, chart, charts
from rampion.report.markup import Section, number, section, table, tag
from rampion.report.page import Figure, Page, made, spent
from rampion.runs.sets_run import SetRun
from rampion.training.relevant import SetIteration

Table = Mapping[str, Mapping[str, Any]]


def page(run: SetRun, templates: Table, weights: Table) -> Page:
    """The page. `templates` and `weights` are those that `rampion weights` shows for the chosen iteration."""
    rows, best, config = run.rows, run.chosen, run.folder.config
    return Page(
        run.folder.path.resolve().name,
        f"{config['recipe']} with the features {config.get('features', '')}, trained on {config.get('corpus', '')}; "
        f"iteration {best.iteration} is best on dev",
        [Figure("dev BLEU", number(best.dev), _since(best.dev, rows[0].dev)),
         Figure("test BLEU", number(best.test), _since(best.test, rows[0].test)),
         Figure("features", f"{best.features:,}"), Figure("candidates", f"{best.candidates:,}")],
        [
            curves(rows),
            iterations(rows),
            weights_of(templates, weights),
            spent([asdict(row) for row in rows], run.folder.manifest),
            made(run.folder),
        ],
    )  # fmt: skip


def _since(score: float, first: float) -> str:
    return f"{number(score - first, 2, sign=True)} since the first iteration" if score != first else ""


def _lines(rows: Sequence[SetIteration], **names: str) -> list[Line]:
    return [Line(label, [(row.iteration, getattr(row, name)) for row in rows]) for name, label in names.items()]


def curves(rows: Sequence[SetIteration]) -> Section | None:
    x = "iteration"
    epochs = [Line(f"iteration {row.iteration}", list(enumerate(row.objective, 1))) for row in (rows[0], rows[-1])]
    return section(
        "curves", "Learning curves",
        charts(
        chart("BLEU", _lines(rows, train="train (sentences)", dev="dev", test="test"), x, "BLEU"),
        chart("Loss of every epoch", epochs[: min(2, len(rows))], "epoch", "loss of a sentence"),
        chart("Size of the training data", _lines(rows, features="features", awake="learning", candidates="candidates"),
              x, ""),
        ),
    )  # fmt: skip


def iterations(rows: Sequence[SetIteration]) -> Section | None:
    head = ["iteration", "gain", "train", "dev", "test", "features", "candidates", "fresh"]
    cells = [
        [str(row.iteration), *(number(x, 2) for x in (100 * row.gain, row.train, row.dev, row.test)),
         *(f"{count:,}" for count in (row.features, row.candidates, row.fresh))]
        for row in rows
    ]  # fmt: skip
    return section("iterations", "Iterations", table("Scores are percentages", head, cells))


def weights_of(templates: Table, weights: Table) -> Section | None:
    kinds = [[tag("code", name), f"{row['features']:,}", f"{row['nonzero']:,}", number(row["norm"], 4)]
             for name, row in templates.items()]  # fmt: skip
    greatest = max((abs(row["weight"]) for row in weights.values()), default=0.0)
    rows = [
        [tag("code", name), number(row["weight"], 4), bar(row["weight"], greatest),
         f"{row['count']:,}" if "count" in row else ""]
        for name, row in weights.items()
    ]  # fmt: skip
    if not rows:
        return None
    return section(
        "weights", "Weights",
        *([table("By template", ["template", "features", "nonzero", "norm"], kinds)] if kinds else []),
        table("Largest weights", ["feature", "weight", "", "count"], rows),
    )  # fmt: skip
