"""Whether true errors are below the stated ones: random paths, and rows of the trained bikes model of the benchmarks.

python scripts/stated_errors.py --paths 10000 --seed 1000       random posteriors, links and paths
python scripts/stated_errors.py --paths 2000 --features 60      the same with 17 to 60 features
python scripts/stated_errors.py --bikes ROWS --tolerance 1e-6   rows of the bikes model (benchmarks/trained.py)

The truth is a run at a tolerance of 1e-11 on other panels, of a third of a lengthscale. Printed for each kernel: the
paths that converged, their true errors relative to (4.8), and the largest in units of the stated one. What the run at
1e-11 itself states counts as unknown. Exits with 1 if a converged path is off by more than it says.
"""

import argparse
import sys
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

import gplens
from gplens.kernels import RBF, Kernel, Matern32, Matern52, RationalQuadratic
from gplens.links import Exp, Identity, Link, Probit, Sigmoid, Square
from gplens.rules import Adaptive

TRUTH, REACH = 1e-11, 1 / 3
ROWS = 20
"""Paths of each random posterior."""
LINKS: tuple[Link, ...] = (Identity(), Exp(), Square(), Probit(), Sigmoid())


def random_case(seed: int, least: int = 1, most: int = 8) -> tuple[Kernel, gplens.Posterior, Link, Tensor, Tensor]:
    """A posterior and paths of up to six lengthscales. Half of them pass a support point at a distance of 1 to 1e-4.

    Of more than eight features some decide and others hardly matter; in half of the cases only a fifth of them move.
    """
    g = torch.Generator().manual_seed(seed)

    def normal(*shape: int) -> Tensor:
        return torch.randn(*shape, generator=g, dtype=torch.float64)

    def uniform(*shape: int) -> Tensor:
        return torch.rand(*shape, generator=g, dtype=torch.float64)

    def pick(count: int) -> int:
        return int(torch.randint(count, (), generator=g))

    d, n = least + pick(most + 1 - least), 5 + pick(75)
    lengthscale = 1.5 * torch.exp(0.3 * normal(d))
    if most > 8:
        lengthscale = (1.5 * torch.exp((0.2 + 1.3 * uniform(1)) * normal(d))) * d**0.5
    kernels = (RBF(lengthscale), Matern32(lengthscale), Matern52(lengthscale))
    kernel = (*kernels, RationalQuadratic(lengthscale, 0.5 + uniform(1)[0]))[pick(4)]
    Z = normal(n, d)
    posterior = gplens.Posterior.exact(kernel, Z, normal(n), noise=float(torch.exp(2 * normal(1) - 3)))
    x0, x = normal(ROWS, d), normal(ROWS, d)
    near = Z[torch.randint(n, (ROWS // 2,), generator=g)] + normal(ROWS // 2, d) * 10 ** (-4 * uniform(ROWS // 2, 1))
    x[: ROWS // 2] = x0[: ROWS // 2] + (near - x0[: ROWS // 2]) / (0.1 + 0.8 * uniform(ROWS // 2, 1))
    if most > 8 and pick(2):
        x = torch.where((uniform(d) < 0.2) | (torch.arange(d) == 0), x, x0)
    length = ((x - x0) / lengthscale).norm(dim=1, keepdim=True)
    return kernel, posterior, LINKS[pick(len(LINKS))], x0, x0 + (x - x0) * (6 * uniform(ROWS, 1) / length).clamp(max=1)


def errors(model: Any, x: Tensor, tolerance: float, **options: Any) -> tuple[Tensor, Tensor, Tensor]:
    """Of each path: whether it converged, its largest true error relative to (4.8), and in units of the stated one."""
    e = gplens.explain(model, x, tolerance=tolerance, support=False, **options)
    exact = gplens.explain(model, x, tolerance=TRUTH, rule=Adaptive(reach=REACH), support=False, **options)
    scale = torch.maximum((exact.prediction - exact.baseline_prediction).abs(), exact.values.abs().amax(-1))
    true, rounding = (e.values - exact.values).abs(), 1e-13 * scale[:, None]
    units = ((true - rounding - exact.error).clamp(min=0) / e.error).nan_to_num(nan=0.0).amax(-1)
    return e.converged, (true.amax(-1) / scale).nan_to_num(nan=0.0), units


def report(name: str, converged: Tensor, true: Tensor, units: Tensor) -> bool:
    """Print a line; whether all converged paths are as exact as they say."""
    middle, high = (float(torch.quantile(true[converged], q)) for q in (0.5, 0.99))
    worst, largest = float(units[converged].max()), float(true[converged].max())
    print(
        f"{name:20} {len(true):6} paths, {int(converged.sum()):6} converged; true errors {middle:.1e} (median), "
        f"{high:.1e} (99 %), {largest:.1e} (largest); at most {worst:.2g} of the stated error",
        flush=True,
    )
    return worst <= 1


def of_random_paths(paths: int, tolerance: float, first: int, features: tuple[int, int]) -> bool:
    parts: dict[str, list[tuple[Tensor, Tensor, Tensor]]] = {}
    for seed in range(first, first + -(-paths // ROWS)):
        kernel, posterior, link, x0, x = random_case(seed, *features)
        found = errors(posterior, x, tolerance, baseline=gplens.baselines.Rows(x0), likelihood=link)
        parts.setdefault(type(kernel).__name__, []).append(found)
    good = [report(name, *map(torch.cat, zip(*found, strict=True))) for name, found in sorted(parts.items())]
    return all(good)


def of_bikes(rows: int, tolerance: float) -> bool:
    sys.path.insert(0, str(Path(__file__).parents[1] / "benchmarks"))
    from trained import load

    work = load("bikes").workload.first(rows)
    return report("bikes", *errors(work.prepared, work.X, tolerance, baseline=work.x0[0]))


def main() -> None:
    parser = argparse.ArgumentParser(description="Compare true errors with stated ones.")
    parser.add_argument("--paths", type=int, default=0, help="random paths")
    parser.add_argument("--bikes", type=int, default=0, help="rows of the bikes model")
    parser.add_argument("--features", type=int, help="the random posteriors have from 17 to so many features")
    parser.add_argument("--tolerance", type=float, default=1e-6)
    parser.add_argument("--seed", type=int, default=0, help="of the first random posterior (default: %(default)s)")
    options = parser.parse_args()
    torch.set_num_threads(1)
    good = True
    if options.bikes:
        good = of_bikes(options.bikes, options.tolerance)
    if options.paths:
        features = (17, options.features) if options.features else (1, 8)
        good = of_random_paths(options.paths, options.tolerance, options.seed, features) and good
    sys.exit(0 if good else 1)


if __name__ == "__main__":
    main()
