# The two commands of a newcomer are `make demo` and `make test`; everything installs itself into .venv.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/pip --disable-pip-version-check -q

# Real data sets for the tests that use them; without the folder those tests are skipped with a reason.
ifneq ($(wildcard ../shared/data),)
export PLURIVOX_TEST_DATA ?= $(abspath ../shared)
endif

# Python is started hundreds of times, and each worker reads every test: what was compiled once is kept.
export PYTHONDONTWRITEBYTECODE :=

.PHONY: help demo test test-slow test-claims proof fuzz check bench docs release test-release lock clean model-server

help:
	@echo "make demo    set up, simulate a rating study and write a report on it"
	@echo "make test    set up and run the tests except the slow ones"
	@echo "make test-slow   run the slow tests: waits in real time, browsers, the frozen corpus (minutes)"
	@echo "make test-claims   measure how often simulated studies claim a difference and intervals contain the truth (minutes)"
	@echo "make proof   the same with STUDIES=300 of each design, and write the tables of docs/claims.md (hours)"
	@echo "make fuzz    feed damaged input to everything that reads, for SECONDS=120, starting at SEED=0"
	@echo "make check   formatting, lint, types, layers, sizes"
	@echo "make bench   compare speed and memory with other methods, in one run"
	@echo "make docs    build the documentation as a site"
	@echo "make release   build the source distribution and the wheel twice, compare and check them, into dist/"
	@echo "make test-release   try them in clean environments: no extras, all, oldest dependencies, every Python here"
	@echo "make lock    pin the requirement files again"
	@echo "make model-server   install a real model server, which make test-slow then also asks (torch: large)"

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit("plurivox needs Python 3.11 or newer, this is " + sys.version.split()[0]) if sys.version_info < (3, 11) else None'
	$(PYTHON) -m venv $(VENV)

$(VENV)/.core: requirements/core.txt requirements/build.txt pyproject.toml | $(BIN)/python
	@echo "Installing plurivox into $(VENV) …"
	$(PIP) install --require-hashes -r requirements/core.txt -r requirements/build.txt
	$(PIP) install --no-deps --no-build-isolation -e .
	@touch $@

$(VENV)/.dev: requirements/dev.txt $(VENV)/.core
	@echo "Installing the development tools …"
	$(PIP) install --require-hashes -r requirements/dev.txt
	@rm -rf $(VENV)/lib/python3.*/site-packages/tests  # ppi-python installs its own tests under this name, which hide ours
	@touch $@

# PyTorch for the tests of losses and predictors. Where it cannot be installed they are skipped; TORCH=no leaves it out.
$(VENV)/.torch: requirements/torch.txt $(VENV)/.dev
	@if [ "$(TORCH)" = no ]; then echo "Without PyTorch; tests that need it are skipped."; else \
		echo "Installing PyTorch …"; \
		$(PIP) install -r requirements/torch.txt && touch $@ || \
		echo "PyTorch could not be installed; tests that need it are skipped."; fi

# A real browser for the tests that open the report. Where it is missing and cannot be installed they are skipped.
$(VENV)/.browser: | $(BIN)/python
	@if command -v chromium >/dev/null; then :; \
	elif command -v apt-get >/dev/null && [ "$$(id -u)" = 0 ]; then \
		echo "Installing Chromium for the browser tests …"; \
		(apt-get update -q && DEBIAN_FRONTEND=noninteractive apt-get install -qy --no-install-recommends chromium \
			fonts-liberation) \
			>$(VENV)/browser.log 2>&1 || echo "Chromium could not be installed, see $(VENV)/browser.log"; \
	else echo "There is no Chromium here; tests that need a browser are skipped."; fi
	@touch $@

# Workers begin with files far apart and take tests from each other at the end, so that few files are set up twice.
WORKERS := -n auto --dist worksteal
# Each worker stays on a core of its own (tests/conftest.py), where threads of libraries would only wait for each other.
ONE_THREAD := POLARS_MAX_THREADS=1 OMP_NUM_THREADS=1

demo: $(VENV)/.core
	$(BIN)/plurivox demo

test: $(VENV)/.dev $(VENV)/.torch
	$(ONE_THREAD) $(BIN)/python -m pytest $(WORKERS) -m "not slow and not claims"

# What takes minutes and is seldom broken by a change: simulations, waits in real time, browsers, the frozen corpus.
# A third of the time is spent waiting, so that there is one worker more than there are cores.
test-slow: $(VENV)/.dev $(VENV)/.torch $(VENV)/.browser
	$(ONE_THREAD) PYTEST_XDIST_AUTO_NUM_WORKERS=$$(($$(getconf _NPROCESSORS_ONLN) + 1)) $(BIN)/python -m pytest $(WORKERS) -m slow

# How often a difference is claimed where there is none, how often it is found where there is, and what intervals hold.
test-claims: $(VENV)/.dev
	$(ONE_THREAD) $(BIN)/python -m pytest $(WORKERS) -m claims

# The same with as many studies as the documentation tells of; its tables are written with the date. It takes hours.
STUDIES ?= 300
proof: $(VENV)/.dev
	PYTHONPATH=tests $(ONE_THREAD) $(BIN)/python -m claims.proof $(STUDIES)
	PLURIVOX_PROOF=yes $(ONE_THREAD) $(BIN)/python -m pytest $(WORKERS) -m claims

# Every exception that is not ours is a failure; the files of its case stay in fuzz-failures/.
SECONDS ?= 120
SEED ?= 0
fuzz: $(VENV)/.dev
	PYTHONPATH=tests $(BIN)/python -m fuzz --seconds $(SECONDS) --seed $(SEED)

# Optional: without it the test that asks a real model is skipped.
model-server: $(VENV)/model-server/.done
$(VENV)/model-server/.done: requirements/model-server.txt | $(BIN)/python
	@echo "Installing a model server …"
	$(PYTHON) -m venv $(VENV)/model-server
	$(VENV)/model-server/bin/pip --disable-pip-version-check -q install -r requirements/model-server.txt
	@touch $@

check: $(VENV)/.dev
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python -m tools.size --check

bench: $(VENV)/.dev $(VENV)/.torch
	$(BIN)/python -m benchmarks.starting
	$(BIN)/python -m benchmarks.reading
	$(BIN)/python -m benchmarks.files
	$(BIN)/python -m benchmarks.cohesion
	$(BIN)/python -m benchmarks.scale --largest 1e8
	$(BIN)/python -m benchmarks.cost
	$(BIN)/python -m benchmarks.variation
	$(BIN)/python -m benchmarks.responsiveness
	$(BIN)/python -m benchmarks.psychometrics
	$(BIN)/python -m benchmarks.aggregate
	$(BIN)/python -m benchmarks.plan
	$(BIN)/python -m benchmarks.soft
	$(BIN)/python -m benchmarks.ask
	$(BIN)/python -m benchmarks.answers
	$(BIN)/python -m benchmarks.alignment
	$(BIN)/python -m benchmarks.texts
	$(BIN)/python -m benchmarks.losses
	$(BIN)/python -m benchmarks.stars
	$(BIN)/python -m benchmarks.convabuse

# Nothing is fetched, every warning is an error, and blocks and pictures are made by running them.
docs: $(VENV)/.dev $(VENV)/.torch
	$(BIN)/python -m sphinx -W --keep-going -q -b html -d docs/_build/doctrees docs docs/_build/html
	@echo "Open docs/_build/html/index.html"

$(VENV)/.release: requirements/release.txt $(VENV)/.dev
	$(PIP) install --require-hashes -r requirements/release.txt
	@touch $@

release: $(VENV)/.release
	$(BIN)/python -m tools.release

# PYTHONS names further interpreters, each as a command, divided by commas; tools/debian_pythons.sh makes some.
test-release: release
	$(BIN)/python -m tools.environments --pythons "$(PYTHONS)"

# The lock files name packages, versions and hashes, never an address.
LOCK := $(BIN)/pip-compile -q --generate-hashes --allow-unsafe --strip-extras --no-header --annotation-style line \
	--no-emit-index-url --no-emit-trusted-host --no-emit-find-links --no-emit-options --upgrade
lock: $(BIN)/python
	$(PIP) install pip-tools
	$(LOCK) --extra report pyproject.toml -o requirements/core.txt
	$(LOCK) requirements/build.in -o requirements/build.txt
	$(LOCK) requirements/dev.in -o requirements/dev.txt
	$(LOCK) requirements/release.in -o requirements/release.txt

clean:
	rm -rf $(VENV) dist docs/_build docs/api docs/pictures plurivox-demo .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
