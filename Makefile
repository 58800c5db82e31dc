# Needs Python ≥ 3.11, make and git; everything else comes into .venv, checked against the hashes in the lock files.
#   make demo     see Patchwright fix four real bugs: no key, no network
#   make test     every test               make check    lint, types, contracts, quick tests (a minute or two)
#   make stress   the same, harder         make bench    the benchmarks
#   make eval     measure the example suite
#   make coverage lines and branches       make release  build and try both packages; TAG=1 sets the tag
#   make lock     resolve the lock files   make clean    remove what make made
# PYTHON=… chooses the interpreter, VENV=… the environment's place, T="tests/tools -k edit" the tests.

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
MAKEFLAGS += --no-print-directory --no-builtin-rules
.SUFFIXES:
.DELETE_ON_ERROR:
.DEFAULT_GOAL := help

# Byte code is wanted: without it every start compiles again. The others would let a caller's set-up leak in.
unexport PYTHONDONTWRITEBYTECODE PYTHONPATH PYTHONHOME PYTHONSAFEPATH VIRTUAL_ENV

VENV ?= .venv
BIN := $(VENV)/bin
CODE := packages cli agent tools sandbox patchwright
T ?= tests
LOCK := $(BIN)/uv pip compile --quiet --no-config --universal --python-version 3.11 \
	--generate-hashes --no-annotate --custom-compile-command "make lock" $(if $(UPGRADE),--upgrade)
INSTALL := $(BIN)/python -m pip install --quiet --disable-pip-version-check --no-input --require-hashes
INSTALL_SELF := $(BIN)/python -m pip install --quiet --disable-pip-version-check --no-input \
	--no-deps --no-build-isolation --no-index --editable .
# Tests of the whole program take seconds each and often wait: one more at a time than two cores would do at once, and
# a file's tests in one worker share its set-up. The order of files is tests/conftest.py's.
WORKERS ?= 3
PYTEST_OPTIONS := -q -n $(WORKERS) --dist loadfile --no-loadscope-reorder
PYTEST := $(BIN)/python -m pytest $(PYTEST_OPTIONS)
SLOWEST := --durations 20 --durations-min 1
# How the last run of the tests ended, by pytest's exit code: .ci/run asks.
ENDED := .pytest_cache/ended

.PHONY: help demo test again check lint coverage stress bench eval lock release clean

help:
	@sed -n '2,8s/^# *//p' Makefile

demo: $(VENV)/.runs
	@$(BIN)/patchwright demo

test: $(VENV)/.develops
	@mkdir -p $(dir $(ENDED)); $(PYTEST) $(SLOWEST) $(T) && echo 0 >$(ENDED) || { status=$$?; echo $$status >$(ENDED); exit $$status; }

# The tests that failed last time, one after the other in a process of their own: what passes now is unstable.
again: $(VENV)/.develops
	@$(BIN)/python -m pytest -q -n 0 --last-failed --last-failed-no-failures none $(T)

check: lint
	@$(PYTEST) -m "not slow" $(T)

# Beside each other: the types of the whole take as long as all the rest. (No -O: the make of macOS has none.)
lint: $(VENV)/.develops
	@$(MAKE) --jobs 4 --keep-going lint-style lint-types lint-project-types lint-imports

.PHONY: lint-style lint-types lint-project-types lint-imports
lint-style:
	@$(BIN)/ruff check --quiet --output-format concise .
	@$(BIN)/ruff format --quiet --check . || { echo 'make lint: mend it with "$(BIN)/ruff format ."' >&2; exit 1; }

lint-types:
	@$(BIN)/mypy --no-error-summary

# What runs in a project's own Python.
lint-project-types:
	@$(BIN)/mypy --no-error-summary --python-version 3.13 packages/offline/repair/patchwright_worker tools/kernel/patchwright_kernel

lint-imports:
	@$(BIN)/lint-imports --no-logo >/dev/null || $(BIN)/lint-imports --no-logo

# Tracing makes everything slower: a test of a time limit may fail here and pass in `make test`, which judges the tests.
coverage: $(VENV)/.develops
	@$(BIN)/coverage erase
	@$(BIN)/coverage run -m pytest $(PYTEST_OPTIONS) --timeout 600 $(T) \
	  || echo 'make coverage: some tests failed; what they did not reach is missing below.' >&2
	@$(BIN)/coverage combine --quiet
	@$(BIN)/coverage report --sort=-miss | awk 'NR <= 22 || /^TOTAL|^Coverage failure/'

# PATCHWRIGHT_STRESS multiplies how many cases the randomised tests draw; the seed makes a failing run repeatable.
stress: SEED ?= $(shell date +%s)
stress: STRESS ?= 10
stress: $(VENV)/.develops
	@echo "seed $(SEED): repeat with make stress SEED=$(SEED) STRESS=$(STRESS)"
	@PATCHWRIGHT_STRESS=$(STRESS) PATCHWRIGHT_SEED=$(SEED) $(PYTEST) --timeout 900 --hypothesis-seed=$(SEED) $(T)

bench: $(VENV)/.develops
	@for each in benchmarks/*.py; do echo "── $$each"; $(BIN)/python "$$each"; done

# The example suite with the offline engine and scripted models; EVAL="--trials 3 -o json" passes options on.
eval: MODELS := examples/evaluation/models
eval: $(VENV)/.runs
	@$(BIN)/patchwright eval check examples/evaluation/suite
	@$(BIN)/patchwright eval run examples/evaluation/suite --model offline -o markdown $(EVAL) \
	  --model 'careful=scripted:$(MODELS)/careful/{task}.json' --model 'hasty=scripted:$(MODELS)/hasty/{task}.json'

# The two smaller locks follow the large one, so that no package has two versions. UPGRADE=1 takes newer versions.
lock: $(VENV)/.develops
	@$(LOCK) pyproject.toml --group dev --output-file requirements-dev.lock
	@$(LOCK) pyproject.toml --constraints requirements-dev.lock --output-file requirements.lock
	@$(LOCK) --constraints requirements-dev.lock --group build --output-file requirements-build.lock

# TAG=1 also sets the tag of the version; nothing is pushed or uploaded.
release: $(VENV)/.develops
	@VENV="$(VENV)" TAG="$(TAG)" .ci/release

clean:
	@rm -rf $(VENV) dist build .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis .coverage .coverage.* htmlcov
	@find $(CODE) tests benchmarks -name __pycache__ -type d -prune -exec rm -rf {} +

# .runs: what the program needs. .develops: that, and the tools of its developers.
$(VENV)/.runs: requirements.lock requirements-build.lock pyproject.toml patchwright/version.py | $(BIN)/python
	@echo "installing what Patchwright needs into $(VENV) …"
	@$(INSTALL) -r requirements.lock -r requirements-build.lock
	@$(INSTALL_SELF)
	@$(BIN)/python -m compileall -q $(CODE)
	@touch $@

$(VENV)/.develops: requirements-dev.lock pyproject.toml patchwright/version.py | $(BIN)/python
	@echo "installing what Patchwright's developers need into $(VENV) …"
	@$(INSTALL) -r requirements-dev.lock
	@$(INSTALL_SELF)
	@$(BIN)/python -m compileall -q $(CODE)
	@touch $@ $(VENV)/.runs

# A python3.13 on the path may be a shim that does not run: each is asked, the first that answers is taken.
$(BIN)/python:
	@for each in $(or $(PYTHON),python3.13 python3.12 python3.11 python3); do \
	  if "$$each" -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then \
	    "$$each" -m venv "$(VENV)"; exit 0; \
	  fi; \
	done; \
	echo 'make: no Python 3.11 or newer with venv and ensurepip was found (tried: $(or $(PYTHON),python3.13 python3.12 python3.11 python3)).' >&2; \
	echo '  Install one (Debian, Ubuntu: apt install python3 python3-venv), or name it: make $(or $(MAKECMDGOALS),demo) PYTHON=/path/to/python3' >&2; \
	exit 1
