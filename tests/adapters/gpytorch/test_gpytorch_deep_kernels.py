"""Deep kernel learning: kernel and mean work in the space of a network's features, and X is explained."""

from typing import Any

import gpytorch
import pytest
import torch
from deep_kernels import DeepCase, DeepExact, deep_case
from gpytorch.kernels import LinearKernel, MaternKernel, RBFKernel, ScaleKernel, SpectralMixtureKernel
from gpytorch.means import ConstantMean, LinearMean
from linear_operator import to_linear_operator
from torch import Tensor, nn

import gplens
from messages import naming
from oracles.autograd_path import integrated_gradients, nodes
from seeds import fresh_seed

# A sum with a LinearKernel factorises K of the inputs in passing, and the points of a path are close together.
pytestmark = pytest.mark.filterwarnings(
    "ignore:A not p.d., added jitter:linear_operator.utils.warnings.NumericalWarning"
)

STEP = 1e-3
"""Of the central differences: their error is some STEP^2, their rounding some 1e-15 / STEP^2."""


def response(case: DeepCase, x: Tensor) -> Tensor:
    f = case.model(x)
    return f.mean if case.likelihood is None else case.likelihood(f).mean


def check_values(case: DeepCase, tolerance: float = 1e-6) -> None:
    """Against autograd through the host's own prediction, at nodes that are doubled until they agree."""
    e = gplens.explain(case.model, case.X, baseline=case.baseline, likelihood=case.likelihood, tolerance=tolerance)
    coarse, fine = (
        integrated_gradients(lambda x: response(case, x), case.X, case.baseline, panels=panels) for panels in (20, 40)
    )
    assert e.error is not None
    assert e.converged is not None
    rounding = 1e-8 * (1 + fine.abs().max())  # of K with a jitter of 1e-6
    allowed = e.error + (fine - coarse).abs() + rounding
    assert bool(e.converged.all()), case.text
    assert bool(((e.values - fine).abs() <= allowed).all()), (e.values, fine, case.text)
    assert bool(((e.prediction - response(case, case.X)).abs() <= 1e-7).all()), case.text


def check_error_bars(case: DeepCase) -> None:
    """Cov(IG_k, IG_l) of central differences of f, from the host's own covariance of the points x(t) +- h."""
    x, x0 = case.X[0], case.baseline
    e = gplens.explain(
        case.model,
        x[None],
        baseline=x0,
        likelihood=case.likelihood,
        target=gplens.targets.Latent(),
        uncertainty=gplens.Full(tolerance=1e-6),
    )
    assert e.covariance is not None
    assert e.converged is not None
    expected = covariance_by_differences(case.model, x, x0, STEP, 8)
    others = [covariance_by_differences(case.model, x, x0, step, panels) for step, panels in ((2 * STEP, 8), (STEP, 5))]
    allowed = 1e-4 * expected.abs().max() + sum((expected - other).abs().max() for other in others) + 1e-6
    if bool(e.converged.all()):
        assert bool(((e.covariance[0] - expected).abs() <= allowed).all()), (e.covariance, expected, case.text)


def covariance_by_differences(model: Any, x: Tensor, x0: Tensor, step: float, panels: int) -> Tensor:
    (t, w), d = nodes(12, panels), x - x0
    steps = step * torch.eye(len(d), dtype=torch.float64)
    points = (x0 + t[:, None] * d)[:, None] + torch.cat([steps, -steps])
    with torch.no_grad(), gpytorch.settings.fast_pred_var(False):
        C = model(points.flatten(0, 1)).covariance_matrix
    if type(getattr(model, "variational_strategy", None)) is gpytorch.variational.VariationalStrategy:
        C = C - model.variational_strategy.jitter_val * torch.eye(len(C), dtype=C.dtype)  # which no two points share
    weights = (d / (2 * step))[:, None] * torch.cat([torch.eye(len(d)), -torch.eye(len(d))], dim=1).double()
    L = (w[None, :, None] * weights[:, None]).flatten(1)
    return L @ C @ L.T


@pytest.mark.parametrize("seed", range(12))
def test_random_networks_are_explained_exactly(seed: int) -> None:
    check_values(deep_case(seed))


@pytest.mark.parametrize("seed", range(50, 54))
def test_error_bars_of_random_networks(seed: int) -> None:
    check_error_bars(deep_case(seed))


@pytest.mark.slow
def test_many_random_networks() -> None:
    first = fresh_seed()
    for seed in range(first, first + 220):
        check_values(deep_case(seed))


@pytest.mark.filterwarnings("ignore::gplens.ConvergenceWarning")
@pytest.mark.slow
def test_error_bars_of_many_random_networks() -> None:
    first = fresh_seed()
    for seed in range(first, first + 100):
        check_error_bars(deep_case(seed))


@pytest.mark.slow
def test_networks_with_kinks_add_up() -> None:
    """ReLU: the sum of the attributions is the change of the prediction, whatever the quadrature meets."""
    for seed in range(4):
        case = deep_case(seed, [nn.ReLU, nn.LeakyReLU])
        e = gplens.explain(case.model, case.X, baseline=case.baseline, likelihood=case.likelihood)
        change = response(case, case.X) - response(case, case.baseline[None])
        assert bool(((e.values.sum(1) - change).abs() <= 1e-5 * (1 + change.abs())).all()), case.text


TUTORIAL = {
    "one lengthscale": lambda: tutorial(RBFKernel()),
    "ard_num_dims of the features": lambda: tutorial(RBFKernel(ard_num_dims=2)),
    "Matern": lambda: tutorial(MaternKernel(nu=1.5, ard_num_dims=2)),
    "linear": lambda: tutorial(LinearKernel(ard_num_dims=2)),
    "active_dims of features beyond the inputs": lambda: tutorial(RBFKernel(active_dims=[4, 5]), outputs=6),
    "LinearMean of the features": lambda: tutorial(RBFKernel(), LinearMean(2)),
    "no formula": lambda: tutorial(SpectralMixtureKernel(num_mixtures=2, ard_num_dims=2)),
    "as many features as inputs": lambda: tutorial(RBFKernel(ard_num_dims=3), outputs=3),
}


def tutorial(kernel: gpytorch.kernels.Kernel, mean: Any = None, outputs: int = 2) -> DeepCase:
    torch.manual_seed(0)
    X = torch.rand(30, 3, dtype=torch.float64)
    model: Any = DeepExact(X, (4 * X[:, 0]).sin() + X[:, 1])
    model.mean_module, model.covar_module = mean or ConstantMean(), ScaleKernel(kernel)
    model.parts = nn.Sequential(nn.Linear(3, 20), nn.Tanh(), nn.Linear(20, outputs))
    model.beside, model.mean_of_features = False, True
    return DeepCase(model.double().eval(), None, X[:2], X.mean(0), str(kernel))


@pytest.mark.parametrize("name", TUTORIAL)
def test_the_model_of_the_tutorial(name: str) -> None:
    case = TUTORIAL[name]()
    check_values(case)
    check_error_bars(case)


def test_the_network_is_read_and_the_model_unchanged() -> None:
    case = TUTORIAL["ard_num_dims of the features"]()
    kinds = [type(part) for part in case.model.modules()]
    reading = gplens.read(case.model)
    assert [type(part) for part in case.model.modules()] == kinds
    case.model.parts[0].weight.data *= 1.1
    with pytest.raises(ValueError, match=naming("parts.0.weight")):
        gplens.explain(reading, case.X, baseline=case.baseline)


def test_features_without_gradients_are_refused() -> None:
    class Detached(DeepExact):
        def forward(self, x: Tensor) -> gpytorch.distributions.MultivariateNormal:
            z = self.parts(x).detach()
            return gpytorch.distributions.MultivariateNormal(self.mean_module(x), self.covar_module(z))

    case = TUTORIAL["one lengthscale"]()
    case.model.__class__ = Detached
    with pytest.raises(ValueError, match=naming("covar_module", "detach()")):
        gplens.explain(case.model, case.X, baseline=case.baseline)


def test_a_forward_that_does_more_with_the_kernel_goes_through_autograd() -> None:
    class Weighted(DeepExact):
        def forward(self, x: Tensor) -> gpytorch.distributions.MultivariateNormal:
            z, s = self.parts(x), 1 + x[..., 0].sin() ** 2
            K = self.covar_module(z).to_dense() * s[..., None] * s[..., None, :]
            return gpytorch.distributions.MultivariateNormal(self.mean_module(z), to_linear_operator(K))

    case = TUTORIAL["ard_num_dims of the features"]()
    case.model.__class__ = Weighted
    check_values(case)
