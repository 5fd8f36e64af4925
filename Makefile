# `make run` shows what gplens does; `make test` is what decides whether a change lands. Both set themselves up.
.PHONY: run test lint types unit bench bench-training reproduce format clean

BIN := .venv/bin
WORKERS ?= 2

run: .venv/installed
	@$(BIN)/python examples/bike_hour.py

test: lint types unit

lint: .venv/installed
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: .venv/installed
	$(BIN)/basedpyright

unit: .venv/installed
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n $(WORKERS)

bench: .venv/installed
	OMP_NUM_THREADS=1 $(BIN)/python benchmarks/run.py

bench-training: .venv/installed
	$(BIN)/python benchmarks/training.py

reproduce: .venv/installed
	$(BIN)/gplens reproduce all --overwrite

format: .venv/installed
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

.venv/installed: pyproject.toml constraints.txt scripts/setup.sh
	@scripts/setup.sh

clean:
	rm -rf .venv .pytest_cache .ruff_cache .hypothesis
