"""GPyTorch's means, translated by their exact type; any other one goes through autograd."""

from typing import Any

import gpytorch.means as host
import torch
from jaxtyping import Float
from torch import Tensor

from gplens import means
from gplens.adapters.gpytorch.kernels import own


def translate(mean: Any, index: int) -> means.Mean:
    """The prior mean of latent function `index`."""
    if type(mean) is host.ZeroMean:
        return means.ConstantMean(0.0)
    if type(mean) is host.ConstantMean:
        return means.ConstantMean(float(own(torch.as_tensor(mean.constant), index, 0)))
    if type(mean) is host.LinearMean:
        bias = 0.0 if mean.bias is None else float(own(mean.bias, index, 1))
        return means.LinearMean(own(torch.as_tensor(mean.weights), index, 2)[:, 0], bias)
    return by_autograd(mean, index)


def by_autograd(mean: torch.nn.Module, index: int) -> means.Mean:
    """The host's own mean as a black box."""

    def function(X: Float[Tensor, "b d"]) -> Float[Tensor, " b"]:
        values = mean(X)
        return values if values.ndim == 1 else values[index if len(values) > 1 else 0]

    return means.AutogradMean(function)
