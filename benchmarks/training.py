"""make bench-training: the estimators against other models on ten tables: score, log density, intervals, seconds.

python benchmarks/training.py diabetes digits          # some of the tables, or "sparse", printed and not written
"""

import platform
import sys
import warnings
from datetime import date
from pathlib import Path
from time import process_time

import gpytorch
import numpy as np
import sklearn
import torch

from fit_rivals import MODELS
from fit_tables import TABLES, made
from gplens.estimators import GPRegressor

RESULTS = Path(__file__).parent / "training.md"


def table_rows(name: str) -> list[list[str]]:
    """One row for each model of a table."""
    table, lines = TABLES[name](), []
    for model, fit in MODELS.items():
        began = process_time()
        measure = fit(table)
        seconds = process_time() - began
        if measure is None:
            continue
        found = measure()
        inside = "" if found.inside is None else f"{100 * found.inside:.1f} %"
        numbers = [f"{found.score:.4f}", f"{found.density:.4f}", inside, f"{seconds:.1f} s"]
        lines.append([table.name, model, *numbers])
        print("| " + " | ".join(lines[-1]) + " |", flush=True)
    return lines


def sparse_rows() -> list[list[str]]:
    """Exact and sparse models of the same rows: mean and spread of the held-out log density over five splits."""
    lines = []
    for rows in (500, 1000, 1500):
        parts = [made("", rows, seed) for seed in range(201, 211, 2)]
        fits = [
            [
                GPRegressor(exact_rows=limit, random_state=0)
                .fit(part.X, part.y)
                .log_density(part.new, part.new_y)
                .mean()
                for limit in (rows, 0)
            ]
            for part in parts
        ]
        exact, sparse = np.array(fits).T
        gap = sparse - exact
        numbers = [f"{exact.mean():.4f}", f"{sparse.mean():.4f}", f"{gap.mean():+.4f}", f"{exact.std(ddof=1):.4f}"]
        lines.append([f"{rows:,}", *numbers])
        print("| " + " | ".join(lines[-1]) + " |", flush=True)
    return lines


def markdown(head: list[str], lines: list[list[str]]) -> str:
    return "\n".join("| " + " | ".join(line) + " |" for line in [head, ["---"] * len(head), *lines])


def main() -> None:
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")  # of rivals that have not converged
    chosen = sys.argv[1:]
    lines = [line for name in chosen or TABLES if name != "sparse" for line in table_rows(name)]
    sparse = sparse_rows() if not chosen or "sparse" in chosen else []
    if chosen:
        return
    versions = f"torch {torch.__version__}, GPyTorch {gpytorch.__version__}, scikit-learn {sklearn.__version__}"
    text = f"""# Training

Measured by `make bench-training` on {date.today()}, one thread, Python {platform.python_version()}, {versions}.
Seconds are those of the CPU, for the fit alone. `benchmarks/fit_tables.py` says which rows defaults were chosen
on: none of those that are reported on. The exact Gaussian processes of scikit-learn and GPyTorch have at most 1,000
rows, 600 for classes.

{markdown(["table", "model", "score", "log density", "in 90 % interval", "CPU time"], lines)}

Exact and sparse models of the same rows (a made table), five splits: mean held-out log densities, their mean
difference, and the standard deviation of the exact one over the splits.

{markdown(["rows", "exact", "sparse", "difference", "noise"], sparse)}
"""
    RESULTS.write_text(text)


if __name__ == "__main__":
    sys.exit(main())
