"""The house's laws, read from the syntax trees: what may import what, and what no room may hold."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent

# A room imports only rooms to its left; rooms of one row may import each other.
FLOW = (
    "text spans clock threads",
    "vocab features keys",
    "records",
    "metrics",
    "lists",
    "candidates",
    "groups",
    "stakes",
    "formats",
    "decoders",
    "executors",
    "losses pairwise expected ranking",
    "sharded",
    "updates",
    "slabs packing",
    "solvers mert mira pro passes growth",
    "policies",
    "recipes",
    "memory",
    "training mixing relevant",
    "tuning",
    "sweep",
    "doctor significance exact",
    "report runs loops curves",
    "experiments",
    "cli",
    "__init__ __main__",
)
DECODER_FLOW = (
    "toy",
    "language debian corpus covering",
    "links",
    "align",
    "jumps",
    "blocks",
    "arpa kneser lm",
    "extract",
    "states options",
    "leaving",
    "templates",
    "dense candidates",
    "model",
    "condense channels",
    "search",
    "kbest oracle",
    "cube lattice counts",
    "decoder",
    "explain keyed large",
    "spread",
    "system",
    "__init__",
)
RANK = {room: rank for rank, rooms in enumerate(FLOW) for room in rooms.split()}
DECODER_RANK = {room: rank for rank, rooms in enumerate(DECODER_FLOW) for room in rooms.split()}
EVERYWHERE = {"errors", "protocols", "_kernels", "__version__", "citations"}
KERNELS = {"_core", "_reference"}
UNSAFE = {"pickle", "cPickle", "_pickle", "dill", "cloudpickle", "joblib", "marshal", "shelve"}

MODULES = sorted(path.relative_to(ROOT) for room in ("rampion", "decoder") for path in (ROOT / room).rglob("*.py"))
COMPILED = sorted(path.relative_to(ROOT) for room in ("rampion", "decoder") for path in (ROOT / room).rglob("*.pyx"))


def room_of(module: str) -> str:
    """rampion.metrics.bleu lives in metrics; rampion itself in __init__."""
    return [*module.split("."), "__init__"][1]


def imports(tree: ast.AST) -> Iterator[tuple[str, int]]:
    """Every module imported anywhere in the tree, with its line; `from rampion import text` is rampion.text."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((alias.name, node.lineno) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"line {node.lineno}: write the whole name of the module"
            whole = node.module in {"rampion", "decoder"}
            names = [f"{node.module}.{alias.name}" for alias in node.names] if whole else [node.module]
            yield from ((name, node.lineno) for name in names)


def is_for_types(node: ast.AST) -> bool:
    return isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"


def tree_of(path: Path) -> ast.Module:
    return ast.parse((ROOT / path).read_text("utf-8"), str(path))


@pytest.mark.parametrize("path", [path for path in MODULES if path.parts[0] == "rampion"], ids=str)
def test_imports_flow_one_way(path):
    tree = tree_of(path)
    room = room_of(".".join(path.with_suffix("").parts))
    assert room in RANK.keys() | EVERYWHERE | KERNELS, f"{room} has no place yet: give it one in FLOW"
    lazy = {line for node in ast.walk(tree) if isinstance(node, ast.FunctionDef) for _, line in imports(node)}
    typed = {line for node in ast.walk(tree) if is_for_types(node) for part in node.body for _, line in imports(part)}
    for module, line in imports(tree):
        where = f"{path}:{line} imports {module}"
        if module.split(".")[0] == "decoder":
            assert room == "cli", f"{where}: only the command line meets the decoder"
            assert line in lazy, f"{where}: meet the decoder inside a function"
        elif module.split(".")[0] == "rampion":
            target = room_of(module)
            if line in typed and room in KERNELS | {"protocols"}:
                continue
            if target in KERNELS:
                assert room in {target, "_kernels"}, f"{where}: _kernels is the only door to the kernels"
            elif target not in EVERYWHERE and room != target:
                assert RANK.get(target, 99) <= RANK.get(room, -1), f"{where}: imports go one way, see FLOW"


@pytest.mark.parametrize("path", [path for path in MODULES if path.parts[0] == "decoder"], ids=str)
def test_imports_of_the_decoder_flow_one_way(path):
    room = room_of(".".join(path.with_suffix("").parts))
    assert room in DECODER_RANK.keys() | KERNELS | {"_kernels"}, f"{room} has no place yet: give it one in DECODER_FLOW"
    for module, line in imports(tree_of(path)):
        where, target = f"{path}:{line} imports {module}", room_of(module)
        if module.split(".")[0] == "rampion":
            assert target != "cli", f"{where}: the command line meets the decoder, not the other way"
        elif module.split(".")[0] == "decoder" and target in KERNELS:
            assert room in {target, "_kernels"}, f"{where}: _kernels is the only door to the kernels"
        elif module.split(".")[0] == "decoder" and target != "_kernels" and room not in KERNELS:
            assert DECODER_RANK.get(target, 99) <= DECODER_RANK[room], f"{where}: imports go one way, see DECODER_FLOW"


@pytest.mark.parametrize("path", MODULES, ids=str)
def test_no_print_no_assert_no_pickle(path):
    tree = tree_of(path)
    for module, line in imports(tree):
        assert module.split(".")[0] not in UNSAFE, f"{path}:{line}: {module} runs code from a file"
    for node in ast.walk(tree):
        assert not isinstance(node, ast.Assert), f"{path}:{node.lineno}: raise an error that says what was expected"
        assert not (isinstance(node, ast.Name) and node.id == "print"), f"{path}:{node.lineno}: print"
        if isinstance(node, ast.keyword) and node.arg == "allow_pickle":
            assert ast.unparse(node.value) == "False", f"{path}:{node.lineno}: pickle"


FORBIDDEN = {
    "a directive comment": r"^\s*#\s*(cython|distutils)\s*:",
    "a class": r"^\s*(cdef\s+)?class\b",
    "an import of Python": r"^\s*(import|from\s+\S+\s+import)\b",
    "an exception or message": r"^\s*(raise|assert|print)\b",
    "a handler": r"^\s*try\s*:",
}


@pytest.mark.parametrize("what", FORBIDDEN)
@pytest.mark.parametrize("path", COMPILED, ids=str)
def test_kernels_hold_loops_only(path, what):
    found = re.search(FORBIDDEN[what], (ROOT / path).read_text("utf-8"), re.MULTILINE)
    assert found is None, f"{path} holds {what}: {found[0]!r}"
