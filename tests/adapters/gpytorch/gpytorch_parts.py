"""What users write themselves: kernels, means, likelihoods, a feature network."""

from typing import Any

import torch
from gpytorch.kernels import Kernel, RBFKernel
from gpytorch.likelihoods.likelihood import _OneDimensionalLikelihood
from gpytorch.means import Mean
from torch import Tensor
from torch.distributions import Bernoulli, Poisson
from torch.nn import Linear, Sequential, Tanh


class CauchyKernel(Kernel):
    """1 / (1 + r^2): a user's own kernel, which gplens has never seen."""

    has_lengthscale = True

    def forward(self, x1: Tensor, x2: Tensor, diag: bool = False, **params: Any) -> Tensor:
        x1, x2 = x1.div(self.lengthscale), x2.div(self.lengthscale)
        return 1 / (1 + self.covar_dist(x1, x2, square_dist=True, diag=diag))


class TiltedRBF(RBFKernel):
    """A subclass that changes what its parent computes: it must not be taken for an RBFKernel."""

    def forward(self, x1: Tensor, x2: Tensor, diag: bool = False, **params: Any) -> Tensor:
        plain = super().forward(x1, x2, diag=diag, **params)
        tilt1, tilt2 = (1 + 0.3 * torch.sin(x[..., 0]) for x in (x1, x2))
        return plain * (tilt1 * tilt2 if diag else tilt1[..., :, None] * tilt2[..., None, :])


class WaveMean(Mean):
    """amplitude * sin(x_0 + 2 x_1)."""

    def __init__(self) -> None:
        super().__init__()
        self.register_parameter("amplitude", torch.nn.Parameter(torch.tensor(0.5)))

    def forward(self, x: Tensor) -> Tensor:
        return self.amplitude * torch.sin(x[..., 0] + 2 * x[..., 1])


class ExpPoisson(_OneDimensionalLikelihood):
    """Counts with the log link: E y has a closed form."""

    def forward(self, function_samples: Tensor, *args: Any, **kwargs: Any) -> Poisson:
        return Poisson(function_samples.exp())


class LogisticBernoulli(_OneDimensionalLikelihood):
    """Classes with the logistic link."""

    def forward(self, function_samples: Tensor, *args: Any, **kwargs: Any) -> Bernoulli:
        return Bernoulli(logits=function_samples)


class SaturatingPoisson(_OneDimensionalLikelihood):
    """Counts whose rate is ceiling * sigmoid(f)^2: no link of gplens, so quadrature."""

    def __init__(self) -> None:
        super().__init__()
        self.register_parameter("ceiling", torch.nn.Parameter(torch.tensor(6.0)))

    def forward(self, function_samples: Tensor, *args: Any, **kwargs: Any) -> Poisson:
        return Poisson(self.ceiling * torch.sigmoid(function_samples) ** 2)


def network(features: int) -> Sequential:
    """The feature extractor of a deep kernel: `features` numbers in, two out."""
    return Sequential(Linear(features, 6), Tanh(), Linear(6, 2))
