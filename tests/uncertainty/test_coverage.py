"""Functions drawn from the prior, regression on noisy values of them: 90 % intervals hold the truth in 90 %."""

import pytest
import torch
from torch import Tensor

from conformance.zoo import generator, normal, rbf, uniform
from gplens import Posterior, Samples, explain
from gplens.links import Exp, Identity, Link
from oracles.dense import DensePosterior, matrix
from oracles.error_bars import joint_moments, legendre

DESIGNS, FUNCTIONS, POINTS, NOISE = 40, 25, 8, 0.1


def truths(naive, Z: Tensor, x: Tensor, x0: Tensor, g: torch.Generator) -> tuple[Tensor, Tensor, Tensor]:
    """Noisy values at Z, and f and its scaled gradient at 16 nodes, of FUNCTIONS draws from the prior."""
    t, _ = legendre(16)
    X = torch.cat([Z, x0 + t[:, None] * (x - x0)])
    nothing = torch.zeros(1, dtype=torch.float64)
    prior = DensePosterior(naive, X[:1], nothing, nothing[:, None])
    _, C = joint_moments(prior, X)
    size, vectors = torch.linalg.eigh(C.reshape(len(X) * 3, -1))
    drawn = (normal(g, FUNCTIONS, len(size)) * size.clamp(min=0).sqrt()) @ vectors.T
    drawn = drawn.reshape(FUNCTIONS, len(X), 3)
    y = drawn[:, :POINTS, 0] + NOISE**0.5 * normal(g, FUNCTIONS, POINTS)
    return y, drawn[:, POINTS:, 0], drawn[:, POINTS:, 1:] * (x - x0)


@pytest.mark.slow
@pytest.mark.parametrize("link", [Identity(), Exp()], ids=lambda link: type(link).__name__)
def test_intervals_cover_the_true_attribution(link: Link) -> None:
    """One latent function for each case, all with the design's A."""
    g, held = generator(7), []
    _, w = legendre(16)
    for design in range(DESIGNS):
        kernel, naive = rbf(g, 2)
        Z, x, x0 = uniform(g, -2, 2, POINTS, 2), uniform(g, -2, 2, 2), uniform(g, -2, 2, 2)
        y, f, slopes = truths(naive, Z, x, x0, g)
        A = torch.linalg.inv(matrix(naive, Z, Z) + NOISE * torch.eye(POINTS, dtype=torch.float64))
        posterior = Posterior(kernel, Z, y @ A, ((A + A.T) / 2).expand(FUNCTIONS, -1, -1))
        request = Samples(400, seed=design, joint=False)
        e = explain(posterior, x[None], baseline=x0, likelihood=link, uncertainty=request, tolerance=1e-4)
        factor = torch.exp(f) if isinstance(link, Exp) else torch.ones_like(f)
        truth = torch.einsum("sq,sqd->sd", w * factor, slopes)
        low, high = e.interval(0.9)
        held.append((low[0] <= truth) & (truth <= high[0]))
    covered = torch.stack(held).double().mean((0, 1))
    assert bool(((covered - 0.9).abs() <= 0.03).all()), covered
