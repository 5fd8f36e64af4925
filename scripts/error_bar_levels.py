"""Errors of the levels of error bars, and how far a level is from the truth beside its change from the level before.

    python scripts/error_bar_levels.py [models]

For random posteriors of Matern 3/2, Matern 5/2 and RBF kernels with several links, on paths of 0.1 to 20 lengthscales,
it prints for each level the median and the largest error of the deviations, and quantiles of true error / change of
those above 1e-9. These are the numbers behind REACH, SMOOTH and ROUGH in uncertainty/grid.py, DEGREES in
uncertainty/ridge.py and MARGIN in uncertainty/refinement.py.
"""

import sys
from collections import defaultdict

import torch

from gplens import Posterior
from gplens.expectations.link import Link
from gplens.kernels import RBF, Matern32, Matern52, Scale
from gplens.lines.line import Line
from gplens.links import Exp, Identity, Probit
from gplens.uncertainty.covariance import covariance
from gplens.uncertainty.grid import REACH, ROUGH, SMOOTH, Grid, equal_panels

KERNELS, LINKS = (Matern32, Matern52, RBF), (Identity(), Exp(), Probit())


def random_posterior(g: torch.Generator, kind: type) -> Posterior:
    """A regression on 20 random points in three dimensions."""
    Z, y = torch.randn(20, 3, generator=g, dtype=torch.float64), torch.randn(20, generator=g, dtype=torch.float64)
    noise, variance = 10 ** (-3 * torch.rand(2, generator=g, dtype=torch.float64) * torch.tensor([1.0, -0.2]))
    scale = 0.5 + 1.5 * torch.rand(3, generator=g, dtype=torch.float64)
    return Posterior.exact(Scale(kind(scale), variance), Z, variance.sqrt() * y, noise=float(noise * variance))


def deviations(posterior: Posterior, link: Link, x0: torch.Tensor, d: torch.Tensor) -> list[torch.Tensor]:
    """Those of every level but the last two, and of the last one."""
    length = posterior.length(Line(x0, d, d.new_zeros(1, 0)))
    edges = equal_panels(max(1, int((length / REACH).ceil())), 1)
    levels, unit, found = SMOOTH if posterior.smooth else ROUGH, None, []
    for level in (*levels[:-2], levels[-1]):
        grid = Grid.on(edges, length, level, smooth=posterior.smooth)
        variances, unit = covariance(posterior, 0, link, x0, d, grid, unit, full=False)
        found.append(variances[0].clamp(min=0).sqrt())
    return found


def main(models: int) -> None:
    errors, ratios = defaultdict(list), defaultdict(list)
    for seed in range(models):
        g = torch.Generator().manual_seed(seed)
        posterior, link = random_posterior(g, KERNELS[seed % 3]), LINKS[seed // 3 % 3]
        x0, d = torch.randn(2, 1, 3, generator=g, dtype=torch.float64)
        wanted = 10 ** (-1 + 2.3 * torch.rand((), generator=g, dtype=torch.float64))
        d = d * wanted / posterior.length(Line(x0, d, d.new_zeros(1, 0)))
        *levels, truth = deviations(posterior, link, x0, d)
        for i, std in enumerate(levels):
            error = float((std - truth).abs().max() / truth.max())
            errors[posterior.smooth, i].append(error)
            step = 1 if posterior.smooth else 2  # as they are compared
            if i >= step and error > 1e-9:
                ratios[posterior.smooth, i].append(error * float(truth.max() / (std - levels[i - step]).abs().max()))
    for (smooth, i), values in sorted(errors.items()):
        found = torch.tensor(values)
        line = f"{'smooth' if smooth else 'rough '} level {i}: median {found.median():.0e}, largest {found.max():.0e}"
        if ratios[smooth, i]:
            quantiles = torch.tensor(ratios[smooth, i]).quantile(torch.tensor([0.5, 0.9, 1.0])).tolist()
            line += ", true error / change " + ", ".join(f"{q:.2f}" for q in quantiles)
        print(line)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 45)
