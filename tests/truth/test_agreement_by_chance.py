"""Paths that did not converge: two rules agree on one of many features by chance, and not on the others.

The stated error of a path that converged is never below its tolerance if the kernel is rough. It takes a path that did
not converge, of one panel and with a tolerance that nothing reaches, to see the estimates themselves.
"""

import itertools

import numpy as np
import pytest
import torch

import gplens
from gplens import kernels
from gplens.targets import Latent
from seeds import fresh_seed

CHANCE_SEEDS = (208, 298, 381)
"""Without the least error of a feature (4.9a), these paths are off by more than stated: 18, 4 and 2 times."""


def graded(edges: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Gauss nodes and weights on pieces that shrink towards all edges, where derivatives of rough kernels bend."""
    shares = 0.5 * 4.0 ** -np.arange(12, -1.0, -1)
    shares = np.unique(np.concatenate([[0.0], shares, 1 - shares, [1.0]]))
    cuts = np.unique(np.concatenate([a + (b - a) * shares for a, b in itertools.pairwise(edges)]))
    nodes, weights = np.polynomial.legendre.leggauss(40)
    width = np.diff(cuts)[:, None]
    return (cuts[:-1, None] + (nodes + 1) / 2 * width).ravel(), (weights / 2 * width).ravel()


def missed(seed: int) -> float:
    """The largest true error of a feature, relative to the stated one."""
    rng = np.random.default_rng(seed)
    d, n = int(rng.integers(2, 30)), int(rng.integers(3, 20))
    x0, x = rng.uniform(0, 1, (2, d))
    lengthscale = float(rng.uniform(0.1, 1)) * np.linalg.norm(x - x0)
    on_path = x0 + rng.uniform(0, 1, (n, 1)) * (x - x0)
    Z = on_path + lengthscale * rng.normal(size=(n, d)) / np.sqrt(d) * 10.0 ** rng.uniform(-2, 0, (n, 1))
    beta = rng.normal(size=n)
    kind = (kernels.Matern32, kernels.Matern52)[seed % 2]
    kernel = kind(torch.full((d,), lengthscale, dtype=torch.float64))
    gp = gplens.Posterior.from_arrays(kernel, Z, beta, np.zeros((n, n)))

    nearest = np.clip((Z - x0) @ (x - x0) / ((x - x0) @ (x - x0)), 0, 1)
    t, w = graded(np.unique([0.0, *nearest, 1.0]))
    apart = (x0 + t[:, None] * (x - x0))[:, None] - Z
    r = np.sqrt((apart**2).sum(2)) / lengthscale
    s = np.sqrt(3 if seed % 2 == 0 else 5) * r
    slope = -1.5 * np.exp(-s) if seed % 2 == 0 else -5 / 6 * (1 + s) * np.exp(-s)
    truth = (x - x0) * np.einsum("q,qn,n,qnk->k", w, 2 * slope / lengthscale**2, beta, apart)

    rule = gplens.rules.Adaptive(panels=1)
    e = gplens.explain(gp, x[None], baseline=x0, target=Latent(), rule=rule, tolerance=1e-12)
    assert e.error is not None
    rounding = 1e-12 * np.abs(beta).sum()
    return float((np.abs(e.values[0].numpy() - truth) / (e.error[0].numpy() + rounding)).max())


@pytest.mark.filterwarnings("ignore::gplens.ConvergenceWarning")
@pytest.mark.parametrize("seed", [*range(3), *CHANCE_SEEDS])
def test_no_feature_is_settled_by_chance(seed: int) -> None:
    assert missed(seed) < 1.0


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::gplens.ConvergenceWarning")
def test_no_feature_is_settled_by_chance_with_seeds_that_move() -> None:
    """The estimate of a path that did not converge is no promise; without the least error some three of 200 are off."""
    start = fresh_seed()
    assert sum(missed(start + i) >= 1.0 for i in range(200)) <= 2
