"""BoTorch models: posterior(X), in the units of the raw outcome."""

import warnings
from typing import Any

import torch
from botorch.posteriors import GPyTorchPosterior
from jaxtyping import Float
from torch import Tensor

from gplens.adapters.gpytorch.modules import exactly, reference, undisturbed
from gplens.verification.gpytorch_host import joint_of
from gplens.verification.host import DOUBLE, SINGLE, Host, Joint


def host_of(model: Any, likelihood: Any) -> Host:
    """The host of a BoTorch model."""
    kind = reference(model)

    def posterior(X: Float[Tensor, "k d"]) -> Any:
        with undisturbed(model), exactly(), warnings.catch_warnings(action="ignore", category=UserWarning):
            return model.posterior(X.to(kind))

    def predict(X: Float[Tensor, "k d"]) -> Float[Tensor, "k o"]:
        with exactly():
            mean = posterior(X).mean.double().cpu()
            return mean if mean.ndim == 2 else mean.mean(0)  # over draws of hyper-parameters

    def joint(X: Float[Tensor, "k d"]) -> Joint:
        at = posterior(X)
        if type(at) is not GPyTorchPosterior:
            raise ValueError(f"posterior(X) is a {type(at).__name__}, which is not Gaussian")
        with exactly():
            return joint_of(at.distribution)

    double = kind.dtype == torch.float64
    reason = "" if double else "the covariances of a model in float32 have too few digits"
    return Host(predict, DOUBLE if double else SINGLE, joint if double else None, lambda f: f, reason=reason)
