# The verbs of this project, the same here and in CI. `make help` lists them.
.DEFAULT_GOAL := help
SHELL := /bin/bash
PYTHON ?= python3
VENV ?= .venv
RUN := $(VENV)/bin
NEEDS := setup.cfg setup.py pyproject.toml $(shell find sparc_search -name "*.c")
AS_ROOT := $(if $(filter 0,$(shell id -u)),,sudo -n)
TEST_EXTRAS := dev,torch,parquet,wikipedia,office,eval

# Stamp files: an environment that is up to date costs nothing the second time.
$(VENV)/.made:
	@$(PYTHON) -c 'import sys; sys.exit("Python 3.11 or newer is needed: make PYTHON=python3.12 …" if sys.version_info < (3, 11) else 0)'
	@echo "Making an environment in $(VENV) ..."
	@$(PYTHON) -m venv $(VENV)
	@touch $@

$(VENV)/.core: $(VENV)/.made $(NEEDS)
	@echo "Installing sparc-search and what it needs (about 360 MB: this takes a few minutes) ..."
	@set -o pipefail; $(RUN)/python -m pip install --progress-bar off --editable . \
	  | awk '/^ *(Downloading|Using cached|Installing)/ { print "  " substr($$0 "", 1, 100); fflush() }'
	@touch $@

$(VENV)/.dev: $(VENV)/.made $(NEEDS)
	$(RUN)/python -m pip install --quiet --editable '.[dev]'
	@touch $@ $(VENV)/.core

$(VENV)/.test: $(VENV)/.made $(NEEDS)
	$(RUN)/python -m pip install --quiet --editable '.[$(TEST_EXTRAS)]'
	@touch $@ $(VENV)/.core $(VENV)/.dev

# A browser for the tests of the pages: Debian's, if there is none and this user may install one. Where that fails, those
# tests name what they need and are left out (with REQUIRE_ALL=1 that is a failure).
$(VENV)/.browser: $(VENV)/.made
	@command -v chromium chromium-browser google-chrome > /dev/null \
	  || { command -v apt-get > /dev/null && echo "Installing chromium, for the tests in a browser" \
	       && { $(AS_ROOT) apt-get install --yes -qq chromium > /dev/null 2>&1 \
	            || { $(AS_ROOT) apt-get update -qq && $(AS_ROOT) apt-get install --yes -qq chromium > /dev/null; }; }; } \
	  || echo "There is no Chromium here, and none could be installed"
	@command -v chromium chromium-browser google-chrome > /dev/null && touch $@ || true

.PHONY: help demo test test-fast check bench docs format clean

help: ## this list
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## /\1\t/' | expand -t 11

demo: ## from nothing to answers: environment, sample corpus, a handful of questions
	@SECONDS=0; $(MAKE) --no-print-directory $(VENV)/.core && DEMO_SECONDS=$$SECONDS $(RUN)/python tools/demo.py

test: $(VENV)/.test $(VENV)/.browser ## the whole test suite, with all extras (PYTEST_ARGS="…" to choose)
	$(RUN)/python tools/test.py $(PYTEST_ARGS)

test-fast: $(VENV)/.dev ## the tests that need no server, torch, browser or patience: before each commit
	$(RUN)/python tools/test.py --fast $(PYTEST_ARGS)

check: $(VENV)/.dev ## ruff, format, mypy --strict, layering, docs
	$(RUN)/ruff check .
	$(RUN)/ruff format --check .
	$(RUN)/python tools/typecheck.py
	$(RUN)/python tools/layering.py
	$(RUN)/python tools/docs.py

bench: $(VENV)/.test ## measure speed and size on this machine
	$(RUN)/python -m tools.bench $(BENCH_ARGS)
	$(RUN)/python -m tools.bench_opensearch

docs: $(VENV)/.dev ## write the parts of the documentation that are made from the code
	$(RUN)/python tools/docs.py --write

format: $(VENV)/.dev ## put the code into its form
	$(RUN)/ruff check --fix .
	$(RUN)/ruff format .

clean: ## remove everything that the other verbs made
	rm -rf $(VENV) build dist *.egg-info .sparc-search/demo* .mypy_cache .ruff_cache .pytest_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
