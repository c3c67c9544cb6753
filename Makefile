# Every target sets up what it needs; nothing is done twice. `make help` lists them.
PYTHON ?= python3
BIN := .venv/bin
STAMP := .venv/.installed

.PHONY: help install demo library test test-all coverage mutants torture torture-quick lint format bench docs \
	gallery phone screenshots web lock licences audit clean

help:  ## list the targets
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*##/\t/' | expand -t 12

$(STAMP): pyproject.toml constraints.txt
	@test -x $(BIN)/python || $(PYTHON) -m venv .venv
	PIP_CONSTRAINT=constraints.txt PIP_BUILD_CONSTRAINT=constraints.txt \
		$(BIN)/pip install --quiet --disable-pip-version-check -e ".[dev]"
	@touch $@

install: $(STAMP)  ## create .venv and install feynkac with its development tools

demo: $(STAMP)  ## solve Black–Scholes, print the error table, draw the figures
	$(BIN)/feynkac demo

library: $(STAMP)  ## train all solutions of the library from scratch; run it again to resume
	$(BIN)/feynkac library train --all

test: $(STAMP)  ## the tests (under 8 minutes on 2 cores)
	$(BIN)/pytest -n 2 --dist worksteal -q

test-all: $(STAMP) lint  ## also the slow tests, and the linters
	$(BIN)/pytest -n 2 --dist worksteal -q -m ""

coverage: $(STAMP)  ## which lines and branches the tests reach
	$(BIN)/pytest -n 2 --dist worksteal -q --cov --cov-report=term:skip-covered

mutants: $(STAMP)  ## put small faults into the code: do the tests notice? (half an hour)
	$(BIN)/python benchmarks/mutants.py --count 100 --write

torture: $(STAMP)  ## try every promise by many faults, and write docs/reliability.md (an hour)
	$(BIN)/python -m benchmarks.torture --write

torture-quick: $(STAMP)  ## the same with a tenth of the cases
	$(BIN)/python -m benchmarks.torture --quick

lock: $(STAMP)  ## write the versions of all installed packages into constraints.txt
	$(BIN)/python benchmarks/lock.py

licences: $(STAMP)  ## print the licence of every package that feynkac uses
	$(BIN)/python benchmarks/lock.py --licences

audit: $(STAMP)  ## look up known vulnerabilities of all pinned packages; fails where it cannot
	@$(BIN)/python -c "import pip_audit" 2>/dev/null || $(BIN)/pip install --quiet pip-audit || \
		{ echo "not audited: pip-audit cannot be installed here"; exit 2; }
	$(BIN)/python -m pip_audit --no-deps --disable-pip -r constraints.txt || \
		{ echo "vulnerable, or not audited: see the lines above"; exit 1; }

lint: $(STAMP)  ## ruff and mypy
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: $(STAMP)  ## put the code into its standard form
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: $(STAMP)  ## time the training step and the Monte Carlo reference on this machine
	$(BIN)/python benchmarks/training_step.py
	$(BIN)/python benchmarks/reference_memory.py

docs: $(STAMP)  ## build the documentation into site/
	$(BIN)/zensical build --strict

gallery: $(STAMP)  ## execute the notebooks of docs/gallery and write their pages
	$(BIN)/python benchmarks/gallery.py

phone: docs  ## count what is wider than a phone, and formulas as text (needs chromium)
	$(BIN)/python benchmarks/phone.py

screenshots: $(STAMP)  ## run the commands of docs/first-minutes.md, take their pictures (tmux, chromium)
	$(BIN)/python benchmarks/screenshots.py

web:  ## build the explorer and the report's script into the package (needs Node)
	cd web && npm ci --silent --no-audit --no-fund && npm run --silent check && npm run --silent build

clean:  ## remove the environment and everything built
	rm -rf .venv web/node_modules site dist .pytest_cache .mypy_cache .ruff_cache .hypothesis
