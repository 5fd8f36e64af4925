"""A Reading of a model whose q(u), noise or settings change, while its prior and its parameters stay as they are.

Factorisations of an earlier comparison may be used only if nothing that they were computed from has changed. The own
parts hold their number where no comparison of parameters sees it: in a numpy array.
"""

from collections.abc import Callable
from types import MethodType
from typing import Any

import gpytorch
import numpy as np
import pytest
import torch
from gpytorch import settings
from gpytorch.kernels import RBFKernel
from gpytorch.likelihoods import FixedNoiseGaussianLikelihood, GaussianLikelihood
from gpytorch.likelihoods.noise_models import HomoskedasticNoise
from gpytorch.means import ConstantMean
from gpytorch.variational import CholeskyVariationalDistribution
from gpytorch_models import Exact, Sparse
from torch import Tensor

import gplens

Model = Exact | Sparse
Patch = pytest.MonkeyPatch
X = 3 * torch.rand(12, 2, generator=torch.Generator().manual_seed(0), dtype=torch.float64)


class OwnLikelihood(GaussianLikelihood):
    def __init__(self) -> None:
        super().__init__()
        self.factor = np.ones(1)

    def _shaped_noise_covar(self, *args: Any, **kwargs: Any) -> Any:
        return super()._shaped_noise_covar(*args, **kwargs) * float(self.factor[0])


class OwnNoise(HomoskedasticNoise):
    def __init__(self) -> None:
        super().__init__()
        self.factor = np.ones(1)

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        return super().forward(*args, **kwargs) * float(self.factor[0])


class OwnDistribution(CholeskyVariationalDistribution):
    def __init__(self, count: int) -> None:
        super().__init__(count)
        self.factor = np.ones(1)

    def forward(self) -> gpytorch.distributions.MultivariateNormal:
        q = super().forward()
        return type(q)(q.mean * float(self.factor[0]), q.lazy_covariance_matrix)


def exact(likelihood: Any = None) -> Exact:
    y = torch.sin(X[:, 0]) + X[:, 1]
    return Exact(X, y, (likelihood or GaussianLikelihood()).double(), RBFKernel(), ConstantMean()).double().eval()


def with_own_noise() -> Exact:
    likelihood = GaussianLikelihood()
    likelihood.noise_covar = OwnNoise()
    return exact(likelihood)


def sparse(own: bool = False) -> Sparse:
    model = Sparse(X[:6].clone(), RBFKernel(), ConstantMean())
    strategy = model.variational_strategy
    if own:
        strategy._variational_distribution = OwnDistribution(6)
    strategy._variational_distribution.variational_mean.data = torch.linspace(-1, 2, 6)
    strategy.variational_params_initialized.fill_(1)
    return model.double().eval()


def replace(part: Any, name: str, change: Callable[[Any], Any]) -> None:
    """Another method on this object alone."""
    before = getattr(type(part), name)
    part.__dict__[name] = MethodType(lambda self, *args, **kwargs: change(before(self, *args, **kwargs)), part)


def thrice(f: Any) -> Any:
    return type(f)(3 * f.mean, f.lazy_covariance_matrix)


def with_own_transform() -> Exact:
    constraint = gpytorch.constraints.Positive(transform=lambda raw: raw.exp(), inv_transform=lambda value: value.log())
    return exact(GaussianLikelihood(noise_constraint=constraint))


def other_transform(model: Exact) -> None:
    model.likelihood.noise_covar.raw_noise_constraint.__dict__["_transform"] = lambda raw: 30 * raw.exp()


CHANGES: dict[str, tuple[Callable[[], Model], Callable[[Any, Patch], None]]] = {
    "own likelihood": (
        lambda: exact(OwnLikelihood()),
        lambda model, patch: model.likelihood.factor.__imul__(30),
    ),
    "own noise": (with_own_noise, lambda model, patch: model.likelihood.noise_covar.factor.__imul__(30)),
    "fixed noise in place": (
        lambda: exact(FixedNoiseGaussianLikelihood(torch.full((12,), 0.1).double())),
        lambda model, patch: model.likelihood.noise_covar.noise.mul_(30),
    ),
    "method of the likelihood": (
        exact,
        lambda model, patch: replace(model.likelihood, "_shaped_noise_covar", lambda noise: 30 * noise),
    ),
    "transform of the noise": (with_own_transform, lambda model, patch: other_transform(model)),
    "own distribution": (
        lambda: sparse(own=True),
        lambda model, patch: model.variational_strategy._variational_distribution.factor.__imul__(3),
    ),
    "method of the strategy": (sparse, lambda model, patch: replace(model.variational_strategy, "forward", thrice)),
    "jitter of all strategies": (
        sparse,
        lambda model, patch: patch.setattr(settings.variational_cholesky_jitter, "_global_double_value", 0.5),
    ),
    "prior mode": (exact, lambda model, patch: patch.setattr(settings.prior_mode, "_state", True)),
}


@pytest.mark.parametrize("name", CHANGES)
def test_a_change_beside_the_prior_is_noticed(name: str, monkeypatch: Patch) -> None:
    make, change = CHANGES[name]
    model = make()
    prepared = gplens.read(model, gplens.links.Identity())  # so that no likelihood is compared
    x: Tensor = X[:2] + 0.3
    before = [gplens.explain(prepared, x, baseline=0.0).prediction for _ in range(2)]
    torch.testing.assert_close(before[0], before[1])
    change(model, monkeypatch)
    with pytest.raises(ValueError, match=r"gplens\.read\(model\)"):
        gplens.explain(prepared, x, baseline=0.0)


def test_an_own_method_that_changes_later_is_noticed() -> None:
    """The method is the same function in both calls; the list in which it looks is not."""
    model, factor = sparse(), [1.0]
    replace(model.variational_strategy, "forward", lambda f: type(f)(factor[0] * f.mean, f.lazy_covariance_matrix))
    prepared = gplens.read(model, gplens.links.Identity())
    for _ in range(2):
        gplens.explain(prepared, X[:2] + 0.3, baseline=0.0)
    factor[0] = 3.0
    with pytest.raises(ValueError, match=r"gplens\.read\(model\)"):
        gplens.explain(prepared, X[:2] + 0.3, baseline=0.0)
