"""Kernel, twin and door agree: the same functions, parameters and docstrings."""

from __future__ import annotations

import ast
import inspect
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules

import pytest
import rampion.decoder._kernels

import rampion._kernels

DOORS = {"rampion": rampion._kernels, "rampion.decoder": rampion.decoder._kernels}
CORES = {package: Path(door.__file__).parent / "_core" for package, door in DOORS.items()}
KERNELS = [(package, module) for package, door in DOORS.items() for module in door.MODULES]


def functions_of(kernel):
    """The functions that Python can call."""
    return {name: value for name, value in vars(kernel).items() if callable(value) and not name.startswith("_")}


def parameters_of(function):
    return [(one.name, one.kind, one.default) for one in inspect.signature(function).parameters.values()]


def typed_imports(door):
    """What type checkers import: the functions of every module."""
    tree = ast.parse(Path(door.__file__).read_text("utf-8"))
    branch = next(node for node in tree.body if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING")
    return {node.module: tuple(alias.name for alias in node.names) for node in branch.body}


@pytest.mark.parametrize(("package", "module"), KERNELS)
def test_twin_has_the_kernel_s_functions(package, module):
    kernel, twin = (import_module(f"{package}.{folder}.{module}") for folder in ("_core", "_reference"))
    folder = package.split(".")[-1]
    assert f"{folder}/_reference/{module}.py" in kernel.__doc__
    assert f"{folder}/_core/{module}.pyx" in twin.__doc__
    kernels = functions_of(kernel)
    assert set(kernels) == set(DOORS[package].MODULES[module])
    for name, function in kernels.items():
        assert parameters_of(function) == parameters_of(getattr(twin, name))
        assert function.__doc__
        assert inspect.getdoc(function) == inspect.getdoc(getattr(twin, name))


@pytest.mark.parametrize("package", DOORS)
def test_type_checkers_see_the_twin_of_every_kernel(package):
    expected = {f"{package}._reference.{module}": names for module, names in DOORS[package].MODULES.items()}
    assert typed_imports(DOORS[package]) == expected


@pytest.mark.parametrize("package", DOORS)
def test_every_compiled_module_is_behind_the_door(package):
    compiled = {module.name for module in iter_modules([str(CORES[package])])}
    assert compiled - {"_shared"} == set(DOORS[package].MODULES)
