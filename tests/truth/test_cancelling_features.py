"""Additive models, whose attributions are differences of functions of one feature: kinks, and errors that cancel."""

from collections.abc import Callable

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

import gplens
from gplens import kernels
from gplens.targets import Latent
from seeds import fresh_seed

Vector = NDArray[np.float64]
ROUNDING = 1e-13


def matern32(r: Vector) -> Vector:
    s = np.sqrt(3) * np.abs(r)
    return (1 + s) * np.exp(-s)


def matern52(r: Vector) -> Vector:
    s = np.sqrt(5) * np.abs(r)
    return (1 + s + s**2 / 3) * np.exp(-s)


def rbf(r: Vector) -> Vector:
    return np.exp(-(r**2) / 2)


PROFILES: dict[str, tuple[type, Callable[[Vector], Vector]]] = {
    "matern 3/2": (kernels.Matern32, matern32),
    "matern 5/2": (kernels.Matern52, matern52),
    "rbf": (kernels.RBF, rbf),
}


def check_random_model(seed: int, name: str, tolerance: float = 1e-6) -> None:
    """A third of the models are g(x1) - g(x2) + ... on a diagonal, where the errors of two features cancel exactly."""
    kind, profile = PROFILES[name]
    rng = np.random.default_rng(seed)
    d, n, lengthscale = int(rng.integers(1, 4)), int(rng.integers(2, 14)), float(rng.choice([0.1, 0.3, 1.0, 3.0]))
    Z, beta, (x0, x) = rng.uniform(0, 1, (n, d)), rng.normal(size=n), rng.uniform(0, 1, (2, d))
    if d > 1 and rng.random() < 1 / 3:
        x0[1], x[1] = x0[0], x[0]
        Z, beta = np.concatenate([Z, Z[:, [1, 0, *range(2, d)]]]), np.concatenate([beta, -beta])
    parts = [
        kernels.ActiveDimensions(kind(torch.tensor([lengthscale], dtype=torch.float64)), torch.tensor([k]))
        for k in range(d)
    ]
    gp = gplens.Posterior.from_arrays(kernels.Sum(tuple(parts)), Z, beta, np.zeros((len(Z), len(Z))))
    e = gplens.explain(gp, x[None], baseline=x0, target=Latent(), tolerance=tolerance)
    truth = np.array(
        [beta @ (profile((x[k] - Z[:, k]) / lengthscale) - profile((x0[k] - Z[:, k]) / lengthscale)) for k in range(d)]
    )
    assert e.error is not None
    assert e.converged is not None
    assert bool(e.converged[0]), f"seed {seed}, {name}: not converged"
    miss, rounding = np.abs(e.values[0].numpy() - truth), ROUNDING * np.abs(beta).sum()
    assert (miss <= e.error[0].numpy() + rounding).all(), f"seed {seed}, {name}: {miss}, stated {e.error[0].tolist()}"
    assert miss.max() <= tolerance * np.abs(truth).max() + rounding, f"seed {seed}, {name}"


@pytest.mark.parametrize("name", PROFILES)
def test_additive_models(name: str) -> None:
    for seed in range(10):
        check_random_model(seed, name)


@pytest.mark.slow
@pytest.mark.parametrize("name", PROFILES)
def test_additive_models_with_seeds_that_move(name: str) -> None:
    start = fresh_seed()
    for i in range(300):
        check_random_model(start + i, name)


@pytest.mark.parametrize("seed", [3, 5])
def test_two_features_that_cancel_exactly(seed: int) -> None:
    """f = g(x1) - g(x2) on the diagonal: the sum over the features is zero whatever the nodes, and tells nothing."""
    rng = np.random.default_rng(seed)
    z, beta = rng.uniform(0, 1, 8), rng.normal(size=8)
    Z = np.concatenate([np.stack([z, np.full(8, 0.4)], 1), np.stack([np.full(8, 0.4), z], 1)])
    parts = [
        kernels.ActiveDimensions(kernels.Matern32(torch.ones(1, dtype=torch.float64)), torch.tensor([k]))
        for k in (0, 1)
    ]
    gp = gplens.Posterior.from_arrays(kernels.Sum(tuple(parts)), Z, np.concatenate([beta, -beta]), np.zeros((16, 16)))
    e = gplens.explain(gp, [[1.0, 1.0]], baseline=0.0, target=Latent())
    truth = float(
        beta @ (matern32(1 - z) - matern32(z)) - beta.sum() * float(matern32(np.array(0.6)) - matern32(np.array(0.4)))
    )
    assert float(e.values[0, 0]) == pytest.approx(truth, rel=1e-6)
    assert float(e.values[0, 1]) == pytest.approx(-truth, rel=1e-6)
