"""Every kernel has a twin and a stub: the same functions, parameters and promise."""

from __future__ import annotations

import ast
import inspect
from importlib import import_module
from pathlib import Path

import pytest

import rampion
from rampion._kernels import MODULES

CORE = Path(rampion.__path__[0]) / "_core"


def functions_of(kernel):
    """The functions that Python can call."""
    return {name: value for name, value in vars(kernel).items() if callable(value) and not name.startswith("_")}


def parameters_of(function):
    return [(one.name, one.kind, one.default) for one in inspect.signature(function).parameters.values()]


@pytest.mark.parametrize("module", MODULES)
def test_twin_has_the_kernel_s_functions(module):
    kernel, twin = (import_module(f"rampion.{package}.{module}") for package in ("_core", "_reference"))
    assert f"rampion/_reference/{module}.py" in kernel.__doc__
    assert f"rampion/_core/{module}.pyx" in twin.__doc__
    kernels = functions_of(kernel)
    assert set(kernels) == set(MODULES[module])
    for name, function in kernels.items():
        assert parameters_of(function) == parameters_of(getattr(twin, name))
        assert function.__doc__
        assert inspect.getdoc(function) == inspect.getdoc(getattr(twin, name))


@pytest.mark.parametrize("module", MODULES)
def test_stub_has_the_kernel_s_functions(module):
    kernel = import_module(f"rampion._core.{module}")
    stub = ast.parse((CORE / f"{module}.pyi").read_text("utf-8"))
    stubs = {node.name: [one.arg for one in node.args.args] for node in stub.body if isinstance(node, ast.FunctionDef)}
    kernels = functions_of(kernel).items()
    assert stubs == {name: list(inspect.signature(function).parameters) for name, function in kernels}


def test_every_compiled_module_is_behind_the_door():
    assert {path.stem for path in CORE.glob("*.pyi")} == set(MODULES)
