"""The page: sections under one heading, with style, script and data inside. A page loads nothing from elsewhere."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Mapping, Sequence
from importlib.resources import files
from typing import Any, NamedTuple

from rampion import __version__
from rampion.report.charts import Line, bar, chart, charts, interval
from rampion.report.markup import Markup, Section, data, duration, facts, folded, number, section, size, table, tag
from rampion.runs.folder import RunFolder

TOP = 30  # rows of a table of weights
NOTHING = 1e-4  # parts of the work with a smaller share of the time were not run, and are left out


class Figure(NamedTuple):
    """A key figure, and a note below it: what was gained, and how sure that is."""

    name: str
    told: str
    note: str = ""


class Page(NamedTuple):
    """A title, a subtitle, the key figures, sections, and data for the script."""

    title: str
    about: str
    figures: Sequence[Figure]
    sections: Sequence[Section | None]
    held: Mapping[str, Any] | None = None

    def html(self) -> str:
        """The HTML of the page. Its content security policy blocks all requests, and all scripts but its own two."""
        style, explorer, downloads = map(_read, ("page.css", "page.js", "downloads.js"))
        scripts = [*([explorer] if self.held else []), downloads]
        digests = " ".join(f"'sha256-{_digest(script)}'" for script in scripts)
        policy = f"default-src 'none'; style-src 'unsafe-inline'; img-src data:; script-src {digests}"
        shown = list(filter(None, self.sections))
        head = tag(
            "head",
            tag("meta", charset="utf-8"),
            tag("meta", http_equiv="Content-Security-Policy", content=policy),
            tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
            tag("meta", name="color-scheme", content="light dark"),
            tag("meta", name="generator", content=f"Rampion {__version__}"),
            tag("title", f"{self.title} – Rampion"),
            tag("style", Markup(style)),
        )
        links = [tag("a", part.title, href=f"#{part.id}") for part in shown]
        body = tag(
            "body",
            tag("a", "To the contents", href="#main", class_="skip"),
            tag("header", tag("p", "Rampion report", class_="kicker"), tag("h1", self.title), tag("p", self.about),
                _figures(self.figures), tag("nav", *links, aria_label="Sections")),
            tag("main", *(part.html for part in shown), id="main"),
            *((data(self.held, "data"),) if self.held else ()),
            *(tag("script", Markup(script)) for script in scripts),
        )  # fmt: skip
        return f'<!DOCTYPE html>\n<html lang="en">{head}{body}</html>\n'


def _read(name: str) -> str:
    return files("rampion.report").joinpath(name).read_text("utf-8")


def _digest(script: str) -> str:
    return base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()


def _figures(figures: Sequence[Figure]) -> Markup:
    shown = [[tag("dt", name), tag("dd", told), tag("dd", note) if note else ""] for name, told, note in figures]
    return tag("dl", *(tag("div", *parts) for parts in shown), class_="figures")


def gained(gain: Mapping[str, float], p: float, over: str, places: int = 2) -> str:
    """The note of a gain: the gain, its interval, p, and what it is a gain over."""
    return f"{number(gain['score'], places, sign=True)} {span(gain, places)} over {over}, {certainty(p)}"


def certainty(p: float) -> str:
    """p on one line."""
    return f"p\N{NO-BREAK SPACE}=\N{NO-BREAK SPACE}{p:.4f}"


def span(gain: Mapping[str, float], places: int = 2) -> str:
    """The interval of a gain."""
    return f"[{number(gain['low'], places, sign=True)}, {number(gain['high'], places, sign=True)}]"


def weighing(weights: Mapping[str, float], before: Mapping[str, float] | None = None) -> Section | None:
    """The largest weights as bars, and how far each has moved."""
    heavy = sorted((name for name in weights if weights[name]), key=lambda name: -abs(weights[name]))[:TOP]
    greatest = max((abs(weights[name]) for name in heavy), default=0.0)
    rows = []
    for name in heavy:
        change = [number(weights[name] - before.get(name, 0.0), 4, sign=True)] if before is not None else []
        rows.append([tag("code", name), number(weights[name], 4), bar(weights[name], greatest), *change])
    head = ["feature", "weight", "", *(["since the start"] if before is not None else [])]
    nonzero = sum(map(bool, weights.values()))
    told = f"{len(weights):,} features, {nonzero:,} with a nonzero weight; the table shows the {len(heavy)} largest."
    return section("weights", "Weights", tag("p", told, class_="quiet"), table("Largest weights", head, rows))


def scattered(runs: Sequence[Mapping[str, float]], seeds: Sequence[str]) -> Markup:
    """The largest weights over several runs: their means and ranges."""
    names = dict.fromkeys(name for run in runs for name in run)
    spread = {name: [run.get(name, 0.0) for run in runs] for name in names}
    means = {name: sum(values) / len(values) for name, values in spread.items()}
    heavy = sorted(names, key=lambda name: -abs(means[name]))[:TOP]
    least, most = (extreme((v for n in heavy for v in spread[n]), default=0.0) for extreme in (min, max))
    rows = []
    for name in heavy:
        low, high = min(spread[name]), max(spread[name])
        picture = interval(means[name], low, high, least, most, beside=0.0)
        rows.append([tag("code", name), number(means[name], 4), number(low, 4), number(high, 4), picture])
    caption = f"Weights over {len(runs)} runs ({', '.join(seeds)})"
    return table(caption, ["feature", "mean", "least", "greatest", ""], rows)


def made(folder: RunFolder, signature: str | None = None) -> Section | None:
    """The configuration of a run, its versions, and its inputs."""
    manifest = folder.manifest
    inputs = [
        [tag("code", one["path"]), size(one["bytes"]) if "bytes" in one else "", tag("code", one.get("sha256", ""))]
        for one in manifest.get("inputs", [])
    ]
    return section(
        "made", "Configuration and versions",
        *([tag("p", tag("code", signature))] if signature else []),
        versions(manifest),
        configured(folder),
        *([folded("Inputs", table("Inputs", ["file", "size", "SHA-256"], inputs, words=(0, 2)))] if inputs else []),
    )  # fmt: skip


def configured(folder: RunFolder, title: str = "Configuration") -> Markup:
    """The configuration of a run."""
    return folded(title, facts([(name, _told(value)) for name, value in folder.config.items()]))


def versions(manifest: Mapping[str, Any]) -> Markup:
    told = [(name, str(manifest[name])) for name in ("rampion", "kernels", "python", "machine") if name in manifest]
    return facts([*told, *((name, str(found)) for name, found in manifest.get("packages", {}).items())])


def _told(value: Any) -> str:
    if isinstance(value, list):
        return ", ".join(map(str, value)) or "–"
    return f"{value:g}" if isinstance(value, float) else str(value)


def spent(rows: Sequence[Mapping[str, Any]], manifest: Mapping[str, Any]) -> Section | None:
    """Seconds of every part of the work, and memory, from the events; the totals are from the manifest."""
    figures, drawn = list[tuple[str, str]](), list[Markup]()
    parts = {name for row in rows if isinstance(row.get("seconds"), dict) for name in row["seconds"]}
    if parts:
        ordered = list(dict.fromkeys(name for row in rows for name in row.get("seconds", {})))
        totals = {name: sum(row["seconds"].get(name, 0.0) for row in rows) for name in ordered}
        all_ = sum(totals.values())
        ordered = [name for name in ordered if totals[name] >= NOTHING * all_]
        figures += [(name, f"{duration(total)}, {total / all_:.0%}") for name in ordered if (total := totals[name])]
        lines = [Line(name, [(at(row), row["seconds"].get(name, 0.0)) for row in rows]) for name in ordered]
        drawn.append(chart("Seconds of every iteration", lines, "iteration", "seconds"))
    if memory := [(at(row), row["memory"] / 2**20) for row in rows if row.get("memory")]:
        drawn.append(chart("Peak memory of the process so far", [Line("memory", memory)], "iteration", "MB"))
        figures.append(("peak memory", size(memory[-1][1] * 2**20)))
    if busy := [(float(row["cores"]), sum(row["seconds"].values())) for row in rows if row.get("cores")]:
        mean = sum(cores * seconds for cores, seconds in busy) / sum(seconds for _, seconds in busy)
        figures.append(("processors kept busy", f"{mean:.2f}"))
    if whole := manifest.get("spent"):
        figures += [("CPU time", duration(whole["CPU seconds"])), ("peak memory", size(whole["memory"]))]
    return section("spent", "Time and memory", *([facts(figures)] if figures else []), charts(*drawn))


def at(row: Mapping[str, Any]) -> float:
    return float(row.get("iteration", 0))
