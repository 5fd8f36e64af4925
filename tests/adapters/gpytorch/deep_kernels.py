"""Random deep kernels: networks of many kinds before a kernel and a mean of their features, exact and sparse."""

from dataclasses import dataclass
from itertools import pairwise
from random import Random
from typing import Any

import torch
from gpytorch import kernels as host
from gpytorch import variational as var
from gpytorch.distributions import MultivariateNormal
from gpytorch.likelihoods import BernoulliLikelihood, GaussianLikelihood
from gpytorch.means import ConstantMean, LinearMean, Mean, ZeroMean
from gpytorch.models import ApproximateGP, ExactGP
from gpytorch_parts import WaveMean
from torch import Tensor, nn

SMOOTH = [nn.Tanh, nn.Sigmoid, nn.Softplus, nn.SiLU, nn.GELU]
PLACES = ["attribute", "list", "dictionary", "tuple"]
"""Where a model keeps its network: registered by torch, or in a plain attribute that torch does not look into."""


class Deep:
    """The forward of a deep kernel; `parts` holds the network, `beside` passes the inputs on beside the features."""

    parts: Any
    beside: bool
    mean_of_features: bool

    def forward(self: Any, x: Tensor) -> MultivariateNormal:
        inner = self.parts
        network = inner["net"] if isinstance(inner, dict) else inner[0] if isinstance(inner, list | tuple) else inner
        z = torch.cat([network(x), x], dim=-1) if self.beside else network(x)
        return MultivariateNormal(self.mean_module(z if self.mean_of_features else x), self.covar_module(z))


class DeepExact(Deep, ExactGP):
    def __init__(self, x: Tensor, y: Tensor) -> None:
        ExactGP.__init__(self, x, y, GaussianLikelihood())


class DeepSparse(Deep, ApproximateGP):
    def __init__(self, Z: Tensor, strategy: Any) -> None:
        ApproximateGP.__init__(self, strategy(self, Z, var.CholeskyVariationalDistribution(len(Z))))


@dataclass(frozen=True)
class DeepCase:
    """A model with inputs and a baseline, and a text for messages."""

    model: Any
    likelihood: Any
    X: Tensor
    baseline: Tensor
    text: str


def deep_case(seed: int, activations: list[Any] = SMOOTH) -> DeepCase:
    """A random architecture with random weights."""
    draw, features = Random(seed), Random(seed).randint(1, 4)
    torch.manual_seed(seed)
    X = torch.randn(14, features, dtype=torch.float64)
    exact, outputs, beside = draw.random() < 0.5, draw.randint(1, 4), draw.random() < 0.2
    strategy = draw.choice([var.VariationalStrategy, var.UnwhitenedVariationalStrategy])
    model: Any = DeepExact(X, X.sum(1).sin()) if exact else DeepSparse(X[:6], strategy)
    network, width = _network(draw, features, outputs, activations), outputs + (features if beside else 0)
    place = draw.choice(PLACES)
    model.parts = {"attribute": network, "list": [network], "dictionary": {"net": network}, "tuple": (network,)}[place]
    model.beside, model.mean_of_features = beside, draw.random() < 0.7
    model.mean_module = _mean(draw, width if model.mean_of_features else features)
    model.covar_module = host.ScaleKernel(_kernel(draw, width))
    model.double()
    network.double()
    if not exact:
        _randomise(model)
    likelihood = None if exact else draw.choice([GaussianLikelihood, BernoulliLikelihood])().double()
    for part in (model, network):
        part.eval()
    text = f"seed {seed}: {network}, {model.covar_module}, {model.mean_module}, kept in a {place}, beside={beside}"
    return DeepCase(model, likelihood, X[-2:], X.mean(0), text)


def _network(draw: Random, features: int, outputs: int, activations: list[Any]) -> nn.Sequential:
    widths = [features, *(draw.randint(1, 6) for _ in range(draw.randint(0, 2))), outputs]
    layers: list[nn.Module] = []
    for before, after in pairwise(widths):
        layers += [nn.Linear(before, after), draw.choice(activations)()]
        if draw.random() < 0.3:
            layers.append(_with_statistics(nn.BatchNorm1d(after)) if draw.random() < 0.5 else nn.Dropout(0.3))
    return nn.Sequential(*(layers if draw.random() < 0.5 else layers[:-1] if len(layers) > 1 else layers))


def _with_statistics(norm: nn.BatchNorm1d) -> nn.BatchNorm1d:
    """As after training."""
    norm.running_mean, norm.running_var = torch.randn(norm.num_features), 0.5 + torch.rand(norm.num_features)
    return norm


def _kernel(draw: Random, width: int, *, compound: bool = True) -> host.Kernel:
    """Of all features, or of some of them, with one lengthscale for each or one for all."""
    if compound and draw.random() < 0.4:
        kernels = _kernel(draw, width, compound=False), _kernel(draw, width, compound=False)
        return host.AdditiveKernel(*kernels) if draw.random() < 0.5 else host.ProductKernel(*kernels)
    active = draw.sample(range(width), draw.randint(1, width)) if draw.random() < 0.4 else None
    count = width if active is None else len(active)
    options: dict[str, Any] = {"active_dims": active, "ard_num_dims": count if draw.random() < 0.6 else None}
    rule = draw.choice([host.RBFKernel, host.MaternKernel, host.RQKernel, host.LinearKernel, host.PeriodicKernel])
    if rule is host.PeriodicKernel and options["ard_num_dims"] is None:
        del options["ard_num_dims"]
    kernel = rule(**options)
    for parameter in kernel.parameters():
        parameter.data = 0.7 * torch.randn_like(parameter)
    return kernel


def _mean(draw: Random, width: int) -> Mean:
    choices = [ZeroMean(), ConstantMean(), LinearMean(width), *([WaveMean()] if width > 1 else [])]
    mean = draw.choice(choices)
    for parameter in mean.parameters():
        parameter.data = torch.randn_like(parameter)
    return mean


def _randomise(model: Any) -> None:
    q = model.variational_strategy._variational_distribution
    q.variational_mean.data.normal_()
    q.chol_variational_covar.data = 0.6 * torch.eye(6, dtype=torch.float64) + 0.1 * torch.randn(6, 6).double().tril()
    model.variational_strategy.variational_params_initialized.fill_(1)
