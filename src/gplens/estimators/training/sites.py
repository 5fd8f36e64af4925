"""Gaussian sites, one for each row, and q(u) as their posterior, for all sparse fits by L-BFGS (6.4), (6.6)."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import final

import torch
from jaxtyping import Float
from torch import Tensor

from gplens.estimators.training.bound import Features, Gaussian
from gplens.estimators.training.kernel_parameters import Hyperparameters, Structure
from gplens.estimators.training.monitor import Watch

BLOCK, KEPT = 5000, 3e7
"""Rows that are taken at once, and the numbers phi that are kept between passes over the rows (240 MB)."""


@final
@dataclass(frozen=True)
class SiteTerms:
    """Sites exp(linear f - w f^2 / 2): pseudo-observations linear / w with precision w."""

    linear: Float[Tensor, "c n"]
    w: Float[Tensor, "c n"]

    def towards(self, other: "SiteTerms", rate: float) -> "SiteTerms":
        """A part of the way to other sites."""
        return SiteTerms(torch.lerp(self.linear, other.linear, rate), torch.lerp(self.w, other.w, rate))

    def of_rows(self, rows: slice | Tensor) -> "SiteTerms":
        return SiteTerms(self.linear[:, rows], self.w[:, rows])


def features_at(at: Hyperparameters, structure: Structure, X: Float[Tensor, "n d"]) -> Features:
    """phi(x) = L^-1 k(Z,x), prior variance and mean of rows."""
    assert at.Z is not None
    phi = at.covariance(structure, X, at.Z) @ at.whitening(structure).mT
    prior = (at.log_outputscale.exp() + structure.jitter)[:, None].expand(-1, len(X))
    mu = torch.zeros_like(prior[:1]) if at.mean is None else at.mean.expand(1, len(X))
    return Features(phi, prior, mu)


@final
@dataclass(frozen=True)
class Solution:
    """The optimal q(u) = N(P^-1 h, P^-1) of all rows, the sites that it is made of, and the bound per row."""

    h: Float[Tensor, "c m"]
    P: Float[Tensor, "c m m"]
    sites: SiteTerms
    value: float


@final
class Blocks:
    """The features of all rows in blocks, with the rows of each; kept where they are small, else computed again."""

    def __init__(self, at: Hyperparameters, structure: Structure, X: Float[Tensor, "n d"]) -> None:
        assert at.Z is not None
        self.at, self.structure, self.X = at, structure, X
        small = len(X) * at.Z.shape[0] * at.Z.shape[1] <= KEPT
        self._kept = list(self._computed()) if small else None

    def __iter__(self) -> Iterator[tuple[slice, Features]]:
        return iter(self._kept) if self._kept is not None else self._computed()

    @torch.no_grad()
    def _block(self, rows: slice) -> Features:
        return features_at(self.at, self.structure, self.X[rows])

    def _computed(self) -> Iterator[tuple[slice, Features]]:
        for start in range(0, len(self.X), BLOCK):
            rows = slice(start, min(start + BLOCK, len(self.X)))
            yield rows, self._block(rows)


def posterior_of(
    rows: Iterable[tuple[slice, Features]], sites: SiteTerms
) -> tuple[Gaussian, Float[Tensor, "c m"], Float[Tensor, "c m m"]]:
    """q(u) = N(P^-1 h, P^-1) with P = I + sum w phi phi', h = sum phi (linear - w mu)  (6.6); q, h and P."""
    P, h = [], []
    for where, block in rows:
        part = sites.of_rows(where)
        P.append((block.phi * part.w[..., None]).mT @ block.phi)
        h.append((block.phi.mT @ (part.linear - part.w * block.mu)[..., None])[..., 0])
    return gaussian_of(sum(h[1:], h[0]), sum(P[1:], P[0]) + torch.eye(P[0].shape[-1], dtype=P[0].dtype))


@torch.no_grad()
def slack_of(rows: Iterable[tuple[slice, Features]], sites: SiteTerms) -> float:
    """1/(2n) sum_i w_i (k(x_i,x_i) - phi_i' phi_i), summed over the latent functions  (6.10)."""
    left = [sites.w[:, where] * (block.prior - block.phi.square().sum(-1)) for where, block in rows]
    return float(sum(part.sum() for part in left)) / (2 * sites.w.shape[1])


def gaussian_of(
    h: Float[Tensor, "c m"], P: Float[Tensor, "c m m"]
) -> tuple[Gaussian, Float[Tensor, "c m"], Float[Tensor, "c m m"]]:
    """N(P^-1 h, P^-1), h and P."""
    R = torch.linalg.cholesky(P)
    eye = torch.eye(P.shape[-1], dtype=P.dtype)
    root = torch.linalg.solve_triangular(R, eye.expand_as(R), upper=False)
    return Gaussian((root.mT @ (root @ h[..., None]))[..., 0], root), h, P


class Bound(ABC):
    """A bound of the evidence, in nats, with the optimal q(u) at the hyperparameters."""

    @abstractmethod
    def __call__(self, at: Hyperparameters) -> Float[Tensor, ""]:
        """The bound, which autograd can differentiate."""

    @abstractmethod
    def solve(self, at: Hyperparameters, watch: Watch) -> Solution:
        """The optimal q(u) at the hyperparameters."""

    @abstractmethod
    def slack(self, at: Hyperparameters) -> float:
        """The loss by the inducing points, in nats per row (6.10)."""

    @abstractmethod
    def state(self) -> dict[str, Tensor]:
        """The state that the next stage depends on, besides the hyperparameters, for a checkpoint."""

    @abstractmethod
    def restore(self, state: dict[str, Tensor]) -> None:
        """Restore the state of a checkpoint."""
