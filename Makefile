# make demo     the main job, on a fresh machine with Python 3.11 or newer
# make demo-network  a whole study between processes of this machine, one of which is killed
# make test     the tests that take seconds
# make lint     style, types, layers
# make test-all those tests, then the others: servers, clusters, disturbed runs
# make bench    the figures; make bench QUICK=1 for under five minutes
# make docs     the documentation as a site, into build/site
# make dist     sdist and wheel, the same bytes from the same source, into dist
# make kit      one archive that installs on a machine without a network, into dist
# make lock     the versions that the tests run with, into requirements-dev.lock
# make sample   the dossier that the documentation shows, of a study between processes of this machine
# make gallery  the notebooks of docs/gallery, executed anew
# make house    counts lines, files, facts and names
# make results  measures what the pages of the papers show, into docs/results; QUICK=1 for less, ONLY="gram elm" for some
# make figures  drawings of paper 003, into build/figures; QUICK=1 for fewer points

PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
READY  := $(VENV)/.ready
NETWORK := $(VENV)/.ready-network
TESTS  := $(VENV)/.ready-tests
QUICK  ?=
# tests compare what parties compute bit for bit: OpenBLAS' kernels for AVX-512 differ by where arrays lie in memory
PINNED := $(if $(filter x86_64,$(shell uname -m)),OPENBLAS_CORETYPE=Haswell)

# workers and the processes that tests start read modules that were compiled before
unexport PYTHONDONTWRITEBYTECODE

.PHONY: demo demo-network test test-all lint bench house results figures ledgers docs generated gallery sample dist kit lock clean

demo: $(READY)
	$(BIN)/tacit demo

demo-network: $(NETWORK)
	$(BIN)/tacit demo --network

test: $(TESTS)
	$(PINNED) $(BIN)/python -m pytest --numprocesses 2 --dist worksteal -m "not slow"

# types as on the other systems, then the slow tests
test-all: test
	for system in darwin win32; do $(BIN)/mypy --platform $$system --cache-dir .mypy_cache/$$system || exit 1; done
	$(PINNED) $(BIN)/python -m pytest --numprocesses 2 --dist worksteal -m slow

lint: $(TESTS)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

bench: $(TESTS)
	$(BIN)/python benchmarks/run.py $(if $(QUICK),--quick)

# width is a cost: the same counts before and after a change
house: $(READY)
	$(BIN)/python tools/house.py

# hours in full; a page is drawn from what was measured last, and says how
results: $(TESTS)
	$(BIN)/python benchmarks/run.py $(if $(QUICK),--quick) --results docs/results --only $(or $(ONLY),$$($(BIN)/python docs/measured.py))

figures: $(TESTS)
	$(BIN)/python benchmarks/run.py $(if $(QUICK),--quick) --results build/figures --only elm_drawing

# the documentation as a site, into build/site; every warning is an error
docs: $(TESTS)
	$(BIN)/python -m sphinx -W --keep-going -q -b html docs build/site
	@echo "build/site/index.html"

# pages that are made by asking the code; minutes
generated: $(TESTS)
	cp src/tacit/consortium/site/examples/*.toml deploy/examples/
	$(BIN)/python docs/make_states.py
	$(BIN)/python docs/make_disclosures.py
	$(BIN)/python docs/make_matrix.py
	$(BIN)/python docs/make_advice.py

# notebooks with their output; read the diff before you commit it
gallery: $(TESTS)
	$(BIN)/python tools/gallery.py

# a signed dossier, with keys that are thrown away
sample: $(TESTS)
	$(BIN)/python tools/sample.py

# the date of the last commit is the date of every file inside, so that the same source gives the same bytes
dist: $(READY)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check 'build>=1.2'
	SOURCE_DATE_EPOCH=$$(git log -1 --format=%ct 2>/dev/null || echo 0) $(BIN)/python -m build --outdir dist

kit: docs
	$(BIN)/python tools/kit.py

# for every Python and system that pyproject.toml claims; versions that are there stay, unless they no longer fit:
# remove a line to raise one, or the file to raise all
lock: $(TESTS)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check 'uv>=0.5'
	$(BIN)/uv pip compile --quiet --universal --python-version 3.11 --extra dev --generate-hashes --no-header \
	  --no-emit-index-url --output-file requirements-dev.lock pyproject.toml

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

$(NETWORK): $(READY)
	@echo "installing what sites need to talk to each other"
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[nats]'
	@touch $@

$(TESTS): $(READY)
	@echo "installing what the tests need"
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev]'
	@touch $@
