# `make run` shows what gplens does; `make test` is what decides whether a change lands. Both set themselves up.
.PHONY: run test lint types unit test-slow test-portable test-lowest coverage walk bench bench-models bench-training reproduce docs format clean

BIN := .venv/bin
LOWEST := .venv-lowest/bin
WORKERS ?= 2
PYTEST := -m pytest -n $(WORKERS)
NUMERICAL := $(addprefix tests/,conformance kernels links paths expectations uncertainty)

run: .venv/installed
	@$(BIN)/gplens demo

# basedpyright takes one core for most of its time, so the tests run beside it.
test: lint
	@$(MAKE) --no-print-directory -j2 types unit

# The hooks of .pre-commit-config.yaml, which need no network; git lists the files. Without git, ruff alone.
lint: .venv/installed
	@if git rev-parse --git-dir >/dev/null 2>&1; then $(BIN)/pre-commit run --all-files; \
	else $(BIN)/ruff check . && $(BIN)/ruff format --check .; fi

types: .venv/installed
	$(BIN)/basedpyright

unit: .venv/installed
	OMP_NUM_THREADS=1 $(BIN)/python $(PYTEST) -m "not slow"

# The statistical, long and large tests.
test-slow: .venv/installed
	OMP_NUM_THREADS=1 $(BIN)/python $(PYTEST) -m slow

# The numerical tests without vector instructions, whose rounding differs from that of the machine's own code path.
test-portable: .venv/installed
	OMP_NUM_THREADS=1 ATEN_CPU_CAPABILITY=default MKL_CBWR=COMPATIBLE $(BIN)/python $(PYTEST) -m "not slow" $(NUMERICAL)

# The same tests as `make test`, with the lowest versions that pyproject.toml allows; without those of BayBE, Ax and BoFire.
test-lowest: .venv-lowest/installed
	OMP_NUM_THREADS=1 $(LOWEST)/python $(PYTEST) -m "not slow"

# Without the run-time check of shapes, whose own code would be traced line by line.
coverage: .venv/installed
	OMP_NUM_THREADS=1 $(BIN)/python $(PYTEST) -m "not slow" -o addopts="-q --strict-markers --strict-config" \
		--cov --cov-report=term:skip-covered

# The modules that one explanation passes through.
walk: .venv/installed
	$(BIN)/python scripts/walk.py

# Trained models first, then synthetic ones. The trained ones are fitted by the first run, or by bench-models, and kept.
bench: .venv/installed
	OMP_NUM_THREADS=1 $(BIN)/python benchmarks/run.py

bench-models: .venv/installed
	OMP_NUM_THREADS=1 $(BIN)/python benchmarks/trained.py

bench-training: .venv/installed
	$(BIN)/python benchmarks/training.py

reproduce: .venv/installed
	$(BIN)/gplens reproduce all --overwrite

# The site, into docs/_build/html: all code of its pages runs, warnings are errors, nothing is fetched. All pages are read anew
# (-E), since the search loses the questions of pages that are not.
docs: .venv/installed
	OMP_NUM_THREADS=$(WORKERS) $(BIN)/python -m sphinx -E -n -W --keep-going -q -b html docs docs/_build/html
	$(BIN)/python scripts/check_site.py

format: .venv/installed
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

.venv/installed: pyproject.toml constraints.txt scripts/setup.sh
	@scripts/setup.sh .venv constraints.txt frameworks

.venv-lowest/installed: pyproject.toml constraints-lowest.txt scripts/setup.sh
	@scripts/setup.sh .venv-lowest constraints-lowest.txt

clean:
	rm -rf .venv .venv-lowest .pytest_cache .ruff_cache .hypothesis .coverage docs/_build docs/_pictures docs/auto_examples
