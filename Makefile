# Two commands on a machine with only Python 3.10+ and its pip:  make demo  and  make test.
# Both are safe to repeat; the second time nothing is installed or built again.

PYTHON ?= python3
VENV ?= .venv
DOC ?=

PY := $(VENV)/bin/python
INSTALLED := $(VENV)/.installed
# What builds the artefacts, in this order. The unigram prior ships with vtc: another corpus would be another prior.
BUILDERS := render.atlas codebooks.table

.DEFAULT_GOAL := help
.PHONY: help setup llm artefacts demo peers browser test lint results clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "make %-10s %s\n", $$1, $$2 }' $(firstword $(MAKEFILE_LIST))

$(PY):
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 10))' 2>/dev/null || { \
	  echo "$(PYTHON): not Python 3.10 or newer; name one: make $(MAKECMDGOALS) PYTHON=python3.12" >&2; exit 1; }
	@$(PYTHON) -m venv $(VENV) || { rm -f $(VENV)/bin/python*; \
	  echo "$(PYTHON) -m venv failed; install its venv and ensurepip modules (Debian, Ubuntu: apt install python3-venv)," \
	       "or name another Python: make $(MAKECMDGOALS) PYTHON=python3.12" >&2; exit 1; }

$(INSTALLED): pyproject.toml | $(PY)
	@echo "installing into $(VENV) (the first time this fetches torch and takes minutes)"
	$(PY) -m pip install --disable-pip-version-check -e '.[render,eval,lm-eval,dev]'
	@touch $@

setup: $(INSTALLED) ## make .venv and install everything into it
	@:

llm: $(INSTALLED) ## fetch the default LLM once
	@$(PY) -m vtc.llm.smollm2 >/dev/null

artefacts: llm ## build the atlas and the glyph table; each builder skips what is up to date
	@set -e; for builder in $(BUILDERS); do $(PY) -m $$builder; done

demo: artefacts ## compress, restore, measure and ask a long document (DOC=path: your own)
	$(PY) -m eval.demo $(if $(DOC),"$(DOC)")

peers: $(INSTALLED) ## build the environments of other people's systems, which the ruler compares with
	$(PY) -m eval.peers.environments

browser: $(INSTALLED) ## find a headless Chromium for the reports' test, or install one
	@$(PY) -m eval.browser

test: artefacts lint ## lint, types, import arrows, wheel contents, tests
	@$(PY) -m eval.browser || echo "no browser: the test of the HTML report will be skipped"
	$(PY) -m pytest

lint: $(INSTALLED) ## style, types and import arrows alone
	$(PY) -m ruff check
	$(PY) -m ruff format --check
	$(PY) -m mypy
	$(VENV)/bin/lint-imports

results: artefacts peers ## make eval/results anew (hours)
	$(PY) -m eval.published
	$(PY) -m eval.reconstruct
	$(PY) -m eval.density
	$(PY) -m eval.speed
	$(PY) -m eval.run --suite ruler
	$(PY) -m eval.run --suite kv
	$(PY) -m eval.run --suite kv_ablation
	$(PY) -m eval.run --suite long
	$(PY) -m eval.latency
	$(PY) -m eval.report runs/ruler runs/kv runs/kv_ablation runs/long

clean: ## remove .venv and what was built in the clone; the cache outside stays
	rm -rf $(VENV) build dist .mypy_cache .pytest_cache .ruff_cache .import_linter_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
