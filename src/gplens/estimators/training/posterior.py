"""q(u) while it is trained: by natural gradients, or by Adam through its Cholesky factor."""

from abc import ABC, abstractmethod
from typing import final

import torch
from jaxtyping import Float
from torch import Tensor

from gplens.estimators.models import Sparse
from gplens.estimators.training.bound import Features, Gaussian


class Trained(ABC):
    """q(u) and how a step changes it."""

    @abstractmethod
    def gaussian(self) -> Gaussian:
        """As it is now."""

    @abstractmethod
    def tensors(self) -> dict[str, Tensor]:
        """What a checkpoint keeps beside the model's own parameters."""

    @abstractmethod
    def step(
        self,
        features: Features,
        m: Float[Tensor, "c b"],
        partials: tuple[Float[Tensor, "c b"], Float[Tensor, "c b"]],
        rate: float,
        scale: float,
    ) -> None:
        """Climb, given the partials of the summed E log p(y|f) by m and v; `scale` is rows in all per row seen."""

    def write(self, model: Sparse) -> None:
        """Into the GPyTorch model."""
        q = self.gaussian()
        B = q.root.mT @ q.root
        model.q.variational_mean.data = q.a.detach().reshape(model.q.variational_mean.shape)
        factor = torch.linalg.cholesky(B.detach().double()).to(B.dtype)
        model.q.chol_variational_covar.data = factor.reshape(model.q.chol_variational_covar.shape)


@final
class Natural(Trained):
    """Natural parameters h = B^-1 a and P = B^-1, which a step moves in a straight line."""

    def __init__(self, h: Float[Tensor, "c n"], P: Float[Tensor, "c n n"]) -> None:
        self.h, self.P = h, P

    def gaussian(self) -> Gaussian:
        """B = R^-T R^-1 with RR' = P."""
        R, info = torch.linalg.cholesky_ex(self.P)
        if bool(info.any()):
            raise ArithmeticError(
                "A natural gradient step left the space of Gaussians: the likelihood is not concave here, or the rate "
                "too high. Train with a smaller rate, or with Training(optimizer=Adam())."
            )
        root = torch.linalg.solve_triangular(R, torch.eye(R.shape[-1], dtype=R.dtype).expand_as(R), upper=False)
        a = (root.mT @ (root @ self.h[..., None]))[..., 0]
        return Gaussian(a, root)

    def tensors(self) -> dict[str, Tensor]:
        """h and P."""
        return {"h": self.h, "P": self.P}

    @torch.no_grad()
    def step(
        self,
        features: Features,
        m: Float[Tensor, "c b"],
        partials: tuple[Float[Tensor, "c b"], Float[Tensor, "c b"]],
        rate: float,
        scale: float,
    ) -> None:
        """h' = sum phi (by_m - 2 by_v (m - mu)),  P' = I - 2 sum by_v phi phi';  a fraction `rate` of the way there."""
        phi, (by_m, by_v) = features.phi, partials
        towards = scale * (by_m - 2 * by_v * (m - features.mu))
        self.h = self.h + rate * ((phi.mT @ towards[..., None])[..., 0] - self.h)
        gram = (phi * (-2 * scale * by_v)[..., None]).mT @ phi
        self.P = self.P.mul(1 - rate).add_(gram, alpha=rate)
        self.P.diagonal(dim1=-2, dim2=-1).add_(rate)


@final
class Factored(Trained):
    """The model's own parameters, mean and Cholesky factor, which Adam moves with all others."""

    def __init__(self, model: Sparse, h: Float[Tensor, "c n"], P: Float[Tensor, "c n n"]) -> None:
        self.model = model
        Natural(h, P).write(model)

    def gaussian(self) -> Gaussian:
        """That of the model's parameters."""
        return Gaussian.of(self.model)

    def tensors(self) -> dict[str, Tensor]:
        """None: they are parameters of the model."""
        return {}

    def step(
        self,
        features: Features,
        m: Float[Tensor, "c b"],
        partials: tuple[Float[Tensor, "c b"], Float[Tensor, "c b"]],
        rate: float,
        scale: float,
    ) -> None:
        """Nothing: the optimiser has done it."""
