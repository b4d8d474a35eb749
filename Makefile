# make demo | test | test-all | test-spark | lint | bench | clean; everything happens in .venv, made with $(PYTHON).
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# Few modules of large libraries are imported, so compiling all of them would be half of the time.
INSTALL := $(BIN)/python -m pip install --quiet --disable-pip-version-check --no-compile -c constraints.txt
# A process for each processor, each with up to 1.5 GB; WORKERS=0 runs all tests in one. What takes longest is not
# known beforehand, so that processes that have run out of tests take some from the others.
WORKERS ?= auto
PYTEST := $(BIN)/python -m pytest --numprocesses $(WORKERS) --maxprocesses 8 --dist worksteal

.DEFAULT_GOAL := help
.PHONY: help demo test test-all test-spark lint bench clean

help:
	@echo "make demo      draw a synthetic census table and a picture of it into demo-output/"
	@echo "make test      run the tests that show most, in a few minutes"
	@echo "make test-all  run all tests"
	@echo "make test-spark  install pyspark and run the tests of Spark, which need Java"
	@echo "make lint      ruff and mypy"
	@echo "make bench     run a quick study and draw its page; docs/studies.md has all of them"
	@echo "make clean     remove .venv and caches"

demo: $(VENV)/.installed-pandas,report
	$(BIN)/syntabula demo --out demo-output

test: $(VENV)/.installed-test
	$(PYTEST) -m "not thorough"

test-all: $(VENV)/.installed-test
	$(PYTEST) $(OPTIONS)

# By itself, because pyspark takes half a minute to install and needs Java.
test-spark: $(VENV)/.installed-test,spark
	$(BIN)/python -m pytest -m spark -rs tests/contracts/test_spark.py

lint: $(VENV)/.installed-lint
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

bench: $(VENV)/.installed-test
	$(BIN)/syntabula bench run syntabula-methods --quick
	$(BIN)/syntabula bench show syntabula-methods --quick --page bench.html --force

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)

# One stamp for each set of extras, so that nothing is installed twice.
$(VENV)/.installed-%: pyproject.toml constraints.txt | $(BIN)/python
	$(INSTALL) --editable ".[$*]"
	@touch $@

clean:
	rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache .hypothesis demo-output
