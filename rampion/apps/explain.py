"""How the bundled decoder builds a translation: one line block by block with a picture, or all lines as records."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import NamedTuple

from rampion import console
from rampion.apps.systems import SystemOptions, read_lines, weighed
from rampion.decoder import explain
from rampion.errors import InputError
from rampion.formats import texts
from rampion.formats.files import replacing
from rampion.store.text import Texts


class Explained(NamedTuple):
    """The words of a line and how its best translation is built."""

    line: int
    source: list[str]
    built: explain.Built

    def told(self, top: int) -> str:
        """The blocks as text, with at most `top` features of each; 0 shows all with a weight."""
        return explain.told(self.source, self.built.steps, self.built.weights, self.built.last, top)

    def facts(self) -> dict[str, object]:
        """The same for machines."""
        steps = self.built.steps
        rows = zip(steps, explain.orientations(steps), strict=True)
        blocks = [step._asdict() | {"words": list(step.words), "orientation": letter} for step, letter in rows]
        return {
            "line": self.line,
            "source": self.source,
            "blocks": blocks,
            "end": self.built.last,
            "weights": self.built.weights,
        }


def explain_line(source: str, line: int, asked: SystemOptions, svg: str | None) -> Explained:
    """The best translation of one line, and its picture in a file if that is asked for."""
    lines = read_lines(source)
    with console.decoding(len(lines)) as bar:
        system, given, _ = weighed(asked, lines, bar.tick)
        if line > len(lines):
            raise InputError(f"--line {line}: there are {len(lines)} lines")
        text = lines[line - 1]
        if system.left_out is not None:
            system = replace(system, left_out=system.left_out.cut(line - 1, line))
        found = Explained(line, text.split(), explain.built(system, text, given))
    if svg:
        texts.write(
            svg, Texts.from_strings([explain.drawn(found.source, found.built.steps, f"line {line}").rstrip("\n")])
        )
    return found


class Derived(NamedTuple):
    """How many derivations were written."""

    sentences: int
    derivations: int


def write_derivations(source: str, asked: SystemOptions, k: int, path: str) -> Derived:
    """Write the k best derivations of every line, best first, as JSON lines."""
    lines, count = read_lines(source), 0
    with console.decoding(len(lines)) as bar:
        system, given, _ = weighed(asked, lines, bar.tick)
        with replacing(path) as file:
            for record in explain.derivations(system, lines, given, k):
                file.write(json.dumps(record, ensure_ascii=False).encode() + b"\n")
                count += 1
    return Derived(len(lines), count)
