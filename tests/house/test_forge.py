"""The forge's workflows: what they run is pinned, may do little, and fits the project."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
WORKFLOWS = {path.name: path.read_text() for path in sorted((ROOT / ".github/workflows").glob("*.yml"))}
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
VERSIONS = re.findall(r"Python :: (3\.\d+)", "\n".join(PROJECT["project"]["classifiers"]))
each = pytest.mark.parametrize("workflow", WORKFLOWS.values(), ids=WORKFLOWS)


def jobs_of(workflow: str) -> list[str]:
    """The text of each job."""
    return re.split(r"^  (?=[\w-]+:$)", workflow.split("\njobs:\n")[1], flags=re.MULTILINE)[1:]


ASKED = re.compile(r"^    permissions:\n(      [\w-]+: (read|write)  # .+\n)+", re.MULTILINE)
ENDING = re.compile(r"^    (timeout-minutes: \d+|uses: \./.*)$", re.MULTILINE)


def test_there_are_workflows():
    assert set(WORKFLOWS) == {"release.yml", "site.yml", "test.yml", "wheels.yml"}


@each
def test_foreign_actions_are_pinned_by_hash_with_a_version(workflow):
    for used in re.findall(r"\buses:\s*(.*)", workflow):
        if used.startswith("./"):
            assert (ROOT / used.split()[0]).is_file()
        else:
            assert re.fullmatch(r"[\w.-]+/[\w./-]+@[0-9a-f]{40}  # v\d+\.\d+\.\d+", used)


def test_an_action_has_one_hash():
    pins = {pin for workflow in WORKFLOWS.values() for pin in re.findall(r"uses: ([^.].*)", workflow)}
    assert len({pin.split("@")[0] for pin in pins}) == len(pins)


@each
def test_permissions_are_none_until_a_job_asks(workflow):
    assert "\npermissions: {}\n" in workflow
    assert all(ASKED.search(text) for text in jobs_of(workflow))


@each
def test_credentials_are_not_kept_and_jobs_end(workflow):
    assert workflow.count("actions/checkout@") == workflow.count("persist-credentials: false")
    assert "\nconcurrency:\n" in workflow
    assert all(ENDING.search(text) for text in jobs_of(workflow))


def test_only_the_jobs_that_publish_may_write():
    writing = [name for name, workflow in WORKFLOWS.items() if re.search(r": write\b", workflow)]
    assert writing == ["release.yml", "site.yml"]
    jobs = [text.split(":")[0] for name in writing for text in jobs_of(WORKFLOWS[name]) if ": write" in text]
    assert jobs == ["publish", "announce", "publish"]


@each
def test_make_targets_exist(workflow):
    targets = set(re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    named = re.findall(r"^ *(?:run: )?make ([\w-]+)", workflow, re.MULTILINE)
    assert targets.issuperset(named)


def test_pythons_are_those_of_the_project():
    listed = re.search(r"python: (\[.*\])", WORKFLOWS["test.yml"])
    assert listed is not None
    assert re.findall(r"3\.\d+", listed[1]) == VERSIONS
    assert PROJECT["project"]["requires-python"] == f">={VERSIONS[0]}"
    built = " ".join(f"cp{version.replace('.', '')}-*" for version in VERSIONS)
    assert f"CIBW_BUILD: ${{{{ matrix.build || '{built}' }}}}" in WORKFLOWS["wheels.yml"]


def test_the_conda_recipe_is_of_this_version_and_needs_the_same():
    recipe = (ROOT / "packaging/conda/recipe.yaml").read_text()
    assert f'\n  version: "{PROJECT["project"]["version"]}"\n' in recipe
    host, run = (recipe.split(f"\n  {part}:\n")[1].split("\n\n")[0].split("\n  run:")[0] for part in ("host", "run"))
    needs = {line.strip(" -").replace(" ", "") for line in run.splitlines()} - {"python"}
    assert needs == set(PROJECT["project"]["dependencies"])
    built = {line.strip(" -").replace(" ", "") for line in host.splitlines()} - {"python", "pip"}
    assert built == set(re.findall(r'"(\S+>=\S+)"', (ROOT / "packaging/backend.py").read_text().lower()))
