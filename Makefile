# What can be done here: `make help`. Everything happens in a virtual environment of its own, $(VENV).
#   PYTHON=python3.13   the interpreter that makes the environment (3.11 or newer)
#   VENV=.venvs/3.13    where it is made
#   JOBS=3              how many processes share the test suite; each has a database of its own
#   DATABASE_URL=…      a PostgreSQL 14+ to use; unset: an embedded one is started in .postgres/

PYTHON ?= python3
VENV ?= .venv
JOBS ?= 3
ARGS ?=

BIN := $(VENV)/bin
MANAGE := $(BIN)/python -m testproject
PORT ?= 8000
# The stamp of a complete environment: a change of the pins or of the project makes it anew.
READY := $(VENV)/.ready
# The same with what draws the plots.
BENCH_READY := $(VENV)/.ready-bench

.DEFAULT_GOAL := help
.PHONY: help install demo test test-long lint format format-check types layers migrations check run worker scheduler browser screenshots faults tlc evidence soak bench bench-full bench-report ci docs clean

help: ## List the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-13s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

install: $(READY) ## Set up the virtual environment

$(READY): pyproject.toml constraints.txt
	@command -v $(PYTHON) >/dev/null || { echo >&2 \
	  "There is no $(PYTHON) here. Install Python 3.11 or newer, or name yours: make $(MAKECMDGOALS) PYTHON=/path/to/python3"; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo >&2 \
	  "$(PYTHON) is `$(PYTHON) -V 2>&1`, but Conveyor needs Python 3.11 or newer. Install one and name it: make $(MAKECMDGOALS) PYTHON=python3.12"; exit 1; }
	@$(PYTHON) -c 'import venv, ensurepip' 2>/dev/null || { echo >&2 \
	  "$(PYTHON) cannot make virtual environments. On Debian and Ubuntu: apt install python3-venv (for another Python than the system's: python3.X-venv)"; exit 1; }
	@echo "Setting up $(VENV) with `$(PYTHON) -V`; this takes a minute, once."
	@$(PYTHON) -m venv --clear $(VENV)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt hatchling
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt \
	  --no-build-isolation --editable '.[dev]'
	@touch $@

$(BENCH_READY): $(READY)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt \
	  --no-build-isolation --editable '.[dev,bench]'
	@touch $@

demo: $(READY) ## 500 orders through killed and frozen workers, on an embedded PostgreSQL
	@$(MANAGE) demo $(ARGS)

test: $(READY) ## Run the test suite, but for the long ones, the faults and the browser (ARGS='-k name' for a part)
	$(BIN)/python -m pytest -n $(JOBS) --dist loadfile --no-loadscope-reorder -m 'not long and not fault and not browser' $(ARGS)

# One after the other: each is a load of its own.
test-long: $(READY) ## Run the long tests: many jobs, many seconds, many kills
	$(BIN)/python -m pytest -m long $(ARGS)

lint: $(READY) ## Look for mistakes
	$(BIN)/ruff check .

format: $(READY) ## Format the code and fix what can be fixed
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

format-check: $(READY) ## Fail if `make format` would change something
	$(BIN)/ruff format --check --output-format concise .

docs: $(READY) ## Build the documentation in docs/_build; a warning is an error
	$(BIN)/python -m sphinx -q -W --keep-going -b html docs docs/_build/html

# The plugin of django-stubs reads the settings; with a URL they start no database.
types: $(READY) ## Check the types
	DATABASE_URL=postgres:///unused $(BIN)/mypy

layers: $(READY) ## Check that imports go down the layers only
	$(BIN)/lint-imports

migrations: $(READY) ## Fail if the models have changes without a migration
	$(BIN)/python -W error -m testproject makemigrations --check --dry-run

check: lint format-check types layers migrations docs ## All checks but the tests

run: $(READY) ## Look around: the admin on http://localhost:8000/admin/ (PORT=… for another port)
	@$(MANAGE) prepare --port $(PORT)
	@$(MANAGE) runserver $(PORT)

worker: $(READY) ## Run a worker (ARGS='--queues orders')
	@$(MANAGE) conveyor_worker $(ARGS)

scheduler: $(READY) ## Run a scheduler alone
	@$(MANAGE) conveyor_scheduler $(ARGS)

screenshots: $(READY) ## Take the documentation's pictures of the admin anew, in a real Chromium
	CONVEYOR_SCREENSHOTS=docs/images $(BIN)/python -m pytest -m browser -q -k pictures tests/browser/test_sights.py

browser: $(READY) ## Use the admin in a real Chromium (CONVEYOR_BROWSER=/path/to/one; ARGS='-k retried' for a part)
	$(BIN)/python -m pytest -m browser -q $(ARGS)

# One after the other: each has a server and processes of its own. python -m tests.faults runs them with other numbers.
faults: $(READY) ## Break processes, server and network under 60 jobs, in every way there is (ARGS='-k kill' for a part)
	$(BIN)/python -m pytest -m fault -q $(ARGS)

tlc: $(READY) ## Check the TLA+ models, and that TLC finds what is wrong with each mutant (ARGS=Wakeup for a part)
	$(BIN)/python -m spec.run $(ARGS)

evidence: $(READY) ## Write the tables of docs/evidence.md from results/
	$(BIN)/python -m spec.evidence

soak: $(READY) ## 100,000 no-op jobs through one worker, none lost, none doubled; empties Conveyor's tables
	$(BIN)/python -m benchmarks.soak $(ARGS)

bench: $(READY) ## Conveyor beside three peers and its ceiling, two rounds of what is short, some minutes
	$(BIN)/python -m benchmarks.run --short --rounds 2 --peers conveyor pgqueuer oban procrastinate ceiling bare $(ARGS)

bench-full: $(READY) ## Conveyor beside every peer, five alternating rounds of everything, hours
	$(BIN)/python -m benchmarks.run --long --rounds 5 $(ARGS)

bench-report: $(BENCH_READY) ## Write the tables and plots of docs/performance.md (FILE=results/benchmarks-….json)
	$(BIN)/python -m benchmarks.report $(FILE)

ci: ## All that CI does: the checks, and the suite on three Pythons
	.ci/run

clean: ## Remove the environments, the embedded database and all caches
	rm -rf .venv .venvs .postgres build dist .hypothesis .mypy_cache .pytest_cache .ruff_cache .import_linter_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
