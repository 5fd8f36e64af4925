"""Small synthetic data, and a few steps of the host's own training, so that no parameter is at its default."""

from dataclasses import dataclass

import gpytorch
import torch
from gpytorch.mlls import ExactMarginalLogLikelihood, VariationalELBO
from gpytorch.models import GP, ExactGP
from gpytorch.variational import NaturalVariationalDistribution, TrilNaturalVariationalDistribution
from torch import Tensor

POINTS = 30
STEPS = 12
NATURAL = (NaturalVariationalDistribution, TrilNaturalVariationalDistribution)


@dataclass(frozen=True)
class Data:
    """Training data, and the inputs to explain."""

    x: Tensor
    y: Tensor
    inputs: Tensor
    baseline: Tensor


def synthetic(kind: str, features: int, dtype: torch.dtype) -> Data:
    """Inputs in [-1.5, 1.5]^d; y a smooth signal of the given kind: real, class, count, share or tasks."""
    draw = torch.Generator().manual_seed(features)
    x, inputs = ((torch.rand(n, features, generator=draw) * 3 - 1.5).to(dtype) for n in (POINTS, 2))
    signal = torch.sin(1.5 * x[:, 0]) + 0.6 * x[:, 1] + 0.3 * x[:, 0] * x[:, -1]
    noisy = signal + 0.1 * torch.randn(POINTS, generator=draw).to(dtype)
    y = {
        "real": noisy,
        "class": (noisy > 0).to(dtype),
        "count": (1 + 1.5 * torch.nn.functional.softplus(noisy)).round(),
        "share": torch.sigmoid(noisy),
        "tasks": torch.stack([noisy, noisy.cos()], dim=1),
        "classes": torch.stack([noisy > 0, noisy.cos() > 0.5], dim=1).to(dtype),
        "counts": torch.stack([noisy.exp().round(), (1 + noisy**2).round()], dim=1),
    }[kind]
    return Data(x, y, inputs, torch.full((features,), 0.2, dtype=dtype))


def fit(model: GP, likelihood: gpytorch.likelihoods.Likelihood, data: Data) -> None:
    """Adam, and natural gradients where q(u) is natural; ends in evaluation mode, as users leave their models."""
    model.train()
    likelihood.train()
    exact = isinstance(model, ExactGP)
    mll = (
        ExactMarginalLogLikelihood(likelihood, model)
        if exact
        else VariationalELBO(likelihood, model, num_data=len(data.x))
    )
    steppers = _steppers(model, likelihood, len(data.x))
    for _ in range(STEPS):
        for stepper in steppers:
            stepper.zero_grad()
        loss = -mll(model(data.x), data.y).sum()
        loss.backward()
        for stepper in steppers:
            stepper.step()
    model.eval()
    likelihood.eval()
    for parameter in (*model.parameters(), *likelihood.parameters()):
        parameter.grad = None


def _steppers(model: GP, likelihood: torch.nn.Module, count: int) -> list[torch.optim.Optimizer]:
    natural = any(isinstance(part, NATURAL) for part in model.modules())
    subject = list(model.variational_parameters()) if natural else []
    noticed = {id(parameter) for parameter in subject}
    every = {id(p): p for p in (*model.parameters(), *likelihood.parameters()) if id(p) not in noticed}
    steppers: list[torch.optim.Optimizer] = [torch.optim.Adam(every.values(), lr=0.05)]
    if natural:
        steppers.append(gpytorch.optim.NGD(subject, num_data=count, lr=0.1))
    return steppers
