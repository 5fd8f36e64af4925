"""Evidence, collapsed bound and bound with sites, against GPyTorch, scipy and central differences."""

from dataclasses import replace

import gpytorch
import numpy as np
import pytest
import torch
from gpytorch.likelihoods import BernoulliLikelihood, GaussianLikelihood, SoftmaxLikelihood
from scipy.integrate import quad
from scipy.special import log_ndtr
from scipy.stats import multivariate_normal, norm

from gplens.estimators.gp_models import KERNELS, Exact, kernel_of
from gplens.estimators.own_likelihoods import LogPoisson
from gplens.estimators.training.climb import further_points
from gplens.estimators.training.collapsed import CollapsedBound
from gplens.estimators.training.evidence import log_evidence
from gplens.estimators.training.expected import expected_partials
from gplens.estimators.training.kernel_parameters import Hyperparameters, Structure
from gplens.estimators.training.monitor import Watch
from gplens.estimators.training.site_bound import SiteBound
from gplens.estimators.training.sites import Blocks, SiteTerms, features_at, posterior_of

R = np.random.default_rng(0)
X = torch.from_numpy(R.normal(size=(40, 3)))
Y = torch.sin(2 * X[:, 0]) + 0.1 * torch.from_numpy(R.normal(size=40))
W = torch.from_numpy(R.integers(1, 4, 40).astype(float))


def _at(kernel: str = "matern52", *, points: int | None = None, sets: int = 3, kernels: int = 1) -> Hyperparameters:
    g = torch.Generator().manual_seed(1)
    draw = lambda *shape: 0.2 * torch.randn(*shape, generator=g, dtype=torch.float64)  # noqa: E731
    return Hyperparameters(
        draw(kernels, sets) + 0.3,
        draw(kernels),
        draw(kernels) if kernel == "rational_quadratic" else None,
        draw(1)[0],
        draw(1)[0] - 2,
        None if points is None else X[:points].expand(kernels, -1, -1) + draw(kernels, points, 3),
    )


def _structure(kernel: str = "matern52", jitter: float = 1e-6) -> Structure:
    return Structure.of(kernel, 3, True, (), jitter, 1.0)


def _host(at: Hyperparameters, structure: Structure) -> gpytorch.kernels.ScaleKernel:
    kernel = kernel_of(structure.kernel, 3, None).double()
    kernel.base_kernel.lengthscale, kernel.outputscale = at.lengthscales(structure), at.log_outputscale.exp()[0]
    if at.log_alpha is not None:
        kernel.base_kernel.alpha = at.log_alpha.exp()
    return kernel.requires_grad_(False)


def _differences(function: object, at: Hyperparameters) -> torch.Tensor:
    """Central differences of a function of hyperparameters."""
    v, h = at.vector, 1e-5
    steps = h * torch.eye(len(v), dtype=v.dtype)
    ends = [[float(function(at.with_vector(v + sign * s)).detach()) for sign in (1, -1)] for s in steps]  # type: ignore[operator]
    return torch.tensor([(up - down) / (2 * h) for up, down in ends], dtype=v.dtype)


def _gradient(function: object, at: Hyperparameters) -> torch.Tensor:
    v = at.vector.requires_grad_()
    return torch.autograd.grad(function(at.with_vector(v)), v)[0]  # type: ignore[operator]


@pytest.mark.parametrize("kernel", KERNELS)
def test_covariances_are_gpytorchs(kernel: str) -> None:
    at, structure = _at(kernel, points=5), _structure(kernel)
    assert at.Z is not None
    theirs = _host(at, structure)(X, at.Z[0]).to_dense()
    torch.testing.assert_close(at.covariance(structure, X, at.Z)[0], theirs, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("weights", [None, W], ids=["once", "weighted"])
def test_the_evidence_has_the_right_gradient(kernel: str, weights: torch.Tensor | None) -> None:
    at, structure = _at(kernel), _structure(kernel)

    def evidence(at: Hyperparameters) -> torch.Tensor:
        return log_evidence(at, structure, X, Y, weights)

    torch.testing.assert_close(_gradient(evidence, at), _differences(evidence, at), rtol=1e-6, atol=1e-6)


def test_the_evidence_is_scipys_density() -> None:
    at, structure = _at(), _structure()
    assert at.mean is not None
    assert at.log_noise is not None
    K = _host(at, structure)(X).to_dense() + at.log_noise.exp() * torch.eye(40)
    expected = multivariate_normal(np.full(40, float(at.mean)), K.numpy()).logpdf(Y.numpy())
    assert float(log_evidence(at, structure, X, Y)) == pytest.approx(expected, rel=1e-7)


def test_the_collapsed_bound_is_that_of_gpytorchs_inducing_point_kernel() -> None:
    """SGPR there: the evidence with Q in place of K, and the trace term that training adds."""
    at, structure = _at(points=7), _structure(jitter=1e-6)
    assert at.Z is not None
    assert at.mean is not None
    assert at.log_noise is not None
    likelihood = GaussianLikelihood().double()
    likelihood.noise = at.log_noise.exp()
    host = gpytorch.kernels.InducingPointKernel(_host(at, structure), at.Z[0], likelihood)
    model = Exact(X, Y, likelihood, host, gpytorch.means.ConstantMean().double()).double()
    model.mean_module.initialize(constant=float(at.mean))
    mll = gpytorch.mlls.ExactMarginalLogLikelihood(likelihood, model.train())
    with gpytorch.settings.max_cholesky_size(1000), gpytorch.settings.cholesky_jitter(1e-6, 1e-6, 1e-6):
        theirs = float(mll(model(X), Y).detach()) * 40
    assert float(CollapsedBound(structure, X, Y)(at)) == pytest.approx(theirs, rel=1e-4)


@pytest.mark.parametrize("weights", [None, W], ids=["once", "weighted"])
def test_the_collapsed_bound_is_the_dense_formula(weights: torch.Tensor | None) -> None:
    """log N(y; mu, Q + noise/w) - 1/2 sum w (k - q) / noise, for rows that count once; repeated rows if they do not."""
    at, structure = _at(points=7), _structure(jitter=0.0)
    assert at.Z is not None
    assert at.mean is not None
    assert at.log_noise is not None
    often = torch.arange(40) if weights is None else torch.arange(40).repeat_interleave(weights.long())
    kernel, rows, noise = _host(at, structure), X[often], float(at.log_noise.exp())
    k = kernel(rows, at.Z[0]).to_dense()
    Q = k @ torch.linalg.solve(kernel(at.Z[0]).to_dense(), k.T)
    density = multivariate_normal(np.full(len(often), float(at.mean)), (Q + noise * torch.eye(len(often))).numpy())
    trace = (float(at.log_outputscale.exp()) - Q.diagonal()).sum() / (2 * noise)
    expected = density.logpdf(Y[often].numpy()) - float(trace)
    assert float(CollapsedBound(structure, X, Y, weights)(at)) == pytest.approx(expected, rel=1e-7)


def test_the_collapsed_bound_has_the_right_gradient_and_is_below_the_evidence() -> None:
    at, structure = _at(points=7), _structure()
    bound = CollapsedBound(structure, X, Y, W)
    torch.testing.assert_close(_gradient(bound, at), _differences(bound, at), rtol=1e-5, atol=1e-5)
    assert float(bound(at)) < float(log_evidence(replace(at, Z=None), structure, X, Y, W))
    every_row = CollapsedBound(structure, X, Y, W)(replace(at, Z=X[None]))
    assert float(every_row) == pytest.approx(float(log_evidence(replace(at, Z=None), structure, X, Y, W)), rel=1e-3)


def test_sites_of_gaussian_noise_are_the_collapsed_bound() -> None:
    """From any start, one natural-gradient step reaches the closed form."""
    at, structure = _at(points=7), _structure()
    assert at.log_noise is not None
    likelihood = GaussianLikelihood().double()
    likelihood.noise = at.log_noise.exp()
    start = SiteTerms(torch.zeros(1, 40, dtype=torch.float64), torch.ones(1, 40, dtype=torch.float64))
    bound, collapsed = SiteBound(structure, likelihood, X, Y, W, start, 0), CollapsedBound(structure, X, Y, W)
    assert float(bound(at).detach()) == pytest.approx(float(collapsed(at)), rel=1e-9)
    with Watch(None, 0.0, False) as watch:
        ours, theirs = bound.solve(at, watch), collapsed.solve(at, watch)
    torch.testing.assert_close(ours.h, theirs.h)
    torch.testing.assert_close(ours.P, theirs.P)
    assert ours.value == pytest.approx(theirs.value, rel=1e-9)


LIKELIHOODS = {
    "probit": (BernoulliLikelihood(), (Y > 0).double(), 1),
    "poisson": (LogPoisson(), (3 * Y.exp()).round(), 1),
    "softmax": (
        SoftmaxLikelihood(num_classes=3, mixing_weights=False),
        torch.bucketize(Y, torch.tensor([-0.5, 0.5])),
        3,
    ),
}


@pytest.mark.parametrize("name", LIKELIHOODS)
def test_sites_end_at_a_maximum_where_their_own_slope_is_zero(name: str) -> None:
    """No other sites near them have a larger bound, and q(u) is what a natural-gradient step leaves where it is."""
    likelihood, y, latents = LIKELIHOODS[name]
    at, structure = replace(_at(points=7), log_noise=None, mean=None), _structure()
    start = SiteTerms(*(torch.full((latents, 40), number, dtype=torch.float64) for number in (0.0, 0.5)))
    bound = SiteBound(structure, likelihood.double(), X, y.double(), None, start, 0)
    first = bound.refresh(Blocks(at, bound.structure, bound.X), steps=1, tolerance=0.0)
    best = bound.refresh(Blocks(at, bound.structure, bound.X), steps=60, tolerance=1e-12)
    assert best > first
    rows = features_at(at, structure, X)
    q, _, _ = posterior_of([(slice(None), rows)], bound.sites)
    value, target = bound._towards(Blocks(at, structure, X), bound.sites)
    assert value == pytest.approx(best, abs=1e-9)
    after, _, _ = posterior_of([(slice(None), rows)], target)
    torch.testing.assert_close(after.a, q.a, rtol=1e-2, atol=5e-3)
    if name != "softmax":  # whose bound is an average over draws, with slopes of the expectation itself
        torch.testing.assert_close(_gradient(bound, at), _differences(bound, at), rtol=1e-2, atol=1e-2)


def test_what_is_left_unsaid_is_the_trace_of_the_dense_formula() -> None:
    """(6.10), also from the bound itself: it is what (6.3) gains if the trace is left out."""
    at, structure = _at(points=7), _structure(jitter=0.0)
    assert at.Z is not None
    assert at.log_noise is not None
    kernel, noise = _host(at, structure), float(at.log_noise.exp())
    k = kernel(X, at.Z[0]).to_dense()
    q = (k @ torch.linalg.inv(kernel(at.Z[0]).to_dense()) * k).sum(1)
    expected = float((W * (float(at.log_outputscale.exp()) - q)).sum()) / (2 * 40 * noise)
    assert CollapsedBound(structure, X, Y, W).slack(at) == pytest.approx(expected, rel=1e-7)
    sites = SiteTerms(torch.zeros(1, 40, dtype=torch.float64), W[None] / noise)
    assert SiteBound(structure, BernoulliLikelihood(), X, Y, None, sites, 0).slack(at) == pytest.approx(expected)


@pytest.mark.parametrize("deviation", [0.01, 1.0, 5.0])
def test_partials_of_probit_are_those_of_scipys_integrals(deviation: float) -> None:
    """E log Phi(f), and its derivatives in m and v by central differences of the integral."""
    y = torch.tensor([0.0, 1.0, 1.0], dtype=torch.float64)
    m, v = torch.tensor([[0.3, -1.2, 2.0]], dtype=torch.float64), torch.full((1, 3), deviation**2, dtype=torch.float64)
    ours = expected_partials(BernoulliLikelihood(), y, m, v, torch.zeros(0))

    def integral(i: int, m: float, v: float) -> float:
        sign = 2 * float(y[i]) - 1
        inside = lambda z: norm.pdf(z) * log_ndtr(sign * (m + v**0.5 * z))  # noqa: E731
        return quad(inside, -12, 12, epsabs=1e-12, limit=200)[0]

    for i in range(3):
        a, b, h = float(m[0, i]), float(v[0, i]), 1e-3 * deviation**2
        assert float(ours.value[i]) == pytest.approx(integral(i, a, b), abs=2e-3 * deviation)
        by_m = (integral(i, a + h, b) - integral(i, a - h, b)) / (2 * h)
        by_v = (integral(i, a, b + h) - integral(i, a, b - h)) / (2 * h)
        assert float(ours.by_m[0, i]) == pytest.approx(by_m, abs=3e-3 * deviation)
        assert float(ours.by_v[0, i]) == pytest.approx(by_v, abs=6e-3)


def test_partials_of_the_softmax_are_averages_over_the_draws() -> None:
    """E (1 - p) in m and -1/2 E p (1 - p) in v, by another set of many draws."""
    g = torch.Generator().manual_seed(0)
    y, m = torch.tensor([0.0, 2.0]), torch.tensor([[0.5, -1.0], [0.0, 0.3], [-0.4, 1.0]], dtype=torch.float64)
    v = torch.tensor([[0.5, 1.0], [2.0, 0.1], [0.3, 4.0]], dtype=torch.float64)
    z = torch.randn(40_000, 3, 2, generator=g, dtype=torch.float64)
    likelihood = SoftmaxLikelihood(num_classes=3, mixing_weights=False)
    ours = expected_partials(likelihood, y, m, v, torch.randn(20_000, 3, 2, generator=g, dtype=torch.float64))
    p = torch.softmax(m + v.sqrt() * z, dim=1)
    hot = torch.tensor([[1.0, 0.0], [0.0, 0.0], [0.0, 1.0]], dtype=torch.float64)
    torch.testing.assert_close(ours.by_m, hot - p.mean(0), atol=0.01, rtol=0)
    torch.testing.assert_close(ours.by_v, -(p * (1 - p)).mean(0) / 2, atol=0.01, rtol=0)
    label = torch.stack([p[:, 0, 0], p[:, 2, 1]], 1).log().mean(0)
    torch.testing.assert_close(ours.value, label, atol=0.02, rtol=0)


def test_further_points_are_rows_that_the_others_do_not_explain() -> None:
    at, structure = _at(points=7), _structure()
    assert at.Z is not None
    new = further_points(at, structure, X, 5, seed=0)
    assert torch.cdist(new, X).min(1).values.max() < 1e-6
    assert len(new.unique(dim=0)) == 5
    more, less = (replace(at, Z=torch.cat([at.Z, rows[None]], 1)) for rows in (new, X[:5]))
    bound = CollapsedBound(structure, X, Y)
    assert float(bound(more)) > float(bound(less))
