"""A least-squares start of q(u): the posterior given Gaussian pseudo-observations, in one pass over the data."""

from dataclasses import dataclass
from typing import final

import torch
from jaxtyping import Float
from torch import Tensor

from gplens.estimators.models import Sparse
from gplens.estimators.training.bound import features

BLOCK = 5000


@final
@dataclass(frozen=True)
class Sites:
    """Latent values that the observations suggest, each with a precision:  t ~ N(f, 1/w)."""

    t: Float[Tensor, "c n"]
    w: Float[Tensor, " n"]


@torch.no_grad()
def least_squares(
    model: Sparse, X: Float[Tensor, "n d"], sites: Sites
) -> tuple[Float[Tensor, "c m"], Float[Tensor, "c m m"]]:
    """Natural parameters of q(u) = N(P^-1 h, P^-1):  h = sum w phi (t - mu),  P = I + sum w phi phi'."""
    latents, count = len(sites.t), model.strategy.inducing_points.shape[-2]
    h, P = X.new_zeros(latents, count), torch.eye(count, dtype=X.dtype).expand(1, -1, -1)
    for rows in torch.arange(len(X)).split(BLOCK):
        found, w = features(model, X[rows]), sites.w[rows]
        weighted = found.phi * w[:, None]
        h = h + (weighted.mT @ (sites.t[:, rows] - found.mu)[..., None])[..., 0]
        P = P + weighted.mT @ found.phi
    return h, P.expand(latents, -1, -1).clone()
