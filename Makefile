# Two commands set everything up: `make demo` and `make test`. Each installs what it needs first.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed

.PHONY: setup demo test lint types check bench flower clean

setup: $(STAMP)

$(STAMP): pyproject.toml constraints.txt $(wildcard */pyproject.toml)
	@$(PYTHON) -c 'import sys; sys.exit("recallite needs Python 3.11 or newer, this is " + sys.version.split()[0] if sys.version_info < (3, 11) else 0)'
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt \
		--editable 'search[builtin,openai,gemini,redis,mcp]' --editable 'worker[redis,flower]' --editable producer
	@touch $(STAMP)

$(VENV)/.installed-dev: $(STAMP) requirements-dev.txt
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt -r requirements-dev.txt
	@touch $@

demo: $(STAMP)
	@$(BIN)/python examples/demo/demo.py

test: $(VENV)/.installed-dev
	$(BIN)/python -m pytest

lint: $(VENV)/.installed-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports

types: $(VENV)/.installed-dev
	$(BIN)/mypy

check: lint types test

bench: $(VENV)/.installed-dev
	$(BIN)/python -m benchmarks

flower: $(STAMP)
	$(BIN)/recallite flower

clean:
	rm -rf $(VENV) .demo
