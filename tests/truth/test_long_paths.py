"""Baselines or support points 200 to 10,000 lengthscales away: attributions by an RBF kernel in closed form."""

import mpmath
import numpy as np
import pytest
import torch
from numpy.typing import NDArray

import gplens
from gplens.targets import Latent
from seeds import fresh_seed

Vector = NDArray[np.float64]
DIGITS = 40
SPREAD = 4.0
"""Of the support points, in lengthscales."""


FAR = pytest.mark.filterwarnings("ignore:.*took more than 20,000 nodes:gplens.ConvergenceWarning")
"""Thousands of lengthscales take as many nodes as they take."""


def closed_form(Z: Vector, beta: Vector, x0: Vector, x: Vector) -> Vector:
    """d_k sum_n beta_n int_0^1 (z_n - x(t))_k exp(-|x(t) - z_n|^2 / 2) dt, by completing the square in t."""
    with mpmath.workdps(DIGITS):
        d = [mpmath.mpf(b) - mpmath.mpf(a) for a, b in zip(x0.tolist(), x.tolist(), strict=True)]
        c = mpmath.fsum(e * e for e in d)
        total = [mpmath.mpf(0)] * len(d)
        for z, weight in zip(Z.tolist(), beta.tolist(), strict=True):
            e = [mpmath.mpf(a) - mpmath.mpf(b) for a, b in zip(x0.tolist(), z, strict=True)]
            nearest = -mpmath.fsum(a * b for a, b in zip(e, d, strict=True)) / c
            least = mpmath.fsum((a + nearest * b) ** 2 for a, b in zip(e, d, strict=True))
            low, high = (mpmath.sqrt(c) * (t - nearest) for t in (0, 1))
            area = mpmath.sqrt(mpmath.pi / 2) * (mpmath.erfc(low / mpmath.sqrt(2)) - mpmath.erfc(high / mpmath.sqrt(2)))
            zeroth = area / mpmath.sqrt(c)
            first = (mpmath.exp(-(low**2) / 2) - mpmath.exp(-(high**2) / 2)) / c  # int (t - nearest) exp(...)
            for k, (a, b) in enumerate(zip(e, d, strict=True)):
                total[k] -= weight * b * mpmath.exp(-least / 2) * ((a + nearest * b) * zeroth + b * first)
        return np.array([float(value) for value in total])


def check_random_model(seed: int) -> None:
    rng = np.random.default_rng(seed)
    d, n, far = int(rng.integers(1, 4)), int(rng.integers(2, 9)), float(10 ** rng.uniform(2.3, 4))
    offset = np.zeros(d)
    offset[0] = far
    Z, beta = offset + rng.uniform(0, SPREAD, (n, d)), rng.normal(size=n)
    x, x0 = offset + rng.uniform(0, SPREAD, d), rng.uniform(0, SPREAD, d)
    if seed % 2:
        x0, x = x, x0
    gp = gplens.Posterior.from_arrays(gplens.kernels.RBF(torch.ones(d, dtype=torch.float64)), Z, beta, np.zeros((n, n)))
    e = gplens.explain(gp, x[None], baseline=x0, target=Latent())
    truth, error = closed_form(Z, beta, x0, x), e.error
    assert error is not None
    assert e.converged is not None
    assert bool(e.converged[0]), f"seed {seed}: not converged"
    rounding = 1e-15 * far * np.abs(beta).sum()  # that of x itself, in lengthscales
    miss = np.abs(e.values[0].numpy() - truth)
    assert (miss <= error[0].numpy() + rounding).all(), f"seed {seed}: {e.values[0].tolist()}, truth {truth.tolist()}"
    at_points = [float(gp.m(torch.tensor(point)[None])) for point in (x, x0)]
    assert float(e.prediction[0]) == pytest.approx(at_points[0], abs=rounding), f"seed {seed}"
    assert float(e.baseline_prediction[0]) == pytest.approx(at_points[1], abs=rounding), f"seed {seed}"


@FAR
def test_far_baselines() -> None:
    for seed in range(20):
        check_random_model(seed)


@FAR
@pytest.mark.slow
def test_far_baselines_with_seeds_that_move() -> None:
    start = fresh_seed()
    for i in range(200):
        check_random_model(start + i)


def check_wide_support(seed: int) -> None:
    """Support points at both ends of a range of 100 to 10,000 lengthscales, as hours of a year may be.

    Paths are at one end or lead from one end to the other. Rounding is that of inputs in units of the range.
    """
    rng = np.random.default_rng(seed)
    d, n, far = int(rng.integers(1, 4)), int(rng.integers(4, 14)), float(10 ** rng.uniform(2, 4))
    Z, beta, (x0, x) = rng.uniform(0, SPREAD, (n, d)), rng.normal(size=n), rng.uniform(0, SPREAD, (2, d))
    Z[n // 2 :, 0] += far
    x[0] += far
    x0[0] += far if seed % 4 else 0
    tolerance = float(rng.choice([1e-6, 1e-9, 1e-11]))
    gp = gplens.Posterior.from_arrays(gplens.kernels.RBF(torch.ones(d, dtype=torch.float64)), Z, beta, np.zeros((n, n)))
    e = gplens.explain(gp, x[None], baseline=x0, target=Latent(), tolerance=tolerance)
    truth, error = closed_form(Z, beta, x0, x), e.error
    assert error is not None
    assert e.converged is not None
    rounding, miss = 1e-15 * far * np.abs(beta).sum(), np.abs(e.values[0].numpy() - truth)
    assert not bool(e.converged[0]) or (miss <= error[0].numpy() + rounding).all(), f"seed {seed}: {miss}, {error[0]}"
    at_x = float(beta @ np.exp(-((x - Z) ** 2).sum(1) / 2))
    assert float(e.prediction[0]) == pytest.approx(at_x, abs=rounding), f"seed {seed}"


@FAR
def test_wide_support() -> None:
    for seed in range(8):
        check_wide_support(seed)


@FAR
@pytest.mark.filterwarnings("ignore:.*did not converge:gplens.ConvergenceWarning")
@pytest.mark.slow
def test_wide_support_with_seeds_that_move() -> None:
    start = fresh_seed()
    for i in range(200):
        check_wide_support(start + i)


@FAR
@pytest.mark.filterwarnings("ignore:.*did not converge:gplens.ConvergenceWarning")
@pytest.mark.parametrize("length", [1e3, 2e4, 1e5, 1e7, 1e8])
def test_paths_that_pass_the_data_on_their_way(length: float) -> None:
    """m is zero at both ends. Beyond 24,000 lengthscales all nodes may miss the data: the path has not converged."""
    rng = np.random.default_rng(2)
    Z, beta, angle = rng.uniform(0, SPREAD, (5, 2)), rng.normal(size=5), rng.uniform(0, np.pi)
    middle, direction = rng.uniform(1, 3, 2), length * np.array([np.cos(angle), np.sin(angle)])
    x0 = middle - 0.4 * direction
    gp = gplens.Posterior.from_arrays(gplens.kernels.RBF(torch.ones(2, dtype=torch.float64)), Z, beta, np.zeros((5, 5)))
    e = gplens.explain(gp, (x0 + direction)[None], baseline=x0, target=Latent())
    assert e.error is not None
    assert e.converged is not None
    assert bool(e.converged[0]) == (length < 24_000)
    miss = np.abs(e.values[0].numpy() - closed_form(Z, beta, x0, x0 + direction))
    limit = e.error[0].numpy() + 1e-15 * length * np.abs(beta).sum()
    assert not bool(e.converged[0]) or (miss <= limit).all(), f"{miss}, {e.error[0].tolist()}"
