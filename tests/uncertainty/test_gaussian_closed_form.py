"""The identity link and the squared exponential kernel: mean and covariance as integrals that are error functions.

With a = |d/l|^2, b = sum d (x0 - z)/l^2, c = |(x0 - z)/l|^2 a kernel section on the path is exp(-(a t^2 + 2bt + c)/2).
"""

import torch
from torch import Tensor

from conformance.zoo import KERNELS, fitted, rows
from gplens import Diagonal, Full, explain
from gplens.baselines import Rows
from gplens.kernels import RBF
from gplens.links import Identity
from gplens.targets import Latent


def sections(x: Tensor, x0: Tensor, Z: Tensor, scale: Tensor) -> Tensor:
    """d_k int d_k k(x_t, z) dt, (n, d)."""
    d, away = (x - x0) / scale, (x0 - Z) / scale
    a, b, c = (d**2).sum(), away @ d, (away**2).sum(1)
    at_x0, at_x, root = torch.exp(-c / 2), torch.exp(-(a + 2 * b + c) / 2), (2 * a).sqrt()
    zeroth = torch.exp((b**2 / a - c) / 2) * (torch.pi / (2 * a)).sqrt()
    zeroth = zeroth * (torch.erf((a + b) / root) - torch.erf(b / root))
    first = (at_x0 - at_x - b * zeroth) / a
    return -d * (away * zeroth[:, None] + d * first[:, None])


def prior(x: Tensor, x0: Tensor, scale: Tensor) -> Tensor:
    """d_k d_l int int d_k d_l' k(x_t, x_t') dt dt', (d, d), by the moments of exp(-a u^2/2) on [0, 1]."""
    d = (x - x0) / scale
    a = (d**2).sum()
    end = torch.exp(-a / 2)
    M0 = (torch.pi / (2 * a)).sqrt() * torch.erf((a / 2).sqrt())
    M1 = (1 - end) / a
    M2, M3 = (M0 - end) / a, (2 * M1 - end) / a
    return torch.diag(d**2) * 2 * (M0 - M1) - d[:, None] ** 2 * d**2 * 2 * (M2 - M3)


def test_mean_and_covariance_are_error_functions() -> None:
    (posterior, dense), (X, X0) = fitted(KERNELS["rbf"], 41), rows(41)
    assert isinstance(posterior.kernel, RBF)
    scale = posterior.kernel.lengthscale
    e = explain(
        posterior, X, baseline=Rows(X0), likelihood=Identity(), uncertainty=Full(tolerance=1e-12), tolerance=1e-12
    )
    assert e.covariance is not None
    for i in range(len(X)):
        J = sections(X[i], X0[i], dense.Z, scale)
        torch.testing.assert_close(e.values[i], dense.beta @ J, rtol=1e-10, atol=1e-12)
        expected = prior(X[i], X0[i], scale) - J.T @ dense.A @ J
        torch.testing.assert_close(e.covariance[i], expected, rtol=1e-10, atol=1e-12)


def test_the_latent_function_has_the_same_deviations() -> None:
    (posterior, dense), (X, X0) = fitted(KERNELS["rbf"], 42), rows(42)
    assert isinstance(posterior.kernel, RBF)
    e = explain(
        posterior, X, baseline=Rows(X0), target=Latent(), uncertainty=Diagonal(tolerance=1e-12), tolerance=1e-12
    )
    J = sections(X[1], X0[1], dense.Z, posterior.kernel.lengthscale)
    variances = (prior(X[1], X0[1], posterior.kernel.lengthscale) - J.T @ dense.A @ J).diagonal()
    assert e.std is not None
    torch.testing.assert_close(e.std[1] ** 2, variances, rtol=1e-10, atol=1e-12)
