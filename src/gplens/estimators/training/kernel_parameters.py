"""The parameters of a fit by L-BFGS as one vector: logarithms of positive ones, the mean, and inducing points."""

from dataclasses import dataclass, fields, replace
from typing import Any, final

import torch
from jaxtyping import Float, Int
from torch import Tensor

from gplens.estimators.training.kernel_values import profile, squared_distances


@final
@dataclass(frozen=True)
class Structure:
    """The constants of a fit."""

    kernel: str
    place: Int[Tensor, " d"]
    """The number of the lengthscale of each input."""
    jitter: float
    """Added to K of the inducing points, and to the prior's variance of every row."""
    typical: float
    """Where lengthscales start, and the centre of their prior."""

    @staticmethod
    def of(kernel: str, inputs: int, ard: bool, sharing: tuple[tuple[int, ...], ...], jitter: float, typical: float):
        """Inputs in sets that share a lengthscale; one set for all without `ard`."""
        place = torch.arange(inputs) if ard else torch.zeros(inputs, dtype=torch.long)
        if ard and sharing:
            for number, members in enumerate(sharing):
                place[list(members)] = number
        return Structure(kernel, place, jitter, typical)


@final
@dataclass(frozen=True)
class Hyperparameters:
    """Parameters of k kernels (one that all latent functions share, or one for each) and of the likelihood."""

    log_lengthscale: Float[Tensor, "k s"]
    log_outputscale: Float[Tensor, " k"]
    log_alpha: Float[Tensor, " k"] | None = None
    mean: Float[Tensor, ""] | None = None
    """The constant mean of one latent function; None is zero."""
    log_noise: Float[Tensor, ""] | None = None
    Z: Float[Tensor, "k m d"] | None = None

    @property
    def vector(self) -> Float[Tensor, " p"]:
        """All parameters in the order of the fields."""
        return torch.cat([tensor.reshape(-1) for tensor in self.tensors().values()])

    def tensors(self) -> dict[str, Tensor]:
        """The parameters that are not None, by name."""
        named = {field.name: getattr(self, field.name) for field in fields(self)}
        return {name: tensor for name, tensor in named.items() if tensor is not None}

    def with_vector(self, vector: Float[Tensor, " p"]) -> "Hyperparameters":
        """The same parameters with the numbers of a vector."""
        named, start, parts = self.tensors(), 0, dict[str, Any]()
        for name, tensor in named.items():
            parts[name] = vector[start : start + tensor.numel()].reshape(tensor.shape)
            start += tensor.numel()
        return replace(self, **parts)

    def lengthscales(self, structure: Structure) -> Float[Tensor, "k d"]:
        """The lengthscale of every input."""
        return self.log_lengthscale.exp()[:, structure.place]

    def covariance(
        self, structure: Structure, X: Float[Tensor, "n d"] | Float[Tensor, "k n d"], Z: Float[Tensor, "#k m d"]
    ) -> Float[Tensor, "k n m"]:
        """k(X, Z) of every kernel."""
        lengthscale = self.lengthscales(structure)[:, None]
        alpha = None if self.log_alpha is None else self.log_alpha.exp()
        r2 = squared_distances(X / lengthscale, Z / lengthscale)
        return self.log_outputscale.exp()[:, None, None] * profile(structure.kernel, r2, alpha)

    def cholesky(self, structure: Structure) -> Float[Tensor, "k m m"]:
        """L with LL' = k(Z, Z) + jitter I."""
        assert self.Z is not None
        K = self.covariance(structure, self.Z, self.Z)
        return torch.linalg.cholesky(K + structure.jitter * torch.eye(K.shape[-1], dtype=K.dtype))

    def whitening(self, structure: Structure) -> Float[Tensor, "k m m"]:
        """L^-1 with LL' = k(Z, Z) + jitter I."""
        L = self.cholesky(structure)
        return torch.linalg.solve_triangular(L, torch.eye(L.shape[-1], dtype=L.dtype).expand_as(L), upper=False)
