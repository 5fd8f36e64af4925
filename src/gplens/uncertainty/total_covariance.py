"""Error bars of a mixture over draws of hyper-parameters: the law of total covariance (MATH 5.17)."""

from dataclasses import replace
from typing import TYPE_CHECKING

import torch
from jaxtyping import Float
from torch import Tensor

from gplens.expectations.hyperparameters import averages
from gplens.uncertainty.requests import Samples, Uncertainty

if TYPE_CHECKING:
    from gplens.uncertainty.engine import Spread


def of_each_draw(request: Uncertainty, draws: tuple[int, ...]) -> Uncertainty:
    """What is to be asked of every latent function: its share of the samples."""
    if not isinstance(request, Samples):
        return request
    return replace(request, count=max(2, -(-request.count // min(draws))))


def pooled(found: "Spread", values: Float[Tensor, "b c d"], draws: tuple[int, ...], request: Uncertainty) -> "Spread":
    """Cov(IG) = 1/S sum_s Cov_s + 1/S sum_s (IG_s - IG)(IG_s - IG)'  (5.17), from the spread of every draw."""
    M = averages(draws, tuple(range(len(draws))), values)
    apart = values - (M @ values).repeat_interleave(torch.tensor(draws), 1)
    std = (M @ (found.std**2 + apart**2)).sqrt()
    error, covariance = found.std_error, found.covariance
    if error is not None:
        error = torch.where(std > 0, (M**2 @ (found.std * error) ** 2).sqrt() / std, 0.0)
    if covariance is not None:
        covariance = torch.einsum("oc,bckl->bokl", M, covariance + apart[..., None] * apart[..., None, :])
    samples = found.draws
    if samples is not None:
        assert isinstance(request, Samples)
        each = samples.split(list(draws), dim=2)
        samples = torch.stack([own.flatten(1, 2)[:, : request.count] for own in each], dim=2)
    return replace(found, std=std, std_error=error, covariance=covariance, draws=samples)
