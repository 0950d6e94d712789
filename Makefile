# make demo    see it work (DEMO=folder)  make check   lint, types, spelling
# make test    the quick tests            make bench   compiled kernels beside plain Python and NumPy/SciPy
# make test-full  all tests               make coverage   all tests, and which lines and branches they reach
# make test-long  all tests on new random examples, ten times as many: for the night
# make faults  kill, fill up, mutilate, flip bits, and count what was survived (FAULTS=some of them)
# make docs    the site, in build/site/html    make docs-check  opens its pages in a headless browser
# make fuzz    strange files for every reader, FUZZ_SECONDS=30 each (FUZZ=some of them)
# make wheels-check  build, repeat and try a wheel for every Python here (VERSIONS=some of them)
# make clean   forget all that was built; PYTHON=… chooses the interpreter
#
# Everything is installed into .venv, and again only when a source has changed.

SHELL   := /bin/bash
PYTHON  ?=
DEMO    ?= rampion-demo
BIN     := .venv/bin
PYTEST  := $(BIN)/pytest -n auto --dist loadfile --no-loadscope-reorder
PIP     := $(BIN)/python -m pip -qq --disable-pip-version-check install
listed  = $(shell sed -n 's/^$(1) = \[\(.*\)\]$$/\1/p' pyproject.toml | tr -d ',')
SOURCES := setup.py pyproject.toml MANIFEST.in README.md LICENSE \
  $(shell find rampion decoder ! -name __pycache__ ! -name '*.pyc' ! -name '*.so')

.PHONY: demo test test-full test-long coverage bench faults fuzz check docs docs-check wheels-check clean

demo: .venv/installed
	@$(BIN)/rampion demo --out $(DEMO)

test: .venv/installed
	@$(PYTEST) -m "not slow" --hypothesis-profile=quick

test-full: .venv/installed
	@$(PYTEST)

test-long: .venv/installed
	@$(PYTEST) --hypothesis-profile=long

coverage: .venv/installed .venv/coverage
	@rm -f build/coverage*
	@COVERAGE_PROCESS_START=$$PWD/pyproject.toml COVERAGE_FILE=$$PWD/build/coverage $(PYTEST)
	@$(BIN)/coverage combine -q
	@$(BIN)/coverage report

bench: .venv/installed
	@$(BIN)/pytest benchmarks/checks
	@$(BIN)/python benchmarks/run.py

faults: .venv/installed .venv/distributed
	@PYTHONPATH=$$PWD/tests/kit $(BIN)/python -P tests/faults.py $(FAULTS)

FUZZ_SECONDS ?= 30
fuzz: .venv/installed .venv/fuzzing
	@PYTHONPATH=$$PWD/tests/fuzz $(BIN)/python -P tests/fuzz/trials.py --seconds $(FUZZ_SECONDS) $(FUZZ)

check: .venv/installed .venv/checkers
	$(BIN)/ruff check .
	PATH=$(BIN):$$PATH cython-lint rampion decoder
	$(BIN)/codespell
	$(BIN)/zizmor --offline --quiet .github
	$(BIN)/check-jsonschema -q --builtin-schema vendor.github-workflows .github/workflows/*.yml
	$(BIN)/check-jsonschema -q --builtin-schema vendor.github-issue-forms .github/ISSUE_TEMPLATE/[!c]*.yml
	$(BIN)/check-jsonschema -q --builtin-schema vendor.dependabot .github/dependabot.yml
	cd tests && ../$(BIN)/mypy --config-file ../pyproject.toml
	cd tests && ../$(BIN)/mypy --config-file ../pyproject.toml --platform win32 --cache-dir .mypy_cache/win32

docs: .venv/installed .venv/documented
	@$(BIN)/python docs/site/build.py

docs-check: docs
	@$(BIN)/pytest docs/site/test_site.py

# One version: make wheels-check VERSIONS=3.12; no tests, and one build of all but the first: VERSIONS=--brief
wheels-check: .venv/installed
	@$(BIN)/python packaging/check_wheels.py $(VERSIONS)

clean:
	rm -rf .venv build dist *.egg-info rampion-demo

# The build's own requirements live in .venv: fresh copies of Cython's headers would make every module look outdated.
# All but compiled modules leaves the build folder first, so that no deleted file stays installed.
.venv/installed: .venv/made $(SOURCES)
	@echo "rampion: building and installing into .venv (the first time takes a minute)"
	@if [ -d build ]; then find build -path '*/lib.*' -type f ! -name '*.so' -delete; fi
	@$(PIP) $$($(BIN)/python -Pc 'import sys; sys.path.append("packaging"); import backend; print(*backend.NEEDS)')
	@$(PIP) --no-build-isolation '.[test]'
	@touch $@

.venv/distributed: .venv/made pyproject.toml
	@$(PIP) $(call listed,dask)
	@touch $@

# The groups of pyproject.toml may stand on several lines.
.venv/documented: .venv/made pyproject.toml
	@$(PIP) $$($(BIN)/python -Pc 'import tomllib; print(*tomllib.load(open("pyproject.toml", "rb"))["project"]["optional-dependencies"]["docs"])')
	@touch $@

.venv/coverage: .venv/made
	@$(PIP) 'coverage>=7.17'
	@touch $@

.venv/checkers: .venv/made pyproject.toml
	@echo "rampion: installing the checkers into .venv"
	@$(PIP) $(call listed,check)
	@touch $@

# Atheris guides fuzzing where there is a wheel of it; elsewhere it goes without.
.venv/fuzzing: .venv/made
	@$(PIP) --only-binary :all: 'atheris>=3' || echo "fuzzing goes without atheris"
	@touch $@

.venv/made:
	@for python in $(or $(PYTHON),python3 python3.14 python3.13 python3.12 python3.11); do \
	  "$$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && break; python=; \
	done; \
	[ "$$python" ] || { echo "rampion: needs Python 3.11 or newer, and found none; install it, or name it: make PYTHON=/path/to/python3"; exit 1; }; \
	"$$python" -c 'import ensurepip, venv' 2>/dev/null || { \
	  echo "rampion: $$python cannot make a virtual environment; install its venv module (Debian, Ubuntu: apt install python3-venv)"; exit 1; }; \
	echo "rampion: making .venv with $$("$$python" --version)"; \
	"$$python" -m venv --clear .venv
	@touch $@
