# The two commands: `make demo` and `make test`. Both make their own virtual environment first.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
SOURCES := $(shell find src -name '_*_cy.py' -o -name '*.pxd' -o -name '*.h') setup.py pyproject.toml

.PHONY: help demo test build bench lint fuzz clean

help:
	@echo "make demo    train a tokenizer on Python's own library and look at it"
	@echo "make test    run every test"
	@echo "make bench   time tokenmill beside its peers"
	@echo "make lint    ruff, cython-lint, import-linter, mypy"
	@echo "make clean   remove what the others made"

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)

$(VENV)/.base: $(BIN)/python $(SOURCES)
	$(BIN)/python -m pip install --quiet --editable '.[play]'
	@touch $@

$(VENV)/.test: $(BIN)/python $(SOURCES)
	$(BIN)/python -m pip install --quiet --editable '.[all,test]'
	@touch $@ $(VENV)/.base

$(VENV)/.lint: $(VENV)/.test
	$(BIN)/python -m pip install --quiet --editable '.[lint]'
	@touch $@

$(VENV)/.bench: $(VENV)/.test
	$(BIN)/python -m pip install --quiet --editable '.[bench]'
	@touch $@

build: $(VENV)/.base

demo: $(VENV)/.base
	@$(BIN)/python -m tokenmill.cli.demo

test: $(VENV)/.test
	@scripts/setup_browser_tests.sh
	$(BIN)/python -m pytest

bench: $(VENV)/.bench
	$(BIN)/python -m benchmarks

lint: $(VENV)/.lint
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/cython-lint src
	$(BIN)/lint-imports
	$(BIN)/mypy

clean:
	rm -rf build dist $(VENV) demo-tokenizer src/*.egg-info
	find src -name '*.so' -delete
