"""Changes that no point of a call shows: inputs, baselines and their middles are far from all data, paths pass them."""

from collections.abc import Callable
from types import MethodType
from typing import Any

import numpy as np
import pytest
import torch
from gpytorch.distributions import MultivariateNormal
from gpytorch.kernels import Kernel, MaternKernel, RBFKernel
from gpytorch.likelihoods import GaussianLikelihood
from gpytorch.means import ConstantMean
from gpytorch.models import ExactGP
from gpytorch.models.exact_prediction_strategies import DefaultPredictionStrategy
from gpytorch.variational import CholeskyVariationalDistribution, UnwhitenedVariationalStrategy, VariationalStrategy
from gpytorch_models import Exact, Sparse
from torch import Tensor

import gplens

Patch = pytest.MonkeyPatch
DRAW = torch.Generator().manual_seed(0)
Z = torch.stack([torch.linspace(0, 20, 41).double(), 0.1 * torch.randn(41, generator=DRAW).double()], dim=1)
FAR, ZERO = torch.tensor([[54.0, 0.3]]).double(), torch.tensor([-6.0, 0.0]).double()
NEAR, FIRST = torch.tensor([[20.0, 0.3]]).double(), torch.tensor([0.0, 0.0]).double()


class WithOwnNumber(Exact):
    """Its kernel depends on a number that no comparison of tensors sees."""

    number = np.ones(1)

    def forward(self, x: Tensor) -> MultivariateNormal:
        return MultivariateNormal(self.mean_module(x), self.covar_module(x * float(self.number[0])))


def matern() -> Kernel:
    kernel = MaternKernel(nu=1.5)
    kernel.lengthscale = 0.3
    return kernel


def exact(kind: type[Exact] = Exact) -> Any:
    y = torch.sin(Z[:, 0]) + Z[:, 1]
    return kind(Z.clone(), y, GaussianLikelihood(), matern(), ConstantMean()).double().eval()


def sparse() -> Any:
    model = Sparse(Z[::2].clone(), matern(), ConstantMean()).double().eval()
    strategy = model.variational_strategy
    strategy._variational_distribution.variational_mean.data = torch.linspace(-1, 2, 21).double()
    strategy.variational_params_initialized.fill_(1)
    return model


def other_class(model: Any) -> None:
    kernel = RBFKernel()
    kernel.load_state_dict(model.covar_module.state_dict())
    model.covar_module = kernel.double()


def squared(orig: Callable[..., Any]) -> Callable[..., Any]:
    return lambda *args, **kwargs: orig(*args, **kwargs) ** 2


def other_forward(model: Any, patch: Patch) -> None:
    model.forward = MethodType(
        lambda self, x: MultivariateNormal(self.mean_module(x), self.covar_module(x) * 2.0), model
    )


def doubled(self: Any, *args: Any, call: Any = ExactGP.__call__, **kwargs: Any) -> Any:
    f = call(self, *args, **kwargs)
    return f if self.training else MultivariateNormal(2 * f.mean, f.lazy_covariance_matrix)


def patch_means(patch: Patch, kind: type) -> None:
    """A class whose `forward` has twice the mean."""

    def forward(self: Any, *args: Any, call: Any = kind.forward, **kwargs: Any) -> MultivariateNormal:
        f = call(self, *args, **kwargs)
        return MultivariateNormal(2 * f.mean, f.lazy_covariance_matrix)

    patch.setattr(kind, "forward", forward)


CHANGES: dict[str, tuple[Callable[[], Any], Callable[[Any, Patch], None], str]] = {
    "number of a kernel": (exact, lambda model, patch: setattr(model.covar_module, "nu", 2.5), "MaternKernel.nu"),
    "number, sparse": (sparse, lambda model, patch: setattr(model.covar_module, "nu", 2.5), "MaternKernel.nu"),
    "class of a kernel": (exact, lambda model, patch: other_class(model), "other parts"),
    "class of a strategy": (
        sparse,
        lambda model, patch: setattr(model.variational_strategy, "__class__", UnwhitenedVariationalStrategy),
        "other parts",
    ),
    "forward of one model": (exact, other_forward, "Exact.forward"),
    "forward of a kernel": (
        exact,
        lambda model, patch: patch.setattr(MaternKernel, "forward", squared(MaternKernel.forward)),
        "its own prediction",
    ),
    "own number": (
        lambda: exact(WithOwnNumber),
        lambda model, patch: patch.setattr(WithOwnNumber, "number", np.full(1, 1.5)),
        "its own prediction",
    ),
    "all exact models": (exact, lambda model, patch: patch.setattr(ExactGP, "__call__", doubled), "its own prediction"),
    "all exact predictions": (
        exact,
        lambda model, patch: patch.setattr(
            DefaultPredictionStrategy,
            "exact_predictive_mean",
            lambda self, *args, mean=DefaultPredictionStrategy.exact_predictive_mean: 2 * mean(self, *args),
        ),
        "its own prediction",
    ),
    "all strategies": (sparse, lambda model, patch: patch_means(patch, VariationalStrategy), "its own prediction"),
    "all q(u)": (
        sparse,
        lambda model, patch: patch_means(patch, CholeskyVariationalDistribution),
        "its own prediction",
    ),
}


@pytest.mark.parametrize("name", CHANGES)
@pytest.mark.parametrize(("x", "x0"), [(FAR, ZERO), (NEAR, FIRST)], ids=["far", "near"])
def test_a_change_far_from_the_points_of_a_call(name: str, x: Tensor, x0: Tensor, monkeypatch: Patch) -> None:
    make, change, message = CHANGES[name]
    model, latent = make(), gplens.targets.Latent()
    likelihood = None if isinstance(model, ExactGP) else gplens.links.Identity()
    prepared = gplens.read(model, likelihood)
    for _ in range(2):
        gplens.explain(prepared, x, baseline=x0, target=latent, support=False, tolerance=0.01)
    change(model, monkeypatch)
    with pytest.raises(ValueError, match=rf"{message}.*gplens\.read\(model\)"):
        gplens.explain(prepared, x, baseline=x0, target=latent, support=False, tolerance=0.01)


def test_what_changes_nothing_is_not_refused() -> None:
    """A mode, a counter of the model's own, gradients that are switched off."""
    model = exact()
    prepared = gplens.read(model)
    for change in (
        lambda: model.train(),
        lambda: setattr(model, "calls", 7),
        lambda: model.requires_grad_(False),
    ):
        change()
        gplens.explain(prepared, NEAR, baseline=FIRST, support=False, tolerance=0.01)
