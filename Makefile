# Everything that a contributor runs, and what CI runs. Start with `make try`.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
RUN := $(BIN)/python -m
ARGS ?=
# Tests wait for processes and databases more than they compute.
WORKERS ?= 3

.DEFAULT_GOAL := help
.PHONY: help try venv test check format-check lint types imports format bench clean

help: ## Show this list
	@sed -n 's/^\([a-z-]*\):.*## /\1\t/p' $(MAKEFILE_LIST) | expand -t 14

try: $(VENV)/.installed ## Capture SOURCE (default: this folder) into a throwaway home and ask it something
	@# Make hands the variables of its command line to the shell, which quotes them safely.
	@$(BIN)/python scripts/try.py "$${SOURCE:-.}" $${AGENTS:+--agents} $${QUESTION:+--question "$$QUESTION"}

venv: $(VENV)/.installed-dev ## Make .venv with everything that development needs

test: $(VENV)/.installed-dev ## Run the tests (ARGS="-k name" picks some)
	$(RUN) pytest -n $(WORKERS) --dist worksteal $(ARGS)

check: format-check lint types imports test ## What CI runs: format, lint, types, imports, tests

format-check: $(VENV)/.installed-dev
	$(RUN) ruff format --check .

lint: $(VENV)/.installed-dev ## Check style
	$(RUN) ruff check .

types: $(VENV)/.installed-dev ## Check types, with mypy --strict and with pyright
	$(RUN) mypy
	$(RUN) mypy --scripts-are-modules benchmarks/*.py scripts/*.py
	$(RUN) pyright --pythonpath $(BIN)/python

imports: $(VENV)/.installed-dev ## Check that dependencies point inwards
	$(BIN)/lint-imports

format: $(VENV)/.installed-dev ## Put the code into its format
	$(RUN) ruff format .
	$(RUN) ruff check --fix-only .

bench: ## List the benchmarks and how to run each
	@for file in benchmarks/*.py; do \
		sed -n "1s|^\"\"\"\([^\"]*\).*|$(BIN)/python $$file\n    \1|p" $$file; \
	done

clean: ## Delete what was built, installed and cached here
	rm -rf $(VENV) build dist *.egg-info .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "Chronofile needs Python 3.11 or newer; name one with PYTHON=python3.12" >&2; exit 1; }
	$(PYTHON) -m venv $(VENV)

$(VENV)/.installed: pyproject.toml | $(BIN)/python
	$(RUN) pip install --quiet --disable-pip-version-check --editable .
	@touch $@

$(VENV)/.installed-dev: pyproject.toml | $(BIN)/python
	$(RUN) pip install --quiet --disable-pip-version-check --editable '.[dev,documents]'
	@touch $@ $(VENV)/.installed
