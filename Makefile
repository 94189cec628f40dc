# Every target installs what it needs into .venv first: about 1 GB of wheels (Spark, a JVM, a C compiler), once. A machine
# needs Python 3.11+, git and make, and no root; `make check` needs more, see `make doctor`.
#
#   PYTHON=python3.12 make ...   another Python than the one that is found
#   VENV=/elsewhere make ...     another place for the virtual environment
#   PYTEST_ARGS='-k J3' make test

VENV ?= .venv
BIN := $(VENV)/bin
PYTEST_ARGS ?=
FOLDERS := spec impl diagrams conformance
ALONE := realtime or real_broker or spark
LONGEST := --durations=40 --durations-min=10
# One more than there are processors: a worker that waits for a process or a socket needs none.
WORKERS = $(shell expr $$(getconf _NPROCESSORS_ONLN) + 1)

# Where it is set, each process of the tests compiles what it imports anew.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: help install demo book test check nightly coverage lint style types imports unit format doctor clean

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
	@# The tests of a file stay together: they share what is costly to make. Files come in the order of the folders, not
	@# longest last: then one processor would work while the others wait.
	@$(BIN)/pytest -n $(WORKERS) --dist loadfile --no-loadscope-reorder -m "not exhaustive and not real_broker and not tools and not nightly" $(PYTEST_ARGS)
	@$(BIN)/groupspec doctor --left-out

check: install  ## what takes long, and what needs SPIN, Go, Node, Maven and a JDK: the real broker, built clients
	@echo "==> exhaustive tests, the real broker, and what needs other tools"
	@# What only computes has a worker for each processor. What waits for sockets, processes or brokers has them alone.
	@failed=0; \
	$(BIN)/pytest -n auto --dist loadfile -m "(exhaustive or tools) and not ($(ALONE)) and not nightly" $(LONGEST) $(PYTEST_ARGS) || failed=1; \
	$(BIN)/pytest -m "(exhaustive or tools or real_broker) and ($(ALONE)) and not nightly" $(LONGEST) $(PYTEST_ARGS) || failed=1; \
	exit $$failed

nightly: install  ## what takes longer still: twenty runs of everything, and what is committed computed anew to the end
	@echo "==> the longest tests"
	@$(BIN)/pytest -m nightly $(PYTEST_ARGS)

coverage: install  ## which branches of impl/core and impl/coordinator the general checks reach (a quarter of an hour)
	@.ci/measure-coverage $(VENV)

format: install  ## rewrite the sources in the project's style
	@$(BIN)/ruff check --fix .
	@$(BIN)/ruff format .

doctor: install  ## what this machine has and lacks, and what each lack costs
	@$(BIN)/groupspec doctor

clean:  ## remove .venv and everything that was built or cached
	rm -rf $(VENV) build out .groupspec .mypy_cache .pytest_cache .ruff_cache .hypothesis *.egg-info
