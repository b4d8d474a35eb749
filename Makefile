# make demo | test | lint | bench | clean; everything happens in .venv, made with $(PYTHON).
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
INSTALL := $(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt

.DEFAULT_GOAL := help
.PHONY: help demo test lint bench clean

help:
	@echo "make demo   draw a synthetic census table and a picture of it into demo-output/"
	@echo "make test   run the tests"
	@echo "make lint   ruff and mypy"
	@echo "make bench  run the benchmarks"
	@echo "make clean  remove .venv and caches"

demo: $(VENV)/.installed-pandas,report
	$(BIN)/syntabula demo --out demo-output

test: $(VENV)/.installed-test
	$(BIN)/python -m pytest

lint: $(VENV)/.installed-lint
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

bench: $(VENV)/.installed-test
	$(BIN)/python benchmarks/systems.py

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)

# One stamp for each set of extras, so that nothing is installed twice.
$(VENV)/.installed-%: pyproject.toml constraints.txt | $(BIN)/python
	$(INSTALL) --editable ".[$*]"
	@touch $@

clean:
	rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache .hypothesis demo-output
