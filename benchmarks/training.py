"""make bench-training: the estimators against other models on thirteen tables: score, log density, intervals, seconds.

python benchmarks/training.py diabetes digits          # or "sparse" or "exact": some tables, printed and not written
"""

import platform
import sys
import warnings
from collections.abc import Callable
from datetime import date
from pathlib import Path
from time import process_time

import gpytorch
import numpy as np
import sklearn
import torch

from fit_rivals import MODELS, RIVALS, Measured, budgets_in_cpu_time, linear, ours, sklearn_gp
from fit_tables import TABLES, Table, made
from gplens.estimators import GPRegressor

RESULTS = Path(__file__).parent / "training.md"
PART = 0.8
"""The part of a rival's time that is the budget of a fit in that time: reading the model needs the rest."""


def table_rows(name: str) -> list[list[str]]:
    """One row for each model of a table, and for gplens in the time of each Gaussian process that was faster."""
    table, lines, reference, times = TABLES[name](), [], None, dict[str, float]()

    def add(model: str, fit: Callable[[Table], Callable[[], Measured] | None]) -> None:
        nonlocal reference
        began = process_time()
        measure = fit(table)
        times[model] = process_time() - began
        if measure is None:
            del times[model]
            return
        found = measure()
        inside = "" if found.inside is None else f"{100 * found.inside:.1f} %"
        reference = found.density if reference is None else reference
        gap = found.density - reference
        ahead = "" if model == "gplens" else f"{gap.mean():+.4f} ± {gap.std() / len(gap) ** 0.5:.4f}"
        numbers = [f"{found.score:.4f}", f"{found.density.mean():.4f}", ahead, inside, f"{times[model]:.2f} s"]
        lines.append([table.name, model, *numbers])
        print("| " + " | ".join(lines[-1]) + " |", flush=True)

    for model, fit in MODELS.items():
        add(model, fit)
    for rival in RIVALS:
        if times.get(rival, np.inf) < times["gplens"]:
            budget = PART * times[rival]
            with budgets_in_cpu_time():
                add(f"gplens in the time of {rival}", lambda table, budget=budget: ours(table, budget))
    return lines


def sparse_rows() -> list[list[str]]:
    """Exact and sparse models of the same rows: mean and spread of the held-out log density over five splits."""
    lines = []
    for rows in (500, 1000, 1500):  # the noise is that of the exact model over the splits
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


def exact_rows() -> list[list[str]]:
    """The CPU time of exact fits to more and more rows of a made table, and the held-out log density."""
    lines = []
    for rows in (500, 1000, 1500, 2000, 2500):
        table = made("", rows, 201)
        began = process_time()
        model = GPRegressor(exact_rows=rows, random_state=0, progress=False).fit(table.X, table.y)
        took = process_time() - began
        lines.append([f"{rows:,}", f"{took:.1f} s", f"{model.log_density(table.new, table.new_y).mean():.4f}"])
        print("| " + " | ".join(lines[-1]) + " |", flush=True)
    return lines


def warm_up() -> None:
    """Small fits, so that no time includes what a first call loads."""
    for name in ("diabetes", "wine", "cancer"):
        table = TABLES[name]()
        small = Table(table.name, table.kind, table.X[:40], table.y[:40], table.new[:5], table.new_y[:5])
        for fit in (ours, sklearn_gp, linear):
            fit(small)


def markdown(head: list[str], lines: list[list[str]]) -> str:
    return "\n".join("| " + " | ".join(line) + " |" for line in [head, ["---"] * len(head), *lines])


def main() -> None:
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")  # of rivals that have not converged
    chosen = sys.argv[1:]
    warm_up()
    lines = [line for name in chosen or TABLES if name not in ("sparse", "exact") for line in table_rows(name)]
    sparse = sparse_rows() if not chosen or "sparse" in chosen else []
    exact = exact_rows() if not chosen or "exact" in chosen else []
    if chosen:
        return
    versions = f"torch {torch.__version__}, GPyTorch {gpytorch.__version__}, scikit-learn {sklearn.__version__}"
    text = f"""# Training

Measured by `make bench-training` on {date.today()}, one thread, Python {platform.python_version()}, {versions}.
Seconds are those of the CPU, for the fit alone. `benchmarks/fit_tables.py` says which rows defaults were chosen
on: none of those that are reported on. The exact Gaussian processes of scikit-learn and GPyTorch have at most 1,000
rows, 600 for classes. "In the time of" a faster Gaussian process is a fit with 0.8 times its seconds as the budget, in
CPU time. "Ahead of gplens" is the mean difference of log densities over the reported rows, with its
standard error.

{markdown(["table", "model", "score", "log density", "ahead of gplens", "in 90 % interval", "CPU time"], lines)}

Exact and sparse models of the same rows (a made table), five splits: mean held-out log densities, their mean
difference, and the standard deviation of the exact one over the splits.

{markdown(["rows", "exact", "sparse", "difference", "noise"], sparse)}

Exact models of a made table: the CPU time of the fit, and the held-out log density.

{markdown(["rows", "CPU time", "log density"], exact)}
"""
    _, title, rest = RESULTS.read_text().partition("\n## The models of the paper")  # by benchmarks/images.py
    RESULTS.write_text(text + title + rest)


if __name__ == "__main__":
    sys.exit(main())
