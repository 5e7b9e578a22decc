# One command for each thing: `make demo` shows it, `make test` checks it.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
WEB := tests/web
# A worker for each core, and each worker on one thread: the models of the tests are too small to share.
PYTEST := OMP_NUM_THREADS=1 $(BIN)/pytest -n auto --dist loadfile

.PHONY: demo studio screenshots receipt setup test test-all mutants lint web format clean

demo: setup
	$(BIN)/vitrail demo --out runs/phrasebook

studio: setup
	test -e runs/phrasebook/model.safetensors || $(BIN)/vitrail demo --out runs/phrasebook
	$(BIN)/vitrail studio runs/phrasebook

screenshots: setup
	test -e runs/phrasebook/model.safetensors || $(BIN)/vitrail demo --out runs/phrasebook
	$(BIN)/python docs/screenshots.py runs/phrasebook --out docs/pictures
	$(BIN)/python docs/moving_picture.py runs/phrasebook --out docs/pictures/studio.gif

# The whole of a recipe, from its data to its test score, into its receipt: make receipt RECIPE=recipes/x.toml
# A student's: make receipt RECIPE=recipes/x-student.toml TEACHER=builtin KEEP_ORIGINAL=1
receipt: setup
	$(BIN)/python recipes/receipt.py $(RECIPE) --out runs/$(basename $(notdir $(RECIPE))) \
	  $(if $(TEACHER),--teacher $(TEACHER)) $(if $(KEEP_ORIGINAL),--keep-original)

test: setup lint web
	$(PYTEST) -m "not slow"

test-all: setup lint web
	$(PYTEST)

# Change the code of a package in one small way at a time, and see whether its tests notice: make mutants PACKAGE=decode
# It takes up to an hour, goes on where it was interrupted, and is described in docs/mutants.md.
mutants: setup
	@$(BIN)/python -c "import mutmut" 2>/dev/null || $(BIN)/pip install --quiet --editable ".[dev,mutants]"
	$(BIN)/python tests/mutants/run.py $(PACKAGE) $(if $(JOBS),--jobs $(JOBS))

setup: $(READY)

$(READY): pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --disable-pip-version-check --editable ".[dev]"
	touch $(READY)

lint: setup
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports

# The page's format, lint, types and pure functions. They need node, which using Vitrail does not: without it they are skipped.
NPM_INSTALL := npm install --silent --no-audit --no-fund --no-package-lock
web:
	@if command -v npm >/dev/null; then \
	  cd $(WEB) && $(NPM_INSTALL) && npm run --silent format:check && npm run --silent lint && \
	  npm run --silent types && npm test --silent; \
	else echo "node is not installed: the checks of the page's JavaScript are skipped"; fi

format: setup
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .
	@if command -v npm >/dev/null; then cd $(WEB) && $(NPM_INSTALL) && npm run --silent format; fi

clean:
	rm -rf $(VENV) $(WEB)/node_modules dist .pytest_cache .mypy_cache .ruff_cache .hypothesis
