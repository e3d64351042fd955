# What a person types. Every target calls `setup`, so a fresh clone needs nothing else.

SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help

# uv from the path if it is there, else one of our own in .uv/ (python3 may be older than we need:
# uv finds or fetches the Python that .python-version names).
UV := $(shell command -v uv 2>/dev/null || echo .uv/bin/uv)
PYTHON := .venv/bin/python
PYTEST := $(PYTHON) -m pytest
# Tests mostly wait for servers: two at once take half the time. A file stays with one worker, and a
# worker has one server for all its files.
WORKERS ?= -n 2 --dist loadfile

.PHONY: help setup serve demo test check format bench docs

help: ## Show this list
	@grep -hE '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z]+):.*## /  make \1\t/' | expand -t 16

setup: ## Install everything this project needs, inside this directory
	@.ci/setup "$(UV)"

serve: setup ## Start the server on 127.0.0.1:8000
	@exec $(PYTHON) -m agentserver serve $(ARGS)

demo: setup ## Start a server of its own and show a conversation that is paused, interrupted and resumed
	@exec $(PYTHON) -m agentserver demo $(ARGS)

test: setup ## Run every test
	@$(PYTEST) $(WORKERS) $(ARGS)

check: setup ## Format, lint, types, security, known vulnerabilities, Django's checks, architecture
	@.venv/bin/ruff format --check
	@.venv/bin/ruff check
	@.venv/bin/ty check
	@.venv/bin/bandit --quiet --recursive --configfile pyproject.toml agentserver conversations bashevents examples manage.py
	@.ci/audit "$(UV)"
	@data=$$(mktemp -d) && trap "rm -rf $$data" EXIT && \
	  OH_PERSISTENCE_DIR=$$data $(PYTHON) manage.py check && \
	  OH_PERSISTENCE_DIR=$$data $(PYTHON) manage.py makemigrations --check --dry-run
	@$(PYTEST) tests/architecture

format: setup ## Put every file into the project's form
	@.venv/bin/ruff format
	@.venv/bin/ruff check --fix

docs: setup ## Build the documentation into site/; any warning fails
	@$(PYTHON) .ci/reference.py settings
	@NO_MKDOCS_2_WARNING=1 .venv/bin/mkdocs build --strict --quiet

bench: setup ## Measure what the project promises; writes docs/performance.md
	@$(PYTEST) tests/benchmarks/bench_*.py -s $(ARGS)
	@$(PYTHON) .ci/performance.py
