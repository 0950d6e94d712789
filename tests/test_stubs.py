"""Every kernel has a twin and a stub: the same functions, parameters and promise."""

from __future__ import annotations

import ast
import inspect
from importlib import import_module
from pathlib import Path

import pytest

import decoder._kernels
import rampion._kernels

DOORS = {"rampion": rampion._kernels.MODULES, "decoder": decoder._kernels.MODULES}
CORES = {package: Path(import_module(package).__path__[0]) / "_core" for package in DOORS}
KERNELS = [(package, module) for package, modules in DOORS.items() for module in modules]


def functions_of(kernel):
    """The functions that Python can call."""
    return {name: value for name, value in vars(kernel).items() if callable(value) and not name.startswith("_")}


def parameters_of(function):
    return [(one.name, one.kind, one.default) for one in inspect.signature(function).parameters.values()]


@pytest.mark.parametrize(("package", "module"), KERNELS)
def test_twin_has_the_kernel_s_functions(package, module):
    kernel, twin = (import_module(f"{package}.{folder}.{module}") for folder in ("_core", "_reference"))
    assert f"{package}/_reference/{module}.py" in kernel.__doc__
    assert f"{package}/_core/{module}.pyx" in twin.__doc__
    kernels = functions_of(kernel)
    assert set(kernels) == set(DOORS[package][module])
    for name, function in kernels.items():
        assert parameters_of(function) == parameters_of(getattr(twin, name))
        assert function.__doc__
        assert inspect.getdoc(function) == inspect.getdoc(getattr(twin, name))


@pytest.mark.parametrize(("package", "module"), KERNELS)
def test_stub_has_the_kernel_s_functions(package, module):
    kernel = import_module(f"{package}._core.{module}")
    stub = ast.parse((CORES[package] / f"{module}.pyi").read_text("utf-8"))
    stubs = {node.name: [one.arg for one in node.args.args] for node in stub.body if isinstance(node, ast.FunctionDef)}
    kernels = functions_of(kernel).items()
    assert stubs == {name: list(inspect.signature(function).parameters) for name, function in kernels}


@pytest.mark.parametrize("package", DOORS)
def test_every_compiled_module_is_behind_the_door(package):
    assert {path.stem for path in CORES[package].glob("*.pyi")} == set(DOORS[package])
