"""The public face: everything public says its parameters and what it returns, and shows an example that runs."""

from __future__ import annotations

import doctest
import inspect
import re
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import rampion
from rampion import formats, metrics
from rampion.analysis import significance

SECTIONS = ("Parameters", "Returns", "Raises", "Attributes", "Examples")
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


def roots() -> Iterator[tuple[str, Any]]:
    """Names by which one reaches the public face."""
    for name in dir(rampion):
        if not name.startswith("_"):
            yield f"rampion.{name}", getattr(rampion, name)
    for name in ("Bleu", "Chrf", "Ter", "Wer", "Column", "Ratio"):
        yield f"rampion.metrics.{name}", getattr(metrics, name)
    for name, thing in vars(significance).items():
        if inspect.isfunction(thing) and thing.__module__ == significance.__name__ and not name.startswith("_"):
            yield f"rampion.analysis.significance.{name}", thing


def methods(owner: type) -> Iterator[tuple[str, Callable[..., Any], Callable[..., Any]]]:
    """Public methods that are written in this package, with what to call and what bears the docstring."""
    for name in dir(owner):
        found = inspect.getattr_static(owner, name)
        bare = found.__func__ if isinstance(found, classmethod | staticmethod) else found
        if not name.startswith("_") and inspect.isfunction(bare) and bare.__module__.startswith("rampion."):
            yield name, getattr(owner, name), bare


FACE: dict[str, tuple[Any, bool]] = {}
for path, thing in roots():
    if inspect.isfunction(thing) or inspect.isclass(thing):
        FACE[path] = thing, False
    if inspect.isclass(thing):
        FACE |= {f"{path}.{name}": (bound, not inspect.ismethod(bound)) for name, bound, _ in methods(thing)}
PROPERTIES = [
    (f"{path}.{name}", found)
    for path, thing in roots()
    if inspect.isclass(thing)
    for name, found in inspect.getmembers_static(thing)
    if not name.startswith("_") and isinstance(found, property)
]


def sections(thing: Any) -> dict[str, str]:
    """The numpydoc sections of a docstring; the summary stands under the empty name."""
    pieces = re.split(rf"^({'|'.join(SECTIONS)})\n-+\n", inspect.getdoc(thing) or "", flags=re.MULTILINE)
    return {"": pieces[0]} | dict(zip(pieces[1::2], pieces[2::2], strict=True))


def parameters(thing: Any, is_method: bool) -> list[str]:
    if inspect.isclass(thing) and (issubclass(thing, Exception) or thing is metrics.Metric):
        return []
    names = [
        {parameter.VAR_POSITIONAL: "*", parameter.VAR_KEYWORD: "**"}.get(parameter.kind, "") + name
        for name, parameter in inspect.signature(thing).parameters.items()
    ]
    return names[1:] if is_method else names


def documented(text: str) -> list[str]:
    heads = re.findall(r"^(\S[^\n:]*?)(?: :[^\n]*)?$", text, re.MULTILINE)
    return [name for head in heads for name in head.split(", ")]


@pytest.mark.parametrize("path", FACE)
def test_sections_agree_with_the_signature(path):
    thing, is_method = FACE[path]
    found = sections(thing)
    assert found[""].strip(), "a summary is missing"
    assert documented(found.get("Parameters", "")) == parameters(thing, is_method)
    if not inspect.isclass(thing):
        returned = inspect.signature(thing).return_annotation
        assert ("Returns" in found) == (returned not in (None, "None"))
    assert ">>>" in found.get("Examples", ""), "an example is missing"


@pytest.mark.parametrize("path", [path for path, (thing, _) in FACE.items() if inspect.isfunction(thing)])
def test_names_agree(path):
    """A function is called as the public name says."""
    assert FACE[path][0].__name__ == path.rpartition(".")[2]


@pytest.mark.parametrize(("path", "found"), PROPERTIES)
def test_properties_say_what_they_are(path, found):
    assert found.__doc__, path


@pytest.fixture(scope="module")
def beginning():
    """The names that the example of the package makes."""
    names: dict[str, Any] = {}
    run(inspect.getdoc(rampion), names, "rampion")
    return names


def run(text: str, names: dict[str, Any], path: str) -> None:
    """Run the examples of a docstring; `names` receives what they define."""
    test = doctest.DocTestParser().get_doctest(text, names, path, None, None)
    told: list[str] = []
    assert test.examples
    with np.printoptions(legacy="1.25"):
        failed = doctest.DocTestRunner(optionflags=FLAGS).run(test, out=told.append, clear_globs=False).failed
    assert failed == 0, "".join(told)
    names.update(test.globs)


@pytest.mark.parametrize("path", FACE)
def test_examples_run(path, beginning, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    run(inspect.getdoc(FACE[path][0]), dict(beginning), path)


def test_the_face_holds_what_it_should():
    assert {"rampion.tune", "rampion.Candidates.from_frame", "rampion.Reranker.fit", "rampion.formats"} - {*FACE} == {
        "rampion.formats"
    }
    assert formats.load_nbest is rampion.load_nbest
