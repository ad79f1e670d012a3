# make demo     the main job, on a fresh machine with Python 3.11 or newer
# make test     lint, types, layers, and the tests that take seconds
# make test-all every test, those of servers, clusters and disturbed runs too
# make bench    the figures; make bench QUICK=1 for under five minutes
# make figures  drawings of papers 000, 003 and 004, into build/figures; QUICK=1 for fewer points

PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
READY  := $(VENV)/.ready
TESTS  := $(VENV)/.ready-tests
QUICK  ?=

.PHONY: demo test test-all lint bench figures ledgers docs clean

demo: $(READY)
	$(BIN)/tacit demo

test: $(TESTS) lint
	$(BIN)/python -m pytest --numprocesses 2 --dist loadfile --no-loadscope-reorder -m "not slow"

test-all: $(TESTS) lint
	$(BIN)/python -m pytest --numprocesses 2 --dist loadfile --no-loadscope-reorder

lint: $(TESTS)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

bench: $(TESTS)
	$(BIN)/python benchmarks/run.py $(if $(QUICK),--quick)

figures: $(TESTS)
	$(BIN)/python benchmarks/drawings.py $(if $(QUICK),--quick)
	$(BIN)/python benchmarks/elm_drawing.py build/figures $(if $(QUICK),--quick)
	$(BIN)/python benchmarks/consensus_drawing.py build/figures $(if $(QUICK),--quick)

# golden ledgers: read the diff before you commit it, each line is a disclosure
ledgers: $(TESTS)
	TACIT_WRITE_LEDGERS=1 $(BIN)/python -m pytest tests/conformance -k golden
	$(BIN)/python docs/make_disclosures.py
	git diff --stat -- tests/ledgers docs/disclosures.md

clean:
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache build dist

$(READY): pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "tacit needs Python 3.11 or newer: make PYTHON=python3.12 $(MAKECMDGOALS)"; exit 2; }
	@$(PYTHON) -m venv $(VENV) || { echo "$(PYTHON) cannot make a virtual environment: install your system's python3-venv package"; exit 2; }
	@echo "installing tacit into $(VENV) (once, about a minute)"
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable .
	@touch $@

$(TESTS): $(READY)
	@echo "installing what the tests need"
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev]'
	@touch $@
