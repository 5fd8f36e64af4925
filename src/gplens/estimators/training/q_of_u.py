"""q(u), the posterior of the inducing values: its least-squares start, and the steps that training takes with it."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import final

import torch
from jaxtyping import Float
from torch import Tensor

from gplens.estimators.gp_models import Sparse
from gplens.estimators.training.bound import Features, Gaussian, features

BLOCK = 5000
"""Rows that least squares takes at once."""

Partials = tuple[Float[Tensor, "c b"], Float[Tensor, "c b"]]


@final
@dataclass(frozen=True)
class Sites:
    """Gaussian pseudo-observations t ~ N(f, 1/w): latent values that the targets suggest, with their precisions."""

    t: Float[Tensor, "c n"]
    w: Float[Tensor, " n"]


@torch.no_grad()
def least_squares(
    model: Sparse, X: Float[Tensor, "n d"], sites: Sites
) -> tuple[Float[Tensor, "c m"], Float[Tensor, "c m m"]]:
    """The optimal q(u) = N(P^-1 h, P^-1) for pseudo-observations:  h = sum w phi (t - mu),  P = I + sum w phi phi'.

    One pass over the data. Returns h and P.
    """
    latents, count = len(sites.t), model.strategy.inducing_points.shape[-2]
    h, P = X.new_zeros(latents, count), torch.eye(count, dtype=X.dtype).expand(1, -1, -1)
    for rows in torch.arange(len(X)).split(BLOCK):
        block, w = features(model, X[rows]), sites.w[rows]
        weighted = block.phi * w[:, None]
        h = h + (weighted.mT @ (sites.t[:, rows] - block.mu)[..., None])[..., 0]
        P = P + weighted.mT @ block.phi
    return h, P.expand(latents, -1, -1).clone()


class VariationalPosterior(ABC):
    """q(u) in the parametrisation that an optimiser changes."""

    @abstractmethod
    def gaussian(self) -> Gaussian:
        """Mean and covariance of the current q(u)."""

    @abstractmethod
    def tensors(self) -> dict[str, Tensor]:
        """What a checkpoint stores beside the parameters of the model."""

    @abstractmethod
    def step(self, features: Features, m: Float[Tensor, "c b"], partials: Partials, rate: float, scale: float) -> None:
        """One step, given the partials of the sum of E log p(y|f) over a batch with respect to m and v.

        `scale` is the number of training rows over the number of rows in the batch.
        """

    def write(self, model: Sparse) -> None:
        """Copy q(u) into the parameters of the GPyTorch model."""
        q = self.gaussian()
        B = q.root.mT @ q.root
        model.q.variational_mean.data = q.a.detach().reshape(model.q.variational_mean.shape)
        factor = torch.linalg.cholesky(B.detach().double()).to(B.dtype)
        model.q.chol_variational_covar.data = factor.reshape(model.q.chol_variational_covar.shape)


@final
class Natural(VariationalPosterior):
    """Natural parameters h = B^-1 a and P = B^-1, which a step moves along a straight line."""

    def __init__(self, h: Float[Tensor, "c n"], P: Float[Tensor, "c n n"]) -> None:
        self.h, self.P = h, P

    def gaussian(self) -> Gaussian:
        """B = R^-T R^-1 with RR' = P."""
        R, info = torch.linalg.cholesky_ex(self.P)
        if bool(info.any()):
            raise ArithmeticError(
                "expected a positive definite precision of q(u), got one that is not after a natural gradient step: "
                "the likelihood is not log-concave, or the rate is too high. Train with a smaller rate, or with "
                "Training(optimizer=Adam())."
            )
        root = torch.linalg.solve_triangular(R, torch.eye(R.shape[-1], dtype=R.dtype).expand_as(R), upper=False)
        a = (root.mT @ (root @ self.h[..., None]))[..., 0]
        return Gaussian(a, root)

    def tensors(self) -> dict[str, Tensor]:
        return {"h": self.h, "P": self.P}

    @torch.no_grad()
    def step(self, features: Features, m: Float[Tensor, "c b"], partials: Partials, rate: float, scale: float) -> None:
        """A fraction `rate` of the way to  h' = sum phi (by_m - 2 by_v (m - mu)),  P' = I - 2 sum by_v phi phi'."""
        self.move(*natural_sums(features, m, partials, scale), rate)

    def move(self, towards: Float[Tensor, "c n"], gram: Float[Tensor, "c n n"], rate: float) -> None:
        """A fraction `rate` of the way to h' = towards and P' = I + gram."""
        self.h = self.h + rate * (towards - self.h)
        self.P = self.P.mul(1 - rate).add_(gram, alpha=rate)
        self.P.diagonal(dim1=-2, dim2=-1).add_(rate)


@torch.no_grad()
def natural_sums(
    features: Features, m: Float[Tensor, "c b"], partials: Partials, scale: float
) -> tuple[Float[Tensor, "c n"], Float[Tensor, "c n n"]]:
    """The sums over the rows of a batch that a natural-gradient step needs, times `scale`: h' and P' - I."""
    phi, (by_m, by_v) = features.phi, partials
    towards = scale * (by_m - 2 * by_v * (m - features.mu))
    gram = (phi * (-2 * scale * by_v)[..., None]).mT @ phi
    return (phi.mT @ towards[..., None])[..., 0], gram


@final
class Factored(VariationalPosterior):
    """Mean and Cholesky factor as parameters of the model, which Adam changes together with all others."""

    def __init__(self, model: Sparse, h: Float[Tensor, "c n"], P: Float[Tensor, "c n n"]) -> None:
        self.model = model
        Natural(h, P).write(model)

    def gaussian(self) -> Gaussian:
        return Gaussian.of(self.model)

    def tensors(self) -> dict[str, Tensor]:
        return {}

    def step(self, features: Features, m: Float[Tensor, "c b"], partials: Partials, rate: float, scale: float) -> None:
        """Nothing: the optimiser has changed the parameters already."""
