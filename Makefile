# Every target sets up what it needs: `make demo` and `make test` work on a machine that has Python 3.11+, git and make,
# without root. The first run downloads about 1 GB of wheels into .venv (Spark, a JVM, a C compiler); later runs start at
# once.
#
#   PYTHON=python3.12 make ...   another Python than the one that is found
#   VENV=/elsewhere make ...     another place for the virtual environment
#   PYTEST_ARGS='-k J3' make test

SHELL := /bin/sh
VENV ?= .venv
BIN := $(VENV)/bin
PYTEST_ARGS ?=
FOLDERS := spec impl diagrams conformance

# pyspark starts workers by this name; never a python that lies elsewhere on the PATH.
export PYSPARK_PYTHON := $(abspath $(BIN))/python
export SPARK_LOCAL_IP := 127.0.0.1

.DEFAULT_GOAL := help
.PHONY: help install demo book test check nightly lint style types imports unit format doctor clean

help:  ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-10s %s\n", $$1, $$2}' Makefile

install: $(VENV)/dependencies  ## set up .venv, or refresh it when files were added or removed
	@.ci/refresh-install $(VENV) $(FOLDERS)

$(VENV)/dependencies: pyproject.toml constraints.txt .ci/make-venv
	@.ci/make-venv $(VENV)

demo: install  ## the whole idea, working, on real parts; ends with the path of an HTML report
	@$(BIN)/groupspec demo

book: install  ## the whole specification as a static site: out/book/index.html
	@$(BIN)/groupspec book

test: lint unit  ## everything that is quick: style, types, imports, tests (at most 6 minutes)

lint: style types imports  ## style, types, and who imports whom

style: install
	@echo "==> style"
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .

types: install
	@echo "==> types"
	@$(BIN)/mypy

imports: install
	@echo "==> who imports whom"
	@$(BIN)/lint-imports --no-logo

unit: install
	@echo "==> tests"
	@# A worker for each processor; the tests of a file stay together, because they share what is costly to make.
	@# In the order of the folders: what takes long is not left to the end, where one processor would wait for it.
	@$(BIN)/pytest -n auto --dist loadfile --no-loadscope-reorder -m "not exhaustive and not real_broker and not tools and not nightly" $(PYTEST_ARGS)
	@$(BIN)/groupspec doctor --left-out

check: install  ## what takes long, and what needs SPIN, Go, Maven and a JDK: the real broker, Java and Go clients
	@echo "==> exhaustive tests, the real broker, and what needs other tools"
	@$(BIN)/pytest -m "(exhaustive or real_broker or tools) and not nightly" --durations=40 --durations-min=10 $(PYTEST_ARGS)

nightly: install  ## what takes longer still: twenty runs of everything, and what is committed computed anew to the end
	@echo "==> the longest tests"
	@$(BIN)/pytest -m nightly $(PYTEST_ARGS)

format: install  ## rewrite the sources in the project's style
	@$(BIN)/ruff check --fix .
	@$(BIN)/ruff format .

doctor: install  ## what this machine has and lacks, and what each lack costs
	@$(BIN)/groupspec doctor

clean:  ## remove .venv and everything that was built or cached
	rm -rf $(VENV) build out .groupspec .mypy_cache .pytest_cache .ruff_cache .hypothesis *.egg-info
