"""How much nearer Kronrod's sums are than Gauss's, and whether (4.9a) knows it: the recipe of MARGIN and FINEST.

For random posteriors on random paths of a given length, by kernel and order:
    Gauss      |Kronrod - Gauss|, the error of Gauss's sums, relative to (4.8)
    true       the error of Kronrod's sums
    unsafe     the largest true error in units of what (4.9a) says, over
               the paths that it accepts at a tolerance of 1e-6; expected: at most 1
"""

import argparse

import torch
from torch import Tensor

import gplens
from gplens.baselines import Rows
from gplens.kernels import RBF, Matern32, Matern52
from gplens.paths.panels import gain
from gplens.uncertainty.covariance import covariance

KERNELS = {"RBF": RBF, "Matern 5/2": Matern52, "Matern 3/2": Matern32}
FEATURES = 5


def posterior(kernel: type, generator: torch.Generator) -> gplens.Posterior:
    Z = torch.randn(60, FEATURES, generator=generator, dtype=torch.float64)
    y = torch.randn(60, generator=generator, dtype=torch.float64)
    return gplens.Posterior.exact(kernel(torch.full((1,), 1.5, dtype=torch.float64)), Z, y, noise=0.05)


def paths(length: float, rows: int, generator: torch.Generator) -> tuple[Tensor, Tensor]:
    start, way = (torch.randn(rows, FEATURES, generator=generator, dtype=torch.float64) for _ in range(2))
    return start, start + 1.5 * length * way / way.norm(dim=1, keepdim=True)


def attributions(kernel: type, order: int, length: float, rows: int) -> tuple[Tensor, Tensor, Tensor]:
    """Gauss's error, Kronrod's, and what (4.9a) says of it, for every path."""
    generator = torch.Generator().manual_seed(0)
    model, (x0, x) = posterior(kernel, generator), paths(length, rows, generator)
    options = {"baseline": Rows(x0), "likelihood": gplens.links.Exp()}
    exact = gplens.explain(model, x, tolerance=1e-11, **options).values
    kronrod = gplens.explain(model, x, rule=gplens.rules.GaussKronrod(order), **options)
    gauss = gplens.explain(model, x, rule=gplens.rules.GaussLegendre(order), **options)
    assert kronrod.error is not None
    change = (kronrod.prediction - kronrod.baseline_prediction).abs()
    scale = torch.maximum(change, exact.abs().amax(1))
    possible = (kronrod.values - gauss.values).norm(dim=1)
    seen = gain(kronrod.gap.abs(), gauss.gap.abs(), possible, smooth=kernel is RBF)
    error, true = kronrod.error.amax(1) / scale, (kronrod.values - exact).abs().amax(1) / scale
    return error, true, seen * error


def variances(kernel: type, order: int, length: float, rows: int) -> tuple[Tensor, Tensor, Tensor]:
    """The same for the variances of attributions  (5.14a)."""
    generator, link = torch.Generator().manual_seed(0), gplens.links.Exp()
    model, (x0, x) = posterior(kernel, generator), paths(length, rows, generator)
    values = gplens.explain(model, x, baseline=Rows(x0), likelihood=link).values
    exact, _ = covariance(model, 0, link, x0, x, values, 22, full=False)
    found, said = covariance(model, 0, link, x0, x, values, order, full=False)
    scale, true = exact.amax(1), (found - exact).abs().amax(1)
    _, gauss = covariance(model, 0, link, x0, x, torch.full_like(values, 1e300), order, full=False)  # no gain is seen
    return gauss.amax(1) / scale, true / scale, said.amax(1) / scale


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=2000)
    rows = parser.parse_args().rows
    for measure, count in ((attributions, rows), (variances, -(-rows // 50))):
        print(f"{measure.__name__:12} nodes  length    Gauss     true  accepted  unsafe")
        for name, kernel in KERNELS.items():
            for order, length in ((4, 0.6), (4, 1.25), (5, 1.75), (7, 3.0)):
                gauss, true, said = measure(kernel, order, length, count)
                accepted = said <= 1e-6
                unsafe = float((true / said)[accepted].max()) if bool(accepted.any()) else 0.0
                share, nodes = float(accepted.double().mean()), 2 * order + 1
                line = f"{name:12} {nodes:5}  {length:6.2f}  {gauss.median():.1e}  {true.median():.1e}"
                print(f"{line}  {share:8.0%}  {unsafe:.1e}", flush=True)


if __name__ == "__main__":
    main()
