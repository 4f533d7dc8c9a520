VENV := .venv
BIN := $(VENV)/bin

.PHONY: run test soak check docs bench clean

run: $(VENV)/.run
	$(BIN)/qufur demo

# Write bytecode even if the environment disables it: many tests start processes, which would compile everything again.
test: export PYTHONDONTWRITEBYTECODE =
test: check
	$(BIN)/pytest -n auto --dist worksteal

# The long tests, file by file with the time of each. QUFUR_SOAK=10 tries ten times as much.
SOAK ?= $(shell grep --recursive --files-with-matches 'from tests.soak import' tests --include='*.py' | sort)
soak: export QUFUR_SOAK ?= 1
soak: $(VENV)/.dev
	@failed=; for part in $(SOAK); do \
		start=$$(date +%s); $(BIN)/pytest -n auto -rP $$part || failed="$$failed $$part"; \
		echo "soak: $$part took $$(($$(date +%s) - start)) s"; \
	done; if [ -n "$$failed" ]; then echo "soak: failed in$$failed"; exit 1; fi

check: $(VENV)/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

docs: $(VENV)/.dev
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

bench: $(VENV)/.dev
	$(BIN)/pip install --quiet --editable ".[bench]"
	$(BIN)/python -m benchmarks

clean:
	rm -rf $(VENV) site .mypy_cache .pytest_cache .ruff_cache

$(BIN)/python:
	python3 -m venv $(VENV)

$(VENV)/.run: pyproject.toml | $(BIN)/python
	$(BIN)/pip install --quiet --editable ".[all]"
	touch $@

$(VENV)/.dev: pyproject.toml | $(BIN)/python
	$(BIN)/pip install --quiet --editable ".[dev]"
	touch $@ $(VENV)/.run
