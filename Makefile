# One command for each thing: `make demo` shows it, `make test` checks it.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready

.PHONY: demo studio setup test test-all lint format clean

demo: setup
	$(BIN)/vitrail demo --out runs/phrasebook

studio: setup
	test -e runs/phrasebook/model.safetensors || $(BIN)/vitrail demo --out runs/phrasebook
	$(BIN)/vitrail studio runs/phrasebook

setup: $(READY)

$(READY): pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --disable-pip-version-check --editable ".[dev]"
	touch $(READY)

test: setup lint
	$(BIN)/pytest -m "not slow"

test-all: setup lint
	$(BIN)/pytest

lint: setup
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports

format: setup
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

clean:
	rm -rf $(VENV) dist .pytest_cache .mypy_cache .ruff_cache .hypothesis
