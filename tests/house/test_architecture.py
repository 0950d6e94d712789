"""The house's laws, read from the syntax trees: what may import what, and what no room may hold."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

# A package imports only from itself, from rows above its own, and from its own row.
FLOW = (
    "arrays schema threads timing console interruption signals typed system",
    "store",
    "formats metrics",
    "losses executors",
    "sets",
    "optim",
    "training analysis",
    "runs",
    "report",
    "decoder",
    "features",
    "apps",
    "experiments",
    "cli",
    "__init__ __main__",
)
DECODER_FLOW = (
    "text",
    "alignment",
    "models",
    "features",
    "search",
    "block_decoder",
    "explain count_decoder",
    "remote system",
    "folds",
    "__init__",
)
RANK = {room: rank for rank, rooms in enumerate(FLOW) for room in rooms.split()}
DECODER_RANK = {room: rank for rank, rooms in enumerate(DECODER_FLOW) for room in rooms.split()}
EVERYWHERE = {"arrays", "errors", "protocols", "_kernels", "__version__", "citations"}
KERNELS = {"_core", "_reference"}
UNSAFE = {"pickle", "cPickle", "_pickle", "dill", "cloudpickle", "joblib", "marshal", "shelve"}

MODULES = sorted(path.relative_to(ROOT) for room in ("rampion", "decoder") for path in (ROOT / room).rglob("*.py"))
COMPILED = sorted(path.relative_to(ROOT) for room in ("rampion", "decoder") for path in (ROOT / room).rglob("*.pyx"))
DECLARED = sorted(path.relative_to(ROOT) for room in ("rampion", "decoder") for path in (ROOT / room).rglob("*.pxd"))


def name_of(path: Path) -> str:
    """The name under which a module is imported: decoder/search/cube.py is rampion.decoder.search.cube."""
    parts = ("rampion", *path.parts) if path.parts[0] == "decoder" else path.parts
    return ".".join(parts).removesuffix(".py").removesuffix(".__init__")


def room_of(module: str, package: str = "rampion") -> str:
    """The part of a package in which a module stands: rampion.metrics.bleu stands in metrics, rampion in __init__."""
    return [*module.removeprefix(package).split("."), "__init__"][1]


def imports(tree: ast.AST) -> Iterator[tuple[str, int]]:
    """Every module imported anywhere in the tree, with its line; `from rampion import store` is rampion.store."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((alias.name, node.lineno) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"line {node.lineno}: write the whole name of the module"
            whole = node.module in {"rampion", "rampion.decoder"}
            names = [f"{node.module}.{alias.name}" for alias in node.names] if whole else [node.module]
            yield from ((name, node.lineno) for name in names)


def is_for_types(node: ast.AST) -> bool:
    return isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"


def tree_of(path: Path) -> ast.Module:
    return ast.parse((ROOT / path).read_text("utf-8"), str(path))


def test_the_flow_names_every_room():
    for package, ranks, folder in (("rampion", RANK, ROOT / "rampion"), ("decoder", DECODER_RANK, ROOT / "decoder")):
        rooms = {path.stem for path in folder.iterdir() if path.suffix == ".py" or (path / "__init__.py").exists()}
        placed = ranks.keys() - {"decoder"} | EVERYWHERE | KERNELS
        assert rooms <= placed, f"{package}: give {rooms - placed} a place in the flow"
        assert ranks.keys() - {"decoder"} <= rooms, f"{package}: {ranks.keys() - rooms} are not there"


@pytest.mark.parametrize("path", MODULES, ids=str)
def test_imports_flow_one_way(path):
    tree, room = tree_of(path), room_of(name_of(path))
    typed = {line for node in ast.walk(tree) if is_for_types(node) for part in node.body for _, line in imports(part)}
    for module, line in imports(tree):
        target = room_of(module)
        if module.split(".")[0] != "rampion" or target in EVERYWHERE or target == room:
            continue
        where = f"{path}:{line} imports {module}"
        if line in typed and room in KERNELS | {"protocols", "_kernels", "console"}:
            continue
        if target in KERNELS:
            assert room in KERNELS | {"_kernels"}, f"{where}: _kernels is the only door to the kernels"
        else:
            assert RANK.get(target, 99) <= RANK.get(room, -1), f"{where}: imports go one way, see FLOW"


@pytest.mark.parametrize("path", [path for path in MODULES if path.parts[0] == "decoder"], ids=str)
def test_imports_of_the_decoder_flow_one_way(path):
    package = "rampion.decoder"
    room = room_of(name_of(path), package)
    for module, line in imports(tree_of(path)):
        if not module.startswith(package):
            continue
        where, target = f"{path}:{line} imports {module}", room_of(module, package)
        if target in KERNELS:
            assert room in KERNELS | {"_kernels"}, f"{where}: _kernels is the only door to the kernels"
        elif target != "_kernels" and room not in KERNELS:
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


MOST_ARGUMENTS = 12  # what travels together becomes a struct
MOST_LINES = 40  # a longer function says why


def arguments_of(source: str) -> Iterator[tuple[str, int]]:
    """Every function of a kernel, and how many arguments it takes."""
    for found in re.finditer(r"^c?p?def\s[^=(\n]*?(\w+)\((.*?)\)[^()\n]*:$", source, re.MULTILINE | re.DOTALL):
        flat = re.sub(r"\[[^]]*\]", "", found[2])
        yield found[1], sum(bool(argument.strip()) for argument in flat.split(","))


@pytest.mark.parametrize("path", [*COMPILED, *DECLARED], ids=str)
def test_kernels_take_few_arguments(path):
    source = re.sub(r"[ \t]*#.*", "", (ROOT / path).read_text("utf-8"))
    found = dict(arguments_of(source))
    assert found.keys() == set(re.findall(r"^c?p?def\s[^=(\n]*?(\w+)\(", source, re.MULTILINE))
    crowded = [name for name, count in found.items() if count > MOST_ARGUMENTS]
    assert not crowded, f"more than {MOST_ARGUMENTS} arguments: {crowded}"


@pytest.mark.parametrize("path", [*COMPILED, *DECLARED], ids=str)
def test_long_functions_of_kernels_say_why(path):
    whole = r"^c?p?def\s[^=(\n]*?(\w+)\(.*?(?=^[^\s)]|\Z)"  # up to the next line that begins at the margin
    for found in re.finditer(whole, (ROOT / path).read_text("utf-8"), re.MULTILINE | re.DOTALL):
        lines = found[0].rstrip().count("\n") + 1
        assert lines <= MOST_LINES or "# Longer than most, because " in found[0], f"{found[1]} has {lines} lines"


def test_tests_share_only_what_is_in_the_kit():
    tests = ROOT / "tests"
    others = {path.name for path in tests.iterdir() if path.is_dir()} | {path.stem for path in tests.rglob("test_*.py")}
    for path in tests.rglob("*.py"):
        for module, line in imports(ast.parse(path.read_text("utf-8"))):
            assert module.split(".")[0] not in others, f"{path.name}:{line} imports {module}; tests share tests/kit"


# What Windows lacks; typeshed's conditions on sys.platform say so, and `make check` has mypy read the package as there.
POSIX_MODULES = {"resource", "fcntl", "termios", "tty", "pty", "pwd", "grp", "syslog", "posix", "readline", "curses"}
POSIX_NAMES = {
    *("os.fork", "os.killpg", "os.getpgid", "os.setsid", "os.getuid", "os.geteuid", "os.nice", "os.getloadavg"),
    *("os.sched_getaffinity", "os.sched_setaffinity", "os.register_at_fork", "os.set_blocking"),
    *("os.pread", "os.pwrite"),
    *("os.mkfifo", "os.statvfs", "os.sysconf", "os.uname", "os.waitpid", "os.posix_fallocate", "os.posix_fadvise"),
    *("signal.SIGALRM", "signal.alarm", "signal.setitimer", "signal.SIGKILL", "signal.SIGHUP", "signal.SIGPIPE"),
    *("signal.pthread_sigmask", "signal.pthread_kill", "signal.SIGUSR1", "signal.SIGCHLD"),
    *("mmap.MAP_PRIVATE", "mmap.MAP_ANONYMOUS", "mmap.MADV_HUGEPAGE", "mmap.MADV_DONTNEED"),
}
# On Windows os.kill(process, 0) ends the process, and os.open(folder) fails.
DANGEROUS = {"os.kill"}


def unguarded(node: ast.AST, guarded: str = "") -> Iterator[tuple[str, int]]:
    """What only POSIX has, with its line, and no condition around it or before it that asks for the system."""
    for child in ast.iter_child_nodes(node):
        here = guarded
        if isinstance(child, ast.If | ast.IfExp):
            here += ast.unparse(child.test)
        elif isinstance(child, ast.BoolOp):
            here += ast.unparse(child.values[0])
        elif isinstance(node, ast.FunctionDef) and isinstance(child, ast.stmt):  # if sys.platform == "win32": … return
            before = [one for one in node.body if isinstance(one, ast.If) and one.lineno < child.lineno]
            here += "".join(ast.unparse(one.test) for one in before if isinstance(one.body[-1], ast.Return))
        name = ast.unparse(child) if isinstance(child, ast.Attribute) else ""
        if name in POSIX_NAMES | DANGEROUS and "sys.platform" not in here and f"'{name.split('.')[1]}')" not in here:
            yield name, child.lineno
        if isinstance(child, ast.Import | ast.ImportFrom) and "sys.platform" not in here:
            yield from (one for one in imports(child) if one[0].split(".")[0] in POSIX_MODULES)
        yield from unguarded(child, here)


@pytest.mark.parametrize("path", MODULES, ids=str)
def test_what_only_posix_has_is_guarded(path):
    assert list(unguarded(tree_of(path))) == []


def test_a_missing_guard_is_seen():
    bad = "import fcntl\ndef f():\n    os.killpg(1, 2)\n    return os.sched_getaffinity(0) if hasattr(os, 'x') else 1"
    assert [name for name, _ in unguarded(ast.parse(bad))] == ["fcntl", "os.killpg", "os.sched_getaffinity"]
    good = "def f():\n    if sys.platform == 'win32':\n        return\n    os.killpg(1, 2)"
    assert list(unguarded(ast.parse(good))) == []
