"""Means over several tables of each kind: log density against scikit-learn's GP, and what 90 % intervals contain.

A single table is a single draw: one fit may be ahead on it by chance. python benchmarks/several_tables.py [names]

Defaults were chosen on tables of some of these kinds with other seeds, on none of these.
"""

import sys
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from sklearn import datasets

from fit_rivals import ours, sklearn_gp
from fit_tables import Table

NEW, FIRST_SEED = 2000, 7001


def drawn(make: Callable[..., Any], rows: int, **options: Any) -> Callable[[int], Table]:
    """A table of scikit-learn's."""

    def table(seed: int) -> Table:
        X, y, *_ = make(rows + NEW, random_state=seed, **options)
        return Table("", "real", X[:rows], y[:rows], X[rows:], y[rows:])

    return table


def formula(rows: int, columns: int, noise: Callable[[Any, Any], Any]) -> Callable[[int], Table]:
    """A wave in one column and a slope in another, with noise of the rows."""

    def table(seed: int) -> Table:
        r = np.random.default_rng(seed)
        X = r.normal(size=(rows + NEW, columns))
        y = np.sin(2 * X[:, 0]) + X[:, 1] + noise(X, r)
        return Table("", "real", X[:rows], y[:rows], X[rows:], y[rows:])

    return table


KINDS: dict[str, tuple[int, Callable[[int], Table]]] = {
    "Friedman 1, 300 rows": (16, drawn(datasets.make_friedman1, 300, noise=1.0)),
    "Friedman 1, 100 rows": (8, drawn(datasets.make_friedman1, 100, noise=1.0)),
    "Friedman 2, 60 rows": (8, drawn(datasets.make_friedman2, 60, noise=50.0)),
    "Friedman 3, 60 rows": (8, drawn(datasets.make_friedman3, 60, noise=0.1)),
    "make_sparse_uncorrelated, 100 rows": (8, drawn(datasets.make_sparse_uncorrelated, 100)),
    "make_regression, 40 rows": (8, drawn(datasets.make_regression, 40, n_features=8, n_informative=4, noise=20.0)),
    "a wave, 30 rows": (8, formula(30, 3, lambda X, r: 0.5 * r.normal(size=len(X)))),
    "a wave, noise of heavy tails, 150 rows": (8, formula(150, 3, lambda X, r: 0.4 * r.standard_t(3, size=len(X)))),
    "a wave, noise that grows with a column, 150 rows": (
        8,
        formula(150, 3, lambda X, r: (0.2 + 0.4 * abs(X[:, 2])) * r.normal(size=len(X))),
    ),
}


def main() -> None:
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")  # of rivals that have not converged
    for name in sys.argv[1:] or KINDS:
        count, make = KINDS[name]
        tables = [make(FIRST_SEED + i) for i in range(count)]
        gplens, rival = ([fit(table)() for table in tables] for fit in (ours, sklearn_gp))  # type: ignore[misc]
        gap = np.array([a.density.mean() - b.density.mean() for a, b in zip(rival, gplens, strict=True)])
        own = np.mean([found.density.mean() for found in gplens])
        inside = [
            f"{100 * np.mean([found.inside for found in part if found.inside is not None]):.1f} %"
            for part in (gplens, rival)
        ]
        ahead = f"{gap.mean():+.4f} ± {gap.std(ddof=1) / count**0.5:.4f}"
        print("| " + " | ".join([name, f"{count}", f"{own:.4f}", ahead, *inside]) + " |", flush=True)


if __name__ == "__main__":
    main()
